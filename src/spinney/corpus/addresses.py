"""Files that are not on this disk, and many files by one name: addresses of fsspec (extra ``dask``), and globs."""

from __future__ import annotations

import glob
import os
from typing import IO, Any, cast

from spinney.corpus.compressed import FilePath, explained, is_address
from spinney.errors import InputError

_MARKS = "*?["


def expanded(path: str) -> list[str]:
    """The files that a name stands for: those of a glob (``text/*.txt``, ``s3://bucket/**/*.txt``) in order, or itself.

    Examples
    --------
    >>> expanded("train.txt")
    ['train.txt']
    >>> expanded("nowhere/*.txt")
    Traceback (most recent call last):
    spinney.errors.InputError: nowhere/*.txt: no file has such a name
    """
    if not any(mark in path for mark in _MARKS) or (not is_address(path) and os.path.exists(path)):
        return [path]
    if is_address(path):
        system, inside = filesystem(path)
        found = [system.unstrip_protocol(name) for name in system.glob(inside)]
    else:
        found = glob.glob(path, recursive=True)
    if not found:
        raise InputError("no file has such a name", path=path)
    return sorted(found)


def filesystem(path: str) -> tuple[Any, str]:
    """The file system of an address, and the path inside it."""
    from spinney.corpus.compressed import fsspec

    try:
        system, inside = fsspec().core.url_to_fs(path)
    except (ValueError, ImportError) as error:
        raise InputError(str(error).splitlines()[0], path=path) from None
    return system, str(inside)


def size_of_file(path: FilePath) -> int:
    """How many bytes a file has."""
    try:
        if is_address(path):
            system, inside = filesystem(os.fspath(path))
            return int(system.size(inside))
        return os.path.getsize(path)
    except OSError as error:
        raise explained(error, path) from None


def opened(path: FilePath) -> IO[bytes]:
    """A file to read bytes from, wherever it is; it can be read from any place."""
    try:
        if is_address(path):
            system, inside = filesystem(os.fspath(path))
            return cast(IO[bytes], system.open(inside, "rb"))
        return open(path, "rb")
    except OSError as error:
        raise explained(error, path) from None
