"""Learning through torch, on the processor: the same models as without it, and what is said where it cannot be."""

from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pytest

from spinney.classes import HiddenMarkov, card, fit
from spinney.classes.statistics import Statistics
from spinney.corpus import Labels, Vocabulary, sentence_arrays
from spinney.errors import OptionError, SettingError


def drawn_text(tree=False, relations=0, sentences=80):
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 9, sentences)
    text = sentence_arrays(
        [[f"{'abc'[k % 3]}{rng.integers(0, 4)}" for k in range(n)] for n in lengths.tolist()]
    )
    if not tree:
        return text
    heads = [int(rng.integers(0, k)) if k else -1 for n in lengths.tolist() for k in range(n)]
    names = Vocabulary(tuple(f"r{i}" for i in range(max(relations, 1))), [1] * max(relations, 1))
    column = Labels(rng.integers(0, max(relations, 1), len(heads)).astype(np.int32), names)
    return replace(text, heads=np.array(heads, np.int32), labels={"deprel": column})


@pytest.fixture
def torch():
    found = pytest.importorskip("torch", reason="torch is not installed (the extra gpu)")
    before = found.get_num_threads()
    found.set_num_threads(1)
    yield found
    found.set_num_threads(before)


def both(text, n_classes=4, structure="chain", by_torch=None, **options):
    """Two models: by compiled kernels, and by torch, which has some options of its own."""
    options = {"threads": 1, "random_state": 2} | options
    return [
        HiddenMarkov(n_classes, structure, **own, **options).fit(text, dev=text)
        for own in ({"device": "cpu"}, {"device": "torch:cpu", **(by_torch or {})})
    ]


@pytest.mark.parametrize("em", ["batch", "online"])
@pytest.mark.parametrize(("tree", "typed"), [(False, 0), (True, 0), (True, 2)])
def test_the_same_statistics(torch, em, tree, typed):
    more = {"batch_tokens": 60, "gamma": 0.7} if em == "online" else {}
    text = drawn_text(tree, relations=3)
    how = {"em": em, "passes": 3, "dtype": "float64", "typed": typed, **more}
    ours, theirs = both(text, structure="tree" if tree else "chain", **how)
    for name in ("omega", "mass", "tau", "rho"):
        one, other = (getattr(model.statistics_, name) for model in (ours, theirs))
        np.testing.assert_allclose(other, one, rtol=1e-7, atol=1e-9)
    for one, other in zip(ours.facts["trace"], theirs.facts["trace"]):
        assert other["log_likelihood"] == pytest.approx(one["log_likelihood"], abs=1e-9)
        assert other["dev"] == pytest.approx(one["dev"], abs=1e-9)
        assert other["support"] == pytest.approx(one["support"])
    assert theirs.facts["device"] == "cpu, by torch"
    assert theirs.facts["precision"] == "float64"
    assert ours.facts["device"] is None
    assert theirs._card is None


@pytest.mark.parametrize("em", ["batch", "online"])
@pytest.mark.parametrize("precision", ["tf32", "float32"])
def test_three_passes_end_close_together(torch, em, precision):
    more = {"batch_tokens": 100} if em == "online" else {}
    ours, theirs = both(drawn_text(), 6, em=em, passes=3, by_torch={"precision": precision}, **more)
    values = [model.facts["trace"][-1]["log_likelihood"] for model in (ours, theirs)]
    assert values[0] == pytest.approx(values[1], abs=1e-4)
    assert theirs.statistics_.omega.dtype == np.float32
    assert theirs.facts["precision"] == precision


def test_splits_search_and_revival(torch):
    ours, theirs = both(
        drawn_text(sentences=60), 6, passes=2, start=2, gamma="search", batch_tokens=60, dtype="float64"
    )
    assert ours.gamma_ == theirs.gamma_
    assert ours.facts["revived"] == theirs.facts["revived"]
    np.testing.assert_allclose(theirs.statistics_.omega, ours.statistics_.omega, rtol=1e-6, atol=1e-8)


def test_dead_classes_come_back(torch, monkeypatch):
    monkeypatch.setattr(card, "DEAD", 2.0)  # some class is below twice the mean: the card asks at each step
    monkeypatch.setattr("spinney.classes.statistics.DEAD", 0.2)
    ours, theirs = both(drawn_text(sentences=40), 5, passes=1, batch_tokens=60, finish=False, dtype="float64")
    assert ours.facts["revived"] == theirs.facts["revived"]
    np.testing.assert_allclose(theirs.statistics_.omega, ours.statistics_.omega, rtol=1e-6, atol=1e-8)


