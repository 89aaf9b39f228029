"""Published counts of real corpora: tokens and sentences as others have counted them."""

from __future__ import annotations

import lzma
import zipfile

import numpy as np
import pytest

from spinney.corpus import (
    open_text,
    read_arrays,
    read_columns,
    read_conllu,
    read_folder,
    read_table,
    read_tokenized,
    read_trees,
    write_columns,
    write_conllu,
    write_trees,
)


def unpacked(data, tmp_path, name):
    with zipfile.ZipFile(data / "nltk" / name) as archive:
        archive.extractall(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("part", "tokens", "sentences"),
    [("train", 203_621, 14_041), ("testa", 51_362, 3_250), ("testb", 46_435, 3_453)],
)
def test_conll2003(data, part, tokens, sentences):
    path = data / "conll2003" / f"eng.{part}.xz"
    read = list(read_columns(path))
    assert (sum(map(len, read)), len(read)) == (tokens, sentences)
    arrays = read_arrays(path, "columns", labels=[1, 2, 3])
    assert (arrays.n_tokens, len(arrays)) == (tokens, sentences)
    named = arrays.labels[3]
    assert named.vocabulary.decode(named.ids) == [row[3] for sentence in read for row in sentence]
    assert arrays.vocabulary.decode(arrays.ids) == [row[0] for sentence in read for row in sentence]


def test_conll2000(data, tmp_path):
    folder = unpacked(data, tmp_path, "conll2000.zip") / "conll2000"
    for part, tokens, sentences in (("train", 211_727, 8_936), ("test", 47_377, 2_012)):
        arrays = read_arrays(folder / f"{part}.txt", "columns", labels=[1, 2])
        assert (arrays.n_tokens, len(arrays)) == (tokens, sentences)
    write_columns(tmp_path / "again.txt", read_columns(folder / "test.txt"))
    assert (tmp_path / "again.txt").read_bytes() == (folder / "test.txt").read_bytes()


@pytest.mark.parametrize(
    ("name", "tokens", "sentences"),
    [
        ("ud_english_ewt/en_ewt-ud-train", 204_577, 12_544),
        ("ud_english_ewt/en_ewt-ud-dev", 25_147, 2_001),
        ("ud_english_ewt/en_ewt-ud-test", 25_094, 2_077),
    ],
)
def test_universal_dependencies(data, tmp_path, name, tokens, sentences):
    path = data / f"{name}.conllu.xz"
    arrays = read_arrays(path, "conllu", labels=["upos"], heads=True)
    assert (arrays.n_tokens, len(arrays)) == (tokens, sentences)
    assert len(arrays.labels["upos"].vocabulary) == 17
    assert np.count_nonzero(arrays.heads == -1) == sentences
    write_conllu(tmp_path / "again.conllu", read_conllu(path))
    assert (tmp_path / "again.conllu").read_bytes() == lzma.decompress(path.read_bytes())


@pytest.mark.slow
def test_parsed_brown_on_disk(data, tmp_path):
    path = data / "parsed" / "brown.conllu.xz"
    arrays = read_arrays(path, "conllu", heads=True, min_count=2, unknown="<unk>", folder=tmp_path / "brown")
    assert (arrays.n_tokens, len(arrays)) == (1_161_192, 57_340)


@pytest.mark.parametrize(("part", "n"), [("train", 8_544), ("dev", 1_101), ("test", 2_210)])
def test_sentiment_trees(data, tmp_path, part, n):
    path = data / "sst_trees" / f"{part}.txt.xz"
    trees = list(read_trees(path))
    assert len(trees) == n
    assert {node.label for tree in trees for node in tree.nodes()} == set("01234")
    write_trees(tmp_path / "again.txt", trees)
    with open_text(path) as file:
        assert (tmp_path / "again.txt").read_text("utf-8") == file.read()


def test_penn_treebank_sample(data, tmp_path):
    folder = unpacked(data, tmp_path, "treebank.zip") / "treebank" / "combined"
    files = sorted(folder.glob("*.mrg"))
    trees = [tree for file in files for tree in read_trees(file)]
    assert len(trees) == 3_914
    assert sum(len(tree.leaves()) for tree in trees) == 100_676
    text = "".join("".join(file.read_text().split()) for file in files)
    assert "".join("".join(str(tree).split()) for tree in trees) == text


def test_language_model_split(data):
    [path] = sorted((data / "ptb_lm").glob("*valid*"))
    assert sum(map(len, read_tokenized(path))) == 70_390


def test_movie_reviews(data, tmp_path):
    folder = unpacked(data, tmp_path, "movie_reviews.zip") / "movie_reviews"
    labels = [document.label for document in read_folder(folder)]
    assert (labels.count("neg"), labels.count("pos"), len(labels)) == (1_000, 1_000, 2_000)


def test_tables(data):
    news = list(read_table(data / "ag_news_testonly" / "test.csv.xz", [1, 2], 0, header=False))
    assert len(news) == 7_600
    assert {document.label for document in news} == {"1", "2", "3", "4"}
    abstracts = list(read_table(data / "arxiv" / "cs.CL.20190101.tsv.xz", "abstract", quotes=True))
    assert len(abstracts) == 11_636  # on 15,123 lines: fields hold line ends
