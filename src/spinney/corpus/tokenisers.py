"""Tokenisers of running text by name: our own, or that of a spaCy pipeline (extra ``spacy``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from spinney.corpus.raw import tokenized_sentences
from spinney.errors import OptionError, SettingError

#: Splits a text into sentences, and these into tokens.
Tokeniser = Callable[[str], Iterator[list[str]]]

_PREFIX = "spacy:"
_INSTALL = "pip install 'spinney[spacy]'"
# What sentences and tokens do not need. A parser is kept: in most pipelines it is what finds the sentences.
_NOT_NEEDED = [
    "attribute_ruler", "entity_linker", "entity_ruler", "lemmatizer", "morphologizer", "ner", "spancat", "tagger",
    "textcat", "textcat_multilabel",
]  # fmt: skip
_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n")
_LARGEST = 1 << 40  # letters: spaCy's own limit is for what its neural networks need


def tokeniser(name: str | None) -> Tokeniser:
    """The tokeniser of that name: ours for None, or that of a spaCy pipeline, written ``spacy:NAME``.

    The name is a language code, such as ``spacy:en`` (the rules of that language), or that of an installed package,
    such as ``spacy:en_core_web_sm``, or of its folder.

    Examples
    --------
    >>> list(tokeniser(None)("It works. Does it?"))
    [['It', 'works', '.'], ['Does', 'it', '?']]
    >>> tokeniser("moses")
    Traceback (most recent call last):
    ...
    spinney.errors.SettingError: tokens must be spacy:NAME, such as spacy:en, not 'moses'
    """
    return tokenized_sentences if name is None else _of_spacy(_checked(name))


def _checked(name: str) -> str:
    if not is_spacy(name):
        raise SettingError("{tokens} must be spacy:NAME, such as spacy:en, not {name}", name=repr(name))
    return name.removeprefix(_PREFIX)


def _of_spacy(name: str) -> Tokeniser:
    pipeline = _pipeline(name)

    def sentences(text: str) -> Iterator[list[str]]:
        for paragraph in _PARAGRAPHS.split(text):
            if not paragraph.strip():
                continue
            # Make spaCy forget the new words, so that memory does not grow with the text.
            with pipeline.memory_zone():
                document = pipeline(" ".join(paragraph.split()))
                found = [[token.text for token in one if not token.is_space] for one in document.sents]
            yield from filter(None, found)

    return sentences


def is_spacy(name: Any) -> bool:
    """Whether a name is that of a spaCy pipeline.

    Examples
    --------
    >>> is_spacy("spacy:en"), is_spacy("words")
    (True, False)
    """
    return isinstance(name, str) and name.startswith(_PREFIX) and name != _PREFIX


def spacy_tokens(name: str, lowercase: bool, text: str) -> list[str]:
    """The tokens of a text, whatever its sentences, by the pipeline ``spacy:NAME``; they are folded after splitting.

    Examples
    --------
    >>> spacy_tokens("spacy:en", True, "It isn't.")  # doctest: +SKIP
    ['it', 'is', "n't", '.']
    """
    pipeline = _pipeline(_checked(name))
    with pipeline.memory_zone():
        words = [token.text for token in pipeline.make_doc(text) if not token.is_space]
    return [word.lower() for word in words] if lowercase else words


@cache
def _pipeline(name: str) -> Any:
    """The pipeline, with something in it that finds sentences."""
    try:
        import spacy
    except ImportError:
        raise OptionError(f"the tokeniser spacy:{name} needs the package spaCy: {_INSTALL}") from None
    try:
        pipeline = spacy.load(name, exclude=_NOT_NEEDED)
    except (OSError, ValueError, ImportError) as error:
        if not str(error).startswith(("[E050]", "[E941]")):  # it is there, but does not load
            why = " ".join(str(error).split())
            raise OptionError(f"the spaCy pipeline {name!r} does not load: {why}") from None
        pipeline = _blank(name)
    pipeline.max_length = _LARGEST
    splits = ("doc.sents", "token.is_sent_start", "token.sent_start")
    if not any(set(splits) & set(pipeline.get_pipe_meta(pipe).assigns) for pipe in pipeline.pipe_names):
        pipeline.add_pipe("sentencizer")
    return pipeline


def _blank(language: str) -> Any:
    import spacy

    try:
        return spacy.blank(language)
    except ImportError as error:
        why = " ".join(str(error).split())
        if "[E048]" not in why:  # the language is known, but needs another package
            raise OptionError(f"the spaCy language {language!r} does not load: {why}") from None
        what = f"no spaCy pipeline or language is called {language!r}: python -m spacy download {language}"
        raise OptionError(what) from None
