"""Text for models of words: as arrays, kept on disk if large, or sentence by sentence."""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from spinney.checking import sentences
from spinney.corpus.frames import is_frame, name_of, text_column
from spinney.corpus.waiting import in_batches
from spinney.errors import InputError, OptionError, SettingError, did_you_mean, unknown_choice
from spinney.formats import COMPRESSED, FORMATS, TEXT, giving, guess_format, reader

if TYPE_CHECKING:
    from spinney.corpus import Document, ReadReport, Sentence, TokenArrays, Vocabulary
    from spinney.corpus.dependencies import DependencyParser

#: Texts of more bytes than this are indexed in files rather than in memory.
LARGE = 200_000_000
_SENTENCES = 1000  # worked on at a time
_WORDS = 100_000  # the same, where sentences are long
_GLUED = 0.04  # of the words: in prose that is split at spaces only, more than this end in a mark
_NOTE = "read.json"


@dataclass(frozen=True)
class Reading:
    """How text becomes words. It is stored with a model (``facts["reading"]``), which then reads other text alike."""

    words: str = "form"
    lowercase: bool = False
    unknown: str | None = "<unk>"
    tree: bool = False
    relations: bool = False
    subtypes: bool = True
    max_length: int | None = None
    parser: str | None = None
    head_rules: str | None = None
    tokens: str | None = None

    @classmethod
    def of(cls, facts: Mapping[str, Any], words: str | None = None, parser: str | None = None) -> Self:
        """The reading of a model, with other word columns or another parser if they are given."""
        kept = facts.get("reading", {})
        known = {
            name: value for name, value in (kept if isinstance(kept, dict) else {}).items() if name in _KINDS
        }
        if not all(isinstance(value, _KINDS[name]) for name, value in known.items()):
            raise InputError("damaged: the record of how the training text was read is not valid")
        if not 1 <= (known.get("max_length") or 1) < 1 << 31:
            raise InputError("damaged: the length of the longest sentence is not valid")
        reading = cls(**known)
        reading = replace(reading, words=words or reading.words, parser=parser or reading.parser)
        if parser is not None:
            reading.check_parser()
        return reading

    @property
    def wants_more(self) -> bool:
        """Whether more than forms is wanted: trees, relations, lemmas, tags."""
        return self.tree or self.relations or self.words != "form"

    def without_trees(self) -> Self:
        """The same words, for those who need nothing of the trees that the training text had."""
        return replace(self, tree=False, relations=False)

    def check_parser(self) -> None:
        """Refuse a parser that would have nothing to do."""
        if self.parser is not None and not self.wants_more:
            raise OptionError(
                "a parser adds trees, lemmas and tags, but none of them is used: set tree, or words='lemma'"
            )

    def parses(self, format: str) -> bool:
        """Whether text of that format must be parsed to give what is wanted."""
        has = format in ("conllu", "columns") or FORMATS[format].parsed
        return self.wants_more and self.parser is not None and not has

    def tree_parser(self) -> str | DependencyParser:
        """What parses text, for those that need it."""
        from spinney.corpus.parsers import tree_parser

        return tree_parser(str(self.parser), self.head_rules)

    def facts(self) -> dict[str, Any]:
        """What a model keeps."""
        return asdict(self)


