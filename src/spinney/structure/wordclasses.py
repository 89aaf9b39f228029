"""Word classes: a word's cluster, and its path where the clusters form a tree."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus.lines import read_lines
from spinney.corpus.opening import writing
from spinney.errors import InputError, OptionError
from spinney.files import FilePath, ModelFile, Parts
from spinney.settings import Settings, settings_or
from spinney.settings.report import Report
from spinney.structure._json import read_json, write_json
from spinney.structure._stored import OfWords, Words, frozen
from spinney.views import Views

Default = TypeVar("Default")
_MOST_EMPTY = 1 << 16  # classes may be without words, but not without end


class WordClasses(OfWords):
    """The class of each word; immutable.

    Parameters
    ----------
    words
        Distinct words.
    ids
        The class of each word, from 0.
    paths
        For each class its path in a binary tree, as a string of 0 and 1; None for flat classes.
    counts
        How often each word was seen.
    unknown
        The class of every other word; None if they have none.
    n_classes
        How many classes there are, if the last ones have no words.
    lowercase
        Whether a word that has no class is looked up in lower case: for classes of lower-cased text.

    Examples
    --------
    >>> classes = WordClasses(["the", "a", "dog"], [0, 0, 1], paths=["00", "011"])
    >>> classes["dog"], classes.encode(["a", "cat"]).tolist(), classes.words_of(0)
    (1, [0, -1], ['the', 'a'])
    >>> classes.prefix("dog", 2), classes.prefix_classes(1).n_classes
    ('01', 1)
    """

    role = "classes"

    def __init__(
        self,
        words: Sequence[str],
        ids: ArrayLike,
        *,
        paths: Sequence[str] | None = None,
        counts: ArrayLike | None = None,
        unknown: int | None = None,
        n_classes: int | None = None,
        lowercase: bool = False,
    ) -> None:
        self._words = Words(words, lowercase=lowercase)
        self.ids: NDArray[np.int32] = frozen(ids, np.int32, "classes of words")
        self.paths = None if paths is None else list(paths)
        self.counts: NDArray[np.int64] | None = (
            None if counts is None else frozen(counts, np.int64, "counts of words")
        )
        self.unknown = unknown
        used = max(int(self.ids.max(initial=-1)), -1 if unknown is None else unknown) + 1
        self.n_classes = n_classes if n_classes is not None else used if paths is None else len(paths)
        self._check(used)

    def _check(self, used: int) -> None:
        if len(self.ids) != len(self.words):
            raise OptionError(f"{len(self.words)} words but {len(self.ids)} classes of words")
        if min(int(self.ids.min(initial=0)), self.unknown or 0) < 0:
            raise OptionError("the numbers of classes must be at least 0")
        if self.n_classes > max(_MOST_EMPTY, len(self.words)):
            raise OptionError(
                f"{self.n_classes} classes for {len(self.words)} words: number the classes from 0"
            )
        if used > self.n_classes:
            raise OptionError(f"class {used - 1}, but there are only {self.n_classes} classes")
        if self.counts is not None:
            if len(self.counts) != len(self.words):
                raise OptionError(f"{len(self.words)} words but {len(self.counts)} counts")
            if self.counts.min(initial=0) < 0:
                raise OptionError("a count is negative")
        if self.paths is not None:
            if len(self.paths) != self.n_classes:
                raise OptionError(f"{self.n_classes} classes but {len(self.paths)} paths")
            for path in self.paths:
                if path.strip("01"):
                    raise OptionError(f"the path {path!r} has characters other than 0 and 1")
            if len(set(self.paths)) < len(self.paths):
                raise OptionError("two classes have the same path")

    def __repr__(self) -> str:
        return f"WordClasses({len(self)} words, {self.n_classes} classes)"

    def __getitem__(self, word: str) -> int:
        """The class of ``word``; KeyError if it has none."""
        index = self._words.find(word)
        if index is not None:
            return int(self.ids[index])
        if self.unknown is None:
            raise KeyError(word)
        return self.unknown

    def get(self, word: str, default: Default | None = None) -> int | Default | None:
        """The class of ``word``, or ``default`` if it has none."""
        try:
            return self[word]
        except KeyError:
            return default

    def encode(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """The class of each token; that of unknown words, or -1, where the token is not known."""
        places = self._words.encode(tokens)
        if not len(self):
            return np.full(len(places), -1 if self.unknown is None else self.unknown, dtype=np.int32)
        ids = self.ids[places]
        ids[places < 0] = -1 if self.unknown is None else self.unknown
        return ids

    def words_of(self, class_id: int) -> list[str]:
        """The words of one class, in the order of ``words``."""
        if not 0 <= class_id < self.n_classes:
            raise OptionError(f"no class {class_id}: there are {self.n_classes}")
        return [self.words[i] for i in self._members(class_id)]

    def _members(self, class_id: int) -> list[int]:
        order, ids = self._by_class
        start, stop = np.searchsorted(ids, [class_id, class_id + 1])
        return [int(i) for i in order[start:stop]]

    @cached_property
    def _by_class(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        order = np.argsort(self.ids, kind="stable")
        return order, self.ids[order]

    def prefix(self, word: str, length: int) -> str:
        """The first ``length`` bits of the word's path: its class in a coarser clustering."""
        return self._required_paths()[self[word]][:length]

    def prefix_classes(self, length: int) -> WordClasses:
        """The coarser classes of all words whose paths agree in their first ``length`` bits."""
        if length < 0:
            raise OptionError(f"the length of a prefix must be at least 0, not {length}")
        prefixes = [path[:length] for path in self._required_paths()]
        coarse = sorted(set(prefixes))
        number = {prefix: i for i, prefix in enumerate(coarse)}
        coarser = np.array([number[prefix] for prefix in prefixes], dtype=np.int32)
        unknown = None if self.unknown is None else int(coarser[self.unknown])
        return WordClasses(
            self.words,
            coarser[self.ids],
            paths=coarse,
            counts=self.counts,
            unknown=unknown,
            lowercase=self.lowercase,
        )

    def _required_paths(self) -> list[str]:
        if self.paths is None:
            raise OptionError("these classes are flat: they have no paths")
        return self.paths

    # -- files ----------------------------------------------------------------------------------------

    def plot_map(self, words: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw words such that those of similar classes are close together, with Matplotlib (extra ``plots``).

        Parameters
        ----------
        words : sequence of str, optional
            The words to draw; by default the hundred most frequent ones.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from spinney.structure.classviews import path_vectors
        from spinney.structure.maps import PLOTTED, by_count, plot_words

        if words is None:
            words = [self.words[i] for i in by_count(self.words, self.counts, PLOTTED, None)]
        return plot_words(path_vectors(self), words, class_of=self.__getitem__, metric="hellinger", ax=ax)

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """What its page shows: classes, a map of words, their tree; with data, sentences labelled with classes."""
        from spinney.structure.pages import classes_page

        return Views(classes_page(self, data, settings_or(Report, settings, given)))

    @property
    def facts(self) -> dict[str, Any]:  # type: ignore[override]
        """How many words and classes there are."""
        return {"words": len(self), "classes": self.n_classes, "with_tree": self.paths is not None}

    def parts(self) -> Parts:
        tensors = {"ids": self.ids} | ({} if self.counts is None else {"counts": self.counts})
        strings = {"words": self.words} | ({} if self.paths is None else {"paths": self.paths})
        header = {"unknown": self.unknown, "n_classes": self.n_classes, "lowercase": self.lowercase}
        return Parts(header, tensors, strings)

    @classmethod
    def _rebuilt(cls, model: ModelFile) -> Self:
        return cls(
            model.texts("words"),
            model.tensor("ids", np.int32),
            paths=model.texts("paths") if "paths" in model.strings else None,
            counts=model.tensor("counts", np.int64) if "counts" in model.tensors else None,
            unknown=None if model.header.get("unknown") is None else model.fact("unknown", int),
            n_classes=model.fact("n_classes", int),
            lowercase=model.header.get("lowercase") is True,
        )

    @classmethod
    def read_paths(cls, path: FilePath) -> Self:
        """Read a Brown ``paths`` file: on each line a path, a word and its count, separated by tabs.

        Classes are numbered in the order of their paths, so that neighbours in the tree have close numbers.
        The counts may be missing, but then on all lines.
        """
        first_line: dict[str, int] = {}
        bits: list[str] = []
        counts: list[int] = []
        for line, path_of_class, word, count in _brown_lines(path):
            if word in first_line:
                raise _refused(path, line, f"the word {word!r} again", f"first on line {first_line[word]}")
            if bits and bool(counts) != (count is not None):
                raise _refused(path, line, "a count on some lines but not on others")
            first_line[word] = line
            bits.append(path_of_class)
            if count is not None:
                counts.append(count)
        if not bits:
            raise InputError("no word classes", path=os.fspath(path))
        distinct = sorted(set(bits))
        number = {path_of_class: i for i, path_of_class in enumerate(distinct)}
        ids = np.fromiter((number[path_of_class] for path_of_class in bits), np.int32, len(bits))
        return cls(list(first_line), ids, paths=distinct, counts=counts or None)

    def write_paths(self, path: FilePath) -> None:
        """Write a Brown ``paths`` file, class by class; counts that are not known are written as 0."""
        paths = self._required_paths()
        for word in self.words:
            if any(mark in word for mark in "\t\n\r\0"):
                raise OptionError(
                    f"the word {word!r} cannot be written to a table with tabs: write JSON instead"
                )
        counts = [0] * len(self) if self.counts is None else self.counts.tolist()
        with writing(path) as file:
            for class_id in sorted(range(self.n_classes), key=paths.__getitem__):
                for i in self._members(class_id):
                    file.write(f"{paths[class_id]}\t{self.words[i]}\t{counts[i]}\n")

    @classmethod
    def read_json(cls, path: FilePath) -> Self:
        """Read what `write_json` writes: one object per class, with its words and, perhaps, path and counts."""
        top = read_json(path)
        words: list[str] = []
        ids: list[int] = []
        paths: list[str] = []
        counts: list[int] = []
        classes = top.objects("classes", "class")
        for i, one in enumerate(classes):
            members = one.strings("words")
            words += members
            ids += [i] * len(members)
            paths += [] if (bits := one.optional("path", str)) is None else [bits]
            counts += [] if one.optional("counts", list) is None else one.integers("counts")
        if paths and len(paths) < len(classes):
            top.refuse('a "path" for some classes but not for others')
        try:
            return cls(
                words,
                ids,
                paths=paths or None,
                counts=counts or None,
                unknown=top.optional("unknown", int),
                n_classes=len(classes),
                lowercase=bool(top.optional("lowercase", bool)),
            )
        except OptionError as error:
            top.refuse(str(error))

    def write_json(self, path: FilePath) -> None:
        """Write a JSON file that people can read and edit."""

        def one(class_id: int) -> dict[str, Any]:
            value: dict[str, Any] = {} if self.paths is None else {"path": self.paths[class_id]}
            value["words"] = self.words_of(class_id)
            if self.counts is not None:
                value["counts"] = self.counts[self._members(class_id)].tolist()
            return value

        header = {"unknown": self.unknown, "lowercase": self.lowercase}
        write_json(path, header, "classes", map(one, range(self.n_classes)))


def _brown_lines(path: FilePath) -> Iterator[tuple[int, str, str, int | None]]:
    """Line number, path, word and count (None without) of each line."""
    for line, text in read_lines(path):
        if not text.strip():
            continue
        fields = text.split("\t")
        if len(fields) not in (2, 3):
            raise _refused(
                path,
                line,
                f"{len(fields)} tab-separated fields",
                "each line needs a path, a word and a count",
            )
        if fields[0].strip("01"):
            raise _refused(path, line, f"{fields[0]!r} is not a path of 0 and 1")
        if len(fields) == 2:
            yield line, fields[0], fields[1], None
            continue
        if not (fields[2].isascii() and fields[2].isdigit() and len(fields[2]) < 19):
            raise _refused(path, line, f"{fields[2]!r} is not a count")
        yield line, fields[0], fields[1], int(fields[2])


def _refused(path: FilePath, line: int, what: str, remedy: str | None = None) -> InputError:
    return InputError(what, path=os.fspath(path), line=line, remedy=remedy)
