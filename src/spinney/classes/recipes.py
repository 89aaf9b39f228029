"""From text and settings to word classes, and what else can be made of them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spinney import progress
from spinney.classes.brown import brown
from spinney.classes.clustering import Clustering
from spinney.classes.exchange import exchange
from spinney.classes.hidden import HiddenMarkov
from spinney.classes.mixture import PairClasses, learn_pairs
from spinney.classes.model import WordClassModel
from spinney.classes.pairs import pair_counts
from spinney.classes.placing import place as place_words
from spinney.cluster import spread
from spinney.corpus import ReadReport, TokenArrays, sentence_arrays
from spinney.corpus.frames import is_frame
from spinney.corpus.text import (
    Reading,
    Source,
    numbered,
    training_arrays,
    training_files,
    training_sources,
    warn_of_unknown,
)
from spinney.errors import InputError, about, did_you_mean
from spinney.importing import imported
from spinney.kinds import load, load_task
from spinney.settings import Settings, choose, settings_or
from spinney.settings import classes as class_settings
from spinney.structure import WordClasses
from spinney.structure._json import read_json
from spinney.structure.reading import is_model, word_classes
from spinney.views import Facts, View, Views


@spread
def fit(train: Any, settings: Settings | None = None, **given: Any) -> WordClassModel:
    """Learn word classes from text.

    Parameters
    ----------
    train
        Files or folders of text; a data frame; a list of sentences, each a list of words; or
        :class:`~spinney.corpus.TokenArrays`, which know the heads of their words.
    settings
        Settings of :mod:`spinney.settings.classes`; or give them by name, ``method`` among them.

    Examples
    --------
    >>> text = [[a, b, c] for a in ("the", "a") for b in ("dog", "cat") for c in ("barks", "sleeps")]
    >>> model = fit(text, method="brown", classes=3, root=True)
    >>> sorted(model.word_classes().words_of(model.word_classes()["dog"]))
    ['cat', 'dog']
    """
    s: Any = settings or choose(class_settings.FIT, given)
    origin, report = starting_point(s), ReadReport()
    reading = Reading(
        s.words, s.lowercase, s.unknown or None, s.tree, bool(_of(s, "typed") or _of(s, "relation_groups")),
        _of(s, "subtypes") is not False, s.max_length, s.parser, s.head_rules, s.tokens,
    )  # fmt: skip
    reading.check_parser()
    vocabulary = None
    if isinstance(origin, HiddenMarkov) and s.method == "hmm":
        reading, vocabulary = Reading.of(origin.facts), origin.vocabulary_
    with training_arrays(train, s, reading, report, vocabulary) as arrays:
        model: WordClassModel = imported(s.recipe)(arrays, s, reading, origin)
        model.facts |= {
            "sentences": len(arrays),
            "unknown_share": report.unknown / max(report.tokens, 1),
            "skipped": report.skipped,
            "long": report.long,
            "joined": report.joined,
            "flat": report.flat,
        }
    files = training_files(train)
    if files is not None:
        model.facts["train"] = files
    model.settings = s
    return model


def _of(s: Any, name: str) -> Any:
    """A setting that only some methods have."""
    return getattr(s, name, None)


def starting_point(s: Any) -> Any:
    """The classes or the model to start from, if they are given rather than learned from the text."""
    init = _of(s, "init")
    if _resumed(s):
        found = load(s.checkpoint)
        if not isinstance(found, HiddenMarkov):
            remedy = "give the file that an interrupted fit wrote"
            raise InputError("not a checkpoint of a hidden Markov model", path=s.checkpoint, remedy=remedy)
        return found
    if isinstance(init, WordClassModel | WordClasses):
        return init if isinstance(init, HiddenMarkov | WordClasses) else init.word_classes()
    if init is None or init in _BEGINNINGS:
        return None
    if not os.path.exists(init):
        remedy = did_you_mean(init, _BEGINNINGS) or f"give {', '.join(_BEGINNINGS)} or a file"
        raise InputError("no such file", path=init, remedy=remedy)
    found = load(init) if is_model(init) else None
    return found if isinstance(found, HiddenMarkov) else word_classes(init)


def _resumed(s: Any) -> bool:
    """Whether training goes on from a checkpoint."""
    return bool(_of(s, "resume")) and os.path.exists(s.checkpoint)


_BEGINNINGS = ("brown", "exchange", "random", "uniform", "split")


# ------------------------------------------------------------------------------------------- the methods


def number_of_classes(arrays: TokenArrays) -> int:
    """How many classes a text can support: √tokens / 4, from 4 to 256, and no more than there are words.

    C² transitions are then learned from 16 C² tokens. On held-out text this is near the best number: 55 for 49,274
    tokens of stories (perplexity 99; 32 classes have 104, 64 have 104, 256 have 162), 236 for 887,521 tokens of the
    Penn Treebank (128 classes have 310, 256 have 292, 512 have 326).

    Examples
    --------
    >>> text = [["a", "rose", "is", "a", "rose"]] * 2000
    >>> number_of_classes(sentence_arrays(text)), number_of_classes(sentence_arrays([[str(i)] for i in range(10_000)]))
    (3, 25)
    """
    return min(len(arrays.vocabulary), max(4, min(256, round(math.sqrt(arrays.n_tokens) / 4))))


def fit_brown(arrays: TokenArrays, s: Any, reading: Reading, origin: Any = None) -> Clustering:
    """Brown clustering."""
    pairs = pair_counts(arrays, tree=s.tree, threads=s.threads)
    size = s.classes or number_of_classes(arrays)
    found = brown(pairs, arrays.vocabulary, size, refine=s.refine, root=s.root, threads=s.threads)
    return _noted(found, arrays, reading)


def fit_exchange(arrays: TokenArrays, s: Any, reading: Reading, origin: Any = None) -> Clustering:
    """The exchange algorithm, from Brown clusters, given classes, chance, or the frequencies of words."""
    pairs = pair_counts(arrays, tree=s.tree, threads=s.threads)
    how = {"root": s.root, "threads": s.threads}
    start: Any = origin.word_classes() if isinstance(origin, HiddenMarkov) else origin
    size = s.classes or (number_of_classes(arrays) if start is None else start.n_classes)
    if s.init == "brown":
        start = brown(pairs, arrays.vocabulary, size, **how).classes
    elif start is None:
        start = "random" if s.init == "random" else "frequency"
    found = exchange(
        pairs, arrays.vocabulary, size, variant=s.variant, init=start, random_state=s.seed,
        passes=s.passes, **how,
    )  # fmt: skip
    return _noted(found, arrays, reading)


def _noted(found: Clustering, arrays: TokenArrays, reading: Reading) -> Clustering:
    found = found.noting(reading.facts())
    C, V = found.classes.n_classes, len(found.classes)
    if C == V:
        progress.log.warning(
            "each of the %d words is a class of its own: ask for fewer classes, or give more text", V
        )
    found.facts["parameters"] = C * C + V
    found.facts["tokens_per_second"] = arrays.n_tokens / max(found.facts["seconds"], 1e-9)
    return found


def fit_mixture(arrays: TokenArrays, s: Any, reading: Reading, origin: Any = None) -> PairClasses:
    """Soft classes of pairs of words."""
    pairs = pair_counts(arrays, tree=s.tree, threads=s.threads)
    model = learn_pairs(
        pairs, arrays.vocabulary, s.classes or number_of_classes(arrays), passes=s.passes, tol=s.tol,
        restarts=s.restarts, interpolation=s.interpolation, reading=reading.facts(), threads=s.threads,
        random_state=s.seed,
    )  # fmt: skip
    model.facts["tokens_per_second"] = arrays.n_tokens / max(model.facts["seconds"], 1e-9)
    return model


def fit_hidden(arrays: TokenArrays, s: Any, reading: Reading, origin: Any = None) -> HiddenMarkov:
    """A hidden Markov chain or tree, from Brown clusters unless it is to start elsewhere.

    An interrupt ends it early and keeps what was learned so far, if anything. A checkpoint whose training is complete
    is the model.
    """
    if _resumed(s) and origin._done.finished:
        progress.log.warning(
            "the training of %s is complete, after %d passes: there is nothing to resume "
            "(to train it further, give it as the initial model)",
            s.checkpoint,
            len(origin.facts["trace"]),
        )
        found: HiddenMarkov = origin
        return found
    tree, held_out = s.tree, None
    size = s.classes or (number_of_classes(arrays) if origin is None else origin.n_classes)
    if isinstance(origin, HiddenMarkov):
        tree = s.tree or origin.structure == "tree"
    if s.dev is not None:
        held_out = _held_out(s.dev, s, arrays, reading)
    how = {one: getattr(s, one) for one in _hidden_settings()}
    if origin is None and s.init in ("brown", "exchange"):
        origin = _start(arrays, s, reading, how["start"] or size)
    if s.init == "split" and how["start"] is None:
        how["start"] = max(2, size // 8)
    if origin is None and s.init == "uniform":
        origin = "uniform"
    typed = s.typed if s.relation_groups is None else _relation_groups(s.relation_groups)
    model = HiddenMarkov(
        size, "tree" if tree else "chain", typed=typed, threads=s.threads, random_state=s.seed, **how
    )
    try:
        model.fit(arrays, dev=held_out, init=origin, checkpoint=s.checkpoint, reading=reading.facts())
    except KeyboardInterrupt:
        if "method" not in getattr(model, "facts", {}):
            raise
        model.facts["interrupted"] = True
    for name in ("log_likelihood", "dev_log_likelihood"):
        value = model.facts.get(name)
        model.facts[name.replace("log_likelihood", "perplexity")] = (
            None if value is None else math.exp(-value)
        )
    return model


def _hidden_settings() -> list[str]:
    from spinney.settings import settings_of

    return [setting.name for setting in settings_of(class_settings.HiddenMarkovSettings)]


def _start(arrays: TokenArrays, s: Any, reading: Reading, size: int) -> WordClasses:
    """The clusters that a hidden Markov model starts from."""
    how = {name: getattr(s, name) for name in ("tree", "root", "threads", "seed")}
    if s.init == "brown":
        return fit_brown(arrays, class_settings.Brown(classes=size, refine=s.refine, **how), reading).classes
    clusters = class_settings.Exchange(classes=size, variant=s.variant, **how)
    return fit_exchange(arrays, clusters, reading).classes


def _held_out(dev: Any, s: Any, arrays: TokenArrays, reading: Reading) -> TokenArrays:
    if isinstance(dev, TokenArrays):
        return dev
    if not isinstance(dev, str | os.PathLike) and not is_frame(dev):
        return sentence_arrays(dev, vocabulary=arrays.vocabulary)
    report = ReadReport()
    source = Source(training_sources(dev) or [], s.format, s.encoding, s.on_error, s.text, s.header)
    found = source.read(reading, report, vocabulary=arrays.vocabulary)
    warn_of_unknown(source.name, report, arrays.vocabulary)
    return found


def _relation_groups(given: str | Mapping[str, Any]) -> dict[str, str]:
    """Relation to group, from groups with their relations: a mapping, or a file of JSON."""
    groups: Any = given
    path = None if isinstance(given, Mapping) else str(given)
    if path is not None:
        groups = read_json(path).values
    shape = isinstance(groups, Mapping) and all(isinstance(members, list) for members in groups.values())
    if not shape or not all(isinstance(name, str) for members in groups.values() for name in members):
        raise InputError(
            "there are no groups of relations", path=path, remedy='such as {"subject": ["nsubj", "csubj"]}'
        )
    kinds: dict[str, str] = {}
    for group, members in groups.items():
        for relation in members:
            if relation in kinds:
                what = f"the relation {relation!r} is in two groups, {kinds[relation]!r} and {group!r}"
                raise InputError(what, path=path)
            kinds[relation] = group
    return kinds


# ------------------------------------------------------------------------------------------ other verbs


def neighbours(model: str, word: str, settings: Settings | None = None, **given: Any) -> Views:
    """The words most similar to a word, according to the model in a file."""
    with about(model):
        found: list[View] = load_task(model, "classes").neighbours(word, settings, **given)
    return Views(found)


def export(model: str | WordClassModel, output: str, settings: Settings | None = None, **given: Any) -> Views:
    """Write the classes or vectors of a model in a common format."""
    s = settings_or(class_settings.Export, settings, given)
    fitted: WordClassModel = load_task(model, "classes") if isinstance(model, str) else model
    name = model if isinstance(model, str) else None
    facts: dict[str, Any] = {"output": output}
    if s.to == "word2vec":
        given_by = fitted.structures()
        if "vectors" not in given_by:
            remedy = "export its classes, or fit with the method hmm"
            raise InputError(
                "this model has one class for each word, but no vectors", path=name, remedy=remedy
            )
        vectors = given_by["vectors"]
        vectors.write_word2vec(output)
        facts |= {"words": len(vectors), "dimensions": vectors.dimension}
    else:
        found = fitted.word_classes()
        if s.to == "paths":
            paths = fitted.class_paths()
            if paths is None:
                raise InputError("these classes have no paths", path=name, remedy="export json or classes")
            WordClasses(found.words, found.ids, paths=paths, counts=found.counts).write_paths(output)
        elif s.to == "json":
            found.write_json(output)
        else:
            found.save(output)
        facts |= {"words": len(found), "classes": found.n_classes}
    if output == "-":
        return Views([])
    return Views([Facts("facts", f"Wrote {output}", facts, {"words": "words"})])


@spread
def place(
    classes: str | Clustering | WordClasses, train: Any, settings: Settings | None = None, **given: Any
) -> Clustering | WordClasses:
    """Assign the words of a new text to the classes where they fit best; known words keep their classes."""
    s = settings_or(class_settings.Place, settings, given)
    old = _to_extend(classes)
    if isinstance(old, Clustering):
        reading = replace(Reading.of(old.facts, s.words, s.parser), max_length=None)
    else:
        reading = Reading(s.words or "form", tree=s.tree, parser=s.parser)
    report = ReadReport()
    source = Source(training_sources(train) or [], s.format, s.encoding, s.on_error, s.text, s.header)
    with numbered(source, reading, report, s.cache, min_count=s.min_count) as arrays:
        pairs = pair_counts(arrays, tree=reading.tree, threads=s.threads)
        extended = place_words(old, pairs, arrays.vocabulary, threads=s.threads)
    if not isinstance(old, Clustering):
        progress.log.info("classes were assigned to %d words", len(extended) - len(old))
        return extended
    placed = len(extended) - len(old.classes) + old.facts.get("placed", 0)
    facts = {"words": len(extended), "placed": placed, "skipped": report.skipped}
    return replace(old, classes=extended, facts=old.facts | facts)


def _to_extend(classes: Any) -> Clustering | WordClasses:
    name = classes if isinstance(classes, str) else None
    found = load(classes) if name is not None and is_model(name) else classes
    if isinstance(found, HiddenMarkov):
        remedy = "fit a new model with this one as init"
        raise InputError("new words cannot be placed in a hidden Markov model", path=name, remedy=remedy)
    return found if isinstance(found, Clustering) else word_classes(classes)
