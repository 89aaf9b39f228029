"""Parameters of hidden Markov models out of their moments."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spinney
from spinney import classes
from spinney.cli.main import run
from spinney.corpus import sentence_arrays
from spinney.embed import fit
from spinney.embed.recovery import recover_parameters
from spinney.embed.spectral_hmm import SpectralHMM
from spinney.errors import ModelFileError, OptionError
from spinney.files import write_model
from spinney.structure.reading import word_classes


def recovered(model, **how):
    return recover_parameters(model.operators_, model.basis_, **how)


def random_hmm(m, extra, seed):
    rng = np.random.default_rng(seed)
    n = m + extra
    T = 0.5 * np.eye(m)[rng.permutation(m)] + 0.5 * rng.dirichlet(np.ones(m), m).T
    O = 0.6 * np.eye(n)[rng.permutation(n)[:m]].T + 0.4 * rng.dirichlet(np.ones(n), m).T
    return 0.5 / m + 0.5 * rng.dirichlet(np.ones(m)), T, O


def moments(pi, T, O):
    pairs = O @ T @ np.diag(pi) @ O.T
    return O @ pi, pairs, np.stack([O @ T @ np.diag(o) @ T @ np.diag(pi) @ O.T for o in O])


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 10_000),
    st.sampled_from(["full", "reduced"]),
    st.sampled_from(["none", "sqrt"]),
)
def test_exact_moments_give_the_parameters_up_to_the_order_of_states(m, extra, seed, variant, scaling):
    pi, T, O = random_hmm(m, extra, seed)
    found = recovered(
        SpectralHMM.from_moments(*moments(pi, T, O), m, variant, scaling=scaling), random_state=seed
    )
    order = list(min(permutations(range(m)), key=lambda p: np.abs(found.emission[:, list(p)] - O).sum()))
    np.testing.assert_allclose(found.emission[:, order], O, atol=1e-6)
    np.testing.assert_allclose(found.transition[np.ix_(order, order)], T, atol=1e-6)
    np.testing.assert_allclose(found.start[order], pi, atol=1e-6)
    assert found.clipped < 1e-6


@pytest.mark.parametrize("variant", ["full", "reduced"])
def test_counts_give_laws(variant):
    rng = np.random.default_rng(0)
    text = sentence_arrays([[f"w{x}" for x in rng.integers(0, 9, 6)] for _ in range(60)])
    model = SpectralHMM(6, variant, pseudo=1.0).fit(text)
    found = recovered(model, floor=0.01)
    for law in (found.start, found.transition, found.emission):
        np.testing.assert_allclose(law.sum(axis=0), 1.0, atol=1e-12)
        assert law.min() > 0
    assert found.emission.shape == (10, 6)  # nine words and the end mark
    assert 0 < found.clipped < 1


def test_a_sample_gives_nearly_the_parameters():
    """The chain: after a and b always the other, then the end; c alone."""
    text = sentence_arrays([["a", "b"], ["b", "a"], ["c"], ["a", "b", "a"]] * 50)
    model = SpectralHMM(4, pseudo=0.0, shrinkage=0.0, interpolation=0.0).fit(text)
    found = recovered(model)
    assert np.isfinite(found.emission).all()
    assert abs(found.start.sum() - 1) < 1e-12


def test_what_is_refused():
    model = SpectralHMM.from_moments(*moments(*random_hmm(2, 1, 0)), 2)
    with pytest.raises(OptionError, match="tries"):
        recovered(model, tries=0)


def alternating(n, seed):
    """Sentences of words of two kinds in turn."""
    rng = np.random.default_rng(seed)
    kinds = (["the", "a", "this"], ["dog", "cat", "bird"])
    return [[str(rng.choice(kinds[t % 2])) for t in range(2 * rng.integers(1, 5))] for _ in range(n)]


@pytest.mark.parametrize("how", ["operators", "tensor"])
def test_a_fit_recovers_shows_and_keeps_the_laws(how, tmp_path, capsys):
    text = tmp_path / "text.txt"
    text.write_text("".join(" ".join(words) + "\n" for words in alternating(800, 0)))
    file = str(tmp_path / "m.spinney")
    command = ["embed", "fit", str(text), "--method", "hmm", "--states", "3", "--recover", how]
    assert run([*command, "--model", file]) == 0
    model, direct = spinney.load(file), fit(str(text), method="hmm", states=3, recover=how)
    assert all(np.array_equal(a, b) for a, b in zip(model.parameters_[:3], direct.parameters_[:3]))
    found = model.parameters_
    names = [*model.vocabulary_.words, "(end)"]
    of = {word: int((found.emission[i] * found.shares).argmax()) for i, word in enumerate(names)}
    first, second, end = of["the"], of["dog"], of["(end)"]
    assert {of["a"], of["this"]} == {first}
    assert {of["cat"], of["bird"]} == {second}
    assert len({first, second, end}) == 3
    # A determiner is always followed by a noun; sentences begin with one, and each has 2.5 pairs in the mean.
    assert found.transition[second, first] > 0.9
    assert found.start[first] > 0.8
    assert found.transition[end, second] == pytest.approx(1 / 2.5, abs=0.1)
    np.testing.assert_allclose(found.transition @ found.shares, found.shares, atol=1e-9)
    capsys.readouterr()
    assert run(["embed", "inspect", file, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["hidden_states"]
    assert {word for word, _ in shown[0]["words"][:3]} in ({"the", "a", "this"}, {"dog", "cat", "bird"})
    assert run(["embed", "inspect", file]) == 0
    assert "hidden states, with probabilities of words" in capsys.readouterr().out
    assert "Hidden states" in str([view.title for view in model.report_views() if hasattr(view, "title")])
    found = word_classes(model)
    assert found["dog"] == found["bird"] != found["the"]


def test_recovery_does_not_change_predictions():
    text = alternating(200, 1)
    plain, more = (fit(text, method="hmm", states=3, recover=how) for how in (None, "operators"))
    np.testing.assert_array_equal(plain.operators_.matrices, more.operators_.matrices)
    assert plain.parameters_ is None
    assert "classes" not in plain.structures()


def test_a_recovered_model_is_a_start_for_em(tmp_path):
    text = alternating(200, 1)
    model = fit(text, method="hmm", states=3, recover="tensor")
    model.save(tmp_path / "m")
    found = classes.fit(text, method="hmm", init=str(tmp_path / "m"), passes=1, min_count=1)
    assert found.n_classes == 3


def test_a_damaged_file_is_refused(tmp_path):
    model = fit(alternating(200, 1), method="hmm", states=3, recover="operators")
    contents = model.contents()
    for name, wrong in [
        ("start", np.array([0.5, 0.6, -0.1])),
        ("transition", np.eye(2)),
        ("emission", np.ones((7, 3))),
    ]:
        tensors = {**contents.tensors, f"recovered.{name}": wrong}
        write_model(tmp_path / "bad", model.kind, contents.header, tensors, contents.strings)
        with pytest.raises(ModelFileError, match="damaged"):
            spinney.load(tmp_path / "bad")
