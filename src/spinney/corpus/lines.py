"""Text as blocks of whole lines, with what is needed to say where an error is.

Every reader goes through :func:`read_blocks`, so all of them treat encodings, byte-order marks, CRLF and bad
bytes alike. A line ends at ``\\n`` and nowhere else: corpora hold ``\\x85`` and other characters that
:meth:`str.splitlines` would break on.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np

from spinney.corpus.compressed import FilePath, read_chunks
from spinney.corpus.limits import LINE, max_line
from spinney.corpus.limits import size as size_of
from spinney.errors import InputError, OptionError

OnError = Literal["raise", "skip"]

#: White space between words; a no-break space or ``\x85`` is a part of a word.
SPACE = "\t\n\v\f\r\x1c\x1d\x1e\x1f "
_FIELD = re.compile(r"[^\t-\r\x1c-\x20]+")

# Bytes that a codec rejects become one byte that UTF-8 rejects too, so that one check finds them all.
codecs.register_error("spinney.mark", lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]


def fields(line: str) -> list[str]:
    """The parts of a line between ASCII white space; a no-break space or ``\\x85`` stays inside its part.

    Examples
    --------
    >>> fields("10\\xa0km  away\\t.")
    ['10\\xa0km', 'away', '.']
    """
    return line.split() if line.isascii() else _FIELD.findall(line)


@dataclass
class ReadReport:
    """What a reader did: pass in a report and look at it afterwards.

    Attributes
    ----------
    read : int
        Sentences, trees or documents given to the caller.
    skipped : int
        Those dropped because they were bad (``on_error="skip"``).
    empty : int
        Documents without text among those read.
    long : int
        Sentences that exceeded the maximum length, and so were cut or left out.
    joined : int
        Sentences for which a parser gave several roots, which became one tree.
    flat : int
        Sentences that were too long for a parser, and so have a flat tree.
    tokens, unknown : int
        Tokens that were numbered, and those among them that became the unknown symbol.
    errors : list of str
        The messages of the first ten that were dropped.
    """

    read: int = 0
    skipped: int = 0
    empty: int = 0
    errors: list[str] = field(default_factory=list)
    long: int = 0
    tokens: int = 0
    unknown: int = 0
    joined: int = 0
    flat: int = 0

    def skip(self, error: InputError) -> None:
        """Count one dropped item."""
        self.skipped += 1
        if len(self.errors) < 10:
            self.errors.append(str(error))


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file, as bytes that should be UTF-8, each ending in ``\\n``."""

    text: bytes
    line: int
    path: FilePath = "-"
    encoding: str = "utf-8"

    def error(self, what: str, line: int = 0, remedy: str | None = None) -> InputError:
        """An error at line ``line`` of this block, counted from 0."""
        return InputError(what, path=os.fspath(self.path), line=self.line + line, remedy=remedy)

    def decode(self) -> str:
        """The text, or an error that names the first line with a byte that cannot be decoded."""
        if b"\0" in self.text:
            where = self.text.count(b"\n", 0, self.text.index(b"\0"))
            raise self.error("NUL byte", where, "a binary file, or UTF-16: try the encoding utf-16")
        try:
            return self.text.decode()
        except UnicodeDecodeError as error:
            where = self.text.count(b"\n", 0, error.start)
            other = "latin-1" if _is_utf8(self.encoding) else "utf-8"
            raise self.error(f"not {self.encoding.upper()}", where, f"try the encoding {other}") from None

    def each_line(self) -> Iterator[Block]:
        """A block for each line."""
        for i, text in enumerate(self.text.split(b"\n")[:-1]):
            yield Block(text + b"\n", self.line + i, self.path, self.encoding)

    def each_stanza(self, strict: bool = False) -> Iterator[Block]:
        """A block for each run of lines between blank ones; if ``strict``, also for each blank line of white space."""
        lines = self.text.split(b"\n")
        start = 0
        for stop, text in enumerate(lines):
            if not text.strip():
                if start < stop:
                    stanza = b"\n".join(lines[start:stop]) + b"\n"
                    yield Block(stanza, self.line + start, self.path, self.encoding)
                if strict and text:
                    yield Block(text + b"\n", self.line + stop, self.path, self.encoding)
                start = stop + 1


def read_blocks(path: FilePath, encoding: str = "utf-8", *, exact: bool = False) -> Iterator[Block]:
    """The lines of a file in blocks that suit one pass of bulk work each; a missing file is reported at once.

    A last line without an end is given one, unless ``exact``.
    """
    check_encoding(encoding)
    return _blocks(read_chunks(path), path, encoding, b"" if exact else b"\n", max_line())


def _blocks(chunks: Iterator[bytes], path: FilePath, encoding: str, end: bytes, most: int) -> Iterator[Block]:
    pieces: list[bytes] = []
    line, pending = 1, 0
    for chunk in _recoded(chunks, path, encoding):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            block = _block(b"".join([*pieces, chunk[:cut]]), line, path, encoding)
            if len(block.text) > most:
                _refuse_long(block, most)
            yield block
            line += _count_lines(block.text)
            pieces, pending = [], 0
        pieces.append(chunk[cut:])
        pending += len(pieces[-1])
        if pending > most:
            _refuse_long(Block(b"".join(pieces), line, path, encoding), most)
    rest = b"".join(pieces)
    if rest and (line, rest) != (1, codecs.BOM_UTF8):  # a mark alone is no line
        yield _block(rest + end, line, path, encoding)


