"""Vectors, states and topics without the command line: the recipe, what a model does, and its configuration."""

import random

import numpy as np
import pytest

import spinney
from spinney.cli.main import run
from spinney.corpus import sentence_arrays
from spinney.embed import fit
from spinney.errors import OptionError, SettingError

WORDS = [f"w{i}" for i in range(12)]
RNG = random.Random(0)
TEXT = [[RNG.choice(WORDS[i % 3 :: 3]) for _ in range(8)] for i in range(90)]
SETTINGS = {
    "cca": {"dimensions": 4, "window": (1, 2)},
    "lrmvl": {"dimensions": 4, "passes": 2},
    "rescaled": {"dimensions": 3},
    "sparse": {"dimensions": 6, "branching": (2,), "lam": 0.5},
    "hmm": {"states": 3, "pseudo": 1.0},
    "topics": {"topics": 3, "stop_words": 0},
}


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(" ".join(words) + "\n" for words in TEXT))
    return str(path)


def same(one, other):
    first, second = one.contents().tensors, other.contents().tensors
    assert type(one) is type(other)
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("method", SETTINGS)
def test_files_lists_commands_and_configurations_give_the_same_bits(tmp_path, text, method):
    model = fit(text, method=method, **SETTINGS[method])
    same(model, fit(TEXT, method=method, **SETTINGS[method]))
    options = []
    for name, value in SETTINGS[method].items():
        value = ",".join(map(str, value)) if isinstance(value, tuple) else value
        options += ["--" + name.replace("_", "-"), str(value)]
    command = ["embed", "fit", text, "--method", method, *options, "--model", str(tmp_path / "m")]
    assert run([*command, "--quiet"]) == 0
    loaded = spinney.load(tmp_path / "m")
    same(model, loaded)
    assert loaded.settings == model.settings
    (tmp_path / "fit.toml").write_text(loaded.config())
    again = ["embed", "fit", "--config", str(tmp_path / "fit.toml"), "--model", str(tmp_path / "again")]
    assert run([*again, "--quiet"]) == 0
    same(model, spinney.load(tmp_path / "again"))


@pytest.mark.parametrize("method", SETTINGS)
def test_what_a_model_does(method):
    model = fit(TEXT, method=method, **SETTINGS[method])
    assert len(model.vectors()) >= len(WORDS)
    assert len(list(model.apply(TEXT[:2]))) == 2
    assert model.neighbours(["w0"], top=2)
    assert model.report_views()
    assert "tokens" in model._repr_html_()


def test_mistakes(text):
    with pytest.raises(
        SettingError,
        match="transform is a setting of the methods cca, tscca, lrmvl, svd and rescaled, not of pmi",
    ):
        fit(text, method="pmi", transform="log")
    with pytest.raises(SettingError, match=r"pseudo is a setting of .* not of svd"):
        fit(text, method="svd", pseudo=5)
    with pytest.raises(SettingError, match="pseudo has no effect with variant mean"):
        fit(text, method="lrmvl", variant="mean", pseudo=5)
    with pytest.raises(SettingError, match="zeros needs coding stochastic"):
        fit(text, method="lasso", zeros=2)
    with pytest.raises(SettingError, match="bias needs coding stochastic"):
        fit(text, method="sparse", bias=True)
    with pytest.raises(SettingError, match="passes needs coding stochastic"):
        fit(text, method="sparse", passes=3)
    with pytest.raises(SettingError, match="window must be one number, or two"):
        fit(text, window=(1, 2, 3))


def test_contexts_may_cross_the_sentences_of_a_document(tmp_path):
    """A row of a table is a document of several sentences: one sequence with ``reset="document"``, several without."""
    rows = ["A cat sat. It ran.", "A dog sat. It ran."] * 20
    (tmp_path / "docs.csv").write_text("text\n" + "\n".join(rows) + "\n")
    how = {"method": "lrmvl", "dimensions": 2, "passes": 1, "min_count": 1}
    by_sentence = fit(str(tmp_path / "docs.csv"), **how)
    by_document = fit(str(tmp_path / "docs.csv"), reset="document", **how)
    assert (by_sentence.facts["sentences"], by_document.facts["sentences"]) == (80, 40)
    assert by_sentence.facts["tokens"] == by_document.facts["tokens"]
    assert not np.allclose(by_sentence.vectors_, by_document.vectors_)
    with pytest.raises(OptionError, match="no documents"):
        fit(sentence_arrays([["a", "b"]] * 9), reset="document", **how)


def test_raw_text_that_is_read_as_lines_is_said(tmp_path, caplog):
    raw, done = tmp_path / "book.txt", tmp_path / "tokens.txt"
    raw.write_text("The dog, a friend, ran home. The cat slept.\n" * 30)
    done.write_text("The dog , a friend , ran home .\nThe cat slept .\n" * 30)
    fit(str(done), dimensions=2, min_count=1)
    fit(str(raw), dimensions=2, min_count=1, format="prose")
    assert "prose" not in caplog.text
    fit(str(raw), dimensions=2, min_count=1)
    assert "give format prose" in caplog.text
