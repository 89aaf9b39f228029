"""Data frames where a path may stand: the same data in pandas, polars, Arrow and Hugging Face, and in a CSV file."""

import csv
import datetime

import pytest

import spinney.classes
import spinney.classify
import spinney.embed
import spinney.lm
import spinney.tagging
import spinney.trend
from spinney import views
from spinney.corpus.frames import column, column_names, frame_rows, is_frame, is_series, tagged_frame
from spinney.errors import InputError, OptionError, SettingError

pandas = pytest.importorskip("pandas")

REVIEWS = {
    "body": ["good fun", "great fun", "dull", "dull and bad"] * 3,
    "topic": ["+", "+", "-", "-"] * 3,
    "year": [1941, 1942, 1951, 1953] * 3,
}
TEXTS = {"text": ["The dog barks. It can't stop.", "A cat sleeps; a dog doesn't."] * 20}


def _polars(data):
    return pytest.importorskip("polars").DataFrame(data)


def _arrow(data):
    return pytest.importorskip("pyarrow").table(data)


def _hugging_face(data):
    return pytest.importorskip("datasets").Dataset.from_dict(data)


class _Stream:
    """As much as the Arrow stream interface asks for, such as a relation of DuckDB has."""

    def __init__(self, data):
        self._table = _arrow(data)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


KINDS = [pandas.DataFrame, _polars, _arrow, _hugging_face, _Stream]


@pytest.fixture
def table(tmp_path):
    def write(data):
        path = tmp_path / "table.csv"
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(data)
            writer.writerows(zip(*data.values()))
        return str(path)

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_a_classifier_of_a_frame_is_that_of_the_table(kind, table):
    how = {"text": "body", "label": "topic", "penalty": "l1", "lam": 0.1}
    frame, path = kind(REVIEWS), table(REVIEWS)
    model, expected = spinney.classify.fit(frame, **how), spinney.classify.fit(path, **how)
    assert (model.coef == expected.coef).all()
    assert "train" not in model.facts
    assert [one["label"] for one in model.apply(frame, text="body")] == REVIEWS["topic"]
    columns = {"text": "body", "label": "topic"}
    assert views.as_json(model.evaluate(frame, **columns)) == views.as_json(model.evaluate(path, **columns))


@pytest.mark.parametrize("kind", KINDS[::2])
def test_text_of_a_frame_is_that_of_the_table(kind, table):
    frame, path = kind(TEXTS), table(TEXTS)
    model, expected = (spinney.lm.fit(data, order=2, dev=data) for data in (frame, path))
    assert model.facts["tokens"] == expected.facts["tokens"] == 360
    assert model.facts["dev_perplexity"] == expected.facts["dev_perplexity"]
    assert views.as_json(model.evaluate(frame))["perplexity"] == expected.facts["dev_perplexity"]
    brown = [spinney.classes.fit(data, classes=3).word_classes() for data in (frame, path)]
    assert brown[0].words == brown[1].words
    assert brown[0].ids.tolist() == brown[1].ids.tolist()


@pytest.mark.parametrize("kind", KINDS[1::2])
def test_a_trend_of_a_frame_is_that_of_the_table(kind, table):
    how = {"text": "body", "time": "year", "every": 10, "method": "ridge-ts", "lam": 0.1, "min_count": 1}
    frame, path = kind(REVIEWS), table(REVIEWS)
    models = [spinney.trend.fit(data, **how) for data in (frame, path)]
    assert models[0].labels == models[1].labels == ["1940", "1950"]
    assert (models[0].series.coef_ == models[1].series.coef_).all()
    forecasts = [list(models[0].apply(data, text="body", time="year")) for data in (frame, path)]
    assert [one["nats"] for one in forecasts[0]] == [one["nats"] for one in forecasts[1]]


def test_series_and_vectors():
    texts = pandas.Series(TEXTS["text"], name="whatever")
    assert spinney.lm.fit(texts, order=2).facts["tokens"] == 360
    assert spinney.embed.fit(texts, dimensions=3).vectors().dimension == 3
    pair = pandas.Series(REVIEWS["body"]), pandas.Series(REVIEWS["topic"])
    assert spinney.classify.fit(pair, lam=0.1).predict(pandas.Series(["such fun"])).tolist() == ["+"]
    bags = spinney.embed.fit(pandas.DataFrame(TEXTS), method="topics", topics=2, stop_words=0, min_count=1)
    assert bags.facts["documents"] == 40


def test_lists_of_words_are_sentences():
    frame = pandas.DataFrame({"tokens": [["a", "b."], [], ["c"]]})
    model = spinney.lm.fit(frame, text="tokens", order=2)
    assert (model.facts["sentences"], model.facts["tokens"]) == (2, 3)
    assert "b." in model.vocabulary.words
    with pytest.raises(SettingError, match="cells are lists of words"):
        spinney.lm.fit(frame, text="tokens", order=2, tokens="spacy:en")


