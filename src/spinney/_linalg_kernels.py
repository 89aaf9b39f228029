# mypy: ignore-errors
"""The product of a sparse matrix with a block of vectors."""

from spinney.compiling import njit


@njit(cache=True, nogil=True)
def csr_times_block(indptr, indices, data, block, first, last, out):
    """Rows ``first`` to ``last - 1`` of out = A @ block, for A in CSR form and a C-ordered block."""
    for i in range(first, last):
        row = out[i]
        row[:] = 0
        for e in range(indptr[i], indptr[i + 1]):
            value = data[e]
            other = block[indices[e]]
            for j in range(len(row)):
                row[j] += value * other[j]
