"""The result of clustering words: the classes, how well they predict each other, and facts about the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spinney.checking import whole
from spinney.classes.model import WordClassModel
from spinney.classes.pairs import PairCounts
from spinney.corpus import TokenArrays
from spinney.corpus.vocabulary import Vocabulary
from spinney.errors import InputError, OptionError
from spinney.files import ModelFile
from spinney.model import Contents
from spinney.structure import WordClasses
from spinney.structure.classviews import Floats


@dataclass(eq=False, repr=False)
class Clustering(WordClassModel):
    """Word classes learned from pairs of words; :func:`brown` and :func:`exchange` make them.

    Attributes
    ----------
    classes : WordClasses
        The class of each word; classes of a hierarchy are numbered in the order of their paths.
    class_pairs : array of int64 [classes, classes]
        How often each class is the parent of each other.
    class_roots : array of int64 [classes]
        How often each class has no parent: starts a sentence, or is the root of a tree.
    facts : dict
        The method and its options, the size of the data, the seconds that it took.

    Examples
    --------
    >>> from spinney.classes.brown import brown
    >>> from spinney.classes.pairs import pair_counts
    >>> from spinney.corpus import sentence_arrays
    >>> arrays = sentence_arrays([[a, b] for a in ("the", "a") for b in ("dog", "cat")])
    >>> clustering = brown(pair_counts(arrays), arrays.vocabulary, 2, root=True)
    >>> clustering
    Clustering(4 words, 2 classes, 0.0000 nats)
    >>> clustering.class_pairs
    array([[0, 4],
           [0, 0]])
    """

    classes: WordClasses
    class_pairs: NDArray[np.int64]
    class_roots: NDArray[np.int64]
    facts: dict[str, Any] = field(default_factory=dict)

    kind = "classes/Clustering"

    @property
    def ami(self) -> float:
        """The mutual information of the classes of a pair's words, in nats per pair."""
        return average_mutual_information(self.class_pairs)

    def __repr__(self) -> str:
        return (
            f"Clustering({len(self.classes):,} words, {self.classes.n_classes} classes, {self.ami:.4f} nats)"
        )

    def noting(self, reading: Mapping[str, Any]) -> Clustering:
        """The same clustering with a record of how its text was read, so that lower-cased classes cover capitals."""
        old = self.classes
        classes = WordClasses(
            old.words,
            old.ids,
            paths=old.paths,
            counts=old.counts,
            unknown=old.unknown,
            n_classes=old.n_classes,
            lowercase=reading.get("lowercase") is True,
        )
        return replace(self, classes=classes, facts={**self.facts, "reading": dict(reading)})

    def word_classes(self) -> WordClasses:
        """The class of each word."""
        return self.classes

    def transitions(self) -> Floats | None:
        """``[child, parent]``: how likely each class is after (in a tree: below) each other.

        Examples
        --------
        >>> from spinney.classes import brown, pair_counts
        >>> from spinney.corpus import sentence_arrays
        >>> arrays = sentence_arrays([[a, b] for a in ("the", "a") for b in ("dog", "cat")])
        >>> brown(pair_counts(arrays), arrays.vocabulary, 2, root=True).transitions()
        array([[0., 0.],
               [1., 0.]])
        """
        if not self.class_pairs.any():
            return None
        counts = self.class_pairs.T.astype(np.float64)
        total = counts.sum(axis=0)
        return counts / np.where(total > 0, total, 1.0)

    def held_out(self, text: TokenArrays, threads: int | None = None) -> dict[str, float]:
        """The log-likelihood of a text under bigrams of classes, and the mutual information of these."""
        from spinney.classes.bigrams import bigram_log_likelihood
        from spinney.classes.pairs import pair_counts

        pairs = pair_counts(text, tree=self.is_tree, threads=threads)
        ami = average_mutual_information(pairs.of_classes(self.classes.ids, self.classes.n_classes))
        return {"log_likelihood": bigram_log_likelihood(self, pairs), "ami": ami}

    def contents(self) -> Contents:
        """What the clustering keeps in its file."""
        tensors = {"class_pairs": self.class_pairs, "class_roots": self.class_roots}
        return Contents({"facts": self.facts}, tensors, parts={"classes": self.classes.parts()})

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The clustering that a file holds."""
        classes = WordClasses.from_parts(file.part("classes"))
        n = classes.n_classes
        class_pairs, class_roots = (
            file.tensor("class_pairs", np.int64, 2, low=0),
            file.tensor("class_roots", np.int64, low=0),
        )
        if class_pairs.shape != (n, n) or class_roots.shape != (n,):
            raise file.error("damaged: the counts do not match the classes")
        if class_pairs.sum(dtype=np.float64) + class_roots.sum(dtype=np.float64) > 2**53:
            raise file.error("damaged: there are more pairs than any text has")
        return cls(classes, class_pairs, class_roots, file.fact("facts", dict))


def average_mutual_information(class_pairs: NDArray[np.int64]) -> float:
    """Σ p(a, b) log [p(a, b) / (p(a) p(b))], in nats, of a table of counts.

    Examples
    --------
    >>> round(average_mutual_information(np.eye(4, dtype=np.int64)), 4), round(float(np.log(4)), 4)
    (1.3863, 1.3863)
    """
    counts = np.asarray(class_pairs, dtype=np.float64)
    total = counts.sum()
    if total == 0:
        return 0.0
    a, b = np.nonzero(counts)
    n = counts[a, b]
    return float(n @ np.log(n * total / (counts.sum(axis=1)[a] * counts.sum(axis=0)[b])) / total)


def check_sizes(pairs: PairCounts, vocabulary: Vocabulary, n_classes: int, root: bool) -> None:
    """Refuse what cannot be clustered."""
    if len(vocabulary) != pairs.n_words:
        what = f"the pairs are of {pairs.n_words} words, but the vocabulary has {len(vocabulary)}: use the same text"
        raise OptionError(what)
    whole("n_classes", n_classes, 2)
    if n_classes > pairs.n_words:
        what = f"{n_classes} classes for {pairs.n_words} words: ask for at most {pairs.n_words}"
        raise OptionError(what)
    if not pairs.n_distinct and not root:
        raise InputError("no two words are next to each other", remedy="are the sentences split into words?")


def make_clustering(
    pairs: PairCounts,
    vocabulary: Vocabulary,
    ids: NDArray[np.int32],
    paths: list[str] | None,
    n_classes: int,
    facts: Mapping[str, Any],
) -> Clustering:
    """Number the classes in the order of their paths and put all together."""
    if paths is not None:
        order = sorted(range(n_classes), key=paths.__getitem__)
        paths = [paths[i] for i in order]
        number = np.empty(n_classes, dtype=np.int32)
        number[order] = np.arange(n_classes, dtype=np.int32)
        ids = number[ids]
    place = None if vocabulary.unknown is None else vocabulary[vocabulary.unknown]
    # A symbol that stands for no word of the text fell into some class by chance.
    unknown = None if place is None or not pairs.counts[place] else int(ids[place])
    classes = WordClasses(
        vocabulary.words, ids, paths=paths, counts=pairs.counts, unknown=unknown, n_classes=n_classes
    )
    data = {
        "structure": "tree" if pairs.tree else "chain",
        "tokens": int(pairs.counts.sum()),
        "pairs": pairs.n_pairs,
        "words": pairs.n_words,
        "classes": n_classes,
    }
    class_pairs = pairs.of_classes(ids, n_classes)
    measured = {"ami": average_mutual_information(class_pairs)}
    class_roots = pairs.roots_of_classes(ids, n_classes)
    return Clustering(classes, class_pairs, class_roots, data | measured | dict(facts))
