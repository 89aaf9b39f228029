"""SemCor: part of the Brown corpus with WordNet senses, whose lexicographer files are supersenses.

Miller, Leacock, Tengi and Bunker 1993. A sense key is ``p:NN:...``, where ``NN`` numbers the lexicographer file.
"""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast

from spinney.corpus.compressed import FilePath, open_bytes
from spinney.errors import InputError, OptionError


def _files(pos: str, names: str) -> list[str]:
    return [f"{pos}.{name}" for name in names.split()]


_NOUNS = """
    Tops act animal artifact attribute body cognition communication event feeling food group location motive object
    person phenomenon plant possession process quantity relation shape state substance time
"""
_VERBS = """
    body change cognition communication competition consumption contact creation emotion motion perception possession
    social stative weather
"""
#: The 45 lexicographer files of WordNet in the order of their numbers (``lexnames(5WN)``).
SUPERSENSES: Final = (
    *_files("adj", "all pert"),
    "adv.all",
    *_files("noun", _NOUNS),
    *_files("verb", _VERBS),
    "adj.ppl",
)

_SECTIONS = ("brown1", "brown2", "brownv")
_ELEMENT = re.compile(r"<(wf|punc)((?: [a-z]+=[^ >]*)*)>([^<>]+)</(?:wf|punc)>")
_SENTENCE = re.compile(r"<s snum=(\d+)>")
_DOCUMENT = re.compile(r"<context filename=([^ >]+)[^>]*>")
_SENSE = re.compile(r"[1-5]:(\d\d):")
_MARKUP = re.compile(r"</?(?:contextfile|context|p)\b[^<>]*>")


class SemcorToken(NamedTuple):
    """A lexical item: one word, or several joined by ``_``; or a punctuation mark, which has no ``pos``.

    ``supersense`` is that of the first sense if the annotators left several; ``name`` is the kind of a named
    entity (``person``, ``location``, ``group``, ``other``), whose sense is that of the kind: ``noun.Tops``.
    """

    item: str
    pos: str | None = None
    lemma: str | None = None
    supersense: str | None = None
    name: str | None = None

    @property
    def parts(self) -> list[str]:
        """The words of the item."""
        return [part for part in self.item.split("_") if part] or [self.item]


class SemcorSentence(NamedTuple):
    """A sentence, with its document (``br-a01``) and its number there."""

    document: str
    number: int
    tokens: list[SemcorToken]

    @property
    def words(self) -> list[str]:
        """The words of all items."""
        return [part for token in self.tokens for part in token.parts]


class SupersenseExample(NamedTuple):
    """A noun or verb in its sentence: ``words[start:stop]``, of which ``words[head]`` is the head word."""

    words: list[str]
    head: int
    label: str
    pos: Literal["noun", "verb"]
    lemma: str
    start: int
    stop: int
    document: str
    sentence: int


def read_semcor(
    path: FilePath, sections: Sequence[str] = ("brown1", "brown2"), *, encoding: str = "utf-8"
) -> Iterator[SemcorSentence]:
    """The sentences of SemCor, from its archive (``.tar``, ``.tar.gz``, ``.tar.xz``) or its folder.

    Parameters
    ----------
    sections
        ``brown1`` and ``brown2`` have senses for all content words, ``brownv`` for verbs alone.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> os.makedirs(os.path.join(folder, "brown1", "tagfiles"))
    >>> with open(os.path.join(folder, "brown1", "tagfiles", "br-x01"), "w") as file:
    ...     _ = file.write('''<context filename=br-x01 paras=yes>
    ... <s snum=1>
    ... <wf cmd=done pos=VB lemma=take_place wnsn=1 lexsn=2:30:00::>took_place</wf>
    ... <punc>.</punc>
    ... </s>
    ... </context>
    ... ''')
    >>> [sentence] = read_semcor(folder, ["brown1"])
    >>> sentence.document, sentence.words, sentence.tokens[0].supersense
    ('br-x01', ['took', 'place', '.'], 'verb.change')
    """
    if not sections or not set(sections) <= set(_SECTIONS):
        raise OptionError(f"sections are {', '.join(_SECTIONS)}, not {', '.join(sections) or 'none'}")
    is_folder = path != "-" and os.path.isdir(path)
    n = 0
    for name, text in _folder_files(Path(path), sections) if is_folder else _archive_files(path, sections):
        n += 1
        yield from _sentences(name, text, encoding)
    if not n:
        what = f"no files of {' or '.join(sections)}"
        raise InputError(what, path=os.fspath(path), remedy="give SemCor's folder or archive")


