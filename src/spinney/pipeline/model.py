"""A pipeline: a tokeniser, a morphological tagger, a lemmatiser and a parser in one model file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Self

from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.corpus.lines import ReadReport
from spinney.errors import OptionError
from spinney.evaluate.conll18 import METRICS
from spinney.files import ModelFile, Parts
from spinney.model import Applied, Contents, Model, Structures
from spinney.parsing.treecrf import TreeParser
from spinney.parsing.treecrf.applying import given_heads, with_probabilities
from spinney.pipeline.doubts import probable_tags, with_tag_probabilities, without_probabilities
from spinney.pipeline.lemmas import Lemmatiser
from spinney.pipeline.nesting import nested
from spinney.pipeline.phrases import phrase_tree
from spinney.pipeline.tokens import Tokeniser
from spinney.settings import Settings, settings_or
from spinney.settings.pipeline import Apply, Evaluate, Explain, Inspect
from spinney.settings.report import Report
from spinney.tagging.morphology import MorphTagger
from spinney.views import Views

BATCH = 200  # sentences that go through the parts together
ORDER = ("tokens", "tags", "lemmas", "trees")


class Pipeline(Model):
    """Turns raw or tokenised text into CoNLL-U.

    Attributes
    ----------
    tokens : Tokeniser or None
        None if the treebank does not show how words are written.
    tags : MorphTagger or None
    lemmas : Lemmatiser or None
        None if the treebank has no lemmas.
    trees : TreeParser or None
        None if the treebank has no trees.
    facts : dict
        What was learned from, and for each part its own facts.

    A pipeline whose training was interrupted has only the first of its parts.

    Examples
    --------
    >>> text = [Sentence("the dog barks".split(), "the dog bark".split(), "DET NOUN VERB".split(), heads=[2, 3, 0],
    ...                  deprels=["det", "nsubj", "root"]),
    ...         Sentence("the cats sleep".split(), "the cat sleep".split(), "DET NOUN VERB".split(), heads=[2, 3, 0],
    ...                  deprels=["det", "nsubj", "root"])] * 4
    >>> from spinney.pipeline import fit
    >>> pipeline = fit(text, jackknife=1, lam=0.01)
    >>> [one] = pipeline.annotate([Sentence("the dog sleeps".split())])
    >>> one.upos, one.heads, one.deprels
    (['DET', 'NOUN', 'VERB'], [2, 3, 0], ['det', 'nsubj', 'root'])
    """

    kind = "pipeline/Pipeline"
    settings: Any
    #: The classes of parts, by name.
    parts: ClassVar[dict[str, Any]] = {
        "tokens": Tokeniser, "tags": MorphTagger, "lemmas": Lemmatiser, "trees": TreeParser,
    }  # fmt: skip

    def __init__(
        self,
        tokens: Tokeniser | None = None,
        tags: MorphTagger | None = None,
        lemmas: Lemmatiser | None = None,
        trees: TreeParser | None = None,
        facts: dict[str, Any] | None = None,
    ) -> None:
        self.tokens, self.tags, self.lemmas, self.trees = tokens, tags, lemmas, trees
        self.facts = dict(facts or {})

    # -- use ------------------------------------------------------------------------------------------

    def segment(self, lines: Any) -> Iterator[Sentence]:
        """The sentences of raw text, given by lines or larger pieces."""
        if self.tokens is None:
            raise OptionError(
                "this pipeline has no tokeniser, since its treebank does not show spaces: give tokens, one sentence "
                "per line (format lines), or CoNLL-U"
            )
        return self.tokens.segment(lines)

    def annotate(
        self,
        sentences: Sequence[Sentence],
        *,
        until: str = "trees",
        start: str = "tokens",
        proba: bool = False,
        threads: int | None = None,
    ) -> list[Sentence]:
        """Sentences with tags, lemmas and trees, up to the part ``until``.

        What the pipeline has not learned stays as it is. Empty nodes and enhanced dependencies, which belong to another
        tree, are left out.

        Parameters
        ----------
        sentences
            With their words; arcs that MISC asks for (``Head=3``) are kept.
        until
            ``"tokens"``, ``"tags"``, ``"lemmas"`` or ``"trees"``.
        start
            ``"tags"``: the tags and lemmas that the sentences have are kept.
        proba
            Whether MISC gets the probabilities of tags, arcs and relations.
        """
        last = ORDER.index(until)
        found = [without_probabilities(one) for one in sentences]
        if start != "tags" and last >= 1 and self.tags is not None:
            found = self._tagged(found, proba, lemmas=last >= 2)
        if last < 3:
            return [replace(_no_empty_nodes(one), heads=[], deprels=[], deps=[]) for one in found]
        if self.trees is None:
            return found
        given = [given_heads(one) for one in found]
        held = given if any(head >= 0 for one in given for head in one) else None
        return [
            _no_empty_nodes(with_probabilities(tree, arcs, relations) if proba else tree)
            for tree, arcs, relations in self.trees.probable(found, given=held, threads=threads)
        ]

    def _tagged(self, sentences: Sequence[Sentence], proba: bool, lemmas: bool) -> list[Sentence]:
        """Sentences with tags and, if they are asked for, lemmas."""
        assert self.tags is not None
        forms = [one.forms for one in sentences]
        found = list(sentences)
        if proba:
            labels, chances = probable_tags(self.tags, forms)
            found = [with_tag_probabilities(one, own) for one, own in zip(found, chances)]
        else:
            labels = self.tags.tag(forms)
        columns = [[list(column) for column in zip(*one)] or [[], [], []] for one in labels]
        found = [
            replace(one, upos=upos, xpos=xpos, feats=feats)
            for one, (upos, xpos, feats) in zip(found, columns)
        ]
        if not lemmas:
            return found
        if self.lemmas is None:
            return [replace(one, lemmas=["_"] * len(one)) for one in found]
        return [replace(one, lemmas=own) for one, own in zip(found, self.lemmas.lemmas(forms, labels))]

    def __call__(self, text: str) -> list[Sentence]:
        """Raw text as annotated sentences."""
        return self.annotate(list(self.segment([text])))

    def parser(self, head_rules: str | None = None) -> Any:
        """A function that gives sentences of words their tags and trees, for other models."""
        if head_rules is not None:
            raise OptionError("head rules are for grammars: a pipeline finds heads by itself")

        def trees(sentences: Iterator[Sequence[str]], report: ReadReport) -> Iterator[Sentence]:
            words = (list(one) for one in sentences)
            while some := list(islice(words, BATCH)):
                yield from self.annotate([Sentence(one) for one in some])

        return trees

    # -- the contract of models -----------------------------------------------------------------------

    def structures(self) -> Structures:
        """What it gives to other models.

        ``parser`` gives plain text dependency trees, ``constituents`` their phrases; ``classes`` are the word classes
        that were learned from raw text.
        """
        made: dict[str, Any] = {}
        if self.tags is not None and self.trees is not None:
            made["parser"] = lambda: self.parser
            made["constituents"] = lambda: self._phrases
        classes = {} if self.tags is None else self.tags.observer.classes
        if classes:
            made["classes"] = lambda: next(iter(classes.values()))
        return Structures(**made)

    def _phrases(self, sentences: Iterator[Sequence[str]]) -> Iterator[Tree]:
        """The phrases of sentences of words, as bracketed trees."""
        words = (list(one) for one in sentences if one)
        return (phrase_tree(one) for one in self.parser()(words, ReadReport()))

    def contents(self) -> Contents:
        """What the pipeline keeps in its file: each part under its name."""
        parts: dict[str, Parts] = {}
        for name in ORDER:
            part = getattr(self, name)
            if part is not None:
                parts |= nested(name, Contents(*part.contents()))
        return Contents(
            {"facts": self.facts, "parts": [name for name in ORDER if name in parts]}, {}, {}, parts
        )

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The pipeline that a file holds."""
        names = file.fact("parts", list)
        if not names or not all(isinstance(name, str) and name in ORDER for name in names):
            raise file.error("damaged: its parts are not those of a pipeline")
        made = {name: cls.parts[name].from_file(file.part(name)) for name in names}
        facts = file.fact("facts", dict)
        if not _sound(facts):
            raise file.error("damaged: its facts are not those of a pipeline")
        return cls(**made, facts=facts)

    def summary(self) -> Views:
        """What ``fit`` prints."""
        from spinney.pipeline.views import summary_views

        return Views(summary_views(self))

    def views(self, settings: Settings | None = None, **given: Any) -> Views:
        """What ``inspect`` shows of each part."""
        from spinney.pipeline.views import inspection

        return Views(inspection(self, settings_or(Inspect, settings, given)))

    def report_views(self, data: Any = None, settings: Settings | None = None, **given: Any) -> Views:
        """The page of the pipeline; with a treebank, its scores and sentences with their arcs."""
        from spinney.pipeline.views import page

        return Views(page(self, data, settings_or(Report, settings, given)))

    def apply(self, data: Any, settings: Settings | None = None, **given: Any) -> Applied:
        """CoNLL-U for text: files, or what :mod:`spinney.pipeline.applying` takes from memory."""
        from spinney.pipeline.applying import applied

        return applied(self, data, settings_or(Apply, settings, given))

    def evaluate(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """The metrics of the CoNLL 2018 shared task on a treebank."""
        from spinney.pipeline.scoring import evaluated

        return Views(evaluated(self, data, settings_or(Evaluate, settings, given)))

    def explain(self, data: Any, settings: Settings | None = None, **given: Any) -> Views:
        """Why words have their heads or, if there is no parser, their tags."""
        from spinney.pipeline.views import explanation

        return Views(explanation(self, data, settings_or(Explain, settings, given)))


def _no_empty_nodes(sentence: Sentence) -> Sentence:
    """The sentence without empty nodes; multi-word tokens stay."""
    if not sentence.extras:
        return sentence
    kept = [(before, line) for before, line in sentence.extras if "-" in line.partition("\t")[0]]
    return replace(sentence, extras=kept)


def _sound(facts: dict[str, Any]) -> bool:
    """Whether what views calculate with is of the right type; a model file may come from anyone."""
    seconds, test, absent = facts.get("seconds_by_part", {}), facts.get("test", {}), facts.get("absent", [])
    return (
        isinstance(seconds, dict)
        and all(isinstance(one, int | float) for one in seconds.values())
        and isinstance(test, dict)
        and all(isinstance(of, dict) and set(of) <= set(METRICS) for of in test.values())
        and all(isinstance(one, int | float) for of in test.values() for one in of.values())
        and isinstance(absent, list)
        and all(isinstance(one, str) for one in absent)
    )
