"""What ``fit`` and ``path`` learn from: documents, their features, groups over these, and what is held out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spinney.cli.classify_groups import Builder, GroupOptions
from spinney.cli.inputs import InputOptions, Inputs, numbers, read_inputs, refuse_unseen
from spinney.errors import InputError, OptionError

if TYPE_CHECKING:
    from spinney.classify import TextFeatures
    from spinney.structure import Groups


@dataclass(frozen=True)
class Data:
    """A matrix and its targets, perhaps with groups of its columns and with a development set."""

    read: Inputs
    features: TextFeatures | None
    X: Any
    y: Any
    groups: Groups | None
    dev_X: Any = None
    dev_y: Any = None

    @property
    def weighting(self) -> str | None:
        """tfidf, counts or binary; None of numbers that were read as they are."""
        return self.features.weighting if self.features else None


def prepare(
    train: str,
    dev: str | None,
    how: InputOptions,
    features: Mapping[str, Any],
    grouping: GroupOptions | None,
    *,
    regression: bool,
    threads: int,
    seed: int,
) -> Data:
    """Read documents and make features and groups of them; ``dev`` is a file or folder, or a share of the documents.

    Nothing but the score of the models depends on the documents that are held out.
    """
    read = read_inputs(train, how, need_labels=True)
    if grouping is not None:
        grouping.check_trees(given=read.trees is not None)
    read, held_out = _held_out(read, dev, how, regression, seed)
    made = _features(read, features)
    X = made.fit_transform(read.inputs) if made else read.inputs
    groups = None
    if grouping is not None:
        names = made.names if made else [str(j + 1) for j in range(X.shape[1])]
        groups = Builder(grouping, read, how, made, names, threads, seed).groups()
    y = _targets(read, regression, train)
    if held_out is None:
        return Data(read, made, X, y, groups)
    path = str(dev)
    dev_X = made.transform(held_out.inputs) if made else held_out.inputs
    if dev_X.shape[1] != X.shape[1]:
        raise InputError(f"{dev_X.shape[1]} features where the training data have {X.shape[1]}", path=path)
    return Data(read, made, X, y, groups, dev_X, _targets(held_out, regression, path))


def _held_out(
    read: Inputs, dev: str | None, how: InputOptions, regression: bool, seed: int
) -> tuple[Inputs, Inputs | None]:
    """The documents to train on, and those to choose by."""
    if dev is None:
        return read, None
    share = None if os.path.exists(dev) else _share(dev)
    if share is None:
        held_out = read_inputs(dev, how, need_labels=True)
        if held_out.is_text != read.is_text:
            has, other = ("text", "numbers") if held_out.is_text else ("numbers", "text")
            raise InputError(f"holds {has}, but the training documents are {other}", path=dev)
        assert read.labels is not None
        return read, held_out if regression else refuse_unseen(held_out, read.labels, dev, how.on_error)
    rows = _drawn(read, share, regression, seed)
    if not rows:
        raise OptionError(f"--dev {dev}: of {len(read)} documents that is none")
    chosen = set(rows)
    return read.part([i for i in range(len(read)) if i not in chosen]), read.part(rows)


def _share(dev: str) -> float | None:
    try:
        share = float(dev)
    except ValueError:
        return None
    if not 0 < share < 1:
        raise OptionError(f"--dev is a file, or a share between 0 and 1, not {dev}")
    return share


def _drawn(read: Inputs, share: float, regression: bool, seed: int) -> list[int]:
    """The places of a share of the documents: of each class alike, never all of one."""
    import numpy as np

    assert read.labels is not None
    rng = np.random.default_rng(seed)
    labels = np.zeros(len(read)) if regression else np.unique(read.labels, return_inverse=True)[1]
    drawn: list[int] = []
    for label in range(int(labels.max()) + 1):
        rows = rng.permutation(np.flatnonzero(labels == label))
        drawn += rows[: min(round(share * len(rows)), len(rows) - 1)].tolist()
    return sorted(drawn)


def _features(read: Inputs, options: Mapping[str, Any]) -> TextFeatures | None:
    from spinney.classify import TextFeatures

    if not read.is_text:
        return None
    tokens = options["tokens"] or ("words" if read.trees is None else "spaces")
    return TextFeatures(**{**options, "tokens": tokens})


def _targets(read: Inputs, regression: bool, path: str) -> Any:
    import numpy as np

    return numbers(read, path, "drop --regression") if regression else np.array(read.labels)
