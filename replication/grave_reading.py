"""Grave (2014), chapter 2, Tables 2.1 to 2.5 and Figure 2.6: what a model shows, on the thesis's examples."""

from __future__ import annotations

import numpy as np
from grave_common import Setting, section, short
from grave_models import hidden, text
from numpy.typing import NDArray

from spinney.classes import HiddenMarkov
from spinney.corpus import TokenArrays

#: Homonyms of the thesis, and what it finds them in.
HOMONYMS = {
    "head|NOUN": "leaders; parts of the body",
    "oil|NOUN": "materials; cooking; commodities",
    "shoot|VERB": "sport; killing",
}
#: Words, and the nearest ones that the thesis prints for trees of 512 classes.
NEIGHBOURS = {
    "Sunday|PROPN": "saturday .96, thursday .92",
    "salt|NOUN": "pepper .82, flour .78",
    "red|ADJ": "yellow .92, brown .90",
    "cute|ADJ": "pretty .87",
    "purchase|VERB": "sell .87, buy .85",
    "cook|VERB": "bake .93, saute .86",
    "nominate|VERB": "elect .72, appoint .71",
    "slowly|ADV": "smoothly .90, quickly .86",
    "definitely|ADV": "always .93",
}
SHOWN = 6
Places = NDArray[np.int64]
_CLEAR = 0.1  # between the two similarities: then a token leans to one side
SENSES = 3
BODY = ("eye|NOUN", "hand|NOUN", "face|NOUN", "arm|NOUN", "foot|NOUN", "hair|NOUN", "leg|NOUN", "neck|NOUN")
LEADERS = ("chairman|NOUN", "president|NOUN", "director|NOUN", "minister|NOUN", "chief|NOUN", "official|NOUN")


def reading(setting: Setting) -> str:
    """Senses, dependents and neighbours, in words; and where *head* lies in its contexts."""
    model = hidden(setting, "lemma+upos", "tree", setting.largest)
    known = set(model.vocabulary_.words)
    parts = [
        section(
            "Reading (chapter 2)",
            f"A tree of {setting.largest} classes, lemmas with parts of speech. Classes of a word with a tenth of its "
            "tokens or more, and the words that each emits most often (Tables 2.1 to 2.3).",
            ["word", "thesis", "ours"],
            [
                [_cell(word), senses, _senses(model, word)]
                for word, senses in HOMONYMS.items()
                if word in known
            ],
        ),
        _dependents(model),
        _neighbours(model, known),
        _in_context(model, text(setting)),
    ]
    return "\n".join(parts)


def _cell(word: str) -> str:
    """A word with its part of speech, in a table of Markdown."""
    return word.replace("|", "\\|")


def _listed(model: HiddenMarkov, number: int) -> str:
    """The first words of a class, without their parts of speech."""
    return " ".join(word.rpartition("|")[0] or word for word, _ in model.class_words([number], SHOWN)[0])


def _senses(model: HiddenMarkov, word: str) -> str:
    found = model.classes_of_word(word, least=0.1)[:SENSES]
    return "; ".join(f"{share:.0%} {_listed(model, number)}" for number, share in found)


def _dependents(model: HiddenMarkov) -> str:
    """Table 2.4: what depends on the class of *win*."""
    parent = model.classes_of_word("win|VERB")[0][0]
    law = model.transitions()[:, parent]
    # More than anywhere: function words depend on everything.
    lift = law / np.maximum(model.class_shares(), 1e-12)
    often = np.flatnonzero(law > 0.005)
    first = often[np.argsort(-lift[often])][:SHOWN]
    rows = [
        [_listed(model, int(number)), f"{law[number]:.1%}", f"{lift[number]:.1f}"]
        for number in first.tolist()
    ]
    note = (
        f"Dependents of the class of *win* ({_listed(model, parent)}), by how much more often its words govern them "
        "than a token is of their class (Table 2.4: {team, champion, player} and {game, league, series})."
    )
    return section("Reading: dependents", note, ["class", "of its dependents", "times as often"], rows)


def _neighbours(model: HiddenMarkov, known: set[str]) -> str:
    """Table 2.5: the nearest words, by Bhattacharyya coefficients, as in the thesis."""
    vectors = model.word_vectors()
    counts = dict(zip(model.vocabulary_.words, model.vocabulary_.counts))
    rows = []
    for word, published in NEIGHBOURS.items():
        ours = "not in the vocabulary"
        if word in known:
            tag = word.rpartition("|")[2]
            alike = [
                (other.rpartition("|")[0], score)
                for other, score in vectors.neighbours(word, 500, "hellinger")
                if other.endswith(f"|{tag}") and counts[other] >= 20
            ]
            ours = ", ".join(f"{other} {short(score)}" for other, score in alike[:SHOWN])
        rows.append([_cell(word), published, ours])
    note = "The nearest words of the same part of speech, seen 20 times or more (Table 2.5)."
    return section("Reading: neighbours", note, ["word", "thesis", "ours"], rows)


def _typical(text: TokenArrays, places: Places, others: Places) -> str:
    """Words that stand within two places of some tokens more often than of others, relative to both."""
    shares = []
    for some in (places, others):
        near = (some[:, None] + np.array([-2, -1, 1, 2])).ravel()
        near = near[(near >= 0) & (near < len(text.ids))]
        found = np.bincount(text.ids[near], minlength=len(text.vocabulary)) + 1.0
        shares.append(found / found.sum())
    first = np.argsort(-(shares[0] * np.log(shares[0] / shares[1])), kind="stable")[:SHOWN]
    return ", ".join(text.vocabulary.words[i].rpartition("|")[0] for i in first.tolist())


def _in_context(model: HiddenMarkov, arrays: TokenArrays) -> str:
    """Figure 2.6: whether tokens of *head* lie nearer to leaders or to parts of the body."""
    vectors = model.word_vectors()
    known = set(model.vocabulary_.words)
    centres = [
        np.mean([np.sqrt(vectors[word]) for word in words if word in known], axis=0)
        for words in (LEADERS, BODY)
    ]
    number = arrays.vocabulary["head|NOUN"]
    sentence = np.repeat(np.arange(len(arrays)), np.diff(arrays.offsets))
    chosen = np.unique(sentence[arrays.ids == number])[:2000]
    some = arrays.take(chosen)
    places = np.flatnonzero(some.ids == number)
    posteriors = np.sqrt(np.asarray(model.posteriors(some))[places])
    leaning = posteriors @ centres[0] - posteriors @ centres[1]
    clear = float(np.mean(np.abs(leaning) > _CLEAR))
    around = [_typical(some, places[chosen], places[~chosen]) for chosen in (leaning > 0, leaning <= 0)]
    return (
        "## Reading: head in context\n\n"
        f"{len(places):,} tokens of *head* and their posteriors: {np.mean(leaning > 0):.0%} lie nearer to the mean of "
        f"{', '.join(w.rpartition('|')[0] for w in LEADERS)} than to that of "
        f"{', '.join(w.rpartition('|')[0] for w in BODY)}; {clear:.0%} by more than {_CLEAR:g}. Of the words within "
        f"two places, most typical of the first: {around[0]}; of the second: {around[1]}. The thesis (Figure 2.6): in "
        "context *head* moves to leaders or to parts of the body.\n"
    )
