"""Models of CRFsuite, Wapiti and CRF++ label sentences here as they do there; damaged ones are refused."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from foreign_sentences import features, sentences

import spinney
from spinney.errors import InputError, ModelFileError, SpinneyError
from spinney.tagging import CRFClassifier, Tagger, export, import_model
from spinney.tagging.foreign.crfsuite_files import crfsuite_bytes

MODELS = Path(__file__).parent / "foreign_models"
FILES = ["small.crfsuite", "small.wapiti", "small.crfpp", "small.crfpp.txt"]
LABELLED = json.loads((MODELS / "labels.json").read_text())
SENTENCES = LABELLED["sentences"]


def _rows(sentence):
    return [row[:2] for row in sentence]


def test_crfsuite_labels_alike(tmp_path):
    crf = import_model(str(MODELS / "small.crfsuite"))
    given = [features(sentence) for sentence in SENTENCES]
    assert crf.predict(given) == [labels for labels, _ in LABELLED["crfsuite"]]
    _compare(
        crf.labels_, crf.predict_marginals(given), [chances for _, chances in LABELLED["crfsuite"]], 1e-9
    )
    # The same from a file of Spinney's own.
    crf.save(tmp_path / "m")
    assert CRFClassifier.load(tmp_path / "m").predict(given) == crf.predict(given)


@pytest.mark.parametrize("name", ["small.crfpp", "small.crfpp.txt"])
def test_crfpp_labels_alike(name):
    tagger = import_model(str(MODELS / name))
    given = list(map(_rows, SENTENCES))
    assert tagger.predict(given) == [labels for labels, _ in LABELLED["crfpp"]]
    _compare(
        tagger.labels_, tagger.predict_marginals(given), [chances for _, chances in LABELLED["crfpp"]], 1e-6
    )


def _compare(names, found, wanted, tolerance):
    for ours, theirs in zip(found, wanted, strict=True):
        by_name = [[chances[name] for name in names] for chances in theirs]
        np.testing.assert_allclose(ours, by_name, atol=tolerance)


def test_wapiti_labels_alike():
    tagger = import_model(str(MODELS / "small.wapiti"))
    assert tagger.predict(map(_rows, SENTENCES)) == LABELLED["wapiti"]
    assert len(set(map(tuple, LABELLED["wapiti"]))) > 3


def test_wapiti_itself_labels_alike():
    wapiti = pytest.importorskip("wapiti")
    peer = wapiti.Model(model=str(MODELS / "small.wapiti"))
    tagger = import_model(str(MODELS / "small.wapiti"))
    for sentence in sentences(random.Random(3), 60):
        wanted = peer.label_sequence("\n".join(" ".join(row[:2]) for row in sentence)).decode().split()
        assert tagger.predict([_rows(sentence)]) == [wanted]


def test_crfsuite_opens_what_is_written(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    there, here = (pycrfsuite.Tagger() for _ in range(2))
    there.open(str(MODELS / "small.crfsuite"))
    export(import_model(str(MODELS / "small.crfsuite")), str(tmp_path / "again"))
    here.open(str(tmp_path / "again"))
    assert here.info().state_features == there.info().state_features
    assert here.info().transitions == there.info().transitions
    assert here.labels() == there.labels()
    for sentence in sentences(random.Random(4), 20):
        there.set(features(sentence))
        here.set(features(sentence))
        assert here.tag() == there.tag()
        assert here.marginal("O", 1) == pytest.approx(there.marginal("O", 1), abs=1e-12)


def test_patterns_become_attributes_of_crfsuite(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    words = [[row[0] for row in sentence] for sentence in SENTENCES]
    labels = [[row[2] for row in sentence] for sentence in SENTENCES]
    tagger = Tagger("U0:%x[0,0]\nU1:%x[-1,0]\nB", start_label=False).fit(words, labels)
    export(tagger, str(tmp_path / "m.crfsuite"))
    peer = pycrfsuite.Tagger()
    peer.open(str(tmp_path / "m.crfsuite"))
    for sentence, found in zip(words, tagger.predict(words)):
        before = ["_B-1", *sentence[:-1]]
        assert peer.tag([[f"U0:{word}", f"U1:{last}"] for word, last in zip(sentence, before)]) == found


@pytest.mark.parametrize(
    ("tagger", "told"),
    [
        (Tagger("U:%x[0,0]\nB"), "no start label"),
        (Tagger("U:%x[0,0]\nB:%x[0,0]", start_label=False), "no bigram patterns with fields"),
        (Tagger("U:%x[0,0]\nB", method="memm", start_label=False), "not memm"),
        (Tagger("U:%x[0,0]\nB", start_label=False, encode="bioes"), "without encode and scheme"),
    ],
)
def test_what_crfsuite_does_not_have_is_not_written(tmp_path, tagger, told):
    tagger.fit([["the", "dog", "barks"]] * 2, [["B-X", "I-X", "O"]] * 2)
    with pytest.raises(InputError, match=told):
        export(tagger, str(tmp_path / "m"))
    assert not list(tmp_path.iterdir())


def test_an_observation_that_can_be_read_in_two_ways(tmp_path):
    """1/2 and x, or 1 and 2/x: in the other program they are the same."""
    (tmp_path / "m").write_text(
        "version: 100\ncost-factor: 1\nmaxid: 2\nxsize: 1\n\nD\nN\n\nU:%x[-1,0]/%x[0,0]\n\n0 U:1/2/x\n\n-1\n1\n"
    )
    tagger = import_model(str(tmp_path / "m"))
    scores = [tagger.predict_marginals([words])[0][1, 1] for words in (["1/2", "x"], ["1", "2/x"])]
    assert scores == pytest.approx([1 / (1 + np.exp(-2))] * 2)


def test_damaged_files_are_refused(tmp_path):
    """Bytes that are changed, missing or cut off give a model or an error of one line, never anything else."""
    draws, refused = random.Random(0), []
    for name in FILES:
        whole = (MODELS / name).read_bytes()
        for attempt in range(50):
            data = bytearray(whole)
            if attempt % 3 == 0:
                del data[draws.randrange(1, len(data)) :]
            for _ in range(draws.choice((1, 1, 4))):
                place = draws.randrange(min(len(data), draws.choice((64, 10**6))))
                data[place] = draws.choice((0, 255, draws.randrange(256)))
            (tmp_path / "m").write_bytes(data)
            try:
                import_model(str(tmp_path / "m"), format=None if attempt % 2 else name.split(".")[1])
            except SpinneyError as error:
                refused.append(str(error))
    assert len(refused) > 80
    assert not any("\n" in told for told in refused)


@pytest.mark.parametrize("name", FILES)
def test_truncated_files_are_refused(tmp_path, name):
    whole = (MODELS / name).read_bytes()
    for length in (0, 3, 40, len(whole) // 2, len(whole) - 1000):
        (tmp_path / "m").write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match="m: "):
            import_model(str(tmp_path / "m"))


def test_counts_of_a_file_are_not_believed(tmp_path):
    """A file of a few bytes that promises millions of features, labels and strings is refused at once."""
    model = import_model(str(MODELS / "small.crfsuite"))
    data = bytearray(crfsuite_bytes(model))
    data[20:28] = b"\xff\xff\xff\x7f" * 2
    (tmp_path / "m").write_bytes(data)
    with pytest.raises(ModelFileError, match="fewer names"):
        import_model(str(tmp_path / "m"))
    (tmp_path / "m").write_text("#mdl#2#1\n#rdr#999999999/1/0\n")
    with pytest.raises(ModelFileError, match="truncated"):
        import_model(str(tmp_path / "m"))
    (tmp_path / "m").write_text("#mdl#1#1\n#rdr#1/1/0\n")
    with pytest.raises(ModelFileError, match="maximum entropy Markov model"):
        import_model(str(tmp_path / "m"))


def test_an_imported_model_is_like_any_other(tmp_path):
    for name in FILES:
        tagger = import_model(str(MODELS / name))
        tagger.save(tmp_path / "m")
        again = spinney.load(tmp_path / "m")
        assert again.facts["imported"] in ("CRFsuite", "Wapiti", "CRF++")
        assert again.views()
        assert again.summary()
        assert again.report_views()
