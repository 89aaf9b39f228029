"""Families of word groups for training classifiers, and how each is made from the text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from spinney import progress
from spinney.classify.grouping import (
    cluster_groups,
    combined,
    constituent_groups,
    document_groups,
    neighbour_groups,
    sentence_groups,
    topic_groups,
)
from spinney.classify.topics import distinctive, lda_topics, topical
from spinney.corpus import Tree, tokenize
from spinney.corpus.labelled import InputOptions, Inputs, read_parses
from spinney.corpus.text_features import TextFeatures
from spinney.errors import InputError, SettingError, did_you_mean, did_you_mean_file
from spinney.kinds import load
from spinney.settings.classify import FAMILIES
from spinney.structure import Groups
from spinney.structure.reading import topics, word_classes, word_vectors

#: Families and what may follow the colon: a number (with its default), or a file.
_NUMBERED = {"brown": 500, "lda": 100, "tomotopy": 100, "moments": 50}
_MOST = 10_000
_FILED = ("brown", "topics", "neighbours")
_LARGEST_CLUSTER = 49  # words in a cluster that becomes a feature (Yogatama 2015, table 5.8: fewer than 50)


class Family(NamedTuple):
    """One requested family; ``kind`` is in :data:`FAMILIES`, or ``file`` for groups from a JSON file."""

    kind: str
    name: str
    number: int | None = None
    file: str | None = None


@dataclass(frozen=True)
class GroupSpec:
    """The requested groups: families to build, or existing groups; ``setting`` asked for them."""

    setting: str
    families: tuple[Family, ...]
    given: Groups | None
    weights: str
    strengths: dict[str, float]
    neighbours: int
    topic_words: int
    topic_passes: int | None
    function_words: bool
    most_words: int | None
    keep: frozenset[str] | None
    parses: Any
    parser: Any

    @classmethod
    def of(cls, s: Any, setting: str = "groups") -> Self | None:
        """The groups that a setting asks for, checked before any data are read; None without groups."""
        asked = getattr(s, setting)
        return None if asked is None else cls.made(s, asked, setting)

    @classmethod
    def made(cls, s: Any, asked: Any, setting: str) -> Self:
        """The groups that are asked for by a setting, with the options of other settings."""
        given = asked if not isinstance(asked, str | os.PathLike) else None
        families = () if given is not None else _families(os.fspath(asked), setting)
        return cls(
            setting,
            families,
            given,
            s.group_weights or "sqrt",
            _strengths(s.strengths, [family.name for family in families]),
            s.neighbours or 10,
            s.topic_words or 10,
            s.topic_passes,
            s.function_words,
            s.most_words,
            None if s.keep is None else frozenset(s.keep),
            s.parses,
            s.parser,
        )

    def check_trees(self, given: bool) -> None:
        """Refuse groups of phrases if neither the documents nor a setting provide trees."""
        wanted = any(family.kind == "parse" for family in self.families)
        if wanted and not given and self.parses is None and self.parser is None:
            raise SettingError(
                f"{{{self.setting}}} parse needs trees: give bracketed trees as the documents, their parses as "
                "{parses}, or a model made by parse fit as {parser}"
            )


def _families(spec: str, setting: str = "groups") -> tuple[Family, ...]:
    if os.path.isfile(spec):  # even if its name contains commas or colons
        return (Family("file", Path(spec).stem, file=spec),)
    families = tuple(_family(item.strip(), f"{{{setting}}}") for item in spec.split(","))
    names = [family.name for family in families]
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"{{{setting}}} contains {{name}} twice", name=name)
    return families


def _family(item: str, setting: str) -> Family:
    kind, colon, option = item.partition(":")
    if kind not in FAMILIES:
        if os.path.isfile(item) or item.endswith(".json"):
            return Family("file", Path(item).stem, file=_existing(item))
        meant = did_you_mean(kind, FAMILIES) or f"there are {', '.join(FAMILIES)}, or a JSON file"
        raise SettingError(setting + ": there is no family {kind} ({meant})", kind=repr(kind), meant=meant)
    if not colon and kind in _NUMBERED:
        return Family(kind, kind)
    if not option and kind in _FILED:
        raise SettingError(setting + ": {kind} needs a file: {kind}:FILE", kind=kind)
    if colon and kind in _NUMBERED and (option.isdigit() or kind not in _FILED):
        plain = option.isascii() and option.isdigit() and len(option) <= 6
        if not plain or not 2 <= int(option) <= _MOST:
            what = setting + ": {item} must be {kind}:N, where N is from 2 to {most}"
            raise SettingError(what, item=item, kind=kind, most=f"{_MOST:,}")
        return Family(kind, kind, number=int(option))
    if kind in _FILED:
        return Family(kind, kind, file=_existing(option))
    if colon:
        raise SettingError(
            setting + ": {kind} takes no value, so {item} is not valid", kind=kind, item=repr(item)
        )
    return Family(kind, kind)


def _existing(path: str) -> str:
    if not os.path.isfile(path):
        raise InputError("no such file", path=path, remedy=did_you_mean_file(path) or "it is named by groups")
    return path


def _strengths(spec: str | None, names: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for item in spec.split(",") if spec else []:
        name, _, number = (part.strip() for part in item.partition("="))
        if name not in names:
            meant = did_you_mean(name, names)
            what = "{strengths}: {name} is not one of the families {names}" + " ({meant})" * bool(meant)
            raise SettingError(what, name=repr(name), names=", ".join(names), meant=meant)
        try:
            found[name] = float(number)
        except ValueError:
            what = "{strengths}: {item} must be FAMILY=NUMBER"
            raise SettingError(what, item=repr(item.strip())) from None
    return found


# --------------------------------------------------------------------------------------------- building


def built_groups(
    families: GroupSpec,
    read: Inputs,
    how: InputOptions,
    features: TextFeatures | None,
    width: int,
    threads: int,
    seed: int,
) -> Groups:
    """All families over the ``width`` features of training documents.

    The name of a group is prefixed with that of its family; the groups of a single file keep their names.
    """
    if families.given is not None:
        return _small(families.given, families, "given", families.most_words)
    names = features.names if features else [str(j + 1) for j in range(width)]
    builder = _Builder(families, read, how, features, names, threads, seed)
    built = {}
    for family in families.families:
        most = families.most_words or (_LARGEST_CLUSTER if family.kind == "brown" else None)
        built[family.name] = _small(builder.built(family), families, family.name, most)
    for name, groups in built.items():
        if not len(groups):
            raise InputError(f"the family {name} has no groups: none of them has two words that are features")
    if families.families[0].kind == "file" and len(built) == 1 and not families.strengths:
        return next(iter(built.values()))
    return combined(built, strengths=families.strengths).groups


def _small(groups: Groups, asked: GroupSpec, name: str, most: int | None) -> Groups:
    """The groups that may become features: those of very many words would be like constants."""
    if asked.setting != "group_features" or most is None or not len(groups):
        return groups
    if groups.sizes.min() > most:
        what = "{most_words}: the family {name} has no group of at most {most} words"
        raise SettingError(what, name=name, most=most)
    return groups.subset(groups.sizes <= most)


@dataclass
class _Builder:
    """Makes groups over the features of training documents."""

    options: GroupSpec
    read: Inputs
    how: InputOptions
    features: TextFeatures | None
    names: list[str]  # of the columns
    threads: int
    seed: int

    def built(self, family: Family) -> Groups:
        if family.kind == "file":
            return Groups.read_json(str(family.file), self.names)
        if self.features is None:
            setting = f"{{{self.options.setting}}}"
            what = setting + " {name}: groups of words need text, but these documents are numbers"
            raise SettingError(what, name=family.name)
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
        return sentence_groups(self.read.inputs, features, **self._how)

    def _documents(self, features: TextFeatures, family: Family) -> Groups:
        return document_groups(self.read.inputs, features, names=self.read.ids, **self._how)

    def _constituents(self, features: TextFeatures, family: Family) -> Groups:
        keep, trees = self.options.keep, self._trees(features)
        groups = constituent_groups(trees, features, keep=keep, **self._how)
        if keep is not None and not len(groups):
            labels = sorted({node.label for tree in trees for node in tree.nodes() if node.label})
            some = ", ".join(labels[:12]) + (", …" if len(labels) > 12 else "")
            what = "{keep} {labels}: the trees have no such labels; they have {some}"
            raise SettingError(what, labels=",".join(sorted(keep)), some=some)
        return groups

    def _all_sentences(self, features: TextFeatures) -> Iterator[str]:
        return (sentence for text in self.read.inputs for sentence in features.sentences_of(text))

    def _trees(self, features: TextFeatures) -> list[Tree]:
        parses = self.options.parses
        if parses is not None:
            return read_parses(parses, self.how)[0] if isinstance(parses, str) else list(parses)
        if self.read.trees is not None:
            return self.read.trees
        split = str.split if features.tokens == "spaces" else tokenize
        parse = _constituent_parser(self.options.parser, self.threads)
        return list(parse(map(split, self._all_sentences(features))))

    def _clusters(self, features: TextFeatures, family: Family) -> Groups:
        if family.file is not None:
            return cluster_groups(word_classes(family.file), features, **self._how)
        from spinney.classes import brown, pair_counts
        from spinney.corpus import sentence_arrays

        tokens = map(features.tokens_of, self._all_sentences(features))
        arrays = sentence_arrays(filter(None, tokens))
        n = family.number or min(_NUMBERED["brown"], max(2, len(arrays.vocabulary) // 2))
        learned = brown(pair_counts(arrays), arrays.vocabulary, n, threads=self.threads)
        return cluster_groups(learned.classes, features, **self._how)

    def _topics(self, features: TextFeatures, family: Family) -> Groups:
        n = family.number or _NUMBERED[family.kind]
        counts = features.occurrences(self.read.inputs)
        every = np.arange(counts.shape[1])
        some = every if self.options.function_words else every[topical(counts, features.names)]
        counts, words = counts[:, some], [features.names[j] for j in some]
        if family.kind == "moments":
            from spinney.embed import MomentTopics

            learned = MomentTopics(n, polish=20, threads=self.threads, random_state=self.seed)
            found = learned.fit(counts, words=words).components_
        elif family.kind == "tomotopy":  # on one thread, so that the same seed gives the same topics
            passes = self.options.topic_passes
            found = lda_topics(counts, n, method="tomotopy", iterations=passes, random_state=self.seed)
        else:
            found = lda_topics(counts, n, iterations=self.options.topic_passes, random_state=self.seed)
        how = {**self._how, "top": self.options.topic_words, "merge": False}
        all_groups = topic_groups(distinctive(found, counts), words, features, **how)
        all_groups = all_groups if len(all_groups) else topic_groups(found, words, features, **how)
        groups = all_groups.merged()
        told = f"{family.name}: {len(groups)} groups of {n} topics"
        if len(groups) < n:
            merged, dropped = len(all_groups) - len(groups), n - len(all_groups)
            told += f" ({merged} merged with one of the same words, {dropped} dropped)"
        common = len(features.names) - len(some)
        progress.log.info(
            "%s; %d function words and words in more than a tenth of the documents left out", told, common
        )
        return groups

    def _topics_of_file(self, features: TextFeatures, family: Family) -> Groups:
        found = topics(str(family.file))
        return topic_groups(found.weights, found.words, features, top=self.options.topic_words, **self._how)

    def _neighbours(self, features: TextFeatures, family: Family) -> Groups:
        vectors = word_vectors(str(family.file))
        return neighbour_groups(vectors, features, k=self.options.neighbours, **self._how)


def _constituent_parser(parser: Any, threads: int) -> Callable[..., Iterator[Tree]]:
    """A function that parses sentences, from a model made by ``parse fit`` or its file."""
    path = parser if isinstance(parser, str) else None
    if path is not None:
        if not os.path.isfile(path):
            remedy = f"{did_you_mean_file(path)} give a model made by parse fit as the parser".strip()
            raise InputError("no such file", path=path, remedy=remedy)
        parser = load(path)
        parser.threads = threads
    given = parser.structures()
    if "constituents" not in given:
        raise InputError(
            "this model does not parse plain text",
            path=path,
            remedy="give a model of parse fit or pipeline fit",
        )
    parse: Callable[..., Iterator[Tree]] = given["constituents"]
    return parse
