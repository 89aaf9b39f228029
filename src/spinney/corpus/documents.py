"""Documents with labels: folders of text files, and tables in CSV or TSV."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spinney.corpus.compressed import FilePath, content_suffix, explained
from spinney.corpus.frames import frame_rows, is_frame, name_of
from spinney.corpus.limits import LINE, max_line
from spinney.corpus.limits import size as size_of
from spinney.corpus.lines import Block, OnError, ReadReport, check_on_error, read_blocks, read_lines
from spinney.errors import InputError, OptionError, did_you_mean
from spinney.formats import FORMATS, reader

Column = str | int
Row = tuple[int, list[str]]


class Document(NamedTuple):
    """A text, its label if it has one, and where it came from."""

    text: str
    label: str | None = None
    id: str = ""


def read_folder(
    path: FilePath,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Document]:
    """The files of a folder, one document each, in the order of their names.

    If the folder holds folders, these are the classes: a file anywhere below one is a document with its name
    as label, and loose files beside them (a README, say) are skipped. If it holds files only, they are
    documents without a label. Names that begin with a dot are skipped. The ``id`` is the path inside the
    folder. Empty files are documents too; ``report.empty`` counts them.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for label, text in [("pos", "A joy."), ("neg", "A bore.")]:
    ...     os.mkdir(os.path.join(folder, label))
    ...     with open(os.path.join(folder, label, "1.txt"), "w") as file:
    ...         _ = file.write(text)
    >>> list(read_folder(folder))
    [Document(text='A bore.', label='neg', id='neg/1.txt'),
     Document(text='A joy.', label='pos', id='pos/1.txt')]
    """
    check_on_error(on_error)
    report = ReadReport() if report is None else report
    root = Path(path)
    if not root.is_dir():
        what = "is a file" if root.exists() else "no such folder"
        raise InputError(what, path=os.fspath(path), remedy="give a folder of documents")
    classes = [entry for entry in _visible(root) if entry.is_dir()]
    files: list[tuple[Path, str | None]]
    if classes:
        files = [(file, label.name) for label in classes for file in _files_below(label)]
    else:
        files = [(file, None) for file in _visible(root)]
    if not files:
        raise InputError("no documents in this folder", path=os.fspath(path))
    for file, label in files:
        try:
            text = "".join(block.decode() for block in read_blocks(file, encoding, exact=True))
        except InputError as error:
            if on_error == "raise":
                raise
            report.skip(error)
            continue
        yield _counted(Document(text, label, file.relative_to(root).as_posix()), report)


def read_table(
    path: FilePath,
    text: Column | Sequence[Column] = "text",
    label: Column | None = None,
    id: Column | None = None,
    *,
    format: str | None = None,
    header: bool = True,
    delimiter: str | None = None,
    quotes: bool | None = None,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Document]:
    """The rows of a table (CSV, TSV, …) as documents.

    Parameters
    ----------
    path
        A file with one header line, or none if ``header=False``; or a data frame (:mod:`spinney.corpus.frames`).
    text, label, id
        Columns by name, or by number from 0. Several text columns are joined by a space. The ``id`` is by
        default the number of the row's first line.
    format
        A format of :data:`spinney.formats.FORMATS` that gives rows; by default CSV or TSV, by the name of the file.
    delimiter
        By default a tab if the name ends in ``.tsv``, ``.tab`` or ``.txt`` (before a compression suffix),
        else a comma.
    quotes
        Whether fields may be quoted with ``"`` and then hold delimiters and line ends. By default yes, except
        with tabs.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "reviews.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write('stars,review\\n5,"A joy, really"\\n')
    >>> list(read_table(path, text="review", label="stars"))
    [Document(text='A joy, really', label='5', id='2')]
    """
    report = ReadReport() if report is None else report
    texts = [text] if isinstance(text, str | int) else list(text)
    wanted = [*texts, *(column for column in (label, id) if column is not None)]
    cells = read_cells(
        path, wanted, format=format, header=header, delimiter=delimiter, quotes=quotes, encoding=encoding,
        on_error=on_error, report=report,
    )  # fmt: skip
    for line, row in cells:
        own = iter(row[len(texts) :])
        document = Document(
            " ".join(row[: len(texts)]),
            None if label is None else next(own),
            str(line) if id is None else next(own),
        )
        yield _counted(document, report)


def read_cells(
    path: FilePath,
    columns: Sequence[Column],
    *,
    format: str | None = None,
    header: bool = True,
    delimiter: str | None = None,
    quotes: bool | None = None,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Row]:
    """The cells of some columns of a table, row by row with the number of the row's first line.

    The options are those of :func:`read_table`.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "reviews.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("stars,review,year\\n5,A joy,1999\\n")
    >>> list(read_cells(path, ["year", "stars"]))
    [(2, ['1999', '5'])]
    """
    check_on_error(on_error)
    report = ReadReport() if report is None else report
    if is_frame(path):
        if not header:
            raise OptionError("a data frame names its columns: leave header out")
        rows = frame_rows(path, [str(name) for name in dict.fromkeys(columns)])
    elif format is not None:
        rows = reader(format, "rows")(path, encoding=encoding, on_error=on_error, report=report)
    else:
        if delimiter is None:
            delimiter = "\t" if content_suffix(path) in (".tsv", ".tab", ".txt") else ","
        quotes = delimiter != "\t" if quotes is None else quotes
        rows = _rows(_Lines(path, encoding, on_error), delimiter, quotes, on_error, report)
    line, first = next(rows, (0, None))
    if first is None:
        raise InputError("the file is empty", path=name_of(path))
    places = [_column(name, first, header, path) for name in columns]
    if not header:
        yield line, [first[place] for place in places]
    for line, row in rows:
        if len(row) != len(first):
            what = f"{len(row)} columns where the first line has {len(first)}"
            remedy = None if delimiter is None else f"the delimiter is {delimiter!r}"
            error = InputError(what, path=name_of(path), line=line, remedy=remedy)
            if on_error == "raise":
                raise error
            report.skip(error)
            continue
        yield line, [row[place] for place in places]


def csv_rows(path: FilePath, *, encoding: str, on_error: OnError, report: ReadReport) -> Iterator[Row]:
    """The rows of a comma-separated file, whose fields may be quoted."""
    return _rows(_Lines(path, encoding, on_error), ",", True, on_error, report)


def tsv_rows(path: FilePath, *, encoding: str, on_error: OnError, report: ReadReport) -> Iterator[Row]:
    """The rows of a tab-separated file, in which quotation marks are ordinary text."""
    return _rows(_Lines(path, encoding, on_error), "\t", False, on_error, report)


def read_lines_as_documents(
    path: FilePath, *, encoding: str = "utf-8", on_error: OnError = "raise", report: ReadReport | None = None
) -> Iterator[Document]:
    """Each line of a file as a document without a label."""
    for number, line in read_lines(path, encoding, on_error=on_error, report=report):
        yield Document(line.rstrip("\r"), None, str(number))


def read_documents(
    path: FilePath,
    format: str,
    *,
    text: str = "text",
    label: str | None = None,
    header: bool = True,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Document]:
    """The documents of a file in any format that has documents; without a header, table columns are numbers."""
    how: dict[str, Any] = {"encoding": encoding, "on_error": on_error, "report": report}
    if not FORMATS[format].rows:
        documents: Iterator[Document] = reader(format, "documents")(path, **how)
        return documents
    columns: list[Any] = [name if name is None or header else column_number(name) for name in (text, label)]
    return read_table(path, *columns, format=format, header=header, **how)


def _rows(
    lines: _Lines, delimiter: str, quotes: bool, on_error: OnError, report: ReadReport
) -> Iterator[Row]:
    """Rows with the numbers of their first lines; blank lines are skipped."""
    reader: Iterator[list[str]]
    if quotes:
        # The csv module's limit of 131,072 characters is too low for a document.
        csv.field_size_limit(min(max_line(), 2**31 - 1))
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
    else:
        reader = (line[:-1].split(delimiter) if line != "\n" else [] for line in lines)
    while True:
        number, row, lines.bad = lines.given + 1, [], None
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            if "field limit" in str(problem):
                raise InputError(
                    f"a field of more than {size_of(csv.field_size_limit())}",
                    path=lines.path,
                    line=number,
                    remedy=f"is a quotation mark missing at its end? If not, set {LINE} to more",
                ) from None
            unclosed = "unexpected end of data" in str(problem)
            what = "a quotation mark is opened but never closed" if unclosed else f"bad quoting: {problem}"
            remedy = "if quotation marks are ordinary text here, read with quotes=False"
            lines.bad = lines.bad or InputError(what, path=lines.path, line=number, remedy=remedy)
        if lines.bad is None:
            if row:
                yield number, row
        elif on_error == "raise":
            raise lines.bad
        else:
            report.skip(lines.bad)


class _Lines:
    """Lines with their ends, how many were given, and the last that was no text if errors are skipped."""

    def __init__(self, path: FilePath, encoding: str, on_error: OnError) -> None:
        self.path, self.encoding, self.on_error = os.fspath(path), encoding, on_error
        self.given = 0
        self.bad: InputError | None = None

    def __iter__(self) -> Iterator[str]:
        for block in read_blocks(self.path, self.encoding):
            try:
                lines = block.decode().split("\n")[:-1]
            except InputError:
                if self.on_error == "raise":
                    raise
                yield from self._some_bad(block)
            else:
                for line in lines:
                    self.given += 1
                    yield line + "\n"

    def _some_bad(self, block: Block) -> Iterator[str]:
        for line in block.each_line():
            self.given += 1
            try:
                yield line.decode()
            except InputError as error:
                self.bad = error
                yield line.text.decode("utf-8", "replace")


def column_number(name: str) -> Column:
    """The column of a table without a header that a setting names: a number, or else the name as it is.

    Examples
    --------
    >>> column_number("2"), column_number("text")
    (2, 'text')
    """
    return int(name) if name.isascii() and name.isdigit() and len(name) < 10 else name


def _column(name: Column, first: list[str], header: bool, path: FilePath) -> int:
    if isinstance(name, int):
        if -len(first) <= name < len(first):
            return name
        what = f"no column {name}: the columns are 0 to {len(first) - 1}"
    elif not header:
        raise OptionError(f"without a header, columns are numbers from 0, not {name!r}")
    elif first.count(name) == 1:
        return first.index(name)
    else:
        several = "no" if name not in first else "more than one"
        what = f"{several} column {name!r}: the columns are {', '.join(map(repr, first))}"
    raise InputError(what, path=name_of(path), line=1, remedy=did_you_mean(name, set(first) - {name}))


def _counted(document: Document, report: ReadReport) -> Document:
    report.read += 1
    report.empty += not document.text.strip()
    return document


def _visible(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise explained(error, folder) from None


def _files_below(folder: Path) -> Iterator[Path]:
    for entry in _visible(folder):
        if entry.is_dir():
            yield from _files_below(entry)
        else:
            yield entry
