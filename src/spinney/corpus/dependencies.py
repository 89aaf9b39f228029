"""Dependency trees for text that has none, by any spaCy pipeline (extra ``parse``) or any other parser."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

from spinney.corpus.batches import Batch, ColumnName
from spinney.corpus.compressed import FilePath
from spinney.corpus.conllu import Sentence
from spinney.corpus.lines import OnError, ReadReport, check_on_error
from spinney.errors import InputError, OptionError

#: The columns that a parsed sentence has, by their names in CoNLL-U.
PARSED_COLUMNS: Final = ("form", "lemma", "upos", "xpos", "deprel")

#: Gives sentences their trees: it takes some sentences and returns as many; the report records what went wrong.
DependencyParser = Callable[[Iterator[Sequence[str]], ReadReport], Iterator[Sentence]]

_INSTALL = "pip install 'spinney[parse]'"
# Components that trees do not need. Sentences are given, so nothing may split the text.
_NOT_NEEDED = ["entity_linker", "entity_ruler", "ner", "senter", "sentencizer", "spancat", "textcat"]
_DEPENDENCY: Final = "dep"  # the unspecific relation in Universal Dependencies and elsewhere


def load_pipeline(name: str) -> Any:
    """A spaCy pipeline, checked to have a parser, without what trees do not need.

    Parameters
    ----------
    name
        The name of an installed pipeline, or the path of its folder.
    """
    try:
        import spacy
    except ImportError:
        raise OptionError(f"a parser needs the package spaCy: {_INSTALL}") from None
    try:
        pipeline = spacy.load(name, exclude=_NOT_NEEDED)
    except (OSError, ValueError, ImportError) as error:
        if "[E050]" in str(error):  # neither a package nor a folder
            what = f"no spaCy pipeline is called {name!r}: python -m spacy download {name}"
        else:
            what = f"the spaCy pipeline {name!r} does not load: {' '.join(str(error).split())}"
        raise OptionError(what) from None
    if not any("token.dep" in pipeline.get_pipe_meta(pipe).assigns for pipe in pipeline.pipe_names):
        has = ", ".join(pipeline.pipe_names) or "nothing"
        example = "python -m spacy download en_core_web_sm"
        raise OptionError(
            f"the spaCy pipeline {name!r} has no parser, only {has}: use another, as in {example}"
        )
    return pipeline


def parse_dependencies(
    sentences: Iterable[Sequence[str]],
    parser: Any,
    *,
    batch: int = 256,
    report: ReadReport | None = None,
) -> Iterator[Sentence]:
    """Parse tokenized sentences: one tree for each, over its tokens as they are.

    Where a pipeline of spaCy sees several sentences in a given one, it is made to find one tree all the same. Columns
    that it does not fill (lemmas, if it has no lemmatizer) are empty. The relation of a root is called ``root``,
    as in Universal Dependencies; all others are those of the pipeline (the English pipelines of spaCy have
    `labels of their own <https://github.com/clir/clearnlp-guidelines>`_).

    Parameters
    ----------
    sentences
        Sentences as tokens; a token is any string but the empty one.
    parser
        The name of a spaCy pipeline, such as ``"en_core_web_sm"``, what :func:`load_pipeline` gave, or a function
        (:data:`DependencyParser`), such as :func:`spinney.parsing.dependency_parser` makes from a Spinney parser.
    batch
        Sentences handed to spaCy at a time.
    report
        Counts, as ``joined``, the sentences in which the parser left several roots, the later of which now hang on the
        first.

    Examples
    --------
    >>> from spinney.corpus import write_conllu
    >>> trees = parse_dependencies([["Dogs", "bark", "."]], "en_core_web_sm")  # doctest: +SKIP
    >>> write_conllu("-", trees)  # doctest: +SKIP
    1	Dogs	dog	NOUN	NNS	_	2	nsubj	_	_
    2	bark	bark	VERB	VBP	_	0	root	_	_
    3	.	.	PUNCT	.	_	2	punct	_	_
    """
    if batch < 1:
        raise OptionError(f"batch must be at least 1, not {batch}")
    report = ReadReport() if report is None else report
    if isinstance(parser, str):
        parser = load_pipeline(parser)
    if hasattr(parser, "pipe"):  # spaCy's
        return _parsed(iter(sentences), parser, batch, report)
    trees: Iterator[Sentence] = parser(iter(sentences), report)
    return trees


def parsed_batches(
    sentences: Iterable[Sentence],
    numberings: Mapping[ColumnName, Mapping[str, int]],
    *,
    path: FilePath,
    on_error: OnError = "raise",
    report: ReadReport,
    size: int = 1000,
) -> Iterator[Batch]:
    """The columns of ``numberings`` (names of :data:`PARSED_COLUMNS`) as numbers, with the heads.

    A sentence with a value that a fixed vocabulary lacks is an error, or dropped with ``on_error="skip"``; the
    ``report`` has counted it as read.

    Examples
    --------
    >>> from spinney.corpus.vocabulary import Numbering
    >>> dogs = Sentence(["Dogs", "bark"], heads=[2, 0], deprels=["nsubj", "root"])
    >>> [batch] = parsed_batches([dogs], {"form": Numbering()}, path="a.txt", report=ReadReport())
    >>> batch.columns, batch.heads
    ({'form': array([0, 1], dtype=int32)}, array([ 1, -1], dtype=int32))
    """
    check_on_error(on_error)
    sentences = iter(sentences)
    while some := list(islice(sentences, size)):
        lengths: list[int] = []
        heads: list[int] = []
        columns: dict[ColumnName, list[int]] = {name: [] for name in numberings}
        for sentence in some:
            try:
                numbers = _numbers(sentence, numberings)
            except InputError as error:
                if on_error == "raise":
                    raise InputError(error.what, path=os.fspath(path), remedy=error.remedy) from None
                report.read -= 1
                report.skip(error)
                continue
            lengths.append(len(sentence))
            heads += [head - 1 for head in sentence.heads]
            for name in numberings:
                columns[name] += numbers[name]
        arrays = {name: np.array(column, np.int32) for name, column in columns.items()}
        yield Batch(np.array(lengths, np.int64), arrays, np.array(heads, np.int32))


def _numbers(
    sentence: Sentence, numberings: Mapping[ColumnName, Mapping[str, int]]
) -> dict[ColumnName, list[int]]:
    columns = (sentence.forms, sentence.lemmas, sentence.upos, sentence.xpos, sentence.deprels)
    values = dict(zip(PARSED_COLUMNS, columns))
    numbers = {}
    for name, number in numberings.items():
        column = values[str(name)] or ["_"] * len(sentence)
        try:
            numbers[name] = [number[value] for value in column]
        except InputError as error:
            remedy = "parse with the pipeline of the training text" if name == "deprel" else None
            raise InputError(f"{error.what} ({name})", remedy=remedy) from None
    return numbers


def _parsed(
    sentences: Iterator[Sequence[str]], pipeline: Any, batch: int, report: ReadReport
) -> Iterator[Sentence]:
    while some := list(islice(sentences, batch)):
        # Make spaCy forget the new words of each batch, so that memory does not grow with the text.
        with pipeline.memory_zone():
            documents = [_document(words, pipeline.vocab) for words in some]
            trees = [_tree(document, report) for document in pipeline.pipe(documents, batch_size=batch)]
        yield from trees


def _document(words: Sequence[str], vocabulary: Any) -> Any:
    """A document of one sentence, which spaCy's parser does not split."""
    from spacy.tokens import Doc

    if "" in words:
        raise InputError(f"an empty token in the sentence {' '.join(words)!r}", remedy="leave it out")
    return Doc(vocabulary, words=list(words), sent_starts=[i == 0 for i in range(len(words))])


def _tree(document: Any, report: ReadReport) -> Sentence:
    heads = [0 if token.head.i == token.i else token.head.i + 1 for token in document]
    relations = [token.dep_ or _DEPENDENCY for token in document]
    roots = [i for i, head in enumerate(heads) if head == 0]
    for i in roots[:1]:
        relations[i] = "root"
    for i in roots[1:]:
        heads[i], relations[i] = roots[0] + 1, _DEPENDENCY
    report.joined += len(roots) > 1
    return Sentence(
        [token.text for token in document],
        _column(token.lemma_ for token in document),
        _column(token.pos_ for token in document),
        _column(token.tag_ for token in document),
        heads=heads,
        deprels=relations,
    )


def _column(values: Iterable[str]) -> list[str]:
    """Values with ``_`` for those that are not there; nothing if none is."""
    column = [value or "_" for value in values]
    return [] if all(value == "_" for value in column) else column
