"""``--groups``: the families of groups of words that a classifier is to be trained with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from spinney.cli.inputs import InputOptions, Inputs, read_parses
from spinney.errors import InputError, OptionError, did_you_mean, did_you_mean_file, unknown_choice

if TYPE_CHECKING:
    from spinney.classify import TextFeatures
    from spinney.corpus import Tree
    from spinney.structure import Groups

#: Families of groups and what follows the colon: nothing, a number (and which unless it is given), or a file.
_NUMBERED = {"brown": 500, "lda": 100, "tomotopy": 100, "moments": 50}
_FILED = ("brown", "topics", "neighbours")
FAMILIES = ("sentence", "document", "parse", "brown", "lda", "tomotopy", "moments", "topics", "neighbours")


class Family(NamedTuple):
    """One of the families asked for; ``kind`` is in :data:`FAMILIES`, or ``file`` for groups from a JSON file."""

    kind: str
    name: str
    number: int | None = None
    file: str | None = None


@dataclass(frozen=True)
class GroupOptions:
    """What was asked for of groups."""

    families: tuple[Family, ...]
    weights: str
    strengths: dict[str, float]
    neighbours: int
    keep: frozenset[str] | None
    parses: str | None
    parser: str | None

    @classmethod
    def of(
        cls,
        groups: str | None,
        weights: str | None,
        strengths: str | None,
        neighbours: int | None,
        keep: str | None,
        parses: str | None,
        parser: str | None,
    ) -> Self | None:
        """The options as they were given, checked before anything is read; None without ``--groups``."""
        rest = {
            "--group-weights": (weights, FAMILIES), "--strengths": (strengths, (*FAMILIES, "file")),
            "--neighbours": (neighbours, ("neighbours",)), "--keep": (keep, ("parse",)),
            "--parses": (parses, ("parse",)), "--parser": (parser, ("parse",)),
        }  # fmt: skip
        families = _families(groups) if groups is not None else ()
        for option, (value, kinds) in rest.items():
            if value is not None and not any(family.kind in kinds for family in families):
                needed = f"--groups {kinds[0]}" if len(kinds) == 1 else "--groups that are built of text"
                raise OptionError(f"{option} goes with {needed}")
        if groups is None:
            return None
        if weights not in (None, "sqrt", "unit"):
            raise unknown_choice("--group-weights is", weights, ("sqrt", "unit"))
        return cls(
            families,
            weights or "sqrt",
            _strengths(strengths, [family.name for family in families]),
            neighbours or 10,
            None if keep is None else frozenset(label.strip() for label in keep.split(",")),
            parses,
            parser,
        )

    def check_trees(self, given: bool) -> None:
        """Refuse groups of phrases without trees: those of the documents, or those of an option."""
        sources = [self.parses is not None, self.parser is not None]
        if sum(sources) > 1:
            raise OptionError("--parses and --parser both say where the trees come from: give one")
        if any(family.kind == "parse" for family in self.families) and not (given or any(sources)):
            raise OptionError(
                "--groups parse needs trees: give bracketed trees as the documents, their parses as --parses FILE, "
                "or a model of parse fit as --parser"
            )


def _families(spec: str) -> tuple[Family, ...]:
    if os.path.isfile(spec):  # as it is, whatever its name holds
        return (Family("file", Path(spec).stem, file=spec),)
    families = tuple(_family(item.strip()) for item in spec.split(","))
    names = [family.name for family in families]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"--groups: {name} twice")
    return families


def _family(item: str) -> Family:
    kind, colon, option = item.partition(":")
    if kind not in FAMILIES:
        if os.path.isfile(item) or item.endswith(".json"):
            return Family("file", Path(item).stem, file=_existing(item))
        meant = did_you_mean(kind, FAMILIES) or f"there are {', '.join(FAMILIES)}, or a JSON file"
        raise OptionError(f"--groups: no family {kind!r} ({meant})")
    if not colon and kind in _NUMBERED:
        return Family(kind, kind)
    if not option and kind in _FILED:
        raise OptionError(f"--groups: {kind} needs a file: {kind}:FILE")
    if colon and kind in _NUMBERED and (option.isdigit() or kind not in _FILED):
        if not option.isdigit() or int(option) < 2:
            raise OptionError(f"--groups: {kind}:{option} should be {kind}:N, N a number of at least 2")
        return Family(kind, kind, number=int(option))
    if kind in _FILED:
        return Family(kind, kind, file=_existing(option))
    if colon:
        raise OptionError(f"--groups: {kind} takes nothing after it, so not {item!r}")
    return Family(kind, kind)


def _existing(path: str) -> str:
    if not os.path.isfile(path):
        raise InputError("no such file", path=path, remedy=did_you_mean_file(path) or "named by --groups")
    return path


def _strengths(spec: str | None, names: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for item in spec.split(",") if spec else []:
        name, _, number = (part.strip() for part in item.partition("="))
        if name not in names:
            raise OptionError(
                f"--strengths: {name!r} is none of the families {', '.join(names)}", given=name, known=names
            )
        try:
            found[name] = float(number)
        except ValueError:
            raise OptionError(f"--strengths: {item.strip()!r} is not FAMILY=NUMBER") from None
    return found


# -- building -----------------------------------------------------------------------------------------------------


@dataclass
class Builder:
    """Makes groups over the features of training documents."""

    options: GroupOptions
    read: Inputs
    how: InputOptions
    features: TextFeatures | None
    names: list[str]  # of the columns
    threads: int
    seed: int

    def groups(self) -> Groups:
        """All families, each group's name with that of its family before it; a file alone keeps its names."""
        from spinney.classify import combined

        families = {family.name: self._built(family) for family in self.options.families}
        for name, groups in families.items():
            if not len(groups):
                raise InputError(f"no groups of the family {name}: none has two words that are features")
        if self.options.families[0].kind == "file" and len(families) == 1 and not self.options.strengths:
            return next(iter(families.values()))
        return combined(families, strengths=self.options.strengths).groups

    def _built(self, family: Family) -> Groups:
        if family.kind == "file":
            from spinney.structure import Groups

            return Groups.read_json(str(family.file), self.names)
        if self.features is None:
            raise OptionError(f"--groups {family.name}: groups of words are for text, and these are numbers")
        makers: dict[str, Callable[[TextFeatures, Family], Groups]] = {
            "sentence": self._sentences,
            "document": self._documents,
            "parse": self._constituents,
            "brown": self._clusters,
            "topics": self._topics_of_file,
            "neighbours": self._neighbours,
        }
        return makers.get(family.kind, self._topics)(self.features, family)

    @property
    def _how(self) -> dict[str, Any]:
        return {"weights": self.options.weights}

    def _sentences(self, features: TextFeatures, family: Family) -> Groups:
        from spinney.classify import sentence_groups

        return sentence_groups(self.read.inputs, features, **self._how)

    def _documents(self, features: TextFeatures, family: Family) -> Groups:
        from spinney.classify import document_groups

        return document_groups(self.read.inputs, features, names=self.read.ids, **self._how)

    def _constituents(self, features: TextFeatures, family: Family) -> Groups:
        from spinney.classify import constituent_groups

        keep, trees = self.options.keep, self._trees(features)
        groups = constituent_groups(trees, features, keep=keep, **self._how)
        if keep is not None and not len(groups):
            labels = sorted({node.label for tree in trees for node in tree.nodes() if node.label})
            some = ", ".join(labels[:12]) + (", …" if len(labels) > 12 else "")
            raise OptionError(f"--keep {','.join(sorted(keep))}: the labels in the trees are {some}")
        return groups

    def _all_sentences(self, features: TextFeatures) -> Iterator[str]:
        return (sentence for text in self.read.inputs for sentence in features.sentences_of(text))

    def _trees(self, features: TextFeatures) -> list[Tree]:
        if self.options.parses is not None:
            return read_parses(self.options.parses, self.how)[0]
        if self.read.trees is not None:
            return self.read.trees
        from spinney.cli.structures import constituent_parser
        from spinney.corpus import tokenize
        from spinney.parsing import trees_of

        parser = constituent_parser(str(self.options.parser))
        parser.threads = self.threads
        split = str.split if features.tokens == "spaces" else tokenize
        return list(trees_of(parser, map(split, self._all_sentences(features))))

    def _clusters(self, features: TextFeatures, family: Family) -> Groups:
        from spinney.classify import cluster_groups

        if family.file is not None:
            from spinney.cli.structures import word_classes

            return cluster_groups(word_classes(family.file), features, **self._how)
        from spinney.classes import brown, pair_counts
        from spinney.corpus import sentence_arrays

        tokens = map(features.tokens_of, self._all_sentences(features))
        arrays = sentence_arrays(filter(None, tokens))
        n = family.number or min(_NUMBERED["brown"], max(2, len(arrays.vocabulary) // 2))
        learnt = brown(pair_counts(arrays), arrays.vocabulary, n, threads=self.threads)
        return cluster_groups(learnt.classes, features, **self._how)

    def _topics(self, features: TextFeatures, family: Family) -> Groups:
        from spinney.classify import lda_topics, topic_groups

        n = family.number or _NUMBERED[family.kind]
        counts = features.occurrences(self.read.inputs)
        if family.kind == "moments":
            from spinney.embed import MomentTopics

            learnt = MomentTopics(n, polish=20, threads=self.threads, random_state=self.seed)
            topics = learnt.fit(counts, words=features.names).components_
        elif family.kind == "tomotopy":  # on one thread, so that a seed means the same topics again
            topics = lda_topics(counts, n, method="tomotopy", random_state=self.seed)
        else:
            topics = lda_topics(counts, n, random_state=self.seed)
        return topic_groups(topics, features.names, features, **self._how)

    def _topics_of_file(self, features: TextFeatures, family: Family) -> Groups:
        from spinney.classify import topic_groups
        from spinney.cli.structures import topics

        found = topics(str(family.file))
        return topic_groups(found.weights, found.words, features, **self._how)

    def _neighbours(self, features: TextFeatures, family: Family) -> Groups:
        from spinney.classify import neighbour_groups
        from spinney.cli.structures import word_vectors

        vectors = word_vectors(str(family.file))
        return neighbour_groups(vectors, features, k=self.options.neighbours, **self._how)
