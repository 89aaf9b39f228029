"""Pattern files for common tasks, ready to use or to start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from spinney.errors import unknown_choice
from spinney.structure import WordVectors
from spinney.tagging.patterns import Structure

StructureKind = Literal["classes", "paths", "vectors"]

_CHUNK = """\
# Chunking: word, part of speech. The patterns of CRF++ for CoNLL-2000.
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]

U10:%x[-2,1]
U11:%x[-1,1]
U12:%x[0,1]
U13:%x[1,1]
U14:%x[2,1]
U15:%x[-2,1]/%x[-1,1]
U16:%x[-1,1]/%x[0,1]
U17:%x[0,1]/%x[1,1]
U18:%x[1,1]/%x[2,1]

U20:%x[-2,1]/%x[-1,1]/%x[0,1]
U21:%x[-1,1]/%x[0,1]/%x[1,1]
U22:%x[0,1]/%x[1,1]/%x[2,1]

B
"""

_WORD_FORM = """\
# The form of the word, for words never seen in training.
Uprefix1:%prefix[0,0,1]
Uprefix2:%prefix[0,0,2]
Uprefix3:%prefix[0,0,3]
Uprefix4:%prefix[0,0,4]
Usuffix1:%suffix[0,0,1]
Usuffix2:%suffix[0,0,2]
Usuffix3:%suffix[0,0,3]
Usuffix4:%suffix[0,0,4]
Ushape:%shape[0,0]
Uflags:%t[0,0,"^\\u"]/%t[0,0,"\\d"]/%t[0,0,"-"]/%t[0,0,"\\u.*\\u"]
"""

_NER = (
    """\
# Named entities: word, part of speech, chunk.
Uw-2:%x[-2,0]
Uw-1:%x[-1,0]
Uw:%x[0,0]
Uw+1:%x[1,0]
Uw+2:%x[2,0]
Ul-2:%lower[-2,0]
Ul-1:%lower[-1,0]
Ul:%lower[0,0]
Ul+1:%lower[1,0]
Ul+2:%lower[2,0]
Uw-1w:%x[-1,0]/%x[0,0]
Uww+1:%x[0,0]/%x[1,0]
Ul-2l-1:%lower[-2,0]/%lower[-1,0]
Ul+1l+2:%lower[1,0]/%lower[2,0]
# Words nearby, whatever their position.
Unear:%lower[-4,0]
Unear:%lower[-3,0]
Unear:%lower[-2,0]
Unear:%lower[-1,0]
Unear:%lower[1,0]
Unear:%lower[2,0]
Unear:%lower[3,0]
Unear:%lower[4,0]

Up-2:%x[-2,1]
Up-1:%x[-1,1]
Up:%x[0,1]
Up+1:%x[1,1]
Up+2:%x[2,1]
Up-1p:%x[-1,1]/%x[0,1]
Upp+1:%x[0,1]/%x[1,1]
Up-1pp+1:%x[-1,1]/%x[0,1]/%x[1,1]
Uc-1:%x[-1,2]
Uc:%x[0,2]
Uc+1:%x[1,2]

"""
    + _WORD_FORM
    + """\
Uprefix5:%prefix[0,0,5]
Usuffix5:%suffix[0,0,5]
Usuffix3-1:%suffix[-1,0,3]
Usuffix3+1:%suffix[1,0,3]

Us-2:%shape[-2,0]
Us-1:%shape[-1,0]
Us+1:%shape[1,0]
Us+2:%shape[2,0]
Us-1s:%shape[-1,0]/%shape[0,0]
Uss+1:%shape[0,0]/%shape[1,0]
Us-2s-1s:%shape[-2,0]/%shape[-1,0]/%shape[0,0]
Us-1ss+1:%shape[-1,0]/%shape[0,0]/%shape[1,0]
Uss+1s+2:%shape[0,0]/%shape[1,0]/%shape[2,0]
Ul-1s:%lower[-1,0]/%shape[0,0]
Usl+1:%shape[0,0]/%lower[1,0]
Ups:%x[0,1]/%shape[0,0]

# Capitals: all capitals, an initial, the first word of the sentence; digits, and their arrangement.
Ucapitals:%t[0,0,"^\\u+$"]
Uinitial:%t[0,0,"^\\u\\.$"]
Ufirst:%m[-1,0,"^_x-1$"]/%shape[0,0]
Uyear:%t[0,0,"^[12]\\d\\d\\d$"]
Unumber:%t[0,0,"^[\\d.,]*\\d$"]
Ustem:%m[0,0,"^[^-/.]{2,}(?=-)"]
Uhyphen:%m[0,0,"[^-]+$"]/%t[0,0,"-"]

B
"""
)

_POS = (
    """\
# Parts of speech: word.
Uw-2:%x[-2,0]
Uw-1:%x[-1,0]
Uw:%x[0,0]
Uw+1:%x[1,0]
Uw+2:%x[2,0]
Ul:%lower[0,0]
Uw-1w:%x[-1,0]/%x[0,0]
Uww+1:%x[0,0]/%x[1,0]
Uw-1w+1:%x[-1,0]/%x[1,0]

