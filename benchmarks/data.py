"""Inputs of the benchmarks."""

from __future__ import annotations

import lzma
import os
import re
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

REVIEWS = ("unsup", "train", "test")


class Missing(Exception):
    """A corpus that a benchmark needs and that is not there: it is skipped."""


def corpus(*parts: str) -> Path:
    """A file or folder under ``$SPINNEY_DATA``."""
    folder = os.environ.get("SPINNEY_DATA", "")
    if not folder or not Path(folder).is_dir():
        raise Missing("no corpora: the variable SPINNEY_DATA does not name their folder")
    path = Path(folder, *parts)
    if not path.exists():
        raise Missing(f"the corpus {'/'.join(parts)} is not under SPINNEY_DATA")
    return path


@cache
def newsgroups() -> tuple[Any, Any]:
    """20 Newsgroups, training part: tf-idf over the full vocabulary, and the class of each document."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    posts = _posts("train")
    labels = np.unique([label for label, _ in posts], return_inverse=True)[1]
    return TfidfVectorizer().fit_transform([text for _, text in posts]).tocsc(), labels


@cache
def reuters() -> tuple[Any, Any]:
    """Reuters-21578, training stories with one topic, of the eight most frequent: tf-idf, and the topic of each."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    with tarfile.open(corpus("reuters_aptemod", "reuters.tar.xz")) as archive:
        files = {m.name.partition("/")[2]: archive.extractfile(m).read() for m in archive if m.isfile()}  # type: ignore[union-attr]
    topics = [line.split() for line in files["cats.txt"].decode("latin-1").splitlines()]
    alone = [(name, own[0]) for name, *own in topics if len(own) == 1 and name.startswith("train")]
    names, counts = np.unique([topic for _, topic in alone], return_counts=True)
    kept = set(names[np.argsort(-counts)[:8]])
    stories = [(files[name].decode("latin-1"), topic) for name, topic in alone if topic in kept]
    labels = np.unique([topic for _, topic in stories], return_inverse=True)[1]
    return TfidfVectorizer().fit_transform([text for text, _ in stories]).tocsc(), labels


def newsgroup_texts(part: str, folders: tuple[str, ...]) -> tuple[list[str], Any]:
    """The posts of some newsgroups, or of all, in the ``train`` or the ``test`` part, and the group of each."""
    folders = folders or tuple(sorted({label for label, _ in _posts(part)}))
    chosen = [(text, folders.index(label)) for label, text in _posts(part) if label in folders]
    return [text for text, _ in chosen], np.array([number for _, number in chosen])


@cache
def _posts(part: str) -> list[tuple[str, str]]:
    """The newsgroup and the text of every post of a part."""
    posts = []
    with tarfile.open(corpus("20newsgroups", "20news-bydate.tar.xz")) as archive:
        for member in archive:
            folder, _, rest = member.name.partition("/")
            if member.isfile() and folder.endswith(part):
                stream = archive.extractfile(member)
                assert stream is not None
                posts.append((rest.partition("/")[0], stream.read().decode("latin-1")))
    return posts


def review_sentences(parts: tuple[str, ...] = REVIEWS) -> Iterator[list[str]]:
    """The film reviews of IMDB, 27 million tokens: lower-cased, cut after . ! ?, punctuation apart."""
    for part in parts:
        with lzma.open(corpus("imdb", f"{part}.tsv.xz"), "rt", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                text = line.rstrip("\n").split("\t")[3].lower().replace("<br />", " ")
                for sentence in re.split(r"(?<=[.!?])\s+", text):
                    tokens = re.findall(r"[a-z0-9']+|[^\sa-z0-9]", sentence)
                    if tokens:
                        yield tokens
