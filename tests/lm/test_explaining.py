"""The parts of the probability of a word add up to it, in every kind of language model."""

import numpy as np
import pytest

from spinney.lm.explaining import word_explanations
from spinney.lm.recipes import fit
from spinney.views import as_json

TEXT = [s.split() for s in ["a rose is a rose", "is a rose", "the rose is red", "the red rose"] * 3]
NEW = [["the", "rose", "is", "a", "tree"], ["red", "is", "the", "rose"], []]
METHODS = {
    "mkn": {}, "wb": {}, "katz": {}, "jm": {}, "additive": {}, "pitman-yor": {"sweeps": 2},
    "memoizer": {"sweeps": 2}, "loglinear": {"order": 3, "max_iter": 5},
    "hierarchical": {"order": 3, "max_iter": 5},
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore")
def test_the_parts_add_up(method):
    model = fit(TEXT, method=method, min_count=1, **METHODS[method])
    for words in NEW:
        found = word_explanations(model, words)
        logs = model.logprob(words) / np.log(10)
        assert [one.word for one in found] == [*words, "</s>"]
        for one, log10 in zip(found, logs.tolist()):
            assert one.log10 == pytest.approx(log10)
            assert sum(value for _, value in one.contributions) == pytest.approx(log10, abs=1e-8)
    found = as_json(model.explain(NEW, documents=1))["explained"]
    assert [one["word"] for one in found[0]] == [*NEW[0], "</s>"]


@pytest.mark.filterwarnings("ignore")
def test_a_back_off_model_names_the_contexts_that_it_knows():
    model = fit([["a", "b"], ["a", "c"], ["d", "c"]], method="katz", order=2, min_count=1)
    found = word_explanations(model, ["a", "b", "a"])
    assert [name for name, _ in found[1].contributions] == ["(a)"]
    assert found[1].matched == 1
    assert [name for name, _ in found[2].contributions] == ["(…)", "back-off of (b)"]
    assert found[2].contributions[1][1] == pytest.approx(
        model.backoff[model.table.contexts_after(model.history(["b"], start=False))[1]] / np.log(10)
    )
