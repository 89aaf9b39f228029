"""The data of a classifier: documents, their features, groups of features, and held-out documents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spinney.classify.families import GroupSpec, built_groups
from spinney.classify.group_features import extended
from spinney.corpus.frames import is_frame, series_list
from spinney.corpus.labelled import (
    InputOptions,
    Inputs,
    input_batches,
    numbers,
    read_inputs,
    refuse_strange,
    refuse_unseen,
    renaming,
)
from spinney.corpus.lines import ReadReport
from spinney.corpus.text_features import TextFeatures
from spinney.errors import InputError, SettingError, shown
from spinney.structure import Groups


@dataclass(frozen=True)
class Data:
    """A matrix and its targets, optionally with groups of columns and a development set.

    ``added`` are the groups of words whose columns follow those of the features. Where a search is to choose among
    groups, ``alternatives`` has them by name, and ``groups`` are the first.
    """

    read: Inputs
    features: TextFeatures | None
    X: Any
    y: Any
    groups: Groups | None
    dev_X: Any = None
    dev_y: Any = None
    added: Groups | None = None
    alternatives: Mapping[str, Groups] = field(default_factory=dict)

    def matrix(self, read: Inputs) -> Any:
        """The columns of other documents."""
        X = self.features.sparse(read.inputs) if self.features else read.inputs
        return extended(X, self.features, self.added)

    @property
    def weighting(self) -> str | None:
        """tfidf, counts or binary; None for numbers, which are used as they are."""
        return self.features.weighting if self.features else None


def reading(s: Any, labels: dict[str, str] | None = None) -> InputOptions:
    """How the settings say that documents are read; ``labels`` renames labels where the settings do not."""
    given = getattr(s, "labels", None)
    names = renaming(given) if given is not None or labels is None else labels
    return InputOptions(
        s.format, s.text, getattr(s, "label", "label"), s.header, s.encoding, s.on_error, names
    )


def read_documents(data: Any, how: InputOptions, *, need_labels: bool) -> Inputs:
    """Documents from a file, folder or data frame, or from memory: texts or a matrix, or a pair of these and labels.

    Examples
    --------
    >>> read_documents((["such fun", "dull"], ["+", "-"]), InputOptions(), need_labels=True).labels
    ['+', '-']
    """
    path = named(data)
    if path is not None:
        return read_inputs(path, how, need_labels=need_labels)
    if is_frame(data):
        return read_inputs(data, how, need_labels=need_labels)
    if need_labels and not (isinstance(data, tuple | list) and len(data) == 2):
        what = f"data must be a file, a data frame, or a pair of documents and labels, not {shown(data)}"
        raise InputError(what)
    inputs, labels = map(series_list, data) if need_labels else (data, None)
    if isinstance(inputs, str | bytes) or not hasattr(inputs, "__iter__"):
        raise InputError(f"documents must be texts or a matrix, not {shown(inputs)}")
    is_text = getattr(getattr(inputs, "dtype", None), "kind", "U") in "OSU"
    if is_text:
        inputs = list(inputs)
        for number, text in enumerate(inputs, 1):
            if not isinstance(text, str):
                raise InputError(f"document {number} must be text, not {shown(text)}")
    else:
        from scipy.sparse import csr_array

        inputs = csr_array(inputs, dtype=np.float64)
    n = len(inputs) if is_text else inputs.shape[0]
    if not n:
        raise InputError("no documents")
    known = None if labels is None else np.asarray(labels).tolist()
    if known is not None and len(known) != n:
        raise InputError(f"{n} documents, but {len(known)} labels")
    return Inputs(inputs, known, [str(i + 1) for i in range(n)], is_text)


def training_data(train: Any) -> Any:
    """A path may also be the only one of a list, as configurations have it."""
    return train[0] if isinstance(train, list) and len(train) == 1 else train


def named(data: Any) -> str | None:
    """The path of a file, for messages; data from memory have none."""
    return os.fspath(data) if isinstance(data, str | os.PathLike) else None


def prepared(train: Any, s: Any, *, regression: bool, threads: int) -> Data:
    """Read documents, and make features and groups.

    Only the scores of models depend on the documents that are held out (``s.dev``).
    """
    how, families, adding = reading(s), GroupSpec.of(s), GroupSpec.of(s, "group_features")
    choices = {asked: GroupSpec.made(s, asked, "space") for asked in s.alternatives}
    read = read_documents(training_data(train), how, need_labels=True)
    for asked in (families, adding, *choices.values()):
        if asked is not None:
            asked.check_trees(given=read.trees is not None)
    read, held_out = _held_out(read, getattr(s, "dev", None), how, regression, s.seed)
    made = _features(read, s)
    X = made.fit_sparse(read.inputs) if made else read.inputs

    def built(asked: GroupSpec) -> Groups:
        return built_groups(asked, read, how, made, X.shape[1], threads, s.seed)

    alternatives = {name: built(asked) for name, asked in choices.items()}
    groups = next(iter(alternatives.values()), None) if families is None else built(families)
    added = None if adding is None else built(adding)
    y = _targets(read, regression, named(train))
    data = Data(read, made, extended(X, made, added), y, groups, added=added, alternatives=alternatives)
    if held_out is None:
        return data
    path = named(s.dev)
    if not made and held_out.inputs.shape[1] != X.shape[1]:
        what = f"{held_out.inputs.shape[1]} features, but the training data have {X.shape[1]}"
        raise InputError(what, path=path)
    return replace(data, dev_X=data.matrix(held_out), dev_y=_targets(held_out, regression, path))


def _held_out(
    read: Inputs, dev: Any, how: InputOptions, regression: bool, seed: int
) -> tuple[Inputs, Inputs | None]:
    """The documents to train on, and the held-out ones."""
    if dev is None:
        return read, None
    share = None if isinstance(dev, str) and os.path.exists(dev) else _share(dev)
    if share is None:
        held_out = read_documents(dev, how, need_labels=True)
        if held_out.is_text != read.is_text:
            has, other = ("text", "numbers") if held_out.is_text else ("numbers", "text")
            raise InputError(f"contains {has}, but the training documents are {other}", path=named(dev))
        assert read.labels is not None
        known = held_out if regression else refuse_unseen(held_out, read.labels, named(dev), how.on_error)
        return read, known
    rows = _drawn(read, share, regression, seed)
    if not rows:
        raise SettingError(
            "{dev} {share} selects none of the {n} documents: give a larger fraction", share=dev, n=len(read)
        )
    chosen = set(rows)
    return read.part([i for i in range(len(read)) if i not in chosen]), read.part(rows)


def _share(dev: Any) -> float | None:
    """The fraction of the documents to hold out, if ``dev`` is one."""
    try:
        share = float(dev)
    except (TypeError, ValueError):
        return None
    if not 0 < share < 1:
        raise SettingError("{dev} must be a file, or a fraction between 0 and 1, not {given}", given=dev)
    return share


def _drawn(read: Inputs, share: float, regression: bool, seed: int) -> list[int]:
    """The positions of a fraction of the documents, the same fraction of each class but never all of it."""
    assert read.labels is not None
    rng = np.random.default_rng(seed)
    labels = np.zeros(len(read)) if regression else np.unique(read.labels, return_inverse=True)[1]
    drawn: list[int] = []
    for label in range(int(labels.max()) + 1):
        rows = rng.permutation(np.flatnonzero(labels == label))
        drawn += rows[: min(round(share * len(rows)), len(rows) - 1)].tolist()
    return sorted(drawn)


def _features(read: Inputs, s: Any) -> TextFeatures | None:
    if not read.is_text:
        return None
    return TextFeatures(
        s.features,
        ngrams=s.ngrams,
        min_count=s.min_count,
        lowercase=s.lowercase,
        stop_words=s.stop_words,
        tokens=s.tokens or ("words" if read.trees is None else "spaces"),
    )


def _targets(read: Inputs, regression: bool, path: str | None) -> Any:
    return numbers(read, path, "is this a regression?") if regression else np.array(read.labels)


# ------------------------------------------------------------------------------- documents for a fitted model


def documents_for(model: Any, data: Any, s: Any, *, need_labels: bool) -> Inputs:
    """Documents for a fitted model: text or numbers, as in training. Labels it does not know are errors."""
    read = read_documents(data, reading(s, renamed_labels(model)), need_labels=need_labels)
    path = named(data)
    _check_kind(model, read, path)
    if not need_labels:
        return read
    if model.is_classifier:
        read = replace(read, labels=[str(label) for label in read.labels or ()])
        refuse_strange(read, model.outputs, path)
        return read
    numbers(read, path)
    return read


def document_batches(model: Any, data: Any, s: Any, report: ReadReport) -> Iterator[Inputs]:
    """Documents without labels for a fitted model, some at a time."""
    path, how = named(data), reading(s, renamed_labels(model))
    if is_frame(data):
        batches = input_batches(data, how, report)
    elif path is None:
        batches = iter([read_documents(data, how, need_labels=False)])
    else:
        batches = input_batches(path, how, report)
    for read in batches:
        _check_kind(model, read, path)
        yield read


def _check_kind(model: Any, read: Inputs, path: str | None) -> None:
    if (model.features is not None) != read.is_text:
        needs, has = ("text", "numbers") if model.features else ("svmlight numbers", "text")
        raise InputError(f"contains {has}, but the model was trained on {needs}", path=path)


def renamed_labels(model: Any) -> dict[str, str]:
    """How the labels that a model was trained on were renamed."""
    kept = model.facts.get("labels")
    return {str(old): str(new) for old, new in kept.items()} if isinstance(kept, dict) else {}


def labels_text(names: dict[str, str]) -> str:
    """New names of labels in the form of the setting ``labels``."""
    return ",".join(f"{old}={new}" for old, new in names.items())


def classes_of(labels: Sequence[Any]) -> tuple[list[str], list[int]]:
    """The classes in their order, as text, and how often each occurs."""
    found, counts = np.unique(np.asarray(labels), return_counts=True)
    return [str(label) for label in found], counts.tolist()
