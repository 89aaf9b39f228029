"""Reading and writing bytes, compressed or not; every way in which a file can be broken gives a one-line error."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import math
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import IO, Any, BinaryIO, cast

from spinney.corpus.limits import EXPANSION, FREE, max_expansion
from spinney.corpus.limits import size as size_of
from spinney.errors import InputError, OptionError, did_you_mean_file

FilePath = str | os.PathLike[str]

#: Bytes read at a time: enough to amortise Python's overhead, few enough for the cache of one core.
CHUNK = 1 << 18


#: More memory than xz needs for a file that any of its levels wrote.
_XZ_MEMORY = 1 << 30


def read_chunks(path: FilePath, size: int = CHUNK) -> Iterator[bytes]:
    """The bytes of a file (``-`` is standard input), decompressed by suffix, a chunk at a time.

    A missing file is reported at once, a corrupt one when the corruption is met.

    Examples
    --------
    >>> read_chunks("nowhere.txt")
    Traceback (most recent call last):
    ...
    spinney.errors.InputError: nowhere.txt: no such file
    """
    if path == "-":
        stdin = cast(io.BufferedReader, sys.stdin.buffer)
        # read1 returns what a pipe holds now, so that each line is processed when it arrives.
        return _guarded(iter(lambda: stdin.read1(size), b""), path)
    ending, opener = suffix(path), _open_address if is_address(path) else open
    if ending not in (*_WRITERS, ".zst"):
        return _guarded(_chunks(_opened(opener, path, "rb"), size), path)
    most = max_expansion()
    zstandard = _zstandard() if ending == ".zst" else None
    file = _opened(opener, path, "rb")
    unpacked = _zstd_chunks(file, zstandard) if zstandard else _unpacked(file, ending, size)
    return _guarded(_bounded(unpacked, file, path, most), path)


def open_bytes(path: FilePath, mode: str = "r") -> BinaryIO:
    """Open a file of bytes (``-`` is standard input or output), compressed as its suffix says.

    Suffixes are .gz, .xz, .bz2 and .zst; ``mode`` is ``"r"`` or ``"w"``. To write a file whole or not at all,
    use :func:`spinney.corpus.writing_bytes`.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.xz")
    >>> with open_bytes(path, "w") as file:
    ...     _ = file.write(b"one line\\n")
    >>> with open_bytes(path) as file:
    ...     file.read()
    b'one line\\n'
    """
    if mode in ("r", "rb"):
        return io.BufferedReader(ChunkStream(read_chunks(path)))
    if mode not in ("w", "wb"):
        raise OptionError(f"mode must be 'r' or 'w', not {mode!r}")
    return sys.stdout.buffer if path == "-" else compressor(path, suffix(path))


def compressor(path: FilePath, ending: str) -> BinaryIO:
    """Open ``path`` for writing, compressed as ``ending`` says (the path itself may be a temporary name)."""
    if ending == ".zst":
        zstandard = _zstandard()
        checked = zstandard.ZstdCompressor(write_checksum=True)  # as the zstd command does
        return _opened(lambda path, mode: zstandard.open(path, mode, cctx=checked), path, "wb")
    return _opened(_WRITERS.get(ending, open), path, "wb")


class ChunkStream(io.RawIOBase):
    """A read-only file over an iterator of byte strings."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n

    def close(self) -> None:
        if hasattr(self._chunks, "close"):
            self._chunks.close()
        super().close()


def suffix(path: FilePath) -> str:
    """The last ending of a file's name, in lower case: ``".gz"`` for ``"A.TXT.GZ"``."""
    return os.path.splitext(os.fspath(path))[1].lower()


def content_suffix(path: FilePath) -> str:
    """The ending of what is inside, in lower case: ``".txt"`` for ``"A.TXT.GZ"``."""
    ending = suffix(path)
    return suffix(os.fspath(path)[: -len(ending)]) if ending in (".gz", ".xz", ".bz2", ".zst") else ending


def explained(error: Exception, path: FilePath) -> InputError:
    """The one-line error for an exception that a file gave."""
    remedy = None
    if isinstance(error, EOFError):
        what, remedy = "the compressed file ends too early", "it is truncated: copy or download it again"
    elif isinstance(error, FileNotFoundError):
        what, remedy = "no such file", "" if is_address(path) else did_you_mean_file(path)
    elif not isinstance(error, OSError) or error.errno is None:
        what, remedy = (
            f"not a valid {suffix(path)} file",
            "it is corrupt, or its name has the wrong extension",
        )
    elif error.errno == errno.EISDIR:
        what, remedy = "is a folder", "give a file"
    else:
        what = (error.strerror or str(error)).lower()
    return InputError(what, path=os.fspath(path), remedy=remedy)


