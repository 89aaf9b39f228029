"""Sentences of a batch as nodes, level by level: chains and trees, laid out by the device that will use them.

The nodes of depth 0 (roots) come first, then those of depth 1, and so on: a level is one matrix product. In a batch of
chains the sentences are sorted, the longest first. So the child of node r of one level is node r of the next, wherever
there is one: nothing is padded and nothing needs to be looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray


class Sentences(NamedTuple):
    """Some sentences of a text, in the memory of the host; the arrays may be mapped from a file.

    Attributes
    ----------
    ids : int32 array [n]
    offsets : int64 array [sentences + 1]
        From 0.
    heads : int32 array [n], optional
        The place of each token's head in its sentence, -1 at roots. Without them, sentences are chains.
    kinds : int32 array [n], optional
        The kind of the edge to the head.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    heads: NDArray[np.int32] | None = None
    kinds: NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False)
class Layout:
    """The nodes of a batch.

    Attributes
    ----------
    words : int32 tensor [n]
        The word of each node.
    bounds : list of int [levels · K + 1]
        Level d has the nodes ``bounds[d * K]`` up to ``bounds[(d + 1) * K]``; within it those with edges of kind k
        begin at ``bounds[d * K + k]``.
    n_kinds : int
    parents, child_ptr, children : int32 tensors, optional
        Of trees, as in :class:`spinney.inference.forests.TokenForest`.
    unsound : tensor, optional
        How many tokens never reach a root.
    """

    words: torch.Tensor
    bounds: list[int]
    n_kinds: int = 1
    parents: torch.Tensor | None = None
    child_ptr: torch.Tensor | None = None
    children: torch.Tensor | None = None
    unsound: torch.Tensor | None = None

    def __len__(self) -> int:
        return self.bounds[-1]

    @property
    def levels(self) -> list[int]:
        """Where each level begins, and the end of the last."""
        return self.bounds[:: self.n_kinds]

    @property
    def n_roots(self) -> int:
        """How many nodes have no father."""
        return self.bounds[self.n_kinds] if len(self.bounds) > 1 else 0

    def runs(self, level: int) -> list[tuple[int, int, int]]:
        """The stretches (first node, end, kind) of a level whose edges are of one kind."""
        K, b = self.n_kinds, self.bounds
        found = [(b[level * K + k], b[level * K + k + 1], k) for k in range(K)]
        return [(first, end, kind) for first, end, kind in found if end > first]

    def tensors(self) -> list[torch.Tensor]:
        """All that lies on the device."""
        some = (self.words, self.parents, self.child_ptr, self.children, self.unsound)
        return [one for one in some if one is not None]


def laid_out(sentences: Sentences, n_kinds: int, device: torch.device) -> Layout:
    """Lay out sentences as chains, or, if they have heads, as trees."""
    if sentences.heads is None:
        return _chains(sentences, device)
    return _trees(sentences, n_kinds, device)


def _chains(sentences: Sentences, device: torch.device) -> Layout:
    lengths = np.diff(sentences.offsets)
    n, longest = int(lengths.sum()), int(lengths.max(initial=0))
    small = np.int16 if longest < 1 << 15 else np.int64  # NumPy sorts 16 bits by counting
    order = np.argsort((-lengths).astype(small), kind="stable")
    alive = len(lengths) - np.cumsum(np.bincount(lengths, minlength=1))[:longest]  # sentences longer than d
    levels = np.concatenate(([0], np.cumsum(alive)))
    ids, starts = _sent(sentences.ids, device), _sent(sentences.offsets[:-1][order], device)
    first, sizes = _sent(levels[:-1], device), _sent(alive, device)
    depth = torch.repeat_interleave(torch.arange(longest, device=device), sizes, output_size=n)
    place = torch.arange(n, device=device) - first[depth]
    return Layout(ids[starts[place] + depth], levels.tolist())


def _trees(sentences: Sentences, n_kinds: int, device: torch.device) -> Layout:
    K, lengths = n_kinds, np.diff(sentences.offsets)
    n, longest = len(sentences.ids), int(lengths.max(initial=0))
    ids, heads = _sent(sentences.ids, device), _sent(sentences.heads, device).long()
    starts, sizes = _sent(sentences.offsets[:-1], device), _sent(lengths, device)
    start = torch.repeat_interleave(starts, sizes, output_size=n)
    here = torch.arange(n, device=device)
    root = heads < 0
    father = torch.where(root, here, (start + heads).clamp(max=max(n - 1, 0)))
    depth, jump = (~root).int(), father
    for _ in range(max(longest - 1, 0).bit_length()):  # steps of 1, 2, 4, …: pointer jumping
        depth, jump = depth + depth[jump], jump[jump]
    unsound = (~root[jump] | (start[father] != start)).sum()
    depth = depth.clamp(max=max(longest - 1, 0))
    key = depth
    if K > 1:
        kinds = torch.where(root, 0, _sent(sentences.kinds, device))
        key = depth * K + kinds
    narrow = torch.int16 if longest * K < 1 << 15 else torch.int32
    keys, order = torch.sort(key.to(narrow), stable=True)
    cuts = torch.arange(longest * K + 1, device=device, dtype=narrow)
    bounds = torch.searchsorted(keys, cuts).tolist()  # waits for the device
    while len(bounds) > K + 1 and bounds[-K - 1] == n:
        del bounds[-K:]
    place = torch.empty_like(order)
    place[order] = here
    n_roots = bounds[K] if n else 0
    above, children = torch.sort(place[father[order[n_roots:]]].int(), stable=True)
    child_ptr = torch.searchsorted(above, torch.arange(n + 1, device=device, dtype=torch.int32))
    parents = place[father[order]].int()
    return Layout(
        ids[order], bounds, K, parents, child_ptr.int(), (children + n_roots).int(), unsound,
    )  # fmt: skip


def _sent(array: Any, device: torch.device) -> torch.Tensor:
    """The array on the device; what comes from a file goes through memory that the card can copy from by itself."""
    given = np.asarray(array)
    if device.type != "cuda":
        return torch.from_numpy(np.array(given))
    kind = torch.int32 if given.dtype == np.int32 else torch.int64
    staged = torch.empty(given.shape, dtype=kind, pin_memory=True)
    np.copyto(staged.numpy(), given, casting="same_kind")
    return staged.to(device, non_blocking=True)
