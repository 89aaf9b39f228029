"""Inputs of the benchmarks."""

from __future__ import annotations

import lzma
import os
import re
import sys
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


def data_folder() -> Path:
    """The folder of real corpora, or an exit that says how to name it."""
    folder = os.environ.get("SPINNEY_DATA", "")
    if not folder or not Path(folder).is_dir():
        sys.exit("benchmarks on real data need the variable SPINNEY_DATA to name the folder of corpora")
    return Path(folder)


@cache
def newsgroups() -> tuple[Any, Any]:
    """20 Newsgroups, training part: tf-idf over the full vocabulary, and the class of each document."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    posts = _posts("train")
    labels = np.unique([label for label, _ in posts], return_inverse=True)[1]
    return TfidfVectorizer().fit_transform([text for _, text in posts]).tocsc(), labels


def newsgroup_texts(part: str, folders: tuple[str, ...]) -> tuple[list[str], Any]:
    """The posts of some newsgroups, or of all, in the ``train`` or the ``test`` part, and the group of each."""
    folders = folders or tuple(sorted({label for label, _ in _posts(part)}))
    chosen = [(text, folders.index(label)) for label, text in _posts(part) if label in folders]
    return [text for text, _ in chosen], np.array([number for _, number in chosen])


@cache
def _posts(part: str) -> list[tuple[str, str]]:
    """The newsgroup and the text of every post of a part."""
    posts = []
    with tarfile.open(data_folder() / "20newsgroups" / "20news-bydate.tar.xz") as archive:
        for member in archive:
            folder, _, rest = member.name.partition("/")
            if member.isfile() and folder.endswith(part):
                stream = archive.extractfile(member)
                assert stream is not None
                posts.append((rest.partition("/")[0], stream.read().decode("latin-1")))
    return posts


def review_sentences() -> Iterator[list[str]]:
    """The film reviews of IMDB, 27 million tokens: lower-cased, cut after . ! ?, punctuation apart."""
    for part in ("unsup", "train", "test"):
        with lzma.open(
            data_folder() / "imdb" / f"{part}.tsv.xz", "rt", encoding="utf-8", newline="\n"
        ) as lines:
            for line in lines:
                text = line.rstrip("\n").split("\t")[3].lower().replace("<br />", " ")
                for sentence in re.split(r"(?<=[.!?])\s+", text):
                    tokens = re.findall(r"[a-z0-9']+|[^\sa-z0-9]", sentence)
                    if tokens:
                        yield tokens
