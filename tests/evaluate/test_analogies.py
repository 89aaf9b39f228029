"""Analogies: files there and wrong, answers against the definitions and against gensim."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import InputError, OptionError
from spinney.evaluate import AnalogyScore, Question, analogies, read_analogies
from spinney.structure import WordVectors

module = importlib.import_module("spinney.evaluate.analogies")  # the package has the function under that name

QUESTIONS = [
    Question("family", "boy", "girl", "king", "queen"),
    Question("gram8-plural", "cat", "cats", "dog", "dogs"),
]


def brute_force(matrix, asked, method, exclude):
    """The scores of all words for each row of a, b and c, by the formulas and in double precision."""
    matrix = np.asarray(matrix, dtype=np.float64)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    rows = []
    for a, b, c in asked:
        if method == "3cosadd":
            scores = unit @ (unit[b] - unit[a] + unit[c])
        else:
            near = [(unit @ unit[i] + 1) / 2 for i in (a, b, c)]
            scores = near[1] * near[2] / (near[0] + 0.001)
        if exclude:
            scores[[a, b, c]] = -np.inf
        rows.append(scores)
    return np.array(rows)


# -- files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        ": family\nboy girl king queen\n: gram8-plural\ncat cats dog dogs\n",
        "\ufeff:family\r\n\r\nboy\tgirl  king queen \r\n:  gram8-plural\r\ncat cats dog dogs",
        ",type,word1,word2,word3,target\n0,family,boy,girl,king,queen\n1,gram8-plural,cat,cats,dog,dogs\n",
        'target,word3,word2,word1,type\nqueen, king ,"girl",boy,family\n\ndogs,dog,cats,cat,gram8-plural\n',
    ],
)
def test_both_layouts(tmp_path, text):
    path = tmp_path / "questions"
    path.write_bytes(text.encode())
    assert read_analogies(path) == QUESTIONS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": the file is empty"),
        ("\n\n", ": the file is empty"),
        (": family\n", ": no questions"),
        (
            "\nboy girl king queen\n",
            ":2: a question before the first section (put a line such as ': family' before it)",
        ),
        (": family\nboy girl king queen\n\nboy girl king\n", ":4: 3 words where four are needed"),
        (": family\nboy girl king queen prince\n", ":2: 5 words where four are needed"),
        ("type,word1,word2,word3,target\nx,a,b,c\n", ":2: 4 columns where the first line has 5"),
        ("type,word1,word2,word3,target\nx,a,b,c,d\nx,a,,c,d\n", ":3: a word is missing"),
        ("type,word1,word2,word3,target\n", ": no questions"),
        (
            "type,a,b\n",
            ":1: no column 'word1': the columns are 'type', 'a', 'b'"
            " (columns type, word1, word2, word3, target are needed)",
        ),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "questions"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_analogies(path)
    assert str(caught.value) == f"{path}{message}"


def test_the_sets(data):
    folder = data / "word_similarity"
    google = read_analogies(folder / "questions-words.txt.xz")
    assert google == read_analogies(folder / "vecto/word-analogy/google-analogies.csv.xz")
    # Yogatama 2015, 5.3
    assert sum(question.syntactic for question in google) == 10_675
    assert sum(not question.syntactic for question in google) == 8_869
    assert len({question.section for question in google}) == 14
    assert len({question.section for question in google if not question.syntactic}) == 5
    msr = read_analogies(folder / "vecto/word-analogy/msr.csv.xz")
    assert (len(msr), all(question.syntactic for question in msr)) == (8000, True)
    assert msr[0] == Question("JJ_JJR", "good", "better", "rough", "rougher")


# -- answers ----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(4, 40),
    st.sampled_from(["3cosadd", "3cosmul"]),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
)
def test_answers_against_the_formulas(seed, n, method, exclude, dtype, sparse):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((n, 5)).astype(dtype) * rng.choice([0.01, 1, 100], (n, 1)).astype(dtype)
    matrix[rng.integers(n)] = 0
    vectors = WordVectors([f"w{i}" for i in range(n)], sp.csr_array(matrix) if sparse else matrix)
    asked = rng.integers(n, size=(30, 4))
    questions = [Question("s", *(f"w{i}" for i in row)) for row in asked]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_QUESTIONS_AT_ONCE", 7)  # several blocks of everything
        patch.setattr(module, "_COSINES_AT_ONCE", 60)
        patch.setattr(module, "_SCORES_AT_ONCE", 12)
        result = analogies(vectors, questions, method, exclude=exclude)
    scores = brute_force(matrix, asked[:, :3], method, exclude)
    found = np.array([vectors.encode([answer])[0] for answer in result.answers])
    best = scores.max(axis=1)
    # 3CosMul divides by as little as 0.001, which enlarges what rounding does.
    tolerance = 1e-5 * np.maximum(1, np.abs(best)) if method == "3cosadd" else 1e-3 * np.maximum(1, best)
    assert np.all(scores[np.arange(30), found] >= best - tolerance)
    np.testing.assert_array_equal(result.correct, found == asked[:, 3])
    assert result.total == AnalogyScore(30, 30, int(result.correct.sum()))


def test_what_is_counted():
    vectors = WordVectors(
        ["man", "woman", "king", "queen", "big", "bigger", "apple"],
        [
            [1, 0, 0.1, 0],
            [1, 1, 0.1, 0],
            [1, 0, 1, 0],
            [1, 1, 1, 0],
            [0, 0, 0, 1],
            [0, 1, 0, 1],
            [-1, 0, 0, 0],
        ],
    )
    questions = [
        Question("family", "man", "woman", "king", "queen"),
        Question("family", "Man", "Woman", "KING", "Queen"),
        Question("family", "boy", "girl", "king", "queen"),
        Question("gram3-comparative", "big", "bigger", "apple", "queen"),
        Question("capital-world", "Oslo", "Norway", "Rome", "Italy"),
    ]
    result = analogies(vectors, questions)
    assert result.answers[:3] == ["queen", "queen", None]
    assert result.correct.tolist()[:3] == [True, True, False]
    assert list(result.sections) == ["family", "gram3-comparative", "capital-world"]
    assert result.sections["family"] == AnalogyScore(asked=3, known=2, correct=2)
    assert result.semantic == AnalogyScore(4, 2, 2)
    assert result.syntactic[:2] == (1, 1)
    assert (result.semantic.accuracy, result.semantic.accuracy_of_all) == (1.0, 0.5)
    assert math.isnan(result.sections["capital-world"].accuracy)
    assert result.sections["capital-world"].accuracy_of_all == 0
    scores = result.as_dict()
    assert (scores["asked"], scores["known"]) == (5, 3)
    assert scores["sections"]["family"]["accuracy"] == 1.0
    none = analogies(vectors, [])
    assert (none.total, none.sections, none.answers) == (AnalogyScore(0, 0, 0), {}, [])


def test_excluded_words_and_words_of_ones_own_choice():
    vectors = WordVectors(["a", "b", "c"], np.eye(3))
    question = [Question("s", "a", "b", "c", "b")]
    # All three are excluded: there is no answer, so it is not the right one.
    assert analogies(vectors, question).answers == [None]
    assert analogies(vectors, question).total == AnalogyScore(1, 1, 0)
    assert analogies(vectors, question, exclude=False).answers == ["b"]
    other = analogies(vectors, question, find=lambda word: None)
    assert other.total == AnalogyScore(1, 0, 0)
    with pytest.raises(OptionError, match="method must be '3cosadd' or '3cosmul', not 'add'"):
        analogies(vectors, question, "add")


def test_the_same_as_gensim(tmp_path):
    gensim = pytest.importorskip("gensim.models", reason="gensim is not installed")
    rng = np.random.default_rng(0)
    roots, offsets = rng.standard_normal((40, 20)), 1.5 * rng.standard_normal((2, 20))
    forms = roots[:, None] + offsets + 0.7 * rng.standard_normal((40, 2, 20))
    words = [f"{form}{i}" for i in range(40) for form in ("base", "past")]
    matrix = forms.reshape(80, 20).astype(np.float32)
    path = tmp_path / "questions.txt"
    lines = []
    for section in ("family", "gram7-past-tense"):
        lines.append(f": {section}")
        pairs = rng.integers(43, size=(200, 2))  # the last three have no vectors
        lines += [f"Base{i} Past{i} Base{j} Past{j}" for i, j in pairs if i != j]
    path.write_text("\n".join(lines))
    keyed = gensim.KeyedVectors(20)
    keyed.add_vectors(words, matrix)
    accuracy, sections = keyed.evaluate_word_analogies(str(path))
    ours = analogies(WordVectors(words, matrix), read_analogies(path))
    assert 0.1 < accuracy < 0.9
    assert ours.total.accuracy == accuracy
    for section in sections[:-1]:
        correct, wrong = len(section["correct"]), len(section["incorrect"])
        assert ours.sections[section["section"]][1:] == (correct + wrong, correct)