"""
    + _WORD_FORM
    + """\
Us-1:%shape[-1,0]
Us+1:%shape[1,0]
Usuffix2-1:%suffix[-1,0,2]
Usuffix3-1:%suffix[-1,0,3]
Usuffix2+1:%suffix[1,0,2]
Usuffix3+1:%suffix[1,0,3]

B
"""
)

_G2P = """\
# Letters to sounds: letter. Sokolovska's best patterns for Nettalk,
# (y,x-2,x-1,x+1,x+2) + (y',y,x-1,x+1) + (y,x) + (y',y,x), and longer windows.
*x:%x[0,0]
U-2-1+1+2:%x[-2,0]%x[-1,0]%x[1,0]%x[2,0]
B-1+1:%x[-1,0]%x[1,0]

U-4:%x[-4,0]
U-3:%x[-3,0]
U-2:%x[-2,0]
U-1:%x[-1,0]
U+1:%x[1,0]
U+2:%x[2,0]
U+3:%x[3,0]
U+4:%x[4,0]
U-1..0:%x[-1,0]%x[0,0]
U0..1:%x[0,0]%x[1,0]
U-2..0:%x[-2,0]%x[-1,0]%x[0,0]
U-1..1:%x[-1,0]%x[0,0]%x[1,0]
U0..2:%x[0,0]%x[1,0]%x[2,0]
U-3..0:%x[-3,0]%x[-2,0]%x[-1,0]%x[0,0]
U-2..1:%x[-2,0]%x[-1,0]%x[0,0]%x[1,0]
U-1..2:%x[-1,0]%x[0,0]%x[1,0]%x[2,0]
U0..3:%x[0,0]%x[1,0]%x[2,0]%x[3,0]
U-2..2:%x[-2,0]%x[-1,0]%x[0,0]%x[1,0]%x[2,0]
U-1..3:%x[-1,0]%x[0,0]%x[1,0]%x[2,0]%x[3,0]
U-3..1:%x[-3,0]%x[-2,0]%x[-1,0]%x[0,0]%x[1,0]
U-4..0:%x[-4,0]%x[-3,0]%x[-2,0]%x[-1,0]%x[0,0]
U0..4:%x[0,0]%x[1,0]%x[2,0]%x[3,0]%x[4,0]
U-3..3:%x[-3,0]%x[-2,0]%x[-1,0]%x[0,0]%x[1,0]%x[2,0]%x[3,0]

B
"""

#: Name of a task to the text of its pattern file.
PRESETS: dict[str, str] = {"chunk": _CHUNK, "ner": _NER, "pos": _POS, "g2p": _G2P}


def preset(
    name: str,
    structures: Mapping[str, StructureKind] | None = None,
    path_lengths: Sequence[int] = (4, 6, 10, 20),
) -> str:
    """The patterns of a task, and patterns for the structures of the word in column 0.

    Parameters
    ----------
    name
        ``"chunk"`` (columns word, part of speech), ``"ner"`` (word, part of speech, chunk), ``"pos"`` (word)
        or ``"g2p"`` (letter).
    structures
        The kind of each structure: see :func:`kind_of`. Classes and prefixes of their paths are used at the token and
        its two neighbours, vectors at the token alone.
    path_lengths
        The lengths of path prefixes, in bits.

    Examples
    --------
    >>> print(preset("chunk", {"brown": "paths"}, [4]).partition("Structures.")[2].strip())
    U-brown-class-1:%class[-1,0,brown]
    U-brown-path4-1:%path[-1,0,brown,4]
    U-brown-class+0:%class[0,0,brown]
    U-brown-path4+0:%path[0,0,brown,4]
    U-brown-class+1:%class[1,0,brown]
    U-brown-path4+1:%path[1,0,brown,4]
    """
    if name not in PRESETS:
        raise unknown_choice("preset must be", name, PRESETS)
    lines: list[str] = []
    for structure, kind in (structures or {}).items():
        if kind not in ("classes", "paths", "vectors"):
            raise unknown_choice("a structure must be", kind, ("classes", "paths", "vectors"))
        if kind == "vectors":
            lines.append(f"U-{structure}:%vector[0,0,{structure}]")
            continue
        for at in (-1, 0, 1):
            lines.append(f"U-{structure}-class{at:+d}:%class[{at},0,{structure}]")
            for length in path_lengths if kind == "paths" else ():
                lines.append(f"U-{structure}-path{length}{at:+d}:%path[{at},0,{structure},{length}]")
    return PRESETS[name] + ("\n# Structures.\n" + "\n".join(lines) + "\n" if lines else "")


def kind_of(structure: Structure) -> StructureKind:
    """The kind of a structure, for :func:`preset`.

    Examples
    --------
    >>> from spinney.structure import WordClasses
    >>> kind_of(WordClasses(["a"], [0], paths=["0"])), kind_of(WordClasses(["a"], [0]))
    ('paths', 'classes')
    """
    if isinstance(structure, WordVectors):
        return "vectors"
    return "classes" if structure.paths is None else "paths"