def _refuse_long(block: Block, most: int) -> None:
    """An error if a line of the block is longer than it may be."""
    for number, line in enumerate(block.text.split(b"\n")):
        if len(line) > most:
            remedy = f"are the line ends missing? If not, set {LINE} to more, at some memory for each byte"
            raise block.error(f"a line of more than {size_of(most)}", number, remedy)


def read_stanza_blocks(path: FilePath, encoding: str = "utf-8") -> Iterator[Block]:
    """As :func:`read_blocks`, and no run of lines between blank ones is cut in two."""
    blocks = read_blocks(path, encoding)
    return regrouped(blocks, lambda text: (b"\n" + text).rfind(b"\n\n") + 1, "blank line")


def regrouped(blocks: Iterable[Block], cut: Callable[[bytes], int], end: str) -> Iterator[Block]:
    """The same lines in blocks that end where ``cut`` says: how many bytes of these lines, 0 if none.

    ``end`` says what ends a block: too many lines without one are an error, so that endless input is not kept.
    """
    pieces: list[Block] = []
    most, pending = max_line(), 0
    for block in blocks:
        n = cut(block.text)
        if n:
            yield _joined([*pieces, replace(block, text=block.text[:n])])
            block = replace(block, text=block.text[n:], line=block.line + _count_lines(block.text[:n]))
            pieces, pending = [], 0
        if block.text:
            pieces.append(block)
            pending += len(block.text)
        if pending > most:
            what = f"no {end} in the {size_of(most)} from here on"
            raise pieces[0].error(what, 0, f"is this the right format? If so, set {LINE} to more")
    if pieces:
        yield _joined(pieces)


def read_lines(
    path: FilePath,
    encoding: str = "utf-8",
    *,
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, without their ends; what is not text is an error, or dropped.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.txt")
    >>> with open(path, "wb") as file:
    ...     _ = file.write("\\ufeffa\\x85b\\r\\nc".encode())
    >>> list(read_lines(path))
    [(1, 'a\\x85b'), (2, 'c')]
    """
    report = ReadReport() if report is None else report
    blocks = read_blocks(path, encoding)
    for lines in parse_blocks(blocks, _numbered_lines, Block.each_line, on_error, report):
        yield from lines


def lines_of(chunks: Iterator[bytes], path: FilePath, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """The same from the bytes of a file that someone else has opened: a part of an archive, say."""
    for block in _blocks(chunks, path, encoding, b"\n", max_line()):
        yield from _numbered_lines(block)


def _numbered_lines(block: Block) -> Iterator[tuple[int, str]]:
    return enumerate(block.decode().split("\n")[:-1], block.line)


Parsed = TypeVar("Parsed")


def parse_blocks(
    blocks: Iterable[Block],
    parse: Callable[[Block], Parsed],
    parts: Callable[[Block], Iterator[Block]],
    on_error: OnError,
    report: ReadReport,
) -> Iterator[Parsed]:
    """Parse in bulk; where a block is bad, raise its error, or parse its parts singly and drop the bad."""
    check_on_error(on_error)
    for block in blocks:
        try:
            parsed = parse(block)
        except InputError:
            if on_error == "raise":
                raise
        else:
            yield parsed
            continue
        for part in parts(block):
            try:
                parsed = parse(part)
            except InputError as error:
                report.skip(error)
            else:
                yield parsed


def check_on_error(on_error: str) -> None:
    """Refuse any value but ``"raise"`` and ``"skip"``."""
    if on_error not in ("raise", "skip"):
        raise OptionError(
            f"on_error must be 'raise' or 'skip', not {on_error!r}", given=on_error, known=("raise", "skip")
        )


#: Codecs of Python that decode text from bytes, but not the text of files.
_NO_ENCODINGS = ("idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")


def check_encoding(encoding: str) -> None:
    """Refuse what is not a character encoding that Python knows: ``hex`` and ``rot13`` are other things.

    Examples
    --------
    >>> check_encoding("utf-8")
    >>> check_encoding("rot13")
    Traceback (most recent call last):
    spinney.errors.OptionError: unknown encoding 'rot13' (for example: utf-8, latin-1, utf-16)
    """
    try:
        found = codecs.lookup(encoding if len(encoding) < 100 else "")
        name = found.name.replace("_", "-")
        known = found.incrementaldecoder is not None and name not in _NO_ENCODINGS
        "\n".encode(encoding)  # refuses what turns bytes into bytes, or text into text
    except (LookupError, ValueError, ImportError, OSError):  # whatever a name can do to an import
        known = False
    if not known:
        shown = encoding if len(encoding) < 100 else f"{encoding[:100]}…"
        raise OptionError(f"unknown encoding {shown!r} (for example: utf-8, latin-1, utf-16)")


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def _recoded(chunks: Iterator[bytes], path: FilePath, encoding: str) -> Iterator[bytes]:
    if _is_utf8(encoding):
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)("spinney.mark")
    try:
        for chunk in chunks:
            yield decoder.decode(chunk).encode("utf-8", "surrogateescape")
        yield decoder.decode(b"", final=True).encode("utf-8", "surrogateescape")
    except UnicodeError as error:  # not a bad byte, which is marked, but a file of another kind
        what, remedy = f"not {encoding}: {error}", "name the encoding of the file"
        raise InputError(what, path=os.fspath(path), remedy=remedy) from None


def _count_lines(text: bytes) -> int:
    return int(
        np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    )  # ten times as fast as text.count


def _joined(blocks: list[Block]) -> Block:
    return replace(blocks[0], text=b"".join(block.text for block in blocks))


def _block(text: bytes, line: int, path: FilePath, encoding: str) -> Block:
    if line == 1:
        text = text.removeprefix(codecs.BOM_UTF8)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    return Block(text, line, path, encoding)
