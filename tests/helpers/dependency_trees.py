"""Dependency trees by enumeration, for the tests of inference: all of them, with their scores."""

import functools
import itertools

import numpy as np


class Batch:
    """Random sentences with random candidate arcs, in flat arrays, and every tree of each."""

    def __init__(self, seed, lengths, keep=0.7, spread=1.0, forbid=0.0, second=True):
        from spinney.inference.arcs import sibling_parts

        rng = np.random.default_rng(seed)
        self.words = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        counts, heads = [], []
        for n in lengths:
            for m in range(1, n + 1):
                here = [h for h in range(n + 1) if h != m and rng.random() < keep]
                counts.append(len(here))
                heads += here
        self.ptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        self.head = np.array(heads, np.int32)
        self.score = rng.normal(scale=spread, size=len(heads))
        self.score[rng.random(len(heads)) < forbid] = -np.inf
        self.siblings = ()
        if second:
            sib_ptr, sib = sibling_parts(self.words, self.ptr, self.head)
            sib_score = rng.normal(scale=spread, size=len(sib))
            sib_score[rng.random(len(sib)) < forbid] = -np.inf
            self.siblings = sib_ptr, sib, sib_score

    @classmethod
    def of(cls, words, ptr, head, score, siblings=()):
        """A batch of given arrays."""
        batch = cls.__new__(cls)
        batch.words, batch.ptr, batch.head, batch.score, batch.siblings = words, ptr, head, score, siblings
        return batch

    def __len__(self):
        return len(self.words) - 1

    def __repr__(self):
        return f"Batch({self.arrays})"

    @property
    def arrays(self):
        return (self.words, self.ptr, self.head, self.score, *self.siblings)

    def words_of(self, s):
        return slice(self.words[s], self.words[s + 1])

    def arcs_of(self, s):
        return slice(self.ptr[self.words[s]], self.ptr[self.words[s + 1]])

    def parts_of(self, s):
        arcs = self.arcs_of(s)
        return slice(self.siblings[0][arcs.start], self.siblings[0][arcs.stop])

    def trees(self, s, projective=True):
        """Every tree of sentence s whose score is above −inf: arcs [T, n], parts [T, n] (or None), scores [T]."""
        w0, n = self.words[s], int(self.words[s + 1] - self.words[s])
        heads, before = all_trees(n, projective)
        arc = np.full((n + 1, n + 1), -1)  # by modifier and head
        for m in range(1, n + 1):
            for a in range(self.ptr[w0 + m - 1], self.ptr[w0 + m]):
                arc[m, self.head[a]] = a
        arcs = arc[np.arange(1, n + 1), heads]
        keep = np.all(arcs >= 0, axis=1)
        arcs, heads, before = arcs[keep], heads[keep], before[keep]
        scores, parts = self.score[arcs].sum(axis=1), None
        if self.siblings:
            sib_ptr, sib, sib_score = self.siblings
            number = {
                (a, int(sib[k])): k
                for a in range(self.arcs_of(s).start, self.arcs_of(s).stop)
                for k in range(sib_ptr[a], sib_ptr[a + 1])
            }
            siblings = np.where(before > 0, arc[before, heads], -1)
            wanted = zip(arcs.ravel().tolist(), siblings.ravel().tolist())
            parts = np.array([number[pair] for pair in wanted], np.int64).reshape(arcs.shape)
            scores = scores + sib_score[parts].sum(axis=1)
        possible = scores > -np.inf
        return arcs[possible], None if parts is None else parts[possible], scores[possible]


def nearby(seed, lengths, n_heads, spread, second):
    """A batch of longer sentences, whose words have the word before and some others nearby as candidate heads."""
    from spinney.inference.arcs import sibling_parts

    rng = np.random.default_rng(seed)
    heads, counts = [], []
    for n in lengths:
        for m in range(1, n + 1):
            near = [h for h in range(max(0, m - 9), min(n, m + 9) + 1) if h != m]
            some = rng.choice(near, min(n_heads, len(near)), replace=False).tolist()
            here = sorted({m - 1, *some[: n_heads - 1]} | ({0} if rng.random() < 0.2 else set()))
            counts.append(len(here))
            heads += here
    words = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    ptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    head, score, siblings = np.array(heads, np.int32), rng.normal(scale=spread, size=len(heads)), ()
    if second:
        sib_ptr, sib = sibling_parts(words, ptr, head)
        siblings = sib_ptr, sib, rng.normal(scale=spread, size=len(sib))
    return Batch.of(words, ptr, head, score, siblings)


@functools.cache
def all_trees(n, projective):
    """All trees of n words: heads [T, n]; and the next sibling of each word towards its head, or 0, [T, n]."""
    trees = [heads for heads in itertools.product(range(n + 1), repeat=n) if is_tree(heads)]
    assert len(trees) == n ** (n - 1)  # Cayley
    if projective:
        trees = [heads for heads in trees if not crosses(heads)]
    before = [[previous_sibling(heads, m) for m in range(1, n + 1)] for heads in trees]
    return np.array(trees).reshape(-1, n), np.array(before).reshape(-1, n)


def is_tree(heads):
    """Whether exactly one word is below the root, and all others below it."""
    if heads.count(0) != 1:
        return False
    for m in range(1, len(heads) + 1):
        seen = set()
        while m:
            if m in seen:
                return False
            seen.add(m)
            m = heads[m - 1]
    return True


def crosses(heads):
    """Whether two arcs cross, that of the root included."""
    ends = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in ends for c, d in ends)


def previous_sibling(heads, m):
    """Of the words between m and its head, the one nearest to m that has the same head; 0 if there is none."""
    h = heads[m - 1]
    between = range(m - 1, h, -1) if h < m else range(m + 1, h)
    return next((u for u in between if heads[u - 1] == h), 0)


def log_sum(scores):
    """log Σ exp, of any number of scores."""
    top = max(scores, default=-np.inf)
    return top if top == -np.inf else top + np.log(np.sum(np.exp(scores - top)))


def chances(which, scores, size):
    """The probability of each arc, or part, whose numbers the rows of ``which`` have."""
    found = np.zeros(size)
    if len(scores):
        np.add.at(found, which, np.exp(scores - log_sum(scores))[:, None])
    return found
