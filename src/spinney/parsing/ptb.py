"""The spelling conventions of the Penn Treebank: brackets have names, quotes have a direction."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Final

#: The names of brackets, which cannot be used literally in bracketed trees.
BRACKETS: Final = {
    "(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-",
}  # fmt: skip

_ROUND = re.compile(r"[()]")
_MARKS: Final = BRACKETS | {
    "“": "``", "„": "``", "«": "``", "”": "''", "»": "''", "‘": "`", "’": "'", "–": "--", "—": "--", "…": "...",
}  # fmt: skip


def bracket_words(words: Sequence[str]) -> list[str]:
    """Words for use in a tree: round brackets are written ``-LRB-`` and ``-RRB-``.

    Examples
    --------
    >>> bracket_words(["(", "f(x)", "[", "-LRB-"])
    ['-LRB-', 'f-LRB-x-RRB-', '[', '-LRB-']
    """
    return [_ROUND.sub(lambda match: BRACKETS[match[0]], word) for word in words]


def treebank_words(words: Sequence[str], known: Container[str] = frozenset()) -> list[str]:
    """The words of a sentence as the Penn Treebank writes them; their number stays the same.

    All brackets get their names, ``"`` becomes `````` `` `````` or ``''``, and typographic quotes, apostrophes, dashes
    and dots become what a typewriter has. Of straight quotes the first opens, the next closes and so on; but where
    their number is odd and the sentence ends with one, the first closes what an earlier sentence opened.

    Parameters
    ----------
    words
        A tokenised sentence.
    known
        Words that are kept if they can be used in a tree: those of the parser's treebank, which may have other
        conventions.

    Examples
    --------
    >>> print(*treebank_words('" It ’s ( nearly ) done " , he said —'.split()))
    `` It 's -LRB- nearly -RRB- done '' , he said --
    >>> treebank_words(['"', "—", "("], known={'"'})
    ['"', '--', '-LRB-']
    """
    inside = words.count('"') % 2 == 1 and words[-1] == '"' and words[0] != '"'
    found = []
    for word in words:
        if word in known:
            written = word
        elif word == '"':
            written = "''" if inside else "``"
            inside = not inside
        else:
            written = _MARKS.get(word, word.replace("’", "'"))
        found.append(written)
    return bracket_words(found)
