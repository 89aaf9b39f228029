"""A parser: a grammar or several, learnt from trees, that gives every sentence a tree."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from itertools import product
from typing import Any, Literal, NamedTuple, Self, cast, get_args

import numpy as np

from spinney.corpus.brackets import Tree
from spinney.errors import InputError, NotFittedError, OptionError, unknown_choice
from spinney.evaluate.parseval import parseval
from spinney.files import FilePath, ModelFile, Parts, read_model, write_model
from spinney.model import Structures
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
from spinney.parsing.features import feature_set
from spinney.parsing.forest import PackedForest
from spinney.parsing.grammar import Grammar, Rules
from spinney.parsing.inside import inside_outside
from spinney.parsing.kbest import k_best
from spinney.parsing.methods import METHODS, Method, Options, TrainingTrees, learn
from spinney.parsing.stored import grammar_tensors, read_grammar, read_rules, rule_tensors
from spinney.progress import task

Decoder = Literal["max-rule", "mbr", "free", "viterbi"]
DECODERS: tuple[str, ...] = get_args(Decoder)
SIGNS: tuple[str, ...] = get_args(Signs)

KIND = "parsing/Parser"


class Bracket(NamedTuple):
    """A label over the words ``begin`` to ``end - 1``, and how probable it is."""

    label: str
    begin: int
    end: int
    probability: float


@dataclass(eq=False, repr=False)
class Parser:
    """Constituents of sentences, by a probabilistic grammar whose labels have latent states.

    Parameters
    ----------
    method
        How the grammar is learnt: ``"clustering"`` of spectral vectors, then a little EM; ``"spectral"`` moments,
        without iterations; ``"split-merge"`` (EM with states that are split and merged); ``"em"`` with as many states
        for every label; ``"pivots"``; ``"pcfg"`` without states. Or several with a plus between them, such as
        ``"spectral+clustering"``, whose grammars decide together.
    states
        How many a label has at most; for split-merge it is rounded up to a power of two.
    grammars
        So many grammars of each method, from different seeds, that decide together (Petrov 2010).
    horizontal, vertical, unaries, branching
        How trees are made binary (:class:`~spinney.parsing.binarising.Binarisation`). ``"auto"`` is what has served
        best: no sibling and from the left where states learn what to remember; for a PCFG one, from the head.
    rare
        Words with at most so many tokens stand for unknown ones.
    compress
        The relative error that tensors of binary rules may have when they are replaced by smaller ones
        (:func:`~spinney.parsing.compression.compressed`): models become smaller and, from 16 states on, a little
        faster. None leaves them as they are.
    iterations, polish
        Of EM: for ``"em"`` at most, and after clustering or pivots.
    features, kappa
        Of spectral moments (:func:`~spinney.parsing.spectral.fit_spectral`).
    decoder
        Which tree is best: ``"max-rule"`` (the product of posterior probabilities of its rules), ``"mbr"`` (the sum of
        posteriors of its labels), ``"free"`` (the same without regard to rules; the first grammar alone), ``"viterbi"``
        (a grammar without states).
    signs
        What to do with negative marginals of spectral grammars (:data:`~spinney.parsing.decoding.Signs`).
    prune
        Labels over spans that have a smaller posterior in the PCFG are not looked at.
    random_state, threads
        Seed; by default as many threads as there are cores.

    Attributes
    ----------
    grammars_ : list of Grammar
    coarse_ : Grammar
        The PCFG.
    facts_ : dict
        What it was trained on and how.

    Examples
    --------
    >>> trees = [Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")] * 3
    >>> parser = Parser("pcfg", rare=0).fit(trees)
    >>> print(parser.parse([["the", "dog", "barks"]])[0])
    (S (NP (DT the) (NN dog)) (VP (VBZ barks)))
    """

    method: str = "clustering"
    _: KW_ONLY
    states: int = 16
    grammars: int = 1
    horizontal: int | Literal["auto"] | None = "auto"
    vertical: int = 1
    unaries: Literal["one", "collapse"] = "one"
    branching: Literal["auto", "head", "left", "right"] = "auto"
    rare: int = 5
    compress: float | None = None
    iterations: int = 60
    polish: int = 5
    features: str = "full"
    kappa: float = 5.0
    decoder: Decoder = "max-rule"
    signs: Signs = "abs"
    prune: float = 1e-5
    random_state: int = 0
    threads: int | None = None

    # -- learning -------------------------------------------------------------------------------------

    def fit(
        self,
        trees: Iterable[Tree],
        *,
        dev: Sequence[Tree] | None = None,
        reading: dict[str, Any] | None = None,
    ) -> Self:
        """Learn from trees, which are taken as they are: :func:`~spinney.parsing.cleaning.clean_tree` first.

        Parameters
        ----------
        trees
            Treebank trees.
        dev
            Held-out trees: EM ends when their F1 no longer rises, and keeps the best.
        reading
            How the trees were read, to be kept with the model.

        Notes
        -----
        An interrupt (Ctrl-C) is passed on; what was learnt by then is kept, if it is anything: the grammars that are
        finished, and the one in work as it was after its last cycle or iteration.
        """
        started = time.perf_counter()
        self._check_settings()
        vars(self).pop("grammars_", None)  # a parser whose fit fails has learnt nothing
        trees = list(trees)
        training = TrainingTrees.of(trees, self.binarisation, self.rare)
        self._begin(training.rules, training.pcfg.grammar(own=Smoothing().own))
        facts: list[dict[str, Any]] = []
        found: list[Grammar | CompressedGrammar] = []
        self.facts_: dict[str, Any] = {
            "reading": dict(reading or {}),
            "trees": training.sample.trees.n_trees,
            "words": len(training.sample.trees.tokens),
            "labels": training.rules.n_labels,
            "binary_rules": len(training.rules.binary),
            "unary_rules": len(training.rules.unary),
            "known_words": training.rules.lexicon.n_words,
            "examples": _examples(trees),
        }
        judge = None if dev is None else self._judge(dev)
        interrupted = False
        for seed, method in product(range(self.grammars), self._methods):
            try:
                grammar, told = learn(training, method, self._options, self.random_state + seed, judge)
                if self.compress is None:
                    found.append(grammar)
                else:
                    found.append(compressed(grammar, tolerance=self.compress))
            except KeyboardInterrupt:
                if not found:
                    raise
                interrupted = True
                break
            facts.append(told)
            interrupted = told.get("interrupted", False)
            if interrupted:
                break
        self.grammars_: list[Grammar | CompressedGrammar] = found
        self.facts_ |= {
            "parameters": sum(grammar.n_parameters for grammar in self.grammars_),
            "states": [int(grammar.layout.n_states.sum()) for grammar in self.grammars_],
            "learning": facts,
            "seconds": time.perf_counter() - started,
        }
        if interrupted:
            self.facts_["interrupted"] = True
            raise KeyboardInterrupt
        return self

    @property
    def binarisation(self) -> Binarisation:
        """How trees are made binary."""
        plain = self.method == "pcfg"
        horizontal = int(plain) if self.horizontal == "auto" else self.horizontal
        branching: Literal["head", "left", "right"] = "head" if plain else "left"
        if self.branching != "auto":
            branching = self.branching
        return Binarisation(horizontal, self.vertical, self.unaries, branching)

    @property
    def _methods(self) -> list[Method]:
        return cast("list[Method]", self.method.split("+"))

    @property
    def _options(self) -> Options:
        return Options(
            states=self.states,
            cycles=(self.states - 1).bit_length(),
            iterations=self.iterations,
            polish=self.polish,
            features=self.features,
            kappa=self.kappa,
            threads=self.threads,
        )

    def _begin(self, rules: Rules, coarse: Grammar) -> None:
        self.rules_, self.coarse_ = rules, coarse
        self._pruner = Pruner(coarse, self.prune)

    def _judge(self, dev: Sequence[Tree]) -> Callable[[Grammar], float]:
        sentences = [tree.leaves() for tree in dev]
        return lambda grammar: parseval(dev, self._parsed(sentences, None, [grammar])).f1

    def _check_settings(self) -> None:
        choices: list[tuple[str, str, tuple[str, ...]]]
        choices = [("decoder", self.decoder, DECODERS), ("signs", self.signs, SIGNS)]
        choices += [("method", method, METHODS) for method in str(self.method).split("+")]
        for name, value, known in choices:
            if value not in known:
                raise unknown_choice(f"{name} is one of", value, known)
        for name, least in {"states": 1, "grammars": 1, "rare": 0, "iterations": 1, "polish": 0}.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise OptionError(f"{name} is a whole number, at least {least}, not {value!r}")
        if self.compress is not None and not (
            isinstance(self.compress, int | float) and 0 < self.compress < 1
        ):
            raise OptionError(f"compress is None or between 0 and 1, not {self.compress!r}")
        if not isinstance(self.prune, int | float) or not 0 <= self.prune < 1:
            raise OptionError(f"prune is at least 0 and below 1, not {self.prune!r}")
        if not isinstance(self.kappa, int | float) or not 0 <= self.kappa < np.inf:
            raise OptionError(f"kappa is at least 0, not {self.kappa!r}")
        feature_set(self.features)
        if self.decoder == "viterbi" and self.method != "pcfg":
            raise OptionError("decoder 'viterbi' needs a grammar without states: method 'pcfg'")
        self.binarisation  # noqa: B018  raises if its options are wrong

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
            The tags of the words of each sentence, if they are known; those that the grammar lacks are ignored. Where
            the grammar has no tree with them, it is the tree that it has without, with these tags put in.
        longest
            Sentences of more words get the flat tree at once: time grows with the cube of the length.
        """
        self._check_fitted()
        return self._parsed(sentences, tags, self.grammars_, longest)

    def _parsed(
        self,
        sentences: Iterable[Sequence[str]],
        tags: Iterable[Sequence[str]] | None,
        grammars: Sequence[Grammar | CompressedGrammar],
        longest: int | None = None,
    ) -> list[Tree]:
        words = list(sentences)
        given: list[Sequence[str] | None] = [None] * len(words) if tags is None else list(tags)
        if len(given) != len(words):
            raise InputError(f"{len(words)} sentences, but tags for {len(given)}")

        def one(pair: tuple[Sequence[str], Sequence[str] | None]) -> Tree:
            if longest is not None and len(pair[0]) > longest:
                return self.binarisation.restore(self._pruner.flat_tree(pair[0]))
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
        tree = self.binarisation.restore(self._pruner.flat_tree(words) if tree is None else tree)
        return tree if tags is None else _retagged(tree, tags, self.tags_)

    @property
    def tags_(self) -> frozenset[str]:
        """The tags of the trees."""
        return frozenset(self._pruner.tag_labels)

    def _forest(self, words: Sequence[str], tags: Sequence[str] | None = None) -> PackedForest | None:
        """What the PCFG leaves of a sentence; with more tags for its words if there is nothing otherwise."""
        forest = self._pruner.forest(words, tags=tags)
        return self._pruner.forest(words, wide=True) if forest is None else forest

    def _scores(self, forest: PackedForest, grammars: Sequence[Grammar | CompressedGrammar]) -> EdgeScores:
        if self.decoder == "viterbi":
            return viterbi_scores(self.coarse_, forest)
        score = mbr_scores if self.decoder == "mbr" else max_rule_scores
        found = [inside_outside(grammar, forest) for grammar in grammars]
        # A grammar that has no derivation at all of what the PCFG left does not silence the others.
        found = [marginals for marginals in found if marginals.sign] or found
        return EdgeScores.sum([score(marginals, self.signs) for marginals in found])

    def parse_kbest(
        self, words: Sequence[str], k: int, tags: Sequence[str] | None = None
    ) -> list[tuple[Tree, float]]:
        """The k best trees of a sentence with their scores, the best first; different trees, perhaps fewer than k."""
        self._check_fitted()
        if k < 1:
            raise OptionError(f"k is at least 1, not {k}")
        if self.decoder == "free":
            raise OptionError("decoder 'free' has one tree a sentence: choose another for k best")
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
        """The labels over spans of a sentence with their posterior probabilities, if not below ``least``.

        Of several grammars the mean. Labels are those of trees: of a chain of labels over a span, each.
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
        # Absolute values of signed marginals may pass 1 a little.
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
            raise NotFittedError("this parser has learnt nothing yet: call fit")

    # -- files ----------------------------------------------------------------------------------------

    def structures(self) -> Structures:
        """What it gives to other models: ``parser(head_rules)``, which makes dependency trees of sentences."""

        def parser(head_rules: str | None = None) -> Any:
            from spinney.parsing.headrules import COLLINS, HeadRules
            from spinney.parsing.text import dependency_parser

            return dependency_parser(self, COLLINS if head_rules is None else HeadRules.read(head_rules))

        return Structures(parser=lambda: parser)

    def save(self, path: FilePath) -> None:
        """Write a model file."""
        self._check_fitted()
        tensors, strings = rule_tensors(self.rules_)
        settings = {name: getattr(self, name) for name in _SETTINGS}
        # Fewer grammars than were wanted if learning was interrupted.
        header = {"settings": settings, "facts": self.facts_, "grammars": len(self.grammars_)}
        parts = {"coarse": Parts({}, grammar_tensors(self.coarse_), {})}
        if self.method != "pcfg":
            for i, grammar in enumerate(self.grammars_):
                parts[f"grammar{i}"] = Parts({"signed": grammar.signed}, grammar_tensors(grammar), {})
        write_model(path, KIND, header, tensors, strings, parts)

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read a model file."""
        return cls.from_file(read_model(path, KIND))

    @classmethod
    def from_file(cls, model: ModelFile) -> Self:
        """The model that a file holds."""
        parser = cls(**model.settings(_SETTINGS))
        with model.checked():
            parser._check_settings()
        rules = read_rules(model)
        parser.facts_ = model.fact("facts", dict)
        coarse = read_grammar(model.part("coarse"), rules, signed=False)
        if not isinstance(coarse, Grammar) or coarse.layout.n_states.max(initial=1) > 1:
            raise model.error("damaged: its PCFG has states")
        parser._begin(rules, coarse)
        parser.grammars_ = [coarse]
        if parser.method != "pcfg":
            parts = [model.part(f"grammar{i}") for i in range(model.fact("grammars", int))]
            parser.grammars_ = [read_grammar(one, rules, signed=one.fact("signed", bool)) for one in parts]
        if not parser.grammars_:
            raise model.error("damaged: it has no grammar")
        return parser


def _examples(trees: Sequence[Tree], n: int = 5, shortest: int = 5, longest: int = 12) -> list[list[str]]:
    """A few short sentences of a treebank, from all over it: what a report shows the parser on."""
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


_SETTINGS = tuple(field.name for field in fields(Parser))
