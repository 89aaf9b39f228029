"""Word similarity: files there and wrong, words found, coefficients against SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import pearsonr, spearmanr

from spinney.errors import InputError, OptionError
from spinney.evaluate import MEASURES, correlations, lookup, read_word_pairs, similarity, word_similarity
from spinney.structure import WordVectors

PAIRS = [("tiger", "cat", 7.35), ("new york", "city", 5.0)]


@pytest.mark.parametrize(
    "text",
    [
        "tiger\tcat\t7.35\r\nnew york\tcity\t5\r\n",
        "\ufefftiger cat 7.35\n\nnew york\tcity\t5",
        ",word1,word2,similarity\n0,tiger,cat,7.35\n1,new york,city,5.0\n2,,,\n",
        'similarity,relation,word2,word1\n7.35,x,cat,tiger\n5,"a, b",city, new york \n',
    ],
)
def test_both_layouts(tmp_path, text):
    path = tmp_path / "pairs"
    path.write_bytes(text.encode())
    assert read_word_pairs(path) == PAIRS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": the file is empty"),
        ("a b 1\na b\n", ":2: 2 columns where two words and a score are needed"),
        ("a\tb\t1\na\tb c\n", ":2: 2 columns where two words and a score are needed"),
        ("a b 1\n\na b one\n", ":3: 'one' is not a number"),
        ("a b nan\n", ":1: 'nan' is not a number"),
        (
            "word1,word2\na,b\n",
            ":1: no column 'similarity': the columns are 'word1', 'word2' "
            "(columns word1, word2, similarity are needed)",
        ),
        ("word1,word2,similarity\na,b\n", ":2: 2 columns where the first line has 3"),
        ("word1,word2,similarity\na,b,inf\n", ":2: 'inf' is not a number"),
        ('word1,word2,similarity\n"a,b,1\n', ":2: bad quoting: unexpected end of data"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "pairs"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_word_pairs(path)
    assert str(caught.value) == f"{path}{message}"


def test_lookup():
    words = [
        "Run",
        "run|VERB",
        "run|NOUN",
        "may",
        "may|AUX",
        "May|PROPN",
        "e-mail|NOUN",
        "rome|PROPN",
        "red|ADJ",
    ]
    vectors = WordVectors(words, np.eye(len(words)))
    find = lookup(vectors)
    assert find("Run") == "Run"
    assert find("run") == "run|VERB"  # the more frequent comes first
    assert find("RUN") == "run|VERB"
    assert find("May") == "may"
    assert find("Rome") == "rome|PROPN"
    assert find("e-mail") == "e-mail|NOUN"
    assert find("run-n") == "run|NOUN"
    assert find("red-j") == find("red-a") == "red|ADJ"
    assert find("walk") is None
    assert find("walk-n") is None
    assert find("") is None
    assert find("-n") is None
    assert lookup(vectors, "NOUN")("run") == "run|NOUN"
    assert lookup(vectors, "NOUN")("Run") == "run|NOUN"
    assert lookup(vectors, "PROPN")("May") == "May|PROPN"
    assert lookup(vectors, "AUX")("may") == "may|AUX"
    assert lookup(vectors, "ADV")("red") is None  # known, but as another part of speech
    assert lookup(vectors, "VERB")("red-j") == "red|ADJ"  # the word says so itself


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
def test_coefficients_against_scipy(measure, sparse):
    rng = np.random.default_rng(3)
    matrix = rng.dirichlet(np.full(8, 0.5), 40)
    vectors = WordVectors([f"w{i}" for i in range(40)], sp.csr_array(matrix) if sparse else matrix)
    first, second = rng.integers(0, 40, (2, 60))
    pairs = [(f"w{i}", f"w{j}", s) for i, j, s in zip(first, second, rng.random(60).tolist())]
    scores = word_similarity(vectors, [*pairs, ("w0", "else", 9.0), ("no", "no", 1.0)], measure)
    ours = similarity(matrix[first], matrix[second], measure)
    human = [s for _, _, s in pairs]
    assert scores["pearson"] == pytest.approx(pearsonr(ours, human).statistic, abs=1e-12)
    assert scores["spearman"] == pytest.approx(spearmanr(ours, human).statistic, abs=1e-12)
    assert (scores["n"], scores["pairs"], scores["coverage"]) == (60, 62, 60 / 62)


def test_missing_words():
    vectors = WordVectors(["", "tea", "coffee", "car"], [[0.5, 0.5], [0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    pairs = [("tea", "coffee", 9.0), ("tea", "car", 1.0), ("quark", "tea", 0.0), ("quark", "gluon", 8.0)]
    scores = word_similarity(vectors, pairs, "bhattacharyya", missing="zero")
    bc = [math.sqrt(0.72) + math.sqrt(0.02), 0.3 * 2, 0.0, 0.0]
    assert scores["pearson"] == pytest.approx(pearsonr(bc, [9, 1, 0, 8]).statistic)
    assert (scores["n"], scores["pairs"], scores["coverage"]) == (4, 4, 0.5)
    upper = word_similarity(vectors, [("TEA", "x", 1.0)], find=lambda word: None)
    assert (upper["n"], upper["coverage"]) == (0, 0.0)
    assert math.isnan(upper["pearson"])
    assert word_similarity(vectors, [])["coverage"] == 0.0
    with pytest.raises(OptionError, match="missing must be 'skip' or 'zero', not 'drop'"):
        word_similarity(vectors, pairs, missing="drop")


def test_constant_scores():
    for scores, human in [([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 3.0]), ([], [])]:
        assert all(map(math.isnan, correlations(scores, human).values()))


COUNTS = {
    "mfaruqui/EN-MC-30.txt": 30,
    "mfaruqui/EN-MEN-TR-3k.txt": 3000,
    "mfaruqui/EN-MTurk-287.txt": 287,
    "mfaruqui/EN-MTurk-771.txt": 771,
    "mfaruqui/EN-RG-65.txt": 65,
    "mfaruqui/EN-RW-STANFORD.txt": 2034,
    "mfaruqui/EN-SimVerb-3500.txt": 3500,
    "mfaruqui/EN-VERB-143.txt": 144,
    "mfaruqui/EN-WS-353-ALL.txt": 353,
    "mfaruqui/EN-WS-353-REL.txt": 252,
    "mfaruqui/EN-WS-353-SIM.txt": 203,
    "mfaruqui/EN-YP-130.txt": 130,
    "vecto/word-similarity/mc-30.csv": 30,
    "vecto/word-similarity/men.csv": 3000,
    "vecto/word-similarity/mturk-287.csv": 287,
    "vecto/word-similarity/mturk-771.csv": 771,
    "vecto/word-similarity/rg-65.csv": 65,
    "vecto/word-similarity/rw.csv": 2034,
    "vecto/word-similarity/semeval17.csv": 500,
    "vecto/word-similarity/simlex999.csv": 999,
    "vecto/word-similarity/simverb-3500.csv": 3500,
    "vecto/word-similarity/verb-143.csv": 130,
    "vecto/word-similarity/wordsim353-rel.csv": 252,
    "vecto/word-similarity/wordsim353-sim.csv": 203,
    "vecto/word-similarity/yp-130.csv": 130,
}


def test_real_sets(data):
    folder = data / "word_similarity"
    counts = {name: len(read_word_pairs(folder / name)) for name in COUNTS}
    assert counts == COUNTS
    files = {
        str(path.relative_to(folder))
        for pattern in ("mfaruqui/*", "vecto/word-similarity/*")
        for path in folder.glob(pattern)
    }
    assert files == set(COUNTS)
    assert read_word_pairs(folder / "mfaruqui/EN-WS-353-ALL.txt")[1] == ("tiger", "cat", 7.35)


def test_one_set_in_both_layouts(data):
    folder = data / "word_similarity"
    text = read_word_pairs(folder / "mfaruqui/EN-MEN-TR-3k.txt")
    table = read_word_pairs(folder / "vecto/word-similarity/men.csv")
    assert [(a.rpartition("-")[0], b.rpartition("-")[0], s) for a, b, s in table] == text
    words = sorted({word for pair in text for word in pair[:2]})
    vectors = WordVectors(words, np.random.default_rng(0).random((len(words), 5)))
    assert word_similarity(vectors, text) == word_similarity(vectors, table)
    assert word_similarity(vectors, text)["coverage"] == 1.0
