"""A tagger for features made elsewhere: one dictionary a token."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from spinney.tagging.reading import attribute_cell
from spinney.tagging.tagger import Tagger

PATTERNS = "U:%value[0,0]\nB"
Features = Sequence[Mapping[str, Any]]


class CRFClassifier(Tagger):
    """A :class:`Tagger` whose tokens come as dictionaries of features, as sklearn-crfsuite takes them.

    A feature that is a string counts 1 under ``name=value``, a number counts itself, True counts 1. All parameters are
    those of :class:`Tagger`.

    Examples
    --------
    >>> X = [[{"word": "the"}, {"word": "dog", "short": True}], [{"word": "a"}, {"word": "cat", "short": True}]]
    >>> crf = CRFClassifier(lam=0.1).fit(X, [["D", "N"], ["D", "N"]])
    >>> crf.predict([[{"word": "the"}, {"word": "rat", "short": True}]])
    [['D', 'N']]
    """

    def __init__(
        self,
        *,
        penalty: Any = "l2",
        lam: float = 1.0,
        l1: float = 0.0,
        l2: float = 0.0,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-3,
        max_iter: int = 500,
        passes: int = 10,
        step: float | None = None,
        labels: str = "all",
        start: bool = True,
        min_count: int = 1,
        partial: bool = False,
        criterion: str = "weighted",
        rho: float = 1e-3,
        threshold: float = 0.9,
        scheme: str | None = None,
        encode: str | None = None,
        decoding: str = "viterbi",
        patience: int = 5,
        threads: int | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            PATTERNS, penalty=penalty, lam=lam, l1=l1, l2=l2, solver=solver, solver_options=solver_options, tol=tol,
            max_iter=max_iter, passes=passes, step=step, labels=labels, start=start, min_count=min_count,
            partial=partial, criterion=criterion, rho=rho, threshold=threshold, scheme=scheme, encode=encode,
            decoding=decoding, patience=patience, threads=threads, random_state=random_state,
        )  # fmt: skip

    def fit(self, X: Iterable[Features], y: Iterable[Sequence[str]], **how: Any) -> Self:  # type: ignore[override]
        """Learn from sentences, lists of dictionaries, and their labels; ``how`` is that of :meth:`Tagger.fit`."""
        if how.get("dev") is not None:
            how["dev"] = (map(_cells, how["dev"][0]), how["dev"][1])
        if how.get("unlabelled") is not None:
            how["unlabelled"] = map(_cells, how["unlabelled"])
        return super().fit(map(_cells, X), y, **how)

    def predict(self, X: Iterable[Features]) -> list[list[str]]:  # type: ignore[override]
        """The labels of sentences."""
        return super().predict(map(_cells, X))

    def predict_marginals(self, X: Iterable[Features]) -> list[Any]:  # type: ignore[override]
        """For each sentence the probabilities of the labels of its tokens."""
        return super().predict_marginals(map(_cells, X))

    def predict_kbest(self, X: Iterable[Features], k: int) -> list[Any]:  # type: ignore[override]
        """For each sentence its k best labellings."""
        return super().predict_kbest(map(_cells, X), k)

    def score(self, X: Iterable[Features], y: Iterable[Sequence[str]]) -> float:  # type: ignore[override]
        """The share of tokens labelled right."""
        return super().score(map(_cells, X), y)


def _cells(sentence: Features) -> list[tuple[str, ...]]:
    return [(attribute_cell(dict(token)),) for token in sentence]
