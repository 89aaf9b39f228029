"""Documents with times for the replication of Yogatama (2015), chapter 3: tweets on stocks, speeches, abstracts."""

from __future__ import annotations

import csv
import io
import os
import re
import tarfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from spinney.corpus.opening import open_text
from spinney.errors import InputError

Years = NDArray[np.int64]
#: The thesis leaves out the most frequent words: its ranks of words begin at 101 and 501.
FIRST_RANK_OF_TWEETS, FIRST_RANK_OF_TEXTS = 101, 501
VENUES = {
    "acl": "ACL", "emnlp": "EMNLP", "naacl": "NAACL", "lrec": "LREC", "coling": "COLING", "semeval": "SemEval",
    "wmt": "translation", "amta": "translation", "mtsummit": "translation", "iwslt": "translation",
    "eamt": "translation", "tacl": "journals", "cl": "journals",
}  # fmt: skip
YEARS = range(2006, 2019)
CATEGORIES = ("cs.LG", "cs.AI", "cs.IR", "stat.ML", "cs.CV", "cs.NE", "cs.SI", "cs.SD")
_ENGLISH = re.compile(r"\b(the|of|and|to|in|a|is)\b")


@dataclass(frozen=True)
class Volatility:
    """Documents of tweets on one stock in one month: words as indicators, then ln of that month's volatility.

    ``y`` is the ln of the volatility of the month after; months are numbered from January 2014. Both are less the mean
    over the stocks of that month where they are ``relative``, else as they are (that before, less a constant).
    """

    X: Any
    y: NDArray[np.float64]
    months: Years
    words: list[str]
    n_tweets: int


@dataclass(frozen=True)
class Texts:
    """Documents as counts of words, with covariates and times."""

    counts: Any
    covariates: NDArray[np.float64]
    times: Years
    words: list[str]
    effects: list[str]

    @property
    def n_tokens(self) -> int:
        """Words of the vocabulary in all documents."""
        return int(self.counts.sum())


def data_folder() -> Path:
    """Where the data sets are."""
    if "SPINNEY_DATA" not in os.environ:
        raise InputError(
            "this study needs data",
            remedy="set SPINNEY_DATA to the folder with stocknet, sotu, acl_anthology and arxiv",
        )
    return Path(os.environ["SPINNEY_DATA"])


def ranked(texts: Iterable[str], early: NDArray[np.bool_], first: int, last: int) -> tuple[Any, list[str]]:
    """Counts of the words of frequency ranks ``first`` to ``last`` in the ``early`` texts, and these words.

    So no test document has a say in which words are features. Words are runs of two or more letters, in lower case.

    Examples
    --------
    >>> counts, words = ranked(["an ox, an ox, an owl", "my my my"], np.array([True, False]), 2, 3)
    >>> words, counts.toarray().tolist()
    (['ox', 'owl'], [[2.0, 1.0], [0.0, 0.0]])
    """
    vectorizer = CountVectorizer(token_pattern=r"[^\W\d_]{2,}", dtype=np.float64)
    counts = sparse.csr_array(vectorizer.fit_transform(texts))
    totals = np.asarray(counts[np.flatnonzero(early)].sum(axis=0)).ravel()
    chosen = np.argsort(-totals, kind="stable")[first - 1 : last]
    chosen = chosen[totals[chosen] > 0]
    return sparse.csr_array(counts[:, chosen]), vectorizer.get_feature_names_out()[chosen].tolist()


# --------------------------------------------------------------------------------------------------- stocks


@lru_cache(maxsize=4)
def stocks(data: Path, first_test: int, last_rank: int, relative: bool) -> Volatility:
    """Tweets by stock and month; words are chosen by the months before ``first_test``."""
    tweets: dict[tuple[str, int], list[str]] = {}
    with open_text(data / "stocknet" / "tweets_preprocessed.tsv.xz") as lines:
        for line in lines:
            stock, day, _, text = line.rstrip("\n").split("\t")
            tweets.setdefault((stock, _month(day)), []).append(text)
    volatility = _volatilities(data / "stocknet" / "price_raw.tar.xz")
    keys = [
        key for key in sorted(tweets, key=lambda key: key[::-1])
        if key in volatility and (key[0], key[1] + 1) in volatility
    ]  # fmt: skip
    months = np.array([month for _, month in keys])
    before = np.array([volatility[key] for key in keys])
    y = np.array([volatility[stock, month + 1] for stock, month in keys])
    early = months < first_test
    before -= before[early].mean()
    if relative:
        for values in (before, y):
            values -= (np.bincount(months, values) / np.maximum(np.bincount(months), 1))[months]
    counts, words = ranked((" ".join(tweets[key]) for key in keys), early, FIRST_RANK_OF_TWEETS, last_rank)
    counts.data[:] = 1.0
    X = sparse.csr_array(sparse.hstack([counts, before[:, None]], format="csr"))
    return Volatility(X, y, months, words, sum(len(tweets[key]) for key in keys))


