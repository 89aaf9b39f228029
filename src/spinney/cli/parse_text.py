"""Parsers out of files; trees and sentences for them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import typer

from spinney.errors import InputError, OptionError, unknown_choice

if TYPE_CHECKING:
    from spinney.corpus import ReadReport, Sentence, Tree
    from spinney.parsing.automata import HeadAutomata
    from spinney.parsing.headrules import HeadRules
    from spinney.parsing.parser import Parser

ModelIn = Annotated[str, typer.Argument(help="A model file that fit wrote.")]
Decoder = Annotated[
    str | None,
    typer.Option(help="max-rule, mbr, free or viterbi, if not that of fit.", show_default=False),
]
Rules = Annotated[
    str | None,
    typer.Option(
        "--head-rules",
        help="A file that says which child is the head of a phrase (default: Collins' rules).",
        show_default=False,
    ),
]

_BATCH = 100  # sentences parsed at a time


def load_model(path: str, threads: int | None, decoder: str | None = None) -> Parser | HeadAutomata:
    """The model in a file, whichever of the two kinds it is."""
    from spinney.files import read_model
    from spinney.parsing import automata
    from spinney.parsing.parser import Parser

    if read_model(path).kind == automata.KIND:
        if decoder is not None:
            raise OptionError("--decoder is not for head automata: they have one")
        return automata.HeadAutomata.load(path)
    parser = Parser.load(path)
    parser.threads = threads
    if decoder is not None:
        _set_decoder(parser, decoder)
    return parser


def _set_decoder(parser: Parser, decoder: Any) -> None:
    from spinney.parsing.parser import DECODERS

    if decoder not in DECODERS:
        raise unknown_choice("--decoder is one of", decoder, DECODERS)
    if decoder == "viterbi" and parser.method != "pcfg":
        raise OptionError("--decoder viterbi needs a grammar without states: --method pcfg")
    parser.decoder = decoder


def named(files: Sequence[str]) -> str:
    """Files, for messages.

    Examples
    --------
    >>> named(["a.mrg", "b.mrg", "c.mrg", "d.mrg"])
    'a.mrg and 3 other files'
    """
    return ", ".join(files) if len(files) < 4 else f"{files[0]} and {len(files) - 1} other files"


def head_rules(path: str | None) -> HeadRules:
    """The rules of a file, or Collins'."""
    from spinney.parsing.headrules import COLLINS, HeadRules

    return COLLINS if path is None else HeadRules.read(path)


# ------------------------------------------------------------------------------------------- trees


@dataclass(frozen=True)
class TreeReading:
    """How trees are read. It is kept with a parser (``facts_["reading"]``), so that others are read alike."""

    clean: bool = True
    functions: bool = False

    @classmethod
    def of(cls, parser: Parser) -> Self:
        """That of a parser's trees."""
        kept = parser.facts_.get("reading")
        kept = kept if isinstance(kept, dict) else {}
        return cls(
            *(bool(kept.get(name, default)) for name, default in (("clean", True), ("functions", False)))
        )

    def facts(self) -> dict[str, Any]:
        """What a model keeps."""
        return asdict(self)

    def trees(self, files: Sequence[str], encoding: str, on_error: str, report: ReadReport) -> list[Tree]:
        """All trees of some files and folders; an error if there are none."""
        from spinney.corpus.compressed import content_suffix
        from spinney.parsing.cleaning import read_treebank

        for file in files:
            if content_suffix(file) == ".conllu":
                what = "CoNLL-U holds dependencies, and a grammar has constituents"
                raise InputError(
                    what, path=file, remedy="give bracketed trees, or fit with --method automata"
                )
        how: dict[str, Any] = {"encoding": encoding, "on_error": on_error, "report": report, **self.facts()}
        trees = [tree for file in files for tree in read_treebank(file, **how)]
        if not trees:
            what = f"no trees with words, {report.empty} without" if report.empty else "no trees"
            raise InputError(what, path=named(files), remedy="bracketed trees such as (S (NP (NN dogs)) ...)")
        return trees


def dependency_trees(
    files: Sequence[str], column: str, encoding: str, on_error: str, report: ReadReport
) -> list[Sentence]:
    """The sentences of CoNLL-U files, with heads, and tags in a column."""
    from spinney.corpus import read_conllu

    how: dict[str, Any] = {"encoding": encoding, "on_error": on_error, "report": report}
    found = []
    for file in files:
        for number, sentence in enumerate(read_conllu(file, **how), 1):
            if not sentence.heads:
                what = f"sentence {number} has no heads"
                raise InputError(what, path=file, remedy="dependency trees are needed: parse the text first")
            found.append(sentence)
        check_column(found, column, file)
    if not found:
        raise InputError("no sentences", path=named(files), remedy="dependency trees in CoNLL-U are needed")
    return found


