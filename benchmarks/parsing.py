"""Parsers: against NLTK's chart parser, spectral learning against EM, speed, and quality on the WSJ sample.

The sample is NLTK's tenth of the Penn Treebank: the first 80 % of its files are learnt from, the next 10 % are for
choices, the last 10 % for the final figures. The Berkeley parser's were
measured once, on a machine of the same kind.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.comparisons import Comparison, judge
from benchmarks.data import corpus
from benchmarks.harness import publish
from replication.spectral_treebank import Treebank, sample_treebank, timed_em
from spinney.corpus import Tree

_JUDGES = 100  # held-out trees that say when EM is at its best
# The Berkeley parser 1.7 on the same files: EM with 4 split-merge cycles, one core.
BERKELEY_SECONDS, BERKELEY_F1 = 199.0, 85.4
BERKELEY = f"| Berkeley parser 1.7 | {BERKELEY_SECONDS:.0f} | | | | {BERKELEY_F1} | 95.9 | 20.7 |"


def main(quick: bool) -> None:
    """Run all parts and write the tables; ``quick``: fewer sentences, states and grammars, no speeds."""
    from threadpoolctl import threadpool_limits

    corpus("nltk", "treebank.zip")
    bank = sample_treebank()
    with threadpool_limits(1):
        nltk, row = _nltk(bank, count=4 if quick else 12)
        em, rows = _em_and_moments(bank, (8,) if quick else (8, 16))
        quality, reference = _quality(bank, LADDER[3:4] if quick else LADDER, dev=not quick)
        lengths, pruned = _lengths(bank, (20, 40) if quick else (20, 40, 80, 200))
        sections = [nltk, lengths, em, quality] if quick else [nltk, _speed(bank), lengths, em, quality]
        publish("parsing", sections, [row, *pruned, *rows, reference], quick)


# ------------------------------------------------------------------------------------------------- NLTK


def _nltk(bank: Treebank, count: int, longest: int = 8) -> tuple[str, Comparison]:
    """The most probable trees of a PCFG without unary rules, ours and NLTK's."""
    import nltk

    from spinney.parsing.binarising import Binarisation
    from spinney.parsing.coarse import Pruner
    from spinney.parsing.decoding import best_tree, viterbi_scores
    from spinney.parsing.em import tree_log_probabilities
    from spinney.parsing.grammar import Rules, pcfg_counts
    from spinney.parsing.treearrays import TreeArrays

    binarisation = Binarisation(horizontal=0, unaries="collapse")
    binary = [binarisation.binarise(tree) for tree in bank.train]
    arrays = TreeArrays.of(binary)
    rules = Rules.of(arrays, rare=0)
    grammar = pcfg_counts(arrays, rules).grammar()
    pruner = Pruner(grammar, 0.0)
    productions = [
        nltk.ProbabilisticProduction(
            nltk.Nonterminal(rules.labels[a]),
            [nltk.Nonterminal(rules.labels[b]), nltk.Nonterminal(rules.labels[c])],
            prob=p,
        )
        for (a, b, c), p in zip(rules.binary.tolist(), grammar.binary.tolist(), strict=True)
    ]
    lexicon = rules.lexicon
    for row, tag, p in zip(
        lexicon.entry_row.tolist(), lexicon.tag.tolist(), grammar.lexical.tolist(), strict=True
    ):
        if row < lexicon.n_words:
            productions.append(
                nltk.ProbabilisticProduction(nltk.Nonterminal(rules.labels[tag]), [lexicon.rows[row]], prob=p)
            )
    sentences = [tree.leaves() for tree in bank.train if 4 <= len(tree.leaves()) <= longest][:count]

    def parsed(words: list[str]) -> Tree:
        forest = pruner.forest(words)
        assert forest is not None
        tree = best_tree(viterbi_scores(grammar, forest))
        assert tree is not None
        return tree

    parsed(sentences[0])  # kernels are compiled here
    ours = peer = 0.0
    same = 0
    for words in sentences:
        started = time.perf_counter()
        tree = parsed(words)
        ours += time.perf_counter() - started
        # NLTK has one start symbol: it gets the label of our root, and so as many roots as there are to try.
        root = nltk.Nonterminal(tree.label)
        parser = nltk.ViterbiParser(nltk.PCFG(root, productions))
        started = time.perf_counter()
        found = next(iter(parser.parse(words)))
        peer += time.perf_counter() - started
        log_p = tree_log_probabilities(TreeArrays.of([tree], rules.labels), grammar)[0]
        log_root = math.log(grammar.root[rules.labels.index(tree.label)])
        same += math.isclose(log_p - log_root, math.log(found.prob()), rel_tol=1e-9)
    n = len(sentences)
    row = Comparison(
        "Parsing", "most probable trees of a PCFG, no pruning, one thread",
        f"Penn Treebank sample, {len(rules.binary):,} rules, {n} sentences of 4 to {longest} words",
        "NLTK ViterbiParser", "sentences/s", n / ours, n / peer, "same" if same == n else "worse",
        f"{same} of {n} trees as probable",
    )  # fmt: skip
    section = "\n".join(
        [
            "## Against NLTK's ViterbiParser",
            "",
            f"A PCFG of the training files without unary rules ({len(rules.binary):,} binary rules), no pruning, "
            f"{n} sentences of 4 to {longest} words, one thread. Ours includes inside-outside.",
            "",
            "| | ms a sentence | ratio |",
            "|---|---:|---:|",
            f"| Spinney | {1e3 * ours / n:.2f} | 1 |",
            f"| NLTK | {1e3 * peer / n:,.0f} | {peer / ours:,.0f} |",
            "",
            f"Best trees with the same probability: {same} of {n}.",
            "",
        ]
    )
    return section, row


