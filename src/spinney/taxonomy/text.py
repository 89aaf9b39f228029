"""A taxonomy of the words of a text, from which words follow which."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from spinney.corpus import TokenArrays
from spinney.errors import InputError, OptionError
from spinney.linalg import truncated_svd
from spinney.structure import ClassTree
from spinney.taxonomy.learning import Method, word_taxonomy


def text_taxonomy(
    text: TokenArrays,
    method: Method = "canonical",
    *,
    end: str = "</s>",
    n_dimensions: int = 50,
    depth: int | None = None,
    delta: float = 1.0,
    random_state: int = 0,
) -> ClassTree:
    """A tree over the words of a text and the end of a sentence, for hierarchical language models.

    A word's samples are the vectors of the words before it (the start of a sentence is one); vectors come from the CCA
    of neighbouring words (Dhillon et al. 2011), as in Nelakanti (2014, §4.4).

    Parameters
    ----------
    end
        The name of the end of a sentence in the tree.
    n_dimensions
        Number of dimensions of the vectors.
    method, depth, delta, random_state
        As in :func:`~spinney.taxonomy.word_taxonomy`.

    Examples
    --------
    >>> from spinney.corpus import sentence_arrays
    >>> text = sentence_arrays([[a, b] for a in ("the", "a") for b in ("dog", "cat")])
    >>> sorted(text_taxonomy(text, n_dimensions=2).names)
    ['</s>', 'a', 'cat', 'dog', 'the']
    """
    if n_dimensions < 1:
        raise OptionError(f"vectors need at least one dimension, not {n_dimensions}")
    if not text.n_tokens:
        raise InputError("there are no words to learn a taxonomy of")
    n_words = len(text.vocabulary)
    before, after = _neighbours(text)
    C = sparse.csr_array((np.ones(len(before)), (before, after)), shape=(n_words + 1, n_words + 1))
    C.sum_duplicates()
    rows, columns = (np.maximum(C.sum(axis=axis), 1.0) for axis in (1, 0))
    whitened = sparse.diags_array(rows**-0.5) @ C @ sparse.diags_array(columns**-0.5)
    size = min(n_dimensions + 1, n_words)
    U = truncated_svd(whitened, size).U
    U = U[:, 1:] if U.shape[1] > 1 else U  # the first direction is constant
    vectors = U * np.sqrt(rows.sum() / rows)[:, None]
    words = [*text.vocabulary.words, end]
    return word_taxonomy(vectors, C, words, method, depth=depth, delta=delta, random_state=random_state)


def _neighbours(text: TokenArrays) -> tuple[np.ndarray, np.ndarray]:
    """Each word and end with what is before it: a word, or (number ``len(vocabulary)``) the start."""
    n_words = len(text.vocabulary)
    places = text.offsets[1:]
    after = np.insert(text.ids.astype(np.int64), places, n_words)
    before = np.insert(text.ids.astype(np.int64), text.offsets[:-1], n_words)
    return before, after
