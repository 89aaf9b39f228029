"""CoNLL-U from plain annotations: words in columns that the user names, or ``word/TAG`` in running lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from spinney.corpus.compressed import FilePath
from spinney.corpus.conllu import Sentence
from spinney.corpus.heads import tree_problem
from spinney.corpus.lines import (
    Block,
    OnError,
    ReadReport,
    fields,
    parse_blocks,
    read_blocks,
    read_stanza_blocks,
)
from spinney.corpus.spelled_out import spelled_out
from spinney.errors import OptionError

#: The columns that annotations can have; ``_`` is one to leave out.
COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "gloss", "misc", "id", "_")
_PLURAL = {"lemma": "lemmas", "deprel": "deprels"}
_COMMENT = re.compile(r"#\s*(\w+)\s*=\s*(.*)")
_FEATS = re.compile(r"[^=|\s]+=[^=|\s]+(\|[^=|\s]+=[^=|\s]+)*")


def read_annotated_columns(
    path: FilePath,
    columns: Sequence[str],
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Sentence]:
    """The sentences of a file with one word per line, in columns with these names, and blank lines between sentences.

    Cells are separated by tabs or, in lines without any, by spaces. An empty cell is ``_``. Lines such as
    ``# text = …`` before a sentence are kept; such a text shows which words have no space after them.

    Parameters
    ----------
    columns
        Names of :data:`COLUMNS`, ``form`` among them.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "story.tsv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("# text = Pelu selemi.\\nPelu\\tNOUN\\tfish\\nselemi\\tVERB\\tsleep-PST\\n.\\tPUNCT\\t\\n")
    >>> for sentence in read_annotated_columns(path, ["form", "upos", "gloss"]):
    ...     print(sentence)
    # text = Pelu selemi.
    1	Pelu	_	NOUN	_	_	_	_	_	Gloss=fish
    2	selemi	_	VERB	_	_	_	_	_	Gloss=sleep-PST|SpaceAfter=No
    3	.	_	PUNCT	_	_	_	_	_	_
    """
    check_columns(columns)
    report = ReadReport() if report is None else report
    blocks = read_stanza_blocks(path, encoding)

    def parse(block: Block) -> list[Sentence]:
        block.decode()  # an error names the first bad line, whichever stanza it is in
        return [_of_rows(stanza, columns) for stanza in block.each_stanza() if _has_words(stanza)]

    for sentences in parse_blocks(blocks, parse, Block.each_stanza, on_error, report):
        report.read += len(sentences)
        yield from sentences


def read_tagged_lines(
    path: FilePath,
    columns: Sequence[str] = ("form", "upos"),
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Sentence]:
    """The sentences of a file with one per line, as ``word/TAG word/TAG``; the last slashes count.

    Parameters
    ----------
    columns
        What stands between the slashes: names of :data:`COLUMNS`, ``form`` first.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "story.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("Pelu/NOUN selemi/VERB ./PUNCT\\n")
    >>> [(sentence.forms, sentence.upos) for sentence in read_tagged_lines(path)]
    [(['Pelu', 'selemi', '.'], ['NOUN', 'VERB', 'PUNCT'])]
    """
    check_columns(columns)
    if columns[0] != "form" or len(columns) < 2:
        raise OptionError("the columns of word/TAG begin with form, and have one more at least")
    report = ReadReport() if report is None else report

    def parse(block: Block) -> list[Sentence]:
        found = []
        for number, line in enumerate(block.decode().split("\n")):
            rows = [token.rsplit("/", len(columns) - 1) for token in fields(line)]
            for row in rows:
                if len(row) < len(columns) or not row[0]:
                    shape = "/".join(name.upper() for name in columns)
                    raise block.error(
                        f"{'/'.join(row)!r} is not {shape}", number, "is this the right format?"
                    )
            if rows:
                found.append(_sentence(block, columns, rows, [number] * len(rows), []))
        return found

    for sentences in parse_blocks(read_blocks(path, encoding), parse, Block.each_line, on_error, report):
        report.read += len(sentences)
        yield from sentences


def check_columns(columns: Sequence[str]) -> None:
    """Refuse names that no column has, and columns without forms."""
    for name in columns:
        if name not in COLUMNS:
            known = ", ".join(COLUMNS)
            raise OptionError(f"there is no column {name!r}: there are {known}", given=name, known=COLUMNS)
        if name != "_" and list(columns).count(name) > 1:
            raise OptionError(f"the column {name} is named twice")
    if "form" not in columns:
        raise OptionError("one of the columns must be form, the word itself")


def ordered_feats(value: str) -> str | None:
    """Features in the order of the format, or None if they are not written as it writes them.

    Examples
    --------
    >>> ordered_feats("Number=Plur|Case=Acc"), ordered_feats("_"), ordered_feats("ACC.PL")
    ('Case=Acc|Number=Plur', '_', None)
    """
    if value == "_":
        return value
    return "|".join(sorted(value.split("|"), key=str.casefold)) if _FEATS.fullmatch(value) else None


def _has_words(stanza: Block) -> bool:
    return any(line and not _COMMENT.match(line) for line in stanza.decode().split("\n"))


def _of_rows(stanza: Block, columns: Sequence[str]) -> Sentence:
    """The sentence of some lines."""
    comments: list[str] = []
    rows: list[list[str]] = []
    numbers: list[int] = []
    for number, line in enumerate(stanza.decode().split("\n")[:-1]):
        if not rows and _COMMENT.match(line):
            comments.append(line)
            continue
        cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else fields(line)
        if len(cells) != len(columns):
            what = f"{len(cells)} columns where {len(columns)} are named ({', '.join(columns)})"
            raise stanza.error(what, number, "name all columns, _ for those to leave out")
        rows.append(cells)
        numbers.append(number)
    return _sentence(stanza, columns, rows, numbers, comments)


def _sentence(
    block: Block, columns: Sequence[str], rows: list[list[str]], numbers: list[int], comments: list[str]
) -> Sentence:
    """A sentence out of cells, each row of which comes from the line of that number."""
    cells = {
        name: [row[i] or "_" for row in rows] for i, name in enumerate(columns) if name not in ("_", "id")
    }
    for number, row in zip(numbers, rows):
        if not row[columns.index("form")]:
            raise block.error("a word without a form", number, "write _ if there is none")
    if "feats" in cells:
        for i, value in enumerate(cells["feats"]):
            ordered = ordered_feats(value)
            if ordered is None:
                what = f"{value[:40]!r} is not features such as Case=Acc|Number=Plur"
                raise block.error(what, numbers[i], "call this column xpos or gloss")
            cells["feats"][i] = ordered
    given: dict[str, Any] = {
        _PLURAL.get(name, name): cells[name] for name in cells if name not in ("form", "head", "gloss")
    }
    for name in ("upos", "xpos", "deprels"):
        if name in given:
            given[name] = [value.replace(" ", "_") for value in given[name]]
    heads = _heads(block, cells["head"], numbers) if "head" in cells else []
    sentence = Sentence(cells.pop("form"), heads=heads, comments=comments, **given)
    sentence.misc = _misc(sentence, cells.get("gloss"))
    return sentence


def _misc(sentence: Sentence, glosses: list[str] | None) -> list[str]:
    """What MISC holds: glosses, and where the text of a comment has no space."""
    n = len(sentence)
    told: list[list[str]] = [[] if old == "_" else [old] for old in sentence.misc or ["_"] * n]
    for own, gloss in zip(told, glosses or ()):
        if gloss != "_":
            own.append("Gloss=" + gloss.replace("|", "\\p"))
    matches = (_COMMENT.match(comment) for comment in sentence.comments)
    text = next((match[2] for match in matches if match and match[1] == "text"), None)
    pieces = None if text is None else spelled_out(sentence.forms, text)
    if pieces is not None and len(pieces) == n:
        for own, piece in zip(told, pieces):
            if not piece.spaced and not any("SpaceAfter=" in one for one in own):
                own.append("SpaceAfter=No")
    return ["|".join(own) or "_" for own in told]


def _heads(block: Block, cells: list[str], numbers: list[int]) -> list[int]:
    """Heads as numbers, which must form a tree; none if all cells are empty."""
    if all(cell == "_" for cell in cells):
        return []
    heads = []
    for i, cell in enumerate(cells):
        if not (cell.isascii() and cell.isdigit() and len(cell) < 10 and int(cell) <= len(cells)):
            what = f"the head {cell[:40]!r} is not the number of a word of the sentence, or 0"
            raise block.error(what, numbers[i], "count words from 1; 0 is the root")
        heads.append(int(cell))
    wrong = tree_problem(np.array(heads, np.int32), np.array([len(heads)]))
    if wrong is not None:
        raise block.error(wrong[1], numbers[wrong[0]])
    return heads
