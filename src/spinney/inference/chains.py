"""Label sequences as chains of log potentials: the input of every decoder."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from spinney.errors import OptionError


@dataclass(frozen=True, eq=False)
class Chains:
    """Sentences of T tokens in all, each token with one of Y labels, scored token by token and pair by pair.

    The score of a labelling is the sum over tokens t of ``scores[t, y]`` and ``edges[kinds[t], before, y]``, where
    ``before`` is the label of the token before, or Y at the start of a sentence. ``-inf`` forbids. The arrays are
    kept as they are where their types fit, read-only.

    Parameters
    ----------
    offsets : int64 array [N+1]
        Sentence i is tokens ``offsets[i]`` up to ``offsets[i+1]``; it may be empty.
    scores : float64 array [T, Y]
        Log potentials of labels at tokens.
    kinds : int32 array [T]
        Which matrix of ``edges`` leads into each token.
    edges : float64 array [K, Y+1, Y]
        Log potentials of (label before, label here); the last row is the start of the sentence.
    first : int
        How many sentences came before these: messages name sentences by their place among all.

    Examples
    --------
    Two sentences, of two tokens and one, with labels 0 and 1; 1 may not start a sentence:

    >>> from spinney.inference.decoding import viterbi
    >>> edges = [[[0.0, 1.0], [0.0, 1.0], [0.0, -np.inf]]]
    >>> chains = Chains([0, 2, 3], [[0.0, 5.0], [0.0, 0.0], [0.0, 3.0]], [0, 0, 0], edges)
    >>> viterbi(chains)
    (array([0, 1, 0], dtype=int32), array([1., 0.]))
    """

    offsets: NDArray[np.int64]
    scores: NDArray[np.float64]
    kinds: NDArray[np.int32]
    edges: NDArray[np.float64]
    first: int = 0

    def __post_init__(self) -> None:
        for name, dtype in (("offsets", "i8"), ("scores", "f8"), ("kinds", "i4"), ("edges", "f8")):
            # Read-only whatever came in: the kernels, which are compiled for one type of array, see no other.
            object.__setattr__(self, name, _read_only(getattr(self, name), dtype))
        if self.scores.ndim != 2 or self.scores.shape[1] < 1:
            raise OptionError(
                "scores must have one row per token and one column per label, and at least one label"
            )
        T, Y = self.scores.shape
        if self.kinds.shape != (T,):
            raise OptionError(f"kinds must have the shape ({T},), not {self.kinds.shape}")
        if self.edges.ndim != 3 or self.edges.shape[1:] != (Y + 1, Y):
            raise OptionError(f"edges must have the shape (K, {Y + 1}, {Y}), not {self.edges.shape}")
        if T and not 0 <= self.kinds.min() <= self.kinds.max() < len(self.edges):
            raise OptionError(
                f"kinds must be between 0 and {len(self.edges) - 1}, the number of the last edge matrix"
            )
        ends = self.offsets[[0, -1]].tolist() if self.offsets.ndim == 1 and self.offsets.size else None
        if ends != [0, T] or np.any(np.diff(self.offsets) < 0):
            raise OptionError(f"offsets must increase from 0 to the number of tokens, {T}")
        for name in ("scores", "edges"):
            if not getattr(self, name).max(initial=-np.inf) < np.inf:  # so that NaN fails too
                raise OptionError(f"{name} must be numbers or -inf")

    @property
    def n_labels(self) -> int:
        """Y, the number of labels."""
        return int(self.scores.shape[1])

    def __len__(self) -> int:
        """N, the number of sentences."""
        return len(self.offsets) - 1

    def constrained(
        self,
        allowed: ArrayLike | None = None,
        transitions: ArrayLike | None = None,
        ends: ArrayLike | None = None,
    ) -> Chains:
        """The same chains with more forbidden: known labels, impossible sequences such as O I-NP.

        Parameters
        ----------
        allowed : bool array [T, Y], optional
            The labels that each token may have; one only forces it.
        transitions : bool array [Y+1, Y], optional
            The pairs (label before, label here) that may occur; the last row says what may start a sentence.
        ends : bool array [Y], optional
            The labels that the last token of a sentence may have.

        Examples
        --------
        >>> free = Chains([0, 2], [[0.0, 2.0], [0.0, 1.0]], [0, 0], np.zeros((1, 3, 2)))
        >>> free.constrained(ends=[True, False]).scores
        array([[  0.,   2.],
               [  0., -inf]])
        """
        T, Y = self.scores.shape
        scores, edges = self.scores, self.edges
        if allowed is not None:
            scores = np.where(_mask("allowed", allowed, (T, Y)), scores, -np.inf)
        if ends is not None:
            last = self.offsets[1:][np.diff(self.offsets) > 0] - 1
            scores = scores.copy()
            scores[np.ix_(last, ~_mask("ends", ends, (Y,)))] = -np.inf
        if transitions is not None:
            edges = np.where(_mask("transitions", transitions, (Y + 1, Y)), edges, -np.inf)
        return replace(self, scores=scores, edges=edges)


def _read_only(values: ArrayLike, dtype: DTypeLike) -> NDArray[np.generic]:
    array = np.ascontiguousarray(values, dtype=dtype).view()
    array.flags.writeable = False
    return array


def _mask(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    mask = np.asarray(values)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise OptionError(
            f"{name} must be true or false in the shape {shape}, not {mask.dtype} in {mask.shape}"
        )
    return mask