def check_column(sentences: Sequence[Sentence], column: str, path: str | None = None) -> None:
    """Refuse text whose tags stand elsewhere, or nowhere."""
    if sentences and all(set(getattr(sentence, column)) <= {"_"} for sentence in sentences):
        other = "xpos" if column == "upos" else "upos"
        filled = any(set(getattr(sentence, other)) - {"_"} for sentence in sentences)
        remedy = f"the tags are in {other}: fit with --column {other}" if filled else "tag the text first"
        raise InputError(f"no tags in the column {column}", path=path, remedy=remedy)


# --------------------------------------------------------------------------------------- sentences


class Wanted(NamedTuple):
    """A sentence to be parsed; an empty one stands where the text has an empty line.

    Attributes
    ----------
    number : int
        From 1, in the text.
    forms : list of str
        Its words as they are in the text.
    words : list of str
        The same as the treebank writes them.
    tags : list of str, optional
        Of its words, if they are given.
    sentence : Sentence, optional
        What a CoNLL-U file had.
    """

    number: int
    forms: list[str]
    words: list[str]
    tags: list[str] | None = None
    sentence: Sentence | None = None


@dataclass(frozen=True)
class SentenceSource:
    """A text, and how sentences are got out of it."""

    path: str
    format: str
    encoding: str
    on_error: str
    max_length: int

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise unknown_choice("--on-error is", self.on_error, ("raise", "skip"))

    def batches(self, report: ReadReport, known: Container[str] = frozenset()) -> Iterator[list[Wanted]]:
        """The sentences, some at a time. With --on-error skip a bad line is an empty one, so that all numbers stay.

        ``known`` are words of the treebank, which raw text is not to lose to the Penn Treebank's conventions.
        """
        if self.format == "conllu":
            sentences = self._conllu(report)
        elif self.format == "prose":
            sentences = self._raw(report, known)
        else:
            sentences = self._lines(report)
        while some := list(islice(sentences, _BATCH)):
            yield some

    def _lines(self, report: ReadReport) -> Iterator[Wanted]:
        from spinney.corpus.lines import fields, read_blocks
        from spinney.parsing.ptb import bracket_words

        lines = (line for block in read_blocks(self.path, self.encoding) for line in block.each_line())
        for number, line in enumerate(lines, 1):
            forms: list[str] = []
            tags = None
            try:
                forms = fields(line.decode())
                if self.format == "tagged":
                    forms, tags = _split_tags(forms)
                self._check_length(forms)
            except InputError as error:
                told = InputError(error.what, path=self.path, line=number, remedy=error.remedy)
                self._refuse(told, report)
                forms, tags = [], tags and []
            report.read += bool(forms)
            report.empty += not forms
            yield Wanted(number, forms, bracket_words(forms), tags)

    def _raw(self, report: ReadReport, known: Container[str]) -> Iterator[Wanted]:
        from spinney.corpus import read_prose
        from spinney.parsing.ptb import treebank_words

        how: dict[str, Any] = {"encoding": self.encoding, "on_error": self.on_error, "report": report}
        for number, forms in enumerate(read_prose(self.path, **how), 1):
            words = treebank_words(forms, known)
            try:
                self._check_length(forms)
            except InputError as error:
                self._refuse(
                    InputError(f"sentence {number}: {error.what}", path=self.path, remedy=error.remedy),
                    report,
                )
                forms, words = [], []
            yield Wanted(number, forms, words)

    def _conllu(self, report: ReadReport) -> Iterator[Wanted]:
        from spinney.corpus import read_conllu

        how: dict[str, Any] = {"encoding": self.encoding, "on_error": self.on_error, "report": report}
        for number, sentence in enumerate(read_conllu(self.path, **how), 1):
            try:
                self._check_length(sentence.forms)
            except InputError as error:
                told = InputError(f"sentence {number}: {error.what}", path=self.path, remedy=error.remedy)
                self._refuse(told, report)
                yield Wanted(number, [], [])
                continue
            yield Wanted(number, sentence.forms, sentence.forms, sentence=sentence)

    def _check_length(self, words: Sequence[str]) -> None:
        if len(words) > self.max_length:
            raise InputError(
                f"{len(words)} words in a sentence",
                remedy="split it, raise --max-length (memory grows with its square, time with its cube), "
                "or pass over such with --on-error skip",
            )

    def _refuse(self, error: InputError, report: ReadReport) -> None:
        if self.on_error == "raise":
            raise error
        report.skip(error)


def _split_tags(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words and tags out of ``word/TAG``: a tag has no slash, a word may have some.

    Examples
    --------
    >>> _split_tags(["1/2/CD", "of/IN"])
    (['1/2', 'of'], ['CD', 'IN'])
    """
    pairs = [token.rpartition("/") for token in tokens]
    for token, (word, _, tag) in zip(tokens, pairs):
        if not word or not tag:
            raise InputError(f"{token!r} is not word/TAG", remedy="--format lines is for words without tags")
    return [word for word, _, _ in pairs], [tag for _, _, tag in pairs]
