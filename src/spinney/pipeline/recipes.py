"""From a treebank to a pipeline: each part learned in turn, those that come later from what the earlier ones say."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from spinney import progress
from spinney.cluster import spread
from spinney.corpus.conllu import Sentence
from spinney.corpus.lines import ReadReport, fields
from spinney.corpus.opening import open_text
from spinney.errors import InputError, about
from spinney.evaluate.conll18 import conll18
from spinney.files import read_model
from spinney.kinds import load_task
from spinney.parsing.treebanks import named, paths_of
from spinney.parsing.treecrf import TreeParser
from spinney.pipeline.jackknife import jackknifed
from spinney.pipeline.lemmas import Lemmatiser
from spinney.pipeline.model import Pipeline
from spinney.pipeline.scoring import measured, system_output, treebank
from spinney.pipeline.tokens import Tokeniser
from spinney.settings import Settings, settings_or
from spinney.settings.pipeline import Evaluate, Treebank
from spinney.structure.reading import word_classes, word_vectors
from spinney.tagging.morphology import MorphTagger

#: Word classes and vectors by name, as the tagger and the parser take them.
Features = dict[str, Any]
#: A training sentence with the tags and the lemmas that models which have not seen it give it.
Predicted = Sentence
_FEW = 10  # sentences below which tags are not predicted: models of so few say nothing
#: What classes and vectors of raw text are called in templates and models.
CLASSES, VECTORS = "raw", "vector"
_TOKENS_PER_CLASS, _FEWEST, _MOST = 500, 32, 256  # of the classes of raw text
_SEEN = (
    3  # times that a word must occur in the text to have a class: the contexts of rarer ones tell too little
)


@spread
def fit(train: Any, settings: Settings | None = None, **given: Any) -> Pipeline:
    """Learn a pipeline from a treebank.

    What the treebank does not have is not learned: without lemmas there is no lemmatiser, without heads no parser.
    Where only some sentences have heads, the parser learns from those.

    Parameters
    ----------
    train
        CoNLL-U files, or sentences of CoNLL-U.
    settings
        Settings of :mod:`spinney.settings.pipeline`; or give them by name.

    Returns
    -------
    Pipeline
        After an interrupt, with the parts that were learned until then.
    """
    s: Any = settings_or(Treebank, settings, given)
    report, started = ReadReport(), time.perf_counter()
    with about(named(train) if paths_of(train) is not None else "the treebank"):
        sentences = treebank(train, s, report)[: s.limit]
        _check(sentences)
    dev = None if s.dev is None else treebank(s.dev, s, ReadReport())
    course = _Course(sentences, dev, s, _resumed(s, sentences))
    course.run()
    pipeline = course.pipeline
    files = paths_of(train)
    pipeline.facts |= {
        "method": s.method,
        "sentences": len(sentences),
        "tokens": sum(map(len, sentences)),
        "sentences_with_trees": sum(bool(one.heads) for one in sentences),
        "absent": [name for name in ("lemmas", "trees") if name not in course.wanted],
        "skipped": report.skipped,
        "interrupted": course.interrupted,
        "seconds": time.perf_counter() - started,
        **{
            name: sum(getattr(pipeline, part).facts.get(name, 0) for part in course.done)
            for name in ("parameters", "active")
        },
    } | ({} if files is None else {"train": files})
    pipeline.settings = s
    if s.test is not None and not course.interrupted:
        pipeline.facts["test"] = _scores(pipeline, treebank(s.test, s, ReadReport()), s)
    return pipeline


def _check(sentences: Sequence[Sentence]) -> None:
    """Refuse a treebank without tags."""
    if any(set(one.upos) - {"_"} for one in sentences):
        return
    other = any(set(one.xpos) - {"_"} for one in sentences)
    remedy = (
        "the column xpos has tags: copy them to upos" if other else "a pipeline learns from a tagged treebank"
    )
    raise InputError("no tags in the column upos", remedy=remedy)


def _resumed(s: Any, sentences: Sequence[Sentence]) -> Pipeline:
    """The pipeline of the checkpoint, if one is to be continued and there is one, with the parts that are complete."""
    if not s.resume or not os.path.exists(s.checkpoint):
        return Pipeline()
    pipeline: Pipeline = load_task(s.checkpoint, "pipeline")
    for name, what in (
        ("learned_from", "the checkpoint is of other training data"),
        ("learned_with", "the checkpoint was made with other settings"),
    ):
        if pipeline.facts.get(name) != _origin(s, sentences)[name]:
            raise InputError(what, path=s.checkpoint, remedy="name another file, or leave out resume")
    complete = True
    for name in Pipeline.parts:
        part = getattr(pipeline, name)
        complete = complete and not (part is not None and part.facts.get("interrupted"))
        if not complete:
            setattr(pipeline, name, None)
    return pipeline


def _origin(s: Any, sentences: Sequence[Sentence]) -> dict[str, Any]:
    """What tells whether a checkpoint is one of this training."""
    names = ("dev", "classes", "dimensions", "order", "rich", "lam", "jackknife", "seed")
    written = {name: getattr(s, name) for name in names} | {"raw": list(map(str, s.raw))}
    for name in ("word_classes", "word_vectors"):
        written[name] = [one if isinstance(one, str) else sorted(one) for one in getattr(s, name)]
    return {"learned_from": _fingerprint(sentences), "learned_with": written}


def _fingerprint(sentences: Sequence[Sentence]) -> str:
    """A hash of the treebank, to tell whether a checkpoint belongs to it."""
    import hashlib

    h = hashlib.blake2b(digest_size=16)
    for one in sentences:
        h.update(f"{one}\n\n".encode("utf-8", "surrogatepass"))
    return h.hexdigest()


class _Course:
    """The training of the parts, one after the other."""

    def __init__(
        self, sentences: Sequence[Sentence], dev: Sequence[Sentence] | None, s: Any, pipeline: Pipeline
    ) -> None:
        self.sentences, self.dev, self.s, self.pipeline = sentences, dev, s, pipeline
        self.interrupted = False
        self.seconds: dict[str, float] = dict(pipeline.facts.get("seconds_by_part", {}))
        #: What the treebank can teach.
        self.wanted = ["tokens", "tags"] + ["lemmas"] * _has_lemmas(sentences)
        if any(one.heads for one in sentences):
            self.wanted.append("trees")
        else:
            progress.log.info("no sentence has heads: no parser is learned")
        pipeline.facts |= _origin(s, sentences)

    @property
    def done(self) -> list[str]:
        """The parts that there are."""
        return [name for name in Pipeline.parts if getattr(self.pipeline, name) is not None]

    def run(self) -> None:
        """Learn what is missing; an interrupt leaves what was learned."""
        try:
            self.part("tokens", lambda: Tokeniser.train(self.sentences))
            structures = self.structures()
            self.part("tags", lambda: self.tagger(self.sentences, structures))
            if set(self.wanted) <= set(self.done):
                return
            predicted = self.predicted(structures)
            if "lemmas" in self.wanted:
                self.part(
                    "lemmas", lambda: Lemmatiser.train(self.sentences, _labels(predicted), seed=self.s.seed)
                )
            if "trees" in self.wanted:
                self.part("trees", lambda: self.parser(predicted, structures))
        except KeyboardInterrupt:
            if not self.done:
                raise
            self.interrupted = True

    def part(self, name: str, learn: Callable[[], Any]) -> None:
        """Learn a part unless it is there, and write the checkpoint."""
        if getattr(self.pipeline, name) is not None or self.interrupted:
            return
        started = time.perf_counter()
        made = learn()
        setattr(self.pipeline, name, made)
        self.seconds[name] = time.perf_counter() - started
        self.pipeline.facts["seconds_by_part"] = self.seconds
        if made is not None and made.facts.get("interrupted"):
            raise KeyboardInterrupt
        if self.s.checkpoint is not None:
            self.pipeline.facts.setdefault("interrupted", True)
            self.pipeline.save(self.s.checkpoint)
            # What is learned later sees the parts as files round them, so that resuming changes nothing.
            self.pipeline = load_task(self.s.checkpoint, "pipeline")

    def tagger(self, sentences: Sequence[Sentence], structures: Features) -> MorphTagger:
        """A morphological tagger of some of the sentences."""
        return MorphTagger.train(sentences, seed=self.s.seed, threads=self.s.threads, **structures)

    def structures(self) -> Features:
        """Word classes and vectors: those that are given, and those of the raw text and the treebank's own."""
        if self.pipeline.tags is not None:  # resumed
            observer = self.pipeline.tags.observer
            return {"classes": [observer.classes], "vectors": [observer.vectors]}
        given = {
            "classes": [_opened(one, word_classes) for one in self.s.word_classes],
            "vectors": [_opened(one, word_vectors) for one in self.s.word_vectors],
        }
        if not self.s.raw:
            return given
        started = time.perf_counter()
        learned = self.learned()
        both = {role: [*some, *([learned[role]] if role in learned else [])] for role, some in given.items()}
        helps = self.dev is None or self.helps(given, both)
        self.seconds["structures"] = time.perf_counter() - started
        return both if helps else given

    def learned(self) -> dict[str, dict[str, Any]]:
        """What the raw text and the treebank's own give, by role and name."""
        from spinney.classes.recipes import fit as fit_classes
        from spinney.embed.recipes import fit as fit_vectors

        text = self.text()
        n = sum(map(len, text))
        self.pipeline.facts["raw_tokens"] = n - sum(map(len, self.sentences))
        size = self.s.classes or min(max(round(n / _TOKENS_PER_CLASS), _FEWEST), _MOST)
        how: dict[str, Any] = {"min_count": _SEEN, "lowercase": True}
        classes = fit_classes(text, method="brown", classes=size, **how).structures()["classes"]
        if not self.s.dimensions:
            return {"classes": {CLASSES: classes}}
        vectors = fit_vectors(text, method="cca", dimensions=self.s.dimensions, window=(2,), **how)
        return {"classes": {CLASSES: classes}, "vectors": {VECTORS: vectors.structures()["vectors"]}}

    def helps(self, without: Features, having: Features) -> bool:
        """Whether held-out sentences are tagged no worse with what raw text gave: little text says too little."""
        found = {}
        for name, some in (("with", having), ("without", without)):
            tagger = self.tagger(self.sentences, some)
            if tagger.facts["interrupted"]:
                raise KeyboardInterrupt
            found[name] = tagger.accuracy(self.dev or [])
        self.pipeline.facts["raw_text_on_dev"] = found
        if found["with"] >= found["without"]:
            return True
        progress.log.warning(
            "what was learned from %d words of raw text is left out: without it, %.2f %% of the tags in %s are right, "
            "with it %.2f %%",
            self.pipeline.facts["raw_tokens"], 100 * found["without"], self.s.dev, 100 * found["with"],
        )  # fmt: skip
        return False

    def text(self) -> list[list[str]]:
        """The words of the treebank and of the raw text, by sentence."""
        text = [one.forms for one in self.sentences]
        for file in self.s.raw:
            with open_text(file, encoding=self.s.encoding) as stream:
                if self.pipeline.tokens is None:
                    text += [words for line in stream if (words := fields(line))]
                else:
                    text += [one.forms for one in self.pipeline.tokens.segment(stream)]
        return text

    def predicted(self, structures: Features) -> list[Predicted]:
        """The training sentences with the tags and lemmas that they would have if nobody had annotated them."""
        if self.s.jackknife < 2 or len(self.sentences) < _FEW:
            return list(self.sentences)
        started = time.perf_counter()
        lemmas = _has_lemmas(self.sentences)

        def train(some: list[Sentence]) -> tuple[MorphTagger, Lemmatiser | None]:
            made = self.tagger(some, structures), Lemmatiser.train(some, seed=self.s.seed) if lemmas else None
            if any(model is not None and model.facts.get("interrupted") for model in made):
                raise KeyboardInterrupt
            return made

        def apply(models: tuple[MorphTagger, Lemmatiser | None], some: list[Sentence]) -> list[Sentence]:
            return Pipeline(tags=models[0], lemmas=models[1]).annotate(some, until="lemmas")

        with progress.task("predicting tags for the training sentences", self.s.jackknife) as task:
            found = jackknifed(self.sentences, train, apply, self.s.jackknife, lambda number: task.update(1))
        self.seconds["jackknife"] = time.perf_counter() - started
        return [
            replace(one, heads=gold.heads, deprels=gold.deprels) for one, gold in zip(found, self.sentences)
        ]

    def parser(self, predicted: Sequence[Sentence], structures: Features) -> TreeParser:
        """The parser, of sentences with trees; its strength is chosen on dev, with the pipeline's own tags."""
        trees = [one for one in predicted if one.heads]
        dev = None
        if self.dev is not None:
            whole = [one for one in self.dev if one.heads]
            if not whole:
                progress.log.warning("%s has no trees, so the parser's strength is not chosen", self.s.dev)
            tagged = self.pipeline.annotate(whole, until="lemmas")
            dev = [replace(one, heads=gold.heads, deprels=gold.deprels) for one, gold in zip(tagged, whole)]
        return TreeParser.train(
            trees, dev=dev, solver="adagrad", lam=self.s.lam, order=self.s.order, rich=self.s.rich,
            seed=self.s.seed, threads=self.s.threads, **structures,
        )  # fmt: skip


