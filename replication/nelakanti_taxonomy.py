"""Nelakanti (2014), chapter 4: taxonomies of classes and classification along them, replicated.

    python replication/nelakanti_taxonomy.py [--quick] [--only NAME ...] [--seed S] [--cache DIR] [--out FILE]

Studies: synthetic, policies, splits, newsgroups, words. The last two look for their data under SPINNEY_DATA. Of the
thesis's figures only the orderings survive; they stand below each table, with whether they hold.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from grave_common import section, table, verdict
from grave_semcor import data_folder
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from spectral_common import Setting
from spectral_text import posts
from studies import run_studies

from spinney.classes import brown, pair_counts
from spinney.classify.hierarchical import TreeClassifier
from spinney.corpus import read_tokenized, sentence_arrays
from spinney.linalg import truncated_svd
from spinney.structure import ClassTree
from spinney.taxonomy import learn_taxonomy, taxonomy_from_confusion, word_taxonomy
from spinney.taxonomy.growing import top_down

METHODS = ("spec", "canonical", "diff", "conf", "rand", "obyo", "hung")
PRINCIPLED = ("spec", "diff", "obyo", "hung")  # the thesis's own
LAMS = (0.1, 1.0, 10.0)
HEADER = ("tree", "depth", "λ", "greedy", "exact", "mean loss", "median", "products", "seconds")
Array = NDArray[Any]


class Part(NamedTuple):
    """Samples and their classes."""

    X: Array
    y: Array

    def take(self, rows: Any) -> Part:
        """Some of them."""
        return Part(self.X[rows], self.y[rows])


class Scores(NamedTuple):
    """What a tree is worth: accuracy on the greedy way and of the most probable class, log-loss, cost."""

    depth: int
    lam: float
    greedy: float
    exact: float
    mean: float
    median: float
    products: float
    seconds: float

    def cells(self) -> tuple[str, ...]:
        """For a table."""
        return (
            str(self.depth), f"{self.lam:g}", f"{self.greedy:.3f}", f"{self.exact:.3f}", f"{self.mean:.3f}",
            f"{self.median:.3f}", f"{self.products:.1f}", f"{self.seconds:.1f}",
        )  # fmt: skip


# -------------------------------------------------------------------------------- samples with a class each


def synthetic_samples(
    kind: str, per_class: int, dim: int, rng: np.random.Generator, nclust: int = 50
) -> Part:
    """WS50 or PO50 of appendix B, with its slips mended: an orthant for each cluster, codes of ±1.

    Mean = disperse·code + a normal vector; points uniform in [0, variance]^dim are added. The thesis does not tell
    disperse and variance. The codes are what makes a hierarchy: where disperse is no larger than the normal vector, as
    in "no hierarchy", there is none for a tree to find. With 200 samples a class a flat model is perfect on WS, and
    errs on one in five or six of PO.
    """
    disperse, variance = {"WS50": (8.0, 4.0), "PO50": (20.0, 32.0), "no hierarchy": (1.0, 12.0)}[kind]
    clusters = np.arange(nclust)
    code = np.where((clusters[:, None] >> np.minimum(np.arange(dim), 62)) & 1, 1.0, -1.0)
    means = disperse * code + rng.standard_normal((nclust, dim))
    y = np.repeat(clusters, per_class)
    X = means[y] + rng.uniform(0.0, variance, (len(y), dim))
    return Part((X - X.mean(axis=0)) / X.std(), y)


def thirds(samples: Part, rng: np.random.Generator) -> tuple[Part, Part, Part]:
    """Training, validation and test parts of one size."""
    a, b, c = np.array_split(rng.permutation(len(samples.y)), 3)
    return samples.take(a), samples.take(b), samples.take(c)


def scored(
    tree: ClassTree, parts: tuple[Part, Part, Part], began: float, choices: Iterable[dict[str, Any]]
) -> Scores:
    """Fit along the tree, with the options of least log-loss on the validation part, and test."""
    train, valid, test = parts
    models = [TreeClassifier(tree, tol=1e-4, **options).fit(train.X, train.y) for options in choices]
    model = max(models, key=lambda model: float(model.log_likelihood(valid.X, valid.y).mean()))
    exact = float(np.mean(model.predict(test.X) == test.y))
    loss = -model.log_likelihood(test.X, test.y)
    model.greedy = True
    greedy = float(np.mean(model.predict(test.X) == test.y))
    products = float(model.dot_products(test.X).mean())
    found = (float(loss.mean()), float(np.median(loss)), products, time.perf_counter() - began)
    return Scores(model.tree_.depth, float(np.median(model.lams_)), greedy, exact, *found)


def strengths(lams: Iterable[float]) -> list[dict[str, Any]]:
    """One λ for all nodes: the choices."""
    return [{"lam": lam} for lam in lams]


def alike(one: float, other: float, n_test: int) -> bool:
    """Whether two accuracies differ by less than two standard errors, as if of independent test sets."""
    p = (one + other) / 2
    return bool(abs(one - other) <= 2 * np.sqrt(2 * p * (1 - p) / n_test))


def compared(
    parts: tuple[Part, Part, Part], depths: Iterable[int | None], lams: Sequence[float]
) -> dict[tuple[str, int | None], Scores]:
    """Every method at every depth, and the flat model."""
    train = parts[0]
    found: dict[tuple[str, int | None], Scores] = {}
    for method, depth in [("flat", 0), *((m, d) for m in METHODS for d in depths)]:
        began = time.perf_counter()
        tree = learn_taxonomy(train.X, train.y, method, depth=depth)  # type: ignore[arg-type]
        found[method, depth] = scored(tree, parts, began, strengths(lams))
    return found


def deepest(found: dict[tuple[str, int | None], Scores]) -> dict[str, Scores]:
    """The scores of full trees, and of the flat model."""
    return {method: scores for (method, depth), scores in found.items() if depth in (None, 0)}


def rows(found: dict[tuple[str, int | None], Scores]) -> Iterable[tuple[str, ...]]:
    """Of a table."""
    for (method, depth), scores in found.items():
        yield (f"{method}{'' if not depth else f', {depth} levels'}", *scores.cells())


def synthetic(setting: Setting) -> str:
    """WS50 and PO50, and classes without a hierarchy: all methods at several depths."""
    text = ""
    for kind in ("WS50", "PO50", "no hierarchy"):
        rng = np.random.default_rng(setting.seed)
        parts = thirds(synthetic_samples(kind, *_sizes(setting), rng), rng)
        found = compared(parts, (None,) if setting.quick else (1, 2, 3, None), LAMS)
        last = deepest(found)
        flat, rand, conf = (last[name].greedy for name in ("flat", "rand", "conf"))
        good, n = [last[name].greedy for name in PRINCIPLED], len(parts[2].y)
        claims = [
            ("principled trees are as good as flat", all(alike(score, flat, n) for score in good)),
            ("RAND is worst", rand <= min([*good, conf])),
        ]
        if kind == "WS50":
            claims.append(("CONF is like RAND", alike(conf, rand, n)))
        else:
            up, down = (
                np.mean([last[m].greedy for m in pair]) for pair in (("obyo", "hung"), ("spec", "diff"))
            )
            claims += [
                ("CONF is as good as flat", alike(conf, flat, n)),
                ("bottom-up is slightly ahead of top-down", bool(up > down)),
            ]
        per_class, dim = _sizes(setting)
        note = (
            f"50 classes of {per_class} samples, {dim} features; a third each to train, to choose λ, to test."
        )
        told = (
            verdict(claims)
            if kind != "no hierarchy"
            else "There is no tree to find, and trees cost accuracy."
        )
        text += section(f"Synthetic classes, {kind}", note, HEADER, rows(found)) + told + "\n"
    return text


def _sizes(setting: Setting) -> tuple[int, int]:
    """Samples a class, features."""
    del setting  # with fewer samples than 200 a class no method is near what it can do
    return 200, 200


def policies(setting: Setting) -> str:
    """One λ, one a node, or a prior on them."""
    choices: dict[str, list[dict[str, Any]]] = {
        "single": strengths(LAMS),
        "indep": [{"policy": "indep", "lams": LAMS}],
        "gamma": [{"policy": "gamma", "gamma": (a, b)} for a in (10.0, 100.0, 1000.0) for b in (1.0, 100.0)],
    }
    lines, same = [], True
    for kind in ("WS50", "PO50"):
        rng = np.random.default_rng(setting.seed)
        parts = thirds(synthetic_samples(kind, *_sizes(setting), rng), rng)
        for method in ("spec", "hung"):
            tree = learn_taxonomy(parts[0].X, parts[0].y, method)  # type: ignore[arg-type]
            scores = {}
            for policy, options in choices.items():
                scores[policy] = scored(tree, parts, time.perf_counter(), options)
                lines.append((f"{kind}, {method}, {policy}", *scores[policy].cells()))
            accuracies = [one.greedy for one in scores.values()]
            same &= alike(max(accuracies), min(accuracies), len(parts[2].y))
    note = (
        "Full trees. single and gamma (a of 10, 100, 1000; b of 1, 100) are chosen on the validation part, indep takes"
        " one of 0.1, 1, 10 at each node by three folds of the training part. λ is the median over nodes."
    )
    return section("Strengths of nodes", note, HEADER, lines) + verdict(
        [("the three policies are alike", same)]
    )


def splits(setting: Setting) -> str:
    """The ridge δ, and residuals taken anew after a split or not."""
    lines, same, worse = [], True, []
    for kind in ("WS50", "PO50"):
        rng = np.random.default_rng(setting.seed)
        parts = thirds(synthetic_samples(kind, *_sizes(setting), rng), rng)
        for method in ("spec", "diff"):
            known = {}
            for delta, exact in ((1.0, True), (0.001, True), (1000.0, True), (1.0, False)):
                began = time.perf_counter()
                tree = learn_taxonomy(parts[0].X, parts[0].y, method, delta=delta, exact=exact)  # type: ignore[arg-type]
                known[delta, exact] = scores = scored(tree, parts, began, strengths((1.0,)))
                name = f"{kind}, {method}, δ = {delta:g}" + ("" if exact else ", sub-matrix")
                lines.append((name, *scores.cells()))
            base = known[1.0, True]
            same &= all(alike(known[d, True].greedy, base.greedy, len(parts[2].y)) for d in (0.001, 1000.0))
            worse.append(known[1.0, False].mean > base.mean)
    claims = [
        ("δ does not matter", same),
        ("the sub-matrix gives a larger loss on WS50", all(worse[:2])),
    ]
    report = section("Residuals of splits", "Full trees, λ = 1.", HEADER, lines) + verdict(claims)
    return report + _ridges(setting)


def _ridges(setting: Setting) -> str:
    """How much δ matters where classes overlap, beside the size of what it is added to."""
    deltas = (0.001, 1.0, 1000.0, 100_000.0)
    rows: list[list[object]] = []
    for seed in range(setting.seed, setting.seed + (2 if setting.quick else 6)):
        rng = np.random.default_rng(seed)
        parts = thirds(synthetic_samples("PO50", *_sizes(setting), rng), rng)
        squares = np.square(parts[0].X).sum(axis=0).mean()
        trees = [learn_taxonomy(parts[0].X, parts[0].y, "diff", delta=delta) for delta in deltas]
        found = [scored(tree, parts, time.perf_counter(), strengths((1.0,))).greedy for tree in trees]
        rows.append([seed, f"{squares:,.0f}", *(f"{accuracy:.3f}" for accuracy in found)])
    what = (
        "\nPO50, DIFF, accuracy by δ, which is added to the squared lengths of the features (their mean is told), in "
        "other draws of the samples:\n\n"
    )
    return what + table(["seed", "squared length", *(f"δ = {delta:g}" for delta in deltas)], rows)


def newsgroups(setting: Setting) -> str:
    """The twenty newsgroups, in place of images: tf-idf, reduced."""
    found = list(posts(setting.data / "20newsgroups" / "20news-bydate.tar.xz"))
    found = found[:: 4 if setting.quick else 1]
    size = 100 if setting.quick else 300
    is_test = np.array([post.is_test for post in found])
    counts = TfidfVectorizer(min_df=3, sublinear_tf=True, stop_words="english")
    counts.fit(post.text for post in found if not post.is_test)
    T = counts.transform(post.text for post in found).tocsr()
    X = T @ truncated_svd(T[~is_test], size, power=4).V
    every = Part(X / X.std(), np.array([post.group for post in found]))
    train, test = every.take(~is_test), every.take(is_test)
    order = np.random.default_rng(setting.seed).permutation(len(train.y))
    parts = (train.take(order[len(order) // 5 :]), train.take(order[: len(order) // 5]), test)
    scores = compared(parts, (2, None) if setting.quick else (1, 2, 3, None), (1.0, 10.0, 100.0))
    last = deepest(scores)
    best = max(PRINCIPLED, key=lambda name: last[name].greedy)
    claims = [
        ("flat is more accurate than any tree", all(last[m].greedy < last["flat"].greedy for m in METHODS)),
        ("SPEC is the most accurate tree", best == "spec"),
        ("SPEC has the least log-loss of trees", min(PRINCIPLED, key=lambda name: last[name].mean) == "spec"),
        ("RAND is worst", min(METHODS, key=lambda name: last[name].greedy) == "rand"),
    ]
    note = (
        f"{len(train.y)} training posts (a fifth of them to choose λ), {len(test.y)} test posts, tf-idf reduced to"
        f" {size} dimensions. The claims are those of the thesis's CIFAR images."
    )
    tree = learn_taxonomy(train.X, train.y, "diff", depth=2)
    shown = f"\nTwo levels of DIFF: `{tree.to_newick()}`\n"
    return section("Twenty newsgroups", note, HEADER, rows(scores)) + verdict(claims) + shown


# ------------------------------------------------------------------------------------ words after words


class Bigrams(NamedTuple):
    """Counts of pairs of frequent words, in three parts, and a vector for each first word."""

    words: list[str]
    train: Any
    valid: Any
    test: Any
    vectors: Array


def bigrams(setting: Setting) -> Bigrams:
    """The Penn Treebank: pairs of its most frequent words, vectors by CCA of one-hot words (Dhillon et al. 2011)."""
    n_words, size = (300, 50) if setting.quick else (2000, 100)
    texts = {
        part: list(read_tokenized(setting.data / "ptb_lm" / f"ptb.{part}.txt.xz"))
        for part in ("train", "valid", "test")
    }
    words = [
        word for word, _ in Counter(word for line in texts["train"] for word in line).most_common(n_words)
    ]
    place = {word: i for i, word in enumerate(words)}
    counts = []
    for lines in texts.values():
        pairs = [
            (place[a], place[b]) for line in lines for a, b in pairwise(line) if a in place and b in place
        ]
        first, second = np.array(pairs).T
        C = sparse.csr_array((np.ones(len(pairs)), (first, second)), shape=(n_words, n_words))
        C.sum_duplicates()
        counts.append(C)
    before, after = (np.maximum(counts[0].sum(axis=axis), 1.0) for axis in (1, 0))
    whitened = sparse.diags_array(before**-0.5) @ counts[0] @ sparse.diags_array(after**-0.5)
    U = truncated_svd(whitened, size + 1).U[:, 1:]  # the first direction is constant
    return Bigrams(words, *counts, U * np.sqrt(before.sum() / before)[:, None])


def word_scores(tree: ClassTree, data: Bigrams, began: float, lams: Sequence[float]) -> tuple[Scores, Array]:
    """Fit along the tree to counts, λ by the validation part, and test; also the log-probabilities of all pairs."""
    found = []
    for lam in lams:
        model = TreeClassifier(tree, lam, tol=1e-3, greedy=True).fit_counts(
            data.vectors, data.train, data.words
        )
        known = np.array([data.words.index(word) for word in model.classes_])
        log_p = np.full(
            data.train.shape, np.log(1e-12)
        )  # words never seen second have no probability to speak of
        log_p[:, known] = model.predict_log_proba(data.vectors)
        found.append((float(data.valid.multiply(log_p).sum()), lam, model, known, log_p))
    _, lam, model, known, log_p = max(found, key=lambda one: one[0])
    pairs = data.test.tocoo()
    loss = -log_p[pairs.row, pairs.col]
    order = np.argsort(loss)
    half = np.searchsorted(np.cumsum(pairs.data[order]), pairs.data.sum() / 2)
    every, n = np.arange(len(data.words)), data.test.sum()
    place = {word: i for i, word in enumerate(data.words)}
    greedy = np.array([place[word] for word in model.predict(data.vectors)])
    right = [float(data.test[every, guess].sum() / n) for guess in (greedy, log_p.argmax(axis=1))]
    products = float(np.average(model.dot_products(data.vectors), weights=data.test.sum(axis=1)))
    mean, median = float(np.average(loss, weights=pairs.data)), float(loss[order[half]])
    seconds = time.perf_counter() - began
    return Scores(model.tree_.depth, lam, *right, mean, median, products, seconds), log_p


def words(setting: Setting) -> str:
    """The next word from the vector of the word before."""
    data = bigrams(setting)
    lams = (10.0,) if setting.quick else (10.0, 100.0)
    began = time.perf_counter()
    flat, log_p = word_scores(top_down(data.words, lambda z: z > 0, 0), data, began, lams[:1])
    found: dict[tuple[str, int | None], Scores] = {("flat", 0): flat}
    # What the flat model takes for what, in the validation part.
    confusion = np.zeros(data.train.shape)
    pairs = data.valid.tocoo()
    np.add.at(confusion, (pairs.col, log_p.argmax(axis=1)[pairs.row]), pairs.data)
    for depth in (4, None) if setting.quick else (4, 7, None):
        for method in METHODS:
            began = time.perf_counter()
            if method == "conf":
                tree = taxonomy_from_confusion(confusion, data.words, depth=depth)
            else:
                tree = word_taxonomy(data.vectors, data.train, data.words, method, depth=depth)  # type: ignore[arg-type]
            found[method, depth] = word_scores(tree, data, began, lams)[0]
    lines = list(rows(found))
    for name, grow in {"Huffman": _huffman, "Brown": _brown}.items():
        began = time.perf_counter()
        lines.append((name, *word_scores(grow(data), data, began, lams)[0].cells()))
    last = deepest(found)
    own = [last[name] for name in PRINCIPLED]
    up = max(last[name].mean for name in ("obyo", "hung"))
    claims = [
        ("trees are more accurate than flat", min(scores.greedy for scores in own) > flat.greedy),
        ("trees have a lower median loss than flat", max(scores.median for scores in own) < flat.median),
        ("trees need fewer products", max(scores.products for scores in own) < flat.products),
        ("full bottom-up trees collapse", up > last["rand"].mean),
        (
            "full top-down trees do not collapse",
            max(last[name].mean for name in ("spec", "diff")) < last["rand"].mean,
        ),
    ]
    note = (
        f"{len(data.words)} words, {data.train.sum():.0f} training and {data.test.sum():.0f} test pairs; the vector of"
        f" the first, {data.vectors.shape[1]} dimensions, tells the second. In place of AP news."
    )
    return section("Words after words", note, HEADER, lines) + verdict(claims) + _timings(setting, data)


def _huffman(data: Bigrams) -> ClassTree:
    return ClassTree.huffman(data.words, data.train.sum(axis=0))


def _brown(data: Bigrams) -> ClassTree:
    """Brown clusters of the training pairs, each a sentence of its own."""
    pairs = data.train.tocoo()
    text = (
        [data.words[a], data.words[b]]
        for a, b, times in zip(pairs.row, pairs.col, pairs.data.astype(int))
        for _ in range(times)
    )
    arrays = sentence_arrays(text)
    classes = brown(pair_counts(arrays), arrays.vocabulary, min(200, len(data.words) // 4)).classes
    path = dict(zip(classes.words, (classes.paths[i] for i in classes.ids)))  # type: ignore[index]
    known = [word for word in data.words if word in path]
    return ClassTree.from_paths(known, [path[word] for word in known])


def _timings(setting: Setting, data: Bigrams) -> str:
    """How long trees of all words take."""
    lines = []
    for method in ("canonical", "diff", "spec", "obyo", "hung"):
        began = time.perf_counter()
        tree = word_taxonomy(data.vectors, data.train, data.words, method)  # type: ignore[arg-type]
        seconds = time.perf_counter() - began
        depths = np.average(tree.depths, weights=data.train.sum(axis=0))
        lines.append((method, tree.depth, f"{depths:.1f}", f"{seconds:.1f}"))
    return "\n" + table(("building alone", "depth", "mean depth of a token", "seconds"), lines)


STUDIES: dict[str, Callable[[Setting], str]] = {
    "synthetic": synthetic,
    "policies": policies,
    "splits": splits,
    "newsgroups": newsgroups,
    "words": words,
}

DIFFERENCES = """\
## What differs from the thesis, and why

- CIFAR, Vehicle and AP news are not at hand: newsgroups and the Penn Treebank stand in for them.
- The thesis does not tell disperse and variance of its synthetic classes, η, φ and γ of HUNG, nor whether a binary node
  costs one product or two: here one. Products are those of the greedy way.
- "canonical" is ours: SPEC with classes weighted by their samples. Brown and Huffman trees are for comparison.
- One seed; "alike" and "as good as" mean within two standard errors of the difference, accuracy being the greedy one.
"""


def main() -> None:
    """Run the studies, print and keep their tables."""
    run_studies(
        STUDIES,
        lambda quick, seed, cache: Setting(quick, seed, data_folder(), cache),
        title="Nelakanti (2014): taxonomies, replicated",
        ending=DIFFERENCES,
        name="nelakanti_taxonomy",
        about=(__doc__ or "").splitlines()[0],
        quick="fewer samples, posts, words and depths; under two minutes",
    )


if __name__ == "__main__":
    main()
