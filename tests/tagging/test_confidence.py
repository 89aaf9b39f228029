"""Phrases with probabilities, thresholds, abstaining, decoding for F1, and explanations of labels."""

import json

import numpy as np
import pytest

from spinney.cli.main import run
from spinney.errors import OptionError
from spinney.evaluate.chunks import chunks
from spinney.inference.decoding import path_scores
from spinney.settings import settings_or
from spinney.settings.tag import Explain
from spinney.tagging import Tagger
from spinney.tagging.explaining import explanations
from spinney.views import as_json

X = [
    ["Ada", "King", "lives", "in", "London"],
    ["the", "town", "of", "New", "York"],
    ["Ada", "sees", "York"],
    ["King", "of", "London", "town"],
]
Y = [
    ["B-PER", "I-PER", "O", "O", "B-LOC"],
    ["O", "O", "O", "B-LOC", "I-LOC"],
    ["B-PER", "O", "B-LOC"],
    ["B-PER", "O", "B-LOC", "O"],
]
NEW = [["Ada", "York", "sees", "New", "London"], ["King", "town"], []]
PATTERNS = "U:%x[0,0]\nU:%x[-1,0]\nB"


@pytest.fixture(scope="module")
def tagger():
    return Tagger(PATTERNS, lam=0.3).fit(X, Y)


def summed(tagger, sentence, phrase):
    """The probability of a phrase, by the probabilities of all labellings."""
    every = tagger.predict_kbest([sentence], len(tagger.labels_) ** len(sentence))[0]
    assert sum(way.probability for way in every) == pytest.approx(1)
    names = ([tagger.labels_[y] for y in way.labels] for way in every)
    return sum(way.probability for way, labels in zip(every, names) if phrase in chunks(labels))


@pytest.mark.parametrize("how", [{}, {"encode": "bioes"}, {"encode": "iob1"}, {"scheme": "bioes"}])
def test_phrases_are_those_of_the_labels_with_the_sums_of_all_labellings(how):
    tagger = Tagger(PATTERNS, lam=0.3, **how).fit(X, Y)
    labels, found = tagger.predict(NEW), tagger.predict_phrases(NEW)
    for sentence, named, phrases in zip(NEW, labels, found):
        assert [(kind, a, b) for a, b, kind, _ in phrases] == [tuple(one) for one in chunks(named)]
        for a, b, kind, p in phrases if len(sentence) < 4 else ():
            assert p == pytest.approx(summed(tagger, sentence, (kind, a, b)), abs=1e-9)


def test_candidates_hold_every_probable_phrase(tagger):
    [found] = tagger.predict_candidates([["King", "town", "York"]], least=0.02)
    right = {}
    for kind in ("PER", "LOC"):
        for a in range(3):
            for b in range(a + 1, 4):
                p = summed(tagger, ["King", "town", "York"], (kind, a, b))
                right |= {(a, b, kind): p} if p >= 0.02 else {}
    assert {(a, b, kind): p for a, b, kind, p in found} == pytest.approx(right)


def test_a_threshold_leaves_out_phrases_and_their_labels(tagger):
    sure = sorted(p for phrases in tagger.predict_phrases(NEW) for *_, p in phrases)
    between = (sure[0] + sure[-1]) / 2
    kept = tagger.predict_phrases(NEW, threshold=between)
    assert [p for phrases in kept for *_, p in phrases]
    assert all(p >= between for s in kept for *_, p in s)
    records = list(tagger.apply(NEW, threshold=between))
    for phrases, record in zip(kept, records):
        assert chunks(record["labels"]) == [(kind, a, b) for a, b, kind, _ in phrases]
    assert any("O" in record["labels"] for record in records)


def test_decoding_for_f1_gives_what_is_more_probable_than_half_of_f1(tagger):
    tagger = Tagger(PATTERNS, lam=0.3, decoding="f1", scheme="iob2").fit(X, Y)
    chosen = [set(s) for s in tagger.predict_phrases(NEW)]
    every = tagger.predict_candidates(NEW, least=1e-6)
    total = sum(p for s in every for *_, p in s)
    n, mass = sum(map(len, chosen)), sum(p for s in chosen for *_, p in s)
    tau = mass / (n + total)  # half of 2 Σp / (n + E)
    assert all(p > tau for s in chosen for *_, p in s)
    for taken, candidates in zip(chosen, every):
        for a, b, kind, p in candidates:
            apart = all(b <= start or end <= a for start, end, *_ in taken)
            assert not (apart and p > tau + 1e-9), (a, b, kind)
    assert len(tagger.predict_marginals(NEW)[0]) == 5
    assert [len(r["probabilities"]) for r in tagger.apply(NEW, proba=True, decoding="f1")] == [5, 2, 0]


