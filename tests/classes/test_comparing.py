"""Two models on the same tests: the items behind the scores, and what cannot be compared."""

from __future__ import annotations

import numpy as np
import pytest

from spinney.classes import fit
from spinney.classes.comparing import items_of_tests
from spinney.errors import OptionError, SettingError
from spinney.evaluate import pearson_of_pairs, welch_t
from spinney.settings.classes import Evaluate

TEXT = [
    [a, b, c] for a in ("old", "new", "the") for b in ("dog", "law", "cat") for c in ("runs", "holds", "eats")
] * 3


@pytest.fixture(scope="module")
def models():
    options = {"min_count": 1, "threads": 1}
    hidden = [fit(TEXT, method="hmm", classes=3, passes=1, init="random", seed=i, **options) for i in (1, 2)]
    return [*hidden, fit(TEXT, method="brown", classes=3, min_count=1, threads=1)]


@pytest.fixture
def files(tmp_path):
    names = {"similarity": "pairs.txt", "composition": "phrases.txt", "deviance": "judged.txt"}
    found = {key: tmp_path / name for key, name in names.items()}
    found["similarity"].write_text("dog cat 8\ndog law 2\nruns eats 6\nold holds 1\nunicorn dog 5\n")
    found["composition"].write_text(
        "p adjectivenouns 1 old dog new cat 6\np adjectivenouns 1 old law new dog 2\n"
        "p adjectivenouns 1 new law old law 5\np adjectivenouns 1 green law old law 5\n"
    )
    found["deviance"].write_text(
        "old dog acceptable\nnew law acceptable\nold cat acceptable\nnew runs deviant\nold eats deviant\n"
    )
    (tmp_path / "text.txt").write_text("".join(" ".join(one) + "\n" for one in TEXT[:20]))
    return {key: (str(path),) for key, path in found.items()}, str(tmp_path / "text.txt")


def test_items_give_the_scores(models, files):
    tests, text = files
    for model in models[:2]:
        items = items_of_tests(model, text, Evaluate(**tests))
        found = {view.key: view.data() for view in model.evaluate(text, **tests, format="lines") if view.key}
        scores = {key: one.statistic(one.rows[one.known]) for key, one in items.items()}
        assert scores["pairs.txt", "Pearson"] == pytest.approx(
            found["similarity"][tests["similarity"][0]]["pearson"]
        )
        phrases = found["composition"][tests["composition"][0]]["adjective-noun"]
        for operator, row in phrases.items():
            assert scores["phrases.txt, adjective-noun", f"Pearson, {operator}"] == pytest.approx(
                row["pearson"]
            )
        assert scores["judged.txt", "Welch's t"] == pytest.approx(
            found["deviance"][tests["deviance"][0]]["t"]
        )
        assert scores["text.txt", "log-likelihood per token"] == pytest.approx(
            found["facts"]["log_likelihood"], rel=1e-5
        )
        assert items["pairs.txt", "Pearson"].known.tolist() == [True] * 4 + [False]


def test_a_table_beside_another_model(models, files):
    tests, text = files
    first, second, clusters = models
    views = first.evaluate(text, **tests, against=second, seed=3)
    found = {view.key: view.data() for view in views if view.key}["against"]
    mine, theirs = (items_of_tests(one, text, Evaluate(**tests)) for one in (first, second))
    assert [(row["test"], row["score"]) for row in found] == list(mine)
    row = next(row for row in found if row["score"] == "log-likelihood per token")
    one, other = (items["text.txt", row["score"]] for items in (mine, theirs))
    assert row["difference"] == pytest.approx(one.statistic(one.rows) - other.statistic(other.rows))
    assert row["low"] <= row["difference"] <= row["high"]
    assert row["n"] == 20
    same = first.evaluate(text, **tests, against=first)
    rows = {view.key: view.data() for view in same if view.key}["against"]
    assert {row["difference"] for row in rows if "difference" in row} == {0.0}
    # A clustering has no t-add: what both have is compared, and its likelihood, too.
    beside = first.evaluate(text, composition=tests["composition"], against=clusters)
    names = [row["score"] for row in {view.key: view.data() for view in beside if view.key}["against"]]
    assert names == ["Pearson, baseline", "Pearson, add", "Pearson, mult", "log-likelihood per token"]


def test_what_cannot_be_compared(models, files, tmp_path):
    tests, text = files
    kinds = tmp_path / "kinds.csv"
    kinds.write_text("word,category\ndog,a\ncat,a\nruns,v\n")
    with pytest.raises(SettingError, match="against compares two models on similarity, composition"):
        models[0].evaluate(None, categories=(str(kinds),), against=models[1])
    others = fit([["x", "y"]] * 9, method="hmm", classes=2, passes=1, min_count=1, threads=1)
    with pytest.raises(OptionError, match="different vocabularies cannot be compared"):
        models[0].evaluate(text, against=others)
    assert models[0].evaluate(None, similarity=tests["similarity"], against=others)  # nothing in common


def test_statistics_of_pairs():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12, 2))
    assert pearson_of_pairs(rows) == pytest.approx(np.corrcoef(rows.T)[0, 1])
    assert np.isnan(pearson_of_pairs(np.ones((3, 2))))
    assert np.isnan(welch_t(np.array([[1.0, 1.0], [2.0, 0.0], [3.0, 0.0]])))
