"""Grave (2014), chapter 2: what approximate messages, step sizes, beginnings and labels do to the likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from grave_common import STRUCTURES, Setting, Structure, section, table, verdict
from grave_models import known_as, text, transition

from spinney.classes import HiddenMarkov, brown, pair_counts
from spinney.corpus import Vocabulary

K_BEST = (2, 4, 8, 16, 32)
EPSILONS = (0.1, 0.01, 0.0)
GAMMAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
GAMMA = 0.6
TYPED = (10, 40)
_ENOUGH = 0.9  # of the mass of a column of T


def optimisation(setting: Setting) -> str:
    """Figures 2.2 to 2.4, of which the curves are lost, and two questions more."""
    study = _Study(setting)
    options: dict[str, dict[str, Any]] = {f"{k}-best": {"k_best": k} for k in K_BEST}
    options |= {f"ε = {e:g}": {"epsilon": e} for e in EPSILONS} | {"exact": {}}
    chance = {name: study.begin("tree", "random", **how) for name, how in options.items()}
    informed = {name: study.begin("tree", "Brown", **how) for name, how in options.items()}
    gammas = {g: chance["exact"] if g == GAMMA else study.fit(gamma=g) for g in GAMMAS}
    parts = [
        _messages(study, chance, informed),
        _steps(study, gammas),
        _beginnings(study, chance["exact"], informed["exact"]),
        _sparsity(setting),
        _typed(study, informed["exact"]),
    ]
    return "".join(parts)


def _messages(study: _Study, chance: Mapping[str, HiddenMarkov], informed: Mapping[str, HiddenMarkov]) -> str:
    note = (
        f"Tree, {study.n_classes} classes (thesis: 128), {study.train.n_tokens:,} tokens of Reuters, γ = {GAMMA} "
        f"unless stated. Log-likelihood a token of {study.dev.n_tokens:,} tokens after those, by exact inference "
        "whatever was trained with; support: entries kept of a vector, on average. Online EM weighs the text that "
        "it saw last; a pass of batch EM at the end counts all of it, and is what to compare. The curves of the "
        "thesis are lost; it concludes that k = 16 and ε = 0.01 are good choices. The random start is the "
        "library's, U[0, 1]⁴ (the thesis: U[0, 1], from which classes part yet more slowly). After it classes are "
        "still much alike, as the supports show, and exact messages leave that state slowly; keeping few entries "
        "breaks the tie."
    )
    header = ["messages", *(f"random start, {name}" for name in study.names)]
    header += [f"support, {name}" for name in study.names]
    header += [f"Brown start, {study.names[-1]}", f"support, {study.names[-1]}"]
    rows = [
        [name, *study.curve(model), *study.support(model), study.curve(other)[-1], study.support(other)[-1]]
        for (name, model), other in zip(chance.items(), informed.values())
    ]
    last = {name: study.last(model) for name, model in informed.items()}
    start = {name: study.last(model) for name, model in chance.items()}
    kept = [row["support"] for row in study.trace(chance["ε = 0.01"])]
    claims = [
        (
            "from Brown clusters, 16-best ends within 0.01 of exact",
            abs(last["16-best"] - last["exact"]) < 0.01,
        ),
        (
            "from Brown clusters, ε = 0.01 ends within 0.01 of exact",
            abs(last["ε = 0.01"] - last["exact"]) < 0.01,
        ),
        ("from chance, exact messages end no worse than 16-best", start["exact"] >= start["16-best"]),
        ("from chance, ε = 0.01 keeps most entries in the first pass", kept[0] > study.n_classes / 2),
        (
            "from chance, the supports of ε = 0.01 shrink from pass to pass",
            kept == sorted(kept, reverse=True),
        ),
    ]
    title = "Optimisation: approximate messages (chapter 2, Figures 2.2 and 2.3)"
    return section(title, note, header, rows) + verdict(claims)


def _steps(study: _Study, gammas: Mapping[float, HiddenMarkov]) -> str:
    note = (
        "\n### Step sizes α_t = 1/(4 + t)^γ\n\nRandom start, exact messages. The thesis says that they matter a "
        "lot, not which it chose.\n\n"
    )
    rows = [[f"{gamma:.1f}", *study.curve(model)] for gamma, model in gammas.items()]
    last = [study.last(model) for model in gammas.values()]
    claim = ("the step size matters (best and worst γ differ by over 0.05)", max(last) - min(last) > 0.05)
    return note + table(["γ", *study.names], rows) + verdict([claim])


def _beginnings(study: _Study, chance: HiddenMarkov, informed: HiddenMarkov) -> str:
    note = (
        "\n### Beginnings\n\nThe thesis advises Brown clusters. Splitting begins with an eighth of the classes, one "
        "pass before each of three splits; then all have the same number of passes. Chains and trees cannot be "
        "compared: a tree model is given the tree.\n\n"
    )
    models = {
        "tree": {"random": chance, "splitting": study.begin("tree", "splitting"), "Brown": informed},
        "chain": {start: study.begin("chain", start) for start in ("random", "splitting", "Brown")},
    }
    rows = [
        [f"{structure}, {start}", *study.curve(model)]
        for structure, by_start in models.items()
        for start, model in by_start.items()
    ]
    header = ["", *study.names]
    claims = []
    for structure, by_start in models.items():
        last = {start: study.last(model) for start, model in by_start.items()}
        claims.append(
            (f"Brown clusters begin better than chance ({structure})", last["Brown"] > last["random"])
        )
        claims.append(
            (f"splitting begins better than chance ({structure})", last["splitting"] > last["random"])
        )
    return note + table(header, rows) + verdict(claims)


def _sparsity(setting: Setting) -> str:
    n = setting.sizes[0]
    rows, diagonal, needed = [], {}, {}
    for structure in STRUCTURES:
        T = transition(setting, structure, n)
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


def _typed(study: _Study, untyped: HiddenMarkov) -> str:
    note = (
        "\n### Transitions by relation\n\nNamed as future work by the thesis. Brown start; a matrix for each of the "
        "most frequent relations, and one for the rest, each with the shared one mixed in. Typed models are given "
        "the relations beside the tree, and relations say much of the parts of speech, which are half of our words: "
        "the gain is not all the models' own.\n\n"
    )
    models = {"one matrix": untyped}
    models |= {f"{n} relations": study.begin("tree", "Brown", typed=n) for n in TYPED}
    header = ["", *study.names, "parameters"]
    rows = [[name, *study.curve(model), f"{model.facts['parameters']:,}"] for name, model in models.items()]
    best = max(study.last(models[f"{n} relations"]) for n in TYPED)
    return note + table(header, rows) + verdict([("labels of edges help", best > study.last(untyped))])


class _Study:
    """The text of the study, cut in two, and models of the first part whose trace is that of the second."""

    def __init__(self, setting: Setting) -> None:
        arrays = text(setting)
        self.n_classes = 64 if setting.quick else 128
        self.passes = 3 if setting.quick else 5
        n_train, n_dev = (200_000, 40_000) if setting.quick else (1_200_000, 100_000)
        cut, end = np.searchsorted(arrays.offsets, [n_train, n_train + n_dev]).tolist()
        # The words of this part alone: those of the whole text would tell of the held-out sentences.
        counts = np.bincount(arrays.part(0, cut).ids, minlength=len(arrays.vocabulary)).tolist()
        counted = dict(zip(arrays.vocabulary.words, counts))
        vocabulary = Vocabulary.from_counts(counted, min_count=2, unknown=arrays.vocabulary.unknown)
        self.train, self.dev = (known_as(arrays.part(*part), vocabulary) for part in ((0, cut), (cut, end)))
        self.names = [*(f"pass {i + 1}" for i in range(self.passes)), "batch pass"]
        self.seed = setting.seed

    def fit(self, structure: Structure = "tree", init: Any = None, **options: Any) -> HiddenMarkov:
        options = {"gamma": GAMMA, "k_best": "none"} | options
        model = HiddenMarkov(self.n_classes, structure, passes=self.passes, random_state=self.seed, **options)
        return model.fit(self.train, dev=self.dev, init=init)

    def begin(self, structure: Structure, start: str, **options: Any) -> HiddenMarkov:
        if start == "splitting":
            return self.fit(structure, start=self.n_classes // 8, **options)
        if start == "random":
            return self.fit(structure, **options)
        pairs = pair_counts(self.train, tree=structure == "tree")
        return self.fit(structure, brown(pairs, self.train.vocabulary, self.n_classes).classes, **options)

    def trace(self, model: HiddenMarkov) -> list[dict[str, Any]]:
        """Of the passes after the last split."""
        return [row for row in model.facts["trace"] if row["classes"] == self.n_classes]

    def curve(self, model: HiddenMarkov) -> list[str]:
        return [f"{row['dev']:.3f}" for row in self.trace(model)]

    def support(self, model: HiddenMarkov) -> list[str]:
        return [f"{row['support']:.1f}" for row in self.trace(model)]

    def last(self, model: HiddenMarkov) -> float:
        return float(self.trace(model)[-1]["dev"])
