"""Yogatama (2015), chapter 5: text classification with groups of words from the language, replicated.

    python replication/yogatama_classify.py [--quick] [--only NAME …] [--missing] [--seed S] [--cache DIR] [--out FILE]

Studies: accuracy, more, letter, folds, features, mass, clusters, inspection, times. The data sets are looked for under
SPINNEY_DATA; topics need the extra ``topics``. What they find is kept in ``results/yogatama_classify.md``, study by
study.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from grave_common import LOST, section, table, verdict
from grave_semcor import data_folder
from spectral_common import Setting
from studies import run_studies
from yogatama_accuracy import PARSE, PUBLISHED, PUBLISHED_SIZE, accuracy, best, more_tasks
from yogatama_data import MOVIE, PAIRS, task
from yogatama_folds import crossvalidation
from yogatama_methods import (
    BROWN,
    BROWN_MANY,
    CHANGE,
    DOCUMENT,
    LDA,
    NEUTRAL,
    PLAIN,
    SENTENCE,
    THREADS,
    TREE,
    W_STEP,
    Outcome,
    by_accuracy_then_loss,
    clusters,
    family,
    letter,
    outcome,
    plain,
    plain_grid,
    structured,
    unmerged,
    unstructured,
)
from yogatama_topics import mass

from spinney.classify import LinearClassifier, TextModel, group_status, sentence_log_odds, tune
from spinney.classify.group_features import with_group_columns
from spinney.structure import Groups

#: With what a topic or a cluster says as a feature more: LDA on all pairs, Brown on science (the others are lost).
PUBLISHED_FEATURES: dict[str, dict[str, tuple[float, float, float]]] = {
    LDA: {
        "science": (90.63, 91.90, 91.90), "sports": (91.33, 93.47, 93.84), "religion": (91.35, 92.47, 91.35),
        "computer": (85.20, 86.87, 86.35),
    },
    BROWN: {"science": (86.96, 90.51, 91.14)},
}  # fmt: skip
PUBLISHED_SECONDS = {"lasso": 27, "ridge": 18, "elastic": 10, SENTENCE: 33}
LARGEST_CLUSTER = 50  # words of a cluster that becomes a feature: fewer than that

DIFFERENCES = """\
## What differs from the thesis, and why

- Forecasts (papers, bills) and the vote task are left out: their data are not at hand. MR, IMDB and party (whose speech
  is it, in chunks of 20 sentences; the same debates as the vote task, not its labels) are not in the thesis.
- The parse-tree column of the first study has only the sentiment treebank, whose trees it comes with; groups of neutral
  constituents are the thesis's choice. Newsgroups are parsed in ``yogatama_parses.py``, by our own parser.
- The thesis does not say how it tokenized. Words here are two or more letters or digits in lower case (in the
  treebank, MR and the debates: what stands between spaces), headers included; vocabularies are smaller than its own
  by a quarter. The development part is a fifth of the training part, by a seed; the test parts have the sizes
  of the thesis.
- Brown clusters are 1,000 but in the study of their numbers (the thesis: 5,000 or 1,000), and LDA is sampled, not
  lda-c's variational; a quick run has 200 clusters and 100 topics.
- The thesis breaks ties by sparsity; so does the study to the letter. Elsewhere ties on the development set, of which a
  few hundred documents give many, go to the smaller log-loss, for every method alike.
- Tests say how sure a difference is given these test documents, not given other training documents; the folds are
  about that.
