"""Phrase labels learnt in another scheme than they are written in: nothing of the other scheme shows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.errors import InputError, ModelFileError, OptionError
from spinney.evaluate import chunks, convert
from spinney.files import read_model, write_model
from spinney.tagging import Tagger, labelled_columns
from spinney.tagging.classifier import CRFClassifier
from spinney.tagging.columns import Columns
from spinney.tagging.encoding import SCHEMES, Encoding

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\nB"
X = [
    ["Ada", "King", "in", "London", "."],
    ["Ada", "in", "New", "York", "."],
    ["London", "Paris", "."],
    ["Grand", "Union", "Station", "Rome"],
    ["he", "sleeps", "."],
]
BIOES = [
    ["B-PER", "E-PER", "O", "S-LOC", "O"],
    ["S-PER", "O", "B-LOC", "E-LOC", "O"],
    ["S-LOC", "S-LOC", "O"],
    ["B-LOC", "I-LOC", "E-LOC", "S-LOC"],
    ["O", "O", "O"],
]
pairs = pytest.mark.parametrize(("own", "inner"), list(itertools.product(SCHEMES, SCHEMES)))


def written(scheme):
    return [convert(labels, scheme) for labels in BIOES]


def fitted(own, inner, **options):
    return Tagger(TEMPLATE, encode=inner, **({"lam": 0.1} | options)).fit(X, written(own))


@pytest.fixture(scope="module")
def tagger():
    """Written in IOB2, learnt in BIOES, not too sure of anything."""
    return Tagger(TEMPLATE, encode="bioes", lam=1.0, tol=1e-8).fit(X, written("iob2"))


@pairs
def test_labels_come_back_as_they_were_written(own, inner, tmp_path):
    model = fitted(own, inner)
    labels = written(own)
    assert model.encoding_.own == own
    assert model.labels_ == sorted({label for sentence in written(inner) for label in sentence})
    assert model.written_labels == sorted({label for sentence in labels for label in sentence})
    assert model.predict(X) == labels
    assert model.score(X, labels) == 1.0
    assert model.score_columns(labelled_columns(X, labels))["f1"] == 1.0
    model.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.encoding_ == model.encoding_
    assert loaded.encode == inner
    assert loaded.predict(X) == labels


@pairs
def test_it_is_the_tagger_of_the_rewritten_labels(own, inner):
    """What convert does before and after by hand."""
    bare = Tagger(TEMPLATE, lam=0.1, scheme=inner).fit(X, written(inner))
    model = fitted(own, inner)
    assert np.array_equal(model.weights_.full(), bare.weights_.full())
    unseen = [["Grand", "King", "Paris"], ["York"], ["in", "Union", "London", "Ada"]]
    assert model.predict(unseen) == [convert(labels, own) for labels in bare.predict(unseen)]


@given(st.lists(st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), max_size=6), max_size=5))
@settings(max_examples=100, deadline=None)
def test_encoding_and_back_changes_nothing(sentences):
    for own, inner in itertools.product(SCHEMES, SCHEMES):
        labels = [convert(sentence, own) for sentence in sentences]
        columns = Columns.from_sentences([[("w", label) for label in sentence] for sentence in labels])
        if not columns.n_tokens:
            continue
        encoding = Encoding.of(columns, inner)
        assert encoding.own == own or all(convert(x, encoding.own) == x for x in labels)
        encoded = encoding.encoded(columns)
        assert columns.strings(1) == [label for sentence in labels for label in sentence]
        ends = encoded.offsets.tolist()
        found = [encoded.strings(1)[a:b] for a, b in itertools.pairwise(ends)]
        assert [chunks(sentence) for sentence in found] == [chunks(sentence) for sentence in labels]
        assert [encoding.decoded(sentence) for sentence in found] == labels


def readings(tagger, words):
    """All valid labellings of a sentence as they are written, each with its probability, from all of its paths."""
    found = {}
    for path in tagger.predict_kbest([words], len(tagger.labels_) ** len(words))[0]:
        found[tuple(tagger.names_of(path.labels))] = path.probability
    return found


def test_every_labelling_is_there_once(tagger):
    words = ["New", "London", "Rome"]
    paths = tagger.predict_kbest([words], 10_000)[0]
    found = readings(tagger, words)
    assert len(found) == len(paths)
    assert sum(found.values()) == pytest.approx(1.0)
    kinds = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    valid = [p for p in itertools.product(kinds, repeat=3) if convert(p, "iob2") == list(p)]
    without = {("B-PER", "I-PER", "I-PER")}  # no person of three words was seen: there is no I-PER to learn
    assert set(found) == set(valid) - without


def test_probabilities_are_those_of_written_labels(tagger):
    words = ["New", "London", "Rome"]
    found = readings(tagger, words)
    columns = Columns.from_sentences([[(word,) for word in words]])
    [(labels, chances)] = tagger.label_columns_with_probabilities(columns)
    for place, (label, chance) in enumerate(zip(labels, chances)):
        assert chance == pytest.approx(sum(p for reading, p in found.items() if reading[place] == label))


def test_what_is_known_is_said_in_written_labels(tagger):
    words = ["New", "London", "Rome"]
    columns = Columns.from_sentences([list(zip(words, ["_", "I-LOC|I-PER", "B-LOC"]))])
    inputs, allowed = tagger.force(columns)
    found = readings(tagger, words)
    open_ = {r: p for r, p in found.items() if r[1] in ("I-LOC", "I-PER") and r[2] == "B-LOC"}
    paths = tagger.kbest_columns(inputs, 1000, allowed)
    assert {tuple(tagger.names_of(path.labels)) for path in next(paths)} == set(open_)
    [labels] = tagger.label_columns(inputs, allowed)
    assert tuple(labels) == max(open_, key=open_.get)


def test_labels_that_depend_on_their_neighbours_cannot_be_forced():
    model = fitted("iob1", "bioes")
    columns = Columns.from_sentences([[("Rome", "_")]])
    with pytest.raises(OptionError, match="iob1 labels depend on their neighbours in bioes"):
        model.force(columns)
    [(labels, [chance])] = model.label_columns_with_probabilities(columns.without_last())
    assert labels == ["I-LOC"]
    assert chance == pytest.approx(model.predict_marginals([["Rome"]])[0].max())


def test_a_scheme_says_how_labels_come_back(tagger):
    model = fitted("iob1", "bioes", scheme="iob2")
    assert model.predict(X) == written("iob2")
    assert model.set_params(scheme="bioes").predict(X) == BIOES
    with pytest.raises(OptionError, match="biology"):
        model.set_params(scheme="biology").predict(X)


def test_sentences_of_one_token_have_a_labelling():
    """Even where every phrase that was seen has two tokens, and none is outside."""
    model = Tagger(TEMPLATE, encode="bioes").fit([["New", "York"]], [["B", "I"]])
    assert model.labels_ == ["B", "E", "O"]
    assert model.predict([["New", "York"], ["York"], []]) == [["B", "I"], ["O"], []]


@pytest.mark.parametrize(
    "options", [{"method": "memm"}, {"solver": "pa", "lam": 1.0}, {"decoding": "posterior"}]
)
def test_other_ways_to_learn_and_label(options):
    assert fitted("iob1", "bioes", **options).predict(X) == written("iob1")


def test_an_hmm():
    model = Tagger("U:%x[0,0]\nB", method="hmm", encode="bioes").fit(X, written("iob2"))
    assert model.predict(X)[0] == written("iob2")[0]


def test_held_out_sentences_starts_and_paths(tagger):
    labels = written("iob1")
    watched = Tagger(TEMPLATE, encode="bioes", lam=0.1).fit(X, written("iob2"), dev=(X, labels))
    assert watched.facts_["dev_token_error"] == 0.0  # in whichever scheme they are written
    again = Tagger(TEMPLATE, encode="bioes", lam=1.0, tol=1e-8).fit(X, labels, init=tagger)
    assert again.facts_["iterations"] <= tagger.facts_["iterations"]
    columns = labelled_columns(X, labels)
    points = list(Tagger(TEMPLATE, encode="bioes").path(columns, [10.0, 0.1], dev=columns))
    assert points[-1].scores["token_error"] == 0.0


def test_features_from_elsewhere():
    rows = [[{"word": word} for word in sentence] for sentence in X]
    assert (
        CRFClassifier(encode="bioes", lam=0.01).fit(rows, written("iob1")).predict(rows[3:])
        == written("iob1")[3:]
    )


def test_bad_labels_and_options():
    mixed = [convert(BIOES[0], "iob1"), convert(BIOES[1], "iob2")]
    with pytest.raises(
        InputError, match="not follow a single scheme: the best match, iob2, fits 1 of 2 sentences"
    ):
        Tagger(TEMPLATE, encode="bioes").fit(X[:2], mixed)
    with pytest.raises(InputError, match="'N' is not a phrase label"):
        Tagger(TEMPLATE, encode="bioes").fit([["a", "dog"]], [["O", "N"]])
    with pytest.raises(OptionError, match="iob9"):
        fitted("iob2", "iob9")
    with pytest.raises(OptionError, match="partial labels cannot be converted"):
        fitted("iob2", "bioes", partial=True)


def test_slips_are_set_right():
    """As the training file of CoNLL-2003 has them: IOB1, but B after O in two sentences."""
    sentences, labels = [*X * 5], [*written("iob1") * 5]
    labels[1] = written("iob2")[1]
    model = Tagger(TEMPLATE, encode="bioes", lam=0.1).fit(sentences, labels)
    assert model.encoding_.own == "iob1"
    assert model.predict(X) == written("iob1")


def test_a_damaged_file(tagger, tmp_path):
    tagger.save(tmp_path / "model")
    file = read_model(tmp_path / "model")
    bad = Encoding("iob9", "iob2", ("O",))
    parts = {"extractor": tagger.extractor_.parts(), "encoding": bad.parts()}
    write_model(tmp_path / "bad", file.kind, file.header, file.tensors, {"labels": tagger.labels_}, parts)
    with pytest.raises(ModelFileError, match="'iob9' is not a label scheme"):
        Tagger.load(tmp_path / "bad")
