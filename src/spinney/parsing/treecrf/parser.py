"""A dependency parser: a log-linear model of trees, their relations and pairs of siblings (a tree CRF)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, OptionError, unknown_choice
from spinney.files import ModelFile
from spinney.inference.arcs import (
    constrained,
    minimum_risk,
    projective_best,
    projective_kbest,
)
from spinney.inference.spanning import single_root_arborescence
from spinney.model import Applied, Contents, Model, Structures
from spinney.optim import Solution, warn_if_empty, warn_unless_converged
from spinney.optim.base import Vector
from spinney.parallel import default_threads, in_order
from spinney.parsing.treecrf.candidates import Candidates
from spinney.parsing.treecrf.loss import Choices, Potentials, marginals
from spinney.parsing.treecrf.nodes import NodeReader
from spinney.parsing.treecrf.preparing import Known, Programs
from spinney.parsing.treecrf.problem import Problem, strengths
from spinney.parsing.treecrf.pruning import Pruner
from spinney.parsing.treecrf.scorer import TreeScorer
from spinney.parsing.treecrf.strongest import strongest_features
from spinney.parsing.treecrf.templates import Template, read_templates
from spinney.parsing.treecrf.training import train
from spinney.progress import log
from spinney.settings import Settings, settings_or
from spinney.settings.parse import Apply, Evaluate, Explain, Inspect, TreeCrf
from spinney.settings.report import Report
from spinney.structure import WordClasses
from spinney.views import Views

_WORDS = 4000  # words that are parsed at a time
#: Words of a sentence; a longer one gets a flat tree, for time grows with the cube of the length: here, 4 seconds.
LONGEST = 1000
DECODINGS = ("risk", "best")


class Parsed(NamedTuple):
    """Trees for sentences: the head and the relation of each word, and how probable each is."""

    heads: NDArray[np.int32]
    relations: NDArray[np.int64]
    head_probability: NDArray[np.float64]
    relation_probability: NDArray[np.float64]


@dataclass(frozen=True)
class _Batch:
    """Sentences with their candidate arcs, the scores and probabilities of these, and log Z of each sentence."""

    data: Choices
    scores: Potentials
    log_z: NDArray[np.float64]
    arc_p: NDArray[np.float64]

    @property
    def siblings(self) -> tuple[Any, ...]:
        """Pairs of siblings and their scores, for decoders; nothing in a model of first order."""
        data = self.data
        return (data.sib_ptr, data.sib, self.scores.siblings) if data.second_order else ()


class TreeParser(Model):
    """Finds the dependency tree of a sentence whose words have tags, with the relation of each arc.

    Attributes
    ----------
    relations : list of str
    known : Known
        The features that have weights.
    w : array
        The weights: those of arcs, of relations, and of siblings.
    pruner : Pruner
        The rough model that chooses candidate arcs.
    rough : float
        The share of the rough model in the scores of trees.
    templates : str
        The text of the feature templates.
    strongest : list of (kind, relation, feature, weight)
        The strongest features, in words.
    facts : dict

    Examples
    --------
    >>> text = [Sentence("the dog barks".split(), upos="DET NOUN VERB".split(), heads=[2, 3, 0],
    ...                  deprels=["det", "nsubj", "root"]),
    ...         Sentence("dogs chase the cat".split(), upos="NOUN VERB DET NOUN".split(), heads=[2, 0, 4, 2],
    ...                  deprels=["nsubj", "root", "det", "obj"])] * 5
    >>> parser = TreeParser.train(text, solver="adagrad", lam=0.01)
    >>> [one] = parser.parse([Sentence("the cat barks".split(), upos="DET NOUN VERB".split())])
    >>> one.heads, one.deprels
    ([2, 3, 0], ['det', 'nsubj', 'root'])
    """

    kind = "parsing/TreeCRF"
    settings: Any

    def __init__(
        self,
        templates: str,
        relations: list[str],
        known: Known,
        w: Vector,
        pruner: Pruner,
        *,
        rough: float = 0.0,
        projective: bool = True,
        classes: dict[str, WordClasses] | None = None,
        strongest: list[tuple[str, str, str, float]] | None = None,
        facts: dict[str, Any] | None = None,
    ) -> None:
        self.templates, self.relations, self.known, self.w, self.pruner = (
            templates,
            relations,
            known,
            w,
            pruner,
        )
        self.rough, self.projective, self.classes = rough, projective, classes or {}
        self.strongest, self.facts = strongest or [], facts or {}

    # -- learning -------------------------------------------------------------------------------------

    @classmethod
    def train(
        cls,
        sentences: Sequence[Sentence],
        settings: Settings | None = None,
        *,
        dev: Sequence[Sentence] | None = None,
        **given: Any,
    ) -> Self:
        """Learn from trees; ``settings`` are of :class:`spinney.settings.parse.TreeCrf`, or given by name.

        ``dev``, held-out trees, choose the strength where the settings leave it open. An interrupt ends the training
        with what was learned so far: the fact ``interrupted`` says so.
        """
        s: Any = settings_or(TreeCrf, settings, given)
        started = time.perf_counter()
        problem = Problem.of(sentences, s)
        tried: list[dict[str, Any]] = []
        best: tuple[float, Self, Solution] | None = None
        for lam in strengths(s, dev):
            try:
                parser, solution = cls._solved(problem, lam)
            except KeyboardInterrupt:
                if best is None:
                    raise
                best[1].facts["interrupted"] = True
                break
            las = 0.0
            try:
                las = parser.score(dev) if dev else 0.0
            except KeyboardInterrupt:
                parser.facts["interrupted"] = True  # what was learned is kept
            tried.append({"lam": lam, "las": las, "active": parser.facts["active"]})
            if best is None or las > best[0]:
                best = las, parser, solution
            if parser.facts["interrupted"]:
                best[1].facts["interrupted"] = True
                break
        assert best is not None
        _, parser, solution = best
        if len(tried) > 1:
            parser.facts["tried"] = tried
        parser.facts["seconds"] = seconds = time.perf_counter() - started
        parser.facts["tokens_per_second"] = parser.facts["tokens"] / max(seconds, 1e-9)
        parser.settings = s
        warn_if_empty(parser.facts["active"], "lower lam")
        if s.solver not in ("adagrad", "pa"):
            warn_unless_converged(solution, s.tol)
        return parser

    @classmethod
    def _solved(cls, problem: Problem, lam: float) -> tuple[Self, Solution]:
        """The parser at one strength."""
        s, loss, penalty = problem.settings, problem.loss, problem.penalty(lam)
        solution = train(loss, penalty, s)
        known, w = compact(problem.known, solution.w)
        strongest = strongest_features(
            problem.templates, problem.reader, problem.sentences, problem.loss.data, problem.loss.gold,
            problem.known, solution.w, problem.relations,
        )  # fmt: skip
        facts = {
            "method": "tree-crf",
            "sentences": len(problem.sentences),
            "tokens": loss.data.arcs.n_words,
            "order": 2 if loss.data.second_order else 1,
            "relations": len(problem.relations),
            "nonprojective": problem.lifted,
            "arcs_per_word": len(loss.data.arcs.head) / max(loss.data.arcs.n_words, 1),
            "penalty": penalty.describe(),
            "parameters": loss.n_params,
            "active": int(np.count_nonzero(solution.w)),
            "objective": solution.objective,
            "gap": solution.proven_gap,
            "violation": solution.violation,
            "solver": solution.solver,
            "iterations": solution.n_iter,
            "converged": solution.converged,
            "interrupted": solution.interrupted,
        }
        parser = cls(
            problem.text, problem.relations, known, w, problem.pruner, projective=loss.projective,
            rough=0.0 if s.solver == "pa" else s.rough,  # without probabilities, the scales differ
            classes=problem.reader.classes, strongest=strongest, facts=facts,
        )  # fmt: skip
        return parser, solution

    # -- parsing --------------------------------------------------------------------------------------

    def parse(
        self,
        sentences: Sequence[Sentence],
        *,
        given: Sequence[Sequence[int]] | None = None,
        decoding: str = "risk",
        threads: int | None = None,
    ) -> list[Sentence]:
        """The sentences with their heads and relations.

        Parameters
        ----------
        sentences
            With the tags, lemmas and features that the parser was trained on; heads that they have are not looked at.
        given
            Heads that must stay, for each sentence: -1 where any head is allowed.
        decoding
            ``"risk"``: the tree with the largest number of right arcs to expect; ``"best"``: the most probable tree.
        """
        found = self.probable(sentences, given=given, decoding=decoding, threads=threads)
        return [tree for tree, _, _ in found]

    def probable(
        self,
        sentences: Sequence[Sentence],
        *,
        given: Sequence[Sequence[int]] | None = None,
        decoding: str = "risk",
        threads: int | None = None,
        longest: int | None = None,
        first: int = 1,
    ) -> Iterator[tuple[Sentence, list[float], list[float]]]:
        """Each sentence with its tree, the probability of each arc, and that of its relation given the arc.

        A sentence of more than ``longest`` words (:data:`LONGEST`) gets a flat tree, whose probabilities are said to
        be 0. ``first`` is the number of the first sentence, for messages.
        """
        longest = LONGEST if longest is None else longest
        if decoding not in DECODINGS:
            raise unknown_choice("decoding must be", decoding, DECODINGS)
        held = None if given is None else _checked_heads(sentences, given, first)
        batches = list(_batches(sentences, longest))

        def one(bounds: tuple[int, int]) -> Parsed:
            start, stop = bounds
            if len(sentences[start]) > longest:
                return _flat(len(sentences[start]))
            own = None if held is None else np.concatenate(held[start:stop])
            return self._parsed(sentences[start:stop], own, decoding, first + start)

        for (start, stop), found in zip(batches, in_order(one, batches, threads or default_threads())):
            at = 0
            for sentence in sentences[start:stop]:
                end = at + len(sentence)
                heads = found.heads[at:end].tolist()
                names = [self.relations[i] for i in found.relations[at:end].tolist()]
                if len(sentence) > longest:
                    names = ["dep" if head else "root" for head in heads]
                yield (
                    replace(sentence, heads=heads, deprels=names, deps=[]),
                    found.head_probability[at:end].tolist(),
                    found.relation_probability[at:end].tolist(),
                )
                at = end
        long = [number for number, one in enumerate(sentences, first) if len(one) > longest]
        if long:
            what = "%d sentence%s longer than %d words and got a flat tree; the first: number %d"
            log.warning(what, len(long), "s are" if len(long) > 1 else " is", longest, long[0])

    def kbest(
        self, sentence: Sentence, k: int, *, given: Sequence[int] | None = None, number: int = 1
    ) -> list[tuple[Sentence, float]]:
        """The k most probable projective trees of a sentence, best first, with the log of their probabilities.

        The probability is that of a tree with any relations; the relations are the most probable one of each arc.
        ``given`` are heads that must stay, as in :meth:`parse`; ``number`` is that of the sentence, for messages.
        """
        if len(sentence) > LONGEST:
            raise InputError(
                f"sentence {number} has {len(sentence):,} words, too many for several trees",
                remedy=f"split it: at most {LONGEST:,}",
            )
        batch = self._scored(
            [sentence], None if given is None else _checked_heads([sentence], [given], number)[0]
        )
        heads, scores, arcs = projective_kbest(*batch.data.arcs, batch.scores.arcs, *batch.siblings, k=k)
        if not len(heads) and len(sentence):
            raise _no_tree(number, True)
        best = batch.scores.given.argmax(axis=1)
        return [
            (
                replace(
                    sentence, heads=row.tolist(), deprels=[self.relations[best[a]] for a in own], deps=[]
                ),
                float(score - batch.log_z[0]),
            )
            for row, score, own in zip(heads, scores, arcs)
        ]

    def head_probabilities(
        self, sentence: Sentence, *, given: Sequence[int] | None = None
    ) -> list[dict[int, float]]:
        """The probability of each candidate head (0: the root) of each word, by all trees; those of a word add up to 1.

        Heads that the rough model left out are not there. ``given`` are heads that must stay, as in :meth:`parse`.
        """
        batch = self._scored([sentence], None if given is None else _checked_heads([sentence], [given], 1)[0])
        _, ptr, head = batch.data.arcs
        pairs = list(zip(head.tolist(), batch.arc_p.tolist()))
        return [dict(pairs[a:b]) for a, b in pairwise(ptr.tolist())]

    def score(self, sentences: Sequence[Sentence]) -> float:
        """The share of words with the right head and universal relation (LAS), punctuation included."""
        found = self.parse(sentences)
        right = sum(
            h == g and a.partition(":")[0] == b.partition(":")[0]
            for one, gold in zip(found, sentences)
            for h, g, a, b in zip(one.heads, gold.heads, one.deprels, gold.deprels or ["_"] * len(gold))
        )
        return right / max(sum(map(len, sentences)), 1)

    @property
    def needs_tags(self) -> bool:
        """Whether any template looks at the column upos."""
        return "upos" in self._programs.columns

    def templates_of(self, kind: str) -> list[Template]:
        """The templates of a kind: ``arc``, ``label``, ``sibling`` or ``prune``."""
        return [one for one in self._read if one.kind == kind]

    @cached_property
    def _read(self) -> list[Template]:
        return read_templates(self.templates, classes=list(self.classes))

    @cached_property
    def _programs(self) -> Programs:
        return Programs.compiled(self._read)

    @cached_property
    def _scorer(self) -> TreeScorer:
        return TreeScorer(self.known, self.w, self._programs)

    @cached_property
    def _reader(self) -> NodeReader:
        return NodeReader(self._programs.columns, self.classes)

    def _scored(self, sentences: Sequence[Sentence], given: NDArray[np.int32] | None = None) -> _Batch:
        nodes = self._reader.read(sentences)
        arcs, rough = self.pruner.prune(nodes, given, projective=self.projective)
        if given is not None:
            ptr, kept = constrained(arcs.ptr, arcs.head, np.zeros(len(arcs.head)), given)
            arcs, rough = Candidates(arcs.words, ptr, arcs.head[kept]), rough[kept]
        data = Choices.of(arcs, self._programs.second_order)
        scores = self._scorer.potentials(data, nodes)
        if self.rough:
            scores = scores.pooled(rough, self.rough)
        log_z, arc_p, _ = marginals(data, scores, self.projective)
        return _Batch(data, scores, log_z, arc_p)

    def _parsed(
        self, sentences: Sequence[Sentence], given: NDArray[np.int32] | None, decoding: str, first: int
    ) -> Parsed:
        batch = self._scored(sentences, given)
        arcs, scores = batch.data.arcs, batch.scores
        if decoding == "risk":
            heads, _, chosen = minimum_risk(*arcs, batch.arc_p, projective=self.projective)
        elif self.projective:
            heads, _, chosen = projective_best(*arcs, scores.arcs, *batch.siblings)
        else:
            heads, _, chosen = single_root_arborescence(*arcs, scores.arcs)
        if np.any(heads < 0):  # given arcs that no tree has
            number = int(np.searchsorted(arcs.words, np.argmax(heads < 0), side="right"))
            raise _no_tree(first + number - 1, self.projective)
        rows = scores.given[chosen]
        relations = rows.argmax(axis=1)
        return Parsed(heads, relations, batch.arc_p[chosen], rows[np.arange(len(rows)), relations])

    # -- the contract of models -----------------------------------------------------------------------

    def structures(self) -> Structures:
        """None: other models take parsers of words, and this one needs their tags (see ``pipeline``)."""
        return Structures()

    def contents(self) -> Contents:
        """What the parser keeps in its file."""
        from spinney.parsing.treecrf.storing import contents_of

        return contents_of(self)

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The parser that a file holds."""
        from spinney.parsing.treecrf.storing import stored

        return cls(**stored(file))

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.parsing.treecrf.views import summary_views

        return Views(summary_views(self))

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows: facts, and the strongest features of arcs, relations and siblings in words."""
        from spinney.parsing.treecrf.views import inspection

        return Views(inspection(self, settings_or(Inspect, settings, given)))

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """The page of the parser; with data, sentences with their arcs."""
        from spinney.parsing.treecrf.views import page

        return Views(page(self, data, settings_or(Report, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """Trees for the sentences of CoNLL-U files, or in memory."""
        from spinney.parsing.treecrf.applying import applied

        return applied(self, data, settings_or(Apply, settings, given))

    def evaluate(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Scores on a treebank: heads (UAS), heads and relations (LAS)."""
        from spinney.parsing.treecrf.scoring import evaluated

        return Views(evaluated(self, data, settings_or(Evaluate, settings, given)))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Why words have their heads: the features that speak for an arc, and for the next best head."""
        from spinney.parsing.treecrf.applying import refuse_for_tree_crfs
        from spinney.parsing.treecrf.explaining import explained

        s = settings_or(Explain, settings, given)
        refuse_for_tree_crfs(s)
        return Views(explained(self, data, s))


def _checked_heads(
    sentences: Sequence[Sentence], given: Sequence[Sequence[int]], first: int
) -> list[NDArray[np.int32]]:
    """The given heads of each sentence, or an error where they are none."""
    if len(given) != len(sentences):
        raise OptionError(f"given must have the heads of {len(sentences)} sentences, not of {len(given)}")
    found = []
    for number, (sentence, heads) in enumerate(zip(sentences, given), first):
        n = len(sentence)
        if len(heads) != n or not all(-1 <= head <= n and head != m for m, head in enumerate(heads, 1)):
            raise OptionError(
                f"the given heads of sentence {number} must be one for each word: -1, 0 or the number of another word"
            )
        found.append(np.array(heads, np.int32))
    return found


def _no_tree(number: int, projective: bool) -> InputError:
    kind = "projective tree" if projective else "tree"
    return InputError(
        f"sentence {number}: no {kind} with one root has all the arcs that are given",
        remedy="give fewer" if not projective else "give fewer, or none that cross",
    )


def _flat(n: int) -> Parsed:
    """All words below the first."""
    heads = np.minimum(np.arange(n), 1).astype(np.int32)
    return Parsed(heads, np.zeros(n, np.int64), np.zeros(n), np.zeros(n))


def _batches(sentences: Sequence[Sentence], longest: int) -> Iterator[tuple[int, int]]:
    """Runs of sentences of some thousand words, fewer where sentences are long: candidates grow with the square.

    A sentence of more than ``longest`` words is by itself.
    """
    start, weight = 0, 0
    for i, sentence in enumerate(sentences):
        own = len(sentence) * max(1, len(sentence) // 40)
        alone = len(sentence) > longest or (i > start and len(sentences[i - 1]) > longest)
        if i > start and (alone or weight + own > _WORDS):
            yield start, i
            start, weight = i, 0
        weight += own
    if start < len(sentences):
        yield start, len(sentences)


def compact(known: Known, w: Vector) -> tuple[Known, Vector]:
    """Only the features and relations whose weights are not 0."""
    sizes, row = known.sizes, known.relations.row
    arcs, relations, siblings = np.split(w, [sizes.arcs, sizes.arcs + sizes.relations])
    pair = relations != 0.0
    per_feature = np.diff(np.concatenate([[0], np.cumsum(pair)])[row])
    keep = {"arc": arcs != 0.0, "label": per_feature > 0, "sibling": siblings != 0.0}
    keys = {kind: known.keys[kind][kept] for kind, kept in keep.items()}
    templates = {kind: known.templates[kind][kept] for kind, kept in keep.items()}
    new_row = np.concatenate([[0], np.cumsum(per_feature[keep["label"]])])
    label = known.relations.label[pair]
    left = Known(keys, known.relations._replace(row=new_row, label=label), templates)
    return left, np.concatenate([arcs[keep["arc"]], relations[pair], siblings[keep["sibling"]]])
