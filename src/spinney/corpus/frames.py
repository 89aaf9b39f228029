"""Sparse features as a table, for those who ask scikit-learn for tables: ``set_output(transform="pandas")``."""

from __future__ import annotations

from typing import Any


def as_asked(features: Any, X: Any, original: Any, few: bool = False) -> Any:
    """A sparse matrix as it is or, where the output of a transformer is to be pandas, as a table of sparse columns.

    scikit-learn itself refuses to make a table of a sparse matrix. One of sparse columns takes no more memory than the
    matrix does, and an estimator that accepts sparse matrices gets the matrix back. Other tables have no sparse
    columns: they get a dense matrix, but only of ``few`` columns.
    """
    from sklearn.utils._set_output import _get_output_config

    wanted = _get_output_config("transform", features)["dense"]
    if wanted != "pandas":
        return X.toarray() if few and wanted != "default" else X
    import pandas as pd

    index = original.index if isinstance(original, pd.Series | pd.DataFrame) else None
    return pd.DataFrame.sparse.from_spmatrix(X, index=index, columns=features.get_feature_names_out())