# ------------------------------------------------------------------------------------------------ speed


def _speed(bank: Treebank) -> str:
    from spinney.parsing import Parser

    lines = [
        "## Speed of parsing",
        "",
        "Sentences of 18 to 22 words of the held-out files, one thread; as many states for every label.",
        "",
        "| states | decoder | sentences a second | 40 words | 200 words, s |",
        "|---:|---|---:|---:|---:|",
    ]
    held_out = [tree.leaves() for tree in (*bank.dev, *bank.test)]
    middle = [words for words in held_out if 18 <= len(words) <= 22]
    longer = [words for words in held_out if 38 <= len(words) <= 42]
    longest = [word for words in held_out if words[-1] == "." for word in [*words[:-1], ","]][:200]
    for states in (1, 8, 16):
        how = {"method": "pcfg"} if states == 1 else {"method": "clustering", "states": states}
        parser = Parser(**how, threads=1).fit(bank.train)
        parser.parse(middle[:2])
        rates = [_rate(parser, some) for some in (middle, longer)]
        started = time.perf_counter()
        parser.parse([longest])
        lines.append(
            f"| {states} | {parser.decoder} | {rates[0]:.1f} | {rates[1]:.1f} | {time.perf_counter() - started:.1f} |"
        )
    return "\n".join([*lines, ""])


def _rate(parser: Any, sentences: Sequence[Sequence[str]]) -> float:
    started = time.perf_counter()
    parser.parse(sentences)
    return len(sentences) / (time.perf_counter() - started)


