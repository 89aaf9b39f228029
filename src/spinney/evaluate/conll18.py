"""The metrics of the CoNLL 2018 shared task: from tokens to trees, on text that two sides may split differently.

The definitions are those of the task (Zeman et al. 2018, https://universaldependencies.org/conll18/evaluation.html).
Both sides have the same characters once white space is left out. A token is right if it covers the characters of a
token of the treebank. Words are aligned as tokens are or, around multi-word tokens, by the longest common subsequence
of their lower-cased forms, and whatever is annotated is compared on aligned words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.conllu import Sentence
from spinney.corpus.surface import surface_tokens
from spinney.errors import InputError, unknown_choice

METRICS: Final = (
    "Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX",
)  # fmt: skip
CONTENT_RELATIONS: Final = frozenset({
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl", "advmod",
    "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound", "list", "parataxis",
    "orphan", "goeswith", "reparandum", "root", "dep",
})  # fmt: skip
FUNCTIONAL_RELATIONS: Final = frozenset({"aux", "cop", "mark", "det", "clf", "case", "cc"})
UNIVERSAL_FEATURES: Final = frozenset({
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case", "Definite",
    "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person", "Polite",
})  # fmt: skip

_ROOT, _NO_TREE, _NOT_ALIGNED = -1, -2, -3
_SPACES: Final = dict.fromkeys(
    map(ord, "\u0020\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))))
)


class Score(NamedTuple):
    """One metric: how many are right, of how many in the treebank and how many of the system.

    Attributes
    ----------
    correct, gold, system : int
        How many the system got right, how many the treebank has, and how many the system gave.
    aligned : int or None
        The aligned words that count; none for tokens, sentences and words.
    """

    correct: int
    gold: int
    system: int
    aligned: int | None

    @property
    def precision(self) -> float:
        """The share of what the system gave that is right."""
        return _rate(self.correct, self.system)

    @property
    def recall(self) -> float:
        """The share of what the treebank has that the system found."""
        return _rate(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _rate(2 * self.correct, self.gold + self.system)

    @property
    def accuracy(self) -> float | None:
        """The share of aligned words that are right."""
        return None if self.aligned is None else _rate(self.correct, self.aligned)


@dataclass(frozen=True)
class Scores:
    """What :func:`conll18` found: a :class:`Score` for each of :data:`METRICS` by its name.

    Attributes
    ----------
    counts : array [sentences, metrics, 4]
        Correct, gold, system and aligned, for each sentence of the treebank. What the system gave belongs to the
        sentence in which it begins.
    """

    counts: NDArray[np.int64]

    def __getitem__(self, metric: str) -> Score:
        correct, gold, system, aligned = self.counts[:, _number(metric)].sum(axis=0).tolist()
        return Score(correct, gold, system, aligned if metric not in METRICS[:3] else None)

    def __iter__(self) -> Iterator[str]:
        return iter(METRICS)

    def items_of(self, metric: str) -> NDArray[np.int64]:
        """True and false positives and false negatives a sentence, as ``f1_of_counts`` takes them.

        Two systems are compared by ``paired_bootstrap(one.items_of("LAS"), other.items_of("LAS"), f1_of_counts)``.
        """
        correct, gold, system, _ = self.counts[:, _number(metric)].T
        return np.stack([correct, system - correct, gold - correct], axis=1)

    def as_dict(self) -> dict[str, dict[str, float | None]]:
        """Precision, recall, F1 and aligned accuracy of each metric, from 0 to 1."""
        scores = ((metric, self[metric]) for metric in METRICS)
        return {
            metric: {"precision": of.precision, "recall": of.recall, "f1": of.f1, "accuracy": of.accuracy}
            for metric, of in scores
        }


def conll18(gold: Sequence[Sentence], system: Sequence[Sentence]) -> Scores:
    """The scores of a system's sentences, words, tags and trees against those of a treebank.

    Relations count up to their ``:``, and only universal features count. Words of a sentence without a tree have no
    right head. A lemma that the treebank does not give (``_``) is right.

    Parameters
    ----------
    gold, system
        The sentences of the treebank and of the system. Their texts must be the same but for white space.

    Examples
    --------
    >>> gold = Sentence(["Dogs", "bark"], upos=["NOUN", "VERB"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> apart = [Sentence(["Dogs"], upos=["NOUN"], heads=[0], deprels=["root"]),
    ...          Sentence(["bark"], upos=["VERB"], heads=[0], deprels=["root"])]
    >>> scores = conll18([gold], apart)
    >>> {metric: round(100 * scores[metric].f1, 1) for metric in ("Words", "Sentences", "UPOS", "LAS")}
    {'Words': 100.0, 'Sentences': 0.0, 'UPOS': 100.0, 'LAS': 50.0}
    """
    ids: dict[str, int] = {}
    truth, answer = _Side(gold, ids, "treebank"), _Side(system, ids, "system")
    _refuse_other_text(truth, answer)
    g, s = np.array(_aligned(truth, answer), dtype=np.int64).reshape(-1, 2).T
    gold_of = np.full(len(answer.heads), _NOT_ALIGNED)
    gold_of[s] = g

    heads = truth.heads[g] == _mapped(answer.heads[s], gold_of)
    relations = truth.deprels[g] == answer.deprels[s]
    upos, xpos, feats = (
        a[g] == b[s]
        for a, b in zip((truth.upos, truth.xpos, truth.feats), (answer.upos, answer.xpos, answer.feats))
    )
    lemmas = (truth.lemmas[g] == answer.lemmas[s]) | (truth.lemmas[g] == ids.get("_", -1))
    labelled = heads & relations
    children = _same_functional_children(truth, answer, g, s, gold_of)
    right = {
        "Words": np.ones(len(g), dtype=bool), "UPOS": upos, "XPOS": xpos, "UFeats": feats,
        "AllTags": upos & xpos & feats, "Lemmas": lemmas, "UAS": heads, "LAS": labelled, "CLAS": labelled,
        "MLAS": labelled & upos & feats & children, "BLEX": labelled & lemmas,
    }  # fmt: skip

    counts = np.zeros((len(gold), len(METRICS), 4), dtype=np.int64)
    for metric, a, b in (
        ("Tokens", truth.tokens, answer.tokens),
        ("Sentences", truth.sentences, answer.sentences),
    ):
        found = np.isin(a[:, 0] * (len(truth.text) + 1) + a[:, 1], b[:, 0] * (len(truth.text) + 1) + b[:, 1])
        counts[:, _number(metric)] = truth.by_sentence(a[found], a, b, a[:0])
    for metric, is_right in right.items():
        content = metric in ("CLAS", "MLAS", "BLEX")
        a = truth.words[truth.content] if content else truth.words
        b = answer.words[answer.content] if content else answer.words
        counted = truth.content[g] if content else np.ones(len(g), dtype=bool)
        of = truth.words[g]
        counts[:, _number(metric)] = truth.by_sentence(of[is_right & counted], a, b, of[counted])
    return Scores(counts)


class _Side:
    """One side of the comparison, all its sentences together; words and characters are counted through the text.

    Attributes
    ----------
    tokens, sentences, words : array [n, 2]
        Where each begins and ends in the text; a word of a multi-word token is where that token is.
    multiword : list of bool
        Whether each word belongs to a multi-word token.
    forms : list of str
        The words in lower case, as they are compared around multi-word tokens.
    heads : array [words]
        The number of each word's head, ``_ROOT`` or ``_NO_TREE``.
    """

    def __init__(self, sentences: Sequence[Sentence], ids: dict[str, int], whose: str) -> None:
        self.multiword: list[bool] = []
        self.forms: list[str] = []
        pieces: list[str] = []
        tokens, words, ends = [], [], []
        at = 0
        for number, sentence in enumerate(sentences, start=1):
            begin = at
            for token in surface_tokens(sentence):
                form = token.form.translate(_SPACES)
                if not form:
                    raise InputError(f"sentence {number} of the {whose} has a token without characters")
                span = (at, at + len(form))
                at = span[1]
                pieces.append(form)
                tokens.append(span)
                if token.multiword:
                    for word in sentence.forms[token.start : token.stop]:
                        words.append(span)
                        self.multiword.append(True)
                        self.forms.append(word.lower())
                else:
                    words.append(span)
                    self.multiword.append(False)
                    self.forms.append(form.lower())
            if at == begin:
                raise InputError(f"sentence {number} of the {whose} has no words")
            ends.append((begin, at))
        self.text = "".join(pieces)
        self.tokens, self.words, self.sentences = (
            np.array(spans, dtype=np.int64).reshape(-1, 2) for spans in (tokens, words, ends)
        )
        self._annotate(sentences, ids, whose)

    def _annotate(self, sentences: Sequence[Sentence], ids: dict[str, int], whose: str) -> None:
        def column(name: str) -> list[str]:
            parts = [_filled(getattr(sentence, name), sentence, name, whose) for sentence in sentences]
            return list(chain.from_iterable(parts))

        def numbered(values: list[str]) -> NDArray[np.int64]:
            return np.array([ids.setdefault(value, len(ids)) for value in values], dtype=np.int64)

        relations = [relation.partition(":")[0] for relation in column("deprels")]
        self.content = np.array([relation in CONTENT_RELATIONS for relation in relations], dtype=bool)
        self.functional = np.array([relation in FUNCTIONAL_RELATIONS for relation in relations], dtype=bool)
        self.deprels = numbered(relations)
        self.upos, self.xpos, self.lemmas = (numbered(column(name)) for name in ("upos", "xpos", "lemmas"))
        self.feats = numbered(list(map(_universal, column("feats"))))
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        heads = np.array(
            list(chain.from_iterable(s.heads or [_NO_TREE] * len(s) for s in sentences)), dtype=np.int64
        )
        if len(heads) != len(first) or np.any(heads > np.repeat(lengths, lengths)):
            raise InputError(f"a sentence of the {whose} has a head that is not one of its words")
        self.heads = np.where(heads > 0, first + heads - 1, np.where(heads == 0, _ROOT, _NO_TREE))

    def by_sentence(self, *spans: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many of each kind of span begin in each sentence: an array [sentences, kinds]."""
        n = len(self.sentences)
        rows = [np.searchsorted(self.sentences[:, 0], of[:, 0], side="right") - 1 for of in spans]
        return np.stack([np.bincount(row, minlength=n) for row in rows], axis=1)


def _aligned(gold: _Side, system: _Side) -> list[tuple[int, int]]:
    """The pairs of a word of the treebank and the system's word for it."""
    pairs: list[tuple[int, int]] = []
    of_gold, of_system = gold.words.tolist(), system.words.tolist()
    g = s = 0
    while g < len(of_gold) and s < len(of_system):
        if gold.multiword[g] or system.multiword[s]:
            g_from, s_from, g, s = _multiword_stretch(gold, system, of_gold, of_system, g, s)
            forms = gold.forms[g_from:g], system.forms[s_from:s]
            pairs += [(g_from + i, s_from + j) for i, j in _common_subsequence(*forms)]
        elif of_gold[g] == of_system[s]:
            pairs.append((g, s))
            g, s = g + 1, s + 1
        elif of_gold[g][0] <= of_system[s][0]:
            g += 1
        else:
            s += 1
    return pairs


def _multiword_stretch(
    gold: _Side, system: _Side, of_gold: list[list[int]], of_system: list[list[int]], g: int, s: int
) -> tuple[int, int, int, int]:
    """The smallest stretch of text from here that no multi-word token of either side crosses, as ranges of words.

    A word that begins before the multi-word token is passed over, but only one, as the task has it.
    """
    if gold.multiword[g]:
        end = of_gold[g][1]
        s += not system.multiword[s] and of_system[s][0] < of_gold[g][0]
    else:
        end = of_system[s][1]
        g += of_gold[g][0] < of_system[s][0]
    g_from, s_from = g, s

    def inside(side: _Side, spans: list[list[int]], i: int) -> bool:
        return i < len(spans) and (spans[i][0] < end if side.multiword[i] else spans[i][1] <= end)

    while inside(gold, of_gold, g) or inside(system, of_system, s):
        if g < len(of_gold) and (s >= len(of_system) or of_gold[g][0] <= of_system[s][0]):
            end = max(end, of_gold[g][1]) if gold.multiword[g] else end
            g += 1
        else:
            end = max(end, of_system[s][1]) if system.multiword[s] else end
            s += 1
    return g_from, s_from, g, s


def _common_subsequence(a: list[str], b: list[str]) -> list[tuple[int, int]]:
    """The longest common subsequence of two lists, as pairs of places."""
    if a == b:
        return [(i, i) for i in range(len(a))]
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]  # of a[i:] and b[j:]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            same = longest[i + 1][j + 1] + 1 if a[i] == b[j] else 0
            longest[i][j] = max(same, longest[i + 1][j], longest[i][j + 1])
    pairs = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i][j] == longest[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _mapped(heads: NDArray[np.int64], gold_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """The system's heads as words of the treebank; the root stays, and what has no tree is never right."""
    if not len(gold_of):
        return heads
    return np.where(heads >= 0, gold_of[heads], np.where(heads == _ROOT, _ROOT, _NOT_ALIGNED))


def _same_functional_children(
    gold: _Side, system: _Side, g: NDArray[np.int64], s: NDArray[np.int64], gold_of: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether aligned words have the same function words, with the same relations, tags and universal features.

    Alignments keep the order of words, so that it is enough to count: all function words of either are right.
    """
    same = gold.functional[g] & (gold.heads[g] >= 0) & (gold.heads[g] == _mapped(system.heads[s], gold_of))
    for name in ("deprels", "upos", "feats"):
        same &= getattr(gold, name)[g] == getattr(system, name)[s]
    right = np.bincount(gold.heads[g[same]], minlength=len(gold.heads))
    of_gold, of_system = (
        np.bincount(side.heads[side.functional & (side.heads >= 0)], minlength=len(side.heads))
        for side in (gold, system)
    )
    alike: NDArray[np.bool_] = (of_gold[g] == right[g]) & (of_system[s] == right[g])
    return alike


@lru_cache(maxsize=1 << 16)
def _universal(feats: str) -> str:
    """The universal features among those of a word, sorted."""
    return "|".join(sorted(feat for feat in feats.split("|") if feat.partition("=")[0] in UNIVERSAL_FEATURES))


def _filled(column: list[str], sentence: Sentence, name: str, whose: str) -> list[str]:
    if column and len(column) != len(sentence):
        raise InputError(f"a sentence of the {whose} has {len(column)} {name} for {len(sentence)} words")
    return column or ["_"] * len(sentence)


def _refuse_other_text(gold: _Side, system: _Side) -> None:
    if gold.text == system.text:
        return
    at = next(
        (i for i, (a, b) in enumerate(zip(gold.text, system.text)) if a != b),
        min(len(gold.text), len(system.text)),
    )
    number = int(np.searchsorted(gold.sentences[:, 0], at, side="right")) if len(gold.sentences) else 0
    here, there = (side.text[at : at + 20] or "nothing" for side in (gold, system))
    raise InputError(
        f"the texts differ from character {at + 1} on (white space not counted), in sentence {number} of the "
        f"treebank: {here!r} there, {there!r} in the system's",
        remedy="both sides must come from the same text",
    )


def _number(metric: str) -> int:
    if metric not in METRICS:
        raise unknown_choice("the metric must be", metric, METRICS)
    return METRICS.index(metric)


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
