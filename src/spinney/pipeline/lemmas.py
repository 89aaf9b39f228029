"""A lemmatiser: a lexicon of what was seen, and for all other words a classifier of edit scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from spinney.corpus.conllu import Sentence
from spinney.files import ModelFile, Parts
from spinney.front_coding import smallest
from spinney.pipeline.edit_scripts import Script, apply_script, in_words, read, script_of, written
from spinney.tagging.morphology.labels import EMPTY, Composed, Facets, Label, attributes
from spinney.tagging.morphology.lattices import marginals
from spinney.tagging.morphology.observations import Seen, shape
from spinney.tagging.morphology.storing import stored_rows, whole_numbers
from spinney.tagging.morphology.tagger import labels_of
from spinney.tagging.morphology.training import Treebank, train
from spinney.tagging.morphology.weights import STORED, Weights
from spinney.views import Table, View

#: A word with the tags on which its lemma depends: form, UPOS, FEATS.
Word = tuple[str, str, str]

_SUFFIX, _PREFIX = 8, 4  # letters
_BATCH = 10_000


class Lemmatiser:
    """Gives words their lemmas.

    A word that was seen with the same UPOS and FEATS has the lemma that it had most often then; else, one that was seen
    with the same UPOS. Every other word gets the edit script that a log-linear model under an elastic net finds most
    probable among those that apply to it.

    Attributes
    ----------
    scripts : list of Script
    lexicon : dict
        The script of each (form, UPOS, FEATS) and of each (form, UPOS, ""), by number.

    Examples
    --------
    >>> text = [Sentence(["dogs", "walked"], ["dog", "walk"], ["NOUN", "VERB"]),
    ...         Sentence(["cats", "talked"], ["cat", "talk"], ["NOUN", "VERB"])]
    >>> lemmatiser = Lemmatiser.train(text, l1=0.0)
    >>> lemmatiser.lemmas([["birds", "barked"]], [[("NOUN", "_", "_"), ("VERB", "_", "_")]])
    [['bird', 'bark']]
    """

    def __init__(
        self,
        scripts: Sequence[Script],
        lexicon: dict[Word, int],
        observations: Sequence[str],
        weights: Weights,
        facts: dict[str, Any] | None = None,
    ) -> None:
        self.scripts, self.lexicon, self.weights = list(scripts), lexicon, weights
        self.number = {name: i for i, name in enumerate(observations)}
        self.facts = dict(facts or {})
        self._composed = composed(self.scripts)
        self._found: dict[Word, str] = {}

    @property
    def has_lemmas(self) -> bool:
        """Whether there were any lemmas to learn from; if not, every lemma is ``_``."""
        return bool(self.scripts)

    # -- learning -------------------------------------------------------------------------------------

    @classmethod
    def train(
        cls,
        sentences: Sequence[Sentence],
        tags: Sequence[Sequence[Label]] | None = None,
        *,
        l1: float = 0.1,
        l2: float = 0.1,
        passes: int = 12,
        seed: int = 0,
    ) -> Self:
        """Learn from sentences with lemmas, with the tags that they have or with these, such as predicted ones.

        A word whose lemma is ``_`` is one that nobody has analysed, and teaches nothing.
        """
        given = [labels_of(sentence) for sentence in sentences] if tags is None else tags
        pairs: Counter[tuple[Word, str]] = Counter()
        for sentence, labels in zip(sentences, given, strict=True):
            lemmas = sentence.lemmas or [EMPTY] * len(sentence)
            for form, lemma, (upos, _, feats) in zip(sentence.forms, lemmas, labels, strict=True):
                if lemma != EMPTY or form == EMPTY:
                    pairs[(form, upos, feats), lemma] += 1
        if all(lemma == EMPTY for _, lemma in pairs):
            return cls([], {}, [], _no_weights())
        number: dict[Script, int] = {}
        scripted = {pair: number.setdefault(script_of(pair[0][0], pair[1]), len(number)) for pair in pairs}
        lexicon = _lexicon(pairs, scripted)
        names: Counter[str] = Counter()
        rows = []
        for word, _ in pairs:
            rows.append(observations(word))
            names.update(rows[-1])
        known = [name for name, count in names.items() if count > 1]
        seen = _seen(rows, {name: i for i, name in enumerate(known)})
        gold = np.array([scripted[pair] for pair in pairs], np.int32)
        labels_ = composed(list(number))
        data = Treebank(np.arange(len(gold) + 1, dtype=np.int64), seen, gold)
        weights = Weights.zeros(seen, gold, labels_, np.zeros(len(known), np.bool_))
        found = train(data, labels_, weights, l1=l1, l2=l2, passes=passes, alone=passes, seed=seed)
        weights, used = found.weights.compact()
        facts = {
            "words": len(pairs),
            "scripts": len(number),
            "active": weights.n_active,
            "passes": found.passes,
        }
        kept = [name for name, keep in zip(known, used.tolist()) if keep]
        return cls(list(number), lexicon, kept, weights, facts | {"interrupted": found.interrupted})

    # -- lemmas ---------------------------------------------------------------------------------------

    def lemmas(self, forms: Sequence[Sequence[str]], tags: Sequence[Sequence[Label]]) -> list[list[str]]:
        """The lemma of each word, given its tags."""
        if not self.has_lemmas:
            return [[EMPTY] * len(sentence) for sentence in forms]
        words = [
            [(form, upos, feats) for form, (upos, _, feats) in zip(sentence, labels, strict=True)]
            for sentence, labels in zip(forms, tags, strict=True)
        ]
        new = list(dict.fromkeys(word for sentence in words for word in sentence if word not in self._found))
        if len(self._found) + len(new) > 1 << 18:  # remembered words
            self._found.clear()
            new = list(dict.fromkeys(word for sentence in words for word in sentence))
        self._look_up(new)
        return [[self._found[word] for word in sentence] for sentence in words]

    def _look_up(self, words: Sequence[Word]) -> None:
        unknown = []
        for word in words:
            form, upos, _ = word
            for key in (word, (form, upos, "")):
                lemma = apply_script(self.scripts[self.lexicon[key]], form) if key in self.lexicon else None
                if lemma is not None:
                    self._found[word] = lemma
                    break
            else:
                unknown.append(word)
        for start in range(0, len(unknown), _BATCH):
            some = unknown[start : start + _BATCH]
            for word, lemma in zip(some, self._guessed(some)):
                self._found[word] = lemma

    def _guessed(self, words: Sequence[Word]) -> list[str]:
        """Lemmas by the classifier: the most probable script that applies, and the word itself if none does."""
        seen = _seen([observations(word) for word in words], self.number)
        offsets = np.arange(len(words) + 1, dtype=np.int64)
        counts, labels, chances = marginals(offsets, seen, self._composed, self.weights)
        found = []
        for i, (form, _, _) in enumerate(words):
            order = np.argsort(-chances[i, : counts[i]], kind="stable")
            lemmas = (apply_script(self.scripts[labels[i, k]], form) for k in order)
            found.append(next((lemma for lemma in lemmas if lemma), form))
        return found

    # -- files and views ------------------------------------------------------------------------------

    def contents(self) -> Parts:
        """What a model file holds, as a part of it."""
        words = sorted(self.lexicon)
        weights = self.weights
        tags = sorted({word[1:] for word in words})
        number = {tag: i for i, tag in enumerate(tags)}
        tensors = {
            "lexicon.tags": smallest(np.array([number[word[1:]] for word in words], np.int64)),
            "lexicon.scripts": smallest(np.array([self.lexicon[word] for word in words], np.int64)),
            "lengths": smallest(np.diff(weights.ptr)),
            "parts": smallest(weights.parts),
            "weights": weights.w.astype(STORED),
        }
        strings: dict[str, Sequence[str]] = {
            "scripts": [written(script) for script in self.scripts],
            "lexicon.forms": [word[0] for word in words],
            "lexicon.upos": [tag[0] for tag in tags],
            "lexicon.feats": [tag[1] for tag in tags],
            "observations": list(self.number),
        }
        return Parts({"facts": self.facts}, tensors, strings)

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The lemmatiser that a part of a file holds."""
        with file.checked(ValueError):
            scripts = [read(text) for text in file.texts("scripts")]
        labels = composed(scripts)
        forms, upos, feats = (file.texts(f"lexicon.{of}") for of in ("forms", "upos", "feats"))
        tag_of = whole_numbers(file, "lexicon.tags", len(upos))
        script_of_word = whole_numbers(file, "lexicon.scripts", len(scripts))
        if len(upos) != len(feats) or not len(forms) == len(tag_of) == len(script_of_word):
            raise file.error("damaged: its lexicon has columns of unequal length")
        lexicon = {
            (form, upos[tag], feats[tag]): script
            for form, tag, script in zip(forms, tag_of.tolist(), script_of_word.tolist())
        }
        names = file.texts("observations")
        weights = Weights(*stored_rows(file, len(names), len(labels.parts)), np.zeros(0))
        return cls(scripts, lexicon, names, weights, file.fact("facts", dict))

    def views(self, top: int = 20) -> list[View]:
        """The most frequent scripts, with what speaks for each."""
        uses = Counter(self.lexicon[word] for word in self.lexicon if word[2])
        names = list(self.number)
        owner = np.repeat(np.arange(len(names)), np.diff(self.weights.ptr))
        rows = []
        for script, count in uses.most_common(top):
            part = self._composed.part_ids[self._composed.part_ptr[script]]
            here = np.flatnonzero((self.weights.parts == part) & (self.weights.w > 0))
            best = here[np.argsort(-self.weights.w[here], kind="stable")[:5]]
            said = "  ".join(f"{names[owner[j]]} {self.weights.w[j]:+.2f}" for j in best)
            rows.append([in_words(self.scripts[script]), count, said])
        header = ["script", "words", "observations (weight)"]
        return [Table("lemma_scripts", "Most frequent edit scripts", header, rows)]