def _lengths(bank: Treebank, sizes: Sequence[int]) -> tuple[str, list[Comparison]]:
    """CPU seconds by the number of words, with the default pruning and with a tenth of it, and F1 with both."""
    from spinney.evaluate import parseval
    from spinney.parsing import Parser

    parser = Parser("clustering", threads=1).fit(bank.train)
    held_out = [tree.leaves() for tree in (*bank.dev, *bank.test)]
    stream = [word for words in held_out if words[-1] == "." for word in [*words[:-1], ","]]
    default = parser.settings.prune
    f1, seconds = dict[float, float](), dict[tuple[int, float], float]()
    for prune in (default, default / 10):
        parser.prune(prune)
        f1[prune] = parseval(bank.test, parser.parse(tree.leaves() for tree in bank.test)).f1
        for words in sizes:
            count = max(400 // words, 2)
            some = [[*stream[i * words : (i + 1) * words - 1], "."] for i in range(count)]
            started = time.process_time()
            parser.parse(some)
            seconds[words, prune] = (time.process_time() - started) / count
    lines = [
        "## Speed by length",
        "",
        "CPU seconds for a sentence, joined from held-out ones; clusters with up to 16 states, one thread.",
        "",
        f"| words | prune {default:g} | prune {default / 10:g} |",
        "|---:|---:|---:|",
        *(f"| {n} | {seconds[n, default]:.3f} | {seconds[n, default / 10]:.3f} |" for n in sizes),
        "",
    ]
    rows = [
        Comparison(
            "Parsing", f"a sentence of {n} words, one thread, prune {default:g}; the other with {default / 10:g}",
            f"Penn Treebank sample, {len(bank.train):,} trees", "Spinney with less pruning", "s",
            seconds[n, default], seconds[n, default / 10],
            judge(f1[default], f1[default / 10], higher=True, tolerance=0.002),
            f"test F1 {100 * f1[default]:.1f}, with less pruning {100 * f1[default / 10]:.1f}", "own",
        )
        for n in sizes
    ]  # fmt: skip
    return "\n".join(lines), rows


# ------------------------------------------------------------------------------------- spectral and EM


class _Curve(NamedTuple):
    f1: float
    seconds: float
    iterations: int
    a_pass: float


def _em_and_moments(bank: Treebank, sizes: tuple[int, ...]) -> tuple[str, list[Comparison]]:
    lines = [
        "## Spectral learning against EM",
        "",
        f"As many states for every label, two threads. EM is judged on {_JUDGES} of the held-out trees after every "
        "tenth iteration, and the best grammar on all of them; seconds are those of its iterations up to that one, "
        "without the judging. Both begin with the same binary trees in arrays.",
        "",
        "| states | EM: a pass, s | iterations to the best | s | F1 | spectral: s | F1 | times as fast |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    rows = []
    for states in sizes:
        em, moments = _em(bank, states), _spectral(bank, states)
        lines.append(
            f"| {states} | {em.a_pass:.2f} | {em.iterations} | {em.seconds:.1f} | {100 * em.f1:.2f} "
            f"| {moments.seconds:.2f} | {100 * moments.f1:.2f} | {em.seconds / moments.seconds:.1f} |"
        )
        rows.append(
            Comparison(
                "Parsing", f"learning {states} latent states a label by moments instead of EM, all cores",
                f"Penn Treebank sample, {len(bank.train):,} trees", "Spinney's EM, to its best F1", "s",
                moments.seconds, em.seconds, judge(moments.f1, em.f1, higher=True, tolerance=0.005),
                f"held-out F1 {100 * moments.f1:.1f}, EM {100 * em.f1:.1f}", "own",
            )
        )  # fmt: skip
    return "\n".join([*lines, ""]), rows


def _em(bank: Treebank, states: int) -> _Curve:
    """EM from a random start, until F1 has not risen for two looks."""
    from spinney.parsing import Parser
    from spinney.parsing.methods import TrainingTrees
    from spinney.parsing.parser import HeldOutTrees

    parser = Parser("em", states=states)
    training = TrainingTrees.of(bank.train, parser.binarisation, parser.settings.rare)
    parser._begin(training.rules, training.pcfg.grammar())
    em = timed_em(training, states, HeldOutTrees(parser, bank.dev[:_JUDGES]))
    f1 = HeldOutTrees(parser, bank.dev)(em.grammar)
    return _Curve(f1, em.seconds, em.iterations, float(np.median(em.passes)))


def _spectral(bank: Treebank, states: int) -> _Curve:
    from spinney.parsing import Parser
    from spinney.parsing.methods import TrainingTrees
    from spinney.parsing.parser import HeldOutTrees
    from spinney.parsing.spectral import fit_spectral

    parser = Parser("spectral", states=states)
    training = TrainingTrees.of(bank.train, parser.binarisation, parser.settings.rare)
    parser._begin(training.rules, training.pcfg.grammar())
    fit_spectral(training.sample.trees, training.rules, 2)  # kernels are compiled here
    started = time.perf_counter()
    grammar = fit_spectral(training.sample.trees, training.rules, states).grammar
    seconds = time.perf_counter() - started
    return _Curve(HeldOutTrees(parser, bank.dev)(grammar), seconds, 1, seconds)


# ---------------------------------------------------------------------------------------------- quality


LADDER: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("PCFG", "pcfg", {"horizontal": 0}),
    ("Markovised PCFG (horizontal 1)", "pcfg", {}),
    ("spectral, 16 states", "spectral", {}),
    ("clusters and 5 iterations of EM", "clustering", {}),
    ("split-merge, up to 16 states", "split-merge", {}),
    ("product: spectral, clusters, split-merge, twice", "spectral+clustering+split-merge", {"grammars": 2}),
)


def _quality(
    bank: Treebank, ladder: Sequence[tuple[str, str, dict[str, Any]]], dev: bool
) -> tuple[str, Comparison]:
    """Grammars on the test part and, if asked for, on the part for choices."""
    from spinney.evaluate import bracket_counts, f1_interval, parseval
    from spinney.parsing import Parser

    lines = [
        "## Quality",
        "",
        "F1 by evalb's conventions; two threads. Every sentence has a tree.",
        "",
        "| | training, s | F1 dev | exact dev | F1 test (95 %) | F1 | tagging | parsing test, s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        BERKELEY,
    ]
    for name, method, options in ladder:
        parser = Parser(method, **options)
        started = time.perf_counter()
        parser.fit(bank.train)
        trained = time.perf_counter() - started
        chosen = " | "
        if dev:
            found = parseval(bank.dev, parser.parse(tree.leaves() for tree in bank.dev))
            chosen = f"{100 * found.f1:.2f} | {100 * found.exact:.1f}"
        started = time.perf_counter()
        guess = parser.parse(tree.leaves() for tree in bank.test)
        parsed = time.perf_counter() - started
        test = parseval(bank.test, guess)
        low, high = f1_interval(bracket_counts(bank.test, guess))
        assert not test.failed
        lines.append(
            f"| {name} | {trained:.1f} | {chosen} "
            f"| {100 * low:.1f} to {100 * high:.1f} | {100 * test.f1:.2f} | {100 * test.tagging:.2f} | {parsed:.1f} |"
        )
        if method == "clustering":  # the default of ``spinney parse fit``
            row = Comparison(
                "Parsing", f"learning a grammar: {name}, all cores; the peer by split and merge on one",
                f"Penn Treebank sample, {len(bank.train):,} trees", "Berkeley parser 1.7", "s", trained,
                BERKELEY_SECONDS, judge(100 * test.f1, BERKELEY_F1, higher=True, tolerance=0.01),
                f"test F1 {100 * test.f1:.1f}, the peer {BERKELEY_F1}", "reference",
            )  # fmt: skip
    return "\n".join([*lines, ""]), row
