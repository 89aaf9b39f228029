"""Tree CRFs in files: hashes of features, their weights in single precision, and the templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spinney.errors import InputError
from spinney.files import ModelFile
from spinney.front_coding import smallest
from spinney.model import Contents
from spinney.parsing.treecrf.loss import Relations
from spinney.parsing.treecrf.numbering import Table
from spinney.parsing.treecrf.preparing import Known, Programs
from spinney.parsing.treecrf.pruning import Pruner
from spinney.parsing.treecrf.templates import read_templates
from spinney.structure import WordClasses

if TYPE_CHECKING:
    from spinney.parsing.treecrf.parser import TreeParser

_KINDS = ("arc", "label", "sibling")
_MOST = 1000  # candidate heads of a word


def contents_of(parser: TreeParser) -> Contents:
    """What a file holds."""
    known, pruner = parser.known, parser.pruner
    tensors = {
        "w": parser.w.astype(np.float32),
        "relation_counts": smallest(np.diff(known.relations.row)),
        "relation": smallest(known.relations.label.astype(np.int64)),
        "prune_keys": pruner.keys,
        "prune_w": pruner.w.astype(np.float32),
        "strongest_w": np.array([one[3] for one in parser.strongest], np.float32),
    }
    for kind in _KINDS:
        tensors[f"{kind}_keys"] = known.keys[kind]
        tensors[f"{kind}_templates"] = smallest(known.templates[kind].astype(np.int64))
    strings = {
        "relations": parser.relations,
        "templates": parser.templates.splitlines(),
        "strongest_kind": [one[0] for one in parser.strongest],
        "strongest_relation": [one[1] for one in parser.strongest],
        "strongest_feature": [one[2] for one in parser.strongest],
    }
    header = {
        "facts": parser.facts,
        "projective": parser.projective,
        "prune": {"share": pruner.share, "most": pruner.most},
        "rough": parser.rough,
        "classes": list(parser.classes),
    }
    parts = {f"classes{i}": classes.parts() for i, classes in enumerate(parser.classes.values())}
    return Contents(header, tensors, strings, parts)


def stored(file: ModelFile) -> dict[str, Any]:
    """What :func:`contents_of` wrote, checked: the arguments of the parser."""
    names = file.fact("classes", list)
    if not all(isinstance(name, str) for name in names):
        raise file.error("damaged: the names of its classes are not text")
    with file.checked(InputError):
        classes = {name: WordClasses.from_parts(file.part(f"classes{i}")) for i, name in enumerate(names)}
        text = "\n".join(file.texts("templates")) + "\n"
        templates = read_templates(text, classes=names)
    relations = file.texts("relations")
    if not relations or len(set(relations)) < len(relations):
        raise file.error("damaged: its relations are not distinct, or there are none")
    keys, of = {}, {}
    for kind in _KINDS:
        keys[kind] = np.array(file.tensor(f"{kind}_keys", np.uint64))
        most = sum(template.kind == kind for template in templates)
        of[kind] = _whole(file, f"{kind}_templates", len(keys[kind]), most).astype(np.int32)
    counts = _whole(file, "relation_counts", len(keys["label"]), len(relations) + 1)
    label = _whole(file, "relation", int(counts.sum()), len(relations)).astype(np.int32)
    row = np.concatenate([[0], np.cumsum(counts)])
    known = Known(keys, Relations(row, label, len(relations)), of)
    w = file.tensor("w", np.float32).astype(np.float64)
    prune_keys = np.array(file.tensor("prune_keys", np.uint64))
    prune_w = file.tensor("prune_w", np.float32).astype(np.float64)
    if len(w) != known.sizes.total or len(prune_w) != len(prune_keys):
        raise file.error("damaged: its weights do not belong to its features")
    if any(Table.of(some) is None for some in (*keys.values(), prune_keys)):
        raise file.error("damaged: its features are not distinct")
    share, most = _pruning(file)
    programs = Programs.compiled(templates)
    projective = file.fact("projective", bool)
    if programs.second_order and not projective:
        raise file.error("damaged: it has siblings, but not in projective trees")
    return {
        "templates": text, "relations": relations, "known": known, "w": w,
        "pruner": Pruner(programs.of["prune"], prune_keys, prune_w, share, most),
        "rough": _rough(file), "projective": projective, "classes": classes, "strongest": _strongest(file),
        "facts": _facts(file),
    }  # fmt: skip


def _whole(file: ModelFile, name: str, n: int, below: int) -> Any:
    """So many whole numbers from 0 on, all below a bound."""
    values = file.tensor(name, low=0, high=max(below - 1, 0))
    if values.dtype.kind not in "iu" or len(values) != n:
        raise file.error(f"damaged: {name} does not fit its features")
    return values.astype(np.int64)


def _pruning(file: ModelFile) -> tuple[float, int]:
    given = file.fact("prune", dict)
    share, most = given.get("share"), given.get("most")
    if not isinstance(share, float) or not 0 < share <= 1 or type(most) is not int or not 1 <= most <= _MOST:
        raise file.error("damaged: it does not say how arcs are pruned")
    return share, most


def _rough(file: ModelFile) -> float:
    """The share of the rough model; files of parsers in which it has none do not say so."""
    if "rough" not in file.header:
        return 0.0
    share = file.fact("rough", float)
    if not 0 <= share < 1:
        raise file.error("damaged: the share of the rough model is none")
    return share


def _facts(file: ModelFile) -> dict[str, Any]:
    facts = file.fact("facts", dict)
    tried = facts.get("tried", [])
    if not isinstance(tried, list) or not all(
        isinstance(one, dict) and all(isinstance(one.get(name), int | float) for name in ("lam", "las"))
        for one in tried
    ):
        raise file.error("damaged: it does not say which strengths were tried")
    return facts


def _strongest(file: ModelFile) -> list[tuple[str, str, str, float]]:
    columns = [file.texts(f"strongest_{name}") for name in ("kind", "relation", "feature")]
    weights = file.tensor("strongest_w", np.float32).tolist()
    if len({len(weights), *map(len, columns)}) > 1:
        raise file.error("damaged: its strongest features are not complete")
    return list(zip(*columns, weights))
