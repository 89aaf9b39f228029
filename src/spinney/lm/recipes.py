"""From text and settings to a language model, and what else can be made of models: mixtures, samples, ARPA files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spinney.cluster import spread
from spinney.corpus import ReadReport, TokenArrays, Vocabulary, read_lines
from spinney.corpus.lines import fields
from spinney.corpus.text import Reading, Source, training_arrays, training_files
from spinney.errors import InputError, SettingError, about
from spinney.lm.arpa import read_arpa, write_arpa
from spinney.lm.backoff import BackoffModel
from spinney.lm.cache import CacheModel
from spinney.lm.classbased import fit_class_model
from spinney.lm.hierarchical import fit_hierarchical
from spinney.lm.loglinear import fit_loglinear, fit_loglinear_path
from spinney.lm.mixture import LinearMixture, LogLinearMixture, fit_linear, fit_log_linear
from spinney.lm.model import LanguageModel, load_language_model
from spinney.lm.stream import END
from spinney.lm.text import (
    context_words,
    held_out_text,
    reading_of,
    reading_vocabulary,
    training_text,
    with_marks,
)
from spinney.lm.units import Units, learned_pieces
from spinney.lm.views import KINDS, n_parameters, order_sizes
from spinney.lm.wordtree import outcome_counts, tree_of_classes
from spinney.optim import warn_if_empty
from spinney.settings import Settings, choose
from spinney.settings import lm as lm_settings
from spinney.structure import ClassTree
from spinney.structure.reading import class_tree, is_model, word_classes
from spinney.views import Facts, Lines, Views

_UNITS_OF_A_WORD = 30  # at most, in samples

#: The names of the smoothed n-gram models in :func:`spinney.lm.smoothing.fit_ngram`.
_NGRAM: dict[str, tuple[str, dict[str, Any]]] = {
    "mkn": ("modified-kneser-ney", {}),
    "kn": ("kneser-ney", {}),
    "kn-backoff": ("kneser-ney", {"backoff": True}),
    "wb": ("witten-bell", {}),
    "ad": ("absolute", {}),
    "jm": ("jelinek-mercer", {}),
    "katz": ("katz", {}),
    "good-turing": ("good-turing", {}),
    "additive": ("additive", {}),
}


@spread
def fit(train: Any, settings: Settings | None = None, **given: Any) -> LanguageModel:
    """Train a language model.

    Parameters
    ----------
    train
        Files or folders of text, with one sentence per line unless ``format`` says otherwise; a data frame; or a list
        of sentences, each a list of words. So may the setting ``dev`` be.
    settings
        Settings of :mod:`spinney.settings.lm`; or give them by name, ``method`` among them.

    Examples
    --------
    >>> model = fit([["a", "rose", "is", "a", "rose"]] * 3, method="wb", order=2)
    >>> model.facts["tokens"], model.next_words(["a"], 1)[0][0]
    (15, 'rose')
    """
    settings = settings or choose(lm_settings.FIT, given)
    s: Any = settings
    source = Source.of(train, s).check_columns()
    known = _given_vocabulary(s)
    symbol = (None if s.closed else s.unknown or "<unk>") if known is None else known.unknown
    reading = Reading(s.words, s.lowercase, symbol, max_length=s.max_length, parser=s.parser, tokens=s.tokens)
    reading.check_parser()
    report = ReadReport()
    read_with = None if known is None else with_marks(known)
    uncut = s.replace(min_count=1, max_words=None)  # rare marks of sentences are still to be noticed
    with about(source.name), training_arrays(train, uncut, reading, report, read_with) as arrays:
        units = _units(s, arrays, symbol)
        text = training_text(arrays, source, reading, report, known, s.min_count, s.max_words, units)
        held_out = None
        if s.dev is not None:
            words = reading_vocabulary(text.vocabulary)
            held_out = held_out_text(s.dev, s, reading, ReadReport(), words, units)
        started = time.perf_counter()
        model, tried = _Training(s, held_out).run(text)
        seconds = time.perf_counter() - started
        model.units = units
        _note(model, s, text, reading, report, seconds)
        if held_out is not None:
            with about(Source.of(s.dev, s).name):
                model.facts["dev_perplexity"] = model.perplexity(held_out).perplexity
        if tried:
            model.facts["tuning"] = tried
    if (files := training_files(train)) is not None:
        model.facts["train"] = files
    model.settings = settings
    return model


def _units(s: Any, text: TokenArrays, unknown: str | None) -> Units:
    """What the model predicts; pieces of words are learned from the text."""
    if s.units != "bpe":
        return Units(s.units, unknown)
    counts = dict(zip(text.vocabulary.words, text.vocabulary.counts.tolist()))
    return learned_pieces(counts, s.vocab_size or 8000, unknown)


def _given_vocabulary(s: Any) -> Vocabulary | None:
    """The words of another language model, or those of a file with one word per line."""
    file = s.vocabulary
    if file is None:
        return None
    if is_model(file):
        if s.closed or s.unknown is not None:
            raise SettingError(
                "{vocabulary} already fixes the unknown word: leave out {unknown} and {closed}"
            )
        return load_language_model(file).vocabulary
    unknown = None if s.closed else s.unknown or "<unk>"
    found: dict[str, None] = dict.fromkeys([unknown] if unknown else [])
    for number, line in read_lines(file):
        words = fields(line)
        if not words:
            continue
        if len(words) > 1:
            raise InputError(
                "more than one word on a line", path=file, line=number, remedy="write one word per line"
            )
        found[words[0]] = None
    return Vocabulary(tuple(found), np.zeros(len(found), np.int64), unknown)


@dataclass(frozen=True)
class _Training:
    """A method with its settings."""

    s: Any
    held_out: TokenArrays | None

    def run(self, text: TokenArrays) -> tuple[LanguageModel, list[dict[str, float]]]:
        """The model, and the points that were tried on held-out text."""
        if self.s.method in ("loglinear", "hierarchical"):
            return self._loglinear(text)
        others: dict[str, Callable[[TokenArrays], LanguageModel]] = {
            "pitman-yor": self._pitman_yor,
            "memoizer": self._memoizer,
            "class": self._class,
        }
        return others.get(self.s.method, self._ngram)(text), []

    @property
    def order(self) -> int | None:
        """The order, or None if it has no bound."""
        return None if self.s.order == "unbounded" else int(self.s.order)

    def _ngram(self, text: TokenArrays) -> LanguageModel:
        from spinney.lm.smoothing import METHODS, fit_ngram, without_rare
        from spinney.lm.streamed_kneser_ney import STREAMED, streamed_kneser_ney

        name, options = _NGRAM[self.s.method]
        options = dict(options)
        if getattr(self.s, "discount", None) is not None:
            options["discount"] = self.s.discount
        if self.s.method == "additive":
            options["d"] = self.s.add
        if self.s.method == "jm" and self.held_out is not None:
            options["heldout"] = self._held_out_of(text)
        pruned = self.s.prune_counts
        if self.s.memory is None:
            return fit_ngram(text, name, order=self.s.order, prune_counts=pruned, **options)
        where = {"memory": self.s.bytes, "folder": self.s.scratch}
        if name in STREAMED and "backoff" not in options and pruned is None:
            return streamed_kneser_ney(text, self.s.order, method=name, **where, **options)
        from spinney.lm.external import external_trie

        trie = external_trie(text, len(text.vocabulary), self.s.order - 1, **where)
        model = METHODS[name](trie, text.vocabulary, **options)
        return model if pruned is None else without_rare(model, trie, pruned, name, **options)

    def _held_out_of(self, text: TokenArrays) -> TokenArrays:
        """Held-out text in the very vocabulary of the model; a closed one has no place for new words."""
        held_out = self.held_out
        assert held_out is not None
        if np.any(held_out.ids >= len(text.vocabulary)):
            raise SettingError(
                "{dev} has words that are not in the training text, which {closed} does not allow"
            )
        return replace(held_out, vocabulary=text.vocabulary)

    def _pitman_yor(self, text: TokenArrays) -> LanguageModel:
        from spinney.lm.pitman_yor import pitman_yor

        return pitman_yor(text, self.s.order, random_state=self.s.seed, **self._sampling())

    def _memoizer(self, text: TokenArrays) -> LanguageModel:
        from spinney.lm.memoizer import sequence_memoizer

        longest = None if self.order is None else self.order - 1
        return sequence_memoizer(text, max_context=longest, random_state=self.s.seed, **self._sampling())

    def _sampling(self) -> dict[str, Any]:
        return {"sweeps": self.s.sweeps} if self.s.sweeps else {"method": "one-table"}

    def _class(self, text: TokenArrays) -> LanguageModel:
        return fit_class_model(text, word_classes(self.s.classes), order=self.s.order)

    def _loglinear(self, text: TokenArrays) -> tuple[LanguageModel, list[dict[str, float]]]:
        unbounded = self.order is None
        names = ("law", "group_factor", "start", "solver", "tol", "max_iter", "collapse")
        how: dict[str, Any] = {
            name: getattr(self.s, name) for name in names if getattr(self.s, name) is not None
        }
        if how.get("solver", "words") != "words":
            how.setdefault("collapse", False)  # the general solvers know no shared weights
        how["penalty"] = self.s.penalty or ("tree-linf" if unbounded else "tree-l2")
        lams, alphas = list(self.s.lam or (0.7,)), list(self.s.alpha or (1.0 if unbounded else 1.1,))
        if self.s.method == "hierarchical":
            return self._hierarchical(text, lams, alphas, how)
        if len(lams) * len(alphas) > 1 and self.held_out is not None:
            return fit_loglinear_path(text, self.held_out, self.order, lams=lams, alphas=alphas, **how)
        return fit_loglinear(text, self.order, lam=lams[0], alpha=alphas[0], **how), []

    def _hierarchical(
        self, text: TokenArrays, lams: list[float], alphas: list[float], how: dict[str, Any]
    ) -> tuple[LanguageModel, list[dict[str, float]]]:
        tree = self._tree(text)
        points = [(lam, alpha) for alpha in alphas for lam in sorted(lams, reverse=True)]
        best: LanguageModel | None = None
        tried: list[dict[str, float]] = []
        for lam, alpha in points:
            model = fit_hierarchical(text, self.order, tree=tree, lam=lam, alpha=alpha, **how)
            if len(points) == 1 or self.held_out is None:
                return model, []
            perplexity = model.perplexity(self.held_out).perplexity
            if best is None or perplexity < min(row["perplexity"] for row in tried):
                best = model
            row = {"lam": lam, "alpha": alpha, "perplexity": perplexity, "parameters": model.n_parameters}
            tried.append({**row, "seconds": model.facts["seconds"]})
            if model.facts["interrupted"]:
                best.facts["interrupted"] = True
                break
        assert best is not None
        return best, tried

    def _tree(self, text: TokenArrays) -> ClassTree | None:
        if self.s.classes is not None:
            return tree_of_classes(word_classes(self.s.classes), text.vocabulary, len(text))
        if self.s.tree == "huffman":
            return None
        if self.s.tree == "taxonomy":
            from spinney.taxonomy import text_taxonomy

            return text_taxonomy(text, random_state=self.s.seed)
        outcomes = [*text.vocabulary.words, END]
        return class_tree(self.s.tree, outcomes, outcome_counts(text.vocabulary, len(text)))


def _note(
    model: LanguageModel, s: Any, text: TokenArrays, reading: Reading, report: ReadReport, seconds: float
) -> None:
    """Keep with the model what was read, and how it went."""
    parameters, active = n_parameters(model)
    if hasattr(s, "lam"):
        warn_if_empty(active, "lower lam")
    model.facts |= {
        "method": s.method,
        "order": s.order,
        "sentences": len(text),
        "tokens": text.n_tokens,
        "words": len(text.vocabulary),
        "grams": [size.grams for size in order_sizes(model)],
        "parameters": parameters,
        "active": active,
        "seconds": seconds,
        "tokens_per_second": text.n_tokens / max(seconds, 1e-9),
        "unknown_share": report.unknown / max(report.tokens, 1),
        "skipped": report.skipped,
        "long": report.long,
        "reading": reading.facts(),
    }
    if not model.units.are_words:
        model.facts["units"] = model.units.name


# ------------------------------------------------------------------------------------------------ mixtures


def mix(
    models: Sequence[str], settings: Settings | None = None, **given: Any
) -> LinearMixture | LogLinearMixture:
    """Combine several models into one, with the weights that maximise the likelihood of held-out text (by EM)."""
    s: Any = settings or lm_settings.Mix.of(given)
    if len(models) + (s.cache_words is not None) < 2:
        raise SettingError("a mixture needs two models, or one and {cache_words}")
    parts, reading = _parts(models)
    first = next(iter(parts.values()))
    if s.cache_words is not None:
        decay = 0.995 if s.cache_decay is None else s.cache_decay
        parts["cache"] = CacheModel(
            first.vocabulary, window=s.cache_words, decay=decay, order=s.cache_order or 1
        )
    held_out = held_out_text(s.dev, s, reading, ReadReport(), first.reading_vocabulary, first.units)
    mixture: LinearMixture | LogLinearMixture
    with about(Source.of(s.dev, s).name):
        if s.log_linear:
            mixture = fit_log_linear(parts, held_out, random_state=s.seed)
        else:
            mixture = fit_linear(parts, held_out, s.by)
        alone = {name: part.perplexity(held_out).perplexity for name, part in parts.items()}
        together = mixture.perplexity(held_out).perplexity
    mixture.units = first.units
    parameters, active = n_parameters(mixture)
    mixture.facts |= {
        "method": "mixture",
        "by": s.by,
        "words": len(mixture.vocabulary),
        "parameters": parameters,
        "active": active,
        "dev_perplexity": together,
        "parts": {
            name: {"kind": part.kind, "method": part.facts.get("method"), "dev_perplexity": alone[name]}
            for name, part in parts.items()
        },
        "reading": reading.facts(),
    }
    return mixture


def _parts(paths: Sequence[str]) -> tuple[dict[str, LanguageModel], Reading]:
    """The models by the names of their files; all must have one vocabulary."""
    parts: dict[str, LanguageModel] = {}
    readings: list[Reading] = []
    for path in paths:
        part = load_language_model(path)
        stem = name = os.path.basename(path).partition(".")[0] or "model"
        number = 1
        while name in parts or name == "cache":
            number += 1
            name = f"{stem}-{number}"
        before = next(iter(parts.values()), part)
        first = before.vocabulary
        same = (part.vocabulary.words, part.vocabulary.unknown) == (first.words, first.unknown)
        if not same or part.units != before.units:
            raise InputError(
                f"its words differ from those of {paths[0]}, so the two cannot be mixed",
                path=path,
                remedy=f"fit it again with the vocabulary of {paths[0]}",
            )
        parts[name] = part
        with about(path):
            readings.append(reading_of(part))
    return parts, readings[0]


# ------------------------------------------------------------------------------------------- other verbs


def sample(model: str | LanguageModel, settings: Settings | None = None, **given: Any) -> Views:
    """Sentences drawn from a model."""
    s: Any = settings or lm_settings.Sample.of(given)
    fitted = load_language_model(model) if isinstance(model, str) else model
    words, _ = context_words(s.context, reading_of(fitted))
    units = fitted.units
    longest = s.max_words if units.are_words else _UNITS_OF_A_WORD * s.max_words
    how = {"max_words": longest, "temperature": s.temperature, "random_state": s.seed}
    drawn = [units.text(one).split(" ") for one in fitted.sample(s.number, context=units.split(words), **how)]
    drawn = [[word for word in sentence if word][: s.max_words] for sentence in drawn]
    return Views([Lines("sentences", "", [" ".join(sentence) for sentence in drawn], drawn)])


def export(model: str, output: str, settings: Settings | None = None) -> Views:
    """Write a back-off model to an ARPA file."""
    fitted = load_language_model(model)
    if not isinstance(fitted, BackoffModel):
        raise InputError(
            f"ARPA files can only contain back-off models, not this kind of model: {KINDS[fitted.kind]}",
            path=model,
            remedy="fit the model with mkn, kn, wb, ad, jm, katz or pitman-yor",
        )
    write_arpa(fitted, output)
    if output == "-":
        return Views([])
    grams = [size.grams for size in order_sizes(fitted)]
    listed = ", ".join(f"{n:,}" for n in grams)
    return Views(
        [
            Facts("facts", "", {"output": output, "grams": grams}, {}),
            Lines("", "", [f"Wrote {output} with {listed} {fitted.units.note or 'n-grams'}"]),
        ]
    )


def import_arpa(arpa: str, settings: Settings | None = None, **given: Any) -> BackoffModel:
    """The model in an ARPA file of KenLM, SRILM or another program."""
    s: Any = settings or lm_settings.Import.of(given)
    model = read_arpa(arpa, unknown=s.unknown, encoding=s.encoding)
    parameters, active = n_parameters(model)
    model.facts |= {
        "words": len(model.vocabulary),
        "grams": [size.grams for size in order_sizes(model)],
        "parameters": parameters,
        "active": active,
        "reading": Reading(lowercase=s.lowercase, unknown=model.vocabulary.unknown).facts(),
    }
    return model