def test_labels_that_are_not_of_phrases_have_none():
    tagger = Tagger("U:%x[0,0]", lam=0.3).fit([["a", "dog"]], [["DT", "NN"]])
    for ask in (tagger.predict_phrases, tagger.predict_candidates, tagger.set_params(decoding="f1").predict):
        with pytest.raises(OptionError, match="do not mark phrases"):
            ask([["a"]])


def test_abstaining_gives_no_label_below_the_probability_and_eval_tells_what_is_left(tagger):
    sure = list(tagger.apply(X, proba=True))
    level = float(np.median([p for record in sure for p in record["probabilities"]]))
    for before, after in zip(sure, tagger.apply(X, abstain=level)):
        wanted = [y if p >= level else "_" for y, p in zip(before["labels"], before["probabilities"])]
        assert after["labels"] == wanted
    scores = as_json(tagger.evaluate((X, Y), abstain=level))
    kept = [
        (y == gold)
        for record, truth in zip(sure, Y)
        for y, p, gold in zip(record["labels"], record["probabilities"], truth)
        if p >= level
    ]
    assert scores["coverage"] == pytest.approx(len(kept) / sum(map(len, X)))
    assert scores["accuracy_answered"] == pytest.approx(np.mean(kept))
    assert scores["phrase_calibration_error"] > 0
    assert scores["brier"] > 0
    assert scores["phrase_reliability"]
    everything = as_json(tagger.evaluate((X, Y)))
    assert everything["f1"] == tagger.score_columns(tagger.columns(X, Y))["f1"]


@pytest.mark.parametrize("method", ["crf", "memm", "hmm"])
def test_the_contributions_of_a_token_add_up_to_how_far_its_label_is_ahead(method):
    patterns = "U:%x[0,0]\nB" if method == "hmm" else "U:%x[0,0]\nU:%x[-1,0]\nB:%x[0,0]\nB"
    how = {} if method == "hmm" else {"lam": 0.3}
    tagger = Tagger(patterns, method=method, **how).fit(X, Y)
    found = list(explanations(tagger, NEW[:2], settings_or(Explain, None, {})))
    for sentence, words in zip(found, NEW):
        [chains] = tagger.chains_of(tagger.columns([words]))
        labels = [tagger.labels_.index(one.label) for one in sentence]
        best = path_scores(chains, labels)[0]
        for t, one in enumerate(sentence):
            other = labels.copy()
            other[t] = tagger.labels_.index(one.rival)
            assert one.ahead == pytest.approx(best - path_scores(chains, other)[0])
            assert sum(value for _, value in one.contributions) == pytest.approx(one.ahead)
            assert all(
                best - path_scores(chains, [*labels[:t], y, *labels[t + 1 :]])[0] >= one.ahead - 1e-9
                for y in range(len(tagger.labels_))
                if y != labels[t]
            )
    assert any("→" in name for sentence in found for one in sentence for name, _ in one.contributions)


def test_the_commands(tagger, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tagger.save("m.spinney")
    (tmp_path / "x.txt").write_text("Ada\nKing\nsees\nYork\n\nKing\n\n")
    assert run(["tag", "apply", "m.spinney", "x.txt", "--phrases"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split("\t") == ["sentence", "start", "end", "type", "words", "probability"]
    assert rows[0].startswith("1\t0\t2\tPER\tAda King\t0.")
    assert rows[-1].startswith("2\t0\t1\tPER\tKing")
    assert run(["tag", "apply", "m.spinney", "x.txt", "--phrases", "--threshold", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"phrases": [], "sentences": 2, "skipped": 0}
    assert run(["tag", "explain", "m.spinney", "x.txt", "--json", "--documents", "1"]) == 0
    assert [one["word"] for one in json.loads(capsys.readouterr().out)["explained"][0]] == [
        "Ada", "King", "sees", "York",
    ]  # fmt: skip
    for options in (["--nbest", "2", "--abstain", "0.5"], ["--phrases", "--proba"], ["--threshold", "2"]):
        assert run(["tag", "apply", "m.spinney", "x.txt", *options]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