def observations(word: Word) -> list[str]:
    """What speaks for and against scripts: the ends of a word and its beginning, by themselves and with its tags.

    Examples
    --------
    >>> observations(("Ab", "NOUN", "_"))
    ['', 'NOUN', 's1=b', 'NOUN s1=b', 'NOUN _ s1=b', 's2=ab', 'NOUN s2=ab', 'NOUN _ s2=ab', 'p1=a', 'p2=ab', 'h=Aa', \
'NOUN h=Aa', 'NOUN _']
    """
    form, upos, feats = word
    lower = form.lower()
    found = ["", upos]
    for k in range(1, min(len(lower), _SUFFIX) + 1):
        suffix = f"s{k}={lower[-k:]}"
        found += [suffix, f"{upos} {suffix}", f"{upos} {feats} {suffix}"]
    found += [f"p{k}={lower[:k]}" for k in range(1, min(len(lower), _PREFIX) + 1)]
    seen = shape(form)
    found += [f"h={seen}", f"{upos} h={seen}", f"{upos} {feats}"]
    found += [f"{upos} {attribute}" for attribute in attributes(feats)]
    return list(dict.fromkeys(found))


def composed(scripts: Sequence[Script]) -> Composed:
    """The scripts as labels, of which each is a part, and so are its change of case and its edits on each side."""
    rows = []
    for script in scripts:
        case, tree = script
        row = [written(script), f"case {case}"]
        if tree is not None and len(tree) == 4:
            row += [f"left {written(('keep', tree[2]))}", f"right {written(('keep', tree[3]))}"]
        rows.append(row)
    return Composed(rows, Facets.none(len(rows)))


def _lexicon(pairs: Counter[tuple[Word, str]], scripted: dict[tuple[Word, str], int]) -> dict[Word, int]:
    """The most frequent script of each word with its tags, and of each word with its UPOS alone."""
    counts: dict[Word, Counter[int]] = {}
    for (word, lemma), count in pairs.items():
        form, upos, _ = word
        for key in (word, (form, upos, "")):
            counts.setdefault(key, Counter())[scripted[word, lemma]] += count
    return {key: each.most_common(1)[0][0] for key, each in counts.items()}


def _seen(rows: Iterable[Sequence[str]], number: dict[str, int]) -> Seen:
    ids: list[int] = []
    ptr = [0]
    for row in rows:
        ids += [number[name] for name in row if name in number]
        ptr.append(len(ids))
    return Seen(np.array(ptr, np.int64), np.array(ids, np.int32), np.ones(len(ids), np.float32))


def _no_weights() -> Weights:
    return Weights(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0))
