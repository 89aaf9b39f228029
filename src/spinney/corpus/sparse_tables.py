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


def sparse_throughout(X: Any) -> Any:
    """A table some of whose columns are sparse with all of them sparse; anything else as it is.

    Words beside a few numbers, as a ColumnTransformer joins them, would otherwise become a dense matrix.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"word": pd.arrays.SparseArray([0.0, 1.0]), "length": [3, 4]})
    >>> sparse_throughout(table).sparse.to_coo().toarray()
    array([[0., 3.],
           [1., 4.]])
    """
    kinds = {type(dtype).__name__ for dtype in getattr(X, "dtypes", ())} if hasattr(X, "columns") else set()
    if "SparseDtype" not in kinds or kinds == {"SparseDtype"}:
        return X
    import pandas as pd

    return X.astype(pd.SparseDtype(float, 0.0))
