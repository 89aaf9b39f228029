"""The texts of the classification studies: pairs of newsgroups, film reviews, debates; split once, by a seed."""

from __future__ import annotations

import lzma
import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spectral_common import Setting

from spinney.classify import TextFeatures
from spinney.corpus import Tree, open_text, read_trees, split_sentences

PAIRS = {
    "science": ("sci.med", "sci.space"),
    "sports": ("rec.sport.baseball", "rec.sport.hockey"),
    "religion": ("alt.atheism", "soc.religion.christian"),
    "computer": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
}
#: The sentiment treebank, whose trees are given.
MOVIE = "movie"
#: Tasks that the thesis does not have.
MORE = ("MR", "IMDB", "party")
SENTENCES_A_CHUNK = 20


@dataclass(frozen=True)
class Part:
    """Documents, each a list of its sentences, with labels 0 and 1; of the treebank also their trees."""

    documents: list[list[str]]
    y: NDArray[np.int64]
    trees: list[Tree] | None = None

    def __len__(self) -> int:
        return len(self.documents)

    def take(self, places: NDArray[Any]) -> Part:
        """Some of the documents."""
        return Part(
            [self.documents[i] for i in places],
            self.y[places],
            None if self.trees is None else [self.trees[i] for i in places],
        )

    @property
    def texts(self) -> list[str]:
        """Each document as one string."""
        return ["\n".join(sentences) for sentences in self.documents]


@dataclass(frozen=True, eq=False)
class Task:
    """A classification task: what to learn from, what to choose by, what to test on; as text and as counts."""

    name: str
    train: Part
    dev: Part
    test: Part
    by_spaces: bool = False  # whether the text is tokenized already

    @cached_property
    def features(self) -> TextFeatures:
        """Unigrams of the training documents, in lower case."""
        return self._fitted[0]

    @cached_property
    def X(self) -> Any:
        """Counts of the training documents."""
        return self._fitted[1]

    @cached_property
    def X_dev(self) -> Any:
        """Counts of the development documents."""
        return self.features.transform(self.dev.texts)

    @cached_property
    def X_test(self) -> Any:
        """Counts of the test documents."""
        return self.features.transform(self.test.texts)

    @cached_property
    def _fitted(self) -> tuple[TextFeatures, Any]:
        features = TextFeatures("counts", tokens="spaces" if self.by_spaces else "words")
        X = features.fit_transform(self.train.texts)
        return features, X.tocsc()

    def words(self) -> Iterator[list[str]]:
        """The sentences of the training documents, in the words that are features."""
        token = re.compile(r"\S+" if self.by_spaces else r"\b\w\w+\b")
        for sentences in self.train.documents:
            for sentence in sentences:
                if found := token.findall(sentence.lower()):
                    yield found


@cache
def task(setting: Setting, name: str) -> Task:
    """A task by its name; where there is no development part, the seed draws one from the training part."""
    seed = setting.seed
    if name in PAIRS:
        learnt, test = _newsgroups(setting.data)[name]
        return Task(name, *_parted(learnt, 0.2, seed), test)
    if name == MOVIE:
        return Task(name, *_treebank(setting.data / "sst_trees"), by_spaces=True)
    if name == "MR":
        learnt, test = _parted(_polarity(setting.data / "sentence_classification"), 0.1, seed)
        return Task(name, *_parted(learnt, 1 / 9, seed), test, by_spaces=True)
    if name == "IMDB":
        n = 2_000 if setting.quick else None
        learnt, test = (_reviews(setting.data / "imdb" / f"{part}.tsv.xz", n) for part in ("train", "test"))
        return Task(name, *_parted(learnt, 0.2, seed), test)
    return Task(name, *_debates(setting.data / "convote_party"), by_spaces=True)


