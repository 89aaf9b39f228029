"""Grave (2014), supersense tagging: nouns and verbs of SemCor, and where they stand in the parsed Brown corpus.

SemCor took its documents from the Brown corpus (``br-a01`` is ``ca01``), but joins words, parts others at hyphens
and clitics, drops some marks and headings, and breaks sentences elsewhere. Here its words find their places in
NLTK's Brown corpus, whose sentences, in the order of its files, are those of the parsed one.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from methods.semcor import SemcorSentence, SupersenseExample, read_semcor, supersense_examples

from spinney.errors import InputError

#: The thesis used press reportage, editorials and reviews.
CATEGORIES = "abc"
_LETTERS = re.compile(r"[^\W_]+")


class Place(NamedTuple):
    """A token of the parsed Brown corpus: its sentence, and its place there, both from 0."""

    sentence: int
    token: int


class BrownDocument(NamedTuple):
    """A file of the Brown corpus: the number of its first sentence in the corpus, and its sentences."""

    first: int
    sentences: list[list[str]]


class PlacedExample(NamedTuple):
    """A noun or verb with its supersense, and its place in the Brown corpus if it was found."""

    example: SupersenseExample
    place: Place | None


def data_folder() -> Path:
    """Where the data sets are."""
    if "SPINNEY_DATA" not in os.environ:
        raise InputError(
            "this study needs data", remedy="set SPINNEY_DATA to the folder with semcor, nltk and parsed"
        )
    return Path(os.environ["SPINNEY_DATA"])


def brown_documents(archive: Path) -> dict[str, BrownDocument]:
    """The documents of NLTK's ``brown.zip`` by name (``ca01``), in its order."""
    documents: dict[str, BrownDocument] = {}
    first = 0
    with zipfile.ZipFile(archive) as files:
        for name in sorted(name for name in files.namelist() if re.search(r"/c[a-r]\d\d$", name)):
            lines = files.read(name).decode("latin-1").split("\n")
            sentences = [
                [token.rpartition("/")[0] for token in line.split()] for line in lines if line.strip()
            ]
            documents[name[-4:]] = BrownDocument(first, sentences)
            first += len(sentences)
    return documents


def align_to_brown(
    sentences: Iterable[SemcorSentence], brown: Mapping[str, BrownDocument]
) -> Iterator[tuple[SemcorSentence, list[Place | None]]]:
    """Each sentence of SemCor with the places of its words in the Brown corpus; None for what was not found.

    The longest common runs of letters and digits decide, document by document; marks alone have no place.
    """
    for document, group in groupby(sentences, key=attrgetter("document")):
        here = list(group)
        there = brown["c" + document.removeprefix("br-")]
        ours = _runs([sentence.words for sentence in here])
        theirs = _runs(there.sentences)
        places: list[list[Place | None]] = [[None] * len(sentence.words) for sentence in here]
        matcher = SequenceMatcher(None, [run for run, _ in ours], [run for run, _ in theirs], autojunk=False)
        for i, j, length in matcher.get_matching_blocks():
            for (_, word), (_, place) in zip(ours[i : i + length], theirs[j : j + length]):
                if places[word.sentence][word.token] is None:
                    places[word.sentence][word.token] = Place(there.first + place.sentence, place.token)
        yield from zip(here, places)


def placed_examples(data: Path, categories: str = CATEGORIES) -> list[PlacedExample]:
    """The nouns and verbs of SemCor's fully tagged documents in these categories of the Brown corpus."""
    brown = brown_documents(data / "nltk" / "brown.zip")
    semcor = read_semcor(data / "semcor" / "semcor3.0.tar.xz")
    wanted = (sentence for sentence in semcor if sentence.document[len("br-")] in categories)
    return [
        PlacedExample(example, places[example.head])
        for sentence, places in align_to_brown(wanted, brown)
        for example in supersense_examples([sentence])
    ]


def is_test(documents: Iterable[str]) -> dict[str, bool]:
    """The thesis does not say how it split the documents: here every fifth, in the order of names, is for testing."""
    return {document: i % 5 == 4 for i, document in enumerate(sorted(set(documents)))}


def _runs(sentences: list[list[str]]) -> list[tuple[str, Place]]:
    """The runs of letters and digits in the words, and the word that each is in."""
    return [
        (run, Place(i, j))
        for i, words in enumerate(sentences)
        for j, word in enumerate(words)
        for run in _LETTERS.findall(word.lower())
    ]


def main() -> None:
    """Print how much of SemCor was found."""
    for categories in (CATEGORIES, "abcdefghjklmnpr"):
        placed = placed_examples(data_folder(), categories)
        test = is_test(example.document for example, _ in placed)
        found = sum(place is not None for _, place in placed) / len(placed)
        n_test = sum(test[example.document] for example, _ in placed)
        print(
            f"{categories}: {len(test)} documents, {len(placed):,} examples ({n_test:,} for testing), "
            f"{100 * found:.2f} % with a place in the parsed corpus"
        )


if __name__ == "__main__":
    main()