"""


# -- to the letter --------------------------------------------------------------------------------------------------


def by_letter(setting: Setting) -> str:
    """ADMM with ρ from the grid, the stopping rule of the thesis and 100 iterations: the thesis as it is written."""
    kinds = (SENTENCE, LDA) if setting.quick else (SENTENCE, LDA, BROWN)
    rows: list[list[object]] = []
    for name, kind in [
        *((name, kind) for name in PAIRS for kind in kinds),
        (MOVIE, NEUTRAL),
        (MOVIE, TREE),
    ]:
        found, optimum = letter(setting, name, kind), structured(setting, name, kind, False)
        ridge, thesis = structured(setting, name, kind, True), PARSE if kind in (TREE, NEUTRAL) else kind
        status = [
            group_status(
                found.model.coef_, unmerged(setting, name, kind), task(setting, name).features.names, ["0", "1"],
                top=0, copy_norms=copies,
            )
            for copies in (found.model.copy_norms_, None)
        ]  # fmt: skip
        rows.append(
            [
                f"{name}, {kind}", found.chosen, found.model.n_iter_, f"{found.dev:.1f}", f"{found.test:.2f}",
                PUBLISHED[name][thesis], f"{found.size:.0f}", PUBLISHED_SIZE[name][thesis],
                f"{found.n_short} of {found.n_fits}",
                f"{status[0].n_removed:,} / {status[1].n_removed:,} of {status[0].n_selected + status[0].n_removed:,}",
                f"{optimum.test:.2f}", f"{ridge.test:.2f}",
            ]
        )  # fmt: skip
    note = (
        "The objective without a ridge, ADMM with a fixed ρ from the grid, from zero, at most 100 iterations; the "
        f"w-step is solved to {W_STEP:g}, as the thesis says, and ADMM stops when w changes by less than {CHANGE:g} of "
        "its norm: the thesis has this rule, but does not give its tolerance. Groups are not merged, sentences weigh "
        f"the same; ties go to the smaller model. Unfinished: cells that are not optimal to {W_STEP:g}. Removed: "
        "groups whose copy v_g is 0, as the thesis reads it / all of whose weights are 0. Beside it the optima of the "
        "objective, without and with a ridge, from the first study."
    )
    note += (
        " Quick: ρ in 10, 100, 1000, ℓ1 in 0.01, 0.1, 1, two λ (0.01, 0.1; LDA 0.1, 1; parse trees 0.001, 0.01): 18 of "
        "the 216 cells of the thesis (parse trees: of 180); no Brown, since ADMM is slow on its large groups; parse "
        "trees on movie alone, whose trees are given."
        if setting.quick
        else " The grids of the thesis, 216 cells; parse trees 180, on movie alone, whose trees are given."
    )
    head = [
        "", "chosen", "iterations", "dev %", "test %", "thesis", "size %", "thesis", "unfinished", "removed", "optimum",
        "with a ridge",
    ]  # fmt: skip
    return section("To the letter", note, head, rows) + _on_the_way(setting)


def _on_the_way(setting: Setting) -> str:
    """Accuracy as ADMM goes on, by ρ, and where it goes to."""
    data, lam, l1 = task(setting, "sports"), 0.01, 0.1
    groups = unmerged(setting, "sports", SENTENCE)
    stops = (1, 3, 10, 30, 100)

    def tested(**options: Any) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is stopped before the end is the point
            model = LinearClassifier("overlap", lam, l1=l1, groups=groups, tol=W_STEP, **options)
            model.fit(data.X, data.train.y)
        return f"{100 * model.score(data.X_test, data.test.y):.2f}"

    rows: list[list[object]] = [
        [f"ADMM, ρ = {rho:g}", *(tested(solver="admm", rho=rho, max_iter=n) for n in stops)]
        for rho in (10.0, 100.0, 1000.0)
    ]
    optimum = tested(solver="cd", max_iter=2_000)
    rows.append(["optimum", *[None] * (len(stops) - 1), optimum])
    what = (
        f"\nSports, sentences, λ = {lam:g}, ℓ1 = {l1:g}: test accuracy after so many iterations of ADMM, and at the "
        f"optimum (coordinate descent to {W_STEP:g}):\n\n"
    )
    return what + table(["", *map(str, stops)], rows)


# -- structure as features ------------------------------------------------------------------------------------------


@cache
def with_features(setting: Setting, name: str, kind: str, method: str) -> Outcome:
    """A method without groups, on the words and on one more count for each topic or small cluster."""
    data, groups = task(setting, name), feature_groups(setting, name, kind)
    X, X_dev, X_test = (with_group_columns(M, groups).tocsc() for M in (data.X, data.X_dev, data.X_test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuned = tune(
            unstructured(), plain_grid(method, setting.quick), X, data.train.y, X_dev, data.dev.y,
            scoring=by_accuracy_then_loss, threads=THREADS,
        )  # fmt: skip
    return outcome(data, tuned, (X_dev.tocsr(), X_test.tocsr()))


def feature_groups(setting: Setting, name: str, kind: str) -> Groups:
    """The words of each new feature."""
    if kind == LDA:
        return family(setting, name, LDA)
    groups = Groups.from_labels(clusters(setting, name).classes.encode(task(setting, name).features.names))
    return groups.subset(groups.sizes < LARGEST_CLUSTER)


def features(setting: Setting) -> str:
    """Structure as features against structure as a regulariser."""
    rows: list[list[object]] = []
    claims = []
    for kind in (LDA,) if setting.quick else (LDA, BROWN):
        for name in list(PAIRS)[:1] if setting.quick else PAIRS:
            ours = {method: with_features(setting, name, kind, method) for method in PLAIN}
            thesis: Sequence[object] = PUBLISHED_FEATURES[kind].get(name, (LOST,) * 3)
            groups = [structured(setting, name, kind, ridge) for ridge in (False, True)]
            rows.append([f"{name}, {kind}", len(feature_groups(setting, name, kind))])
            for method, published in zip(PLAIN, thesis):
                rows[-1] += [f"{ours[method].test:.2f}", published]
            rows[-1] += [f"{one.test:.2f}" for one in groups] + [PUBLISHED[name][kind]]
            regulariser, feature = max(groups, key=lambda one: one.rank), ours[best(ours, PLAIN)]
            claims.append((f"{kind} is better as a regulariser ({name})", regulariser.test > feature.test))
    note = (
        "One feature more for each topic, the count of its ten words, or for each cluster of fewer than "
        f"{LARGEST_CLUSTER} words, against the same as groups (without and with a ridge). The thesis does not say "
        "whether features were counts. What “holds” compares the best of either by the development documents."
    )
    if setting.quick:
        note += " Quick: one pair, no Brown clusters, and half as many values for the methods without groups."
    head = ["", "features"]
    head += [cell for method in PLAIN for cell in (method, "thesis")]
    head += ["groups", "groups, ridge", "thesis"]
    return section("Structure as features, and as a regulariser", note, head, rows) + verdict(claims)


# -- more clusters --------------------------------------------------------------------------------------------------


def many_clusters(setting: Setting) -> str:
    """Brown groups of as many clusters as the thesis has, beside those of the other studies."""
    rows: list[list[object]] = []
    for name in list(PAIRS)[:1] if setting.quick else PAIRS:
        rows.append([name])
        for kind in (BROWN, BROWN_MANY):
            found = [structured(setting, name, kind, ridge) for ridge in (False, True)]
            rows[-1] += [len(family(setting, name, kind)), *(f"{one.test:.2f}" for one in found)]
        rows[-1] += [PUBLISHED[name][BROWN], PUBLISHED[name][LDA]]
    note = (
        "Test accuracy in percent, of 1,000 clusters and of 5,000 as in the thesis, with the grid of the main study, "
        "whose table has ours of topics. A node of the clusters' tree is a group, once for each set of words."
    )
    if setting.quick:
        note += " Quick: one pair, a fifth of the clusters."
    head = ["", "groups of 1,000", "accuracy", "with a ridge", "groups of 5,000", "accuracy", "with a ridge"]
    return section("Numbers of clusters", note, [*head, "thesis, Brown", "thesis, LDA"], rows)


# -- inspection -----------------------------------------------------------------------------------------------------


def inspection(setting: Setting) -> str:
    """How many groups are removed, and what single sentences say."""
    rows: list[list[object]] = []
    for kind in (LDA, BROWN, SENTENCE, DOCUMENT):
        rows.append([kind])
        for name in PAIRS:
            groups, cells = family(setting, name, kind), []
            for ridge in (False, True):
                model = structured(setting, name, kind, ridge).model
                status = group_status(
                    model.coef_, groups, task(setting, name).features.names, ["0", "1"], top=0
                )
                cells.append(f"{status.n_removed:,}")
            rows[-1].append(f"{' / '.join(cells)} of {len(groups):,}")
    note = (
        "Groups all of whose weights are 0, without / with a ridge, at the settings chosen. The thesis: 642 of 1,000 "
        "topics (forecasts of citations), 771 of 5,775 Brown groups (science)."
    )
    report = section("What is removed", note, ["", *PAIRS], rows)
    data = task(setting, "computer")
    place = next(i for i, document in enumerate(data.test.documents) if len(document) == 12)
    model = TextModel(structured(setting, "computer", SENTENCE, True).model, data.features)
    odds = sentence_log_odds(model, data.test.documents[place])
    return (
        report
        + (
            "\nThe first test post of twelve sentences (computer, sentences with a ridge): the log-odds of its "
            f"sentences lie between {odds.scores.min():.2f} and {odds.scores.max():.2f}, {int(odds.shown.sum())} of "
            "them large enough to be shown. In the thesis's example: about -0.01 to 0.07.\n"
        )
        + _telling_sentences(setting)
    )


TELLS = 0.01  # of the log-odds: what the thesis's example shows as hardly anything


def _telling_sentences(setting: Setting) -> str:
    """Table 5.5 and Figure 5.3 in numbers: how few sentences decide, and what is kept of the sentences kept."""
    rows: list[list[object]] = []
    for name in PAIRS:
        data = task(setting, name)
        for ridge in (False, True):
            model = structured(setting, name, SENTENCE, ridge).model
            weights, start = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
            silent, alone, n_sentences = 0, 0, 0
            for document in data.test.documents:
                # Counts are linear: a sentence says the sum of the weights of its words.
                said = data.features.transform(document) @ weights
                strongest = said[np.argsort(-np.abs(said))[:2]]
                silent += int((np.abs(said) < TELLS).sum())
                n_sentences += len(said)
                alone += (start + strongest.sum() > 0) == (start + said.sum() > 0)
            groups = family(setting, name, SENTENCE)
            kept = [weights[members] for members in np.split(groups.members, groups.ptr[1:-1])]
            kept = [some for some in kept if np.any(some != 0)]
            zero = float(np.mean(np.concatenate(kept) == 0)) if kept else 0.0
            told = (silent / n_sentences, alone / len(data.test), len(kept) / len(groups), zero)
            rows.append([f"{name}{', ridge' if ridge else ''}", *(f"{100 * share:.0f}" for share in told)])
    head = ["", "test sentences that say nothing, %", "documents decided by two sentences, %"]
    head += ["training sentences kept, %", "words of these without a weight, %"]
    note = (
        f"\nWhat sentences say (Table 5.5, Figure 5.3). A sentence says nothing if it moves the log-odds by less than "
        f"{TELLS:g}; a document is decided by two sentences if these alone give it the label that all give it. A "
        "sentence is kept if a word of it has a weight.\n\n"
    )
    return note + table(head, rows)


# -- times ----------------------------------------------------------------------------------------------------------


def times(setting: Setting) -> str:
    """Seconds of one fit at the settings chosen."""
    data = task(setting, "sports")
    found: dict[str, tuple[LinearClassifier, object]] = {
        method: (plain(setting, "sports", method).model, PUBLISHED_SECONDS[method]) for method in PLAIN
    }
    found["sentence, ridge"] = (structured(setting, "sports", SENTENCE, True).model, None)
    found["sentence"] = (structured(setting, "sports", SENTENCE, False).model, None)
    found["sentence, ADMM"] = (letter(setting, "sports", SENTENCE).model, PUBLISHED_SECONDS[SENTENCE])
    rows: list[list[object]] = []
    for name, (chosen_model, thesis) in found.items():
        model = LinearClassifier(**chosen_model.get_params()).set_params(warm_start=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            model.fit(data.X, data.train.y)
            seconds = time.perf_counter() - began
        rows.append([name, f"{seconds:.2f}", thesis, model.n_iter_, f"{model.violation_:.1e}"])
    note = (
        "Sports, one fit from zero on one thread at the setting chosen. The thesis: a Xeon E5645 with 2.4 GHz, eight "
        "processors."
    )
    return section("Run time", note, ["", "s", "thesis", "iterations", "violation"], rows)


STUDIES: dict[str, Callable[[Setting], str]] = {
    "accuracy": accuracy,
    "more": more_tasks,
    "letter": by_letter,
    "folds": crossvalidation,
    "features": features,
    "mass": mass,
    "clusters": many_clusters,
    "inspection": inspection,
    "times": times,
}


def main() -> None:
    """Run the studies that the command line names."""
    run_studies(
        STUDIES,
        lambda quick, seed, cache: Setting(quick, seed, data_folder(), cache),
        title="Yogatama (2015), chapter 5, replicated",
        ending=DIFFERENCES,
        name="yogatama_classify",
        about=(__doc__ or "").splitlines()[0],
        quick="fewer topics, clusters and reviews, shorter grids; minutes",
    )


if __name__ == "__main__":
    main()
