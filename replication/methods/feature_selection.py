"""The frequency cut-off: the plainest way to choose features before training (Sokolovska 2010, §6.2.1)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spinney.errors import OptionError, unknown_choice
from spinney.tagging.sequences import Sequences
from spinney.tagging.support import Shape, Support, observed_support, seen_in


def frequency_cutoff(
    data: Sequences,
    n_labels: int,
    minimum: int,
    *,
    start: bool = True,
    of: Literal["observations", "pairs"] = "observations",
) -> Support:
    """The weights of what is seen in at least so many tokens.

    Parameters
    ----------
    data : Sequences
        With labels, if pairs are counted.
    n_labels : int
    minimum : int
    start : bool
        Whether the model has a start label.
    of : str
        ``observations``: those seen often enough keep the weights of all labels. ``pairs``: an observation together
        with a label (a pair of labels) must be seen often enough; 1 is what CRFsuite takes by default.

    Examples
    --------
    >>> from spinney.tagging.sequences import Observations
    >>> seen = Observations(np.array([0, 1, 2, 3]), np.array([0, 0, 1], np.int32), n=2)
    >>> data = Sequences(np.array([0, 3]), seen, Observations.none(3), labels=np.array([1, 0, 1], np.int32))
    >>> frequency_cutoff(data, 2, 2).places(Shape(2, 0, 2)).tolist()
    [0, 1]
    >>> frequency_cutoff(data, 2, 1, of="pairs").places(Shape(2, 0, 2)).tolist()
    [0, 1, 3]
    """
    shape = Shape(data.unigrams.n, data.bigrams.n, n_labels, start)
    if minimum < 1:
        raise OptionError(f"a cut-off is at least 1, not {minimum}")
    if of == "observations":
        mu, lam = (
            np.flatnonzero(seen_in(seen).sum(axis=0) >= minimum) for seen in (data.unigrams, data.bigrams)
        )
        return Support(
            *_full_rows(mu, shape.unigrams, n_labels),
            *_full_rows(lam, shape.bigrams, shape.pairs),
        )
    if of != "pairs":
        raise unknown_choice("a cut-off is of", of, ("observations", "pairs"))
    return observed_support(data, shape, minimum)


def _full_rows(kept: NDArray[np.intp], n: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Rows of a support: all columns in the rows that are kept, none in the others."""
    widths = np.zeros(n + 1, np.int64)
    widths[kept + 1] = width
    return np.cumsum(widths), np.tile(np.arange(width, dtype=np.int32), len(kept))
