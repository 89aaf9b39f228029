"""Texts and models of the Grave replication, each made once and kept in the cache of the run.

Words are ``lemma|UPOS``, as in the thesis, or forms as they are written, for text that has no lemmas. Chains and trees
are learnt from the same sentences: those of at most 50 words, for chains too.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from grave_common import STRUCTURES, Setting, Structure, section, table

from spinney.classes import Clustering, HiddenMarkov, brown, pair_counts
from spinney.classes.card import cards
from spinney.corpus import TokenArrays, Vocabulary, read_text
from spinney.structure import WordVectors

Words = Literal["lemma+upos", "form"]

#: How many words are kept at most: the thesis kept 25,000 of its smaller corpus. Names are many, so NER needs more.
_MOST: dict[Words, int] = {"lemma+upos": 25_000, "form": 100_000}
_LONGEST = 50
#: From so many classes on messages are 16-best, as in the thesis; below, and on a graphics card, they are exact.
_MANY = 512


def text(setting: Setting, words: Words = "lemma+upos") -> TokenArrays:
    """The training text: Reuters and Brown, and, unless quick, film reviews; words seen once are unknown."""
    folder = setting.cache / f"{_prefix(setting, words)}-text"
    if not folder.exists():
        names = ["reuters", "brown"] if setting.quick else ["reuters", "brown", "imdb"]
        files = [setting.data / "parsed" / f"{name}.conllu.xz" for name in names]
        made = read_text(
            files,
            words=words,
            tree=True,
            relations=True,
            max_length=_LONGEST,
            min_count=2,
            max_size=_MOST[words],
        )
        made.save(folder)
    return TokenArrays.load(folder, mmap=False)


def clustering(setting: Setting, words: Words, structure: Structure, n_classes: int) -> Clustering:
    """Brown clusters of the training text."""
    file = setting.cache / f"{_prefix(setting, words)}-{structure}-brown-{n_classes}.spinney"
    if not file.exists():
        arrays = text(setting, words)
        pairs = pair_counts(arrays, tree=structure == "tree")
        brown(pairs, arrays.vocabulary, n_classes).save(file)
    return Clustering.load(file)


def hidden(setting: Setting, words: Words, structure: Structure, n_classes: int) -> HiddenMarkov:
    """A hidden Markov model of the training text, begun with Brown clusters of the same structure."""
    file = setting.cache / f"{_prefix(setting, words)}-{structure}-hmm-{n_classes}.spinney"
    if not file.exists():
        k = 16 if n_classes >= _MANY and not cards() else "none"
        model = HiddenMarkov(n_classes, structure, passes=setting.passes, k_best=k, random_state=setting.seed)
        start = clustering(setting, words, structure, n_classes).classes
        model.fit(text(setting, words), init=start).save(file)
    return HiddenMarkov.load(file)


def vectors(setting: Setting, structure: Structure, n_classes: int) -> WordVectors:
    """Posterior-Type of lemmas."""
    return hidden(setting, "lemma+upos", structure, n_classes).word_vectors()


def transition(setting: Setting, structure: Structure, n_classes: int) -> Any:
    """T of lemmas: ``[child, parent]``, in a chain ``[next, previous]``."""
    return hidden(setting, "lemma+upos", structure, n_classes).shared_transition_


def known_as(arrays: TokenArrays, vocabulary: Vocabulary) -> TokenArrays:
    """The same sentences with the words of another vocabulary."""
    number = vocabulary.encode(arrays.vocabulary.words)
    return TokenArrays(number[arrays.ids], arrays.offsets, vocabulary, arrays.heads, arrays.labels)


def corpora(setting: Setting) -> str:
    """Table 1: what was learnt from."""
    rows: list[list[object]] = [
        ["thesis, music (Wikipedia)", "2.22 M", "56 M", "25,000", None],
        ["thesis, NYT 1987–1997 (chapter 3, presumably 4)", "14.7 M", "310 M", "100,000", None],
    ]
    kinds: dict[Words, str] = {"lemma+upos": "ours, lemmas with parts of speech", "form": "ours, forms (NER)"}
    for words, name in kinds.items():
        arrays = text(setting, words)
        vocabulary = arrays.vocabulary
        assert vocabulary.unknown is not None
        unknown = float(np.mean(arrays.ids == vocabulary[vocabulary.unknown]))
        rows.append(
            [name, f"{len(arrays):,}", f"{arrays.n_tokens:,}", f"{len(vocabulary):,}", f"{100 * unknown:.1f}"]
        )
    share = 100 * text(setting).n_tokens / 310e6
    many = f" (learnt on {cards()[0]})" if cards() else f", from {_MANY} classes on 16-best"
    names = "Reuters-21578 (ApteMod) and the Brown corpus"
    names += "" if setting.quick else ", and 6 M tokens of IMDB film reviews"
    note = (
        f"{names}, parsed by spaCy (en_core_web_sm; the thesis: Stanford parser). Sentences of more than {_LONGEST} "
        f"words are left out, of chains as well as of trees: both see identical text, {share:.1f} % of the thesis's. "
        f"Every hidden Markov model begins with Brown clusters of its structure; {setting.passes} passes of online "
        f"EM (γ = 0.6), one of batch EM; messages are exact{many}."
    )
    header = ["corpus", "sentences", "tokens", "words kept", "% unknown"]
    if setting.quick:
        note += " Quick: two of three corpora, 128 classes at most."
    return section("Corpora (chapter 2)", note, header, rows) + _models(setting)


def _models(setting: Setting) -> str:
    rows = []
    for structure in STRUCTURES:
        for n in setting.sizes:
            facts = hidden(setting, "lemma+upos", structure, n).facts
            per_second = f"{facts['tokens_per_second']:,.0f}"
            rows.append(
                [f"{structure} {n}", f"{facts['log_likelihood']:.4f}", f"{facts['seconds']:.0f}", per_second]
            )
    header = ["model", "log-likelihood a token", "s", "tokens/s"]
    bar = "\nThe thesis: 310 M tokens, hundreds of classes, under two days on one core (at least 1,800 tokens/s).\n"
    return "\n" + table(header, rows) + bar


def _prefix(setting: Setting, words: Words) -> str:
    return f"{'quick' if setting.quick else 'full'}-{setting.seed}-{words}"
