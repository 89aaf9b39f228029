"""Phrases in label sequences, and how well a tagger finds them: what ``conlleval`` computes, and prints.

One rule reads every scheme, valid or not (Tjong Kim Sang and Veenstra 1999): whether a phrase ends and
whether one starts between two tokens depends on their two labels alone. So each distinct pair of adjacent
labels is looked at once, and the work that is left for each token is one look into a cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import eq
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from spinney.errors import InputError, unknown_choice

Scheme = Literal["iob1", "iob2", "bioes"]

_TAGS = {"iob1": frozenset("BIO"), "iob2": frozenset("BIO"), "bioes": frozenset("BIOES")}
_ANY_TAGS = frozenset("BIOES[].")


class Chunk(NamedTuple):
    """A phrase of that kind from token ``start`` up to and without token ``stop``."""

    kind: str
    start: int
    stop: int


def chunks(labels: Sequence[str]) -> list[Chunk]:
    """The phrases of one sentence, by the rule of ``conlleval``.

    IOB1, IOB2, IOE, BIOES and brackets are all read by the same rule, and every sequence has a reading: an
    ``I-X`` after ``O`` or after another type starts a phrase. For labels with B, I, O, E and brackets the rule
    is that of the script of CoNLL-2003, except that ``E-X B-X`` separates two phrases; ``S`` and that exception
    are as in the versions of the script that know BIOES.

    Examples
    --------
    >>> chunks(["B-NP", "I-NP", "O", "I-VP", "B-VP"])
    [Chunk(kind='NP', start=0, stop=2), Chunk(kind='VP', start=3, stop=4), Chunk(kind='VP', start=4, stop=5)]
    """
    found = []
    previous, kind, start = "O", "", -1
    for i, label in enumerate(labels):
        ends, starts, label_kind = _between(previous, label)
        if ends and start >= 0:
            found.append(Chunk(kind, start, i))
            start = -1
        if starts:
            kind, start = label_kind, i
        previous = label
    if start >= 0:
        found.append(Chunk(kind, start, len(labels)))
    return found


def tagging_scores(gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> dict[str, Any]:
    """Token, sentence and phrase scores of predicted labels, sentence by sentence; all rates are from 0 to 1.

    Returns
    -------
    dict
        ``tokens``, ``sentences``, ``correct_tokens``, ``accuracy``, ``token_error``, ``sequence_error`` (the
        share of sentences with an error in them). Where the labels are those of phrases also ``phrases`` (in
        ``gold``), ``found`` (in ``predicted``), ``correct``, ``precision``, ``recall``, ``f1``, and in ``types``
        the same six for each type. Parts of speech, phonemes and the like have no phrases and no such keys.

    Examples
    --------
    >>> gold = [["B-NP", "I-NP", "O"], ["B-VP"]]
    >>> scores = tagging_scores(gold, [["B-NP", "I-NP", "O"], ["B-NP"]])
    >>> scores["accuracy"], scores["sequence_error"], scores["f1"], scores["types"]["NP"]["precision"]
    (0.75, 0.5, 0.5, 0.5)
    """
    sentences = tokens = correct_tokens = wrong_sentences = 0
    labels: set[str] = set()
    in_gold: Counter[str] = Counter()
    in_predicted: Counter[str] = Counter()
    in_both: Counter[str] = Counter()
    for truth, guess in _paired(gold, predicted):
        n_correct = sum(map(eq, truth, guess))
        sentences += 1
        tokens += len(truth)
        correct_tokens += n_correct
        wrong_sentences += n_correct < len(truth)
        labels.update(truth)
        labels.update(guess)
        truth_chunks = chunks(truth)
        guess_chunks = chunks(guess)
        in_gold.update(kind for kind, _, _ in truth_chunks)
        in_predicted.update(kind for kind, _, _ in guess_chunks)
        in_both.update(kind for kind, _, _ in set(truth_chunks).intersection(guess_chunks))
    scores: dict[str, Any] = {
        "tokens": tokens,
        "sentences": sentences,
        "correct_tokens": correct_tokens,
        "accuracy": _rate(correct_tokens, tokens),
        "token_error": _rate(tokens - correct_tokens, tokens),
        "sequence_error": _rate(wrong_sentences, sentences),
    }
    if are_of_phrases(labels):
        scores |= _phrase_scores(in_gold.total(), in_predicted.total(), in_both.total())
        kinds = sorted(in_gold.keys() | in_predicted.keys())
        scores["types"] = {k: _phrase_scores(in_gold[k], in_predicted[k], in_both[k]) for k in kinds}
    return scores


def conlleval_report(scores: Mapping[str, Any]) -> str:
    """The scores of :func:`tagging_scores` as ``conlleval`` prints them, byte for byte.

    Phrases without a type (labels ``B`` and ``I``) count above, but have no line of their own.

    Examples
    --------
    >>> print(conlleval_report(tagging_scores([["B-NP", "O"]], [["B-NP", "B-NP"]])), end="")
    processed 2 tokens with 1 phrases; found: 2 phrases; correct: 1.
    accuracy:  50.00%; precision:  50.00%; recall: 100.00%; FB1:  66.67
                   NP: precision:  50.00%; recall: 100.00%; FB1:  66.67  2
    """
    phrases, found, correct = (scores.get(key, 0) for key in ("phrases", "found", "correct"))
    tokens = scores["tokens"]
    report = (
        f"processed {tokens} tokens with {phrases} phrases; found: {found} phrases; correct: {correct}.\n"
    )
    if tokens:
        report += f"accuracy: {100 * scores['correct_tokens'] / tokens:6.2f}%; {_percentages(scores)}\n"
    for kind, of_kind in sorted(scores.get("types", {}).items()):
        if kind:
            report += f"{kind:>17}: {_percentages(of_kind)}  {of_kind['found']}\n"
    return report


def confusions(
    gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]], k: int = 10
) -> list[tuple[str, str, int]]:
    """The ``k`` commonest errors: the label, what was predicted in its place, and how often.

    Examples
    --------
    >>> confusions([["NN", "VB", "NN"]], [["VB", "VB", "VB"]])
    [('NN', 'VB', 2)]
    """
    pairs: Counter[tuple[str, str]] = Counter()
    for truth, guess in _paired(gold, predicted):
        pairs.update(zip(truth, guess))
    wrong = [(truth, guess, n) for (truth, guess), n in pairs.items() if truth != guess]
    return sorted(wrong, key=lambda error: (-error[2], error[0], error[1]))[:k]


def convert(labels: Sequence[str], to: Scheme) -> list[str]:
    """The same phrases in another scheme, read by the rule of :func:`chunks` from any.

    Examples
    --------
    >>> convert(["I-PER", "I-PER", "O", "I-LOC", "B-LOC"], to="bioes")
    ['B-PER', 'E-PER', 'O', 'S-LOC', 'S-LOC']
    """
    _check_scheme(to)
    for label in set(labels):
        _check_label(label, _ANY_TAGS)
    converted = ["O"] * len(labels)
    previous = Chunk("", -1, -1)
    for chunk in chunks(labels):
        kind, start, stop = chunk
        first, inner, last = "B", "I", "I"
        if to == "bioes":
            first, last = ("B", "E") if stop - start > 1 else ("S", "S")
        elif to == "iob1" and (previous.stop, previous.kind) != (start, kind):
            first = "I"
        tags = [first, *[inner] * (stop - start - 2), last][: stop - start]
        converted[start:stop] = [f"{tag}-{kind}" if kind else tag for tag in tags]
        previous = chunk
    return converted


def allowed_transitions(labels: Sequence[str], scheme: Scheme) -> NDArray[np.bool_]:
    """Which label may follow which in a valid sequence, as a matrix of (L + 1) × L.

    Entry ``[i, j]`` says whether label ``j`` may follow label ``i``; the last row is the start of a sentence.

    Examples
    --------
    >>> allowed_transitions(["O", "B-NP", "I-NP"], "iob2").astype(int)
    array([[1, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 0]])
    """
    _check_scheme(scheme)
    parts = [_check_label(label, _TAGS[scheme]) for label in labels]
    allowed = np.empty((len(parts) + 1, len(parts)), np.bool_)
    for i, (previous, previous_kind) in enumerate([*parts, ("O", "")]):
        for j, (tag, kind) in enumerate(parts):
            same = kind == previous_kind
            if scheme == "bioes":
                inside = previous in "BI"
                allowed[i, j] = inside == (tag in "IE") and (same or not inside)
            else:
                # IOB1 writes B only between two phrases of the same type, IOB2 writes I only inside a phrase.
                bound = "B" if scheme == "iob1" else "I"
                allowed[i, j] = tag != bound or (previous in "BI" and same)
    return allowed


def allowed_ends(labels: Sequence[str], scheme: Scheme) -> NDArray[np.bool_]:
    """With which labels a valid sequence may end: in BIOES not with ``B`` or ``I``, else with all.

    Examples
    --------
    >>> allowed_ends(["O", "B-NP", "E-NP"], "bioes")
    array([ True, False,  True])
    """
    _check_scheme(scheme)
    tags = [_check_label(label, _TAGS[scheme])[0] for label in labels]
    return np.array([scheme != "bioes" or tag not in "BI" for tag in tags], np.bool_)


def boundaries(labels: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], list[str]]:
    """What the rule of :func:`chunks` says of each pair of labels, and the kind of phrase of each label.

    Returns
    -------
    starts : bool array [L+1, L]
        Whether a phrase starts with label ``j`` after label ``i``; the last row is the start of a sentence.
    breaks : bool array [L, L]
        Whether a phrase with label ``i`` is over at label ``j``.
    kinds : list of str

    Examples
    --------
    >>> starts, breaks, kinds = boundaries(["O", "B-NP", "I-NP"])
    >>> starts.astype(int), breaks.astype(int), kinds
    (array([[0, 1, 1], [0, 1, 0], [0, 1, 0], [0, 1, 1]]), array([[0, 1, 1], [1, 1, 0], [1, 1, 0]]), ['', 'NP', 'NP'])
    """
    between = [[_between(before, label) for label in labels] for before in (*labels, "O")]
    starts = np.array([[starts for _, starts, _ in row] for row in between], np.bool_)
    breaks = np.array([[breaks for breaks, _, _ in row] for row in between[:-1]], np.bool_)
    return starts, breaks.reshape(len(labels), len(labels)), [_split(label)[1] for label in labels]


@lru_cache(maxsize=1 << 16)
def _between(previous: str, label: str) -> tuple[bool, bool, str]:
    """Whether a phrase ends before ``label``, whether one starts with it, and of what kind."""
    last, last_kind = _split(previous)
    tag, kind = _split(label)
    ends = (
        (last in ("E", "S") and tag in ("B", "I", "E", "S", "O"))
        or (last in ("B", "I") and tag in ("B", "S", "O"))
        or (last not in ("O", ".") and last_kind != kind)
        or last in ("[", "]")  # these phrases are of one token
    )
    starts = (
        (tag in ("B", "S") and last in ("B", "I", "E", "S", "O"))
        or (tag in ("I", "E") and last in ("E", "S", "O"))
        or (tag not in ("O", ".") and last_kind != kind)
        or tag in ("[", "]")
    )
    return ends or starts, starts, kind


def _split(label: str) -> tuple[str, str]:
    """Prefix and type: types may have hyphens, and may be missing."""
    tag, _, kind = label.partition("-")
    return tag, kind


def _check_label(label: str, tags: Iterable[str]) -> tuple[str, str]:
    tag, kind = _split(label)
    if tag not in tags or (tag == "O" and kind):
        raise InputError(f"{label!r} is not a phrase label", remedy=f"prefixes are {', '.join(sorted(tags))}")
    return tag, kind


def _check_scheme(scheme: str) -> None:
    if scheme not in get_args(Scheme):
        raise unknown_choice("scheme must be", scheme, get_args(Scheme))


def are_of_phrases(labels: Collection[str]) -> bool:
    """Whether labels are those of phrases: some have a prefix and a type, or all are plain B, I and O.

    Examples
    --------
    >>> are_of_phrases(["O", "B-NP"]), are_of_phrases(["DT", "NN"])
    (True, False)
    """
    return set(labels) <= {"B", "I", "O"} or any(
        label[1:2] == "-" and label[0] in "BIES[]" for label in labels
    )


def _paired(
    gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    rest = iter(predicted)
    number = 0
    for number, truth in enumerate(gold, start=1):
        guess = next(rest, None)
        if guess is None:
            raise InputError(f"predictions end before sentence {number}")
        if len(truth) != len(guess):
            raise InputError(f"sentence {number} has {len(truth)} labels, its prediction {len(guess)}")
        yield truth, guess
    if next(rest, None) is not None:
        raise InputError(f"there are more predictions after the last sentence, number {number}")


def _phrase_scores(phrases: int, found: int, correct: int) -> dict[str, Any]:
    return {
        "phrases": phrases,
        "found": found,
        "correct": correct,
        "precision": _rate(correct, found),
        "recall": _rate(correct, phrases),
        "f1": _rate(2 * correct, phrases + found),
    }


def _percentages(scores: Mapping[str, Any]) -> str:
    # From the counts and in the script's order of operations, so that the last digit is rounded as there.
    phrases, found, correct = (scores.get(key, 0) for key in ("phrases", "found", "correct"))
    precision, recall = _rate(100 * correct, found), _rate(100 * correct, phrases)
    f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
