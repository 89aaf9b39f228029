"""A parser: one or more grammars, learned from trees, that find a tree for every sentence."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np

from spinney.corpus.brackets import Tree
from spinney.errors import InputError, NotFittedError, OptionError
from spinney.evaluate.parseval import parseval
from spinney.files import ModelFile, Parts
from spinney.model import Applied, Contents, Model, Structures
from spinney.parallel import default_threads, in_order
from spinney.parsing.binarising import Binarisation, label_parts
from spinney.parsing.coarse import Pruner
from spinney.parsing.compression import CompressedGrammar, compressed
from spinney.parsing.decoding import (
    EdgeScores,
    Signs,
    best_tree,
    free_tree,
    max_rule_scores,
    mbr_scores,
    viterbi_scores,
    with_signs,
)
from spinney.parsing.em import Smoothing
from spinney.parsing.forest import PackedForest
from spinney.parsing.grammar import Grammar, Rules
from spinney.parsing.headrules import head_rules
from spinney.parsing.inside import inside_outside
from spinney.parsing.kbest import k_best
from spinney.parsing.methods import TrainingTrees, learn
from spinney.parsing.stored import grammar_tensors, read_grammar, read_rules, rule_tensors
from spinney.progress import task
from spinney.settings import Settings, choose, settings_or
from spinney.settings.parse import GRAMMARS, Apply, Decoder, Evaluate, Explain, Inspect
from spinney.settings.report import Report
from spinney.views import Views


class Bracket(NamedTuple):
    """A label over the words ``begin`` to ``end - 1``, and its probability."""

    label: str
    begin: int
    end: int
    probability: float


class Parser(Model):
    """A constituent parser: a probabilistic grammar whose labels have latent states.

    Parameters
    ----------
    method
        How the grammar is learned: ``"clustering"`` of spectral vectors, then a little EM; ``"spectral"`` moments,
        without iterations; ``"split-merge"`` (EM with states that are split and merged); ``"em"`` with the same number
        of states for every label; ``"pivots"``; ``"pcfg"`` without states. Or several joined by plus signs, such as
        ``"spectral+clustering"``, whose grammars are combined (Petrov 2010).
    settings, given
        Settings of the method (:mod:`spinney.settings.parse`), as one object or by name. For ``horizontal`` and
        ``branching``, ``"auto"`` is what works best: no siblings, from the left, for grammars with states; one sibling,
        from the head, for a PCFG.

    Attributes
    ----------
    grammars_ : list of Grammar
    coarse_ : Grammar
        The PCFG.
    facts : dict
        Facts about the training data and the fit.
    decoder, signs, threads
        How it parses; taken from ``settings``, and may be changed.

    Examples
    --------
    >>> trees = [Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")] * 3
    >>> parser = Parser("pcfg", rare=0).fit(trees)
    >>> print(parser.parse([["the", "dog", "barks"]])[0])
    (S (NP (DT the) (NN dog)) (VP (VBZ barks)))
    """

    kind = "parsing/Parser"
    settings: Any

    def __init__(self, method: str = "clustering", *, settings: Settings | None = None, **given: Any) -> None:
        self.settings = settings or choose(GRAMMARS, {"method": method, **given})
        self.decoder: Decoder = self.settings.decoder
        self.signs: Signs = getattr(self.settings, "signs", "abs")
        self.threads = self.settings.threads

    # -- learning -------------------------------------------------------------------------------------

    def fit(self, trees: Iterable[Tree], *, dev: Sequence[Tree] | None = None) -> Self:
        """Learn from trees, which are taken as they are: :func:`~spinney.parsing.cleaning.clean_tree` first.

        Parameters
        ----------
        trees
            Treebank trees.
        dev
            Held-out trees: EM ends when their F1 no longer increases, and keeps the best grammar; spectral learning
            chooses the strengths by them that settings leave open.

        Notes
        -----
        An interrupt (Ctrl-C) ends learning early and sets ``facts["interrupted"]``: finished grammars are kept, and the
        current one as it was after its last cycle or iteration. If nothing has been learned, the interrupt is raised.
        """
        started = time.perf_counter()
        s = self.settings
        vars(self).pop("grammars_", None)  # a parser whose fit fails has learned nothing
        trees = list(trees)
        training = TrainingTrees.of(trees, self.binarisation, s.rare)
        self._begin(training.rules, training.pcfg.grammar(own=Smoothing().own))
        learning: list[dict[str, Any]] = []
        found: list[Grammar | CompressedGrammar] = []
        judge = None if dev is None else HeldOutTrees(self, dev)
        compress, interrupted = getattr(s, "compress", None), False
        for seed, method in product(range(getattr(s, "grammars", 1)), s.method.split("+")):
            try:
                grammar, facts = learn(training, method, s, s.seed + seed, judge)
                found.append(grammar if compress is None else compressed(grammar, tolerance=compress))
            except KeyboardInterrupt:
                if not found:
                    raise
                interrupted = True
                break
            learning.append({"states": int(grammar.layout.n_states.sum()), **facts})
            interrupted = facts.get("interrupted", False)
            if interrupted:
                break
        self.grammars_: list[Grammar | CompressedGrammar] = found
        tokens, seconds = len(training.sample.trees.tokens), time.perf_counter() - started
        self.facts = {
            "method": s.method,
            "sentences": training.sample.trees.n_trees,
            "tokens": tokens,
            "words": training.rules.lexicon.n_words,
            "labels": training.rules.n_labels,
            "binary_rules": len(training.rules.binary),
            "unary_rules": len(training.rules.unary),
            "grammars": len(found),
            "states": sum(int(grammar.layout.n_states.sum()) for grammar in found),
            "parameters": sum(grammar.n_parameters for grammar in found),
            "examples": _examples(trees),
            "learning": learning,
            "chosen": next((one["chosen"] for one in learning if "chosen" in one), None),
            "interrupted": interrupted,
            "seconds": seconds,
            "tokens_per_second": tokens / max(seconds, 1e-9),
        }
        return self

    @property
    def binarisation(self) -> Binarisation:
        """The binarisation of trees."""
        s = self.settings
        plain = s.method == "pcfg"
        horizontal = {"auto": int(plain), "all": None}.get(s.horizontal, s.horizontal)
        branching: Any = ("head" if plain else "left") if s.branching == "auto" else s.branching
        return Binarisation(horizontal, s.vertical, s.unaries, branching)

    def _begin(self, rules: Rules, coarse: Grammar) -> None:
        self.rules_, self.coarse_ = rules, coarse
        self.prune(self.settings.prune)

    def prune(self, threshold: float) -> None:
        """From now on, drop labels and rules whose posterior probability in the PCFG is below a threshold."""
        self._pruner = Pruner(self.coarse_, threshold)

    # -- parsing --------------------------------------------------------------------------------------

    def parse(
        self,
        sentences: Iterable[Sequence[str]],
        tags: Iterable[Sequence[str]] | None = None,
        *,
        longest: int | None = None,
    ) -> list[Tree]:
        """A tree for each sentence; where the grammar has none, the flat tree of its most probable tags.

        Parameters
        ----------
        sentences
            Words.
        tags
            The tags of the words of each sentence, if they are known; unknown tags are ignored. If the grammar has
            no tree with them, the result is its tree without them, with these tags put in.
        longest
            Longer sentences get the flat tree: time grows with the cube of the length.
        """
        self._check_fitted()
        return self.parsed_by(self.grammars_, sentences, tags, longest)

    def parsed_by(
        self,
        grammars: Sequence[Grammar | CompressedGrammar],
        sentences: Iterable[Sequence[str]],
        tags: Iterable[Sequence[str]] | None = None,
        longest: int | None = None,
    ) -> list[Tree]:
        """What :meth:`parse` gives, with other grammars."""
        words = list(sentences)
        given: list[Sequence[str] | None] = [None] * len(words) if tags is None else list(tags)
        if len(given) != len(words):
            raise InputError(f"{len(words)} sentences, but tags for {len(given)}")

        def one(pair: tuple[Sequence[str], Sequence[str] | None]) -> Tree:
            if longest is not None and len(pair[0]) > longest:
                return self.flat_tree(*pair)
            return self._tree(*pair, grammars)

        pairs = list(zip(words, given, strict=True))
        with task("parsing", total=len(words)) as work:
            self._tree(["x"], None, grammars)  # compiles: one word is enough for that
            found = []
            for tree in in_order(one, pairs, self.threads or default_threads()):
                found.append(tree)
                work.update(1)
        return found

    def _tree(
        self,
        words: Sequence[str],
        tags: Sequence[str] | None,
        grammars: Sequence[Grammar | CompressedGrammar],
    ) -> Tree:
        forest = self._forest(words, tags)
        tree = None
        if forest is not None:
            if self.decoder == "free":
                tree = free_tree(inside_outside(grammars[0], forest), self.signs)
            else:
                tree = best_tree(self._scores(forest, grammars))
                # Signed numbers may forbid every tree: then the PCFG decides.
                tree = best_tree(viterbi_scores(self.coarse_, forest)) if tree is None else tree
        if tree is None:
            return self.flat_tree(words, tags)
        tree = self.binarisation.restore(tree)
        return tree if tags is None else _retagged(tree, tags, self.tags_)

    def flat_tree(self, words: Sequence[str], tags: Sequence[str] | None = None) -> Tree:
        """The most probable root over the most probable tags, or over those that are given: a tree for any words."""
        tree = self.binarisation.restore(self._pruner.flat_tree(words))
        return tree if tags is None else _retagged(tree, tags, self.tags_)

    @property
    def tags_(self) -> frozenset[str]:
        """The tags of the trees."""
        return frozenset(self._pruner.tag_labels)

    def _forest(self, words: Sequence[str], tags: Sequence[str] | None = None) -> PackedForest | None:
        """The pruned forest of a sentence; with more tags for its words if it is empty otherwise."""
        forest = self._pruner.forest(words, tags=tags)
        return self._pruner.forest(words, wide=True) if forest is None else forest

    def _scores(self, forest: PackedForest, grammars: Sequence[Grammar | CompressedGrammar]) -> EdgeScores:
        if self.decoder == "viterbi":
            return viterbi_scores(self.coarse_, forest)
        score = mbr_scores if self.decoder == "mbr" else max_rule_scores
        found = [inside_outside(grammar, forest) for grammar in grammars]
        # A grammar without any derivation in the pruned forest is ignored.
        found = [marginals for marginals in found if marginals.sign] or found
        return EdgeScores.sum([score(marginals, self.signs) for marginals in found])

    def parse_kbest(
        self, words: Sequence[str], k: int, tags: Sequence[str] | None = None
    ) -> list[tuple[Tree, float]]:
        """The k best trees of a sentence with their scores, best first; all different, perhaps fewer than k."""
        self._check_fitted()
        if k < 1:
            raise OptionError(f"k must be at least 1, not {k}")
        if self.decoder == "free":
            raise OptionError(
                "the decoder 'free' gives one tree per sentence: choose another for several trees"
            )
        forest = self._forest(words, tags)
        found: dict[str, tuple[Tree, float]] = {}
        if forest is not None:
            # Several binary trees may stand for one: look at more of them.
            for score, binary in k_best(self._scores(forest, self.grammars_), 3 * k):
                tree = self.binarisation.restore(binary)
                found.setdefault(str(tree), (tree, score))
        return list(found.values())[:k] or [(self._tree(words, tags, self.grammars_), -np.inf)]

    def brackets(
        self, words: Sequence[str], least: float = 0.01, tags: Sequence[str] | None = None
    ) -> list[Bracket]:
        """The labels over spans of a sentence with their posterior probabilities, if at least ``least``.

        For several grammars, the mean. Labels are those of trees: each label of a chain over a span is listed.
        """
        self._check_fitted()
        forest = self._forest(words, tags)
        if forest is None:
            return []
        f, sums = forest.arrays, dict[tuple[int, int, str], float]()
        bottoms = np.flatnonzero(~forest.top)
        rules = np.flatnonzero(f.unary_rule >= 0)
        for grammar in self.grammars_:
            marginals = inside_outside(grammar, forest)
            both = (bottoms, marginals.items[bottoms]), (f.unary_parent[rules], marginals.unary[rules])
            for items, values in both:
                signed = with_signs(values, marginals.sign, self.signs) / len(self.grammars_)
                for item, value in zip(items.tolist(), signed.tolist(), strict=True):
                    part, labels = label_parts(forest.label(item))
                    for label in () if part else labels:
                        place = int(f.begin[f.span[item]]), int(f.end[f.span[item]]), label
                        sums[place] = sums.get(place, 0.0) + value
        # Absolute values of signed marginals may slightly exceed 1.
        found = [Bracket(label, i, j, min(p, 1.0)) for (i, j, label), p in sums.items() if p >= least]
        return sorted(found, key=lambda bracket: (bracket.begin, -bracket.end, -bracket.probability))

    def log_likelihood(self, sentences: Iterable[Sequence[str]]) -> list[float]:
        """log Σ p(tree) over all trees of each sentence that pruning left, under the first grammar; -inf for none."""
        self._check_fitted()
        forests = (self._pruner.forest(words) for words in sentences)
        found = (None if forest is None else inside_outside(self.grammars_[0], forest) for forest in forests)
        return [-np.inf if one is None or one.sign <= 0 else one.log_z for one in found]

    def score(self, trees: Sequence[Tree]) -> float:
        """The PARSEVAL F1 on trees."""
        return parseval(trees, self.parse(tree.leaves() for tree in trees)).f1

    def _check_fitted(self) -> None:
        if not hasattr(self, "grammars_"):
            raise NotFittedError("this parser has not been fitted: call fit")

    # -- what all models have -------------------------------------------------------------------------

    def contents(self) -> Contents:
        """The contents of the model's file."""
        self._check_fitted()
        tensors, strings = rule_tensors(self.rules_)
        parts = {"coarse": Parts({}, grammar_tensors(self.coarse_), {})}
        if self.settings.method != "pcfg":
            for i, grammar in enumerate(self.grammars_):
                parts[f"grammar{i}"] = Parts({"signed": grammar.signed}, grammar_tensors(grammar), {})
        # Fewer grammars than requested if learning was interrupted.
        return Contents({"facts": self.facts, "grammars": len(self.grammars_)}, tensors, strings, parts)

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The parser that a file holds."""
        with file.checked():
            parser = cls(**file.fact("fit", dict))
        rules = read_rules(file)
        parser.facts = file.fact("facts", dict)
        coarse = read_grammar(file.part("coarse"), rules, signed=False)
        if not isinstance(coarse, Grammar) or coarse.layout.n_states.max(initial=1) > 1:
            raise file.error("damaged: its PCFG has states")
        parser._begin(rules, coarse)
        parser.grammars_ = [coarse]
        if parser.settings.method != "pcfg":
            parts = [file.part(f"grammar{i}") for i in range(file.fact("grammars", int))]
            parser.grammars_ = [read_grammar(one, rules, signed=one.fact("signed", bool)) for one in parts]
        if not parser.grammars_:
            raise file.error("damaged: it has no grammar")
        return parser

    def structures(self) -> Structures:
        """What it gives to other models.

        ``constituents`` parses tokenised sentences; ``parser(head_rules)`` returns a function that gives them
        dependency trees.
        """
        from spinney.parsing.text import dependency_parser, trees_of

        def parser(rules: str | None = None) -> Any:
            return dependency_parser(self, head_rules(rules))

        return Structures(parser=lambda: parser, constituents=lambda: partial(trees_of, self))

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.parsing.views import fit_facts

        return Views([fit_facts(self.facts)])

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows: the labels of the grammar, and what the states of some of them stand for."""
        from spinney.parsing.views import parser_views

        return Views(parser_views(self, settings_or(Inspect, settings, given)))

    def plot_tree(self, words: Sequence[str], tags: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw the tree of a sentence with Matplotlib (extra ``plots``), into ``ax`` if it is given."""
        return self.parse([words], None if tags is None else [tags])[0].plot(ax)

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """The page of the model, with data if given."""
        from spinney.parsing.page import parser_page

        return Views(parser_page(self, data, settings_or(Report, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """Trees of the sentences of a file, or of tokenised sentences."""
        from spinney.parsing.applying import apply_parser

        return apply_parser(self, data, settings_or(Apply, settings, given))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Why sentences have their trees: the rules of each, with log-probabilities that add up."""
        from spinney.parsing.explaining import explain_parser

        return Views(explain_parser(self, data, settings_or(Explain, settings, given)))

    def evaluate(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Scores on a treebank, in files or in memory: brackets, heads and tags."""
        from spinney.parsing.scoring import evaluated

        return Views(evaluated(self, data, settings_or(Evaluate, settings, given)))


class HeldOutTrees:
    """The F1 of grammars on held-out trees, as a parser parses with them."""

    def __init__(self, parser: Parser, trees: Sequence[Tree]) -> None:
        self.parser, self.trees = parser, trees

    def __call__(self, grammar: Grammar) -> float:
        sentences = [tree.leaves() for tree in self.trees]
        return parseval(self.trees, self.parser.parsed_by([grammar], sentences)).f1


def _examples(trees: Sequence[Tree], n: int = 5, shortest: int = 5, longest: int = 12) -> list[list[str]]:
    """A few short sentences of a treebank, spread over it, for reports."""
    found = [words for tree in trees if shortest <= len(words := tree.leaves()) <= longest]
    return [found[i * len(found) // n] for i in range(n)] if len(found) >= n else found


def _retagged(tree: Tree, tags: Sequence[str], known: frozenset[str]) -> Tree:
    """The tree with other tags, as far as they are known."""
    left = list(tags)
    done: list[Tree] = []  # subtrees without their parent, the leftmost last
    for node in reversed(list(tree.nodes())):
        if node.word is not None:
            tag = left.pop()
            done.append(Tree(tag if tag in known else node.label, word=node.word))
        else:
            n = len(node.children)
            done[-n:] = [Tree(node.label, done[: -n - 1 : -1])]
    return done[0]
