"""spaCy's binary corpora, ``.spacy`` files (DocBin): sentences, labels of tokens, documents with categories.

The file is zlib around msgpack. What is in it is read as numbers and strings and checked here; no document of spaCy is
built from it, for spaCy trusts the numbers. The strings of spaCy's symbols, such as ``NOUN``, need spaCy (extra
``spacy``).
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.compressed import FilePath, open_bytes
from spinney.corpus.conllu import Sentence
from spinney.corpus.documents import Document
from spinney.corpus.heads import tree_problem
from spinney.corpus.limits import EXPANSION, FREE, max_expansion, size
from spinney.corpus.lines import OnError, ReadReport, check_on_error
from spinney.errors import InputError, OptionError, unknown_choice

#: What the label of a token can be.
LABELS = ("ner", "tag", "pos")
_INSTALL = "pip install 'spinney[spacy]'"
# The parts of the file: their names and types; user data and groups of spans are not read.
_PARTS = {"attrs": list, "tokens": bytes, "spaces": bytes, "lengths": bytes, "strings": list, "cats": list}
_NOT_SPACY = "write it with DocBin(...).to_disk(...) of spaCy 3"


@dataclass
class SpacyDocument:
    """A document of a ``.spacy`` file: its tokens, the space after each, and what is known of them.

    ``columns`` are lists of strings (``tag``, ``pos``, ``lemma``, ``dep``, ``ner`` in IOB2), ``heads`` are places of
    tokens, and ``starts`` says which tokens begin a sentence; what the file does not have is empty.
    """

    number: int
    words: list[str]
    spaces: list[bool]
    columns: dict[str, list[str]] = field(default_factory=dict)
    heads: list[int] = field(default_factory=list)
    starts: list[bool] = field(default_factory=list)
    categories: dict[str, float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text, with its white space."""
        return "".join(word + " " * space for word, space in zip(self.words, self.spaces)).rstrip(" ")

    def sentences(self) -> Iterator[list[int]]:
        """The places of the tokens of each sentence, without white space; the whole document if none is marked."""
        places: list[int] = []
        for i, word in enumerate(self.words):
            if places and self.starts and self.starts[i]:
                yield places
                places = []
            if word.strip():
                places.append(i)
        if places:
            yield places

    def label(self) -> str | None:
        """The one category that the document has; None if it has none."""
        found = [name for name, value in self.categories.items() if value >= 0.5]
        if len(found) > 1:
            what = (
                f"{len(found)} categories ({', '.join(found[:3])} …)" if len(found) > 3 else ", ".join(found)
            )
            raise InputError(f"more than one category: {what}", remedy="give each document one category")
        return found[0] if found else None


def spacy_documents(
    path: FilePath, *, encoding: str = "utf-8", on_error: OnError = "raise", report: ReadReport | None = None
) -> Iterator[Document]:
    """The documents of a ``.spacy`` file; the label is the one category (``doc.cats``) whose value is at least 0.5."""
    report = ReadReport() if report is None else report
    for document in read_docbin(path, on_error=on_error, report=report):
        try:
            label = document.label()
        except InputError as error:
            _skip(error, path, document.number, on_error, report)
            continue
        report.read += 1
        text = document.text
        report.empty += not text.strip()
        yield Document(text, label, str(document.number))


def spacy_sentences(
    path: FilePath, *, encoding: str = "utf-8", on_error: OnError = "raise", report: ReadReport | None = None
) -> Iterator[list[str]]:
    """The sentences of a ``.spacy`` file, as tokens; a document without marks of sentences is one."""
    report = ReadReport() if report is None else report
    for document in read_docbin(path, on_error=on_error, report=report):
        for places in document.sentences():
            report.read += 1
            yield [document.words[i] for i in places]


