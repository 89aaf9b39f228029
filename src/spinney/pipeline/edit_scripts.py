"""Edit scripts: what turns a word into its lemma, said so that it applies to other words too.

A script first changes the case of the word, then its letters, by an edit tree (Chrupała 2008): the longest piece that
word and lemma share stays, and what is before it and after it is edited in the same way, down to pieces that share
nothing, of which one replaces the other. The tree says how long the pieces before and after are, and never how long the
piece is that stays: ``walked`` → ``walk`` and ``talked`` → ``talk`` have the same script.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

#: An edit tree: nothing is left to do; one piece replaces another; or what is left and right of a piece that stays.
Tree = None | tuple[str, str] | tuple[int, int, "Tree", "Tree"]
#: A change of case by name, and an edit tree.
Script = tuple[str, Tree]

#: Changes of case, in the order in which they are preferred: most lemmas are in lower case.
CASES: Final[dict[str, Callable[[str], str]]] = {
    "lower": str.lower,
    "keep": lambda form: form,
    "first": lambda form: form[:1].upper() + form[1:].lower(),
    "upper": str.upper,
}
#: Longer pieces are replaced whole: to compare all their places would take too long.
LONGEST = 100
_DEEPEST = 64


def script_of(form: str, lemma: str) -> Script:
    """The shortest script that turns ``form`` into ``lemma``; there always is one.

    Examples
    --------
    >>> script_of("Walked", "walk"), script_of("gelaufen", "laufen")
    (('lower', (0, 2, None, ('ed', ''))), ('lower', (2, 0, ('ge', ''), None)))
    >>> script_of("Londons", "London")
    ('keep', (0, 1, None, ('s', '')))
    """
    trees = {case: edit_tree(change(form), lemma) for case, change in CASES.items()}
    best = min(trees, key=lambda case: _cost(trees[case]))
    return best, trees[best]


def edit_tree(source: str, target: str) -> Tree:
    """The edit tree that turns one string into another.

    Examples
    --------
    >>> edit_tree("talked", "talk"), edit_tree("ab", "ab"), edit_tree("a", "b"), edit_tree("", "")
    ((0, 2, None, ('ed', '')), (0, 0, None, None), ('a', 'b'), None)
    """
    if not source and not target:
        return None
    i, j, length = _longest_common(source, target)
    if not length:
        return source, target
    left = edit_tree(source[:i], target[:j])
    right = edit_tree(source[i + length :], target[j + length :])
    return i, len(source) - i - length, left, right


def apply_script(script: Script, form: str) -> str | None:
    """What a script makes of a word; None where it does not apply.

    Examples
    --------
    >>> walked = script_of("walked", "walk")
    >>> apply_script(walked, "Talked"), apply_script(walked, "talks"), apply_script(walked, "ed")
    ('talk', None, None)
    """
    case, tree = script
    return _edited(tree, CASES[case](form))


def _edited(tree: Tree, text: str) -> str | None:
    if tree is None:
        return None if text else ""
    if len(tree) == 2:
        return tree[1] if text == tree[0] else None
    left_length, right_length, left, right = tree
    end = len(text) - right_length
    if left_length >= end:  # something must stay
        return None
    before = _edited(left, text[:left_length])
    if before is None:
        return None
    after = _edited(right, text[end:])
    return None if after is None else before + text[left_length:end] + after


def _cost(tree: Tree) -> int:
    """The letters that are taken away or added."""
    if tree is None:
        return 0
    if len(tree) == 2:
        return len(tree[0]) + len(tree[1])
    return _cost(tree[2]) + _cost(tree[3])


def _longest_common(a: str, b: str) -> tuple[int, int, int]:
    """Where the longest common piece of two strings begins in each of them, and its length; the first, if several."""
    if max(len(a), len(b)) > LONGEST:
        return (0, 0, len(a)) if a == b else (0, 0, 0)
    best = (0, 0, 0)
    lengths = [0] * (len(b) + 1)
    for i, letter in enumerate(a):
        diagonal = 0
        for j, other in enumerate(b):
            diagonal, lengths[j + 1] = lengths[j + 1], diagonal + 1 if letter == other else 0
            if lengths[j + 1] > best[2]:
                length = lengths[j + 1]
                best = (i - length + 1, j - length + 1, length)
    return best


# ------------------------------------------------------------------------------------- in files and in words


def written(script: Script) -> str:
    """A script as text, for a file.

    Examples
    --------
    >>> written(script_of("walked", "walk")), read(written(script_of("walked", "walk"))) == script_of("walked", "walk")
    ('["lower", [0, 2, null, ["ed", ""]]]', True)
    """
    return json.dumps(script, ensure_ascii=False)


def read(text: str) -> Script:
    """The script that :func:`written` wrote; a ValueError for any other text."""
    try:
        case, tree = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"not an edit script: {text[:40]!r}") from None
    if not isinstance(case, str) or case not in CASES:
        raise ValueError(f"not an edit script: {text[:40]!r}")
    return case, _checked(tree, 0)


def _checked(tree: Any, depth: int) -> Tree:
    match tree:
        case None:
            return None
        case [str(old), str(new)]:
            return old, new
        case [int(left), int(right), before, after] if (
            left >= 0 and right >= 0 and depth < LONGEST + _DEEPEST
        ):
            return left, right, _checked(before, depth + 1), _checked(after, depth + 1)
    raise ValueError("not an edit script: its tree is damaged")


def in_words(script: Script) -> str:
    """A script as people read it: what is taken away and what is added, ``…`` stands for what stays.

    Examples
    --------
    >>> in_words(script_of("Walked", "walk")), in_words(script_of("dog", "dog")), in_words(script_of("IBM's", "IBM"))
    ('…ed → …', 'as it is, in lower case', "…'s → …, case kept")
    """
    case, tree = script
    old, new = _sides(tree)
    cases = {
        "lower": "",
        "keep": ", case kept",
        "first": ", first letter upper case",
        "upper": ", upper case",
    }
    if old == new == "…":
        return "as it is" + (cases[case] or ", in lower case")
    return f"{old or '∅'} → {new or '∅'}{cases[case]}"


def _sides(tree: Tree) -> tuple[str, str]:
    if tree is None:
        return "", ""
    if len(tree) == 2:
        return tree[0], tree[1]
    left, right = _sides(tree[2]), _sides(tree[3])
    return f"{left[0]}…{right[0]}", f"{left[1]}…{right[1]}"