def supersense_examples(sentences: Iterable[SemcorSentence]) -> Iterator[SupersenseExample]:
    """The nouns and verbs that have a supersense, one of 26 and 15.

    The head of several words is the last in a noun (``primary election``), the first in a verb (``take place``).

    Examples
    --------
    >>> tokens = [SemcorToken("He", "PRP"), SemcorToken("took_place", "VB", "take_place", "verb.change")]
    >>> [example] = supersense_examples([SemcorSentence("br-x01", 1, tokens)])
    >>> example.words, example.words[example.head], example.label, example.pos
    (['He', 'took', 'place'], 'took', 'verb.change', 'verb')
    """
    for document, number, tokens in sentences:
        words = [part for token in tokens for part in token.parts]
        stop = 0
        for token in tokens:
            start, stop = stop, stop + len(token.parts)
            pos = (token.supersense or "").partition(".")[0]
            if pos in ("noun", "verb"):
                head = stop - 1 if pos == "noun" else start
                label = cast(str, token.supersense)
                # The lemma of a name is the kind of the name: it would give the label away.
                lemma = token.lemma if token.lemma and not token.name else token.item.lower()
                pos = cast(Literal["noun", "verb"], pos)
                yield SupersenseExample(words, head, label, pos, lemma, start, stop, document, number)


def _folder_files(folder: Path, sections: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for section in sections:
        for file in sorted((folder / section / "tagfiles").glob("br-*")):
            with open_bytes(file) as stream:
                yield os.fspath(file), stream.read()


def _archive_files(path: FilePath, sections: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The tag files in the order of the archive, which is read as a stream."""
    try:
        with open_bytes(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                *_, section, below, name = ("", "", *Path(member.name).parts)
                if section in sections and below == "tagfiles" and name.startswith("br-") and member.isfile():
                    file = archive.extractfile(member)
                    assert file is not None  # a plain file
                    yield f"{os.fspath(path)}/{member.name}", file.read()
    except tarfile.TarError:
        raise InputError(
            "not a tar archive", path=os.fspath(path), remedy="give SemCor's folder or archive"
        ) from None


def _sentences(path: str, text: bytes, encoding: str) -> Iterator[SemcorSentence]:
    try:
        lines = text.decode(encoding).split("\n")
    except UnicodeDecodeError as error:
        where = text.count(b"\n", 0, error.start) + 1
        raise InputError(f"not {encoding.upper()}", path=path, line=where) from None
    document, sentence = Path(path).name, None
    for number, line in enumerate(lines, start=1):
        line = line.strip()
        if match := _ELEMENT.fullmatch(line):
            if sentence is None:
                raise InputError("a word outside a sentence", path=path, line=number)
            sentence.tokens.append(_token(match, path, number))
        elif match := _SENTENCE.fullmatch(line):
            if sentence is not None:
                raise InputError("a sentence within a sentence", path=path, line=number)
            sentence = SemcorSentence(document, int(match[1]), [])
        elif line == "</s>" and sentence is not None:
            yield sentence
            sentence = None
        elif match := _DOCUMENT.fullmatch(line):
            document = match[1]
        elif line and not _MARKUP.fullmatch(line):
            raise InputError(f"not SemCor markup: {line[:40]!r}", path=path, line=number)
    if sentence is not None:
        raise InputError("the last sentence has no end", path=path, line=len(lines))


def _token(match: re.Match[str], path: str, line: int) -> SemcorToken:
    kind, attributes, item = match.groups()
    if kind == "punc":
        return SemcorToken(item)
    values = dict(pair.split("=", 1) for pair in attributes.split())
    supersense = None
    if "lexsn" in values:
        sense = _SENSE.match(values["lexsn"])
        if sense is None or int(sense[1]) >= len(SUPERSENSES):
            raise InputError(f"{values['lexsn']!r} is not a sense key", path=path, line=line)
        supersense = SUPERSENSES[int(sense[1])]
    return SemcorToken(item, values.get("pos"), values.get("lemma"), supersense, values.get("pn"))