def test_labels_of_hugging_face_have_their_names():
    datasets = pytest.importorskip("datasets")
    names = datasets.ClassLabel(names=["O", "B-PER", "I-PER"])
    features = {"tokens": datasets.List(datasets.Value("string")), "ner_tags": datasets.List(names)}
    features |= {"pos_tags": datasets.List(datasets.Value("string")), "label": names}
    data = {"tokens": [["Ada", "King", "slept"], ["Bob", "ran"], []] * 5, "label": [1, 0, 0] * 5}
    data |= {"ner_tags": [[1, 2, 0], [1, 0], []] * 5, "pos_tags": [["N", "N", "V"], ["N", "V"], []] * 5}
    frame = datasets.Dataset.from_dict(data, features=datasets.Features(features))
    assert column(frame, "label")[:2] == ["B-PER", "O"]
    assert column(frame.with_format("numpy"), "ner_tags")[1] == ["B-PER", "O"]
    tagger = spinney.tagging.fit(frame, label="ner_tags", lam=0.1, dev=frame)
    assert tagger.labels_ == ["B-PER", "I-PER", "O"]
    assert tagger.facts["tokens"] == 25
    assert "train" not in tagger.facts
    assert views.as_json(tagger.evaluate(frame, label="ner_tags"))["f1"] == 1.0
    assert next(iter(tagger.apply(frame)))["labels"] == ["B-PER", "I-PER", "O"]
    with pytest.raises(InputError, match=r"2 columns could be labels \(ner_tags, pos_tags\)"):
        spinney.tagging.fit(frame)
    with pytest.raises(InputError, match=r"several data sets \(train\) .*choose one"):
        spinney.tagging.fit(datasets.DatasetDict({"train": frame}))


def test_cells_as_text():
    day = datetime.datetime(2001, 5, 3)
    frame = pandas.DataFrame(
        {"a": [1, 2], "b": [0.5, None], "c": ["x", None], "d": [day, day.replace(hour=4)], "e": [True, False]}
    )
    rows = list(frame_rows(frame))
    assert rows[1:] == [
        (1, ["1", "0.5", "x", "2001-05-03", "true"]),
        (2, ["2", "", "", "2001-05-03T04:00:00", "false"]),
    ]
    assert column_names(pandas.DataFrame({1: ["x"], "b": ["y"]})) == ["1", "b"]
    assert column(pandas.DataFrame({1: ["x"], "b": ["y"]}), "1") == ["x"]


def test_what_is_a_frame():
    import numpy as np

    from spinney.trend.model import Documents

    for other in ("a.csv", ["a.csv"], (["a"], ["b"]), np.ones((2, 2)), Documents(["a"]), {"a": [1]}, None):
        assert not is_frame(other), other
    assert is_frame(pandas.DataFrame())
    assert is_series(pandas.Series(["a"]))
    assert is_frame(pandas.Series(["a"]))


@pytest.mark.parametrize(
    ("fit", "says", "given"),
    [
        (spinney.classify.fit, "no column 'bdy': .*did you mean body", {"text": "bdy", "label": "topic"}),
        (spinney.classify.fit, "format is for files", {"text": "body", "label": "topic", "format": "csv"}),
        (spinney.classify.fit, "names its columns", {"text": "body", "label": "topic", "header": False}),
        (spinney.lm.fit, "header is for tables", {"text": "body", "header": False}),
        (spinney.lm.fit, "cache is for files", {"text": "body", "cache": "folder"}),
        (spinney.lm.fit, "no column 'text'", {}),
        (spinney.trend.fit, "the data frame:1: 'good fun' is not a time", {"text": "body", "time": "body"}),
        (spinney.trend.fit, "format is for files", {"text": "body", "time": "year", "format": "csv"}),
        (spinney.tagging.fit, "no column of tokens: the columns are 'body', 'topic', 'year'", {}),
    ],
)
def test_mistakes(fit, says, given):
    with pytest.raises((InputError, OptionError), match=says) as caught:
        fit(pandas.DataFrame(REVIEWS), **given)
    assert "\n" not in str(caught.value)


def test_missing_labels_and_lazy_frames():
    frame = pandas.DataFrame(REVIEWS)
    frame.loc[2, "topic"] = None
    how = {"text": "body", "label": "topic", "lam": 0.1}
    with pytest.raises(InputError, match="the data frame:3: no value in the column 'topic'"):
        spinney.classify.fit(frame, **how)
    assert spinney.classify.fit(frame, **how, on_error="skip").facts["skipped"] == 1
    polars = pytest.importorskip("polars")
    with pytest.raises(InputError, match=r"lazy frame has no rows yet .give frame.collect"):
        spinney.lm.fit(polars.LazyFrame(TEXTS), order=2)


def test_mistakes_in_sentences():
    with pytest.raises(InputError, match="the data frame:1: 2 tokens, but 1 labels"):
        tagged_frame(pandas.DataFrame({"tokens": [["a", "b"]], "tags": [["x"]]}), "tags")
    with pytest.raises(InputError, match="the data frame:1: tags must be a list of texts, not"):
        tagged_frame(pandas.DataFrame({"tokens": [["a"]], "tags": ["x"]}), "tags")
    with pytest.raises(InputError, match="no column of labels"):
        tagged_frame(pandas.DataFrame({"tokens": [["a"]], "tags": ["x"]}), None)