_NONE = type(None)
#: The types of the fields of a reading; a model file may come from anyone, so they are checked.
_KINDS: dict[str, Any] = {
    "words": str, "lowercase": bool, "unknown": (str, _NONE), "tree": bool, "relations": bool, "subtypes": bool,
    "max_length": (int, _NONE), "parser": (str, _NONE), "head_rules": (str, _NONE), "tokens": (str, _NONE),
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """Files (or a data frame), and how to get text out of them."""

    files: Sequence[Any]
    format: str = "auto"
    encoding: str = "utf-8"
    on_error: str = "raise"
    text: str | None = None
    header: bool = True

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise unknown_choice("on_error must be", self.on_error, ("raise", "skip"))

    @classmethod
    def of(cls, data: Any, how: Any) -> Self:
        """Files or a data frame, read as settings of :class:`spinney.settings.text.TextFiles` say; else none."""
        files = training_sources(data) or []
        return cls(files, how.format, how.encoding, how.on_error, how.text, how.header)

    def check_columns(self) -> Self:
        """Refuse settings of tables if no file is one."""
        formats = {
            "table" if isinstance(file, str) and os.path.isdir(file) else self.format_of(file)
            for file in self.files
        }
        for name, given, known in (
            ("text", self.text is not None, (*giving("rows"), "frame")), ("header", not self.header, ("csv", "tsv"))
        ):  # fmt: skip
            if given and formats and not formats & {*known, "table"}:
                raise SettingError(
                    f"{{{name}}} is for tables ({{known}}), not for {{formats}}: leave it out",
                    known=", ".join(one for one in known if one != "frame"), formats=", ".join(sorted(formats)),
                )  # fmt: skip
        return self

    @property
    def name(self) -> str:
        """For messages."""
        return ", ".join(map(name_of, self.files)) or "the text"

    def format_of(self, file: Any) -> str:
        """The format that was given, or that the file's name suggests."""
        if is_frame(file) and self.format != "auto":
            raise SettingError("{format} is for files, not for a data frame: leave it out")
        return guess_format(file) if self.format == "auto" else self.format

    def read(
        self,
        reading: Reading,
        report: ReadReport,
        *,
        vocabulary: Vocabulary | None = None,
        folder: str | None = None,
        **cut: Any,
    ) -> TokenArrays:
        """The whole text as numbers; ``cut`` are the options of a new vocabulary."""
        from spinney.corpus import read_text

        options = (
            reading.facts() | cut | {"text": self.text, "header": self.header, "encoding": self.encoding}
        )
        options |= {"parser": self._parser(reading)}
        del options["head_rules"]
        return read_text(
            list(self.files), self.format, vocabulary=vocabulary, require_known=vocabulary is not None,  # type: ignore[arg-type]
            folder=folder, on_error=self.on_error, report=report, **options,  # type: ignore[arg-type]
        )  # fmt: skip

    def _parser(self, reading: Reading) -> str | DependencyParser | None:
        """What parses these files, loaded if it is ours and if they need it."""
        needed = any(reading.parses(self.format_of(file)) for file in self.files)
        return reading.tree_parser() if needed else reading.parser

    def sizes(self) -> list[list[Any]]:
        """Path, bytes and time of change of each file, those of folders among them; nothing for what is not there."""
        paths = [path for file in self.files if not is_frame(file) for path in _inside(file)]
        stats = [(path, os.stat(path)) for path in paths if os.path.isfile(path)]
        return [[os.path.abspath(path), stat.st_size, stat.st_mtime_ns] for path, stat in stats]


def _inside(file: str) -> list[str]:
    if not os.path.isdir(file):
        return [file]
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(file) for name in names)


@contextmanager
def training_arrays(
    train: Any, how: Any, reading: Reading, report: ReadReport, vocabulary: Vocabulary | None = None
) -> Iterator[TokenArrays]:
    """The training text of a model as numbers.

    Parameters
    ----------
    train
        A file or folder, or several; a data frame; a list of sentences, each a list of words; or the numbers
        themselves.
    how
        Settings of :class:`spinney.settings.text.TrainingText`, with ``min_count`` and ``max_words``.
    vocabulary
        The words to use; by default those of the text.
    """
    from spinney.corpus import TokenArrays, sentence_arrays

    files = training_sources(train)
    cut: dict[str, Any] = {
        "min_count": getattr(how, "min_count", 1),
        "max_size": getattr(how, "max_words", None),
    }
    if files is not None:
        source = Source(files, how.format, how.encoding, how.on_error, how.text, how.header).check_columns()
        with numbered(source, reading, report, how.cache, vocabulary, **cut) as arrays:
            if how.format == "auto" and any(source.format_of(file) == "lines" for file in files):
                warn_of_prose(arrays.vocabulary)
            yield arrays
        return
    if not isinstance(train, TokenArrays):
        words = (_words([[word] for word in sentence], [0], reading) for sentence in sentences(train))
        train = sentence_arrays(words, vocabulary=vocabulary, unknown=reading.unknown, **cut)
    if not train.n_tokens:
        raise InputError("there are no sentences to learn from")
    report.tokens = train.n_tokens
    if train.vocabulary.unknown is not None:
        report.unknown = int((train.ids == train.vocabulary[train.vocabulary.unknown]).sum())
    yield train


