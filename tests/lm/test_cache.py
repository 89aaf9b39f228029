"""The cache: its running counts against the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import Vocabulary, sentence_arrays
from spinney.errors import ModelFileError, OptionError
from spinney.files import write_model
from spinney.lm.cache import CacheModel
from spinney.lm.model import load_language_model
from spinney.lm.stream import stream_of

WORDS = "abcd"
VOCABULARY = Vocabulary(tuple(WORDS), [1] * len(WORDS))
sentences = st.lists(
    st.lists(st.sampled_from("abcde"), max_size=8), min_size=1, max_size=12
)  # "e" is not known
settings_of_cache = st.fixed_dictionaries(
    {
        "window": st.integers(1, 12),
        "decay": st.sampled_from([1.0, 0.9, 0.3]),
        "order": st.integers(1, 3),
        "ends": st.booleans(),
        "base": st.sampled_from([0.01, 1.0, 7.0]),
    }
)


def by_definition(said, options, n_outcomes):
    """The formulas of the docstring, word for word."""
    t = len(said)
    p = [1.0 / n_outcomes] * n_outcomes
    for k in range(options["order"]):
        counts, latest = {}, {}
        for j in range(max(0, t - options["window"]), t):
            if j >= k and said[j - k : j] == said[t - k : t]:
                counts[said[j]] = counts.get(said[j], 0.0) + options["decay"] ** (t - 1 - j)
                latest[said[j]] = options["decay"] ** (t - 1 - j)
        if not counts:
            break
        rest = sum(latest.values()) if k else options["base"]
        p = [(counts.get(w, 0.0) + rest * p[w]) / (sum(counts.values()) + rest) for w in range(n_outcomes)]
    return p


@settings(max_examples=60, deadline=None)
@given(sentences, settings_of_cache)
def test_the_running_counts_are_those_of_the_history(text, options):
    model = CacheModel(VOCABULARY, **options)
    stream = model.stream(text)
    logprobs = model.event_logprobs(stream)
    for event, logprob in zip(stream.events, logprobs):
        history, predicted = stream.ids[:event], stream.ids[event]
        said = [w for w in history.tolist() if 0 <= w < len(WORDS) + options["ends"]]
        p = model.distribution(history)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(p, by_definition(said, options, len(WORDS) + 1), rtol=1e-10)
        if predicted < 0:
            assert logprob == -np.inf
        else:
            np.testing.assert_allclose(np.exp(logprob), p[predicted], rtol=1e-12)


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("decay", [1.0, 0.995])
def test_no_drift_in_a_long_stream(decay, order):
    rng = np.random.default_rng(0)
    text = [
        rng.choice(list(WORDS), p=[0.6, 0.3, 0.08, 0.02], size=n).tolist() for n in rng.integers(0, 30, 2000)
    ]
    model = CacheModel(VOCABULARY, window=300, decay=decay, order=order)
    stream = stream_of(sentence_arrays(text, vocabulary=VOCABULARY))
    logprobs = model.event_logprobs(stream)
    for e in range(len(logprobs) - 200, len(logprobs)):
        event = stream.events[e]
        np.testing.assert_allclose(
            np.exp(logprobs[e]), model.distribution(stream.ids[:event])[stream.ids[event]], rtol=1e-12
        )


def test_nothing_said_yet_is_uniform():
    model = CacheModel(VOCABULARY)
    np.testing.assert_allclose(model.distribution(np.empty(0, np.int32)), 0.2)
    np.testing.assert_allclose(model.logprob([]), [np.log(0.2)])


@pytest.mark.parametrize(
    "options",
    [{"window": 0}, {"decay": 0.0}, {"decay": 1.1}, {"decay": float("nan")}, {"order": 4}, {"base": 0.0}],
)
def test_bad_options(options):
    with pytest.raises(OptionError):
        CacheModel(VOCABULARY, **options)


def test_files(tmp_path):
    model = CacheModel(VOCABULARY, window=7, decay=0.5, order=2, ends=False, base=0.5)
    model.facts["note"] = "kept"
    model.save(tmp_path / "cache.spinney")
    loaded = load_language_model(tmp_path / "cache.spinney")
    assert isinstance(loaded, CacheModel)
    assert (loaded.window, loaded.decay, loaded.order, loaded.ends, loaded.base) == (7, 0.5, 2, False, 0.5)
    assert loaded.facts == {"note": "kept"}
    text = [["a", "b", "a"], ["b"]]
    assert loaded.perplexity(text) == model.perplexity(text)


@pytest.mark.parametrize(("name", "value"), [("window", 0), ("decay", 2.0), ("order", "1"), ("base", None)])
def test_damaged_files(tmp_path, name, value):
    header = {
        "window": 7,
        "decay": 0.5,
        "order": 2,
        "ends": False,
        "base": 0.5,
        "facts": {},
        "unknown": None,
        name: value,
    }
    write_model(tmp_path / "m", "lm/CacheModel", header, {"word_counts": np.array([1])}, {"words": ["a"]})
    with pytest.raises(ModelFileError, match="damaged"):
        load_language_model(tmp_path / "m")
