"""CoNLL-U from ELAN: utterances become sentences, and the tiers below them words, tags, lemmas and glosses."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spinney.corpus.compressed import FilePath
from spinney.corpus.conllu import Sentence
from spinney.corpus.elan_files import Annotation, ElanFile, Tier
from spinney.corpus.lines import OnError, ReadReport, check_encoding, check_on_error
from spinney.corpus.plain_annotations import ordered_feats
from spinney.corpus.raw import tokenize
from spinney.corpus.spelled_out import Piece, is_mark, spelled_out
from spinney.errors import InputError

_ENDED = 0.5  # share of utterances that end with a mark, from which marks show where sentences end
#: Columns in which several annotations of a word, of its morphemes say, are one value with hyphens.
_JOINED = ("xpos", "gloss")


class ElanTiers(NamedTuple):
    """Which tiers hold what: names, types, or patterns such as ``words@*``, where each speaker has tiers of their own.

    Attributes
    ----------
    words : str or None
        None: words are found in the utterances, by the rules for prose.
    sentences : str or None
        Utterances; None: the tier above that of words.
    upos, xpos, lemmas, feats, glosses : str or None
        Below words or, as many as words, below utterances.
    """

    words: str | None = None
    sentences: str | None = None
    upos: str | None = None
    xpos: str | None = None
    lemmas: str | None = None
    feats: str | None = None
    glosses: str | None = None

    def columns(self) -> dict[str, str]:
        """The tiers of columns, by the names that columns have here."""
        given = {
            "upos": self.upos, "xpos": self.xpos, "lemma": self.lemmas, "feats": self.feats, "gloss": self.glosses,
        }  # fmt: skip
        return {column: name for column, name in given.items() if name is not None}


def read_elan(
    path: FilePath,
    tiers: ElanTiers,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
    name: str | None = None,
) -> Iterator[Sentence]:
    """The utterances of an ELAN file in the order of time, as sentences.

    Where an utterance spells its words, with punctuation that the tier of words need not have, ``SpaceAfter=No`` and
    marks of punctuation come from it. Where most utterances end without a mark, each is a paragraph of its own, so that
    nobody looks for what ends sentences. Words without text are left out, and utterances without words are counted as
    empty. A mistake is an error; with ``on_error="skip"``, an annotation that has no place, an utterance whose columns
    do not fit, or a file that cannot be read is dropped and counted.

    Parameters
    ----------
    path
        An ``.eaf`` file.
    tiers
        Which tiers to read.
    name
        What the names of sentences begin with; by default, that of the file.

    Examples
    --------
    >>> import tempfile
    >>> from spinney.corpus.sample_treebank import elan_document, sample_treebank
    >>> path = os.path.join(tempfile.mkdtemp(), "story.eaf")
    >>> with open(path, "w") as file:
    ...     _ = file.write(elan_document(sample_treebank(7)[6:]))
    >>> for sentence in read_elan(path, ElanTiers(words="words@*", upos="pos", lemmas="lemma", glosses="gloss")):
    ...     print(sentence)
    # newdoc id = story
    # sent_id = story-1
    # speaker = A
    # time = 0-1900
    # text = Pelu selemi.
    1	Pelu	pelu	NOUN	_	_	_	_	_	Gloss=fish
    2	selemi	sele	VERB	_	_	_	_	_	Gloss=sleep-PST|SpaceAfter=No
    3	.	.	PUNCT	_	_	_	_	_	_
    """
    check_encoding(encoding)
    check_on_error(on_error)
    report = ReadReport() if report is None else report
    stem = re.sub(r"\.eaf\b.*", "", os.path.basename(os.fspath(path)), flags=re.IGNORECASE)
    drop = _dropping(on_error, report)
    found: list[Sentence] = []
    try:
        utterances = _utterances(ElanFile.read(path, encoding), tiers, drop)
    except InputError as error:
        drop(error)
        return
    for one in utterances:
        try:
            made = one.sentence(tiers)
        except InputError as error:
            drop(error)
            continue
        if made is None:
            report.empty += 1
        else:
            found.append(made)
    _number(found, re.sub(r"\s+", "_", name or stem) or "elan")
    report.read += len(found)
    yield from found


def _dropping(on_error: OnError, report: ReadReport) -> Callable[[InputError], None]:
    def drop(error: InputError) -> None:
        if on_error == "raise":
            raise error
        report.skip(error)

    return drop


@dataclass(slots=True, eq=False)
class _Utterance:
    """An utterance with the words in it, and what is annotated: for each word, or for all in their order."""

    file: ElanFile
    own: Annotation
    words: list[Annotation] = field(default_factory=list)
    of_word: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    in_order: dict[str, list[str]] = field(default_factory=dict)

    def sentence(self, tiers: ElanTiers) -> Sentence | None:
        """The sentence, without its number; None if it has no words."""
        start, end = self.file.span(self.own)
        speaker = self.file.tiers[self.own.tier].speaker
        comments = [f"# speaker = {_one_line(speaker)}"] if speaker else []
        comments.append(f"# time = {round(start)}-{round(end)}")
        if tiers.words is None:
            forms, columns = tokenize(self.own.value), dict[str, list[str]]()
        else:
            keep = [i for i, word in enumerate(self.words) if word.value]
            forms = [self.words[i].value for i in keep]
            whole = {column: self._column(column) for column in tiers.columns()}
            columns = {column: [values[i] for i in keep] for column, values in whole.items()}
        if not forms:
            return None
        pieces = spelled_out(forms, self.own.value)
        return _sentence(pieces or [Piece(form, True, i) for i, form in enumerate(forms)], columns, comments)

    def _column(self, column: str) -> list[str]:
        """The values of a column, one for each word."""
        in_order = self.in_order.get(column)
        if in_order is not None:
            if len(in_order) != len(self.words):
                what = f"{len(self.words)} words but {len(in_order)} annotations of {column} in {self.own}"
                raise self.file.error(what, "annotate each word, or leave the tier out")
            return [_value(self.file, column, value) for value in in_order]
        found = []
        for word in self.words:
            values = self.of_word.get((column, word.id), [])
            if len(values) > 1 and column not in _JOINED:
                what = f"{word} has {len(values)} annotations of {column}: {', '.join(values[:4])}"
                raise self.file.error(what, "name a tier with one for each word")
            found.append(_value(self.file, column, "-".join(values)))
        return found


def _value(file: ElanFile, column: str, value: str) -> str:
    """A value as its column in CoNLL-U has it."""
    if value in ("", "_"):
        return "_"
    if column == "feats":
        ordered = ordered_feats(value.replace(" ", ""))
        if ordered is None:
            what = f"{value[:40]!r} is not features such as Case=Acc|Number=Plur"
            raise file.error(what, "give this tier for xpos or for glosses")
        return ordered
    return value if column in ("lemma", "gloss") else value.replace(" ", "_")


def _sentence(pieces: list[Piece], columns: dict[str, list[str]], comments: list[str]) -> Sentence:
    """A sentence out of pieces; marks that are no words of their own are punctuation, if words have tags."""
    text = "".join(piece.form + " " * piece.spaced for piece in pieces).rstrip()
    filled: dict[str, list[str]] = {}
    for column, values in columns.items():
        marks = {"upos": "PUNCT", "lemma": None}
        filled[column] = [
            values[one.word] if one.word is not None else marks.get(column, "_") or one.form for one in pieces
        ]
    misc = []
    for i, piece in enumerate(pieces):
        gloss = filled["gloss"][i].replace("|", "\\p") if "gloss" in filled else "_"
        told = [f"Gloss={gloss}"] * (gloss != "_") + ["SpaceAfter=No"] * (not piece.spaced)
        misc.append("|".join(told) or "_")
    return Sentence(
        [piece.form for piece in pieces], filled.get("lemma", []), filled.get("upos", []), filled.get("xpos", []),
        filled.get("feats", []), misc=misc, comments=[*comments, f"# text = {text}"],
    )  # fmt: skip


def _utterances(file: ElanFile, tiers: ElanTiers, drop: Callable[[InputError], None]) -> list[_Utterance]:
    """All utterances with their words and annotations, in the order of time."""
    if tiers.words is None and tiers.sentences is None:
        raise file.error("it is not said which tier has words, or utterances (sentences)", file.described())
    for column in tiers.columns() if tiers.words is None else ():
        raise file.error(f"{column} are of words, and no tier of words is named", file.described())
    words = [] if tiers.words is None else file.chosen(tiers.words)
    above = _sentence_tiers(file, words) if tiers.sentences is None else file.chosen(tiers.sentences)
    columns = {column: _below(file, name, [*words, *above]) for column, name in tiers.columns().items()}
    file.keep_placed([*above, *words, *(tier for of in columns.values() for tier in of)], drop)
    found = {one.id: _Utterance(file, one) for tier in above for one in tier.annotations}
    place = _Placing(file, above, {tier.name for tier in words})
    for tier in words:
        for word in file.ordered(tier):
            try:
                found[place.utterance(word).id].words.append(word)
            except InputError as error:
                drop(error)
    for column, of in columns.items():
        for tier in of:
            _fill(column, tier, found, place, drop)
    return sorted(found.values(), key=lambda one: file.span(one.own)[0])


def _below(file: ElanFile, name: str, tiers: Sequence[Tier]) -> list[Tier]:
    """Of the tiers of a name, those below words or utterances that are read; others may be of another speaker."""
    chosen = file.chosen(name)
    found = [tier for tier in chosen if any(up in tiers for up in file.lineage(tier)[1:])]
    if not found:
        what = f"the tier {chosen[0].name} is neither below words nor below utterances"
        raise file.error(what, "change what it is below in ELAN, or leave it out")
    return found


def _sentence_tiers(file: ElanFile, words: Iterable[Tier]) -> list[Tier]:
    found: list[Tier] = []
    for tier in words:
        up = file.above(tier)
        if up is None:
            what = f"the tier {tier.name} is below no other, so it is not known where sentences begin and end"
            raise file.error(what, f"name the tier of utterances (sentences); {file.described()}")
        if up not in found:
            found.append(up)
    return found


class _Placing:
    """Where annotations belong: the word or the utterance that they are below or, for utterances, lie in."""

    def __init__(self, file: ElanFile, utterances: list[Tier], words: set[str]) -> None:
        self.file, self.words = file, words
        self.utterances = {tier.name: tier for tier in utterances}

    def utterance(self, annotation: Annotation) -> Annotation:
        """The utterance above an annotation, or around it in time: of the same speaker, if they have any."""
        for up in self.file.ancestors(annotation):
            if up.tier in self.utterances:
                return up
        start, end = self.file.span(annotation)
        speaker = self.file.tiers[annotation.tier].speaker
        own = [tier for tier in self.utterances.values() if tier.speaker == speaker]
        for tier in own or self.utterances.values():
            around = self.file.around(tier, (start + end) / 2)
            if around is not None:
                return around
        raise self.file.error(f"{annotation} lies in no utterance", "move it or delete it in ELAN")

    def word(self, annotation: Annotation) -> Annotation | None:
        """The word above an annotation."""
        return next((up for up in self.file.ancestors(annotation) if up.tier in self.words), None)


def _fill(
    column: str,
    tier: Tier,
    utterances: dict[str, _Utterance],
    place: _Placing,
    drop: Callable[[InputError], None],
) -> None:
    """Give the annotations of a tier to the words that they are below, or to utterances in their order."""
    for one in place.file.ordered(tier):
        try:
            utterance = utterances[place.utterance(one).id]
            word = place.word(one)
        except InputError as error:
            drop(error)
            continue
        if word is None:
            utterance.in_order.setdefault(column, []).append(one.value)
        elif one.value:
            utterance.of_word.setdefault((column, word.id), []).append(one.value)


def _number(sentences: list[Sentence], name: str) -> None:
    """Give sentences their names and, where utterances do not show where sentences end, make each a paragraph."""
    ended = sum(is_mark(sentence.forms[-1][-1]) for sentence in sentences)
    apart = ended < _ENDED * len(sentences)
    for number, sentence in enumerate(sentences, start=1):
        begins = [f"# newdoc id = {name}"] * (number == 1) + ["# newpar"] * apart
        sentence.comments[:0] = [*begins, f"# sent_id = {name}-{number}"]


def _one_line(text: str) -> str:
    return " ".join(text.split())
