"""Five-fold cross-validation on the pairs of newsgroups: less luck in the choice, and a control for the groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from grave_common import section, table, verdict
from numpy.typing import NDArray
from spectral_common import Setting
from yogatama_accuracy import COMPARED, PUBLISHED, compared
from yogatama_data import PAIRS, Task, folds, undivided
from yogatama_methods import (
    DOCUMENT,
    PLAIN,
    SENTENCE,
    SHUFFLED,
    by_accuracy_then_loss,
    group_grid,
    of_documents,
    outcome,
    plain_grid,
    searched,
    unstructured,
    with_groups,
)

from spinney.classify import LinearClassifier

#: Methods with groups: their kind, and whether there is a ridge.
WITH_GROUPS = {
    "sentence": (SENTENCE, False),
    "sentence, ridge": (SENTENCE, True),
    "document, ridge": (DOCUMENT, True),
    "sentences shuffled, ridge": (SHUFFLED, True),
}
CONTROL = "sentences shuffled, ridge"


@dataclass(frozen=True, eq=False)
class Validated:
    """A method on a pair: its mean score over the folds, its test accuracies, and what its final model got right."""

    score: float
    of_folds: list[float]  # test accuracy in percent, where each fold alone chooses
    correct: NDArray[np.bool_]  # of the model of all training documents


def validated(setting: Setting, name: str) -> dict[str, Validated]:
    """Choose by the mean over the folds, then learn from all training documents."""
    data, whole = list(folds(setting, name)), undivided(setting, name)
    found = {}
    for method in (*PLAIN, *WITH_GROUPS):
        tuned = [searched(one, *_search(one, method, setting), scoring=by_accuracy_then_loss) for one in data]
        scores = np.mean([[trial.score for trial in fold.trials] for fold in tuned], axis=0)
        place = int(scores.argmax())
        model = _search(whole, method, setting)[0].set_params(**tuned[0].trials[place].params)
        model.fit(whole.X, whole.train.y)
        found[method] = Validated(
            float(scores[place]),
            [outcome(one, fold).test for one, fold in zip(data, tuned)],
            model.predict(whole.X_test) == whole.test.y,
        )
    return found


def _search(data: Task, method: str, setting: Setting) -> tuple[LinearClassifier, Mapping[str, Any]]:
    """What to fit, and the values to try."""
    if method in PLAIN:
        return unstructured(), plain_grid(method, setting.quick)
    kind, ridge = WITH_GROUPS[method]
    return with_groups(of_documents(data, kind)), group_grid(kind, ridge, setting.quick, short=setting.quick)


def crossvalidation(setting: Setting) -> str:
    """Choice by five folds, the luck of a single one, and sentences against sentences shuffled."""
    found = {name: validated(setting, name) for name in PAIRS}
    rows: list[list[object]] = []
    lucky: list[list[object]] = []
    for method in (*PLAIN, *WITH_GROUPS):
        rows.append([method])
        lucky.append([method])
        for name in PAIRS:
            one = found[name][method]
            rows[-1] += [f"{100 * one.score:.1f}", f"{100 * one.correct.mean():.2f}"]
            low, high = min(one.of_folds), max(one.of_folds)
            lucky[-1].append(f"{np.mean(one.of_folds):.2f} ({low:.1f} to {high:.1f})")
    note = (
        "Parameters are chosen by the mean accuracy over five folds of the training and development documents (“cv”), "
        "ties by log-loss; the model is then learnt from all of them, a quarter more than above and in the thesis. "
        "“Sentences shuffled” is a control: as many groups of the same sizes, every word in about as many of them, "
        "but in any company. Topics and clusters are left out: they would have to be learnt anew in every fold."
    )
    if setting.quick:
        note += (
            " Quick: groups with ℓ1 = 0.03, two values of ℓ2 and three of λ; half the values for the others."
        )
    report = section("Cross-validation", note, ["", *(cell for name in PAIRS for cell in ("cv", name))], rows)
    report += "\nThe same grids where each fold alone is the development part, models learnt from the other four: mean "
    report += f"test accuracy (least to greatest):\n\n{table(['', *PAIRS], lucky)}"
    return report + _comparison(found) + verdict(_claims(found))


def _chosen(found: Mapping[str, Validated]) -> tuple[str, str]:
    """The best without groups and the best with, by the folds; the control takes no part."""
    without, groups = (
        max(names, key=lambda method: found[method].score)
        for names in (PLAIN, [method for method in WITH_GROUPS if method != CONTROL])
    )
    return without, groups


def _comparison(found: Mapping[str, Mapping[str, Validated]]) -> str:
    rows: list[list[object]] = []
    for name, methods in found.items():
        without, groups = _chosen(methods)
        for a, b in ((without, groups), (CONTROL, groups)):
            rows.append([name, a, b, *compared(methods[a].correct, methods[b].correct)])
    what = "\nThe best with groups, by the folds, against the best without and against the control:\n\n"
    return what + table(["", "A", "B", *COMPARED], rows)


def _claims(found: Mapping[str, Mapping[str, Validated]]) -> list[tuple[str, bool]]:
    claims = []
    for name, methods in found.items():
        without, groups = (methods[method] for method in _chosen(methods))
        control, goal = methods[CONTROL], max(v for v in PUBLISHED[name].values() if not isinstance(v, str))
        claims += [
            (f"groups are ahead of all without ({name})", groups.correct.mean() > without.correct.mean()),
            (
                f"groups reach the thesis's best, {goal:g} ({name})",
                100 * groups.correct.mean() >= goal - 0.005,
            ),
            (f"groups are ahead of the control ({name})", groups.correct.mean() > control.correct.mean()),
            (
                f"without a ridge, sentences are behind the best without groups ({name})",
                methods["sentence"].correct.mean() < without.correct.mean(),
            ),
        ]
    return claims