def _opened(given: Any, read: Callable[[Any], Any]) -> dict[str, Any]:
    """Structures by name, out of NAME=FILE or a mapping."""
    pairs = dict([given.split("=", 1)]) if isinstance(given, str) else given
    return {name: read(structure) for name, structure in pairs.items()}


def _labels(sentences: Sequence[Sentence]) -> list[list[tuple[str, str, str]]]:
    from spinney.tagging.morphology.tagger import labels_of

    return [labels_of(one) for one in sentences]


def _has_lemmas(sentences: Sequence[Sentence]) -> bool:
    return any(set(one.lemmas) - {"_"} for one in sentences)


def _scores(pipeline: Pipeline, gold: Sequence[Sentence], s: Any) -> dict[str, dict[str, float]]:
    """F1 of each metric on a treebank, from its tokens and, where it can be, from its text."""
    starts = ["tokens"] + (["text"] if pipeline.tokens is not None else [])
    found = {}
    for start in starts:
        how = Evaluate.of({"start": start, "threads": s.threads})
        scores = conll18(gold, system_output(pipeline, gold, how))
        found[start] = {metric: one[metric].f1 for metric, one in measured(scores, gold, pipeline).items()}
    return found


def is_pipeline(path: str) -> bool:
    """Whether a file is the model of a pipeline."""
    return read_model(path).kind == Pipeline.kind
