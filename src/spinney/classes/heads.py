"""Words together with their heads: BLESS, composition and deviance by transitions (Grave 2014, chapter 3)."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import basename
from typing import Any, Literal

from spinney.classes.model import WordClassModel
from spinney.classes.relations import NAMES_OF_RELATIONS
from spinney.errors import SettingError, about
from spinney.evaluate import (
    bless_boxes,
    bless_precision_recall,
    composition_correlation,
    cross_pos,
    deviance_scores,
    read_bless,
    read_comparisons,
    read_deviance,
)
from spinney.evaluate.composition import Operator, Structure
from spinney.evaluate.ellipsis import ClausePair
from spinney.evaluate.phrases import PhrasePair
from spinney.settings.classes import Evaluate
from spinney.structure import WordVectors
from spinney.views import Extra, Table, View


def scores_table(key: str, title: str, found: dict[str, Any], keys: Sequence[str]) -> list[View]:
    rows = [[basename(file), *(row[name] for name in keys)] for file, row in found.items()]
    return [Table("", title, ["file", *keys], rows), Extra(key, "", found)]


def bless_views(model: WordClassModel, vectors: WordVectors, file: str, measure: Any) -> list[View]:
    """As they are, and with words of other parts of speech moved into the classes of their heads, if that can be."""
    transforms: dict[str, Any] = {"plain": None}
    matrix, structure = model.head_transitions(), structure_of(model)
    if matrix is not None:
        transforms["transformed"] = cross_pos(matrix, structure)
    own = by_relation(model)
    if own is not None:
        arguments = model.head_transitions(*NAMES_OF_RELATIONS["nsubj"], *NAMES_OF_RELATIONS["obj"])
        transforms["by relation"] = cross_pos(own["amod"], structure, verbs=arguments)
    found: dict[str, Any] = {}
    with about(file):
        pairs = read_bless(file)
        for name, transform in transforms.items():
            boxes = bless_boxes(vectors, pairs, measure, transform)
            curve = bless_precision_recall(vectors, pairs, measure, transform)
            found[name] = {
                "average_precision": curve["average_precision"],
                "recall": curve["recall"],
                "precision": curve["precision"],
                "quartiles": boxes["quartiles"],
            }
            found |= {key: boxes[key] for key in ("concepts", "pairs", "coverage")}
    title = f"BLESS: {found['concepts']} concepts, coverage {found['coverage']:.0%}; medians by relation"
    rows = [
        [name, *(found[kind]["quartiles"][name][2] for kind in transforms)]
        for name in found["plain"]["quartiles"]
    ]
    rows.append(["average precision", *(found[kind]["average_precision"] for kind in transforms)])
    return [Table("", title, ["relation", *transforms], rows), Extra("bless", "", found)]


def structure_of(model: WordClassModel) -> Structure:
    return "tree" if model.is_tree else "chain"


def by_relation(model: WordClassModel) -> dict[str, Any] | None:
    """The transitions of the relations that evaluations look at, if relations have their own."""
    if not model.edge_kinds():
        return None
    return {name: model.head_transitions(*known) for name, known in NAMES_OF_RELATIONS.items()}


def operators_of(model: WordClassModel) -> dict[str, tuple[Operator, Any]]:
    """The operators that a model has, each with its transitions.

    Where relations have transitions of their own, t-add and t-mult take these, and once more those of all relations.
    """
    plain: tuple[Operator, ...] = ("baseline", "add", "mult")
    moving: tuple[Operator, ...] = ("t-add", "t-mult")
    shared, own = model.head_transitions(), by_relation(model)
    found: dict[str, tuple[Operator, Any]] = {name: (name, None) for name in plain}
    if shared is not None:
        found |= {name: (name, shared if own is None else own) for name in moving}
    if own is not None:
        found |= {f"{name}, shared": (name, shared) for name in moving}
    return found


def comparisons_in(file: str, s: Evaluate) -> dict[str, tuple[list[Any], Literal["bare", "composed"]]]:
    """What a file compares, by the kind of phrase (none for clauses), and what becomes of the second expression.

    Clauses that differ in their verbs alone are compared with the bare second verb.
    """
    items = read_comparisons(file, second_subjects=s.second_subjects)
    return {kind: (some, _second(some)) for kind, some in _kinds_of_phrases(items).items()}


def composition_views(model: WordClassModel, vectors: WordVectors, s: Evaluate, measure: Any) -> list[View]:
    """How all operators agree with people, file by file and kind of phrase by kind of phrase."""
    operators, structure = operators_of(model), structure_of(model)
    all_found: dict[str, Any] = {}
    views: list[View] = []
    for file in s.composition:
        all_found[file] = {}
        with about(file):
            for kind, (some, second) in comparisons_in(file, s).items():
                found = {
                    name: composition_correlation(vectors, some, T, one, structure, measure, second=second)
                    for name, (one, T) in operators.items()
                }
                what = f"{kind} pairs" if kind else f"the second verb {second}"
                views.append(_operator_table(f"Composition: {basename(file)}, {what}", found))
                if kind:
                    all_found[file][kind] = found
                else:
                    all_found[file] = {"second": second, **found}
    return [*views, Extra("composition", "", all_found)]


def _kinds_of_phrases(items: Sequence[ClausePair] | Sequence[PhrasePair]) -> dict[str, list[Any]]:
    """Phrases by their kind; clauses are of one kind without a name."""
    kinds: dict[str, list[Any]] = {}
    for one in items:
        kinds.setdefault(one.first.kind if isinstance(one, PhrasePair) else "", []).append(one)
    return kinds


def _second(items: Sequence[Any]) -> Literal["bare", "composed"]:
    """What becomes of the second expression: if only verbs differ, it is a landmark."""
    landmarks = all(
        isinstance(one, ClausePair) and one.first._replace(verb="") == one.second._replace(verb="")
        for one in items
    )
    return "bare" if landmarks else "composed"


def _operator_table(title: str, found: dict[str, dict[str, Any]]) -> Table:
    keys = ("pearson", "spearman", "n", "items")
    rows = [[name, *(row[key] for key in keys)] for name, row in found.items()]
    return Table("", title, ["operator", *keys], rows)


def below_nouns(model: WordClassModel) -> Any:
    """The transitions from nouns to their adjectives."""
    T = model.head_transitions(*NAMES_OF_RELATIONS["amod"])
    if T is None:
        raise SettingError("{deviance} needs transitions between hidden classes: fit with the method hmm")
    return T


def deviance_views(model: WordClassModel, vectors: WordVectors, files: Sequence[str]) -> list[View]:
    """Welch's test on the plausibility of adjectives with nouns (Grave 2014, §3.4.3)."""
    T, found = below_nouns(model), {}
    for file in files:
        with about(file):
            found[file] = deviance_scores(vectors, read_deviance(file), T, structure_of(model))
    keys = ("t", "df", "p", "deviant", "acceptable", "n_deviant", "n_acceptable", "phrases")
    title = "Deviance: Welch's test of the mean plausibility of deviant and acceptable phrases"
    return scores_table("deviance", title, found, keys)
