"""Small sample files for the commands of ``commands.py``: cut from the corpora, or written by hand, in every format."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path

from methods.semcor import SemcorSentence, read_semcor, supersense_examples
from sokolovska_common import data_folder
from sokolovska_conll import conll2000, first
from spectral_text import Post, posts
from spectral_treebank import sample_treebank

from spinney.corpus import Sentence, open_text, read_conllu, read_tokenized, writing
from spinney.evaluate import read_bless
from spinney.tagging.columns import Columns

Lines = Iterator[str]

SCIENCE = ("sci.med", "sci.space")
NEWS = ("comp.graphics", "rec.autos", "sci.med", "sci.space")
#: Speeches from this year on, and so many words of each.
SPEECHES_SINCE, WORDS_OF_A_SPEECH = 1900, 200
#: So many lines of a post, which must have so many words.
LINES_OF_A_POST, WORDS_OF_A_POST = 8, 20
#: Sentences of English: to learn from, and where a command is slow or needs few.
ENGLISH, FEW = 2500, 300
PENN = "ptb_lm/ptb.{}.txt.xz"

# -- written by hand ------------------------------------------------------------------------------------------------

#: As in Mitchell and Lapata (2010): who judged, the kind, a number, two phrases of two words, and the score.
PHRASES = """\
p1 adjectivenouns 1 new year good time 5
p1 adjectivenouns 1 last week next year 6
p1 adjectivenouns 1 good people great place 4
p1 adjectivenouns 1 old man new service 1
p2 adjectivenouns 1 new year good time 4
p2 adjectivenouns 1 last week next year 7
p2 adjectivenouns 1 good people great place 3
p2 adjectivenouns 1 old man new service 2
"""

#: As the pairs of Vecchi and others (2011): an adjective, a noun, and whether they go together.
JUDGED = """\
new year acceptable
last week acceptable
good food acceptable
great service acceptable
nuclear week deviant
military food deviant
last service deviant
political year deviant
"""

#: Sentences with a gap, the right word, and the others.
GAPS = """\
the stock ___ fell\tmarket\tof\tsaid
the company said ___ will sell shares\tit\tunder\tlast
"""

#: A conjunction of parts of speech and the word in lower case, with slashes between them as in CRF++.
PATTERNS = """\
U:%x[-1,1]/%x[0,1]/%lower[0,0]
U:%x[0,1]/%x[1,1]
B
"""


def _text(text: str) -> Lines:
    """What is written above."""
    yield text


# -- trees and sentences --------------------------------------------------------------------------------------------


@cache
def _english(part: str, n: int) -> list[Sentence]:
    """The first sentences of a part of UD English EWT."""
    path = data_folder() / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu.xz"
    return list(islice(read_conllu(path), n))


def _conllu(part: str, n: int) -> Lines:
    """Sentences of English with their trees."""
    for sentence in _english(part, n):
        yield f"{sentence}\n\n"


def _plain(part: str, n: int) -> Lines:
    """The words of the same sentences, one sentence a line."""
    for sentence in _english(part, n):
        yield " ".join(sentence.forms) + "\n"


def _treebank(part: str, n: int) -> Lines:
    """Cleaned trees of the treebank's sample, one a line."""
    for tree in getattr(sample_treebank(), part)[:n]:
        yield f"{tree}\n"


def _parts_of_speech(start: int, n: int) -> Lines:
    """Words and parts of speech of the treebank, in columns."""
    for tree in sample_treebank().train[start : start + n]:
        yield from _rows(zip(tree.leaves(), tree.tags()))


def _phrases_in_columns(part: str, start: int, n: int) -> Lines:
    """Word, part of speech and chunk of CoNLL-2000."""
    columns = first(_conll2000()[part], n, start)
    rows = list(zip(*(columns.strings(i) for i in range(columns.width))))
    for begin, end in zip(columns.offsets[:-1], columns.offsets[1:]):
        yield from _rows(rows[begin:end])


@cache
def _conll2000() -> dict[str, Columns]:
    """Both parts, read once."""
    return dict(zip(("train", "test"), conll2000()))


def _senses(start: int, n: int) -> Lines:
    """Words of SemCor, and at the head of a noun or verb its supersense."""
    for sentence in islice(_semcor(), start, start + n):
        labels = ["_"] * len(sentence.words)
        for example in supersense_examples([sentence]):
            labels[example.head] = example.label
        yield from _rows(zip(sentence.words, labels), "\t")


def _rows(rows: Iterable[Iterable[str]], separator: str = " ") -> Lines:
    """A sentence in columns."""
    for row in rows:
        yield separator.join(row) + "\n"
    yield "\n"


@cache
def _semcor() -> list[SemcorSentence]:
    """The first sentences, as many as the samples take."""
    return list(islice(read_semcor(data_folder() / "semcor" / "semcor3.0.tar.xz", ["brown1"]), 900))


# -- letters, words, counts -----------------------------------------------------------------------------------------


def _head(path: str, n: int | None = None) -> Lines:
    """The first lines of a file among the data, or all."""
    with open_text(data_folder() / path) as file:
        yield from islice(file, n)


