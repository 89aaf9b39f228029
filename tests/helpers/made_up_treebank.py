"""A made-up treebank of dependencies with tags, lemmas, features and relations, for the tests of parsers."""

from __future__ import annotations

import random

from spinney.corpus.conllu import Sentence

_NOUNS = {"dog": "dogs", "cat": "cats", "girl": "girls", "storm": "storms", "house": "houses"}
_VERBS = {"see": "sees", "hear": "hears", "like": "likes"}


def treebank(n: int, seed: int = 0, *, crossing: bool = False) -> list[Sentence]:
    """Some sentences; prepositions *of* and *with* hang on the noun, *after* and *during* on the verb.

    With ``crossing``, an adverb at the end may hang on the first noun, across the verb.
    """
    rng = random.Random(seed)
    return [_sentence(rng, crossing) for _ in range(n)]


def _sentence(rng: random.Random, crossing: bool) -> Sentence:
    rows: list[tuple[str, str, str, str, int, str]] = []  # form, lemma, tag, features, head, relation

    def phrase(relation: str, head: int) -> tuple[int, bool]:
        """A noun with its article; where it stands, and whether it is plural. ``head`` is set by the caller."""
        plural = rng.random() < 0.5
        lemma = rng.choice(list(_NOUNS))
        own = len(rows) + (1 if plural and rng.random() < 0.3 else 2)
        if own > len(rows) + 1:
            rows.append(
                (rng.choice(["the", "a"] if not plural else ["the", "some"]), "the", "DET", "_", own, "det")
            )
        number = "Number=Plur" if plural else "Number=Sing"
        rows.append((_NOUNS[lemma] if plural else lemma, lemma, "NOUN", number, head, relation))
        return own, plural

    subject, plural = phrase("nsubj", -1)
    verb = len(rows) + 1
    rows[subject - 1] = (*rows[subject - 1][:4], verb, "nsubj")
    lemma = rng.choice(list(_VERBS))
    number = "Number=Plur" if plural else "Number=Sing"
    rows.append((lemma if plural else _VERBS[lemma], lemma, "VERB", f"Mood=Ind|{number}", 0, "root"))
    thing, _ = phrase("obj", verb)
    if rng.random() < 0.7:
        to_noun = rng.random() < 0.5
        case = len(rows) + 1
        word = rng.choice(["of", "with"] if to_noun else ["after", "during"])
        rows.append((word, word, "ADP", "_", -1, "case"))
        other, _ = phrase("nmod" if to_noun else "obl", thing if to_noun else verb)
        rows[case - 1] = (*rows[case - 1][:4], other, "case")
    if crossing and rng.random() < 0.5:
        rows.append(("alone", "alone", "ADV", "_", subject, "advmod"))
    rows.append((".", ".", "PUNCT", "_", verb, "punct"))
    forms, lemmas, upos, feats, heads, deprels = map(list, zip(*rows))
    return Sentence(
        forms, lemmas, upos, [tag[0] for tag in upos], feats, heads, deprels, misc=["_"] * len(forms)
    )