def training_files(train: Any) -> list[str] | None:
    """The files that a training text is in; None if it is in memory.

    Examples
    --------
    >>> training_files("a.txt"), training_files(["a.txt", "b.txt"]), training_files([["a", "rose"]])
    (['a.txt'], ['a.txt', 'b.txt'], None)
    """
    if isinstance(train, str | os.PathLike):
        return [os.fspath(train)]
    in_files = (
        isinstance(train, list | tuple) and train and all(isinstance(f, str | os.PathLike) for f in train)
    )
    return [os.fspath(file) for file in train] if in_files else None


def training_sources(train: Any) -> list[Any] | None:
    """What a training text is read from, files (of a glob, those that it finds) or a data frame; None if in memory.

    Examples
    --------
    >>> training_sources("a.txt"), training_sources([["a", "rose"]])
    (['a.txt'], None)
    """
    if is_frame(train):
        return [train]
    files = training_files(train)
    if files is None:
        return None
    from spinney.corpus.addresses import expanded

    return [file for name in files for file in expanded(name)]


@contextmanager
def numbered(
    source: Source,
    reading: Reading,
    report: ReadReport,
    cache: str | None,
    vocabulary: Vocabulary | None = None,
    **cut: Any,
) -> Iterator[TokenArrays]:
    """The text as numbers: in the folder ``cache``, in a temporary one if it is large, or in memory.

    The contents of a cache are reused if they were made from the same files with the same options. A cache that is
    damaged is made again.
    """
    from spinney.corpus import TokenArrays

    if cache is None:
        sizes = [size * (5 if path.endswith(COMPRESSED) else 1) for path, size, _ in source.sizes()]
        if sum(sizes) <= LARGE:
            yield source.read(reading, report, vocabulary=vocabulary, **cut)
            return
        with tempfile.TemporaryDirectory(prefix="spinney-") as folder:
            inner = os.path.join(folder, "text")
            yield source.read(reading, report, vocabulary=vocabulary, folder=inner, **cut)
            return
    if any(map(is_frame, source.files)):
        raise SettingError("{cache} is for files, not for a data frame: leave it out")
    made_of = [*source.files, *filter(None, (reading.parser, reading.head_rules))]
    wanted = asdict(source) | reading.facts() | cut | {"files": replace(source, files=made_of).sizes()}
    wanted["vocabulary"] = None if vocabulary is None else list(vocabulary.words)
    if (kept := _kept(cache, wanted)) is not None and "-" not in source.files:
        arrays = TokenArrays.load(cache)
        for name, value in kept.items():
            setattr(report, name, value)
    else:
        arrays = source.read(reading, report, vocabulary=vocabulary, folder=cache, **cut)
        note = {"wanted": wanted, "report": asdict(report), "files": _checksums(cache)}
        with open(os.path.join(cache, _NOTE), "w", encoding="utf-8") as file:
            json.dump(note | {"note": _checksum(note)}, file)
    yield arrays


