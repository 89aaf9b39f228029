"""Tree CRFs by brute force: every labelled tree of a sentence, scored by features in words; and odd sentences."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from dependency_trees import all_trees, log_sum
from hypothesis import strategies as st

from spinney.corpus.conllu import Sentence
from spinney.parsing.treecrf.candidates import every_arc
from spinney.parsing.treecrf.loss import TreeLoss
from spinney.parsing.treecrf.nodes import NodeReader
from spinney.parsing.treecrf.preparing import Programs, gold_heads, prepared
from spinney.parsing.treecrf.templates import read_templates
from spinney.parsing.treecrf.wording import features_in_words

FEW = """
prune: h.upos m.upos direction
arc: h.upos m.upos distance
arc: h.lower direction
arc: m.lower
arc: between.upos m.upos
label: m.upos direction
label: h.upos m.feat
label: m.lower
sibling: h.upos s.upos m.upos gap
sibling: s.upos m.upos
"""


def problem(bank, *, projective=True, second=True, text=FEW, threads=1):
    """The loss of a treebank with all arcs as candidates, and what its weights stand for: loss, known, relations."""
    templates = [one for one in read_templates(text) if second or one.kind != "sibling"]
    programs = Programs.compiled(templates)
    nodes = NodeReader(programs.columns).read(bank)
    relations = sorted({name for one in bank for name in one.deprels})
    relation = np.array([relations.index(name) for one in bank for name in one.deprels], np.int32)
    heads = gold_heads(bank, lifted=projective)
    data, gold, known = prepared(every_arc(nodes.words), nodes, programs, heads, relation, len(relations))
    loss = TreeLoss(data, gold, known.sizes, known.relations, projective=projective, threads=threads)
    return loss, known, relations, templates


@dataclass
class Enumerated:
    """Every tree of a sentence: heads [T, n], and the scores of relations for each of its arcs [T, n, relations]."""

    heads: np.ndarray
    labelled: np.ndarray  # the score of an arc with each relation
    siblings: np.ndarray  # [T], the scores of pairs of siblings

    @property
    def scores(self):
        """The log of the sum over relations of exp(score) of each tree."""
        return np.logaddexp.reduce(self.labelled, axis=2).sum(axis=1) + self.siblings

    @property
    def log_z(self):
        """log Σ exp over all labelled trees, each of which has its number here."""
        every = self.siblings[:, None]
        for word in range(self.heads.shape[1]):
            every = (every[:, :, None] + self.labelled[:, word, None, :]).reshape(len(self.heads), -1)
        assert every.size == len(self.heads) * self.labelled.shape[2] ** self.heads.shape[1]
        return log_sum(every.ravel())

    def log_p(self, heads, relations):
        """The log of the probability of a labelled tree."""
        (tree,) = np.flatnonzero(np.all(self.heads == heads, axis=1))
        return self.labelled[tree, np.arange(len(heads)), relations].sum() + self.siblings[tree] - self.log_z

    @property
    def arc_p(self):
        """The probability of each arc [n + 1, n]: head and word."""
        n = self.heads.shape[1]
        p = np.exp(self.scores - log_sum(self.scores))
        found = np.zeros((n + 1, n))
        for chance, heads in zip(p, self.heads):
            found[heads, np.arange(n)] += chance
        return found


def enumerated(sentence, templates, known, w, n_relations, reader, projective=True):
    """All trees of a sentence with their scores, by the weights of features in words."""
    sizes = known.sizes
    arcs, relations, siblings = np.split(w, [sizes.arcs, sizes.arcs + sizes.relations])
    place = {kind: {int(key): i for i, key in enumerate(keys)} for kind, keys in known.keys.items()}
    of = {kind: [one for one in templates if one.kind == kind] for kind in ("arc", "label", "sibling")}

    def known_features(kind, head, modifier, sibling=None):
        keys = (key for key, _ in features_in_words(sentence, head, modifier, sibling, of[kind], reader))
        return [place[kind][key] for key in keys if key in place[kind]]

    n = len(sentence)
    score = np.zeros((n + 1, n + 1, n_relations))
    for m in range(1, n + 1):
        for h in range(n + 1):
            if h == m:
                continue
            score[h, m] += arcs[known_features("arc", h, m)].sum()
            for feature in known_features("label", h, m):
                row = slice(known.relations.row[feature], known.relations.row[feature + 1])
                np.add.at(score[h, m], known.relations.label[row], relations[row])
    heads, before = all_trees(n, projective)
    labelled = score[heads, np.arange(1, n + 1)]
    pairs = np.zeros(len(heads))
    if of["sibling"]:
        memo = {}
        for t, (own, previous) in enumerate(zip(heads.tolist(), before.tolist())):
            for m, (h, s) in enumerate(zip(own, previous), start=1):
                if (h, s, m) not in memo:
                    memo[h, s, m] = siblings[known_features("sibling", h, m, s)].sum()
                pairs[t] += memo[h, s, m]
    return Enumerated(heads, labelled, pairs)


def unpruned(parser):
    """The parser with all arcs as candidates."""
    parser.pruner = replace(parser.pruner, share=1e-300, most=1000)
    return parser


def enumeration(parser, sentence):
    """All trees of a sentence by a parser's weights."""
    templates = read_templates(parser.templates, classes=list(parser.classes))
    reader = NodeReader([], parser.classes)
    found = enumerated(
        sentence, templates, parser.known, parser.w, len(parser.relations), reader, parser.projective
    )
    return replace(
        found,
        labelled=pooled(found, parser, sentence, templates, reader),
        siblings=(1 - parser.rough) * found.siblings,
    )


def pooled(found, parser, sentence, templates, reader):
    """The scores of labelled arcs, with the share of the rough model by features in words; p(relation | arc) stays."""
    rough = dict(zip(parser.pruner.keys.tolist(), parser.pruner.w.tolist()))
    own = [one for one in templates if one.kind == "prune"]
    n = len(sentence)
    other = np.zeros((n + 1, n))
    for m in range(1, n + 1):
        for h in set(range(n + 1)) - {m}:
            told = features_in_words(sentence, h, m, None, own, reader)
            other[h, m - 1] = sum(rough.get(key, 0.0) for key, _ in told)
    own_scores = np.logaddexp.reduce(found.labelled, axis=2)
    difference = other[found.heads, np.arange(n)] - own_scores
    return found.labelled + parser.rough * difference[:, :, None]


# ------------------------------------------------------------------------------------- odd sentences

_TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=5)
_FORMS = (
    st.sampled_from(["a", "the", "The", "der Hund", "كلب", "שלום", "e\u0301", "é", "😀", "10", "…"]) | _TEXT
)
_FEATS = st.sampled_from(["_", "A=b", "A=c|B=d", "A=b|A=c", "A", "=", "B=d=e", "A=b|"]) | _TEXT


@st.composite
def odd_sentences(draw, max_size=7):
    """Sentences with odd words, tags and features, or without these columns."""
    forms = draw(st.lists(_FORMS, min_size=1, max_size=max_size))

    def column(values):
        return draw(st.just([]) | st.lists(values, min_size=len(forms), max_size=len(forms)))

    tags = st.sampled_from(["NOUN", "VERB", "_", "X"])
    return Sentence(forms, lemmas=column(_TEXT), upos=column(tags), xpos=column(tags), feats=column(_FEATS))


@st.composite
def trees(draw, max_size=8):
    """The heads of a tree: every word but the first of some order hangs on one before it."""
    n = draw(st.integers(1, max_size))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for i in range(1, n):
        heads[order[i] - 1] = order[draw(st.integers(0, i - 1))]
    return heads
