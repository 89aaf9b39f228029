"""The pages of ``spinney report`` for word classes."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any

from spinney.errors import about
from spinney.corpus.text import Reading, Source, batch_arrays, token_batches

if TYPE_CHECKING:
    from spinney.classes import WordClassModel
    from spinney.corpus.text import Tokens
    from spinney.report.classes_page import Classed
    from spinney.report.page import Page
    from spinney.structure import WordClasses


def report_page(wanted: Any) -> tuple[Page, dict[str, Any]]:
    """The page of a model of word classes: with --data, sentences in their classes."""
    from spinney.model import load_task
    from spinney.report.classes_page import classes_page

    model = load_task(wanted.model, "classes")
    tried = None
    if wanted.data is not None:
        with about(wanted.data):
            tried = _tried(model, wanted)
    title = os.path.basename(wanted.model)
    page = classes_page(model, title, tried, documents=wanted.documents, top=wanted.top)
    return page, {} if tried is None else {"sentences": len(tried.words)}


def structure_report_page(wanted: Any) -> tuple[Page, dict[str, Any]]:
    """The page of a file of word classes: with --data, sentences in their classes."""
    from spinney.report.structure_page import word_classes_page
    from spinney.structure import WordClasses

    classes = WordClasses.load(wanted.model)
    tried = None
    if wanted.data is not None:
        with about(wanted.data):
            tried = _of_words(classes, _sentences(wanted, Reading()))
    title = os.path.basename(wanted.model)
    page = word_classes_page(classes, title, tried, documents=wanted.documents, top=wanted.top)
    return page, {} if tried is None else {"sentences": len(tried.words)}


def _sentences(wanted: Any, reading: Reading) -> list[Tokens]:
    """The first sentences: no more are read than are shown."""
    from spinney.corpus import ReadReport

    source = Source(
        [wanted.data], wanted.format, wanted.encoding, wanted.on_error, wanted.text, wanted.header
    )
    batches = token_batches(source, reading, ReadReport())
    return list(islice((tokens for batch in batches for tokens in batch), wanted.documents))


def _tried(model: WordClassModel, wanted: Any) -> Classed:
    from dataclasses import replace

    from spinney.classes import HiddenMarkov
    from spinney.report.classes_page import Classed

    reading = model.reading(parser=wanted.parser)
    if not isinstance(model, HiddenMarkov):
        some = _sentences(wanted, replace(reading, tree=False, relations=False))
        return _of_words(model.word_classes(), some)
    import numpy as np

    some = _sentences(wanted, reading)
    if not some:
        return Classed([], [], [])
    arrays = batch_arrays(some, model.vocabulary, reading)
    classes = model.predict(arrays)
    chances = np.asarray(model.posteriors(arrays), float)[np.arange(len(classes)), classes]
    ends = arrays.offsets[1:-1]
    return Classed(
        [tokens.words for tokens in some],
        [part.tolist() for part in np.split(classes, ends)],
        [part.tolist() for part in np.split(chances, ends)],
    )


def _of_words(classes: WordClasses, some: list[Tokens]) -> Classed:
    from spinney.report.classes_page import Classed

    words = [tokens.words for tokens in some]
    return Classed(words, [classes.encode(one).tolist() for one in words])
