"""The strength that a tagger chooses when none is given."""

import numpy as np
import pytest
from chunked_sentences import make_sentences

from spinney.errors import SettingError
from spinney.tagging import Tagger, fit, labelled_columns
from spinney.tagging.columns import Columns
from spinney.tagging.strength import FALL, MOST, _best, _folds, _Row, choose_strength, taken, token_loss

PATTERNS = "U0:%x[0,0]\nB"


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_bare_fit_chooses_and_says_so(penalty):
    X, Y = make_sentences(60, 1)
    tagger = fit((X, Y), patterns=PATTERNS, penalty=penalty)
    tried = tagger.facts["tried"]
    assert any(tagger.lam == pytest.approx(row["lam"], rel=1e-2) for row in tried)
    assert 3 <= len(tried) <= MOST
    assert f"λ = {tagger.lam:.3g}" in tagger.facts["chosen"]
    assert "of 5-fold cross-validation on 60 sentences" in tagger.facts["chosen"]
    assert tagger.facts["sentences"] == 60  # the last fit is of all of them


def test_many_sentences_are_held_out_once():
    choice = choose_strength(Tagger(PATTERNS), labelled_columns(*make_sentences(310, 1)))
    assert (choice.learned_from, choice.tested_on, choice.folds) == (247, 63, 1)
    assert "on 63 held-out sentences after training on 247" in str(choice)


def test_every_sentence_is_held_out_once():
    columns = labelled_columns(*make_sentences(23, 1))
    folds = _folds(columns, None, 4)
    assert sorted(len(fold.test) for fold in folds) == [5, 6, 6, 6]
    words = sorted(columns.strings(0))
    assert sorted(word for fold in folds for word in fold.test.strings(0)) == words
    for fold in folds:
        assert sorted(fold.train.strings(0) + fold.test.strings(0)) == words


