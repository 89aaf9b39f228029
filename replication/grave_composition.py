"""Grave (2014), chapter 3: composed verbs against people's scores."""

from __future__ import annotations

from typing import Any, Literal, get_args

from grave_common import STRUCTURES, Setting, section, short, verdict
from grave_models import transition, vectors

from spinney.evaluate import composition_correlation, read_composition
from spinney.evaluate.composition import Operator

#: Pearson on the pairs of Grefenstette and Sadrzadeh 2011, 512 classes.
PUBLISHED = {
    "tree": {"baseline": ".22", "add": ".22", "mult": ".03", "t-add": ".24", "t-mult": ".37"},
    "chain": {"baseline": ".23", "add": ".24", "mult": ".01", "t-add": ".24", "t-mult": ".36"},
}
#: What becomes of the second clause: the landmark of ELLDIS is a bare verb, a clause of ELLSIM is composed too.
SETS: dict[str, Literal["bare", "composed"]] = {"ELLDIS": "bare", "ELLSIM": "composed"}


def composition(setting: Setting) -> str:
    """Five operators on subject, verb and object."""
    operators = get_args(Operator)
    rows: list[list[object]] = []
    scores: dict[tuple[str, str, str], dict[str, Any]] = {}
    for structure in STRUCTURES:
        rows.append(
            [
                f"{structure} 512, thesis, GS2011",
                *(PUBLISHED[structure][operator] for operator in operators),
                None,
            ]
        )
        n = setting.largest
        found = vectors(setting, structure, n)
        T = transition(setting, structure, n)
        for name, second in SETS.items():
            pairs = read_composition(setting.data / "composition" / f"{name}.txt.xz")
            for operator in operators:
                scores[structure, name, operator] = composition_correlation(
                    found,
                    pairs,
                    T,
                    operator,
                    structure,
                    second=second,
                )
            entered = scores[structure, name, "baseline"]
            cells = [short(scores[structure, name, operator]["pearson"]) for operator in operators]
            rows.append([f"{structure} {n}, ours, {name}", *cells, f"{entered['n']} of {entered['items']}"])
    note = (
        "Pearson of Hellinger similarity and mean human score. Not the same data: the pairs of Grefenstette and "
        "Sadrzadeh 2011 are not in the collection. ELLDIS is built on them, with scores given anew to sentences "
        "with a second subject, which is dropped here; its composed verb is compared with the bare landmark. ELLSIM "
        "compares whole clauses."
    )
    header = ["", *operators, "pairs"]
    claims = []
    for structure in STRUCTURES:
        got = {operator: scores[structure, "ELLDIS", operator]["pearson"] for operator in operators}
        claims += [
            (f"{structure}: T-mult is best on ELLDIS", got["t-mult"] == max(got.values())),
            (f"{structure}: mult alone fails on ELLDIS (below .1)", abs(got["mult"]) < 0.1),
        ]
    return section("Composition (chapter 3)", note, header, rows) + verdict(claims)
