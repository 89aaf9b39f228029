"""Text files: read as a whole or line by line, written completely or not at all."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, TextIO

from spinney.beside import beside
from spinney.corpus.compressed import ChunkStream, FilePath, compressor, explained, open_bytes, suffix
from spinney.corpus.lines import check_encoding, read_blocks
from spinney.errors import InputError, OptionError


def open_text(path: FilePath, mode: str = "r", encoding: str = "utf-8") -> TextIO:
    """Open a text file (``-`` is standard input or output), compressed as its suffix says.

    Lines end at ``\\n`` only; CRLF and a byte-order mark are taken away on reading, and a byte that is not
    text gives an :class:`~spinney.errors.InputError` with its line. ``mode`` is ``"r"`` or ``"w"``; to
    write a file whole or not at all, use :func:`writing`.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.txt.gz")
    >>> with open_text(path, "w") as file:
    ...     _ = file.write("a b\\nc\\n")
    >>> with open_text(path) as file:
    ...     list(file)
    ['a b\\n', 'c\\n']
    """
    check_encoding(encoding)
    if mode in ("w", "wt"):
        return sys.stdout if path == "-" else _text(open_bytes(path, "w"), encoding)
    if mode not in ("r", "rt"):
        raise OptionError(f"mode must be 'r' or 'w', not {mode!r}")
    decoded = (block.decode().encode() for block in read_blocks(path, encoding, exact=True))
    return _text(io.BufferedReader(ChunkStream(decoded)), "utf-8")


@contextmanager
def writing(path: FilePath, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Write a text file that appears complete, or not at all; ``-`` is standard output.

    The text goes into a temporary file beside the target, compressed as the target's suffix says, and takes
    the target's place when the block ends without an error. Otherwise the temporary file is removed and an older
    target stays as it was.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "words.txt")
    >>> with writing(path) as file:
    ...     print("spinney", file=file)
    >>> open(path).read()
    'spinney\\n'
    """
    check_encoding(encoding)
    try:
        if path == "-":
            yield sys.stdout
            sys.stdout.flush()
        else:
            with writing_bytes(path) as file:
                text = _text(file, encoding)
                yield text
                text.detach()
    except UnicodeEncodeError as error:
        what = f"{error.object[error.start]!r} cannot be written as {error.encoding}"
        raise InputError(what, path=os.fspath(path), remedy="use utf-8") from None


@contextmanager
def writing_bytes(path: FilePath) -> Iterator[BinaryIO]:
    """As :func:`writing`, for bytes."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = os.path.realpath(path)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        with open_bytes(path, "w") as file:  # a pipe or a device: nothing to rename
            yield file
        return
    temporary = beside(target)
    try:
        file = compressor(temporary, suffix(path))
    except InputError as error:
        raise _unwritable(error, path) from None
    try:
        with file:
            yield file
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        _remove(temporary)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise explained(error, path) from None
        raise


@contextmanager
def writing_folder(path: FilePath, marker: str) -> Iterator[str]:
    """Fill a folder that appears complete, or not at all; gives the temporary folder to write into.

    An older folder of that name is replaced if it is empty or holds the file ``marker``: never anything else.
    """
    target = os.path.realpath(path)
    temporary, old = beside(target), beside(target, "old")
    if os.path.lexists(target) and not _replaceable(target, marker):
        raise InputError(
            "exists, and was not written by Spinney, so it is not replaced",
            path=os.fspath(path),
            remedy="give a new folder",
        )
    try:
        os.mkdir(temporary)
    except OSError as error:
        raise _unwritable(explained(error, path), path) from None
    try:
        yield temporary
        if os.path.lexists(target):
            os.replace(target, old)
        os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if os.path.lexists(target):
            shutil.rmtree(old, ignore_errors=True)
        elif os.path.lexists(old):  # interrupted between the two steps: restore what was there
            os.replace(old, target)


def _replaceable(folder: str, marker: str) -> bool:
    return os.path.isdir(folder) and (not os.listdir(folder) or os.path.isfile(os.path.join(folder, marker)))


def _text(file: BinaryIO, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(file, encoding=encoding, newline="\n")


def _unwritable(error: InputError, path: FilePath) -> InputError:
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        return InputError("its folder does not exist", path=os.fspath(path), remedy=f"mkdir -p {folder}")
    return InputError(f"cannot be written: {error.what}", path=os.fspath(path))


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)
