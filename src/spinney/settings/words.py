"""Settings of what compares words, which word classes and embeddings share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from spinney.settings import OUTPUT, AtLeast, File, Repeated, Settings

Comparing = Literal[
    "hellinger", "bhattacharyya", "jensen-shannon", "chi2", "kl", "cosine", "dot", "euclidean"
]


@dataclass(frozen=True, kw_only=True)
class WordTests(Settings):
    """What words are compared with."""

    panel = OUTPUT
    similarity: Annotated[
        tuple[str, ...], Repeated, File, "Pairs of words with scores that people gave."
    ] = ()
    categories: Annotated[tuple[str, ...], Repeated, File, "CSV file of words with their categories."] = ()
    level: Annotated[int | None, AtLeast(0), "Which part of categories such as communication-cognition."] = (
        None
    )