def _gzip_writer(path: FilePath, mode: str) -> gzip.GzipFile:
    # No name and no time in the header: the same text gives the same bytes.
    file = open(path, mode)  # noqa: SIM115
    zipped = gzip.GzipFile(filename="", mode=mode, fileobj=cast(IO[bytes], file), mtime=0)
    zipped.myfileobj = cast(Any, file)  # so that closing the one closes the other
    return zipped


_WRITERS: dict[str, Callable[..., Any]] = {".gz": _gzip_writer, ".xz": lzma.open, ".bz2": bz2.open}


def _opened(opener: Callable[..., Any], path: FilePath, mode: str) -> BinaryIO:
    try:
        return cast(BinaryIO, opener(path, mode))
    except OSError as error:
        raise explained(error, path) from None
    except InputError:
        raise
    except ValueError:  # a NUL in the name
        raise InputError("not a file name", path=repr(path)) from None


def _chunks(file: IO[bytes], size: int) -> Iterator[bytes]:
    with file:
        while chunk := file.read(size):
            yield chunk


def _unpacked(file: IO[bytes], ending: str, size: int) -> Iterator[bytes]:
    with file:
        if ending == ".gz":
            yield from _chunks(cast(IO[bytes], gzip.GzipFile(fileobj=file)), size)
        else:
            yield from _streams(file, _xz_decompressor if ending == ".xz" else bz2.BZ2Decompressor, size)


def _xz_decompressor() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


def _streams(
    file: IO[bytes], new: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor], size: int
) -> Iterator[bytes]:
    # Python's own readers take a damaged second stream for something else that happens to follow, and leave it out.
    stream, data = new(), file.read(CHUNK)
    while True:
        yield stream.decompress(data, size)
        data = b""
        if stream.eof:
            data = stream.unused_data.lstrip(b"\0")
            while not data and (more := file.read(CHUNK)):
                data = more.lstrip(b"\0")  # the padding of xz
            if not data:
                return
            stream = new()
        elif stream.needs_input and not (data := file.read(CHUNK)):
            raise EOFError


def _zstd_chunks(file: IO[bytes], zstandard: ModuleType) -> Iterator[bytes]:
    # The library's own reader ends quietly after the first frame, and at a truncation. What goes in at a time is
    # small, since each four bytes may become 128 kB.
    frame = None
    with file:
        while data := file.read(1 << 12):
            while data:
                frame = frame or zstandard.ZstdDecompressor().decompressobj()
                try:
                    yield frame.decompress(data)
                except zstandard.ZstdError:
                    raise OSError("corrupt") from None
                data, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise EOFError


def _bounded(chunks: Iterator[bytes], file: IO[bytes], path: FilePath, most: float) -> Iterator[bytes]:
    """Refuse a small file that grows without end."""
    size = _size_on_disk(file)
    n, limit = 0, math.inf if size is None else max(FREE, most * size)
    for chunk in chunks:
        n += len(chunk)
        if n > limit:
            raise InputError(
                f"holds more than {size_of(n)} of text in {size_of(size or 0)}, as no corpus does",
                path=os.fspath(path),
                remedy=f"decompress it, or set {EXPANSION} above {most:g}",
            )
        yield chunk


def _size_on_disk(file: Any) -> int | None:
    """The size of a file, unless it is a pipe."""
    try:
        status = os.fstat(file.fileno())
    except (OSError, AttributeError):  # not on this disk
        size = getattr(file, "size", None)
        return None if size is None else int(size)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def is_address(path: FilePath) -> bool:
    """Whether a path is the address of a file that is not on this disk, such as ``s3://bucket/text.txt``.

    Examples
    --------
    >>> is_address("s3://bucket/text.txt"), is_address("text.txt")
    (True, False)
    """
    scheme, mark, _ = os.fspath(path).partition("://")
    return bool(mark) and scheme.replace("+", "").replace(":", "").isalnum()


def _open_address(path: FilePath, mode: str) -> IO[bytes]:
    try:
        system, inside = fsspec().core.url_to_fs(os.fspath(path))
    except (ValueError, ImportError) as error:
        raise InputError(str(error).splitlines()[0], path=os.fspath(path)) from None
    return cast(IO[bytes], system.open(inside, mode))


def fsspec() -> ModuleType:
    """The package that opens addresses."""
    try:
        import fsspec
        import fsspec.core
    except ImportError:
        raise OptionError("an address such as s3://… needs fsspec: pip install 'spinney[dask]'") from None
    found: ModuleType = fsspec
    return found


def _guarded(chunks: Iterator[bytes], path: FilePath) -> Iterator[bytes]:
    try:
        yield from chunks
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise explained(error, path) from None


def _zstandard() -> ModuleType:
    try:
        import zstandard
    except ImportError:
        raise OptionError("a .zst file needs the package zstandard: pip install 'spinney[zst]'") from None
    return zstandard
