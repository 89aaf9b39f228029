"""Word classes without the command line: the recipe, what a model does, and its configuration."""

import random

import numpy as np
import pytest

import spinney
from spinney.classes import HiddenMarkov, brown, fit, pair_counts, recipes
from spinney.classes.learning import Learner
from spinney.classes.recipes import number_of_classes
from spinney.cli.main import run
from spinney.corpus import sentence_arrays
from spinney.errors import InputError, OptionError, SettingError

NOUNS, VERBS = ["dog", "cat", "bird"], ["sees", "hears"]


def sentences(n, seed):
    rng = random.Random(seed)
    return [["the", rng.choice(NOUNS), rng.choice(VERBS), "a", rng.choice(NOUNS)] for _ in range(n)]


TEXT = sentences(80, 1)
SETTINGS = {
    "brown": {"classes": 4, "refine": 2},
    "exchange": {"classes": 4, "init": "random", "seed": 3},
    "hmm": {"classes": 4, "passes": 2, "batch_tokens": 100, "init": "brown", "root": True},
}


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(" ".join(words) + "\n" for words in TEXT))
    return str(path)


def numbers(model):
    """All that a model has learnt."""
    return {name: np.asarray(tensor) for name, tensor in model.contents().tensors.items()}


def same(one, other):
    assert type(one) is type(other)
    first, second = numbers(one), numbers(other)
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert one.word_classes().ids.tolist() == other.word_classes().ids.tolist()


@pytest.mark.parametrize("method", SETTINGS)
def test_files_lists_commands_and_configurations_give_the_same_bits(tmp_path, text, method):
    model = fit(text, method=method, **SETTINGS[method])
    same(model, fit([text], method=method, **SETTINGS[method]))
    same(model, fit(TEXT, method=method, **SETTINGS[method]))
    options = [part for name, value in SETTINGS[method].items() for part in _option(name, value)]
    command = ["classes", "fit", text, "--method", method, *options, "--quiet"]
    assert run([*command, "--model", str(tmp_path / "m")]) == 0
    loaded = spinney.load(tmp_path / "m")
    same(model, loaded)
    assert loaded.settings == model.settings
    assert loaded.facts["train"] == [text]
    (tmp_path / "fit.toml").write_text(loaded.config())
    again = ["classes", "fit", "--config", str(tmp_path / "fit.toml"), "--model", str(tmp_path / "again")]
    assert run([*again, "--quiet"]) == 0
    same(model, spinney.load(tmp_path / "again"))


def _option(name, value):
    flag = "--" + name.replace("_", "-")
    return [flag] if value is True else [flag, str(value)]


def test_a_hidden_markov_model_starts_from_brown_clusters(text):
    arrays = sentence_arrays(TEXT, min_count=2, unknown="<unk>")
    start = brown(pair_counts(arrays), arrays.vocabulary, 4, root=True).classes
    by_hand = HiddenMarkov(4, passes=2, batch_tokens=100).fit(arrays, init=start)
    same(fit(text, method="hmm", **SETTINGS["hmm"]), by_hand)
    same(fit(TEXT, method="hmm", **SETTINGS["hmm"] | {"init": start}), by_hand)


def test_what_a_model_does():
    model = fit(TEXT, method="hmm", **SETTINGS["hmm"], dev=sentences(10, 2))
    assert model.facts["dev_perplexity"] < 8
    records = list(model.apply([["the", "dog", "sees"]], what="viterbi"))
    assert records[0]["words"] == ["the", "dog", "sees"]
    near = {view.key: view.data() for view in model.neighbours("dog", top=2) if view.key}["neighbours"]
    assert {row["word"] for row in near} <= set(NOUNS)
    assert "Classes" in model._repr_html_()
    assert fit(arrays := sentence_arrays(TEXT), classes=4).facts["tokens"] == arrays.n_tokens


