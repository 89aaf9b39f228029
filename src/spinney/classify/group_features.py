"""Structure as features instead of a penalty: one more column for each group of words (Yogatama 2015, table 5.8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinney.corpus.text_features import TextFeatures
from spinney.errors import OptionError
from spinney.structure import Groups


def with_group_columns(X: Any, groups: Groups, *, presence: bool = False) -> Any:
    """A sparse matrix with one more column for each group: the sum of the columns of its words.

    For counts that is how often the words of the group occur; the thesis does not say what it used. With ``presence``
    (for binary features) it is 1 where any of them occurs.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> groups = Groups.from_lists([[0, 2]], n_features=3, names=["topic"])
    >>> X = csr_array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    >>> with_group_columns(X, groups).toarray().tolist()
    [[1.0, 0.0, 2.0, 3.0], [0.0, 1.0, 0.0, 0.0]]
    >>> with_group_columns(X, groups, presence=True).toarray()[:, 3].tolist()
    [1.0, 0.0]
    """
    from scipy.sparse import csr_array, hstack

    if X.shape[1] != groups.n_features:
        raise OptionError(f"groups over {groups.n_features} features, but the data have {X.shape[1]}")
    of_group = np.repeat(np.arange(len(groups)), groups.sizes)
    belongs = csr_array(
        (np.ones(len(of_group)), (groups.members, of_group)), shape=(groups.n_features, len(groups))
    )
    sums = csr_array(X @ belongs)
    if presence:
        sums.data[:] = 1.0
    return hstack([X, sums], format="csr")


def extended(X: Any, features: TextFeatures | None, added: Groups | None) -> Any:
    """The matrix of some features, and the columns of the groups that are added to them, if any."""
    if added is None:
        return X
    return with_group_columns(X, added, presence=features is not None and features.weighting == "binary")


def group_column_names(groups: Groups) -> list[str]:
    """The names of these columns.

    Examples
    --------
    >>> group_column_names(Groups.from_lists([[0, 2], [1]], n_features=3))
    ['group 0', 'group 1']
    """
    return list(groups.names) if groups.names else [f"group {g}" for g in range(len(groups))]
