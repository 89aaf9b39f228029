"""Settings that word classes and embeddings share: the vocabulary, and the tests of word similarity."""

from __future__ import annotations

from typing import Annotated, Literal

from spinney.settings import COUNT, DATA, OUTPUT, AtLeast, File, Repeated, Settings
from spinney.settings.declared import settings_dataclass as dataclass
from spinney.settings.text import TrainingText

Comparing = Literal[
    "hellinger", "bhattacharyya", "jensen-shannon", "chi2", "kl", "cosine", "dot", "euclidean"
]

Linkage = Literal["complete", "average", "single"]


@dataclass(frozen=True, kw_only=True)
class KnownWords(TrainingText):
    """Which words there are."""

    panel = DATA
    min_count: Annotated[int, AtLeast(1), COUNT, "Rarer words become the unknown word."] = 1
    max_words: Annotated[int | None, AtLeast(2), COUNT, "Keep only this many of the most frequent words."] = (
        None
    )
    unknown: Annotated[str, "The unknown word; empty for none."] = "<unk>"


@dataclass(frozen=True, kw_only=True)
class WordTests(Settings):
    """What words are compared with."""

    panel = OUTPUT
    similarity: Annotated[tuple[str, ...], Repeated, File, "Word pairs with human similarity scores."] = ()
    categories: Annotated[tuple[str, ...], Repeated, File, "CSV file of words and their categories."] = ()
    level: Annotated[
        int | None,
        AtLeast(0),
        COUNT,
        "Which part of a compound category such as communication-cognition to use.",
    ] = None
    pos: Annotated[
        Literal["auto", "any", "noun", "verb", "adj", "adv", "propn"],
        "Categories: part of speech of their words, if the vocabulary has them; auto takes the commonest.",
    ] = "auto"
    linkage: Annotated[
        Linkage, "Categories: how far apart clusters are: as their farthest words, their mean, their nearest."
    ] = "complete"

    def check(self) -> None:
        super().check()
        if not self.categories:
            self.no_effect("level", "pos", "linkage", when="without {categories}")
