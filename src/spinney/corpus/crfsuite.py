"""CRFsuite's data files: one item per line (its label, then its attributes), with blank lines between sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import Block, OnError, ReadReport, parse_blocks, read_stanza_blocks

Item = tuple[str, dict[str, float]]

#: Maximum number of distinct attributes to remember; after that the table is emptied.
_REMEMBERED = 1 << 20
_ESCAPE = re.compile(r"\\([:\\])")
#: A name, in which a backslash hides the colon or backslash after it; then perhaps a colon and a value.
_ATTRIBUTE = re.compile(r"((?:[^:\\]|\\[:\\]?)*)(?::(.*))?", re.DOTALL)


def read_crfsuite(
    path: FilePath,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[list[Item]]:
    r"""The sentences of a CRFsuite data file, each a list of items: the label, and the value of each attribute.

    Fields are separated by tabs. An attribute is a name, or ``name:value``; its value is 1 where none is given,
    and the values of an attribute that comes twice are added. In names, ``\:`` is a colon and ``\\`` a backslash.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.crfsuite")
    >>> with open(path, "w") as file:
    ...     _ = file.write("NN\tw=time\tlength:0.5\n:\tw=\\:\n\nVB\tw=go\n")
    >>> for sentence in read_crfsuite(path):
    ...     print(sentence)
    [('NN', {'w=time': 1.0, 'length': 0.5}), (':', {'w=:': 1.0})]
    [('VB', {'w=go': 1.0})]
    """
    report = ReadReport() if report is None else report
    known: dict[
        str, tuple[str, float] | None
    ] = {}  # attributes repeat: each distinct one is taken apart once
    blocks = read_stanza_blocks(path, encoding)
    for sentences in parse_blocks(
        blocks, lambda block: _parse(block, known), Block.each_stanza, on_error, report
    ):
        report.read += len(sentences)
        yield from sentences


def _parse(block: Block, known: dict[str, tuple[str, float] | None]) -> list[list[Item]]:
    if len(known) > _REMEMBERED:
        known.clear()
    sentences: list[list[Item]] = []
    inside = False
    for number, line in enumerate(block.decode().split("\n")):
        if not line.strip():
            inside = False
            continue
        label, *attributes = line.split("\t")
        if not label:
            raise block.error(
                "no label before the first tab", number, "a line is: label TAB attribute TAB ..."
            )
        values: dict[str, float] = {}
        for text in attributes:
            if not text:  # two tabs, or one at the end of the line
                continue
            attribute = known.get(text) or known.setdefault(text, _attribute(text))
            if attribute is None:
                what = f"the value of the attribute {text!r} is not a finite number"
                raise block.error(
                    what, number, r"an attribute is name or name:value; a colon in a name is \:"
                )
            name, value = attribute
            values[name] = values.get(name, 0.0) + value
        if not inside:
            sentences.append([])
            inside = True
        sentences[-1].append((_unescaped(label), values))
    return sentences


def _attribute(text: str) -> tuple[str, float] | None:
    """Name and value, or None where the value is bad."""
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        return None
    name, value = match.groups()
    try:
        number = 1.0 if value is None else float(value)
    except ValueError:
        return None
    return (_unescaped(name), number) if math.isfinite(number) else None


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text