def _kept(cache: str, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """The report of what the cache holds, if that is what is wanted, and whole."""
    path = os.path.join(cache, _NOTE)
    if not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:
            note = json.load(file)
        if note["wanted"] != wanted:
            return None
        checksum = note.pop("note")
        sound = checksum == _checksum(note) and note["files"] == _checksums(cache)
        report: dict[str, Any] = note["report"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound = False
    if not sound:
        from spinney import progress

        progress.log.warning("%s: damaged or of another version, so it is made again from the text", cache)
        return None
    return report


def _checksum(note: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(note, sort_keys=True).encode())


def _checksums(folder: str) -> dict[str, int]:
    """A checksum of each file of a cache, its note apart."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if name != _NOTE:
            with open(os.path.join(folder, name), "rb") as file:
                sum_ = 0
                while piece := file.read(1 << 20):
                    sum_ = zlib.crc32(piece, sum_)
            found[name] = sum_
    return found


def warn_of_unknown(name: str, report: ReadReport, vocabulary: Vocabulary) -> None:
    """Warn that the scores of unknown words mean nothing if the model saw none in training."""
    symbol = vocabulary.unknown
    if report.unknown and symbol is not None and not vocabulary.counts[vocabulary[symbol]]:
        from spinney import progress

        what = "%s: %d of %d words are unknown, but the model saw no unknown word in training: fit it with min_count=2"
        progress.log.warning(what, name, report.unknown, report.tokens)


def warn_of_prose(vocabulary: Vocabulary) -> None:
    """Warn that words were separated at spaces only, if many have kept the mark at their end: "highway," is no word."""
    from spinney import progress

    glued = [
        len(word) > 2 and word[-1] in ".,;:!?" and word[-2].isalpha() and "." not in word[:-1]
        for word in vocabulary.words
    ]
    share = float(vocabulary.counts[glued].sum()) / max(int(vocabulary.counts.sum()), 1)
    if share > _GLUED:
        progress.log.warning(
            "%.0f %% of the words end in a punctuation mark: if the text is not split into words, give format prose",
            100 * share,
        )


# ------------------------------------------------------------------------------------ sentence by sentence


class Tokens(NamedTuple):
    """A sentence: its rows as they are in the file, the words that a model sees, and its tree."""

    rows: Sequence[Sequence[str]]
    words: list[str]
    heads: list[int]
    relations: list[str]


def sentence_batches(data: Any, how: Any, reading: Reading, report: ReadReport) -> Iterator[list[Tokens]]:
    """The sentences of a file or a data frame, read as settings of TextFiles say, or of a list."""
    if isinstance(data, str) or is_frame(data):
        source = Source([data], how.format, how.encoding, how.on_error, how.text, how.header).check_columns()
        yield from token_batches(source, reading, report)
        return
    if reading.tree:
        raise OptionError("lists of words have no heads: give a CoNLL-U file")
    sentences = (_bare(list(sentence), reading) for sentence in data)
    yield from in_batches(sentences, _SENTENCES, weigh=_length, heaviest=_WORDS)


def first_sentences(data: Any, how: Any, reading: Reading, n: int) -> list[Tokens]:
    """The first sentences of a file or a list: no more are read than are wanted."""
    from spinney.corpus import ReadReport

    batches = sentence_batches(data, how, reading, ReadReport())
    return list(islice((tokens for batch in batches for tokens in batch), n))


def warn_of_skipped(report: ReadReport) -> None:
    """Say how much could not be read, and what was wrong first."""
    if report.skipped:
        from spinney import progress

        progress.log.warning("%d sentences were skipped, the first: %s", report.skipped, report.errors[0])


def token_batches(source: Source, reading: Reading, report: ReadReport) -> Iterator[list[Tokens]]:
    """The sentences of the one file of a source, some at a time."""
    (path,) = source.files
    format = source.format_of(path)
    if reading.tree and format != "conllu" and not FORMATS[format].parsed and not reading.parses(format):
        raise OptionError(
            f"no heads in {format}: only conllu has them (parse the text first, or name a parser)"
        )
    sentences = _sentences(path, format, source, reading, report)
    place = None if is_frame(path) else path
    yield from in_batches(sentences, _SENTENCES, place, weigh=_length, heaviest=_WORDS)


def _length(sentence: Tokens) -> int:
    return len(sentence.words)


def _sentences(
    path: Any, format: str, source: Source, reading: Reading, report: ReadReport
) -> Iterator[Tokens]:
    from spinney.corpus import read_columns, read_conllu

    how: dict[str, Any] = {"encoding": source.encoding, "on_error": source.on_error, "report": report}
    names = reading.words.split("+")
    if format == "conllu":
        for sentence in read_conllu(path, **how):
            yield _parsed(sentence, reading, path)
    elif format == "columns":
        names = ["0" if name == "form" else name for name in names]
        for rows in read_columns(path, **how):
            columns = [_column(name, [str(i) for i in range(len(rows[0]))], path) for name in names]
            yield Tokens(rows, _words(rows, columns, reading), [], [])
    elif FORMATS[format].parsed and reading.wants_more:
        for sentence in reader(format, "parsed")(path, **how):
            yield _parsed(sentence, reading, path)._replace(rows=[[form] for form in sentence.forms])
    elif reading.parses(format):
        from spinney.corpus.dependencies import parse_dependencies

        plain = _plain_sentences(path, format, source, reading, how)
        for sentence in parse_dependencies(plain, reading.tree_parser(), report=report):
            yield _parsed(sentence, reading, path)._replace(rows=[[form] for form in sentence.forms])
    elif names != ["form"]:
        raise OptionError(f"no {reading.words} in {format}: only conllu and columns have more than forms")
    else:
        for words in _plain_sentences(path, format, source, reading, how):
            yield _bare(words, reading)


def _plain_sentences(
    path: Any, format: str, source: Source, reading: Reading, how: dict[str, Any]
) -> Iterator[list[str]]:
    from spinney.corpus.reading import plain_sentences

    _check_text(format)
    # A text that is in tokens already, where the training text was not, needs no tokeniser.
    tokens = None if FORMATS[format].sentences and format != "prose" else reading.tokens
    return plain_sentences(path, format, text=source.text, header=source.header, tokens=tokens, **how)


def _check_text(format: str) -> None:
    if format not in (*TEXT, "frame"):
        raise unknown_choice("format must be", format, ("auto", *TEXT))


def documents(path: Any, format: str, source: Source, how: dict[str, Any]) -> Iterator[Document]:
    """The documents of a folder or of a table."""
    from spinney.corpus.documents import read_documents

    _check_text(format)
    text = text_column(path, source.text) if is_frame(path) else source.text or "text"
    return read_documents(path, format, text=text, header=source.header, **how)


def _parsed(sentence: Sentence, reading: Reading, path: str) -> Tokens:
    """The words and the tree of a sentence of CoNLL-U."""
    rows = [line.split("\t") for line in str(replace(sentence, comments=[], extras=[])).split("\n")]
    if reading.tree and not sentence.heads:
        raise InputError("a sentence without heads", path=path, remedy="parse the text first")
    columns = [_column(name, _CONLLU, path) for name in reading.words.split("+")]
    relations = sentence.deprels or ["_"] * len(rows)
    if not reading.subtypes:
        relations = [relation.partition(":")[0] for relation in relations]
    return Tokens(rows, _words(rows, columns, reading), sentence.heads, relations)


_CONLLU = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"]


def _column(name: str, known: Sequence[str], path: str) -> int:
    if name not in known:
        meant = did_you_mean(name, known) or f"words are made of {', '.join(known)}"
        raise InputError(f"no column {name!r}", path=path, remedy=meant)
    return known.index(name)


def _folded(words: list[str], reading: Reading) -> list[str]:
    if not reading.lowercase:
        return words
    return [word if word == reading.unknown else word.lower() for word in words]


def _words(rows: Sequence[Sequence[str]], columns: Sequence[int], reading: Reading) -> list[str]:
    """The words of a sentence as :func:`spinney.corpus.read_text` makes them."""
    words = _folded([row[columns[0]] for row in rows], reading)
    for column in columns[1:]:
        words = [
            word if word == reading.unknown else f"{word}|{row[column]}" for word, row in zip(words, rows)
        ]
    return words


def _bare(forms: list[str], reading: Reading) -> Tokens:
    """A sentence of words alone."""
    return Tokens(_OneColumn(forms), _folded(forms, reading), [], [])


class _OneColumn(Sequence[list[str]]):
    """Rows of one cell each, made when they are asked for: most models never look at them."""

    def __init__(self, cells: list[str]) -> None:
        self._cells = cells

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [[cell] for cell in self._cells[place]]
        return [self._cells[place]]


def batch_arrays(batch: Sequence[Tokens], vocabulary: Vocabulary, reading: Reading) -> TokenArrays:
    """A batch of sentences as numbers."""
    import numpy as np

    from spinney.corpus import Labels, TokenArrays
    from spinney.corpus import Vocabulary as Names

    ids = vocabulary.encode(word for tokens in batch for word in tokens.words)
    offsets = np.concatenate([[0], np.cumsum([len(tokens.words) for tokens in batch])]).astype(np.int64)
    if not reading.tree:
        return TokenArrays(ids, offsets, vocabulary)
    heads = np.array([head - 1 for tokens in batch for head in tokens.heads], np.int32)
    labels: dict[int | str, Labels] = {}
    if reading.relations:
        names = Names.from_tokens(relation for tokens in batch for relation in tokens.relations)
        relations = names.encode(relation for tokens in batch for relation in tokens.relations)
        labels["deprel"] = Labels(relations, names)
    return TokenArrays(ids, offsets, vocabulary, heads, labels)