def _trigrams(n: int) -> Lines:
    """Counts of three words in a row, in the format of Google's n-grams."""
    counts: Counter[tuple[str, ...]] = Counter()
    for words in islice(read_tokenized(data_folder() / PENN.format("train")), n):
        padded = ["<S>", *words, "</S>"]
        counts.update(zip(padded, padded[1:], padded[2:]))
    for trigram, count in counts.items():
        yield f"{' '.join(trigram)}\t{count}\n"


def _relations(n_concepts: int) -> Lines:
    """The pairs of BLESS for the first concepts that the sample of English knows."""
    known = {form.lower() for sentence in _english("train", ENGLISH) for form in sentence.forms}
    pairs = read_bless(data_folder() / "word_similarity" / "vecto" / "semantic-relation" / "bless.csv.xz")
    concepts = [pair.concept for pair in pairs if pair.concept in known]
    wanted = set(list(dict.fromkeys(concepts))[:n_concepts])
    rows = [(pair.concept, pair.relatum, pair.relation) for pair in pairs if pair.concept in wanted]
    return _table(("word1", "word2", "relation"), rows)


# -- documents ------------------------------------------------------------------------------------------------------


def _posts(groups: Collection[str], start: int, n: int) -> Lines:
    """So many posts of each of some newsgroups, from the ``start``-th of each on."""
    found = {group: [post.text for post in _newsgroups() if post.group == group] for group in groups}
    rows = [(group, text) for group in groups for text in found[group][start : start + n]]
    return _table(("label", "text"), rows)


@cache
def _newsgroups() -> list[Post]:
    """The posts of the training part that are about something, in all groups that a sample has."""
    archive = data_folder() / "20newsgroups" / "20news-bydate.tar.xz"
    wanted = (_beginning(post) for post in posts(archive) if post.group in NEWS and not post.is_test)
    return [post for post in wanted if len(post.text.split()) >= WORDS_OF_A_POST]


def _beginning(post: Post) -> Post:
    """A post with its first lines that are not empty, since groups of all its sentences take minutes."""
    lines = [line for line in post.text.split("\n") if line.strip()]
    return post._replace(text="\n".join(lines[:LINES_OF_A_POST]))


def _speeches() -> Lines:
    """The beginnings of State of the Union addresses, with years and parties."""
    with open_text(data_folder() / "sotu" / "sotu_1790_2020.tsv.xz") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    rows = [
        (year, party, " ".join(text.split()[:WORDS_OF_A_SPEECH]))
        for year, _, party, _, text in lines
        if int(year) >= SPEECHES_SINCE
    ]
    return _table(("time", "party", "text"), rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Lines:
    """A table with commas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    yield text.getvalue()


# -- all of them ----------------------------------------------------------------------------------------------------

#: The lines of each file, found when a command names it.
SAMPLES: dict[str, Callable[[], Lines]] = {
    "x.conllu": partial(_conllu, "train", ENGLISH),
    "x.txt": partial(_plain, "train", ENGLISH),
    "few.conllu": partial(_conllu, "train", FEW),
    "few.txt": partial(_plain, "train", 500),
    "dev.conllu": partial(_conllu, "dev", FEW),
    "dev.txt": partial(_plain, "dev", FEW),
    "bless.csv": partial(_relations, 20),
    "ap.csv": partial(_head, "word_similarity/vecto/word-categorization/ap.csv"),
    "ELLDIS.txt": partial(_head, "composition/ELLDIS.txt.xz"),
    "phrases.txt": partial(_text, PHRASES),
    "judged.txt": partial(_text, JUDGED),
    "gaps.tsv": partial(_text, GAPS),
    "pairs.txt": partial(_text, PATTERNS),
    "senses.txt": partial(_senses, 0, 700),
    "more-senses.txt": partial(_senses, 700, 200),
    "train.col": partial(_phrases_in_columns, "train", 0, 250),
    "unlabelled.col": partial(_phrases_in_columns, "train", 250, 250),
    "test.col": partial(_phrases_in_columns, "test", 0, 150),
    "sounds.data": partial(_head, "nettalk/nettalk.data.xz", 100),
    "train.mrg": partial(_treebank, "train", 200),
    "dev.mrg": partial(_treebank, "dev", 30),
    "train.pos": partial(_parts_of_speech, 0, 1000),
    "more.pos": partial(_parts_of_speech, 1000, 400),
    "test.pos": partial(_parts_of_speech, 1400, 200),
    "ptb.txt": partial(_head, PENN.format("train"), 1400),
    "ptb-small.txt": partial(_head, PENN.format("train"), 300),
    "ptb-dev.txt": partial(_head, PENN.format("valid"), 100),
    "3gm.txt": partial(_trigrams, 1400),
    "science.csv": partial(_posts, SCIENCE, 0, 100),
    "science-dev.csv": partial(_posts, SCIENCE, 100, 50),
    "unlabelled.csv": partial(_posts, SCIENCE, 150, 180),
    "news.csv": partial(_posts, NEWS, 0, 60),
    "sotu.csv": _speeches,
}


def write_samples(names: Iterable[str], folder: Path) -> None:
    """Write those of the files that are samples and are not there yet."""
    for name in names:
        if name in SAMPLES and not (folder / name).exists():
            with writing(folder / name) as file:
                file.writelines(SAMPLES[name]())
