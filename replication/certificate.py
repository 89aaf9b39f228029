"""How near the optimum the defaults stop: objective and active weights against runs to 1e-8, on four data sets.

    python replication/certificate.py [--quick] [--only NAME ...]

Each row is one problem: fitted with the default tolerance of its task, and again until the gap is at most 1e-8. The
data sets are looked for under SPINNEY_DATA. A run of all studies is kept in results/certificate.md.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sokolovska_common import data_folder, markdown
from sokolovska_conll import chunking, first, names
from spectral_text import posts
from studies import run_studies

from spinney.classify import LinearClassifier
from spinney.tagging import Tagger
from spinney.tagging.columns import Columns
from spinney.tagging.g2p import nettalk_sentences

LAMS = (10.0, 1.0, 0.1, 0.01)
EXACT = 1e-8
HEADER = (
    "data", "penalty", "λ", "objective", "optimum", "above by, %", "proven, %", "active", "at the optimum",
    "differ by, %", "CPU s", "CPU s to 1e-8",
)  # fmt: skip


class Setting(NamedTuple):
    """How large the samples are."""

    sentences: int
    chunked: int
    words: int
    posts: int


class Fit(NamedTuple):
    """What a fit reached."""

    objective: float
    gap: float
    active: int
    seconds: float


def compared(name: str, penalty: str, fit: Callable[[float, float | None], Fit]) -> list[list[Any]]:
    """A row for each strength: ``fit(lam, tol)`` with the default tolerance, and to 1e-8."""
    rows = []
    for lam in LAMS:
        default, exact = fit(lam, None), fit(lam, EXACT)
        below = exact.objective * (1 - min(exact.gap, 1.0))  # the optimum is not lower than this
        above = 100 * max(default.objective / exact.objective - 1, 0.0)
        differ = 100 * abs(default.active - exact.active) / max(exact.active, 1)
        rows.append(
            [name, penalty, f"{lam:g}", f"{default.objective:.6g}", f"{exact.objective:.6g}", f"{above:.1g}",
             f"{100 * default.gap:.2g}", default.active, exact.active, f"{differ:.1f}", default.seconds, exact.seconds]
        )  # fmt: skip
        if exact.gap > EXACT:
            rows[-1][4] += f" (proven to {1 - below / exact.objective:.0e})"
        print("  ".join(map(str, rows[-1])), flush=True)
    return rows


def of_tagger(name: str, columns: Columns, patterns: str) -> list[list[Any]]:
    """Rows for conditional random fields, with ℓ1 and with a ridge."""
    rows = []
    for penalty in ("l1", "l2"):

        def fit(lam: float, tol: float | None, penalty: str = penalty) -> Fit:
            begun = time.process_time()
            given = {} if tol is None else {"tol": tol, "max_iter": 2000 if penalty == "l2" else 40}
            tagger = Tagger(patterns, penalty=penalty, lam=lam, threads=1, **given).fit_columns(columns)
            facts = tagger.facts
            return Fit(facts["objective"], facts["gap"], facts["active"], time.process_time() - begun)

        rows += compared(name, penalty, fit)
    return rows


def chunks(setting: Setting) -> str:
    """CoNLL-2000."""
    columns = first(chunking().train, setting.chunked)
    return _section("CoNLL-2000", len(columns), "sentences", of_tagger("CoNLL-2000", columns, "chunk"))


def entities(setting: Setting) -> str:
    """CoNLL-2003."""
    columns = first(names().train, setting.sentences)
    return _section("CoNLL-2003", len(columns), "sentences", of_tagger("CoNLL-2003", columns, "ner"))


def phonemes(setting: Setting) -> str:
    """NETtalk."""
    words = nettalk_sentences(data_folder() / "nettalk" / "nettalk.data.xz")
    order = np.random.default_rng(0).permutation(len(words))[: setting.words]
    columns = Columns.from_sentences([words[i] for i in order])
    rows = of_tagger("NETtalk", columns, "U1:%x[0,0]\nU2:%x[-1,0]\nU3:%x[1,0]\nB")
    return _section("NETtalk", len(columns), "words drawn at random; a window of three letters", rows)


def newsgroups(setting: Setting) -> str:
    """Two groups, and all twenty, on tf-idf."""
    found = [p for p in posts(data_folder() / "20newsgroups" / "20news-bydate.tar.xz") if not p.is_test]
    rows, sizes = [], []
    for name, chosen in (
        ("2 newsgroups", [p for p in found if p.group in ("sci.med", "sci.space")]),
        ("20 newsgroups", found),
    ):
        chosen = chosen[:: max(1, len(chosen) // setting.posts)]
        sizes.append(len(chosen))
        X = TfidfVectorizer(sublinear_tf=True).fit_transform([p.text for p in chosen])
        y = [p.group for p in chosen]
        for penalty in ("l1", "l2"):

            def fit(lam: float, tol: float | None, penalty: str = penalty, X: Any = X, y: Any = y) -> Fit:
                begun = time.process_time()
                given = {} if tol is None else {"tol": tol, "max_iter": 20_000}
                model = LinearClassifier(penalty, lam=lam, **given).fit(X, y)
                return Fit(model.objective_, model.gap_, model.n_active_, time.process_time() - begun)

            rows += compared(name, penalty, fit)
    return _section("20 Newsgroups", " and ".join(map(str, sizes)), "posts of the training part", rows)


def _section(title: str, size: object, of: str, rows: list[list[Any]]) -> str:
    return markdown(title, f"{size} {of}.", HEADER, rows)


def main() -> None:
    """Run the studies."""
    warnings.simplefilter("ignore")

    def setting(quick: bool, seed: int, cache: Path) -> Setting:
        return Setting(150, 60, 300, 400) if quick else Setting(357, 150, 500, 800)

    run_studies(
        {"CoNLL-2003": entities, "CoNLL-2000": chunks, "NETtalk": phonemes, "20newsgroups": newsgroups},
        setting,
        title="How near the optimum the defaults stop",
        told=(
            "Default tolerances (taggers 1e-3, classifiers 1e-5) against the same fit to a gap of 1e-8. “Proven” is "
            "the bound that the fit itself prints; “above by” is what it was in truth."
        ),
        ending="",
        name="certificate",
        about=__doc__ or "",
        quick="fewer sentences, words and posts",
    )


if __name__ == "__main__":
    main()