def _month(day: str) -> int:
    return 12 * (int(day[:4]) - 2014) + int(day[5:7]) - 1


def _volatilities(archive: Path) -> dict[tuple[str, int], float]:
    """ln of the standard deviation of the daily returns of each stock in each month with ten of them or more."""
    returns: dict[tuple[str, int], list[float]] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.name.endswith(".csv") else None
            if file is None:
                continue
            stock, last = Path(member.name).stem, None
            for row in csv.DictReader(io.TextIOWrapper(file, "utf-8")):
                if row["Adj Close"] == "null":
                    continue
                price = float(row["Adj Close"])
                if last is not None:
                    returns.setdefault((stock, _month(row["Date"])), []).append(np.log(price / last))
                last = price
    return {key: float(np.log(np.std(some))) for key, some in returns.items() if len(some) >= 10}


# ---------------------------------------------------------------------------------------------------- texts


@lru_cache(maxsize=2)
def speeches(data: Path, first_test: int, last_rank: int) -> Texts:
    """State of the Union, by decade (179 to 201): which party's president, and whether spoken or written."""
    with open_text(data / "sotu" / "sotu_1790_2020.tsv.xz") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    decades = np.array([int(row[0]) // 10 for row in rows])
    kept = [i for i in range(len(rows)) if decades[i] < 202]  # but one speech is missing
    parties = {"Democratic": 1, "Republican": 2, "Whig": 3, "Federalist": 3, "Nonpartisan": 3}
    covariates = np.zeros((len(rows), 4))
    for i, (_, _, party, kind, _) in enumerate(rows):
        covariates[i, 0] = kind == "written"
        covariates[i, parties.get(party, 1)] = 1.0  # Democratic-Republicans with the Democrats
    counts, words = ranked(
        (rows[i][4] for i in kept), decades[kept] < first_test, FIRST_RANK_OF_TEXTS, last_rank
    )
    effects = ["written", "Democrat", "Republican", "other party"]
    return Texts(counts, covariates[kept], decades[kept], words, effects)


@lru_cache(maxsize=2)
def abstracts(data: Path, first_test: int, first_rank: int, last_rank: int) -> Texts:
    """Abstracts of the ACL Anthology and of arXiv's cs.CL, 2006 to 2018: where they came out, arXiv's categories."""
    effects = [*dict.fromkeys(VENUES.values()), "workshops, others", "arXiv", *CATEGORIES]
    place = {name: i for i, name in enumerate(effects)}
    texts: list[str] = []
    rows: list[NDArray[np.float64]] = []
    years: list[int] = []
    titles: set[str] = set()

    def add(year: int, title: str, text: str, marks: Sequence[str]) -> None:
        key = re.sub(r"\W+", "", title.lower())
        if year not in YEARS or key in titles or not _is_english(text):
            return
        titles.add(key)
        texts.append(text)
        years.append(year)
        rows.append(np.bincount([place[mark] for mark in marks], minlength=len(effects)).astype(np.float64))

    _read_anthology(data / "acl_anthology" / "papers_to2019.tsv.xz", add)
    _read_arxiv(data / "arxiv" / "cs.CL.20190101.tsv.xz", add)
    times = np.array(years)
    counts, words = ranked(texts, times < first_test, first_rank, last_rank)
    return Texts(counts, np.array(rows), times, words, effects)


def in_titles(data: Path, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Titles with each word [years, words], and all titles [years], of papers without an abstract: other text."""
    place = {word: i for i, word in enumerate(words)}
    seen, totals = np.zeros((len(YEARS), len(words)), np.int64), np.zeros(len(YEARS), np.int64)
    with open_text(data / "acl_anthology" / "papers_to2019.tsv.xz") as lines:
        for line in lines:
            _, year, _, title, text = line.rstrip("\n").split("\t")
            if int(year) in YEARS and not text:
                totals[int(year) - YEARS[0]] += 1
                found = {place[word] for word in re.findall(r"[^\W\d_]{2,}", title.lower()) if word in place}
                seen[int(year) - YEARS[0], list(found)] += 1
    return seen, totals


Add = Callable[[int, str, str, Sequence[str]], None]


def _read_anthology(path: Path, add: Add) -> None:
    with open_text(path) as lines:
        for line in lines:
            _, year, venue, title, text = line.rstrip("\n").split("\t")
            if text:
                add(int(year), title, text, [VENUES.get(venue, "workshops, others")])


def _read_arxiv(path: Path, add: Add) -> None:
    csv.field_size_limit(1 << 24)
    with open_text(path) as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            marks = [one for one in row["categories"].split(",") if one in CATEGORIES]
            add(int(row["created"][:4]), row["title"], row["abstract"], ["arXiv", *marks])


def _is_english(text: str) -> bool:
    """Whether enough of its words are English ones that French, the other language of the Anthology, has not."""
    return len(_ENGLISH.findall(text.lower())) > 0.1 * len(text.split())
