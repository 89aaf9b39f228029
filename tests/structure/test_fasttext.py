"""Vectors of GloVe, fastText and gensim."""

import random
import struct
from contextlib import suppress

import numpy as np
import pytest

from spinney.errors import InputError, OptionError, SpinneyError
from spinney.structure import WordVectors
from spinney.structure._fasttext import MAGIC
from spinney.structure.reading import word_vectors
from spinney.structure.subwords import Subwords
from spinney.tagging import Tagger

WORDS = ["</s>", "the", "dog", "Straße", "日本"]


def fasttext_bytes(words=WORDS, dimension=3, buckets=7, shortest=2, longest=4, seed=0):
    """A file as fastText writes it, and its matrix."""
    matrix = np.random.default_rng(seed).standard_normal((len(words) + buckets, dimension)).astype("<f4")
    data = MAGIC + struct.pack("<i", 12)
    data += struct.pack("<12id", dimension, 5, 5, 1, 5, 1, 2, 2, buckets, shortest, longest, 100, 1e-4)
    data += struct.pack("<3i2q", len(words), len(words), 0, 100, -1)
    for word in words:
        data += word.encode() + b"\0" + struct.pack("<qb", 2, 0)
    data += b"\0" + struct.pack("<2q", *matrix.shape) + matrix.tobytes()
    return data + b"\0" + struct.pack("<2q", 0, dimension), matrix


def by_hand(word, matrix, words=WORDS, shortest=2, longest=4):
    """The mean over a word and its n-grams, letter by letter."""
    place = words.index(word) if word in words else None
    rows = [] if place is None else [place]
    text = f"<{word}>"
    for i in range(len(text)) if word != "</s>" else ():
        for n in range(shortest, longest + 1):
            if i + n <= len(text) and not (n == 1 and (i == 0 or i + n == len(text))):
                value = 2166136261
                for sign in text[i : i + n].encode():
                    value = ((value ^ (sign | 0xFFFFFF00 if sign > 127 else sign)) * 16777619) & 0xFFFFFFFF
                rows.append(len(words) + value % (len(matrix) - len(words)))
    return matrix[rows].mean(axis=0) if rows else np.zeros(matrix.shape[1])


@pytest.mark.parametrize("lengths", [(2, 4), (1, 3), (3, 6)])
def test_words_and_unknown_words_of_fasttext(tmp_path, lengths):
    data, matrix = fasttext_bytes(shortest=lengths[0], longest=lengths[1])
    (tmp_path / "v.bin").write_bytes(data)
    vectors = word_vectors(str(tmp_path / "v.bin"))
    for word in [*WORDS, "dogs", "ß", "x", "über", "日本語", "a" * 50]:
        np.testing.assert_allclose(
            vectors[word], by_hand(word, matrix, WORDS, *lengths), atol=1e-6, err_msg=word
        )
    vectors.save(tmp_path / "v.spinney")
    again = WordVectors.load(tmp_path / "v.spinney")
    np.testing.assert_array_equal(again.rows(["dogs", "the"]), vectors.rows(["dogs", "the"]))
    assert vectors.neighbours("dogs", 2) == vectors.neighbours(vectors["dogs"], 2)


def test_fasttext_itself(tmp_path):
    fasttext = pytest.importorskip("fasttext")
    lines = ["the dog sees a Straße", "über dem Haus", "no dogs"] * 20
    (tmp_path / "text").write_text("\n".join(lines))
    peer = fasttext.train_unsupervised(
        str(tmp_path / "text"), dim=4, minCount=1, bucket=50, epoch=1, thread=1, minn=2, maxn=4, verbose=0
    )
    peer.save_model(str(tmp_path / "peer.bin"))
    ours = WordVectors.read(tmp_path / "peer.bin")
    assert ours.words == peer.words
    for word in [*peer.words, "unseen", "Überstraße", "日本"]:
        np.testing.assert_allclose(ours[word], peer[word], atol=1e-6)


