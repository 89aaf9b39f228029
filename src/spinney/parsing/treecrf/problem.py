"""A treebank as an optimisation problem: its templates, candidate arcs and features, the loss and the penalty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spinney import progress
from spinney.corpus.conllu import Sentence
from spinney.corpus.opening import open_text
from spinney.errors import InputError, SettingError
from spinney.optim import Structure, penalty
from spinney.optim.base import Penalty
from spinney.optim.penalties import FlatGroups
from spinney.parallel import default_threads
from spinney.parsing.treecrf.candidates import is_tree
from spinney.parsing.treecrf.loss import TreeLoss
from spinney.parsing.treecrf.nodes import NodeReader
from spinney.parsing.treecrf.preparing import Known, Programs, gold_heads, prepared
from spinney.parsing.treecrf.pruning import Pruner
from spinney.parsing.treecrf.templates import (
    CLASS_NAME,
    COLUMNS,
    Template,
    default_templates,
    read_templates,
)
from spinney.structure import WordClasses
from spinney.structure.reading import word_classes, word_vectors

#: Strengths that are tried on held-out trees, and that which is taken without any.
_TRIED = {"elasticnet": (0.25, 0.5, 1.0), "l1": (0.25, 0.5, 1.0), "l2": (1.0, 3.0, 10.0)}
_USUAL = {"elasticnet": 0.5, "l1": 0.5, "l2": 3.0}


#: Sentences from which on more templates are built in: they gain on 12,500 sentences, and nothing on 1,100.
RICH_FROM = 5000


@dataclass(frozen=True)
class Problem:
    """A treebank as an optimisation problem.

    Attributes
    ----------
    text, templates
        The templates as they stand in a file, and as they were read.
    lifted
        How many arcs were lifted to make the trees projective.
    """

    sentences: Sequence[Sentence]
    settings: Any
    text: str
    templates: list[Template]
    reader: NodeReader
    relations: list[str]
    pruner: Pruner
    known: Known
    loss: TreeLoss
    lifted: int

    @classmethod
    def of(cls, sentences: Sequence[Sentence], s: Any) -> Problem:
        """Read templates, choose candidate arcs and number their features."""
        check_trees(sentences)
        trees = [sentence for sentence in sentences if len(sentence)]
        if not trees:
            raise InputError("no words to learn from")
        classes = class_features(s.classes, s.vectors)
        built_in = s.templates is None
        rich = len(trees) >= RICH_FROM if s.rich is None else s.rich
        text = default_templates(list(classes), s.order, rich) if built_in else _content(s.templates)
        templates = read_templates(text, s.templates, list(classes))
        if s.order == 1:
            templates = [template for template in templates if template.kind != "sibling"]
            text = "".join(f"{template.kind}: {template.text}\n" for template in templates)
        programs = Programs.compiled(templates)
        if "upos" in programs.columns:
            check_tags(trees)
        reader = NodeReader(programs.columns, classes)
        projective = s.trees == "projective"
        with progress.task("finding candidate arcs and features", 3) as task:
            nodes = reader.read(trees)
            heads = gold_heads(trees, lifted=projective)
            lifted = int(np.count_nonzero(heads != gold_heads(trees, lifted=False)))
            named = [name for one in trees for name in one.deprels or ["_"] * len(one)]
            relations = sorted(set(named))
            number = {name: i for i, name in enumerate(relations)}
            relation = np.array([number[name] for name in named], np.int32)
            pruner = Pruner.train(nodes, heads, programs.of["prune"], s.seed)
            task.update(1)
            arcs, _ = pruner.prune(nodes, heads)
            task.update(1)
            data, gold, known = prepared(arcs, nodes, programs, heads, relation, len(relations))
            task.update(1)
        threads = s.threads or default_threads()
        loss = TreeLoss(data, gold, known.sizes, known.relations, projective=projective, threads=threads)
        return cls(trees, s, text, templates, reader, relations, pruner, known, loss, lifted)

    def penalty(self, lam: float) -> Penalty:
        """The penalty of the settings at a strength."""
        s, known = self.settings, self.known

        def by_template() -> FlatGroups:
            width = np.diff(known.relations.row)
            of, before = [], 0
            for kind in ("arc", "label", "sibling"):
                own = known.templates[kind]
                of.append(before + (np.repeat(own, width) if kind == "label" else own))
                before += int(own.max(initial=-1)) + 1
            flat = np.concatenate(of)
            return FlatGroups.of([np.flatnonzero(flat == g).tolist() for g in np.unique(flat)], len(flat))

        if s.penalty == "none" or s.solver == "pa":
            return penalty("none")
        structure = Structure(
            of="a tree CRF", groupings={"template": by_template}, n_features=self.loss.n_params
        )
        return penalty(s.penalty, structure, lam=lam, l2=0.0 if s.penalty in ("l1", "l2") else s.l2)


def strengths(s: Any, dev: Any) -> tuple[float, ...]:
    """The strengths to try: that of the settings, the usual one, or several to choose from on held-out trees."""
    if s.lam is not None or s.penalty == "none" or s.solver == "pa":
        return (s.lam or 0.0,)
    usual = _USUAL.get(s.penalty, 1.0)
    return _TRIED.get(s.penalty, (usual / 3, usual, 3 * usual)) if dev else (usual,)


def check_trees(sentences: Sequence[Sentence]) -> None:
    """Refuse sentences whose heads are not a tree."""
    for number, sentence in enumerate(sentences, start=1):
        if len(sentence.heads) != len(sentence) or not is_tree(sentence.heads):
            raise InputError(
                f"the heads of sentence {number} are not a tree with one root",
                remedy="correct them, or leave the sentence out",
            )


def check_tags(sentences: Sequence[Sentence]) -> None:
    """Refuse sentences without tags, for templates that look at them."""
    if all(set(sentence.upos) <= {"_"} for sentence in sentences):
        elsewhere = any(set(sentence.xpos) - {"_"} for sentence in sentences)
        remedy = "the tags are in xpos: give templates that look there" if elsewhere else "tag the text first"
        raise InputError("no tags in the column upos", remedy=remedy)


def class_features(classes: Sequence[Any], vectors: Sequence[Any] = ()) -> dict[str, WordClasses]:
    """Word classes by name, out of NAME=FILE or mappings; vectors become classes by the signs of their dimensions.

    Examples
    --------
    >>> list(class_features([{"brown": WordClasses(["the", "a"], [0, 0])}]))
    ['brown']
    """
    found: dict[str, WordClasses] = {}
    for setting, name, given in [*_by_name("classes", classes), *_by_name("vectors", vectors)]:
        wrong = (
            "may have letters, digits and hyphens" if not CLASS_NAME.fullmatch(name)
            else "must not be that of a column" if name in (*COLUMNS, "feat")
            else "must not come twice" if name in found
            else ""
        )  # fmt: skip
        if wrong:
            raise SettingError(f"{{{setting}}}: the name {{name}} " + wrong, name=repr(name))
        found[name] = word_classes(given) if setting == "classes" else word_vectors(given).sign_classes()
    return found


def _by_name(setting: str, given: Sequence[Any]) -> Iterator[tuple[str, str, Any]]:
    for one in given:
        for name, structure in [one.split("=", 1)] if isinstance(one, str) else one.items():
            yield setting, name, structure


def _content(path: str) -> str:
    with open_text(path) as file:
        return file.read()