def test_going_on_within_a_pass(torch, monkeypatch, tmp_path):
    from spinney.inference.gpu.statistics import DeviceStatistics

    text = drawn_text()
    options = {"passes": 3, "batch_tokens": 60, "threads": 1, "device": "torch:cpu", "dtype": "float64"}
    whole = HiddenMarkov(4, **options).fit(text)
    step, made = DeviceStatistics.step, iter(range(9))

    def interrupting(*given):
        if next(made, None) is None:
            signal.raise_signal(signal.SIGINT)
        step(*given)

    monkeypatch.setattr(DeviceStatistics, "step", interrupting)
    stopped = HiddenMarkov(4, **options)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            stopped.fit(text)
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    stopped.save(tmp_path / "half.spinney")
    half = HiddenMarkov.load(tmp_path / "half.spinney")
    assert half._half.batches
    assert half._done.steps == 10
    rest = HiddenMarkov(4, **options).fit(text, init=half)
    np.testing.assert_allclose(rest.statistics_.omega, whole.statistics_.omega, rtol=1e-12)
    assert rest.facts["passes"] == whole.facts["passes"]


def test_exact_messages_of_many_classes(torch):
    """On a card `auto` is exact; a processor keeps few entries from 256 classes on."""
    rng = np.random.default_rng(0)
    text = sentence_arrays([[f"w{i}" for i in rng.integers(0, 300, 6)] for _ in range(120)])
    options = {"em": "batch", "passes": 1, "threads": 1, "dtype": "float64"}
    models = [
        HiddenMarkov(256, **how, **options).fit(text)
        for how in ({"device": "torch:cpu"}, {"device": "cpu", "k_best": "none"})
    ]
    np.testing.assert_allclose(models[0].statistics_.omega, models[1].statistics_.omega, atol=1e-9)


def test_a_model_knows_its_device(torch, tmp_path):
    model = fit(
        [["a", "b", "c"], ["b", "a"]] * 8,
        method="hmm",
        classes=2,
        device="torch:cpu",
        em="batch",
        min_count=1,
    )
    shown = model.summary()[0].shown()
    assert shown["device"] == "cpu, by torch"
    assert shown["precision of products"] == "tf32"
    model.save(tmp_path / "m.spinney")
    loaded = HiddenMarkov.load(tmp_path / "m.spinney")
    assert loaded.how.device == "torch:cpu"
    assert np.isfinite(loaded.log_likelihood(sentence_arrays([["a"]], vocabulary=loaded.vocabulary_)))


# ------------------------------------------------------------------------------------ where there is none


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cpu:0", ""])
def test_unknown_devices(device):
    with pytest.raises(SettingError, match="must be auto, cpu, cuda"):
        HiddenMarkov(2, device=device)


def test_sparse_messages_on_a_card():
    for more in ({"k_best": 4}, {"epsilon": 0.01}):
        with pytest.raises(SettingError, match="messages are exact"):
            HiddenMarkov(2, device="cuda", **more)
        with pytest.raises(OptionError, match="messages are exact"):
            HiddenMarkov(2, device="torch:cpu", **more).fit(sentence_arrays([["a", "b"]]))


def test_settings_without_effect():
    with pytest.raises(SettingError, match="no effect"):
        HiddenMarkov(2, device="cpu", precision="bf16")
    with pytest.raises(SettingError, match="no effect"):
        HiddenMarkov(2, dtype="float64", precision="bf16")


def test_without_torch(monkeypatch):
    monkeypatch.setattr(card, "find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"cuda needs the package torch: pip install 'spinney\[gpu\]'"):
        card.chosen_device("cuda", exact=True)
    assert card.chosen_device("auto", exact=True) is None


def test_without_a_card_and_with_too_few(monkeypatch, tmp_path):
    monkeypatch.setattr(card, "find_spec", lambda name: name)
    monkeypatch.setattr(card, "_cards", lambda: 0)
    with pytest.raises(OptionError, match="cuda needs a graphics card, and torch finds none"):
        card.chosen_device("cuda", exact=True)
    (tmp_path / "driver").touch()
    monkeypatch.setattr(card, "_DRIVERS", (str(tmp_path / "driver"),))
    assert card.chosen_device("auto", exact=True) is None
    monkeypatch.setattr(card, "_cards", lambda: 1)
    assert card.chosen_device("auto", exact=True) == "cuda"
    assert card.chosen_device("auto", exact=False) is None
    assert card.chosen_device("cuda:0", exact=True) == "cuda:0"
    with pytest.raises(OptionError, match="no device cuda:3: torch finds 1 card, numbered from 0"):
        card.chosen_device("cuda:3", exact=True)


def test_statistics_stay_those_of_the_model(torch):
    """The arrays that a caller holds are filled, not replaced, so that an interrupt finds them."""
    text = drawn_text(sentences=20)
    model = HiddenMarkov(3, passes=1, batch_tokens=50, finish=False, device="torch:cpu").fit(text)
    assert isinstance(model.statistics_, Statistics)
    assert model.statistics_.mass == pytest.approx(model.statistics_.omega.sum(axis=0), rel=1e-4)
