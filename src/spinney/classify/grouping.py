"""Groups of words from linguistic structure: sentences, constituents, documents, clusters, neighbours, topics.

Yogatama (2015), chapter 5: words that occur together are kept or dropped together. Each function returns groups
over the columns of fitted :class:`TextFeatures`, for group penalties. All take

``weights``
    ``"sqrt"`` for the square root of each group's size, or ``"unit"``.
``merge``
    Whether groups with the same members are merged, with the sum of their weights, which gives the same penalty.
``min_size``
    Groups with fewer features are dropped. Features in no group are not penalised by groups; an additional ℓ1
    penalty (as in ``sparse-group``) covers them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.brackets import Tree
from spinney.corpus.text_features import TextFeatures
from spinney.errors import OptionError
from spinney.structure import Groups, WordClasses, WordVectors

GroupWeights = Literal["sqrt", "unit"]

_TEXTS_AT_ONCE = 1 << 16
_LONGEST_NAME = 160
_WORDS_NAMED = 5


# -- texts and their parts ----------------------------------------------------------------------------------------


def sentence_groups(
    texts: Iterable[str | Sequence[str]],
    features: TextFeatures,
    *,
    weights: GroupWeights = "sqrt",
    merge: bool = True,
    min_size: int = 2,
) -> Groups:
    """One group per sentence of each text: the features that occur in it, including n-grams. Its name is the sentence.

    Parameters
    ----------
    texts
        Documents, to be split by :meth:`TextFeatures.sentences_of`, or lists of sentences.

    Examples
    --------
    >>> texts = ["The plot is thin. The actors shine!", "The plot is thin."]
    >>> features = TextFeatures("counts")
    >>> _ = features.fit_transform(texts)
    >>> groups = sentence_groups(texts, features)
    >>> groups.names, [[features.names[j] for j in group] for group in groups]
    (['The plot is thin. (×2)', 'The actors shine!'], [['is', 'plot', 'the', 'thin'], ['actors', 'shine', 'the']])
    >>> groups.weights
    array([4.        , 1.73205081])
    """
    documents = (features.sentences_of(text) if isinstance(text, str) else text for text in texts)
    sentences = ((sentence, sentence) for document in documents for sentence in document)
    return _text_groups(sentences, features, weights, merge, min_size)


def constituent_groups(
    trees: Iterable[Tree],
    features: TextFeatures,
    *,
    keep: Callable[[str], bool] | Container[str] | None = None,
    weights: GroupWeights = "sqrt",
    merge: bool = True,
    min_size: int = 2,
) -> Groups:
    """One group per constituent of each tree, including the whole tree: the features that occur in it.

    Its name is its label and its words. The unlabelled bracket around a Penn Treebank tree is not a constituent.
    ``TextFeatures(tokens="spaces")``, for text whose tokens are joined by spaces, matches the leaves of trees.

    Parameters
    ----------
    keep
        A set of labels, or a predicate on labels, that selects constituents; default: all. In the Stanford
        Sentiment Treebank ``"2"`` is neutral.

    Examples
    --------
    >>> tree = Tree.parse("(S (NP (DT The) (NNS actors)) (VP (VBP are) (JJ fantastic)))")
    >>> features = TextFeatures("counts", tokens="spaces")
    >>> _ = features.fit_transform([" ".join(tree.leaves())])
    >>> constituent_groups([tree], features).names
    ['S: The actors are fantastic', 'NP: The actors', 'VP: are fantastic']
    >>> constituent_groups([tree], features, keep={"NP"}).names
    ['NP: The actors']
    """
    wanted = _label_filter(keep)

    def constituents() -> Iterator[tuple[str, str]]:
        for tree in trees:
            words, spans = tree.leaves(), list(tree.spans())
            for (label, start, stop), following in zip(spans, [*spans[1:], None]):
                only_a_bracket = not label and following is not None and following[1:] == (start, stop)
                if not only_a_bracket and wanted(label):
                    text = " ".join(words[start:stop])
                    yield f"{label}: {text}", text

    return _text_groups(constituents(), features, weights, merge, min_size)


def document_groups(
    documents: Any,
    features: TextFeatures,
    *,
    names: Sequence[str] | None = None,
    weights: GroupWeights = "sqrt",
    merge: bool = True,
    min_size: int = 2,
) -> Groups:
    """One group per document: the features that occur in it.

    Parameters
    ----------
    documents
        Texts, or their feature matrix.
    names
        Names of the groups; default: the beginning of the text, or the row number, counted from 0.

    Examples
    --------
    >>> features = TextFeatures()
    >>> X = features.fit_transform(["a good film", "a dull film"])
    >>> document_groups(X, features).names
    ['document 0', 'document 1']
    >>> document_groups(["a good film", "a dull film"], features).names
    ['a good film', 'a dull film']
    """
    if not hasattr(documents, "shape"):
        texts = list(documents)
        _check_lengths("documents", len(texts), "names", names)
        return _text_groups(zip(texts if names is None else names, texts), features, weights, merge, min_size)
    from scipy.sparse import csr_array

    X = csr_array(documents, copy=True)
    if X.shape[1] != len(features.names):
        raise OptionError(f"{X.shape[1]} columns, but {len(features.names)} features")
    _check_lengths("documents", X.shape[0], "names", names)
    X.sum_duplicates()
    X.eliminate_zeros()
    names = [f"document {d}" for d in range(X.shape[0])] if names is None else names
    groups = _row_groups(X, np.arange(X.shape[0]), names, weights, min_size)
    return groups.merged() if merge else groups


def _text_groups(
    named_texts: Iterable[tuple[str, str]],
    features: TextFeatures,
    weights: GroupWeights,
    merge: bool,
    min_size: int,
) -> Groups:
    """One group per text, from names and texts, in batches to save memory."""
    families = [Groups([0], [], n_features=len(features.names), names=[])]
    left = iter(named_texts)
    while part := list(islice(left, _TEXTS_AT_ONCE)):
        rows: dict[str, int] = {}  # small constituents occur many times
        row_of = np.array([rows.setdefault(text, len(rows)) for _, text in part])
        pattern = features.occurrences(rows)
        families.append(_row_groups(pattern, row_of, [name for name, _ in part], weights, min_size))
    groups = Groups.combine(*families)
    return groups.merged() if merge else groups


def _row_groups(
    pattern: Any, row_of: NDArray[np.int64], names: Sequence[str], weights: GroupWeights, min_size: int
) -> Groups:
    """For each name, the group of columns in which its row of a sparse matrix has entries."""
    kept = np.flatnonzero(np.diff(pattern.indptr)[row_of] >= max(min_size, 1))
    rows = pattern[row_of[kept]]
    return Groups(
        rows.indptr,
        rows.indices,
        n_features=pattern.shape[1],
        weights=weights,
        names=[_shortened(names[i]) for i in kept.tolist()],
    )


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def _label_filter(keep: Callable[[str], bool] | Container[str] | None) -> Callable[[str], bool]:
    if keep is None:
        return lambda label: True
    if isinstance(keep, str):  # as a string, "NP" contains "P", which is another label
        return lambda label: label == keep
    if isinstance(keep, Container):
        return lambda label: label in keep
    return keep


def _check_lengths(what: str, n: int, others: str, values: Sequence[Any] | None) -> None:
    if values is not None and len(values) != n:
        raise OptionError(f"{n} {what}, but {len(values)} {others}")


# -- words and what was learned about them -------------------------------------------------------------------------


def cluster_groups(
    classes: WordClasses,
    features: TextFeatures,
    *,
    lengths: Sequence[int] | None = None,
    weights: GroupWeights = "sqrt",
    merge: bool = True,
    min_size: int = 2,
) -> Groups:
    """One group per node of the tree of word classes (per class, if they are flat): the words below it.

    The name is the path (or the class) and the most frequent words, by the counts of the classes if known, else by the
    idf of the features. Words without a class of their own are in no group.

    Parameters
    ----------
    lengths
        Prefixes of paths of these lengths only, as in :meth:`spinney.structure.Groups.from_prefixes`.

    Examples
    --------
    >>> classes = WordClasses(["dog", "cat", "runs"], [0, 1, 2], paths=["00", "01", "1"], counts=[3, 9, 5])
    >>> features = TextFeatures("counts")
    >>> _ = features.fit_transform(["a cat runs", "a dog barks"])
    >>> cluster_groups(classes, features).names
    ['root: cat runs dog', '0: cat dog']
    """
    known = [name for name in features.names if name in classes]
    if not known:
        raise OptionError(f"none of the {len(features.names)} features is a word with a class")
    # Without the class for unknown words, in which all other features would be.
    own = WordClasses(known, classes.encode(known), paths=classes.paths, n_classes=classes.n_classes)
    if own.paths is None:
        names = [f"class {c}" for c in range(own.n_classes)]
        groups = Groups.from_labels(own.encode(features.names), weights=weights, names=names)
    else:
        groups = Groups.from_prefixes(own, features.names, lengths, weights=weights)
    groups = groups.subset(groups.sizes >= min_size)
    rareness = _rareness(classes, features)
    called = []
    for path, (start, stop) in zip(groups.names or (), pairwise(groups.ptr)):
        group = groups.members[start:stop]
        called.append(_called(path or "root", features, group[np.argsort(rareness[group], kind="stable")]))
    groups = _renamed(groups, called)
    return groups.merged() if merge else groups


def neighbour_groups(
    vectors: WordVectors,
    features: TextFeatures,
    *,
    k: int = 10,
    weights: GroupWeights = "sqrt",
    merge: bool = True,
    min_size: int = 2,
) -> Groups:
    """One group per word: itself and the ``k`` features with the nearest vectors by cosine.

    Words without a vector, or with one of zeros, are in no group.

    Examples
    --------
    >>> vectors = WordVectors(["good", "great", "dull", "bad"], [[5, 1], [4, 1], [1, 4], [0, 1]])
    >>> features = TextFeatures("counts")
    >>> _ = features.fit_transform(["good great dull bad film"])
    >>> groups = neighbour_groups(vectors, features, k=1)
    >>> groups.names, [[features.names[j] for j in group] for group in groups]
    (['near bad: dull (×2)', 'near good: great (×2)'], [['bad', 'dull'], ['good', 'great']])
    """
    if k < 1:
        raise OptionError(f"k must be at least 1, not {k}")
    columns = np.flatnonzero(vectors.encode(features.names) >= 0)
    rows = vectors.rows([features.names[j] for j in columns])
    nonzero = np.flatnonzero(abs(rows).sum(axis=1))
    columns, rows = columns[nonzero], rows[nonzero]
    if not len(columns):
        raise OptionError(f"none of the {len(features.names)} features is a word with a vector")
    own = WordVectors([features.names[j] for j in columns], rows)
    k = min(k, len(columns) - 1)
    members = np.empty((len(columns), k + 1), dtype=np.int64)
    members[:, 0] = np.arange(len(columns))
    for start in range(0, len(columns), _TEXTS_AT_ONCE):
        part = slice(start, start + _TEXTS_AT_ONCE)
        queries = rows[part].toarray() if own.is_sparse else rows[part]
        found = own.nearest(queries, k + 1)[0]
        others = found != members[part, :1]
        others[others.all(axis=1), -1] = False  # several words have exactly the same vector: one too many
        members[part, 1:] = found[others].reshape(len(found), k)
    members = columns[members] if k + 1 >= min_size else members[:0]
    groups = Groups(
        np.arange(len(members) + 1) * (k + 1),
        members.ravel(),
        n_features=len(features.names),
        weights=weights,
        names=[_called(f"near {features.names[group[0]]}", features, group[1:]) for group in members],
    )
    return groups.merged() if merge else groups


def topic_groups(
    topics: Any,
    words: Sequence[str],
    features: TextFeatures,
    *,
    top: int = 10,
    mass: float | None = None,
    weights: GroupWeights = "sqrt",
    merge: bool = True,
    min_size: int = 2,
) -> Groups:
    """One group per topic: its most probable words that are features; the first ones name it.

    Parameters
    ----------
    topics : array or sparse matrix (topics, words)
        How probable each word is in each topic, up to a factor: from :func:`spinney.classify.topics.lda_topics`,
        :func:`spinney.structure.topics.read_topics` or any topic model.
    words
        The word of each column.
    top
        Number of words to take from each topic.
    mass
        If given, take the fewest words that have this share of the topic's probability, instead of ``top`` words.

    Examples
    --------
    >>> features = TextFeatures("counts")
    >>> _ = features.fit_transform(["space orbit game team nasa"])
    >>> topics = [[0.5, 0.0, 0.3, 0.1, 0.1], [0.0, 0.6, 0.0, 0.3, 0.1]]
    >>> topic_groups(topics, ["space", "game", "orbit", "team", "of"], features, top=2).names
    ['topic 0: space orbit', 'topic 1: game team']
    """
    if top < 1 or (mass is not None and not 0 < mass <= 1):
        raise OptionError("top must be at least 1, and mass above 0 and at most 1")
    is_sparse = hasattr(topics, "tocsr")
    table: Any = topics.tocsr() if is_sparse else np.asarray(topics, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(words):
        raise OptionError(f"topics must be a matrix with one column for each of the {len(words)} words")
    numbers = table.data if is_sparse else table
    if not np.all((numbers >= 0) & (numbers < np.inf)):
        raise OptionError("the weights of words in topics must be finite numbers ≥ 0")
    place = {name: j for j, name in enumerate(features.names)}
    column_of = np.fromiter((place.get(word, -1) for word in words), np.int64, len(words))
    members, names = [], []
    for number in range(table.shape[0]):
        row = table[[number]].toarray()[0] if is_sparse else table[number]
        found = column_of[_strongest(row, top, mass)]
        found = found[found >= 0]
        if len(found) >= max(min_size, 1):
            members.append(found.tolist())
            names.append(_called(f"topic {number}", features, found))
    groups = Groups.from_lists(members, len(features.names), weights, names)
    return groups.merged() if merge else groups


def _strongest(row: NDArray[np.float64], top: int, mass: float | None) -> NDArray[np.int64]:
    """The positions of the largest numbers above 0, largest first, equal ones in their order."""
    if mass is None:
        top = min(top, len(row))
        row = np.where(row >= np.partition(row, len(row) - top)[len(row) - top], row, 0.0)
    chosen = np.flatnonzero(row)
    chosen = chosen[np.argsort(-row[chosen], kind="stable")]
    if mass is not None and len(chosen):
        share = np.cumsum(row[chosen])
        top = int(np.searchsorted(share, mass * share[-1] * (1 - 1e-12))) + 1
    return chosen[:top]


def _rareness(classes: WordClasses, features: TextFeatures) -> NDArray[np.float64]:
    """Numbers that decrease with the frequency of the features; zeros if it is unknown."""
    if classes.counts is not None:
        seen = dict(zip(classes.words, classes.counts.tolist()))
        counts = (-seen.get(name, seen.get(name.lower(), 0)) for name in features.names)
        return np.fromiter(counts, np.float64, len(features.names))
    return np.zeros(len(features.names)) if features.idf is None else features.idf


def _renamed(groups: Groups, names: Sequence[str], strength: float = 1.0) -> Groups:
    return Groups(
        groups.ptr,
        groups.members,
        n_features=groups.n_features,
        weights=groups.weights * strength,
        names=names,
    )


def _called(head: str, features: TextFeatures, columns: NDArray[Any]) -> str:
    words = [features.names[j] for j in columns[:_WORDS_NAMED]]
    return f"{head}: {' '.join(words)}" + (" …" if len(columns) > _WORDS_NAMED else "")


# -- several families ---------------------------------------------------------------------------------------------


class Families(NamedTuple):
    """Groups of several kinds, one kind after another."""

    groups: Groups
    names: list[str]
    ends: NDArray[np.int64]  # where in the groups each family ends

    def where(self) -> dict[str, slice]:
        """The place of each family among the groups."""
        starts = [0, *self.ends[:-1].tolist()]
        return {name: slice(a, b) for name, a, b in zip(self.names, starts, self.ends.tolist())}


def combined(families: Mapping[str, Groups], *, strengths: Mapping[str, float] | None = None) -> Families:
    """All groups of several families over the same features, each name prefixed with its family.

    Parameters
    ----------
    strengths
        Factors of the weights of families; default: 1. Groups that two families share are not merged.

    Examples
    --------
    >>> sentences = Groups.from_lists([[0, 1], [1, 2]], 3, names=["it works", "works well"])
    >>> topics = Groups.from_lists([[0, 2]], 3, names=["topic 0"])
    >>> families = combined({"sentence": sentences, "lda": topics}, strengths={"lda": 2.0})
    >>> families.groups.names, families.where()
    (['sentence: it works', 'sentence: works well', 'lda: topic 0'], {'sentence': slice(0, 2, None),
     'lda': slice(2, 3, None)})
    """
    if not families:
        raise OptionError("give at least one family of groups")
    strengths = strengths or {}
    for name, strength in strengths.items():
        if name not in families:
            raise OptionError(
                f"there is no family {name!r} for this strength; the families are {', '.join(families)}",
                given=name,
                known=families,
            )
        if not 0 <= strength < np.inf:
            raise OptionError(f"the strength of {name!r} must be a finite number ≥ 0, not {strength}")
    parts = []
    for family, groups in families.items():
        names = groups.names or [f"group {g}" for g in range(len(groups))]
        names = [f"{family}: {name}" for name in names]
        parts.append(_renamed(groups, names, strengths.get(family, 1.0)))
    ends = np.cumsum([len(groups) for groups in parts])
    return Families(Groups.combine(*parts), list(families), ends)
