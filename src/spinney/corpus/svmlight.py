"""svmlight files: sparse features that were computed elsewhere."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.compressed import FilePath
from spinney.corpus.lines import read_blocks
from spinney.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def read_svmlight(path: FilePath, n_features: int | None = None) -> tuple[csr_matrix, NDArray[np.float64]]:
    """The matrix and the targets of an svmlight file (lines ``target number:value number:value ...``).

    Features are numbered from 0 or from 1, whichever the file does; scikit-learn does the reading.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.svm")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1 1:0.5 3:2\\n-1 2:1\\n")
    >>> X, y = read_svmlight(path)
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ], [0. , 1. , 0. ]]), array([ 1., -1.]))
    """
    from sklearn.datasets import load_svmlight_file

    data = b"".join(block.text for block in read_blocks(path))
    if not data.strip():
        raise InputError("the file is empty", path=os.fspath(path))
    try:
        X, y = load_svmlight_file(io.BytesIO(data), n_features=n_features)
    except (ValueError, OverflowError) as error:
        line = _first_bad_line(data)
        remedy = "a line is: target number:value number:value ..., in increasing order of the numbers"
        what = "not svmlight" if line is not None else str(error).lower()
        raise InputError(what, path=os.fspath(path), line=line, remedy=remedy) from None
    return X, np.asarray(y, np.float64)


def _first_bad_line(data: bytes) -> int | None:
    from sklearn.datasets import load_svmlight_file

    def fails(text: bytes) -> bool:
        try:
            load_svmlight_file(io.BytesIO(text))
        except (ValueError, OverflowError):
            return True
        return False

    lines = data.split(b"\n")
    good, bad = 0, len(lines)  # the first `good` lines can be read, the first `bad` cannot
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if fails(b"\n".join(lines[:middle])) else (middle, bad)
    return bad if fails(lines[bad - 1]) else None
