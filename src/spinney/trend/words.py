"""From text to a sparse matrix of words within a range of frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spinney.corpus.text_features import TextFeatures, Weighting


@dataclass(eq=False, repr=False)
class FrequentWords(TextFeatures):
    """Words (and n-grams of words) as columns: counts, unless another weighting is given.

    The parameters are those of :class:`~spinney.corpus.text_features.TextFeatures`. The thesis uses the words of ranks
    101 to 10,101: ``skip_top=100, max_features=10_001``.

    Examples
    --------
    >>> words = FrequentWords(skip_top=1)
    >>> words.fit_transform(["an oil tax and an oil war", "an oil tax"]).toarray().tolist(), words.names
    ([[1.0, 2.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0]], ['and', 'oil', 'tax', 'war'])
    """

    weighting: Weighting = "counts"

    def _weighted(self, counts: Any) -> Any:
        from scipy.sparse import csr_array

        return csr_array(super()._weighted(counts))
