"""The errors that a user can cause.

Each is one line that says where (file and line), what, and the remedy. The command line prints that line
and exits with code 2; any other exception is a bug in Spinney and exits with 1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029]")  # what ends a line, or steers a terminal
_LONGEST = 1000  # letters of a message
_LONGEST_NAME = 200  # longer words are not compared with known ones


def did_you_mean(word: object, known: Iterable[str], most: int = 1) -> str:
    """A question that suggests the known words most similar in spelling to ``word``; empty if none is similar.

    Examples
    --------
    >>> did_you_mean("bronw", ["brown", "exchange", "hmm"])
    'did you mean brown?'
    >>> did_you_mean("exch", ["brown", "exchange", "hmm"])
    'did you mean exchange?'
    >>> did_you_mean("lda", ["brown", "exchange", "hmm"])
    ''
    """
    from difflib import get_close_matches

    by_folded: dict[str, str] = {}
    for name in map(str, known):
        by_folded.setdefault(name.casefold(), name)
    given = str(word).casefold()
    if len(given) > _LONGEST_NAME:
        return ""  # nobody meant a name by this, and comparing it would take long
    begun = [name for name in by_folded if len(given) > 2 and name.startswith(given)]
    near = begun[:most] or get_close_matches(given, by_folded, n=most)
    return f"did you mean {', '.join(by_folded[name] for name in near)}?" if near else ""


def did_you_mean_file(path: str | os.PathLike[str]) -> str:
    """The remedy for a missing file: the most similar name in its folder, if there is a similar one.

    Examples
    --------
    >>> did_you_mean_file("/nowhere/train.txt")
    ''
    """
    folder, name = os.path.split(os.fspath(path).rstrip(os.sep))
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return ""
    meant = did_you_mean(name, (other for other in names if not other.startswith(".")))
    return meant.replace("did you mean ", f"did you mean {os.path.join(folder, '')}") if folder else meant


def one_line(text: str) -> str:
    """A message whatever is quoted in it: control characters are written as escapes, and long ones lose their middle.

    Examples
    --------
    >>> print(one_line("no file 'a\\nb'"))
    no file 'a\\nb'
    >>> len(one_line("x" * 100_000))
    1000
    """
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 201]} … {text[-198:]}"
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


class SpinneyError(Exception):
    """Base class of every error that the user can cause and correct.

    Its message is one line, whatever words and names of files are in it.

    Examples
    --------
    >>> print(SpinneyError("no column 'a\\nb'"))
    no column 'a\\nb'
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class InputError(SpinneyError, ValueError):
    """Bad data: an unreadable file, a malformed line, a label never seen.

    Examples
    --------
    >>> print(InputError("3 columns where line 1 has 4", path="train.txt", line=17, remedy="add the missing label"))
    train.txt:17: 3 columns where line 1 has 4 (add the missing label)
    """

    def __init__(
        self,
        what: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.what, self.path, self.line, self.remedy = what, path, line, remedy
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(f"{where}{what}" + (f" ({remedy})" if remedy else ""))


class OptionError(SpinneyError, ValueError):
    """An option or parameter that is out of range, or two that cannot be combined.

    If there are ``known`` names, the one most similar to the ``given`` one is suggested.

    Examples
    --------
    >>> print(OptionError("method must be brown or hmm, not 'bronw'", given="bronw", known=["brown", "hmm"]))
    method must be brown or hmm, not 'bronw' (did you mean brown?)
    """

    def __init__(self, what: str, *, given: object = None, known: Iterable[str] = ()) -> None:
        meant = did_you_mean(given, known) if isinstance(given, str) else ""
        super().__init__(what + (f" ({meant})" if meant else ""))


class SettingError(OptionError):
    """A setting that is out of range, or settings that cannot be combined.

    The text names settings in braces: the library shows them as parameters, the command line as options. The values of
    all other names in braces are given by keyword.

    Examples
    --------
    >>> error = SettingError("{max_iter} must be at least 1, not {value}", value=0)
    >>> print(error)
    max_iter must be at least 1, not 0
    >>> error.message(lambda name: "--" + name.replace("_", "-"))
    '--max-iter must be at least 1, not 0'
    """

    def __init__(self, what: str, **values: object) -> None:
        self.what, self.values = what, values
        super().__init__(self.message(str))

    def message(self, name_of: Callable[[str], str]) -> str:
        """The message, with each setting named by ``name_of``."""
        return self.what.format_map(_Names(self.values, name_of))


class _Names(dict[str, object]):
    def __init__(self, values: dict[str, object], name_of: Callable[[str], str]) -> None:
        super().__init__(values)
        self.name_of = name_of

    def __missing__(self, key: str) -> str:
        return self.name_of(key)


def shown(value: object, most: int = 80) -> str:
    """A value in a message: on one line, without control characters, and cut if it is long.

    Examples
    --------
    >>> shown("bronw"), shown("a" * 1000, most=10)
    ("'bronw'", "'aaaaaaaa…")
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def listed(names: Iterable[str], last: str) -> str:
    """Names as an enumeration in a sentence.

    Examples
    --------
    >>> listed(["csv", "tsv", "lines"], "or")
    'csv, tsv or lines'
    """
    *others, end = names
    return f"{', '.join(others)} {last} {end}" if others else end


def unknown_choice(what: str, given: object, known: Iterable[str]) -> OptionError:
    """The error for a value that is not one of the known ones.

    Examples
    --------
    >>> print(unknown_choice("method must be", "bronw", ["brown", "exchange", "hmm"]))
    method must be brown, exchange or hmm, not 'bronw' (did you mean brown?)
    """
    names = list(map(str, known))
    choices = ", ".join(names) if what.endswith("one of") else listed(names, "or")
    return OptionError(f"{what} {choices}, not {given!r}", given=given, known=names)


class ModelFileError(InputError):
    """A model file that is truncated, foreign, newer than this version, or hostile."""


class NotFittedError(SpinneyError, AttributeError):
    """A model was asked to predict before it was fitted."""


@contextmanager
def about(path: str) -> Iterator[None]:
    """Add the file to errors that do not name one: a model knows sentences, but not where they were read."""
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.what, path=path, line=error.line, remedy=error.remedy) from None
