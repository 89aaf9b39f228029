"""Why a word has its tags: what its observations say for its label and against the next best one.

The label of a word is compared with its rival: the candidate that would be best if the labels beside it stayed as they
are. The difference of their scores is a sum over observations, and over transitions by facet; the contributions of a
word add up to by how much its label is ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.tagging.morphology.lattices import best_labels
from spinney.tagging.morphology.training import offsets_of
from spinney.tagging.morphology.views import in_words
from spinney.views import Extra, Note, Table, View

if TYPE_CHECKING:
    from spinney.tagging.morphology.tagger import MorphTagger


class Explanation(NamedTuple):
    """Why a word has its label: how probable it is, its rival, and what adds up to the lead."""

    word: str
    label: str
    probability: float
    rival: str
    ahead: float
    contributions: list[tuple[str, float]]


def explained(tagger: MorphTagger, sentences: Sequence[Sequence[str]], top: int) -> list[View]:
    """A table for each sentence, and all explanations for programs."""
    views: list[View] = [
        Note(
            "Ahead: by how much the score of the tags exceeds that of the next best tags there, all others given."
        )
    ]
    found = []
    header = ["word", "tags", "probability", "rival", "ahead", "contributions"]
    for number, each in enumerate(explanations(tagger, sentences), start=1):
        shown = [one._replace(contributions=one.contributions[:top]) for one in each]
        rows = [[*one[:-1], " · ".join(f"{name} {x:+.3g}" for name, x in one.contributions)] for one in shown]
        views.append(Table("", f"Sentence {number}", header, rows))
        found.append([one._asdict() for one in shown])
    return [*views, Extra("explained", "", found)]


def explanations(tagger: MorphTagger, sentences: Sequence[Sequence[str]]) -> list[list[Explanation]]:
    """The explanations of all words; the largest contributions first."""
    offsets = offsets_of(sentences)
    seen = tagger.observer.observe(sentences)
    found = tagger.marginals(sentences)
    chosen = best_labels(found, tagger.labels.columns()[0][1]).tolist()
    names = [in_words(name) for name in tagger.observer.number]
    every = []
    for s, sentence in enumerate(sentences):
        first, end = int(offsets[s]), int(offsets[s + 1])
        rows = []
        for t in range(first, end):
            before = chosen[t - 1] if t > first else -1
            after = chosen[t + 1] if t + 1 < end else -1
            part = slice(int(seen.ptr[t]), int(seen.ptr[t + 1]))
            here = list(zip(seen.ids[part].tolist(), seen.values[part].tolist()))
            candidates = found.labels[t, : found.counts[t]].tolist()
            said = {y: _contributions(tagger, y, before, after, here, names) for y in candidates}
            p = float(found.probabilities[t, candidates.index(chosen[t])])
            rows.append(_compared(tagger, sentence[t - first], chosen[t], p, said))
        every.append(rows)
    return every


def _compared(
    tagger: MorphTagger, word: str, y: int, probability: float, said: dict[int, dict[str, float]]
) -> Explanation:
    label = _shown(tagger, y)
    others = [z for z in said if z != y]
    if not others:
        return Explanation(word, label, probability, "", np.inf, [])
    rival = max(others, key=lambda z: sum(said[z].values()))
    difference = {
        name: said[y].get(name, 0.0) - said[rival].get(name, 0.0) for name in {**said[y], **said[rival]}
    }
    order = sorted(((name, x) for name, x in difference.items() if x), key=lambda one: (-abs(one[1]), one[0]))
    return Explanation(word, label, probability, _shown(tagger, rival), sum(difference.values()), order)


def _contributions(
    tagger: MorphTagger,
    y: int,
    before: int,
    after: int,
    here: list[tuple[int, float]],
    names: list[str],
) -> dict[str, float]:
    """What each observation and each facet of the labels beside it adds to the score of a label."""
    weights, labels = tagger.weights, tagger.labels
    parts = labels.part_ids[labels.part_ptr[y] : labels.part_ptr[y + 1]]
    found: dict[str, float] = {}
    for o, value in here:
        row = slice(int(weights.ptr[o]), int(weights.ptr[o + 1]))
        total = float(weights.w[row][np.isin(weights.parts[row], parts)].sum())
        if total:
            found[names[o]] = found.get(names[o], 0.0) + value * total
    facets = labels.facets
    for j, name in enumerate(facets.names):
        table = _table(facets.offsets[j : j + 2], weights.transitions)
        edge = len(table) - 1
        value = facets.of_label[y, j]
        left = edge if before < 0 else facets.of_label[before, j]
        right = edge if after < 0 else facets.of_label[after, j]
        total = float(table[left, value] + table[value, right])
        if total:
            found[f"{name} of the words beside it"] = total
    return found


def _table(bounds: NDArray[np.int64], transitions: NDArray[np.float64]) -> NDArray[np.float64]:
    flat = transitions[int(bounds[0]) : int(bounds[1])]
    size = round(len(flat) ** 0.5)
    return flat.reshape(size, size)


def _shown(tagger: MorphTagger, y: int) -> str:
    upos, xpos, feats = tagger.labels.all[y]
    return " ".join([upos, *(value for value in (xpos, feats) if value != "_")])
