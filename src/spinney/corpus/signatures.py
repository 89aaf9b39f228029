"""Classes of unknown words by their spelling."""

from __future__ import annotations

from typing import Final

#: The class of words without any known property; the names of all other classes begin with it.
UNKNOWN: Final = "UNK"

# English endings that indicate tags: the first match, in words that are long enough.
_ENDINGS = (
    *("ate", "ble", "est", "ing", "ion", "ity", "ive", "ize", "ous"),
    *("al", "ed", "en", "er", "ic", "ly", "y"),
)
_SHORTEST = 5
_NO_PLURAL = ("ss", "is", "us")  # glass, basis, status


def signature(word: str, first: bool) -> str:
    """The class of an unknown word, by its capitals, digits, hyphens and ending.

    As in the Berkeley parser (Petrov et al. 2006, after Klein and Manning 2003), with more endings: 69
    classes at most. They are designed for English; in other languages, the classes that do not depend on endings
    are still useful. In a script without capitals, a word of letters is ``UNK``.

    ===================  ==========================================================================
    ``UNK-NUM``          digits and what stands between them: 1,000; 3/4; 10:30
    ``UNK-PUNCT``        neither letters nor digits
    ``UNK-CAPS``         only capitals, and two of them at least: IBM
    ``UNK-INITC``        begins with a capital
    ``UNK-FIRSTC``       begins with a capital, and so does the sentence with it
    ``UNK-MIXED``        a capital further on: iPod
    ``UNK-LC``           no capitals
    ===================  ==========================================================================

    All but the first two go on with ``-NUM`` if there is a digit and ``-DASH`` if there is a hyphen inside. After
    ``LC``, ``FIRSTC`` and ``INITC`` may come the plural's ``-s``; after ``LC`` and ``FIRSTC``, if there are neither
    digits nor hyphens, also one of ``-ate -ble -est -ing -ion -ity -ive -ize -ous -al -ed -en -er -ic -ly -y``.

    Parameters
    ----------
    word
        Any string.
    first
        Whether the word begins the sentence, where a capital is less informative.

    Examples
    --------
    >>> [signature(word, False) for word in ("walking", "Dogs", "IBM", "1980s", "well-off", "3.14", "犬")]
    ['UNK-LC-ing', 'UNK-INITC-s', 'UNK-CAPS', 'UNK-LC-NUM-s', 'UNK-LC-DASH', 'UNK-NUM', 'UNK']
    >>> signature("Walking", True)
    'UNK-FIRSTC-ing'
    """
    letters = [c for c in word if c.isalpha()]
    digits = any(c.isdigit() for c in word)
    if not letters:
        return f"{UNKNOWN}-NUM" if digits else f"{UNKNOWN}-PUNCT"
    dash = "-" in word[1:-1]
    capitals = _capitals(word, letters, first)
    parts = [UNKNOWN, capitals, "NUM" if digits else "", "DASH" if dash else ""]
    if capitals in ("LC", "FIRSTC", "INITC"):
        parts.append(_ending(word.lower(), plural_only=digits or dash or capitals == "INITC"))
    return "-".join(filter(None, parts))


def _capitals(word: str, letters: list[str], first: bool) -> str:
    upper = sum(c.isupper() for c in letters)
    if upper == len(letters) > 1:
        return "CAPS"
    if word[0].isupper() or word[0].istitle():
        return "FIRSTC" if first else "INITC"
    if upper:
        return "MIXED"
    return "LC" if any(c.islower() for c in letters) else ""


def _ending(word: str, *, plural_only: bool) -> str:
    if not plural_only and len(word) >= _SHORTEST:
        for ending in _ENDINGS:
            if word.endswith(ending):
                return ending
    return "s" if word.endswith("s") and len(word) >= 3 and not word.endswith(_NO_PLURAL) else ""
