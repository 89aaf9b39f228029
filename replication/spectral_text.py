"""Texts of the spectral replication, each read once and kept in the cache of the run."""

from __future__ import annotations

import lzma
import re
import tarfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from grave_semcor import brown_documents
from spectral_common import Setting

from spinney.corpus import TokenArrays, read_text, read_tokenized, sentence_arrays
from spinney.corpus.raw import tokenized_sentences
from spinney.files import replacing

UNKNOWN = "<unk>"
_TOKEN = re.compile(r"[a-z0-9']+|[^\sa-z0-9]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_QUICK_TOKENS = 2_000_000


def words_text(setting: Setting) -> TokenArrays:
    """What vectors are compared on: film reviews; quick, a part of them, the Brown corpus and the Penn Treebank."""
    folder = setting.cache / f"{setting.size}-words"
    if not folder.exists():
        sentences: Iterable[list[str]] = reviews(setting.data / "imdb")
        if setting.quick:
            sentences = chain(_first(sentences, _QUICK_TOKENS), _brown(setting.data), _treebank(setting.data))
        sentence_arrays(sentences, min_count=10, unknown=UNKNOWN).save(folder)
    return TokenArrays.load(folder, mmap=False)


def reviews(folder: Path) -> Iterator[list[str]]:
    """The sentences of the film reviews: lower case, without tags, 26.83 M tokens."""
    for name in ("unsup", "train", "test"):
        with lzma.open(folder / f"{name}.tsv.xz", "rt", encoding="utf-8", newline="\n") as file:
            for line in file:
                text = line.rstrip("\n").split("\t", 3)[3].lower().replace("<br />", " ")
                found = map(_TOKEN.findall, _SENTENCE_END.split(text))
                yield from filter(None, found)


def tagger_text(setting: Setting) -> TokenArrays:
    """What vectors for taggers are learnt from: news and, unless quick, posts and film reviews; lower case."""
    folder = setting.cache / f"{setting.size}-taggers"
    if not folder.exists():
        files = [setting.data / "parsed" / f"{name}.conllu.xz" for name in ("reuters", "brown")]
        files.append(setting.data / "ptb_lm" / "ptb.train.txt.xz")
        if not setting.quick:
            files.append(_posts(setting))
            files += [setting.data / "imdb" / f"{name}.tsv.xz" for name in ("unsup", "train", "test")]
        read_text(files, lowercase=True, min_count=5, unknown=UNKNOWN, text=3, header=False).save(folder)
    return TokenArrays.load(folder, mmap=False)


class Post(NamedTuple):
    """A post of 20 newsgroups."""

    group: str
    is_test: bool
    text: str


def posts(archive: Path) -> Iterator[Post]:
    """The posts of 20 newsgroups, without headers and quoted lines."""
    with tarfile.open(archive) as files:
        for member in files:
            file = files.extractfile(member) if member.isfile() else None
            if file is None:
                continue
            _, _, body = file.read().decode("latin-1").partition("\n\n")
            own = [line for line in body.split("\n") if not line.lstrip().startswith((">", "|", ":"))]
            part, group, _ = member.name.split("/")[-3:]
            yield Post(group, part.endswith("test"), "\n".join(own))


def _posts(setting: Setting) -> Path:
    """The sentences of all posts in a file of the cache."""
    path = setting.cache / "posts.txt"
    with replacing(path) as file:
        for post in posts(setting.data / "20newsgroups" / "20news-bydate.tar.xz"):
            for sentence in tokenized_sentences(post.text):
                file.write((" ".join(sentence) + "\n").encode())
    return path


def _first(sentences: Iterable[list[str]], n_tokens: int) -> Iterator[list[str]]:
    """Sentences until there are so many tokens."""
    for sentence in sentences:
        if n_tokens <= 0:
            return
        n_tokens -= len(sentence)
        yield sentence


def _brown(data: Path) -> Iterator[list[str]]:
    for document in brown_documents(data / "nltk" / "brown.zip").values():
        for sentence in document.sentences:
            yield [word.lower() for word in sentence]


def _treebank(data: Path) -> Iterator[list[str]]:
    return read_tokenized(data / "ptb_lm" / "ptb.train.txt.xz")