def folds(setting: Setting, name: str, n: int = 5) -> Iterator[Task]:
    """A pair with each of n parts of its training part as development part."""
    learnt, test = _newsgroups(setting.data)[name]
    order = np.random.default_rng(setting.seed).permutation(len(learnt))
    for k in range(n):
        yield Task(name, learnt.take(np.delete(order, np.s_[k::n])), learnt.take(order[k::n]), test)


def undivided(setting: Setting, name: str) -> Task:
    """A pair with all of its training part to learn from, and nothing left to choose by."""
    learnt, test = _newsgroups(setting.data)[name]
    return Task(name, learnt, learnt.take(np.arange(0)), test)


def _parted(part: Part, share: float, seed: int) -> tuple[Part, Part]:
    """All but a share of the documents drawn at random, and that share."""
    order = np.random.default_rng(seed).permutation(len(part))
    n = int(share * len(part))
    return part.take(order[n:]), part.take(order[:n])


@cache
def _newsgroups(data: Path) -> dict[str, tuple[Part, Part]]:
    """Training and test part of each pair, by date, headers and all, as the archive has them."""
    found: dict[tuple[str, bool], list[str]] = {}
    with tarfile.open(data / "20newsgroups" / "20news-bydate.tar.xz") as files:
        for member in files:
            part, group = (member.name.split("/") * 3)[-3:-1] if member.isfile() else ("", "")
            if any(group in pair for pair in PAIRS.values()):
                file = files.extractfile(member)
                assert file is not None
                found.setdefault((group, part.endswith("test")), []).append(file.read().decode("latin-1"))
    return {
        name: tuple(_of_classes([found[group, is_test] for group in pair]) for is_test in (False, True))  # type: ignore[misc]
        for name, pair in PAIRS.items()
    }


def _of_classes(texts: Sequence[Sequence[str]]) -> Part:
    """Documents of class 0, then those of class 1."""
    labels = np.repeat([0, 1], [len(some) for some in texts])
    return Part([split_sentences(text) for some in texts for text in some], labels)


def _treebank(folder: Path) -> Iterator[Part]:
    """Whole sentences with the labels of their roots; neutral ones are left out."""
    for name in ("train", "dev", "test"):
        trees = [tree for tree in read_trees(folder / f"{name}.txt.xz") if tree.label != "2"]
        labels = np.array([int(tree.label > "2") for tree in trees])
        yield Part([[" ".join(tree.leaves())] for tree in trees], labels, trees)


def _polarity(folder: Path) -> Part:
    with lzma.open(folder / "rt-polarity.all.xz", "rt", encoding="latin-1", newline="\n") as file:
        lines = [line.strip("\n").partition(" ") for line in file]
    return Part([[text] for _, _, text in lines], np.array([int(label) for label, _, _ in lines]))


def _reviews(path: Path, n: int | None) -> Part:
    """The reviews, or the first n/2 of each class."""
    texts: dict[str, list[str]] = {"neg": [], "pos": []}
    with open_text(path) as file:
        for line in file:
            label, _, _, text = line.rstrip("\n").split("\t", 3)
            if n is None or len(texts[label]) < n // 2:
                texts[label].append(text.replace("<br />", " "))
    return _of_classes([texts["neg"], texts["pos"]])


def _debates(folder: Path) -> Iterator[Part]:
    """Chunks of sentences of each party: the first 80 % to learn from, then 10 % to choose by, then 10 % to test."""
    chunks = []
    for party in ("dem", "repub"):
        with open_text(folder / f"{party}.convote.txt.xz") as file:
            sentences = iter([s for s in re.split(r"  |\n", file.read()) if s.strip()])
        chunks.append(list(iter(lambda: list(islice(sentences, SENTENCES_A_CHUNK)), [])))  # noqa: B023
    for low, high in ((0.0, 0.8), (0.8, 0.9), (0.9, 1.0)):
        some = [part[int(low * len(part)) : int(high * len(part))] for part in chunks]
        yield Part(some[0] + some[1], np.repeat([0, 1], [len(some[0]), len(some[1])]))
