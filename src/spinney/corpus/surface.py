"""The text of CoNLL-U sentences: the tokens that stand in it, and the white space between them.

White space is kept in MISC: ``SpaceAfter=No`` and, as UDPipe has it, ``SpacesAfter``, ``SpacesBefore`` and
``SpacesInToken``, whose values write a space as ``\\s``, a line end as ``\\n`` and ``|`` as ``\\p``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError

_ESCAPES = {" ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r", "|": "\\p", "\\": "\\\\"}
_ESCAPED = str.maketrans(_ESCAPES)
_MEANT = {escape: character for character, escape in _ESCAPES.items()}
_NEW = re.compile(r"#\s*new(par|doc)\b")


class SurfaceToken(NamedTuple):
    """A token of the text: its form and MISC, and its words, which are ``start`` to ``stop - 1`` counted from 0."""

    form: str
    misc: str
    start: int
    stop: int
    multiword: bool


def surface_tokens(sentence: Sentence) -> list[SurfaceToken]:
    """The tokens of a sentence as its text has them; empty nodes, which the text has not, are left out.

    Examples
    --------
    >>> sentence = Sentence(["σε", "το", "σπίτι"], extras=[(0, "1-2\\tστο" + "\\t_" * 8)])
    >>> [(token.form, sentence.forms[token.start : token.stop]) for token in surface_tokens(sentence)]
    [('στο', ['σε', 'το']), ('σπίτι', ['σπίτι'])]
    """
    tokens: list[SurfaceToken] = []
    words, misc = sentence.forms, sentence.misc or ["_"] * len(sentence.forms)
    done = 0
    for before, line in sentence.extras:
        fields = line.split("\t")
        last = fields[0].partition("-")[2]
        if not last:
            continue
        if before < done or len(fields) != 10 or not done <= before < int(last) <= len(words):
            raise InputError(f"the multi-word token {fields[0]} is out of place or overlaps another")
        tokens += map(SurfaceToken, words[done:before], misc[done:before], *_singles(done, before))
        tokens.append(SurfaceToken(fields[1], fields[9], before, int(last), True))
        done = int(last)
    tokens += map(SurfaceToken, words[done:], misc[done:], *_singles(done, len(words)))
    return tokens


def _singles(start: int, stop: int) -> tuple[range, range, list[bool]]:
    return range(start, stop), range(start + 1, stop + 1), [False] * (stop - start)


def paragraphs(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """The sentences in paragraphs, each of which begins with a comment ``# newpar`` or ``# newdoc``.

    Examples
    --------
    >>> text = [Sentence(["a"]), Sentence(["b"]), Sentence(["c"], comments=["# newpar"])]
    >>> [[sentence.forms[0] for sentence in paragraph] for paragraph in paragraphs(text)]
    [['a', 'b'], ['c']]
    """
    paragraph: list[Sentence] = []
    for sentence in sentences:
        if paragraph and any(map(_NEW.match, sentence.comments)):
            yield paragraph
            paragraph = []
        paragraph.append(sentence)
    if paragraph:
        yield paragraph


def raw_text(sentences: Iterable[Sentence]) -> str:
    """The text of a treebank as one would have typed it: a blank line between paragraphs, else a space or nothing.

    Whatever white space a treebank records is one space here, so that texts of different treebanks are alike.

    Examples
    --------
    >>> raw_text([Sentence(["No", "!"], misc=["SpaceAfter=No", "_"]), Sentence(["Yes"])])
    'No! Yes\\n'
    """
    texts = []
    for paragraph in paragraphs(sentences):
        tokens = (token for sentence in paragraph for token in surface_tokens(sentence))
        pieces = [token.form + (" " if space_after(token.misc) else "") for token in tokens]
        texts.append("".join(pieces).rstrip(" "))
    return "\n\n".join(texts) + "\n" if texts else ""


def original_text(sentences: Iterable[Sentence]) -> str:
    """The text of sentences with exactly the white space that their MISC records.

    Examples
    --------
    >>> original_text([Sentence(["No", "!"], misc=["SpaceAfter=No", "SpacesAfter=\\\\n\\\\n"]), Sentence(["Yes"])])
    'No!\\n\\nYes '
    """
    pieces: list[str] = []
    for token in (token for sentence in sentences for token in surface_tokens(sentence)):
        pieces += spelling(token)
    return "".join(pieces)


def spelling(token: SurfaceToken) -> tuple[str, str, str]:
    """The white space before a token, the token as the text has it, and the white space after it.

    Examples
    --------
    >>> spelling(SurfaceToken("10 000", "SpacesInToken=10\\\\n000|SpaceAfter=No", 0, 1, False))
    ('', '10\\n000', '')
    """
    form = _noted(token.misc, "SpacesInToken=") or token.form
    return _noted(token.misc, "SpacesBefore="), form, space_after(token.misc)


def space_after(misc: str) -> str:
    """The white space after a token, by its MISC.

    Examples
    --------
    >>> space_after("_"), space_after("Gloss=no|SpaceAfter=No"), space_after("SpacesAfter=\\\\s\\\\n")
    (' ', '', ' \\n')
    """
    if "Space" not in misc:
        return " "
    if "SpaceAfter=No" in misc.split("|"):
        return ""
    return _noted(misc, "SpacesAfter=") or " "


def spacing(after: str, before: str = "", inside: str = "") -> str:
    """What MISC records of white space: the inverse of :func:`original_text`; ``inside`` is the token as it was.

    Examples
    --------
    >>> spacing(" "), spacing(""), spacing("\\n", before="  ")
    ('_', 'SpaceAfter=No', 'SpacesBefore=\\\\s\\\\s|SpacesAfter=\\\\n')
    """
    if after == " " and not before and not inside:
        return "_"
    noted = [
        f"{name}={text.translate(_ESCAPED)}"
        for name, text in (("SpacesBefore", before), ("SpacesInToken", inside))
        if text
    ]
    if after != " ":
        noted.append(f"SpacesAfter={after.translate(_ESCAPED)}" if after else "SpaceAfter=No")
    return "|".join(noted)


def _noted(misc: str, name: str) -> str:
    """The text that MISC has under a name, with what its escapes mean; nothing if there is none."""
    for field in misc.split("|") if name in misc else ():
        if field.startswith(name):
            value = field[len(name) :]
            return re.sub(r"\\.", lambda escape: _MEANT.get(escape[0], escape[0]), value)
    return ""
