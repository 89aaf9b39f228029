"""Numbers about a fitted classifier: its size, its groups, and its judgement of single texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.classify.model import TextModel
from spinney.classify.selection import Floats, family_counts, foremost, largest, selection
from spinney.corpus.text_features import TextFeatures
from spinney.errors import InputError, OptionError
from spinney.optim.base import GroupArrays

#: Weights and log-odds smaller than this in magnitude are not shown (Yogatama 2015, §5.4.3).
HIDDEN = 1e-3


class Word(NamedTuple):
    """A feature and the class on which it has the largest weight: evidence for it if positive, otherwise against it."""

    word: str
    weight: float
    label: str


# ----------------------------------------------------------------------------------------------- size


@dataclass(frozen=True)
class ModelSize:
    """The numbers of weights and of non-zero weights, in total and per class, and of features with a non-zero weight.

    With two classes there is one weight per feature, which counts for the class that it supports.
    """

    parameters: int
    active: int
    features: int
    active_features: int
    by_class: dict[str, int]

    @property
    def share(self) -> float:
        """The share of non-zero weights."""
        return self.active / max(self.parameters, 1)


def model_size(model: TextModel) -> ModelSize:
    """The size of a model.

    Examples
    --------
    >>> from spinney.classify import LinearClassifier
    >>> model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))
    >>> _ = model.fit(["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    >>> size = model_size(model)
    >>> size.parameters, size.active, size.by_class
    (6, 2, {'+': 1, '-': 1})
    """
    coef = model.coef
    counts = [np.count_nonzero(row > 0 if _is_binary(model) else row) for row in _rows(model)]
    return ModelSize(
        coef.size,
        int(np.count_nonzero(coef)),
        coef.shape[1],
        int(np.count_nonzero(coef.any(axis=0))),
        {output: int(count) for output, count in zip(model.outputs, counts)},
    )


def weights_by_class(model: TextModel, top: int = 20) -> dict[str, list[tuple[str, float]]]:
    """For each class, the ``top`` features with the largest weights by magnitude, largest first.

    With two classes, the weights of one are the negative weights of the other, so each lists its supporting features.

    Examples
    --------
    >>> from spinney.classify import LinearClassifier
    >>> model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))
    >>> _ = model.fit(["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    >>> weights_by_class(model)
    {'+': [('fun', 2.94...)], '-': [('dull', 2.94...)]}
    """
    found, names = {}, model.names
    for output, row in zip(model.outputs, _rows(model)):
        size = row if _is_binary(model) else np.abs(row)
        best = [j for j in largest(top, size) if size[j] > 0]
        found[output] = [(names[j], float(row[j])) for j in best]
    return found


def _is_binary(model: TextModel) -> bool:
    return model.is_classifier and len(model.coef) == 1


def _rows(model: TextModel) -> Floats:
    """The weights of each output, also where two classes share them."""
    coef: Floats = model.coef
    return np.vstack([-coef, coef]) if _is_binary(model) else coef


# --------------------------------------------------------------------------------------------- groups


@dataclass(frozen=True)
class GroupView:
    """A group: the norm of its weights, how many of its members have a non-zero weight, and its strongest words.

    ``copy_norm`` is ‖v_g‖ of a model that was fitted by ADMM.
    """

    name: str
    size: int
    weight: float
    norm: float
    active: int
    words: list[Word]
    copy_norm: float | None = None


@dataclass(frozen=True)
class GroupStatus:
    """How many groups a model selected and removed, in total and by family, and the first of both.

    Where the copies v_g of ADMM decide, ``weighty`` is the number of groups with a non-zero weight.
    """

    n_selected: int
    n_removed: int
    families: dict[str, tuple[int, int]]
    selected: list[GroupView]
    removed: list[GroupView]
    weighty: int | None = None


def group_status(
    coef: Floats,
    groups: GroupArrays,
    names: Sequence[str],
    outputs: Sequence[str],
    *,
    top: int = 20,
    words: int = 10,
    copy_norms: Floats | None = None,
) -> GroupStatus:
    """Which groups a model selected, and which it removed: all the weights of their members are 0.

    Parameters
    ----------
    coef : array of shape (rows, features)
        One row per output, or a single one for two classes.
    groups : Groups
        Must not be empty. If every name is ``family: something``, groups are also counted by family.
    names, outputs
        The names of features and outputs.
    top
        How many groups to show: the selected ones with the largest norms, the removed ones with the largest weights in
        the penalty (then: the largest).
    words
        How many members of a group to show, those with the largest weights.
    copy_norms
        The norms of the copies v_g of ADMM (``copy_norms_`` of a classifier). With them a group is removed if its v_g
        is 0, as in Yogatama 2015, whatever its weights are: before the optimum the two differ.

    Examples
    --------
    >>> from spinney.structure import Groups
    >>> groups = Groups.from_lists([[0, 1], [2, 3]], n_features=4, names=["topic: film", "topic: law"])
    >>> status = group_status(np.array([[0.0, 3.0, 0.0, 0.0]]), groups, ["plot", "fun", "act", "bill"], ["-", "+"])
    >>> status.families, status.selected[0].words, status.removed[0].name
    ({'topic': (1, 1)}, [Word(word='fun', weight=3.0, label='+'), Word(word='plot', weight=0.0, label='-')],
     'topic: law')
    """
    found = selection(coef, groups, copy_norms)
    squares = np.einsum("ij,ij->j", coef, coef)
    called = getattr(groups, "names", None)

    def view(g: int) -> GroupView:
        members = groups.members[groups.ptr[g] : groups.ptr[g + 1]]
        best = members[largest(words, np.sqrt(squares[members]))]
        name = called[g] if called else f"group {g}"
        said = _said(coef[:, best], [names[j] for j in best], outputs)
        numbers = float(groups.weights[g]), float(found.norms[g]), int(found.active[g])
        copied = None if copy_norms is None else float(copy_norms[g])
        return GroupView(name, len(members), *numbers, list(said), copied)

    selected, removed = foremost(groups, found, top)
    n_selected = int(found.kept.sum())
    return GroupStatus(
        n_selected,
        len(found.kept) - n_selected,
        family_counts(called or (), found.kept),
        [view(g) for g in selected],
        [view(g) for g in removed],
        None if copy_norms is None else int(np.count_nonzero(found.active)),
    )


def model_groups(model: TextModel, *, top: int = 20, words: int = 10) -> GroupStatus | None:
    """:func:`group_status` of the groups that a model was trained with; None without groups.

    Groups of a model that was fitted by ADMM are selected and removed by their copies v_g, as in Yogatama 2015.
    A model file with very many groups stores only some of them (see :meth:`TextModel.contents`); the counts are still
    those of all groups.

    Examples
    --------
    >>> from spinney.classify import LinearClassifier
    >>> model_groups(TextModel(LinearClassifier())) is None
    True
    """
    groups: Any = model.estimator.groups  # a text model has made them of any rule
    if groups is None:
        return None
    status = group_status(
        model.coef, groups, model.names, model.outputs, top=top, words=words, copy_norms=model.copy_norms
    )
    counts = model.facts.get("groups", {})
    if "stored" not in counts:
        return status
    families = {family: (selected, removed) for family, (selected, removed) in counts["families"].items()}
    weighty = counts.get("n_weighty")
    numbers = {"n_selected": counts["n_selected"], "n_removed": counts["n_removed"], "weighty": weighty}
    return replace(status, **numbers, families=families)


def _said(coef: Floats, names: Iterable[str], outputs: Sequence[str]) -> Iterator[Word]:
    """The class on which each of these features has the largest weight, and that weight."""
    if len(coef) == 1 and len(outputs) == 2:
        for name, weight in zip(names, coef[0].tolist()):
            yield Word(name, abs(weight), outputs[weight > 0])
        return
    which = np.abs(coef).argmax(axis=0)
    weights = coef[which, np.arange(coef.shape[1])]
    for name, weight, output in zip(names, weights.tolist(), which.tolist()):
        yield Word(name, weight, outputs[output])


# ---------------------------------------------------------------------------------------------- texts


@dataclass(frozen=True)
class SentenceLogOdds:
    """The evidence of each sentence of a document for ``label``; ``outcome`` is the log-probability of the whole.

    A regressor has no classes: then ``outcome`` is the predicted number, and a score is what the sentence adds to it.
    """

    label: str
    outcome: float
    sentences: list[str]
    scores: Floats

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Which scores are large enough to be shown."""
        return np.abs(self.scores) >= HIDDEN


def sentence_log_odds(
    model: TextModel, text: str | Sequence[str], label: str | None = None, *, limit: int | None = None
) -> SentenceLogOdds:
    """log p(y | document) − log p(y | document without the sentence), of each sentence (Yogatama 2015, §5.4.3).

    The result is exact for any features, since the features of the document are computed again without each sentence;
    for the same reason, the time grows with the square of its length.

    Parameters
    ----------
    text
        A document, or its sentences.
    label
        The class y. Default: the predicted one.
    limit
        Use only this many sentences from the start.

    Examples
    --------
    >>> from spinney.classify import LinearClassifier
    >>> model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))
    >>> _ = model.fit(["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    >>> odds = sentence_log_odds(model, "It was fun. I saw it today. Parts were dull. Still, fun!")
    >>> odds.label, odds.sentences[0], odds.scores.round(2).tolist(), odds.shown.tolist()
    ('+', 'It was fun.', [0.64, 0.0, -0.05, 0.64], [True, False, True, True])
    """
    if model.features is None:
        raise InputError("a model of numbers, not of text, has no sentences")
    sentences = model.features.sentences_of(text) if isinstance(text, str) else list(text)
    whole = text if isinstance(text, str) else " ".join(sentences)
    shown = sentences[:limit]
    without = (" ".join([*sentences[:s], *sentences[s + 1 :]]) for s in range(len(shown)))
    outcomes = _outcomes(model, chain([whole], without))
    if label is None:
        y = int(outcomes[0].argmax())
    elif label in model.outputs:
        y = model.outputs.index(label)
    else:
        raise OptionError(
            f"{label!r} is not a class of the model: {', '.join(model.outputs)}",
            given=label,
            known=model.outputs,
        )
    scores = outcomes[0, y] - outcomes[1:, y]
    return SentenceLogOdds(model.outputs[y], float(outcomes[0, y]), shown, scores)


def _outcomes(model: TextModel, texts: Iterable[str]) -> Floats:
    """Log-probabilities of the classes of each text, from margins: a probability of 0 has no logarithm."""
    from scipy.special import log_expit, log_softmax

    X = model.matrix(texts)
    if not model.is_classifier:
        return np.asarray(model.estimator.predict(X)).reshape(-1, 1)
    margins = model.estimator.decision_function(X)
    if margins.ndim == 1:
        return np.column_stack([log_expit(-margins), log_expit(margins)])
    return np.asarray(log_softmax(margins, axis=1))


class WordSpan(NamedTuple):
    """The position in a text of a feature with a weight: ``text[start:stop]`` or, for an n-gram, its first word."""

    start: int
    stop: int
    word: str
    weight: float
    label: str


def active_words(model: TextModel) -> dict[str, Word]:
    """All features of a model with a non-zero weight, by name."""
    columns = np.flatnonzero(model.coef.any(axis=0))
    names = model.names
    said = _said(model.coef[:, columns], [names[j] for j in columns.tolist()], model.outputs)
    return {word.word: word for word in said}


def words_in(text: str, model: TextModel, active: Mapping[str, Word] | None = None) -> list[WordSpan]:
    """The features in a text that have a weight, in order; several n-grams may begin at one word.

    Parameters
    ----------
    active
        :func:`active_words` of the model, to save time if there are many texts.

    Examples
    --------
    >>> from spinney.classify import LinearClassifier
    >>> model = TextModel(LinearClassifier("l1", lam=0.1), TextFeatures("counts"))
    >>> _ = model.fit(["good fun", "great fun", "dull", "dull and bad"], ["+", "+", "-", "-"])
    >>> [(span.start, span.stop, span.word, span.label) for span in words_in("Fun, never dull!", model)]
    [(0, 3, 'fun', '+'), (11, 15, 'dull', '-')]
    """
    if model.features is None:
        return []
    active = active_words(model) if active is None else active
    tokens = list(_token_spans(model.features, text))
    found = []
    for i, (_, start, stop) in enumerate(tokens):
        for n in range(1, min(model.features.ngrams, len(tokens) - i) + 1):
            word = active.get(" ".join(token for token, _, _ in tokens[i : i + n]))
            if word is not None:
                found.append(WordSpan(start, stop, *word))
    return found


def _token_spans(features: TextFeatures, text: str) -> Iterator[tuple[str, int, int]]:
    """The tokens of the features, with their positions in the text."""
    lowered = text.lower() if features.lowercase and features.weighting != "values" else text
    origin: Sequence[int] = range(len(text))
    if len(lowered) != len(text):  # "İ" is two characters in lower case
        origin = [i for i, character in enumerate(text) for _ in character.lower()]
    ignored, end = features.ignored, 0
    for token in features.tokens_of(text):
        start = lowered.find(token, end)
        if start < 0 or not token:
            continue
        end = start + len(token)
        if token not in ignored:
            yield token, origin[start], origin[end - 1] + 1
