"""From sentences and settings to an optimisation problem: numbered observations and labels, a loss and a penalty."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spinney.errors import InputError, SettingError, did_you_mean
from spinney.evaluate.chunks import Scheme
from spinney.memory import check_memory
from spinney.optim import NoPenalty
from spinney.optim.base import Penalty, Vector
from spinney.optim.vocabulary import kind_named
from spinney.structure import WordClasses, WordVectors
from spinney.structure.reading import word_classes, word_vectors
from spinney.tagging import summary
from spinney.tagging.columns import Columns
from spinney.tagging.encoding import Encoding, scheme_of
from spinney.tagging.extract import Extractor
from spinney.tagging.filters import highest, information_gain, mutual_information, top
from spinney.tagging.labelling import encode_labels
from spinney.tagging.patterns import Pattern, parse_patterns, read_patterns
from spinney.tagging.penalty import make_penalty, penalty_spec
from spinney.tagging.presets import PRESETS, kind_of, preset
from spinney.tagging.sequences import Sequences
from spinney.tagging.support import observed_support
from spinney.tagging.weights import ChainWeights

Structures = dict[str, WordClasses | WordVectors]

_COPIES = 12  # vectors of weights that a solver holds at a time


@dataclass(frozen=True)
class Problem:
    """Sentences as numbers, with the loss and the penalty to minimise."""

    extractor: Extractor
    labels: list[str]
    encoding: Encoding | None
    data: Sequences
    loss: Any
    penalty: Penalty
    #: The number of observations of each pattern.
    seen: dict[str, int]
    #: The scheme of phrase labels, as the sentences have them.
    scheme: Scheme | None = None
    #: What was chosen before training, in words.
    selected: str | None = None
    #: Sentences without labels whose observations are among those of the model.
    unlabelled: Sequences | None = None

    def weights(self, w: Vector) -> ChainWeights:
        """The weights that a solver found, in the form in which they are stored."""
        if self.loss.support is not None:
            full = np.zeros(self.loss.shape.n_params)
            full[self.loss.support.places(self.loss.shape)] = w
            w = full
        return ChainWeights.of(w, self.loss.shape)


def stated(
    columns: Columns,
    s: Any,
    loss_of: Callable[..., Any],
    sentence_weight: Sequence[float] | None = None,
    more: Columns | None = None,
) -> Problem:
    """The problem of sentences whose last column is the label, for settings of a method.

    ``loss_of`` makes the loss of the method; a method without a penalty has none of these settings. What is only seen
    in ``more``, sentences without labels, is observed, too.
    """
    lam = 1.0 if getattr(s, "lam", None) is None else s.lam
    spec = penalty_spec(s.penalty, lam, s.l1, s.l2) if hasattr(s, "penalty") else None
    if columns.width < 1 or not columns.n_tokens:
        raise InputError("no sentences to learn from")
    encoding = None if s.encode is None else Encoding.of(columns, s.encode)
    scheme = scheme_of(columns) if encoding is None else encoding.own
    if encoding is not None:
        columns = encoding.encoded(columns)
    structures = structures_of(s)
    patterns = patterns_of(s.patterns, structures)
    if s.patterns is None or (isinstance(s.patterns, str) and s.patterns in PRESETS):
        patterns = that_fit(patterns, columns.width - 1)
    extractor = Extractor(patterns, structures or None)
    every = [extractor.learn(columns.without_last())]
    if more is not None:
        every.append(extractor.learn(more))
        every[0] = tuple(replace(seen, n=all_seen.n) for seen, all_seen in zip(*every))
    if s.min_count > 1:
        kept = [sum(seen.counts() for seen in both) >= s.min_count for both in zip(*every)]
        extractor = extractor.keep(*kept)
        every = [(seen[0].keep(kept[0]), seen[1].keep(kept[1])) for seen in every]
    unigrams, bigrams = every[0]
    known = () if encoding is None else ("O",)  # so that every sentence has a valid labelling
    labels, sets, names = encode_labels(columns.symbols[-1], columns.pool, partial=s.partial, known=known)
    weights = None if sentence_weight is None else np.asarray(sentence_weight, np.float64)
    if weights is not None and not np.all((weights >= 0) & np.isfinite(weights)):
        raise InputError("sentence weights must be finite numbers ≥ 0")
    data = Sequences(columns.offsets, unigrams, bigrams, labels, sets, weights)
    start, selected = getattr(s, "start_label", True), None
    if getattr(s, "select", None) == "gain":
        gains = information_gain(data, len(names), start=start)
        wanted = np.zeros(unigrams.n + bigrams.n, np.bool_)
        wanted[highest(np.concatenate(gains), s.select_top)] = True
        kept = [wanted[: unigrams.n], wanted[unigrams.n :]]
        extractor = extractor.keep(*kept)
        data = replace(data, unigrams=unigrams.keep(kept[0]), bigrams=bigrams.keep(kept[1]))
        selected = f"{wanted.sum():,} of {len(wanted):,} observations, by information gain"
    loss = loss_of(data, len(names), start=start, threads=s.threads)
    chosen_by = "weights" if getattr(s, "weights", "all") == "observed" else "select"
    if chosen_by == "weights" or getattr(s, "select", None) == "mi":
        kind = None if isinstance(s.penalty, Penalty) or spec is None else kind_named(spec.name)
        if spec is not None and kind is not None and kind.needs:
            remedy = {"weights": "use {weights} all", "select": "use {select} gain"}[chosen_by]
            raise SettingError(
                "the penalty {name} needs the weights of all labels: " + remedy, name=spec.name
            )
        support = observed_support(data, loss.shape)
        if chosen_by == "select":
            support = top(mutual_information(data, len(names), start=start), s.select_top, loss.shape)
            selected = f"{support.n_params:,} of {loss.n_params:,} weights, by mutual information"
        loss = loss.restricted(support)
    check_memory(
        8.0 * _COPIES * loss.n_params,
        "a model of {labels} labels and {observations} observations",
        "raise {min_count}, or learn the {weights} of observed pairs only",
        labels=f"{len(names):,}",
        observations=f"{data.unigrams.n + data.bigrams.n:,}",
    )
    penalty: Penalty = NoPenalty()
    if spec is not None:
        penalty = make_penalty(
            s.penalty, lam, s.l1, s.l2, loss.shape, (extractor.pattern_of("u"), extractor.pattern_of("b")),
            summary.partners(extractor), lambda: extractor.class_of("u"),
        )  # fmt: skip
    seen = summary.observations_by_pattern(extractor)
    unlabelled = None if more is None else Sequences(more.offsets, *every[1])
    return Problem(extractor, names, encoding, data, loss, penalty, seen, scheme, selected, unlabelled)


def patterns_of(patterns: Any, structures: Structures) -> tuple[Pattern, ...]:
    """Patterns from the name of a built-in set, the text of a template, its file, or as they are.

    Examples
    --------
    >>> [pattern.text for pattern in patterns_of("U:%x[0,0]\\nB", {})]
    ['U:%x[0,0]', 'B']
    """
    if patterns is None:
        patterns = "pos"
    if not isinstance(patterns, str):
        return tuple(patterns)
    if patterns in PRESETS:
        kinds = {name: kind_of(structure) for name, structure in structures.items()}
        return parse_patterns(preset(patterns, kinds), f"preset {patterns}")
    if "\n" in patterns or "%" in patterns or patterns in ("B", "b"):
        return parse_patterns(patterns)
    if not os.path.exists(patterns):
        meant = did_you_mean(patterns, PRESETS)
        raise SettingError(
            "{patterns}: {given} is neither a file nor a built-in set ({known})" + " ({meant})" * bool(meant),
            given=repr(patterns), known=", ".join(PRESETS), meant=meant,
        )  # fmt: skip
    return read_patterns(patterns)


def that_fit(patterns: tuple[Pattern, ...], width: int) -> tuple[Pattern, ...]:
    """The patterns of a built-in set that look at columns which the data have: not all data have parts of speech.

    Examples
    --------
    >>> [pattern.text for pattern in that_fit(parse_patterns("U0:%x[0,0]\\nU1:%x[0,1]"), width=1)]
    ['U0:%x[0,0]']
    """
    return tuple(pattern for pattern in patterns if all(field.column < width for field in pattern.fields))


def structures_of(s: Any) -> Structures:
    """The word classes and vectors of settings, by name; each is given as NAME=FILE or in a mapping."""
    found: Structures = {}
    for given, read in ((s.classes, word_classes), (s.vectors, word_vectors)):
        for one in given:
            pairs: Any = one.items() if isinstance(one, Mapping) else [one.split("=", 1)]
            found |= {name: read(structure) for name, structure in pairs}
    return found
