"""The texts of the language models: four corpora, prepared as Nelakanti (2014) prepared AP news, in subsets."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from yogatama_temporal_data import data_folder

from spinney.corpus import TokenArrays, open_text, read_conllu, sentence_arrays, tokenized_sentences

PROPER, NUMBER, UNKNOWN = "<proper_noun>", "#n", "<unknown>"
_DIGITS = re.compile(r"[-+$]?\d[\d,./:-]*(?:st|nd|rd|th|s)?")

Sentences = list[list[str]]


class Subset(NamedTuple):
    """A part of a corpus: learn, choose, test. The vocabulary is that of ``train``."""

    train: TokenArrays
    held_out: TokenArrays
    test: TokenArrays


def subsets(
    corpus: str, n: int = 4, train: int = 100_000, held_out: int = 10_000, test: int = 20_000
) -> list[Subset]:
    """``n`` disjoint subsets of so many words each, taken one after the other from the corpus."""
    sentences = iter(prepared(corpus))
    return [_numbered(*(_taken(sentences, size) for size in (train, held_out, test))) for _ in range(n)]


def of_length(corpus: str, size: int) -> TokenArrays:
    """The first words of a corpus, to learn from."""
    return sentence_arrays(_taken(iter(prepared(corpus)), size), min_count=3, unknown=UNKNOWN)


def tuning(corpus: str) -> Subset:
    """30,000 words to learn from and 10,000 to choose by, from the end of the corpus, beyond the subsets."""
    sentences = iter(prepared(corpus)[::-1])
    return _numbered(*(_taken(sentences, size) for size in (30_000, 10_000, 1_000)))


def _taken(sentences: Iterator[list[str]], size: int) -> Sentences:
    taken: Sentences = []
    while size > 0:
        taken.append(next(sentences))
        size -= len(taken[-1])
    return taken


def _numbered(train: Sentences, held_out: Sentences, test: Sentences) -> Subset:
    """Words seen fewer than three times in the training part are unknown."""
    text = sentence_arrays(train, min_count=3, unknown=UNKNOWN)
    others = (sentence_arrays(part, vocabulary=text.vocabulary) for part in (held_out, test))
    return Subset(text, *others)


@lru_cache(maxsize=4)
def prepared(corpus: str) -> Sentences:
    """All sentences of a corpus in lower case, with proper nouns and numbers replaced."""
    return {"ptb": _ptb, "brown": _brown, "reuters": _reuters, "sotu": _sotu}[corpus]()


def _ptb() -> Sentences:
    """Mikolov's text, which is prepared already: no capitals, N for numbers, <unk> for rare words."""
    lines: Sentences = []
    for part in ("train", "valid", "test"):
        with open_text(Path(data_folder()) / "ptb_lm" / f"ptb.{part}.txt.xz") as file:
            lines += [[NUMBER if word == "N" else word for word in line.split()] for line in file]
    return lines


def _brown() -> Sentences:
    """The Brown corpus, whose tags say what is a proper noun (NP) or a number (CD)."""
    sentences: Sentences = []
    with zipfile.ZipFile(Path(data_folder()) / "nltk" / "brown.zip") as archive:
        for name in sorted(name for name in archive.namelist() if re.fullmatch(r"brown/c[a-r]\d\d", name)):
            for line in archive.read(name).decode().splitlines():
                pairs = [token.rpartition("/")[::2] for token in line.split()]
                if pairs:
                    sentences.append([_by_tag(word, tag.upper()) for word, tag in pairs])
    return sentences


def _by_tag(word: str, tag: str) -> str:
    if tag.startswith("NP"):
        return PROPER
    return NUMBER if tag.startswith("CD") and any(c.isdigit() for c in word) else word.lower()


def _reuters() -> Sentences:
    """Reuters, whose parts of speech a tagger has found."""
    sentences: Sentences = []
    for sentence in read_conllu(Path(data_folder()) / "parsed" / "reuters.conllu.xz"):
        words = [
            PROPER if upos == "PROPN" else NUMBER if _DIGITS.fullmatch(form) else form.lower()
            for form, upos in zip(sentence.forms, sentence.upos)
            if form.strip()
        ]
        if words:
            sentences.append(words)
    return sentences


def _sotu() -> Sentences:
    """Speeches: a word is a proper noun where it is written with a capital inside a sentence, and mostly is so."""
    with open_text(Path(data_folder()) / "sotu" / "sotu_1790_2020.tsv.xz") as file:
        raw = [s for line in file for s in tokenized_sentences(line.rstrip("\n").split("\t")[-1])]
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for sentence in raw:
        for word in sentence[1:]:
            (capital if word[:1].isupper() else small)[word.lower()] += 1

    def one(word: str) -> str:
        if _DIGITS.fullmatch(word):
            return NUMBER
        lower = word.lower()
        return PROPER if word[:1].isupper() and capital[lower] > small[lower] else lower

    return [[one(word) for word in sentence] for sentence in raw if sentence]


def words_of(texts: Sequence[TokenArrays]) -> str:
    """The sizes of vocabularies, for a table."""
    sizes = [len(text.vocabulary) for text in texts]
    return f"{min(sizes):,} to {max(sizes):,}"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown, numbers to one decimal."""
    return "\n".join([_row(head), "|---" + "|---:" * (len(head) - 1) + "|", *map(_row, rows)])


def _row(cells: Sequence[object]) -> str:
    return "| " + " | ".join(f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |"
