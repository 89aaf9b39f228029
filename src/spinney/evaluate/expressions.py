"""A word with its dependents, as composition takes it, whatever set it is from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Dependent(NamedTuple):
    """A word below another: its part of speech, its relation (of Universal Dependencies), whether it comes first."""

    word: str
    pos: str
    relation: str
    precedes: bool = True


class Expression(Protocol):
    """A head with its dependents; those that precede it come first."""

    @property
    def head_word(self) -> tuple[str, str]:
        """The head and its part of speech."""

    @property
    def dependents(self) -> Sequence[Dependent]:
        """The words below the head."""


class Compared(Protocol):
    """Two expressions that people have compared."""

    @property
    def first(self) -> Expression:
        """One of them."""

    @property
    def second(self) -> Expression:
        """The other."""

    @property
    def score(self) -> float:
        """How alike people find them."""
