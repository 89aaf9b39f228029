"""Grave (2014), chapter 2: what approximate messages, step sizes, beginnings and labels of edges do to the likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from grave_common import STRUCTURES, Setting, section, table, verdict
from grave_models import Structure, text, transition

from spinney.classes import HiddenMarkov, brown, pair_counts

K_BEST = (2, 4, 8, 16, 32)
EPSILONS = (0.1, 0.01, 0.0)
GAMMAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
TYPED = (10, 40)
_ENOUGH = 0.9  # of the mass of a column of T


def optimisation(setting: Setting) -> str:
    """Figures 2.2 to 2.4, of which the curves are lost, and two questions more."""
    study = _Study(setting)
    exact = study.fit()
    k_best = {k: study.fit(k_best=k) for k in K_BEST}
    epsilon = {e: study.fit(epsilon=e) for e in EPSILONS}
    gammas = {g: exact if g == study.gamma else study.fit(gamma=g) for g in GAMMAS}
    messages = {f"{k}-best": model for k, model in k_best.items()}
    messages |= {f"ε = {e:g}": model for e, model in epsilon.items()} | {"exact": exact}
    note = (
        f"Tree, {study.n_classes} classes (thesis: 128), {study.train.n_tokens:,} tokens of Reuters, random start, online "
        f"EM only, γ = {study.gamma} unless stated. Log-likelihood a token of {study.dev.n_tokens:,} tokens after those, "
        "by exact inference whatever was trained with. The curves of the thesis are lost; it concludes that k = 16 and "
        "ε = 0.01 are good choices."
    )
    header = ["messages", *(f"pass {i + 1}" for i in range(study.passes))]
    support = [f"support, pass {i + 1}" for i in range(study.passes)]
    rows = [[name, *study.curve(model), *study.support(model)] for name, model in messages.items()]
    result = section("Optimisation: approximate messages (Figures 2.2 and 2.3)", note, header + support, rows)
    last = {name: study.last(model) for name, model in messages.items()}
    kept = [row["support"] for row in epsilon[0.01].facts_["trace"]]
    result += verdict(
        [
            ("16-best is within 0.02 of exact", abs(last["16-best"] - last["exact"]) < 0.02),
            ("ε = 0.01 is within 0.02 of exact", abs(last["ε = 0.01"] - last["exact"]) < 0.02),
            ("2-best is worse than 16-best", last["2-best"] < last["16-best"]),
            ("supports of ε-best vectors are large at first and shrink", kept[0] > 1.2 * kept[-1]),
        ]
    )
    return result + _steps(study, gammas) + _beginnings(study, exact) + _sparsity(setting) + _typed(study)


def _steps(study: _Study, gammas: Mapping[float, HiddenMarkov]) -> str:
    note = "\n### Step sizes α_t = 1/(4 + t)^γ\n\nThe thesis says that they matter a lot, not which it chose.\n\n"
    header = ["γ", *(f"pass {i + 1}" for i in range(study.passes))]
    rows = [[f"{gamma:.1f}", *study.curve(model)] for gamma, model in gammas.items()]
    last = [study.last(model) for model in gammas.values()]
    claim = ("the step size matters (best and worst γ differ by over 0.05)", max(last) - min(last) > 0.05)
    return note + table(header, rows) + verdict([claim])


def _beginnings(study: _Study, chance: HiddenMarkov) -> str:
    note = (
        "\n### Beginnings\n\nThe thesis advises Brown clusters. Splitting begins with an eighth of the classes, one pass "
        "before each of three splits; then all have the same number of passes. Chains and trees cannot be compared: a "
        "tree model is given the tree.\n\n"
    )
    rows = [["tree, random", *study.curve(chance)]]
    models = {"random": chance}
    for structure in STRUCTURES:
        for start in ("random", "splitting", "Brown"):
            if (structure, start) == ("tree", "random"):
                continue
            model = study.begin(structure, start)  # type: ignore[arg-type]
            rows.append([f"{structure}, {start}", *study.curve(model)])
            models |= {start: model} if structure == "tree" else {}
    header = ["", *(f"pass {i + 1}" for i in range(study.passes))]
    last = {start: study.last(model) for start, model in models.items()}
    return (
        note
        + table(header, rows)
        + verdict(
            [
                ("Brown clusters begin better than chance (tree)", last["Brown"] > last["random"]),
                ("splitting is better than chance (tree)", last["splitting"] > last["random"]),
            ]
        )
    )


def _sparsity(setting: Setting) -> str:
    n = setting.sizes[0]
    rows, diagonal, needed = [], {}, {}
    for structure in STRUCTURES:
        T = transition(setting, structure, n)  # type: ignore[arg-type]
        falling = np.cumsum(np.sort(T, axis=0)[::-1], axis=0)
        needed[structure] = float(np.mean((falling < _ENOUGH).sum(axis=0) + 1))
        diagonal[structure] = float(np.mean(np.diag(T)))
        tiny = float(np.mean(T < 1e-3))
        rows.append(
            [structure, f"{needed[structure]:.1f}", f"{100 * tiny:.1f}", f"{diagonal[structure]:.3f}"]
        )
    note = f"\n### Transitions (Figure 2.4), {n} classes, all of the text\n\nThe thesis shows a picture.\n\n"
    header = [
        "structure",
        f"mean number of classes with {100 * _ENOUGH:.0f} % of a column of T",
        "% of T below 0.001",
        "mean of the diagonal",
    ]
    sparse = all(count < n / 4 for count in needed.values())
    claims = [
        ("T is very sparse for both structures", sparse),
        ("the diagonal is heavier for trees than for chains", diagonal["tree"] > diagonal["chain"]),
    ]
    return note + table(header, rows) + verdict(claims)


def _typed(study: _Study) -> str:
    note = (
        "\n### Transitions by relation\n\nNamed as future work by the thesis. Brown start; a matrix for each of the most "
        "frequent relations, and one for the rest, each with the shared one mixed in. Typed models are given the "
        "relations beside the tree.\n\n"
    )
    untyped = study.begin("tree", "Brown")
    models = {"one matrix": untyped}
    models |= {f"{n} relations": study.begin("tree", "Brown", typed=n) for n in TYPED}
    header = ["", *(f"pass {i + 1}" for i in range(study.passes)), "parameters"]
    rows = [
        [name, *study.curve(model), f"{model.facts_['parameters']:,}"] for name, model in models.items()
    ]
    best = max(study.last(models[f"{n} relations"]) for n in TYPED)
    return note + table(header, rows) + verdict([("labels of edges help", best > study.last(untyped))])


class _Study:
    """The text of the study, cut in two, and models of the first part whose trace is that of the second."""

    gamma = 0.6

    def __init__(self, setting: Setting) -> None:
        arrays = text(setting)
        self.n_classes = 64 if setting.quick else 128
        self.passes = 3 if setting.quick else 5
        n_train, n_dev = (250_000, 40_000) if setting.quick else (1_200_000, 100_000)
        cut, end = np.searchsorted(arrays.offsets, [n_train, n_train + n_dev]).tolist()
        self.train, self.dev = arrays.part(0, cut), arrays.part(cut, end)
        self.seed = setting.seed

    def fit(self, structure: Structure = "tree", init: Any = None, **options: Any) -> HiddenMarkov:
        options = {"gamma": self.gamma, "k_best": None} | options
        model = HiddenMarkov(
            self.n_classes, structure, passes=self.passes, finish=False, random_state=self.seed, **options
        )
        return model.fit(self.train, dev=self.dev, init=init)

    def begin(self, structure: Structure, start: str, **options: Any) -> HiddenMarkov:
        if start == "splitting":
            return self.fit(structure, start=self.n_classes // 8, **options)
        if start == "random":
            return self.fit(structure, **options)
        pairs = pair_counts(self.train, tree=structure == "tree")
        return self.fit(
            structure, brown(pairs, self.train.vocabulary, self.n_classes).classes, **options
        )

    def trace(self, model: HiddenMarkov) -> list[dict[str, Any]]:
        """Of the passes after the last split."""
        return [row for row in model.facts_["trace"] if row["classes"] == self.n_classes]

    def curve(self, model: HiddenMarkov) -> list[str]:
        return [f"{row['dev']:.3f}" for row in self.trace(model)]

    def support(self, model: HiddenMarkov) -> list[str]:
        return [f"{row['support']:.1f}" for row in self.trace(model)]

    def last(self, model: HiddenMarkov) -> float:
        return float(self.trace(model)[-1]["dev"])


