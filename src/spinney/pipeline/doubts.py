"""How sure a pipeline is of each word, in the column MISC: what a person who corrects its output looks at first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from spinney.corpus.conllu import Sentence
from spinney.tagging.morphology import MorphTagger
from spinney.tagging.morphology.labels import Label
from spinney.tagging.morphology.lattices import best_labels

TAG = "TagProbability="
_WRITTEN = (TAG, "ArcProbability=", "RelationProbability=")


def probable_tags(
    tagger: MorphTagger, forms: Sequence[Sequence[str]]
) -> tuple[list[list[Label]], list[list[float]]]:
    """The tags of the words of each sentence, and the probability of each: of its UPOS, XPOS and FEATS together.

    Examples
    --------
    >>> text = [Sentence(["dogs", "bark"], upos=["NOUN", "VERB"]), Sentence(["cats", "bark"], upos=["NOUN", "VERB"])]
    >>> tagger = MorphTagger.train(text, l1=0.0, min_count=1)
    >>> labels, chances = probable_tags(tagger, [["dogs", "bark"]])
    >>> labels, [chance > 0.5 for chance in chances[0]]
    ([[('NOUN', '_', '_'), ('VERB', '_', '_')]], [True, True])
    """
    found = tagger.marginals(forms)
    chosen = best_labels(found, tagger.labels.columns()[0][1])
    there = np.arange(found.labels.shape[1]) < found.counts[:, None]
    chances = np.where(there & (found.labels == chosen[:, None]), found.probabilities, 0.0).sum(axis=1)
    each = iter(zip(chosen.tolist(), chances.tolist()))
    pairs = [[next(each) for _ in one] for one in forms]
    every = tagger.labels.all
    return [[every[i] for i, _ in one] for one in pairs], [[p for _, p in one] for one in pairs]


def with_tag_probabilities(sentence: Sentence, chances: Sequence[float]) -> Sentence:
    """The sentence with the probabilities of its tags in MISC.

    Examples
    --------
    >>> with_tag_probabilities(Sentence(["Stop", "!"], misc=["SpaceAfter=No", "_"]), [0.9, 1.0]).misc
    ['SpaceAfter=No|TagProbability=0.900', 'TagProbability=1.000']
    """
    misc = sentence.misc or ["_"] * len(sentence)
    told = [f"{TAG}{chance:.3f}" for chance in chances]
    return replace(
        sentence, misc=[new if old == "_" else f"{old}|{new}" for old, new in zip(misc, told, strict=True)]
    )


def without_probabilities(sentence: Sentence) -> Sentence:
    """The sentence without the probabilities that an earlier pipeline has written into MISC.

    Examples
    --------
    >>> without_probabilities(Sentence(["Stop"], misc=["Gloss=no|TagProbability=0.9"])).misc
    ['Gloss=no']
    """
    if not any("Probability=" in field for field in sentence.misc):
        return sentence
    kept = ([one for one in field.split("|") if not one.startswith(_WRITTEN)] for field in sentence.misc)
    return replace(sentence, misc=["|".join(one) or "_" for one in kept])
