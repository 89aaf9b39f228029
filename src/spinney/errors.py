"""The errors a user can meet.

Each is one line that says where (file and line), what, and the remedy. The command line prints that line
and exits with code 2; anything else that escapes is a fault of ours and exits with 1.
"""

from __future__ import annotations

from pathlib import Path


class SpinneyError(Exception):
    """Base of every error that the user can cause and mend."""


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
    """An option or parameter out of its range, or two that do not go together."""


class ModelFileError(InputError):
    """A model file that is truncated, foreign, newer than this version, or hostile."""


class NotFittedError(SpinneyError, AttributeError):
    """A model was asked to predict before it was fitted."""
