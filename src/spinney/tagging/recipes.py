"""From sentences and settings to a tagger, and to taggers along a path of strengths."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from spinney.cluster import spread
from spinney.corpus import ReadReport
from spinney.corpus.frames import is_frame
from spinney.errors import InputError, OptionError, SettingError, about
from spinney.kinds import load_task
from spinney.optim import warn_if_empty
from spinney.settings import Settings, choose, settings_or
from spinney.settings.tag import FIT, REFINEMENTS, Export, Import, Path
from spinney.tagging.columns import Columns
from spinney.tagging.foreign import read_foreign, write_crfsuite_model
from spinney.tagging.methods import ends_by_itself
from spinney.tagging.paths import TaggerPath
from spinney.tagging.penalty import penalty_spec
from spinney.tagging.presets import PRESETS
from spinney.tagging.problem import patterns_of, structures_of, that_fit
from spinney.tagging.reading import format_of, labelled_data, unlabelled_data
from spinney.tagging.strength import choose_strength
from spinney.tagging.tagger import Tagger
from spinney.views import Facts, Lines, View

#: Default patterns, by the format of the files.
_BY_FORMAT = {
    "conllu": "pos",
    "crfsuite": "U:%value[0,0]\nB",
    "spacy-jsonl": "ner",
    **dict.fromkeys(["nettalk", "nettalk-stress", "cmudict"], "g2p"),
}


@spread
def fit(train: Any, settings: Settings | None = None, **given: Any) -> Any:
    """Train a tagger: a :class:`~spinney.tagging.tagger.Tagger`, or with the method ``morph`` one for morphology.

    With ``refinement`` and ``refinement-em`` it is a :class:`~spinney.tagging.refinement.RefinementTagger`.

    Parameters
    ----------
    train
        Files of labelled sentences; or sentences in memory: a pair (sentences, labels), a data frame with a column of
        lists of ``tokens`` and one of their labels (``label``), or :class:`~spinney.tagging.columns.Columns`. The
        settings ``dev`` and ``unlabelled`` take the same, and ``init`` may be a tagger.
    settings
        Settings of :mod:`spinney.settings.tag`; or give them by name, ``method`` among them.

    Examples
    --------
    >>> sentences = [["the", "dog", "barks"], ["a", "dog", "sleeps"], ["the", "cat", "sleeps"]]
    >>> tagger = fit((sentences, [["D", "N", "V"]] * 3), method="hmm")
    >>> tagger.predict([["a", "cat", "barks"]]), tagger.facts["tokens"]
    ([['D', 'N', 'V']], 9)
    """
    settings = settings or choose(FIT, given)
    s: Any = settings
    if s.method == "morph":
        from spinney.tagging.morphology.recipe import fit_morphology

        return fit_morphology(train, s)
    if s.method in REFINEMENTS:
        return _refined(train, s)
    tagger = _tagger(s, train)
    report = ReadReport()
    columns = labelled_data(train, s, report)
    if s.preset is not None or s.patterns is not None:
        _say_what_is_left_out(tagger.patterns, columns)
    data: dict[str, Any] = {}
    if getattr(s, "dev", None) is not None:
        data["dev"] = labelled_data(s.dev, s, like=columns)
    if getattr(s, "unlabelled", None) is not None:
        data["unlabelled"] = unlabelled_data(s.unlabelled, s, columns)
    if getattr(s, "init", None) is not None:
        data["init"] = Tagger.load(s.init) if isinstance(s.init, str) else s.init
    choice = None
    try:
        with about(_named(train, getattr(s, "unlabelled", None))):
            l2s = getattr(s, "l2s", None) or ()
            if (s.values().get("lam", 0.0) is None or l2s) and ends_by_itself(s):
                choice = choose_strength(tagger, columns, data.get("dev"), s.cv, lam=s.lam, l2s=l2s)
                if choice is not None:
                    tagger.lam = choice.lam
                    tagger.l2 = tagger.l2 if choice.l2 is None else choice.l2
            tagger.fit_columns(columns, **data)
    except KeyboardInterrupt:
        if not hasattr(tagger, "facts_"):
            raise
    tagger.facts_ |= {"skipped": report.skipped} | _trained_on(train)
    if choice is not None:
        tagger.facts_ |= {"chosen": str(choice), "tried": choice.tried}
    warn_if_empty(tagger.facts_["active"], "lower lam")
    tagger.settings = settings
    return tagger


def _refined(train: Any, s: Any) -> Any:
    """A tagger whose labels have hidden states; words are in the first column."""
    from spinney.tagging.refinement import RefinementTagger

    report = ReadReport()
    columns = labelled_data(train, s, report)
    words, labels, bounds = columns.strings(0), columns.strings(-1), list(pairwise(columns.offsets.tolist()))
    with about(_named(train)):
        tagger = RefinementTagger.train([(words[a:b], labels[a:b]) for a, b in bounds], s)
    tagger.facts |= {"skipped": report.skipped} | _trained_on(train)
    return tagger


@spread
def path(train: Any, settings: Settings | None = None, **given: Any) -> TaggerPath:
    """Taggers along a decreasing grid of strengths, each started from the one before.

    Takes what :func:`fit` takes, with the settings of :class:`spinney.settings.tag.Path`.

    Examples
    --------
    >>> sentences, labels = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> found = path((sentences, labels), patterns="U:%x[0,0]\\nB", penalty="l1", lams=[0.1, 5.0])
    >>> [point.lam for point in found.points]
    [5.0, 0.1]
    """
    s: Any = settings_or(Path, settings, given)
    tagger = _tagger(s, train)
    columns = labelled_data(train, s)
    dev = None if s.dev is None else labelled_data(s.dev, s, like=columns)
    points = []
    with about(_named(train)):
        for point in tagger.path(columns, s.lams, dev=dev, n=s.points or 10, ratio=s.ratio):
            point.tagger.facts_ |= _trained_on(train)
            points.append(point)
    return TaggerPath(points, columns, s.penalty)


def import_model(foreign: str, settings: Settings | None = None, **given: Any) -> Tagger:
    """The tagger in a model file of CRFsuite, Wapiti or CRF++: see :func:`spinney.tagging.foreign.read_foreign`."""
    s: Any = settings_or(Import, settings, given)
    return read_foreign(foreign, s.format)


def export(model: str | Tagger, output: str, settings: Settings | None = None, **given: Any) -> list[View]:
    """Write a tagger as a model file of CRFsuite."""
    settings_or(Export, settings, given)
    if output == "-":
        raise InputError(
            "a model of CRFsuite is not text, and is not written to standard output", remedy="name a file"
        )
    with about(model if isinstance(model, str) else "the tagger"):
        tagger = load_task(model, "tag") if isinstance(model, str) else model
        if not isinstance(tagger, Tagger):
            raise OptionError(f"a model of the kind {tagger.kind} cannot be written as one of CRFsuite")
        write_crfsuite_model(tagger, output)
    facts = {"output": output, "labels": len(tagger.labels_), "active": tagger.weights_.n_active}
    told = f"Wrote {output} with {facts['active']:,} weights for {facts['labels']:,} labels"
    return [Facts("facts", "", facts, {}), Lines("", "", [told])]


def _tagger(s: Any, train: Any) -> Tagger:
    """The estimator of these settings; its template and structures are read before any sentence."""
    given = {**s.values(), "random_state": s.seed}
    parameters = {name: value for name, value in given.items() if name in Tagger._get_param_names()}
    if parameters.get("lam", 0.0) is None:
        del parameters["lam"]
    if s.preset is not None:
        parameters["patterns"] = s.preset
    elif s.patterns is None:
        parameters["patterns"] = _looked_at(s, train)
    if "penalty" in parameters and parameters["l2"] is None:
        name = penalty_spec(s.penalty, 1.0, 0.0, 0.0).name
        parameters["l2"] = 0.01 if name == "elasticnet" and isinstance(s.penalty, str) else 0.0
    structures = structures_of(s)
    if s.patterns is not None:
        parameters["patterns"] = patterns_of(s.patterns, structures)
    for role in ("classes", "vectors"):
        if getattr(s, role):
            parameters[role] = {name: structures[name] for name in _names(getattr(s, role))}
    return Tagger(**parameters)


def _say_what_is_left_out(patterns: Any, columns: Columns) -> None:
    """Say it when a built-in set looks at columns that the data do not have."""
    if isinstance(patterns, str) and patterns in PRESETS:
        every, width = patterns_of(patterns, {}), columns.width - 1
        left_out = len(every) - len(that_fit(every, width))
        if left_out:
            warnings.warn(
                f"{left_out} of the {len(every)} patterns of {patterns} are left out: they look at columns that the "
                f"data do not have (there {'are' if width > 1 else 'is'} {width} besides the label)",
                stacklevel=3,
            )


def _names(given: Sequence[Any]) -> list[str]:
    return [name for one in given for name in ([one.split("=", 1)[0]] if isinstance(one, str) else one)]


def _looked_at(s: Any, train: Any) -> str | None:
    """The default patterns of the method or the format or, for sentences in memory, of the estimator."""
    if getattr(s, "method", "crf") == "hmm":
        return "U:%x[0,0]\nB"
    if is_frame(train):
        return None
    format = format_of(train, s) if _trained_on(train) else s.format
    if format == "spacy":
        return "ner" if s.label in (None, "ner") else "pos"
    if format in _BY_FORMAT:
        return _BY_FORMAT[format]
    if not _trained_on(train):
        return None
    raise SettingError("no features were chosen: give {preset} chunk, ner, pos or g2p, or {patterns}")


def _trained_on(train: Any) -> dict[str, Any]:
    """The files of the training data, if it is files."""
    files = [train] if isinstance(train, str) else train
    if isinstance(files, Columns) or is_frame(files) or not all(isinstance(file, str) for file in files):
        return {}
    return {"train": list(files)}


def _named(*data: Any) -> str:
    """The files among some data, for messages."""
    named = [file for one in data if one is not None for file in _trained_on(one).get("train", [])]
    return ", ".join(named) or "the sentences"
