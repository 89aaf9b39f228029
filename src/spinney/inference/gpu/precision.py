"""In which numbers messages are stored and multiplied.

A matrix unit reads 11 significant bits of a single-precision number (TF32) and drops the rest. Dropping makes every
product too small by some 10⁻³, so that a log-likelihood loses 10⁻³ nats at each token. Numbers are therefore *rounded*
before they are multiplied: the errors then cancel, and the products are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

_DROPPED = 13  # bits of a single-precision number that TF32 does not have


class Precision(NamedTuple):
    """How one precision is made.

    Attributes
    ----------
    name : str
    stored : torch.dtype
        The type of messages.
    work : torch.dtype
        The type of all that is done number by number, and of counts of words within a batch.
    """

    name: str
    stored: torch.dtype
    work: torch.dtype

    def rounded(self, x: torch.Tensor) -> torch.Tensor:
        """The nearest numbers that products take (ties to even), in the type of messages.

        Examples
        --------
        >>> PRECISIONS["tf32"].rounded(torch.tensor([1.0004, 1.0006])).tolist()
        [1.0, 1.0009765625]
        """
        if self.name != "tf32":
            return x.to(self.stored)
        bits = x.view(torch.int32)
        even = (bits >> _DROPPED) & 1
        return ((bits + ((1 << (_DROPPED - 1)) - 1) + even) & -(1 << _DROPPED)).view(torch.float32)


PRECISIONS = {
    "tf32": Precision("tf32", torch.float32, torch.float32),
    "float32": Precision("float32", torch.float32, torch.float32),
    "bf16": Precision("bf16", torch.bfloat16, torch.float32),
    "float64": Precision("float64", torch.float64, torch.float64),
}


@contextmanager
def products(precision: Precision) -> Iterator[None]:
    """Let the matrix unit take products of single-precision numbers, or not, within a block."""
    matmul: Any = torch.backends.cuda.matmul
    if hasattr(matmul, "fp32_precision"):  # from torch 2.9 on
        before = matmul.fp32_precision
        matmul.fp32_precision = "tf32" if precision.name == "tf32" else "ieee"
        try:
            yield
        finally:
            matmul.fp32_precision = before
        return
    allowed = matmul.allow_tf32
    matmul.allow_tf32 = precision.name == "tf32"
    try:
        yield
    finally:
        matmul.allow_tf32 = allowed


def in_float32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of two matrices, or of two stacks of them, with at least single precision in the result."""
    if a.dtype != torch.bfloat16:
        return torch.matmul(a, b)
    if a.is_cuda:
        try:
            many: Any = torch.bmm if a.dim() == 3 else torch.mm
            return many(a, b, out_dtype=torch.float32)  # type: ignore[no-any-return]
        except (TypeError, RuntimeError, NotImplementedError):  # before torch 2.8
            pass
    return torch.matmul(a.float(), b.float())  # exact: TF32 has all bits of bfloat16
