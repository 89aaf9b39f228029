"""Word vectors: neighbours against a full sort, text files there and back and wrong."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from spinney.corpus import open_bytes
from spinney.errors import InputError, ModelFileError, OptionError
from spinney.files import write_model
from spinney.structure import WordVectors, wordvectors

files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)


def make(n: int, d: int, dtype: type = np.float64, seed: int = 0) -> WordVectors:
    matrix = np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)
    return WordVectors([f"w{i}" for i in range(n)], matrix)


def naive(matrix: np.ndarray, query: np.ndarray, metric: str) -> np.ndarray:
    matrix, query = matrix.astype(np.float64), query.astype(np.float64)
    scores = matrix @ query
    if metric == "cosine":
        lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(query)
        scores = np.divide(scores, lengths, out=np.zeros_like(scores), where=lengths > 0)
    return scores


# -- vectors of words -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_looking_up(sparse):
    dense = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    vectors = WordVectors(["a", "b", "c"], sp.csr_array(dense) if sparse else dense)
    assert (len(vectors), vectors.dimension, vectors.is_sparse) == (3, 3, sparse)
    assert vectors["a"].tolist() == [1, 0, 2]
    assert "a" in vectors
    assert "z" not in vectors
    with pytest.raises(KeyError, match="z"):
        vectors["z"]
    assert vectors.encode(["c", "z", "a"]).tolist() == [2, -1, 0]
    rows = vectors.rows(["c", "z", "a", "c"])
    assert sp.issparse(rows) == sparse
    expected = [[0, 3, 0], [0, 0, 0], [1, 0, 2], [0, 3, 0]]
    assert (rows.toarray() if sparse else rows).tolist() == expected
    assert vectors.rows([]).shape == (0, 3)


def test_dtypes_and_layout():
    for dtype, kept in [(np.float32, np.float32), (np.float64, np.float64), (int, np.float64)]:
        matrix = np.ones((2, 3), dtype=dtype)
        assert WordVectors(["a", "b"], matrix).matrix.dtype == kept
        assert WordVectors(["a", "b"], sp.coo_array(matrix)).matrix.dtype == kept
    assert WordVectors(["a", "b"], np.ones((3, 2)).T).matrix.flags.c_contiguous
    assert repr(make(2, 3, np.float32)) == "WordVectors(2 words, 3 dimensions, float32)"


def test_nothing_changes():
    matrix = np.ones((1, 2))
    vectors = WordVectors(["a"], matrix)
    with pytest.raises(ValueError, match="read-only"):
        vectors["a"][0] = 2
    matrix[0, 0] = 2  # the caller may still write: only our view is closed
    csr = sp.csr_array(np.ones((1, 2)))
    assert not WordVectors(["a"], csr).matrix.data.flags.writeable
    assert csr.data.flags.writeable


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        (["a", "a"], np.ones((2, 2)), "the word 'a' appears twice"),
        (["a"], np.ones((2, 2)), "1 words but 2 vectors"),
        (["a"], np.ones(2), "word vectors must be a matrix of numbers with one row per word"),
        (["a"], [["x"]], "word vectors must be a matrix of numbers with one row per word"),
        (["a"], np.ones((1, 0)), "word vectors must be a matrix of numbers with one row per word"),
        (["a"], sp.csr_array((1, 0)), "word vectors must be a matrix of numbers with one row per word"),
    ],
)
def test_bad_vectors(words, matrix, message):
    with pytest.raises(OptionError) as caught:
        WordVectors(words, matrix)
    assert str(caught.value) == message


# -- neighbours -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["cosine", "dot"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_neighbours_against_a_full_sort(metric, dtype, sparse):
    vectors = make(300, 8, dtype)
    if sparse:
        vectors = WordVectors(vectors.words, sp.csr_array(vectors.matrix))
    dense = make(300, 8, dtype).matrix
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    for word in ("w0", "w17"):
        scores = naive(dense, dense[int(word[1:])], metric)
        best = [i for i in np.argsort(-scores, kind="stable") if f"w{i}" != word][:12]
        found = vectors.neighbours(word, 12, metric)
        assert [name for name, _ in found] == [f"w{i}" for i in best]
        np.testing.assert_allclose([score for _, score in found], scores[best], rtol=0, atol=tolerance)
    query = np.random.default_rng(1).standard_normal(8)
    scores = naive(dense, query, metric)
    best = np.argsort(-scores, kind="stable")[:5]
    assert [name for name, _ in vectors.neighbours(query, 5, metric)] == [f"w{i}" for i in best]


small_integers = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 8), st.integers(1, 3)), elements=st.integers(-2, 2).map(float)
)


@given(small_integers, st.integers(1, 10))
def test_equals_keep_their_order(matrix, k):
    vectors = WordVectors([str(i) for i in range(len(matrix))], matrix)
    scores = matrix @ matrix.T
    indices, found = vectors.nearest(matrix, k, "dot")
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(found, np.take_along_axis(scores, expected, axis=1))


def test_blocks_give_what_one_product_gives(monkeypatch):
    vectors = make(50, 6)
    whole = vectors.nearest(vectors.matrix, 4)
    monkeypatch.setattr(wordvectors, "_SCORES_AT_ONCE", 160)  # three queries at a time
    parts = vectors.nearest(vectors.matrix, 4)
    np.testing.assert_array_equal(parts[0], whole[0])
    np.testing.assert_allclose(parts[1], whole[1], atol=1e-14)
    np.testing.assert_array_equal(whole[0][:, 0], np.arange(50))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 2200), st.integers(1, 60), st.sampled_from([2, 50, 10**9]))
def test_the_largest_of_many_against_a_sort(seed, n, k, values):
    scores = np.random.default_rng(seed).integers(values, size=n).astype(np.float64)
    if seed % 2:
        scores.sort()  # the largest are all in one chunk
    expected = np.argsort(-scores, kind="stable")[:k]
    np.testing.assert_array_equal(wordvectors._top(scores, k), expected)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("metric", ["cosine", "dot", "hellinger"])
def test_blocks_of_words_and_queries(monkeypatch, metric, sparse):
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 3, size=(700, 4)).astype(np.float64)  # many equals
    vectors = WordVectors([f"w{i}" for i in range(700)], sp.csr_array(dense) if sparse else dense)
    queries = np.eye(4)[rng.integers(4, size=30)]  # products with these are exact, whatever the blocks
    whole = vectors.nearest(queries, 25, metric)
    monkeypatch.setattr(wordvectors, "_QUERIES_AT_ONCE", 7)
    monkeypatch.setattr(wordvectors, "_SCORES_AT_ONCE", 7 * 90)
    monkeypatch.setattr(wordvectors, "_CHUNK", 3)
    parts = vectors.nearest(queries, 25, metric)
    np.testing.assert_array_equal(parts[0], whole[0])
    np.testing.assert_array_equal(parts[1], whole[1])
    assert vectors.nearest(np.empty((0, 4)), 3, metric)[0].shape == (0, 3)
    assert WordVectors([], np.empty((0, 4))).nearest(queries, 3, metric)[0].shape == (30, 0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors_of_length_one(sparse, dtype):
    dense = np.random.default_rng(0).standard_normal((20, 6)).astype(dtype) * dtype(1e-25)
    dense[4] = 0
    vectors = WordVectors([f"w{i}" for i in range(20)], sp.csr_array(dense) if sparse else dense)
    for rows in (slice(None), slice(3, 9), np.array([7, 4, 7])):
        found = vectors.normalised(rows)
        assert sp.issparse(found) == sparse
        assert found.dtype == dtype
        found = found.toarray() if sparse else found
        expected = dense[rows].astype(np.float64)
        lengths = np.linalg.norm(expected, axis=1, keepdims=True)
        expected = np.divide(expected, lengths, out=np.zeros_like(expected), where=lengths > 0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("sparse", [False, True])
def test_kmeans_finds_directions(sparse):
    rng = np.random.default_rng(0)
    gold = rng.integers(5, size=600)
    matrix = (np.eye(5)[gold] + 0.05 * rng.standard_normal((600, 5))) * rng.uniform(0.1, 10, size=(600, 1))
    names = [f"w{i}" for i in range(600)]
    vectors = WordVectors(names, sp.csr_array(matrix) if sparse else matrix, lowercase=True)
    classes = vectors.kmeans(5, random_state=1)
    assert (classes.words, classes.n_classes, classes.lowercase) == (names, 5, True)
    assert len(set(zip(gold.tolist(), classes.ids.tolist()))) == 5  # the same classes by other names
    np.testing.assert_array_equal(classes.ids, vectors.kmeans(5, random_state=1).ids)
    for n in (0, 601):
        with pytest.raises(OptionError, match=f"{n} classes cannot be made of 600 words"):
            vectors.kmeans(n)


def test_zeros_and_extremes():
    matrix = np.array([[0.0, 0.0], [1e-30, 0.0], [3e30, 0.0], [0.0, 1.0]], dtype=np.float32)
    vectors = WordVectors(["zero", "tiny", "huge", "other"], matrix)
    assert vectors.neighbours("tiny", 3) == [("huge", 1.0), ("zero", 0.0), ("other", 0.0)]
    assert [score for _, score in vectors.neighbours("zero", 3)] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_hellinger_against_the_formula(dtype, sparse):
    rng = np.random.default_rng(2)
    dense = (rng.random((200, 7)) * (rng.random((200, 7)) < 0.5)).astype(dtype)
    dense[3] = 0
    vectors = WordVectors([f"w{i}" for i in range(200)], sp.csr_array(dense) if sparse else dense)
    sums = dense.sum(axis=1, keepdims=True, dtype=np.float64)
    p = np.divide(dense, sums, out=np.zeros((200, 7)), where=sums > 0)
    distance = ((np.sqrt(p[:, None]) - np.sqrt(p[None])) ** 2).sum(axis=2)
    tolerance = 1e-6 if dtype == np.float32 else 1e-14
    indices, scores = vectors.nearest(dense, 200, "hellinger")
    assert scores.dtype == dtype
    empty = ~dense.any(axis=1)
    for i in np.flatnonzero(~empty):
        by_score = np.empty(200)
        by_score[indices[i]] = 2 - 2 * scores[i]
        np.testing.assert_allclose(by_score[~empty], distance[i, ~empty], rtol=0, atol=4 * tolerance)
        assert np.all(by_score[empty] == 2)
    assert not scores[empty].any()
    for word, near in vectors.thesaurus(5, words=["w7", "w3"]):
        expected = vectors.neighbours(word, 5, "hellinger")
        assert near == [(name, pytest.approx(score, abs=tolerance)) for name, score in expected]


def test_hellinger_takes_counts_of_any_size():
    vectors = WordVectors(["once", "often", "other"], np.array([[1, 3], [1e30, 3e30], [3, 1]], np.float32))
    assert vectors.neighbours("once", 2, "hellinger") == [
        ("often", pytest.approx(1, abs=1e-6)),
        ("other", pytest.approx(np.sqrt(3) / 2, abs=1e-6)),
    ]
    with pytest.raises(
        OptionError, match="'hellinger' treats vectors as distributions, but some contain negative"
    ):
        WordVectors(["a", "b"], [[1.0, -1.0], [1.0, 1.0]]).neighbours("b", metric="hellinger")
    with pytest.raises(OptionError, match="some contain negative"):
        vectors.neighbours(np.array([1.0, -1.0]), metric="hellinger")


@pytest.mark.parametrize("metric", ["cosine", "dot", "hellinger"])
def test_the_thesaurus_in_blocks(monkeypatch, metric):
    matrix = np.random.default_rng(0).random((40, 5))
    vectors = WordVectors([f"w{i}" for i in range(40)], matrix)
    monkeypatch.setattr(wordvectors, "_SCORES_AT_ONCE", 120)  # three words at a time
    entries = list(vectors.thesaurus(4, metric))
    assert [word for word, _ in entries] == vectors.words
    for word, near in entries:
        expected = vectors.neighbours(word, 4, metric)
        assert [name for name, _ in near] == [name for name, _ in expected]
        np.testing.assert_allclose([s for _, s in near], [s for _, s in expected], atol=1e-14)
    with pytest.raises(InputError, match="'cat' is not among the 40 words"):
        next(vectors.thesaurus(words=["cat"]))
    with pytest.raises(OptionError, match="k must be at least 1, not 0"):
        next(vectors.thesaurus(0))


def test_options_of_neighbours():
    vectors = make(3, 2)
    assert len(vectors.neighbours("w0", 10)) == 2
    assert len(vectors.neighbours(np.ones(2), 10)) == 3
    with pytest.raises(InputError, match="'cat' is not among the 3 words"):
        vectors.neighbours("cat")
    with pytest.raises(OptionError, match="k must be at least 1, not 0"):
        vectors.neighbours(np.ones(2), 0)
    with pytest.raises(OptionError, match="metric must be 'cosine', 'dot' or 'hellinger', not 'l2'"):
        vectors.neighbours("w0", metric="l2")
    with pytest.raises(OptionError, match="the vectors have 2 dimensions, not 3"):
        vectors.neighbours(np.ones(3))
    for metric in ("cosine", "dot"):
        with pytest.raises(OptionError, match="some vectors contain numbers that are not finite"):
            WordVectors(["a", "b"], [[np.nan, 1.0], [1.0, 1.0]]).neighbours("b", metric=metric)


# -- files ------------------------------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
separators = "\0\t\n\v\f\r\x1c\x1d\x1e\x1f "
tame_words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=separators), min_size=1)
floats32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@files
@given(st.data(), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_model_file_round_trip(tmp_path, data, dtype, sparse):
    chosen = data.draw(st.lists(words, unique=True, max_size=5))
    matrix = data.draw(hnp.arrays(dtype, (len(chosen), 3), elements=floats32))
    vectors = WordVectors(chosen, sp.csr_array(matrix) if sparse else matrix)
    vectors.save(tmp_path / "vectors.spinney")
    back = WordVectors.load(tmp_path / "vectors.spinney")
    assert (back.words, back.is_sparse, back.matrix.dtype) == (chosen, sparse, dtype)
    np.testing.assert_array_equal(back.matrix.toarray() if sparse else back.matrix, matrix)
    assert np.asarray(back.rows(chosen).sum()).shape == ()


@files
@given(st.data(), st.booleans(), st.booleans())
def test_word2vec_round_trip(tmp_path, data, sparse, header):
    chosen = data.draw(st.lists(tame_words, unique=True, min_size=0 if header else 1, max_size=5))
    matrix = data.draw(hnp.arrays(np.float32, (len(chosen), 2), elements=floats32))
    path = tmp_path / "vectors.txt"
    WordVectors(chosen, sp.csr_array(matrix) if sparse else matrix).write_word2vec(path)
    if not header:
        text = path.read_bytes().partition(b"\n")[2]
        if text.startswith(b"\xef\xbb\xbf"):
            return  # a first word that begins with a byte-order mark
        path.write_bytes(text)
    back = WordVectors.read_word2vec(path)
    assert (back.words, back.matrix.dtype) == (chosen, np.float32)
    np.testing.assert_array_equal(back.matrix, matrix)


def test_word2vec_variants(tmp_path):
    path = tmp_path / "vectors.txt.gz"
    vectors = make(3000, 30, np.float32)
    vectors.write_word2vec(path)  # several blocks
    np.testing.assert_array_equal(WordVectors.read_word2vec(path).matrix, vectors.matrix)
    path = tmp_path / "vectors.txt"
    for text in (
        "2 3\na 1 2 3\nb 4 5 6e0\n",
        "a 1 2 3\nb 4 5 6",
        "2 3\na 1 2 3 \nb 4 5 6 \n",
        "2\t3\r\na\t1\t2\t3\r\nb\t4\t5\t6\r\n",
        "a  1.0 +2  3\nb 4 5 .6e1\n",
    ):
        path.write_text(text)
        back = WordVectors.read_word2vec(path)
        assert (back.words, back.matrix.tolist()) == (["a", "b"], [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": no word vectors: the file is empty"),
        ("word\n", ":1: there are no numbers (a word and its vector are needed on each line)"),
        ("3 0\n", ":1: there are no numbers (a word and its vector are needed on each line)"),
        ("a 1 2\nb 1\nc 1 2\n", ":2: 1 numbers where 2 are needed"),
        ("a 1 2\nb 1 2\nc 1 2 3\n", ":3: 3 numbers where 2 are needed"),
        ("2 3\na 1 2\nb 1 2\n", ":2: 2 numbers where 3 are needed"),
        ("a 1 2\n\nb 1 2\n", ":2: 0 numbers where 2 are needed"),
        ("a 1 2\nb 1\nc 1 2 3\n", ":2: 1 numbers where 2 are needed"),
        ("a 1 2\nb 1 x\n", ":2: 'x' is not a number"),
        ("a 1 2\nb 1 2,5\n", ":2: '2,5' is not a number"),
        ("a 1 2\nb 1 0x1p3\n", ":2: '0x1p3' is not a number"),
        ("a 1 2\nb nan 2\n", ":2: 'nan' is not a number of a vector"),
        ("a 1 2\nb 1e40 2\n", ":2: '1e40' is not a number of a vector"),
        ("a 1 2\nb 1 2\na 1 2\n", ":3: the word 'a' again (first on line 1)"),
        (
            "3 2\na 1 2\nb 1 2\n",
            ": the first line announces 3 words, but 2 follow (the file is incomplete, or two files were joined)",
        ),
    ],
)
def test_bad_word2vec_files(tmp_path, text, message):
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        WordVectors.read_word2vec(path)
    assert str(caught.value) == f"{path}{message}"


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("name", ["vectors.bin", "vectors.bin.gz", "vectors.bin.xz"])
def test_binary_word2vec(tmp_path, name, end):
    path = tmp_path / name
    vectors = make(2500, 7, np.float32)
    words = ["été", "</s>", *vectors.words[2:]]
    with open_bytes(path, "w") as file:
        file.write(b"2500 7\n")
        for word, row in zip(words, vectors.matrix):
            file.write(word.encode() + b" " + row.astype("<f4").tobytes() + end)
    back = WordVectors.read_word2vec(path)
    assert (back.words, back.matrix.dtype) == (words, np.float32)
    np.testing.assert_array_equal(back.matrix, vectors.matrix)
    np.testing.assert_array_equal(WordVectors.read_word2vec(path, binary=True).matrix, vectors.matrix)
    with pytest.raises(InputError):
        WordVectors.read_word2vec(path, binary=False)


def test_word2vec_from_gensim(tmp_path):
    gensim = pytest.importorskip("gensim.models", reason="gensim is not installed")
    vectors = make(300, 5, np.float32)
    keyed = gensim.KeyedVectors(5)
    keyed.add_vectors(vectors.words, vectors.matrix)
    for name in ("vectors.bin", "vectors.txt"):
        keyed.save_word2vec_format(str(tmp_path / name), binary=name.endswith("bin"))
        back = WordVectors.read_word2vec(tmp_path / name)
        assert back.words == vectors.words
        np.testing.assert_array_equal(back.matrix, vectors.matrix)
    vectors.write_word2vec(tmp_path / "ours.txt")
    theirs = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / "ours.txt"))
    np.testing.assert_array_equal(theirs.vectors, vectors.matrix)


_ONE, _NAN = np.ones(2, "<f4").tobytes(), np.array([1, np.nan], "<f4").tobytes()
_AT = "the file ends, or makes no sense, at word {} (it is truncated, or not binary word2vec)"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": no word vectors: the file is empty"),
        (b"a 1 2\n", ":1: the numbers of words and dimensions are missing (is it a word2vec file?)"),
        (b"1 0\n", ":1: the numbers of words and dimensions are missing (is it a word2vec file?)"),
        (
            b"2 999999999999999999\na ",
            ":1: the numbers of words and dimensions are missing (is it a word2vec file?)",
        ),
        (b"\xff\xfe 2\n", ":1: the numbers of words and dimensions are missing (is it a word2vec file?)"),
        (b"999999999999999999 2\na " + _ONE, ": " + _AT.format(2)),
        (b"2 2\na " + _ONE + b"b " + _ONE[:5], ": " + _AT.format(2)),
        (b"2 2\na " + _ONE + b"\xff " + _ONE, ": " + _AT.format(2)),
        (b"2 2\na " + _ONE + b"\n " + _ONE, ": " + _AT.format(2)),
        (b"1 2\n" + b"a" * 10_000 + b" " + _ONE, ": " + _AT.format(1)),
        (b"2 2\na " + _ONE + b"\nb " + _NAN, ": the vector of word 2 has numbers that are not finite"),
        (b"2 2\na " + _ONE + b"\na " + _ONE, ": the word 'a' appears twice"),
        (
            b"1 2\na " + _ONE + b"\nb " + _ONE,
            ": there is more after the 1 words that the first line announces",
        ),
    ],
)
def test_bad_binary_word2vec_files(tmp_path, content, message):
    path = tmp_path / "vectors.bin"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        WordVectors.read_word2vec(path)
    assert str(caught.value) == f"{path}{message}"


def test_lines_are_counted_across_blocks(tmp_path):
    path = tmp_path / "vectors.txt"
    vectors = make(5000, 20)
    vectors.write_word2vec(path)
    lines = path.read_text().split("\n")
    lines[4321] = "w4320 0.5"
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"vectors.txt:4322: 1 numbers where 20 are needed"):
        WordVectors.read_word2vec(path)


def test_words_that_word2vec_cannot_hold(tmp_path):
    for word in ("New York", "", "a\tb"):
        with pytest.raises(OptionError, match="cannot be written in this format: use `save` instead"):
            WordVectors([word], [[1.0]]).write_word2vec(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_damaged_model_file(tmp_path):
    path = tmp_path / "vectors.spinney"
    tensors = {"matrix": np.ones((2, 2))}
    write_model(path, "structure/WordVectors", {"sparse": False}, tensors, {"words": ["a"]})
    with pytest.raises(ModelFileError, match=r"vectors\.spinney: damaged: 1 words but 2 vectors"):
        WordVectors.load(path)
    write_model(path, "structure/WordVectors", {"sparse": True}, tensors, {"words": ["a", "b"]})
    with pytest.raises(ModelFileError, match=r"damaged: no tensor 'matrix\.data'"):
        WordVectors.load(path)


def test_vectors_of_lower_cased_text_are_found_for_capitals(tmp_path):
    vectors = WordVectors(["the", "dog"], np.eye(2), lowercase=True)
    vectors.save(tmp_path / "vectors")
    for one in (vectors, WordVectors.load(tmp_path / "vectors")):
        assert one["The"].tolist() == [1.0, 0.0]
        assert one.rows(["DOG", "cat"]).tolist() == [[0.0, 1.0], [0.0, 0.0]]
        assert one.neighbours("The", 1)[0][0] == "dog"
    assert "The" not in WordVectors(["the"], [[1.0]])


@pytest.mark.parametrize("sparse", [False, True])
def test_signs_give_paths(sparse):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(40, 6)) + np.arange(6)
    words = [f"w{i}" for i in range(40)]
    vectors = WordVectors(words, sp.csr_array(matrix) if sparse else matrix, lowercase=True)
    classes = vectors.sign_classes(4)
    medians = np.median(matrix, axis=0)
    for word, row in zip(words, matrix):
        assert classes.prefix(word, 4) == "".join("01"[int(x > m)] for x, m in zip(row[:4], medians))
    assert classes.lowercase
    assert classes.n_classes <= 16
    assert len(vectors.sign_classes(100).paths[0]) == 6  # no more than there are dimensions
    with pytest.raises(OptionError, match="bits must be at least 1"):
        vectors.sign_classes(0)
