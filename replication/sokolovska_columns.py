"""Sokolovska (2010), Tables 3.5, 3.7 and 3.8: single columns, conjunctions of columns, and columns superposed."""

from __future__ import annotations

from typing import Any, NamedTuple

from sokolovska_common import error, fitted, markdown
from sokolovska_conll import Task, chunking, first, names

WORD, POS, CHUNK = "%x[0,0]", "%x[0,1]", "%x[0,2]"
QUICK = 2000  # sentences


class Model(NamedTuple):
    """A row: its patterns, and what the thesis has: % of tokens wrong on the training text and on the test sets."""

    name: str
    patterns: str
    published: tuple[float | None, ...]


def _both(*columns: str) -> str:
    return "\n".join(f"*{i}:{column}" for i, column in enumerate(columns))


def _each(kind: str, *columns: str) -> str:
    return "\n".join(f"{kind}{i}:{column}" for i, column in enumerate(columns))


CHUNKS = (
    Model("(y,word)", f"U:{WORD}", (16.2, 24.66)),
    Model("(y,POS)", f"U:{POS}", (22.6, 22.7)),
    Model("(y',y,x₁x₂)", f"B:{WORD}/{POS}", (9.0, 17.2)),
    Model("(y',y,x₁x₂)+(y,x₁x₂)", f"*:{WORD}/{POS}", (None, 13.5)),
    Model("(y,x₁)+(y,x₂)", _each("U", WORD, POS), (15.2, 17.7)),
    Model("(y',y)+(y,x₁)+(y,x₂)", _each("U", WORD, POS) + "\nB", (4.9, 5.9)),
    Model("(y',y,x₁)+(y',y,x₂)", _each("B", WORD, POS), (4.9, 6.7)),
    Model("all four", _both(WORD, POS), (3.0, 5.6)),
)
NAMES = (
    Model("(y,word)", f"U:{WORD}", (1.7, 10.3, 14.6)),
    Model("(y,POS)", f"U:{POS}", (14.1, 13.5, 15.2)),
    Model("(y,chunk)", f"U:{CHUNK}", (16.6, 16.7, 17.9)),
    Model("(y',y,x₁x₂x₃)", f"B:{WORD}/{POS}/{CHUNK}", (1.4, 8.2, 12.9)),
    Model("(y',y,x₁x₂x₃)+(y,x₁x₂x₃)", f"*:{WORD}/{POS}/{CHUNK}", (None, 6.0, 10.0)),
    Model("unigrams", _each("U", WORD, POS, CHUNK), (1.6, 3.9, 5.8)),
    Model("unigrams + (y',y)", _each("U", WORD, POS, CHUNK) + "\nB", (0.5, 3.6, 5.4)),
    Model("bigrams + (y',y)", _each("B", WORD, POS, CHUNK) + "\nB", (1.4, 4.8, 7.5)),
    Model("all six", _both(WORD, POS, CHUNK), (0.1, 3.0, 5.2)),
)


def columns(quick: bool) -> str:
    """Both corpora."""
    return _table(chunking(), CHUNKS, quick) + "\n" + _table(names(), NAMES, quick)


def _table(task: Task, models: tuple[Model, ...], quick: bool) -> str:
    train = first(task.train, QUICK) if quick else task.train
    rows: list[list[Any]] = []
    for model in models:
        tagger = fitted(train, model.patterns, lam=task.rho_2, tol=1e-3, max_iter=300)
        wrong = [error(tagger, part) for part in (train, *task.tests.values())]
        facts = tagger.facts_
        pairs = [cell for pair in zip(model.published, wrong, strict=True) for cell in pair]
        rows.append([model.name, facts["parameters"], *pairs, _ended(facts), facts["seconds"]])
    note = (
        f"% of tokens wrong, ℓ2 with 1/σ² = {task.rho_2:g}, {len(train):,} of {len(task.train):,} sentences to train "
        "on. x₁ is the word, x₂ its part of speech, x₃ its chunk. L-BFGS to a proof of 0.1 % or 300 iterations."
    )
    sets = [f"{name} %" for name in ("train", *task.tests)]
    header = ["features", "weights", *(cell for name in sets for cell in (f"{name}, thesis", "ours"))]
    return markdown(f"{task.title}: columns (Tables 3.5 to 3.8)", note, [*header, "iterations", "s"], rows)


def _ended(facts: dict[str, Any]) -> str:
    return f"{facts['iterations']}" + ("" if facts["converged"] else " (stopped)")
