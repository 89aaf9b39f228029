"""Groups that are made inside ``fit``, from the names of the features: by word classes, by a rule, or by a function.

What an estimator keeps as its parameter is the rule, so that it clones and goes through grid searches whatever the
features of a fold are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from spinney.errors import InputError, OptionError, did_you_mean_file
from spinney.optim import Penalty, PenaltySpec
from spinney.optim.base import GroupArrays
from spinney.structure import Groups, WordClasses
from spinney.structure.reading import word_classes

#: What ``groups`` may be: groups, or what makes them from the names of features.
GroupRule = GroupArrays | WordClasses | str | Callable[[list[str]], GroupArrays]

_RULES = ("prefix", "suffix")
_FLAT = ("group", "sparse-group", "group-linf")  # penalties whose groups are disjoint
_REMEDY = (
    "give a DataFrame: in a pipeline, set_output(transform='pandas') makes TextFeatures hand its words on as "
    "the names of columns"
)


def groups_in_fit(given: Any, names: Iterable[str] | None, penalty: Any) -> GroupArrays | None:
    """Groups as they are, or those that a rule makes from the names of the features.

    Word classes give one group per class for the penalties of disjoint groups, and for the others one group per node of
    their tree, if they have paths. ``"prefix:4"`` puts words with the same four first letters together, ``"suffix:3"``
    those with the same ending; ``"prefix:2,4"`` makes groups within groups. Any other text is a file: word classes, or
    groups in JSON. Features that are in no group become groups of one, so that the penalty reaches them, too.

    Examples
    --------
    >>> groups = groups_in_fit("prefix:4", ["walked", "walking", "talk"], "group")
    >>> {name: groups[g].tolist() for g, name in enumerate(groups.names)}
    {'walk…': [0, 1], 'talk': [2]}
    >>> classes = WordClasses(["cat", "dog", "runs"], [0, 0, 1], paths=["0", "1"])
    >>> groups_in_fit(classes, ["runs", "cat", "dog", "2024"], "group").names
    ['0', '1', '2024']
    """
    if given is None or not (isinstance(given, WordClasses | str | os.PathLike) or callable(given)):
        return given  # type: ignore[no-any-return]
    if isinstance(penalty, Penalty):
        return None  # it brings its own
    if names is None:
        raise InputError("groups need the names of the features, but the data have none", remedy=_REMEDY)
    words = [str(name) for name in names]
    if isinstance(given, WordClasses):
        return _of_classes(given, words, _wants_nested(penalty))
    if not isinstance(given, str | os.PathLike):
        made: GroupArrays = given(words)
        if not hasattr(made, "members"):
            raise OptionError(f"the function groups must return Groups, not {type(made).__name__}")
        return made
    rule, colon, lengths = os.fspath(given).partition(":")
    if colon and rule in _RULES:
        return _of_letters(rule, lengths, words, os.fspath(given))
    return _of_file(os.fspath(given), words, penalty)


def _wants_nested(penalty: Any) -> bool:
    return PenaltySpec.of(penalty).name not in _FLAT


def _of_classes(classes: WordClasses, words: list[str], nested: bool) -> Groups:
    known = [word for word in words if word in classes]
    if not known:
        raise OptionError(
            f"none of the {len(words)} features is a word with a class (in a ColumnTransformer, "
            "verbose_feature_names_out=False keeps words as they are)"
        )
    # Without the class for unknown words, in which all other features would be.
    own = WordClasses(known, classes.encode(known), paths=classes.paths, n_classes=classes.n_classes)
    if own.paths is not None and nested:
        groups = Groups.from_prefixes(own, words)
        named = [path or "root" for path in groups.names or ()]
        groups = Groups(
            groups.ptr, groups.members, n_features=len(words), weights=groups.weights, names=named
        )
    else:
        called = own.paths or [f"class {c}" for c in range(own.n_classes)]
        groups = Groups.from_labels(own.encode(words), names=called)
    return _with_the_others(groups, words)


def _of_letters(rule: str, given: str, words: list[str], whole: str) -> Groups:
    lengths = []
    for item in given.split(","):
        if not (item.strip().isdecimal() and item.strip().isascii() and 0 < int(item) < 1000):
            raise OptionError(f"groups must be {rule}:N, where N is a number of letters, not {whole!r}")
        lengths.append(int(item))
    members: dict[str, list[int]] = {}
    for j, word in enumerate(words):
        for length in sorted(set(lengths)):
            if len(word) >= length:
                part = f"{word[:length]}…" if rule == "prefix" else f"…{word[-length:]}"
                members.setdefault(part, []).append(j)
    several = {part: found for part, found in members.items() if len(found) > 1}
    groups = Groups.from_lists(list(several.values()), len(words), names=list(several))
    return _with_the_others(groups.merged() if len(lengths) > 1 else groups, words)


def _of_file(path: str, words: list[str], penalty: Any) -> Groups:
    if not os.path.isfile(path):
        known = " or ".join(f"{rule}:N" for rule in _RULES)
        raise InputError(
            "no such file", path=path, remedy=did_you_mean_file(path) or f"groups may be {known}"
        )
    if path.endswith(".json"):
        return Groups.read_json(path, words)
    return _of_classes(word_classes(path), words, _wants_nested(penalty))


def _with_the_others(groups: Groups, words: Sequence[str]) -> Groups:
    """The groups, and each feature that is in none as a group of its own."""
    alone = groups.uncovered
    if not len(alone):
        return groups
    ones = Groups(
        np.arange(len(alone) + 1), alone, n_features=len(words), names=[words[j] for j in alone.tolist()]
    )
    return Groups.combine(groups, ones) if len(groups) else ones
