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

    texts, labels = [], []
    with tarfile.open(data_folder() / "20newsgroups" / "20news-bydate.tar.xz") as archive:
        for member in archive:
            folder, _, rest = member.name.partition("/")
            if member.isfile() and folder.endswith("train"):
                stream = archive.extractfile(member)
                assert stream is not None
                texts.append(stream.read().decode("latin-1"))
                labels.append(rest.partition("/")[0])
    return TfidfVectorizer().fit_transform(texts).tocsc(), np.unique(labels, return_inverse=True)[1]


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
