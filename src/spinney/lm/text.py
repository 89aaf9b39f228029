"""Text for language models: sentences without marks in them, in the words of a model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from spinney.corpus.text import Reading, Source, training_arrays
from spinney.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spinney.corpus import ReadReport, TokenArrays, Vocabulary
    from spinney.lm.model import LanguageModel
    from spinney.lm.units import Units

_STEP = 1 << 22  # numbers looked at at a time
_REMEDY = "line breaks already separate sentences: remove it, or skip such sentences with on_error='skip'"


def reading_of(model: LanguageModel, words: str | None = None, parser: str | None = None) -> Reading:
    """How the text of a model was read, with other columns as words or another parser if they are given."""
    return Reading.of(model.facts, words, parser)


def context_words(text: str, reading: Reading) -> tuple[list[str], bool]:
    """The words of a context, and whether it begins a sentence.

    Examples
    --------
    >>> context_words("<s> In the", Reading(lowercase=True))
    (['in', 'the'], True)
    """
    from spinney.corpus.lines import fields
    from spinney.lm.stream import START

    words = fields(text)
    start = words[:1] == [START]
    words = words[1:] if start else words
    if reading.lowercase:
        words = [word if word == reading.unknown else word.lower() for word in words]
    return words, start


def with_marks(vocabulary: Vocabulary) -> Vocabulary:
    """A vocabulary to read text with in which marks of sentences are noticed, and not unknown words."""
    import numpy as np

    from spinney.corpus import Vocabulary
    from spinney.lm.stream import END, START

    marks = [mark for mark in (START, END) if mark not in vocabulary]
    counts = np.append(vocabulary.counts, np.zeros(len(marks), np.int64))
    return Vocabulary((*vocabulary.words, *marks), counts, vocabulary.unknown)


def training_text(
    arrays: TokenArrays,
    source: Source,
    reading: Reading,
    report: ReadReport,
    given: Vocabulary | None = None,
    min_count: int = 1,
    max_size: int | None = None,
    units: Units | None = None,
) -> TokenArrays:
    """What was read, without sentences that hold marks, and then cut to the words or units that are wanted.

    The words are cut only here: before, a rare mark would have become an unknown word, and not be noticed.
    """
    import numpy as np

    from spinney.corpus import Vocabulary

    left = _without_marks(arrays, source, reading, report)
    if units is not None and not units.are_words:
        from spinney.lm.units import unit_arrays

        text = unit_arrays(left, units, min_count=min_count, max_size=max_size)
        report.tokens = text.n_tokens
        report.unknown = int(text.vocabulary.counts[0]) if text.vocabulary.unknown is not None else 0
        return text
    if left is arrays and given is None and min_count == 1 and max_size is None:
        return arrays
    old = left.vocabulary
    counts = sum(
        (np.bincount(part, minlength=len(old)) for part in _parts(left.ids)), np.zeros(len(old), np.int64)
    )
    if given is None:
        seen = {word: n for word, n in zip(old.words, counts.tolist()) if n}
        new = Vocabulary.from_counts(seen, min_count=min_count, max_size=max_size, unknown=old.unknown)
    else:
        new = Vocabulary(given.words, counts[: len(given)], given.unknown)
    # Words that no sentence has any more, and marks, have no number, and no token either.
    number = np.array([new[word] if n else 0 for word, n in zip(old.words, counts.tolist())], np.int32)
    if new.unknown is not None:
        report.unknown = int(counts[number == new[new.unknown]].sum())
    return replace(left, ids=_renumbered(left.ids, number), vocabulary=new)


def _parts(ids: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
    """Some numbers after the other, for those that are on disk."""
    return (ids[start : start + _STEP] for start in range(0, len(ids), _STEP))


def _renumbered(ids: NDArray[np.int32], number: NDArray[np.int32]) -> NDArray[np.int32]:
    """``number[ids]``; on disk if the ``ids`` are there."""
    import numpy as np

    from spinney.lm.diskcolumns import Column, scratch_folder

    if not isinstance(ids, np.memmap):
        return number[ids]
    with scratch_folder(None) as folder:
        column = Column(folder, "ids", np.int32)
        for part in _parts(ids):
            column.append(number[part])
        new: NDArray[np.int32] = column.mapped()
        column.close()
    return new


def held_out_text(
    data: Any,
    how: Any,
    reading: Reading,
    report: ReadReport,
    vocabulary: Vocabulary,
    units: Units | None = None,
) -> TokenArrays:
    """Files of text, or a list of sentences, in the words or units of a model: its ``reading_vocabulary``."""
    if units is not None and not units.are_words:
        from spinney.lm.units import unit_arrays

        arrays = unit_arrays(_own_words(data, how, reading, report), units, vocabulary)
        unknown = vocabulary[str(vocabulary.unknown)]
        report.tokens = arrays.n_tokens
        report.unknown = sum(int((part == unknown).sum()) for part in _parts(arrays.ids))
    else:
        source = Source.of(data, how)
        arrays = _read(data, how, reading, report, with_marks(vocabulary))
        arrays = replace(_without_marks(arrays, source, reading, report), vocabulary=vocabulary)
    warn_of_unknown(Source.of(data, how).name, report, vocabulary)
    return arrays


def _read(
    data: Any, how: Any, reading: Reading, report: ReadReport, vocabulary: Vocabulary | None
) -> TokenArrays:
    source = Source.of(data, how)
    if source.files:
        return source.read(reading, report, vocabulary=vocabulary)
    with training_arrays(data, how, reading, report, vocabulary) as arrays:
        return arrays


def _own_words(data: Any, how: Any, reading: Reading, report: ReadReport) -> TokenArrays:
    """A text in its own words, whatever a model knows."""
    uncut = how.replace(min_count=1, max_words=None) if hasattr(how, "min_count") else how
    arrays = _read(data, uncut, reading, report, None)
    return _without_marks(arrays, Source.of(data, how), reading, report)


class Size(NamedTuple):
    """How long a text is, however it is divided."""

    words: int
    #: With the space or the line break after each word.
    characters: int
    sentences: int


def size_of(text: TokenArrays, units: Units) -> Size | None:
    """The size of a text that was read for a model; None if it has unknown words, whose letters are not known.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> from spinney.lm.units import Units
    >>> size_of(sentence_arrays([["a", "rose"], ["a"]]), Units())
    Size(words=3, characters=9, sentences=2)
    """
    import numpy as np

    from spinney.lm.units import SPACE

    vocabulary = text.vocabulary
    counts = sum(
        (np.bincount(part, minlength=len(vocabulary)) for part in _parts(text.ids)),
        np.zeros(len(vocabulary), np.int64),
    )
    if units.are_words:
        if vocabulary.unknown is not None and counts[vocabulary[vocabulary.unknown]]:
            return None
        letters = sum(len(word) * n for word, n in zip(vocabulary.words, counts.tolist()))
        return Size(text.n_tokens, letters + text.n_tokens, len(text))
    # A word begins with its space: there are as many characters as after each word a space or a line break. An
    # unknown character is one.
    unknown = vocabulary.unknown
    words = letters = 0
    for unit, n in zip(vocabulary.words, counts.tolist()):
        words += n * unit.startswith(SPACE)
        letters += n * (1 if unit == unknown else len(unit))
    return Size(words, letters, len(text))


def warn_of_unknown(name: str, report: ReadReport, vocabulary: Vocabulary) -> None:
    """Warn that the scores of unknown words mean little if the model saw none in training (ARPA files do not say)."""
    from spinney.corpus import text as textfiles

    if vocabulary.counts.any() and vocabulary.unknown is not None and "\0" not in vocabulary.unknown:
        textfiles.warn_of_unknown(name, report, vocabulary)


def reading_vocabulary(vocabulary: Vocabulary) -> Vocabulary:
    """What to read text with for a model of this vocabulary, before there is one."""
    from spinney.lm.cache import CacheModel

    return CacheModel(vocabulary).reading_vocabulary  # a model that needs no training


def _without_marks(arrays: TokenArrays, source: Source, reading: Reading, report: ReadReport) -> TokenArrays:
    """The sentences that hold no mark of a sentence as a word: others are an error, or dropped and counted."""
    import numpy as np

    from spinney.lm.stream import END, START

    marks = [arrays.vocabulary[mark] for mark in (START, END) if mark in arrays.vocabulary]
    found = [
        i * _STEP + np.flatnonzero(np.isin(part, marks)) for i, part in enumerate(_parts(arrays.ids)) if marks
    ]
    places = np.concatenate([np.empty(0, np.int64), *found])
    if not places.size:
        return arrays
    marked = np.unique(np.searchsorted(arrays.offsets, places, side="right") - 1)
    error = _marked(arrays.vocabulary.words[arrays.ids[places[0]]], int(marked[0]), source, reading)
    if source.on_error == "raise":
        raise error
    kept = np.ones(len(arrays), bool)
    kept[marked] = False
    if not kept.any():
        raise InputError(f"all {len(kept)} sentences contain <s> or </s>", path=source.name)
    lengths = np.diff(arrays.offsets)
    report.skipped += len(marked)
    report.errors += [str(error)]
    report.tokens -= int(lengths[marked].sum())
    if arrays.vocabulary.unknown is not None:
        dropped = arrays.ids[np.repeat(~kept, lengths)]
        unknown = arrays.vocabulary[arrays.vocabulary.unknown]
        report.unknown -= int(np.count_nonzero(dropped == unknown))
    return replace(
        arrays,
        ids=arrays.ids[np.repeat(kept, lengths)],
        offsets=np.concatenate(([0], np.cumsum(lengths[kept]))),
    )


def _marked(mark: str, sentence: int, source: Source, reading: Reading) -> InputError:
    """The first place of a mark: a line, if a file can be read again and has one."""
    from spinney.corpus import read_lines
    from spinney.corpus.lines import fields

    for path in source.files:
        if not isinstance(path, str) or not os.path.isfile(path):
            continue
        for number, line in read_lines(path, source.encoding):
            if reading.lowercase:
                line = line.lower()
            if mark in line and mark in fields(line):
                return InputError(f"{mark} is a word in the text", path=path, line=number, remedy=_REMEDY)
    return InputError(f"{mark} is a word in sentence {sentence + 1}", path=source.name, remedy=_REMEDY)
