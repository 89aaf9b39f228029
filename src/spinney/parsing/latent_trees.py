"""Dependency trees whose words have hidden states, learned from moments (after Dhillon et al. 2012) or by EM.

Every word has a state h. It draws its *symbol*, the tag together with how many modifiers it has on the left and on the
right, and each modifier draws its state given that of its head and the side:
``p(tags, tree) = Σ_h π(h_root) Π o(x_i | h_i) Π T_d(h_modifier | h_head)``. Since the numbers of modifiers are drawn
too, this is a law over trees of all shapes, and candidates of different shapes can be compared.

In the space of states the message of a word to its head is an elementwise product over its modifiers,
``b = o_x ∘ Π T_dᵀ b_c``. Moments know that space up to a change of basis G only; there the message is a row
``β = b G⁻¹``, and a modifier is a matrix that is linear in its own message: ``C_d(β_c) = G diag(T_dᵀ b_c) G⁻¹``. So
``β = β_x Π C_d(β_c)``, with a tensor C_d of m³ numbers a side, and the total is ``β_root · b₁``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, NotFittedError, OptionError, unknown_choice
from spinney.files import ModelFile, Parts
from spinney.inference.forests import TokenForest
from spinney.inference.hidden import Laws, sum_product
from spinney.linalg import truncated_svd
from spinney.parallel import one_blas_thread
from spinney.parsing.modifiers import LEFT, RIGHT, Column, Floats, checked_heads, tags_of
from spinney.parsing.signed import Signed
from spinney.progress import task

Method = Literal["spectral", "em"]
Ints = NDArray[np.int64]


class TreeOperators(NamedTuple):
    """What scores a tree.

    Attributes
    ----------
    symbols : array [S, m]
        β_x: the message of a word without modifiers.
    modifiers : array [2, m, m, m]
        ``C_d(β) = Σ_j β[j] modifiers[d, j]``, which multiplies the row of the head from the right.
    root : array [m]
        b₁.
    """

    symbols: Floats
    modifiers: Floats
    root: Floats


class Observations(NamedTuple):
    """Words and edges of trees with their weights: a treebank, or exact moments.

    Symbols are numbered 0 to S - 1; the *outside* of a word is the symbol of its head and the side it is on,
    2 · symbol + side, or 2S for the artificial root.
    """

    word: Ints  # the symbol of each word
    outside: Ints
    word_weight: Floats
    head: Ints  # the symbol of the head of each edge that does not come from the artificial root
    modifier: Ints  # that of its modifier
    head_outside: Ints
    side: Ints
    edge_weight: Floats  # one over the number of modifiers that the head has on that side


def tree_operators(
    seen: Observations,
    n_symbols: int,
    states: int,
    *,
    emission: ArrayLike | None = None,
    cutoff: float = 1e-8,
) -> TreeOperators:
    """The method of moments: exact if the observations are those of a model, with weights as expected.

    Given the state of a word, its symbol, its outside and each modifier are independent. The SVD of pairs (symbol,
    outside) gives the basis; triples (symbol, modifier, outside) of the words that have modifiers give the tensors.

    Parameters
    ----------
    emission : array [S, S], optional
        Smoothing: its column x is the law of the symbol that a word with the symbol x may have had as well.
    cutoff
        Singular values at most this times the largest are left out.

    Examples
    --------
    A noun on the left of each verb, and nothing else; symbols 0 (noun) and 1 (verb with a modifier on its left):

    >>> one, zero = np.ones(1), np.zeros(1, int)
    >>> seen = Observations(np.array([0, 1]), np.array([2, 4]), np.ones(2), zero + 1, zero, zero + 4, zero, one)
    >>> found = tree_operators(seen, 2, 2)
    >>> noun, verb = found.symbols
    >>> (verb @ np.tensordot(noun, found.modifiers[0], 1) @ found.root).round(6)
    np.float64(1.0)
    """
    S, smooth = n_symbols, np.eye(n_symbols) if emission is None else np.asarray(emission, float)
    roots = seen.outside == 2 * S
    n_trees = seen.word_weight[roots].sum()
    shape = (S, 2 * S + 1)
    pairs = smooth @ _table(seen.word, seen.outside, seen.word_weight / n_trees, shape)
    # Any scales will do when moments are exact; with these frequent symbols do not drown the others.
    D, E = (_inverse_root(pairs.sum(axis=axis)) for axis in (1, 0))
    svd = truncated_svd(D[:, None] * pairs * E, states)
    kept = svd.s > cutoff * svd.s[0]
    U, V = svd.U[:, kept], svd.V[:, kept] / svd.s[kept]
    # With G = Yᵀ O: rows of O G⁻¹ are those of `symbols`, and an outside z has the state X[z] in it.
    symbols = np.divide(U, D[:, None], out=np.zeros_like(U), where=D[:, None] > 0)
    Y, X = smooth.T @ (D[:, None] * U), E[:, None] * V
    m = U.shape[1]
    modifiers = np.zeros((2, m, m, m))
    for d in (LEFT, RIGHT):
        of_side = np.flatnonzero(seen.side == d)
        if not of_side.size:
            continue
        head, outside = seen.head[of_side], seen.head_outside[of_side]
        child, weight = Y[seen.modifier[of_side]], seen.edge_weight[of_side] / n_trees
        # Of words with a modifier on this side: pairs = O_d G⁻¹ =: K, triples = O_d diag(T_dᵀ b) G⁻¹. So the tensor is
        # what least squares, with the weights D², finds when triples are fitted by K times it.
        K = _table(head, outside, weight, shape) @ X
        instrument = (D**2)[:, None] * K
        left, right = instrument[head] * weight[:, None], X[outside]
        triples = np.stack([(left * child[:, j : j + 1]).T @ right for j in range(m)])
        modifiers[d] = np.linalg.pinv(instrument.T @ K, rcond=1e-12, hermitian=True) @ triples
    weight = seen.word_weight[roots] / n_trees
    return TreeOperators(symbols, modifiers, weight @ Y[seen.word[roots]])


def _table(rows: Ints, columns: Ints, weights: Floats, shape: tuple[int, int]) -> Floats:
    return np.bincount(rows * shape[1] + columns, weights, shape[0] * shape[1]).astype(float).reshape(shape)


def _inverse_root(sums: Floats) -> Floats:
    return np.divide(1.0, np.sqrt(sums), out=np.zeros(len(sums)), where=sums > 0)


class LatentTrees:
    """A law of tagged dependency trees, to choose among candidates that a parser gives.

    Parameters
    ----------
    states
        m; moments of a smaller rank have fewer.
    method
        ``"spectral"`` or ``"em"``.
    column
        The column of CoNLL-U with the tags: ``"upos"`` or ``"xpos"``.
    valence
        The symbol of a word counts modifiers on each side up to this number; for the number of those beyond, all
        words share a geometric law a side.
    smoothing
        λ: with this probability a word draws the numbers of its modifiers from those of all words.
    cutoff
        spectral: singular values at most this times the largest are left out.
    iterations
        Of EM.

    Attributes
    ----------
    tags_ : list of str
        The last is an unknown tag, which has the counts of one word of each tag.
    operators_ : TreeOperators

    Examples
    --------
    >>> text = [Sentence("the dog barks".split(), upos="DET NOUN VERB".split(), heads=[2, 3, 0]),
    ...         Sentence("dogs chase cats".split(), upos="NOUN VERB NOUN".split(), heads=[2, 0, 2])]
    >>> model = LatentTrees(2, smoothing=0.1).fit(text)
    >>> model.rerank(["DET", "NOUN", "VERB"], [[3, 3, 0], [2, 3, 0]])
    array([2, 3, 0], dtype=int32)
    """

    def __init__(
        self,
        states: int = 8,
        method: Method = "spectral",
        *,
        column: Column = "upos",
        valence: int = 2,
        smoothing: float = 0.05,
        cutoff: float = 1e-3,
        iterations: int = 30,
        random_state: int = 0,
    ) -> None:
        self.states = states
        self.method = method
        self.column = column
        self.valence = valence
        self.smoothing = smoothing
        self.cutoff = cutoff
        self.iterations = iterations
        self.random_state = random_state

    # -- learning -------------------------------------------------------------------------------------

    def fit(self, sentences: Iterable[Sentence]) -> Self:
        """Learn from trees; those without exactly one root are left out."""
        started = time.perf_counter()
        self._check_options()
        trees = [one for one in sentences if np.count_nonzero(np.asarray(one.heads) == 0) == 1]
        known = sorted({tag for sentence in trees for tag in tags_of(sentence, self.column)})
        if not known:
            raise InputError("no words to learn from")
        self.tags_: list[str] = [*known, _UNKNOWN]
        self._number = {tag: i for i, tag in enumerate(known)}
        shapes = [self._shape(tags_of(one, self.column), one.heads) for one in trees if len(one)]
        excess = np.concatenate([np.maximum(shape.counts - self.valence, 0) for shape in shapes])
        full = sum((shape.counts >= self.valence).sum(axis=0) for shape in shapes)
        # A geometric law of those beyond: the share that goes on, with half an observation of each kind.
        self.more_: Floats = (excess.sum(axis=0) + 0.5) / (excess.sum(axis=0) + np.asarray(full) + 1.0)
        emission = self._emission(
            np.bincount(np.concatenate([shape.symbols for shape in shapes]), None, self._S)
        )
        with one_blas_thread():
            if self.method == "em":
                self.operators_ = self._em(shapes, emission)
            else:
                self.operators_ = tree_operators(
                    _observations(shapes, self._S), self._S, self.states, emission=emission, cutoff=self.cutoff,
                )  # fmt: skip
        self.facts_: dict[str, Any] = {
            "sentences": len(shapes),
            "words": int(sum(map(len, trees))),
            "tags": len(known),
            "states": len(self.operators_.root),
            "seconds": time.perf_counter() - started,
        }
        return self

    @property
    def _S(self) -> int:
        return len(self.tags_) * (self.valence + 1) ** 2

    def _emission(self, counts: Ints) -> Floats:
        """[S, S]: column x is the law of the symbol in place of x; those of the unknown tag have no column of words."""
        T, W = len(self.tags_), (self.valence + 1) ** 2
        valences = (counts.reshape(T, W).sum(axis=0) + 0.1) / (counts.sum() + 0.1 * W)
        redrawn = np.kron(np.eye(T), np.repeat(valences[:, None], W, axis=1))
        emission = (1.0 - self.smoothing) * np.eye(T * W) + self.smoothing * redrawn
        # A tag of its own in place of any: once for each tag, that is T - 1 times among all words.
        rare = (T - 1) / (counts.sum() + T - 1)
        anyone = np.zeros((T * W, T * W))
        anyone[-W:] = np.tile(np.eye(W), T)
        return np.asarray((1.0 - rare) * emission + rare * anyone)

    def _em(self, shapes: list[_Shape], emission: Floats) -> TreeOperators:
        """The same model by EM; its operators are those of the states themselves."""
        offsets = np.cumsum([0, *(len(shape.symbols) for shape in shapes)])
        heads = np.concatenate([shape.heads for shape in shapes]) - 1
        places = np.concatenate([np.arange(len(shape.heads)) for shape in shapes])
        forest = TokenForest.from_heads(offsets, heads, (places > heads).astype(np.int32))
        symbols = np.concatenate([shape.symbols for shape in shapes]).astype(np.int32)[forest.tokens]
        rng = np.random.default_rng(self.random_state)
        S, m = self._S, self.states
        o = np.bincount(symbols, minlength=S)[:, None] * rng.gamma(1.0, size=(S, m))
        o = emission @ (o / o.sum(axis=0))
        T = np.stack([rng.dirichlet(np.full(m, 10.0), m).T for _ in range(2)])
        pi = np.full(m, 1.0 / m)
        self.trace_: list[float] = []
        with task("EM of latent trees", total=self.iterations) as work:
            for _ in range(self.iterations):
                beliefs = sum_product(forest, symbols, Laws(o, np.ones(m), 0.0, np.ascontiguousarray(T), pi))
                self.trace_.append(beliefs.log_likelihood)
                counts = np.stack([np.bincount(symbols, column, S) for column in beliefs.nodes.T], axis=1)
                o = emission @ (counts / counts.sum(axis=0))
                T = beliefs.edges + 0.01 / m
                T /= T.sum(axis=1, keepdims=True)
                pi = (beliefs.roots + 0.01 / m) / (beliefs.roots + 0.01 / m).sum()
                work.update(1, note=f"log-likelihood {beliefs.log_likelihood:.0f}")
        modifiers = np.zeros((2, m, m, m))
        modifiers[:, :, np.arange(m), np.arange(m)] = T
        return TreeOperators(o, modifiers, pi)

    def _check_options(self) -> None:
        if self.method not in get_args(Method):
            raise unknown_choice("method is one of", self.method, get_args(Method))
        if self.column not in get_args(Column):
            raise unknown_choice("column is one of", self.column, get_args(Column))
        for name, least in (("states", 1), ("valence", 0), ("iterations", 1), ("random_state", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise OptionError(f"{name} is a whole number, at least {least}, not {value!r}")
        for name in ("smoothing", "cutoff"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
                raise OptionError(f"{name} is at least 0 and below 1, not {value!r}")

    # -- trees ----------------------------------------------------------------------------------------

    def score(self, tags: Sentence | Sequence[str], heads: ArrayLike | None = None) -> Signed:
        """p(tags, tree); ``heads`` may be left out if a sentence of CoNLL-U has them. The tree has one root."""
        if not hasattr(self, "operators_"):
            raise NotFittedError("this model has learned nothing yet: call fit")
        if isinstance(tags, Sentence):
            heads = tags.heads if heads is None else heads
            tags = tags_of(tags, self.column)
        shape = self._shape(tags, [] if heads is None else heads)
        beyond = shape.counts - self.valence
        log = float((beyond.clip(0) * np.log(self.more_) + (beyond >= 0) * np.log1p(-self.more_)).sum())
        messages, root = self.operators_.symbols[shape.symbols], 0
        for i in shape.upward:
            scale = float(np.abs(messages[i]).max(initial=0.0))
            if not scale:
                return Signed(0.0, -math.inf)
            messages[i] /= scale
            log += math.log(scale)
            h = int(shape.heads[i]) - 1
            if h < 0:
                root = i
            else:
                C = np.tensordot(messages[i], self.operators_.modifiers[RIGHT if i > h else LEFT], 1)
                messages[h] = messages[h] @ C
        p = float(messages[root] @ self.operators_.root)
        return Signed(float(np.sign(p)), log + math.log(abs(p)) if p else -math.inf)

    def rerank(
        self,
        tags: Sentence | Sequence[str],
        candidates: Sequence[ArrayLike],
        scores: ArrayLike | None = None,
        *,
        weight: float = 1.0,
    ) -> NDArray[np.int32]:
        """The best of several trees of a sentence, by the magnitude of p: a negative one is a small one with an error.

        Parameters
        ----------
        candidates
            Their heads; the first is the answer where all have the probability 0.
        scores
            What else speaks for each, as log-probabilities; the sum of it and ``weight`` · log p is the largest.
        """
        if not len(candidates):
            raise InputError("no candidates to choose from")
        base = np.zeros(len(candidates)) if scores is None else np.asarray(scores, float)
        if base.shape != (len(candidates),):
            raise OptionError(f"{len(candidates)} candidates but {base.size} scores")
        if weight:
            base = base + weight * np.array([self.score(tags, heads).log_magnitude for heads in candidates])
        return np.asarray(candidates[int(np.argmax(base))], np.int32)

    def _shape(self, tags: Sequence[str], heads: ArrayLike) -> _Shape:
        above = checked_heads(heads, len(tags))
        n = len(above)
        if np.count_nonzero(above == 0) != 1:
            raise InputError("a tree with one root is needed")
        words = np.arange(1, n + 1)
        counts = np.stack(
            [np.bincount(above[side], minlength=n + 1)[1:] for side in (words < above, words > above)], axis=1
        )
        left, right = np.minimum(counts, self.valence).T
        unknown = len(self.tags_) - 1
        ids = np.array([self._number.get(tag, unknown) for tag in tags])
        symbols = (ids * (self.valence + 1) + left) * (self.valence + 1) + right
        depth, up = np.zeros(n, np.int64), above
        while up.any():
            depth += up > 0
            up = np.concatenate([[0], above])[up]
        return _Shape(symbols, above, counts, np.argsort(-depth, kind="stable").tolist())

    # -- files ----------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """What the file of a parser keeps of it."""
        header = {name: getattr(self, name) for name in _SETTINGS}
        tensors = {**self.operators_._asdict(), "more": self.more_}
        return Parts({"settings": header, "facts": self.facts_}, tensors, {"tags": self.tags_})

    @classmethod
    def from_part(cls, file: ModelFile) -> Self:
        """What :meth:`parts` gave, checked."""
        model = cls(**file.settings(_SETTINGS))
        with file.checked():
            model._check_options()
        model.facts_, model.tags_ = file.fact("facts", dict), file.texts("tags")
        model._number = {tag: i for i, tag in enumerate(model.tags_[:-1])}
        if len(model._number) != len(model.tags_) - 1 or len(model.tags_) < 2:
            raise file.error("damaged: its tags are not different from each other")
        symbols, modifiers, root = (
            file.tensor(name, np.float64, ndim)
            for name, ndim in (("symbols", 2), ("modifiers", 4), ("root", 1))
        )
        model.more_, m = file.tensor("more", np.float64), len(root)
        if (symbols.shape, modifiers.shape) != ((model._S, m), (2, m, m, m)) or model.more_.shape != (2,):
            raise file.error("damaged: its arrays do not fit together")
        if not np.all((model.more_ > 0) & (model.more_ < 1)):
            raise file.error("damaged: its law of further modifiers is none")
        model.operators_ = TreeOperators(symbols, modifiers, root)
        return model


_UNKNOWN = "<unknown>"
_SETTINGS = (
    "states", "method", "column", "valence", "smoothing", "cutoff", "iterations", "random_state",
)  # fmt: skip


class _Shape(NamedTuple):
    """A tree: symbols and heads (from 1, 0 at the root) of its words, modifiers left and right, leaves first."""

    symbols: Ints
    heads: Ints
    counts: Ints  # [n, 2]
    upward: list[int]


def _observations(shapes: list[_Shape], n_symbols: int) -> Observations:
    parts: list[tuple[Any, ...]] = []
    for shape in shapes:
        n = len(shape.heads)
        side = np.where(np.arange(1, n + 1) > shape.heads, RIGHT, LEFT)
        outside = np.where(shape.heads > 0, 2 * shape.symbols[shape.heads - 1] + side, 2 * n_symbols)
        below = np.flatnonzero(shape.heads > 0)
        h, d = shape.heads[below] - 1, side[below]
        parts.append(
            (
                shape.symbols, outside, np.ones(n), shape.symbols[h], shape.symbols[below], outside[h], d,
                1.0 / shape.counts[h, d],
            )
        )  # fmt: skip
    return Observations(*(np.concatenate(column) for column in zip(*parts)))
