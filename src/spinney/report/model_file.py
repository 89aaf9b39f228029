"""Views of any model file: its header, its arrays and its lists of words."""

from __future__ import annotations

from spinney.files import ModelFile
from spinney.views import Facts, Note, Section, Table, View, flat_facts


def file_views(file: ModelFile) -> list[View]:
    """The views of a model file of any kind.

    Examples
    --------
    >>> import numpy as np
    >>> file = ModelFile("m", "lm/Toy", {"order": 3}, {"w": np.zeros((2, 3))}, {}, 1, {})
    >>> [view.title for view in file_views(file) if view.title]
    ['Facts', 'Arrays']
    """
    size = sum(array.nbytes for array in file.tensors.values())
    views: list[View] = [
        Note(f"A model file of kind {file.kind}."),
        Facts("facts", "", {"kind": file.kind, "bytes": size}),
        Section("Facts", [Facts("", "", dict(flat_facts(file.header)))]),
    ]
    for name, header in file.part_headers.items():
        if header:
            views.append(Section(f"Part: {name}", [Facts("", "", dict(flat_facts(header)))]))
    arrays = [
        [name, " × ".join(map(str, array.shape)), str(array.dtype), array.nbytes]
        for name, array in sorted(file.tensors.items())
    ]
    views.append(Table("", "Arrays", ["array", "shape", "type", "bytes"], arrays))
    lists = [
        [name, len(strings), ", ".join(word if len(word) < 25 else word[:23] + "…" for word in strings[:12])]
        for name, strings in sorted(file.strings.items())
    ]
    return [*views, Table("", "Words", ["list", "words", "first words"], lists)] if lists else views