def test_a_tagger_uses_vectors_of_unknown_words(tmp_path):
    data, _ = fasttext_bytes()
    (tmp_path / "v.bin").write_bytes(data)
    vectors = WordVectors.read(tmp_path / "v.bin")
    tagger = Tagger("U:%vector[0,0,ft]", vectors={"ft": vectors}, lam=0.1).fit(
        [["the"], ["dog"]], [["D"], ["N"]]
    )
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m")
    mu = tagger.weights_.shape.mu(tagger.weights_.full())
    scores = vectors["zebra"] @ mu
    chances = np.exp(scores - scores.max())
    np.testing.assert_allclose(again.predict_marginals([["zebra"]])[0][0], chances / chances.sum(), atol=1e-6)


def test_a_file_with_a_brace_where_models_have_one(tmp_path):
    data, _ = fasttext_bytes(dimension=ord("{"))
    (tmp_path / "v.bin").write_bytes(data)
    assert word_vectors(str(tmp_path / "v.bin")).dimension == 123


def test_without_n_grams(tmp_path):
    data, matrix = fasttext_bytes(buckets=0, shortest=0, longest=0)
    (tmp_path / "v.bin").write_bytes(data)
    vectors = WordVectors.read(tmp_path / "v.bin")
    np.testing.assert_array_equal(vectors.matrix, matrix)
    with pytest.raises(KeyError):
        vectors["dogs"]


def test_damaged_files_are_refused(tmp_path):
    whole, _ = fasttext_bytes()
    path, draws = tmp_path / "v.bin", random.Random(0)
    for length in range(4, len(whole) - 20, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError):
            WordVectors.read(path)
    for _ in range(100):
        data = bytearray(whole)
        data[draws.randrange(4, len(data))] = draws.choice((0, 127, 255))
        path.write_bytes(data)
        with suppress(SpinneyError):
            WordVectors.read(path)
    quantised = bytearray(whole)
    quantised[whole.index(struct.pack("<2q", 12, 3)) - 1] = 1
    path.write_bytes(quantised)
    with pytest.raises(InputError, match="quantised"):
        WordVectors.read(path)


def test_glove(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("the 0.5 -1\n. . . 3 4\nat name@domain.com 5 6\n")
    vectors = WordVectors.read(path)
    assert vectors.words == ["the", ". . .", "at name@domain.com"]
    assert vectors[". . ."].tolist() == [3, 4]
    path.write_text("the 0.5 -1\ndog 3 4 5\n")
    with pytest.raises(InputError, match=r"glove\.txt:2: 3 numbers where 2 are needed"):
        WordVectors.read(path)


def test_vec_files_of_fasttext(tmp_path):
    (tmp_path / "wiki.vec").write_text(
        "2 2\n</s> 0.5 -1 \nthe 1 2 \n"
    )  # with a space at the end of each line
    assert WordVectors.read(tmp_path / "wiki.vec")["the"].tolist() == [1, 2]


def test_keyed_vectors_of_gensim():
    pytest.importorskip("gensim")
    rng = np.random.default_rng(0)
    vectors = WordVectors(["the", "dog", "cat", "fox"], rng.standard_normal((4, 3)).astype(np.float32))
    keyed = vectors.to_keyed_vectors()
    (theirs,), (ours,) = keyed.most_similar("dog", topn=1), vectors.neighbours("dog", 1)
    assert theirs[0] == ours[0]
    assert theirs[1] == pytest.approx(ours[1])
    again = WordVectors.from_keyed_vectors(keyed)
    assert again.words == vectors.words
    np.testing.assert_array_equal(again.matrix, vectors.matrix)
    from scipy.sparse import csr_array

    assert WordVectors(["a"], csr_array([[0.0, 2.0]])).to_keyed_vectors()["a"].tolist() == [0, 2]
    with pytest.raises(OptionError, match="KeyedVectors of gensim are needed, not dict"):
        WordVectors.from_keyed_vectors({})


def test_n_grams_need_rows_and_lengths():
    with pytest.raises(OptionError, match="lengths from 1"):
        Subwords(np.zeros((2, 2), np.float32), 0, 3)
    with pytest.raises(OptionError, match="same dimensions"):
        WordVectors(["a"], [[1.0]], subwords=Subwords(np.zeros((2, 2), np.float32), 1, 3))
