"""Taggers without their small weights: counted, scored and compared one by one."""

from itertools import product

import numpy as np
import pytest
from chunked_sentences import make_sentences

from spinney.errors import InputError, NotFittedError, SettingError
from spinney.tagging import Tagger, labelled_columns, prune
from spinney.tagging.thresholds import margins

TEMPLATE = "*:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB"


@pytest.fixture(scope="module")
def tagger():
    return Tagger(TEMPLATE, lam=0.3).fit(*make_sentences(25, 1))


@pytest.fixture(scope="module")
def held_out():
    X, Y = make_sentences(30, 5)
    rng = np.random.default_rng(0)  # noise, so that there are errors
    return X, [[label if rng.random() > 0.2 else "O" for label in labels] for labels in Y]


def weights_of(tagger):
    """Every weight by its name, one by one."""
    full, shape = tagger.weights_.full(), tagger.weights_.shape
    mu, lam = shape.mu(full), shape.lam(full)
    unigrams = {
        (name, y): mu[o, y]
        for o, name in enumerate(tagger.extractor_.names("u"))
        for y in range(shape.labels)
        if mu[o, y]
    }
    bigrams = {
        (name, z, y): lam[b, z, y]
        for b, name in enumerate(tagger.extractor_.names("b"))
        for z, y in product(range(shape.labels + shape.start), range(shape.labels))
        if lam[b, z, y]
    }
    return unigrams, bigrams


@pytest.mark.parametrize("rule", ["interval", "positive"])
def test_what_is_left_is_counted_weight_by_weight(tagger, rule):
    thresholds = [0.0, 0.05, 0.1, 0.3, 1.0, 50.0]
    found = prune(tagger, thresholds=thresholds, rule=rule)
    unigrams, bigrams = weights_of(tagger)
    for tau, row in zip(thresholds, found.rows, strict=True):
        stays = (lambda w: abs(w) > tau) if rule == "interval" else (lambda w: w > tau)  # noqa: B023
        u = {key for key, w in unigrams.items() if stays(w)}
        b = [key for key, w in bigrams.items() if stays(w)]
        # The unigram beside a bigram of a * pattern has the same name; the plain B has none.
        lone = [key for key in b if key[0].startswith("*") and (key[0], key[2]) not in u]
        assert (row["unigrams"], row["bigrams"], row["orphans"]) == (len(u), len(b), len(lone))
        assert row["active"] == len(u) + len(b)
        assert row["share"] == row["active"] / (len(unigrams) + len(bigrams))
    assert any(row["orphans"] for row in found.rows)
    assert found.rows[-1]["active"] == 0


def test_scores_are_those_of_each_pruned_tagger(tagger, held_out):
    thresholds = [0.5, 0.0, 0.2]
    found = prune(tagger, held_out, thresholds=thresholds, top=1000)
    columns = labelled_columns(*held_out)
    for tau, row in zip(thresholds, found.rows, strict=True):
        small = Tagger(TEMPLATE, lam=0.3).fit(*make_sentences(25, 1)).prune(tau)
        scores = small.score_columns(columns)
        assert {name: row[name] for name in ("token_error", "f1")} == {
            name: scores[name] for name in ("token_error", "f1")
        }
    predicted = found.tagger.predict(held_out[0])  # the last threshold counts
    wrong = [
        (true, guess)
        for truth, guesses in zip(held_out[1], predicted)
        for true, guess in zip(truth, guesses)
        if true != guess
    ]
    assert {(true, guess): n for true, guess, n in found.confusions} == {
        pair: wrong.count(pair) for pair in wrong
    }
    assert found.tagger.facts["threshold"] == 0.2
    assert tagger.facts["active"] > found.tagger.facts["active"]  # the tagger itself stays as it was
    assert "threshold" not in tagger.facts


def test_margins_are_those_of_enumeration(tagger, held_out):
    short = [(x[:4], y[:4]) for x, y in zip(*held_out)]
    columns = labelled_columns([x for x, _ in short], [y for _, y in short])
    found, unscored = margins(tagger, columns)
    unigrams, bigrams = weights_of(tagger)
    Y = len(tagger.labels_)

    def score(x, y):
        before, total = Y, 0.0
        for t, label in enumerate(y):
            last = x[t - 1] if t else "_B-1"
            total += unigrams.get((f"*:{x[t]}", label), 0.0) + unigrams.get((f"U:{last}/{x[t]}", label), 0.0)
            total += bigrams.get((f"*:{x[t]}", before, label), 0.0) + bigrams.get(("B", before, label), 0.0)
            before = label
        return total

    wanted = {}
    for i, (x, y) in enumerate(short):
        true = score(x, [tagger.labels_.index(label) for label in y])
        best = max(score(x, way) for way in product(range(Y), repeat=len(x)))
        if best - true > 1e-9:
            wanted[i + 1] = (true, best)
    assert unscored == 0
    assert len(wanted) > 5
    assert {one.sentence for one in found} == set(wanted)
    for one in found:
        np.testing.assert_allclose((one.true, one.best), wanted[one.sentence], atol=1e-8)
        assert one.words == " ".join(short[one.sentence - 1][0])
    lead = [one.margin for one in found]
    assert lead == sorted(lead, reverse=True)
    wide = lead[len(lead) // 2]
    counted = prune(
        tagger, ([x for x, _ in short], [y for _, y in short]), thresholds=[0.0], margin=wide, top=2
    )
    assert counted.rows[0]["beyond"] == sum(one > wide for one in lead)
    assert [one.margin for one in counted.margins] == lead[:2]


@pytest.mark.parametrize("encode", [None, "bioes"])
def test_labels_that_the_tagger_does_not_know_have_no_score(encode):
    X, Y = make_sentences(20, 2)
    tagger = Tagger("U:%x[0,0]\nB", lam=0.1, encode=encode).fit(X, Y)
    other = [["B-PP", *labels[1:]] if i < 3 else labels for i, labels in enumerate(Y)]
    found, unscored = margins(tagger, labelled_columns(X, other))
    assert unscored == 3
    assert all(one.sentence > 3 for one in found)
    # With the labels of the training data, a sentence that is labelled without error has no margin.
    right = [i for i, (truth, guess) in enumerate(zip(Y, tagger.predict(X))) if truth == guess]
    assert not {i + 1 for i in right} & {one.sentence for one in found}


def test_misuse_is_refused(tagger, held_out):
    with pytest.raises(SettingError, match="margin is of labelled sentences: name files"):
        prune(tagger, margin=2.0)
    with pytest.raises(SettingError, match="thresholds are missing: give at least one"):
        prune(tagger, thresholds=[])
    with pytest.raises(SettingError, match="thresholds must be at least 0"):
        prune(tagger, thresholds=[-1.0])
    with pytest.raises(SettingError, match="rule"):
        prune(tagger, rule="ball")
    with pytest.raises(InputError):
        prune(tagger, "nowhere.txt")
    with pytest.raises(NotFittedError):
        prune(Tagger(TEMPLATE))
