"""Vectors by letters: against the ridge of scikit-learn, better than chance on unseen words, and used by every verb."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import spinney
from spinney.cli.main import run
from spinney.embed import Embedding, fit
from spinney.embed.letters import LENGTHS, _nearer, _ridge, _shares, learn_subwords
from spinney.errors import InputError, ModelFileError, OptionError, SettingError
from spinney.files import write_model
from spinney.structure import WordVectors
from spinney.structure.subwords import Subwords

STEMS = [a + b + c for a in "bdfgklmp" for b in "aeiou" for c in "nrst"]
ENDINGS = ["ing", "ed", "ness", "ly"]


@pytest.fixture(scope="module")
def text():
    """The frame of a word depends on its ending alone."""
    rng = np.random.default_rng(0)
    sentences = []
    for _ in range(3000):
        ending = rng.integers(4)
        word = STEMS[rng.integers(40)] + ENDINGS[ending]
        sentences.append([f"x{ending}", word, f"y{ending}"])
    return sentences


@pytest.fixture(scope="module")
def model(text):
    return fit(text, dimensions=6, subwords=2000, window=(1,))


def test_is_the_ridge_of_scikit_learn():
    rng = np.random.default_rng(0)
    words = [stem + ending for stem in STEMS[:20] for ending in ENDINGS]
    A = _shares(Subwords(np.zeros((300, 1), np.float32), *LENGTHS).rows_of(words))
    np.testing.assert_allclose(A.sum(axis=1), 1)
    V = rng.standard_normal((len(words), 3))
    expected = Ridge(0.3, fit_intercept=False).fit(A.toarray(), V).coef_.T
    np.testing.assert_allclose(_ridge(A, V, 0.3), expected, atol=2e-3)


def test_held_out_words_are_found_by_their_letters():
    rng = np.random.default_rng(1)
    words = [stem + ending for stem in STEMS for ending in ENDINGS]
    by_ending = rng.standard_normal((4, 8))
    vectors = np.tile(by_ending, (len(STEMS), 1)) + 0.3 * rng.standard_normal((len(words), 8))
    found = learn_subwords(words, vectors, 5000)
    assert found.cosine > 0.8
    assert found.nearer > 0.8
    fresh = found.subwords.vectors(["zozing", "zozed", "zozness", "zozly"])
    assert np.argmax(fresh @ by_ending.T, axis=1).tolist() == [0, 1, 2, 3]
    # Letters that have nothing to do with the vectors are of no use, and no harm.
    found = learn_subwords(words, rng.permutation(vectors), 5000)
    assert abs(found.nearer - 0.5) < 0.1


def test_how_often_the_own_word_is_nearer():
    cosines = np.array([[0.9, 0.1, 0.2], [0.5, 0.5, 0.6], [0.1, 0.2, 0.0]])
    assert _nearer(cosines) == pytest.approx((2 + 0.5) / 6)


def test_every_verb_finds_unknown_words(model, tmp_path, capsys):
    assert model.facts["subword_nearer"] > 0.6
    file = str(tmp_path / "m.spinney")
    model.save(file)
    vectors = spinney.load(file).vectors()
    assert "wuging" not in vectors
    np.testing.assert_array_equal(vectors["wuging"], model.vectors()["wuging"])
    near = [word for word, _ in vectors.neighbours("wuging", 5)]
    assert sum(word.endswith("ing") for word in near) >= 3
    assert run(["embed", "neighbours", file, "wuging", "--top", "2"]) == 0
    assert "Neighbours of wuging" in capsys.readouterr().out
    rows = next(iter(spinney.load(file).apply([["x0", "wuging", "y0"]])))["vectors"]
    np.testing.assert_array_equal(rows, vectors.rows(["x0", "wuging", "y0"]))
    assert "(unknown)" not in str(model.explain([["wuging"]]))
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("wuging zabing 9\nwuging zabness 2\nwuging zably 1\n")
    assert run(["embed", "eval", file, "--similarity", str(pairs)]) == 0
    assert "100%" in capsys.readouterr().out


def test_words_are_looked_up_in_lower_case_where_the_text_was():
    grams = Subwords(np.random.default_rng(0).standard_normal((50, 2)).astype(np.float32), 3, 4)
    vectors = WordVectors(["a"], np.zeros((1, 2), np.float32), lowercase=True, subwords=grams)
    np.testing.assert_array_equal(vectors["Rose"], vectors["rose"])
    np.testing.assert_array_equal(vectors.rows(["Rose"])[0], vectors["rose"])


def test_mistakes(text, model, tmp_path):
    with pytest.raises(SettingError, match="subwords is a setting of the methods"):
        fit(text, method="sparse", subwords=10)
    with pytest.raises(SettingError, match="subwords must be at least 1"):
        Embedding(subwords=0)
    with pytest.raises(InputError, match="2 words are too few to learn from their letters"):
        fit([["a", "b"]] * 9, subwords=10, dimensions=2)
    with pytest.raises(OptionError, match="subwords 1,000,000,000"):
        fit(text, subwords=1_000_000_000)
    contents = model.contents()
    for change in ({"subwords": {"shortest": 0, "longest": 6}}, {"subwords": {}}):
        bad = {**contents.header, **change}
        write_model(tmp_path / "bad", model.kind, bad, contents.tensors, contents.strings)
        with pytest.raises(ModelFileError, match="damaged"):
            spinney.load(tmp_path / "bad")