def test_the_number_of_classes_goes_with_the_size_of_the_text():
    """√tokens / 4, at most 256: what held-out text of stories and of newspapers likes best."""
    model = fit(TEXT * 4)
    tokens = model.facts["tokens"]
    expected = min(len(model.word_classes().words), max(4, round(tokens**0.5 / 4)))
    assert model.facts["classes"] == expected
    assert fit(TEXT * 4, method="hmm", passes=1, min_count=1).facts["classes"] == expected
    assert fit(TEXT * 4, method="exchange").facts["classes"] == expected
    start = fit(TEXT, classes=5)
    assert fit(TEXT, method="exchange", init=start).facts["classes"] == 5
    assert fit(TEXT, method="hmm", passes=1, init=start.word_classes()).facts["classes"] == 5
    large = sentence_arrays([["a", "b"] * 1000] * 1500 + [[str(i)] for i in range(300)])
    assert number_of_classes(large) == 256


def test_prose_that_is_read_as_lines_is_told(tmp_path, caplog):
    prose = tmp_path / "story.txt"
    prose.write_text(
        'Once there was a tulip, and she lived in a house. "Who is that?" she said, and rose.\n' * 5
    )
    fit(str(prose), classes=3)
    assert "end in a punctuation mark: if the text is not split into words, give format prose" in caplog.text
    caplog.clear()
    fit(str(prose), classes=3, format="prose")
    fit(str(prose), classes=3, format="lines")  # as asked
    assert not caplog.text


def test_a_class_for_each_word_is_told(caplog):
    fit([["a", "b", "c"]] * 5)
    assert "is a class of its own" in caplog.text


def test_a_finished_checkpoint_says_that_it_is_done(tmp_path, text, caplog):
    kept = str(tmp_path / "checkpoint")
    how = {"method": "hmm", "classes": 4, "passes": 2, "checkpoint": kept, "resume": True}
    first = fit(text, **how)
    assert len(spinney.load(kept).facts["trace"]) == first.facts["passes"]
    again = fit(text, **how)
    assert "is complete, after 3 passes: there is nothing to resume" in caplog.text
    assert np.array_equal(first.statistics_.omega, again.statistics_.omega)
    assert again.facts["trace"] == first.facts["trace"]
    further = fit(text, method="hmm", classes=4, passes=2, init=again)
    assert not np.array_equal(first.statistics_.omega, further.statistics_.omega)


def test_only_a_hidden_markov_model_is_a_checkpoint(tmp_path, text):
    kept = tmp_path / "checkpoint"
    fit(text, classes=4).save(kept)
    before = kept.read_bytes()
    with pytest.raises(InputError, match="checkpoint: not a checkpoint of a hidden Markov model"):
        fit(text, method="hmm", classes=4, checkpoint=str(kept), resume=True)
    assert kept.read_bytes() == before


def test_patience_counts_the_passes_before_an_interruption(tmp_path, text, monkeypatch):
    """On held-out text that grows less likely with each pass, training ends after the first pass and its patience."""
    values = iter(range(0, -1000, -1))
    monkeypatch.setattr(Learner, "log_likelihood", lambda *_: float(next(values)))
    how = {"method": "hmm", "classes": 4, "passes": 20, "patience": 4, "dev": text, "batch_tokens": 100}
    whole = fit(text, **how)
    assert (whole.facts["passes"], whole.facts["stopped_early"]) == (6, True)

    class Stopping(HiddenMarkov):
        def save(self, path):
            super().save(path)
            if self._done.passes == 3 and not self._done.finished:
                raise KeyboardInterrupt

    kept = str(tmp_path / "checkpoint")
    monkeypatch.setattr(recipes, "HiddenMarkov", Stopping)
    fit(text, **how, checkpoint=kept)
    monkeypatch.setattr(recipes, "HiddenMarkov", HiddenMarkov)
    rest = fit(text, **how, checkpoint=kept, resume=True)
    assert (rest.facts["passes"], rest.facts["stopped_early"]) == (6, True)
    assert [row["dev"] for row in rest.facts["trace"][:3]] == pytest.approx(
        [row["dev"] + 0 for row in spinney.load(kept).facts["trace"][:3]]
    )


def test_mistakes(text):
    with pytest.raises(SettingError, match="gamma is a setting of the method hmm, not of brown"):
        fit(text, gamma=0.5)
    with pytest.raises(SettingError, match="patience waits for progress on held-out text: give dev"):
        fit(text, method="hmm", patience=2)
    with pytest.raises(InputError, match="no sentences"):
        fit([], method="hmm")
    with pytest.raises(OptionError, match="one class for each word"):
        fit(TEXT, classes=4).apply(TEXT, what="posterior")