def test_sentences_are_held_out_in_runs_of_neighbours():
    columns = Columns.from_sentences([[(str(i), "N")] for i in range(6000)])
    (fold,) = _folds(columns, None, None)
    train, test = (np.array(list(map(int, part.strings(0)))) for part in fold)
    assert (len(train), len(test)) == (2000, 1980)  # a third, in 33 runs of 60
    assert not set(train) & set(test)
    assert set(np.bincount(test // 60, minlength=100)) == {0, 60}


def test_of_long_texts_the_middle_of_each_run_is_tested_on():
    columns = Columns.from_sentences([[(str(i), "N")] for i in range(20_000)])
    (fold,) = _folds(columns, None, None)
    train, test = (np.array(list(map(int, part.strings(0)))) for part in fold)
    assert len(train) == 2000
    assert 3900 < len(test) <= 4000
    near = np.unique(np.concatenate([test - 30, test + 30]))
    assert not set(train) & set(near)  # nothing is learned from what stands beside


def test_the_errors_of_folds_are_those_of_their_own_taggers():
    columns = labelled_columns(*make_sentences(24, 1))
    choice = choose_strength(Tagger(PATTERNS), columns, cv=3)
    row, wrong = choice.tried[1], 0
    for train, test in _folds(columns, None, 3):
        fitted = Tagger(PATTERNS, lam=row["lam"], tol=1e-6).fit_columns(train)
        wrong += round(fitted.score_columns(test)["token_error"] * test.n_tokens)
    assert row["token_error"] == pytest.approx(wrong / columns.n_tokens)


def test_more_parts_than_sentences_are_refused():
    with pytest.raises(SettingError, match="parts of 24 sentences: give fewer"):
        fit(make_sentences(24, 1), patterns=PATTERNS, cv=30)


@pytest.mark.parametrize(
    "given", [{"lam": 1.0}, {"dev": ([["a"]], [["N"]])}, {"penalty": "none"}, {"solver": "sgd"}]
)
def test_cross_validation_without_effect_is_refused(given):
    with pytest.raises(SettingError):
        fit(make_sentences(24, 1), patterns=PATTERNS, cv=3, **given)


def test_a_given_strength_is_used_as_it_is():
    X, Y = make_sentences(30, 1)
    tagger = fit((X, Y), patterns=PATTERNS, lam=0.7)
    assert tagger.lam == 0.7
    assert "chosen" not in tagger.facts


def test_the_estimator_has_a_fixed_strength():
    assert Tagger().lam == 1.0


def test_the_best_is_not_at_the_edge_of_what_was_tried():
    X, Y = make_sentences(80, 2)
    rng = np.random.default_rng(0)
    noisy = [[label if rng.random() > 0.3 else "O" for label in labels] for labels in Y]
    choice = choose_strength(
        Tagger(PATTERNS), labelled_columns(X, noisy), labelled_columns(*make_sentences(40, 3))
    )
    lams = [row["lam"] for row in choice.tried]
    assert choice.lam > lams[-2] * 1.01  # the last two brought nothing
    np.testing.assert_allclose(np.divide(lams[1:], lams[:-1]), FALL)


def test_errors_decide_where_they_differ_clearly_and_the_loss_where_not():
    few, many, other = np.tile([0, 1], 20), np.tile([1, 2], 20), np.tile([1, 0], 20)

    def best(*tried):
        return _best([_Row({"loss": loss, "token_error": errors.mean()}, errors) for loss, errors in tried])

    assert best((0.1, many), (0.9, few)) == 1  # twenty sentences have an error less
    assert best((0.9, few), (0.1, other)) == 1  # as many errors
    one_more = few.copy()
    one_more[0] = 1
    assert best((0.9, few), (0.1, one_more)) == 1  # one error more is no evidence
    assert best((0.1, few[:1]), (0.9, few[:1])) == 0
    most = np.full(400, 10)
    slightly = most.copy()
    slightly[:30] -= 1
    assert best((0.1, most), (0.9, slightly)) == 0  # certainly fewer, but by less than a fiftieth


def test_strengths_that_err_alike_do_not_lead_upwards():
    X, Y = [["the", "dog", "barks"]] * 30, [["D", "N", "V"]] * 30
    tagger = fit((X, Y), patterns=PATTERNS)
    assert not any(row["token_error"] for row in tagger.facts["tried"])
    assert tagger.lam <= 10.0


def test_unlabelled_sentences_are_for_the_fit_at_the_chosen_strength():
    X, Y = make_sentences(30, 1)
    tagger = fit((X, Y), patterns=PATTERNS, unlabelled=X, criterion="entropy", criterion_strength=0.1)
    assert tagger.facts["criterion"] == "entropy"
    assert "chosen" in tagger.facts


def test_too_few_sentences_leave_the_usual_strength():
    X, Y = make_sentences(2, 1)
    assert choose_strength(Tagger(PATTERNS), labelled_columns(X, Y)) is None
    assert fit((X, Y), patterns=PATTERNS).lam == 1.0


def test_some_sentences_are_taken_whole():
    X, Y = make_sentences(10, 1)
    columns = labelled_columns(X, Y)
    part = taken(columns, np.array([7, 2]))
    assert part.strings(0) == [*X[7], *X[2]]
    assert part.strings(1) == [*Y[7], *Y[2]]


def test_the_loss_is_that_of_the_marginal_probabilities():
    X, Y = make_sentences(20, 4)
    tagger = Tagger(PATTERNS, lam=0.5).fit(X, Y)
    Z = [["?", *labels[1:]] for labels in Y]  # a label that the tagger does not know is left out
    known = [
        -np.log(chances[tagger.labels_.index(label)])
        for probabilities, labels in zip(tagger.predict_marginals(X), Y)
        for chances, label in zip(probabilities[1:], labels[1:])
    ]
    assert token_loss(tagger, labelled_columns(X, Z)) == pytest.approx(np.mean(known))


def test_both_strengths_of_an_elastic_net_are_chosen():
    X, Y = make_sentences(40, 1)
    rng = np.random.default_rng(0)
    noisy = [[label if rng.random() > 0.2 else "O" for label in labels] for labels in Y]
    ridges = (0.01, 1.0, 30.0)
    tagger = fit((X, noisy), patterns=PATTERNS, penalty="elasticnet", l2s=ridges, cv=4, tol=1e-4)
    tried = tagger.facts["tried"]
    assert list(dict.fromkeys(row["l2"] for row in tried)) == list(ridges)
    chosen = [row for row in tried if (row["l2"], f"{row['lam']:.3g}") == (tagger.l2, f"{tagger.lam:.3g}")]
    assert len(chosen) == 1
    assert chosen[0]["token_error"] <= min(row["token_error"] for row in tried) + 0.02
    assert (
        f"λ = {tagger.lam:.3g} and l2 = {tagger.l2:.3g}, of {len(tried)} pairs with l2 of 0.01, 1, 30"
        in (tagger.facts["chosen"])
    )
    # Each ridge is searched as if it were the only one, and its errors are those of taggers fitted to the folds.
    columns = labelled_columns(X, noisy)
    for ridge in ridges:
        alone = choose_strength(Tagger(PATTERNS, penalty="elasticnet", l2=ridge, tol=1e-4), columns, cv=4)
        rows = [row for row in tried if row["l2"] == ridge]
        assert [row["lam"] for row in rows] == [row["lam"] for row in alone.tried]
        assert [row["token_error"] for row in rows] == [row["token_error"] for row in alone.tried]
    row, wrong = chosen[0], 0
    for train, test in _folds(columns, None, 4):
        how = {"penalty": "elasticnet", "lam": row["lam"], "l2": row["l2"], "tol": 1e-6}
        fitted = Tagger(PATTERNS, **how).fit_columns(train)
        wrong += round(fitted.score_columns(test)["token_error"] * test.n_tokens)
    assert row["token_error"] == pytest.approx(wrong / columns.n_tokens)


def test_the_ridge_alone_is_chosen_at_a_given_strength():
    X, Y = make_sentences(30, 1)
    tagger = fit((X, Y), patterns=PATTERNS, penalty="elasticnet", lam=0.2, l2s=[0.01, 0.1], cv=3)
    assert tagger.lam == 0.2
    assert tagger.l2 in (0.01, 0.1)
    assert [(row["lam"], row["l2"]) for row in tagger.facts["tried"]] == [(0.2, 0.01), (0.2, 0.1)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"penalty": "l2"}, "l2s are for penalty elasticnet, not for l2"),
        ({"l2": 0.1}, "l2 and l2s both determine the ridge"),
        ({"l2s": []}, "give at least one, such as 0.001,0.01,0.1"),
        ({"l2s": [-1.0]}, "l2s must be at least 0"),
        ({"solver": "sgd"}, "l2s"),
    ],
)
def test_ridges_without_effect_are_refused(given, said):
    with pytest.raises(SettingError, match=said):
        fit(make_sentences(24, 1), **{"patterns": PATTERNS, "penalty": "elasticnet", "l2s": [0.1]} | given)