def spacy_tagged(
    path: FilePath,
    *,
    label: str = "ner",
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[list[tuple[str, ...]]]:
    """The sentences of a ``.spacy`` file as tokens with a label: ``ner`` (entities in IOB2), ``tag``, ``pos``.

    A document that has no such labels is an error.
    """
    if label not in LABELS:
        raise unknown_choice("label must be", label, LABELS)
    report = ReadReport() if report is None else report
    for document in read_docbin(path, on_error=on_error, report=report):
        column = document.columns.get(label)
        if column is None:
            has = [name for name in LABELS if name in document.columns]
            remedy = f"it has {', '.join(has)}: choose the label" if has else "annotate it first"
            error = InputError(f"no {label} of tokens", remedy=remedy)
            _skip(error, path, document.number, on_error, report)
            continue
        for places in document.sentences():
            report.read += 1
            yield [(document.words[i], column[i]) for i in places]


def spacy_trees(
    path: FilePath, *, encoding: str = "utf-8", on_error: OnError = "raise", report: ReadReport | None = None
) -> Iterator[Sentence]:
    """The sentences of a ``.spacy`` file with lemmas, tags, heads and relations, as far as it has them."""
    report = ReadReport() if report is None else report
    for document in read_docbin(path, on_error=on_error, report=report):
        for places in document.sentences():
            try:
                sentence = _annotated(document, places)
            except InputError as error:
                _skip(error, path, document.number, on_error, report)
                continue
            report.read += 1
            yield sentence


def _annotated(document: SpacyDocument, places: Sequence[int]) -> Sentence:
    def column(name: str) -> list[str]:
        values = document.columns.get(name)
        return [] if values is None else [values[i] or "_" for i in places]

    heads: list[int] = []
    relations = column("dep")
    if document.heads:
        number = {i: k for k, i in enumerate(places, 1)}
        for i in places:
            head = document.heads[i]
            if head != i and head not in number:
                raise InputError("a head outside of the sentence", remedy="give trees within sentences")
            heads.append(0 if head == i else number[head])
        relations = ["root" if head == 0 else one for head, one in zip(heads, relations)]
        if problem := tree_problem(np.array(heads, np.int32), np.array([len(heads)], np.int64)):
            raise InputError(problem[1], remedy="give one tree for each sentence")
    words = [document.words[i] for i in places]
    return Sentence(words, column("lemma"), column("pos"), column("tag"), heads=heads, deprels=relations)


def _skip(error: InputError, path: FilePath, number: int, on_error: OnError, report: ReadReport) -> None:
    remedy = error.remedy
    error = InputError(f"document {number}: {error.what}", path=os.fspath(path), remedy=remedy)
    if on_error == "raise":
        raise error from None
    report.skip(error)


# ------------------------------------------------------------------------------------------------ the file


def read_docbin(
    path: FilePath, *, on_error: OnError = "raise", report: ReadReport | None = None
) -> Iterator[SpacyDocument]:
    """The documents of a ``.spacy`` file, in their order.

    Examples
    --------
    >>> import spacy, tempfile  # doctest: +SKIP
    >>> from spacy.tokens import DocBin  # doctest: +SKIP
    >>> path = tempfile.mkdtemp() + "/a.spacy"  # doctest: +SKIP
    >>> DocBin(docs=[spacy.blank("en")("It works.")]).to_disk(path)  # doctest: +SKIP
    >>> [document.words for document in read_docbin(path)]  # doctest: +SKIP
    [['It', 'works', '.']]
    """
    check_on_error(on_error)
    report = ReadReport() if report is None else report
    try:
        from spacy.attrs import IDS
        from spacy.parts_of_speech import NAMES
        from spacy.strings import StringStore
        from srsly import msgpack
    except ImportError:
        raise OptionError(f"files of spaCy need the package spaCy: {_INSTALL}") from None
    parts = _checked_parts(_unpacked(path, msgpack), path)
    names = {number: name for name, number in IDS.items()}
    arrays = _Arrays.of(parts, names, path)
    strings = StringStore(parts["strings"])
    start = 0
    for number, length in enumerate(arrays.lengths.tolist(), 1):
        stop = start + length
        try:
            document = arrays.document(number, start, stop, strings, NAMES)
            document.categories = _categories(parts["cats"][number - 1])
        except InputError as error:
            _skip(error, path, number, on_error, report)
        else:
            yield document
        start = stop


def _unpacked(path: FilePath, msgpack: Any) -> Any:
    with open_bytes(path) as file:
        packed = file.read()
    most = max(FREE, int(max_expansion() * len(packed)))
    unpack = zlib.decompressobj()
    try:
        data = unpack.decompress(packed, most)
    except zlib.error:
        raise _foreign(path) from None
    if not unpack.eof:
        if len(data) < most:
            raise _foreign(path)
        remedy = f"if it is sound, set {EXPANSION} to more"
        raise InputError(f"more than {size(most)} when it is unpacked", path=os.fspath(path), remedy=remedy)
    try:
        # Without the decoders that srsly adds: a file holds plain values only.
        return msgpack.unpackb(data, raw=False, use_list=True, object_pairs_hook=dict)
    except Exception:  # msgpack's own errors have no common base
        raise _foreign(path) from None


def _foreign(path: FilePath) -> InputError:
    return InputError("not a corpus of spaCy, or damaged", path=os.fspath(path), remedy=_NOT_SPACY)


def _checked_parts(parts: Any, path: FilePath) -> dict[str, Any]:
    if not isinstance(parts, dict) or not all(
        isinstance(parts.get(name), kind) for name, kind in _PARTS.items()
    ):
        raise _foreign(path)
    attrs = parts["attrs"]
    plain = all(isinstance(one, int) and not isinstance(one, bool) for one in attrs)
    if not attrs or not plain or len(set(attrs)) < len(attrs):
        raise _foreign(path)
    if not all(isinstance(one, str) for one in parts["strings"]):
        raise _foreign(path)
    return parts


@dataclass(frozen=True)
class _Arrays:
    """The numbers of all documents: a row for each token, a column for each attribute."""

    lengths: NDArray[np.int32]
    spaces: NDArray[np.bool_]
    attributes: dict[str, NDArray[np.uint64]]

    @classmethod
    def of(cls, parts: dict[str, Any], names: dict[int, str], path: FilePath) -> _Arrays:
        n, attrs = len(parts["spaces"]), parts["attrs"]
        sizes = len(parts["tokens"]) == 8 * n * len(attrs) and len(parts["lengths"]) == 4 * len(parts["cats"])
        if not sizes or set(parts["spaces"]) - {0, 1}:
            raise _foreign(path)
        lengths = np.frombuffer(parts["lengths"], "<i4")
        tokens = np.frombuffer(parts["tokens"], "<u8").reshape(n, len(attrs))
        attributes = {names.get(attr, str(attr)): tokens[:, k] for k, attr in enumerate(attrs)}
        if np.any(lengths < 0) or int(lengths.sum(dtype=np.int64)) != n or "ORTH" not in attributes:
            raise _foreign(path)
        return cls(lengths, np.frombuffer(parts["spaces"], np.bool_), attributes)

    def document(self, number: int, a: int, b: int, strings: Any, symbols: dict[int, str]) -> SpacyDocument:
        def column(attribute: str) -> list[str]:
            return _strings(self.attributes[attribute][a:b], strings)

        def some(attribute: str) -> bool:
            values = self.attributes.get(attribute)
            return values is not None and bool(values[a:b].any())

        document = SpacyDocument(number, column("ORTH"), self.spaces[a:b].tolist())
        if "" in document.words:
            raise InputError("an empty token")
        for name, attribute in (("tag", "TAG"), ("lemma", "LEMMA"), ("dep", "DEP")):
            if some(attribute):
                document.columns[name] = column(attribute)
        if some("POS"):
            document.columns["pos"] = _parts_of_speech(self.attributes["POS"][a:b], symbols)
        if some("ENT_IOB"):
            types = column("ENT_TYPE") if "ENT_TYPE" in self.attributes else [""] * (b - a)
            document.columns["ner"] = _iob2(self.attributes["ENT_IOB"][a:b].tolist(), types)
        if some("DEP") and "HEAD" in self.attributes:
            document.heads = _heads(self.attributes["HEAD"][a:b])
        if some("SENT_START"):
            document.starts = (self.attributes["SENT_START"][a:b] == 1).tolist()
        elif document.heads:
            document.starts = _tree_starts(document.heads)
        return document


def _strings(values: NDArray[np.uint64], strings: Any) -> list[str]:
    known: dict[int, str] = {0: ""}
    for value in set(values.tolist()) - {0}:
        try:
            known[value] = strings[value]
        except KeyError:
            raise InputError(f"no string has the number {value}", remedy="the file is damaged") from None
    return [known[value] for value in values.tolist()]


def _parts_of_speech(values: NDArray[np.uint64], symbols: dict[int, str]) -> list[str]:
    unknown = set(values.tolist()) - set(symbols)
    if unknown:
        raise InputError(f"no part of speech has the number {min(unknown)}", remedy="the file is damaged")
    return [symbols[value] or "_" for value in values.tolist()]


def _iob2(marks: list[int], types: list[str]) -> list[str]:
    """Labels of entities: spaCy's marks are 3 for the first token, 1 for one inside, 2 for none and 0 for unknown."""
    labels, before = [], "O"
    for mark, type_ in zip(marks, types):
        if mark > 3 or (mark in (1, 3) and not type_) or (mark == 1 and before[2:] != type_):
            raise InputError("its entities are not valid", remedy="the file is damaged")
        before = "O" if mark in (0, 2) else f"{'B' if mark == 3 else 'I'}-{type_}"
        labels.append(before)
    return labels


def _heads(values: NDArray[np.uint64]) -> list[int]:
    """The place of each head: the file has its distance from the token."""
    heads = [i + distance for i, distance in enumerate(values.view(np.int64).tolist())]
    if not all(0 <= head < len(heads) for head in heads):
        raise InputError("a head that is no token of the document", remedy="the file is damaged")
    return heads


def _tree_starts(heads: list[int]) -> list[bool]:
    """The tokens at which a sentence begins, where no arc goes over the place before them."""
    ends = np.sort(np.array([range(len(heads)), heads]), axis=0)
    over = np.zeros(len(heads) + 1, np.int64)
    np.add.at(over, ends[0] + 1, 1)
    np.add.at(over, np.minimum(ends[1] + 1, len(heads)), -1)
    starts: list[bool] = (np.cumsum(over)[:-1] == 0).tolist()
    return starts


def _categories(given: Any) -> dict[str, float]:
    sound = isinstance(given, dict) and all(
        isinstance(name, str) and isinstance(value, int | float) for name, value in given.items()
    )
    if not sound:
        raise InputError("its categories are not valid", remedy="the file is damaged")
    return dict(given)
