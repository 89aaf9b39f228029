"""A page for any model file: what its header and its tables say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spinney.files import ModelFile
from spinney.report.page import Page, Section, facts, paragraph, table

_DEPTH = 3  # how deep facts may lie in others and still be shown
_LONG = 300  # characters of a fact that are shown


def model_page(file: ModelFile, title: str) -> Page:
    """The page of a model file, of whatever kind.

    Examples
    --------
    >>> import numpy as np
    >>> file = ModelFile("m", "lm/Toy", {"order": 3}, {"w": np.zeros((2, 3))}, {}, 1, {})
    >>> "<dt>order</dt><dd>3</dd>" in model_page(file, "toy").html()
    True
    """
    known = dict(flat_facts(file.header))
    sections = [Section("Facts", [facts(known) if known else paragraph("The file tells none.")])]
    for name, header in file.part_headers.items():
        if header:
            sections.append(Section(f"Part: {name}", [facts(dict(flat_facts(header)))]))
    arrays = [
        [name, " × ".join(map(str, array.shape)), str(array.dtype), array.nbytes]
        for name, array in sorted(file.tensors.items())
    ]
    sections.append(Section("Arrays", [table(["array", "shape", "numbers", "bytes"], arrays)]))
    lists = [
        [name, len(strings), ", ".join(_cut(word, 24) for word in strings[:12])]
        for name, strings in sorted(file.strings.items())
    ]
    if lists:
        sections.append(Section("Words", [table(["list", "words", "the first"], lists)]))
    size = sum(array.nbytes for array in file.tensors.values())
    return Page(title, f"A model file of kind {file.kind}.", {"kind": file.kind, "bytes": size}, sections)


def flat_facts(header: Mapping[str, Any], before: str = "", depth: int = 1) -> Iterator[tuple[str, object]]:
    """Facts, and facts inside facts, by their names; what is long is cut.

    Examples
    --------
    >>> list(flat_facts({"lam": 0.5, "reading": {"lowercase": True}}))
    [('lam', 0.5), ('reading · lowercase', True)]
    """
    for name, value in header.items():
        called = before + name.replace("_", " ")
        if isinstance(value, dict) and depth < _DEPTH:
            yield from flat_facts(value, f"{called} · ", depth + 1)
        elif isinstance(value, list):
            plain = [_cut(item, 24) for item in value[:8] if not isinstance(item, list | dict)]
            yield called, ", ".join([*plain, *(["…"] if len(plain) < len(value) else [])])
        elif isinstance(value, dict):
            yield called, "…"
        else:
            yield called, _cut(value, _LONG) if isinstance(value, str) else value


def _cut(value: object, n: int) -> str:
    text = str(value)
    return text if len(text) <= n else text[: n - 1] + "…"
