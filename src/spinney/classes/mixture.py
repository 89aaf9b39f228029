"""Soft classes of words, each between a word and the one before it: mixtures of pairs (Saul and Pereira 1997)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spinney.classes.model import Cells, WordClassModel
from spinney.classes.pairs import PairCounts
from spinney.classes.representations import cell
from spinney.corpus import TokenArrays, Vocabulary
from spinney.corpus.text import Reading, Tokens, batch_arrays
from spinney.files import ModelFile
from spinney.inference.pair_mixture import fit_pairs
from spinney.model import Contents, Structures
from spinney.structure import WordClasses, WordVectors
from spinney.structure.classviews import Floats
from spinney.structure.words import largest


@dataclass(eq=False, repr=False)
class PairClasses(WordClassModel):
    """Classes of which a word has several: p(word | word before) = Σ_h p(h | word before) p(word | h).

    The word before is, in trees, the head; the first word of a sentence, or its root, follows the start. Brown
    clusters are the same with one class for each word. :func:`learn_pairs` makes them.

    Attributes
    ----------
    vocabulary_ : Vocabulary
    following : array [words + 1, classes]
        p(h | word before); the last row is that after the start. Zeros where nothing ever follows a word.
    emission : array [words, classes]
        p(word | h), whose columns sum to 1.
    shares : array [classes]
        p(h), falling.
    interpolation : float
        The weight of the frequencies of words in the probability of a text.

    Examples
    --------
    >>> from spinney.classes import fit
    >>> text = [[a, b] for a in ("the", "a") for b in ("dog", "cat")] * 5
    >>> model = fit(text, method="pairs", classes=2)
    >>> sorted(sorted(word for word, _ in some) for some in model.class_words([0, 1], 2))
    [['a', 'the'], ['cat', 'dog']]
    """

    vocabulary_: Vocabulary
    following: Floats
    emission: Floats
    shares: Floats
    interpolation: float = 0.05
    facts: dict[str, Any] = field(default_factory=dict)

    kind = "classes/PairClasses"

    def __repr__(self) -> str:
        return f"PairClasses({len(self.vocabulary_):,} words, {len(self.shares)} classes)"

    def posteriors(self) -> Floats:
        """``[words, classes]``: p(h | word), whatever the word before."""
        joint = self.emission * self.shares
        return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(float).tiny))

    def word_classes(self) -> WordClasses:
        """The likeliest class of each word."""
        known, ids = self.vocabulary_, self.posteriors().argmax(axis=1)
        place = None if known.unknown is None else known[known.unknown]
        unknown = None if place is None or not known.counts[place] else int(ids[place])
        return WordClasses(
            known.words, ids, counts=known.counts, unknown=unknown, n_classes=len(self.shares),
            lowercase=self._lowercase,
        )  # fmt: skip

    def word_vectors(self) -> WordVectors:
        """p(h | word), for each word that was seen."""
        seen = [word for word, n in zip(self.vocabulary_.words, self.vocabulary_.counts.tolist()) if n]
        rows = self.posteriors()[self.vocabulary_.counts > 0].astype(np.float32)
        return WordVectors(seen, rows, lowercase=self._lowercase)

    @property
    def _lowercase(self) -> bool:
        reading = self.facts.get("reading")
        return isinstance(reading, dict) and reading.get("lowercase") is True

    def structures(self) -> Structures:
        """What other models can use: word classes, and p(class | word) as word vectors."""
        return Structures(classes=self.word_classes, vectors=self.word_vectors)

    def comparable_vectors(self) -> WordVectors:
        """p(h | word): words are compared by their classes."""
        return self.word_vectors()

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that it knows, with how often each was seen."""
        return self.vocabulary_

    def class_shares(self) -> Floats:
        """p(h)."""
        return self.shares

    def class_words(self, numbers: Sequence[int], top: int) -> list[list[tuple[str, float]]]:
        """The likeliest words of each of some classes, p(word | h)."""
        columns = [np.ascontiguousarray(self.emission[:, h]) for h in numbers]
        return [
            [(self.vocabulary_.words[i], float(p[i])) for i in largest(p, top) if p[i] > 0] for p in columns
        ]

    def classes_of_word(self, word: str, least: float = 0.01) -> list[tuple[int, float]]:
        """The classes of a word with the share of each in its tokens, largest first."""
        row = self.posteriors()[self.vocabulary_[word]]
        order = largest(row, len(row))
        return [(h, float(row[h])) for h in order if row[h] >= least or h == order[0]]

    def cells(self, what: str, top: int, reading: Reading, roots: bool = False) -> Cells:
        """What writes the likeliest class of each word, or with ``type`` the probabilities of several."""
        if what != "type":
            return super().cells(what, top, reading)
        rows, known = self.posteriors(), self.vocabulary_

        def of_words(batch: Sequence[Tokens]) -> list[str]:
            ids = batch_arrays(batch, known, reading).ids
            return [cell(row, top, roots=roots) for row in rows[ids]]

        return of_words

    def transitions(self) -> Floats:
        """``[child, parent]``: how likely each class is after (in a tree: below) a word of each other."""
        law = self.following[:-1].T @ self.emission
        total = law.sum(axis=0)
        never = total < 1e-9  # but for rounding, nothing follows the words of the class
        return np.asarray(np.where(never, 0.0, law / np.where(never, 1.0, total)))

    def held_out(self, text: TokenArrays, threads: int | None = None) -> dict[str, float]:
        """The log-likelihood of a text: each word given the one before it, or its head."""
        from spinney.classes.pairs import pair_counts

        counts = with_start(pair_counts(text, tree=self.is_tree, threads=threads)).tocoo()
        joint = np.einsum("ij,ij->i", self.following[counts.row], self.emission[counts.col])
        seen = self.vocabulary_.counts + 0.5
        share = np.where(self.following.any(axis=1), self.interpolation, 1.0)[counts.row]
        law = (1 - share) * joint + share * (seen / seen.sum())[counts.col]
        with np.errstate(divide="ignore"):
            return {"log_likelihood": float(counts.data @ np.log(law))}

    def contents(self) -> Contents:
        """What the model keeps in its file."""
        header = {
            "facts": self.facts,
            "unknown": self.vocabulary_.unknown,
            "interpolation": self.interpolation,
        }
        tensors: dict[str, NDArray[Any]] = {
            "counts": self.vocabulary_.counts,
            "following": self.following.astype(np.float32),
            "emission": self.emission.astype(np.float32),
            "shares": self.shares,
        }
        return Contents(header, tensors, {"words": self.vocabulary_.words})

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The model that a file holds."""
        with file.checked():
            counts = file.tensor("counts", np.int64, low=0)
            words = Vocabulary(tuple(file.texts("words")), counts, file.header.get("unknown"))
        laws = [
            file.tensor(name, dtype, ndim, low=0, high=1.001).astype(np.float64)
            for name, dtype, ndim in (
                ("following", np.float32, 2), ("emission", np.float32, 2), ("shares", np.float64, 1)
            )
        ]  # fmt: skip
        following, emission, shares = laws
        n, h = len(words), len(shares)
        interpolation = file.fact("interpolation", float)
        if not h or not n or following.shape != (n + 1, h) or emission.shape != (n, h):
            raise file.error("damaged: its numbers of words and classes do not match")
        sums = [emission.sum(axis=0), shares.sum(), following.sum(axis=1)[following.any(axis=1)]]
        if not 0 <= interpolation < 1 or not all(np.allclose(one, 1.0, atol=1e-3) for one in sums):
            raise file.error("damaged: its probabilities are none")
        return cls(words, following, emission, shares, interpolation, file.fact("facts", dict))


def with_start(pairs: PairCounts) -> Any:
    """Counts of pairs as a sparse matrix [word before, word], with a last row for the start of sentences."""
    from scipy.sparse import csr_array, vstack

    n, (indptr, indices, counts) = pairs.n_words, pairs.children
    after_words = csr_array((counts, indices, indptr), shape=(n, n))
    return vstack([after_words, csr_array(pairs.roots[None])], format="csr")


def learn_pairs(
    pairs: PairCounts,
    vocabulary: Vocabulary,
    n_classes: int,
    *,
    passes: int = 100,
    tol: float = 1e-5,
    restarts: int = 3,
    interpolation: float = 0.05,
    reading: Mapping[str, Any] | None = None,
    threads: int | None = None,
    random_state: int = 0,
) -> PairClasses:
    """Soft classes from pairs of words, by EM from random starts.

    See :func:`spinney.inference.pair_mixture.fit_pairs` for ``passes``, ``tol`` and ``restarts``.

    Examples
    --------
    >>> from spinney.classes import pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = sentence_arrays([["the", "dog"], ["the", "cat"]] * 10)
    >>> learn_pairs(pair_counts(arrays), arrays.vocabulary, 2)
    PairClasses(3 words, 2 classes)
    """
    started = time.perf_counter()
    found = fit_pairs(
        with_start(pairs), n_classes, passes=passes, tol=tol, restarts=restarts, threads=threads,
        random_state=random_state,
    )  # fmt: skip
    following = found.given_first()
    tokens = int(pairs.counts.sum())
    # Every token is the second of one pair: Σ n log p(y|x) = Σ n log p(x, y) - Σ n(x) log p(x).
    before = np.asarray(with_start(pairs).sum(axis=1), np.float64)
    before = before[before > 0]
    value = (found.trace[-1] - float(before @ np.log(before / tokens))) / tokens
    facts = {
        "method": "pairs",
        "structure": "tree" if pairs.tree else "chain",
        "tokens": tokens,
        "pairs": pairs.n_pairs,
        "words": pairs.n_words,
        "classes": n_classes,
        "passes": len(found.trace),
        "log_likelihood": value,
        "perplexity": float(np.exp(-value)),
        "parameters": int(following.size + found.second.size),
        "seconds": time.perf_counter() - started,
        "reading": dict(reading or {}),
    }
    if found.interrupted:
        facts["interrupted"] = True
    return PairClasses(vocabulary, following, found.second, found.weights, interpolation, facts)
