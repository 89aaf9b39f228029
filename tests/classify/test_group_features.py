"""Groups of words as features: against plain sums, and from the command line's settings to a file and back."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from spinney.classify import TextModel
from spinney.classify.group_features import with_group_columns
from spinney.classify.recipes import fit
from spinney.errors import ModelFileError, OptionError, SettingError
from spinney.structure import Groups

TEXTS = ["good fun film", "great fun indeed", "dull film", "bad and dull", "Good good film", "bad plot"]
LABELS = ["pos", "pos", "neg", "neg", "pos", "neg"]
WORDS = ["good", "fun", "great", "dull", "bad"]


@pytest.fixture
def own(tmp_path):
    """A file of two groups."""
    path = tmp_path / "own.json"
    named = {"joy": ["good", "fun", "great"], "bore": ["dull", "bad"]}
    groups = [{"name": name, "members": members} for name, members in named.items()]
    path.write_text(json.dumps({"groups": groups}))
    return str(path)


def test_columns_are_sums_of_the_words():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (5, 6)).astype(float)
    lists = [[0, 3], [1, 2, 3], [5, 4]]
    groups = Groups.from_lists(lists, 6)
    sums = np.column_stack([X[:, members].sum(axis=1) for members in lists])
    np.testing.assert_array_equal(with_group_columns(csr_array(X), groups).toarray(), np.hstack([X, sums]))
    present = with_group_columns(csr_array(X), groups, presence=True).toarray()[:, 6:]
    np.testing.assert_array_equal(present, sums > 0)
    with pytest.raises(OptionError, match="groups over 6 features, but the data have 5"):
        with_group_columns(csr_array(X[:, :5]), groups)


@pytest.mark.parametrize("features", ["counts", "binary", "tfidf"])
def test_a_model_with_groups_as_features(own, tmp_path, features):
    model = fit((TEXTS, LABELS), features=features, group_features=own, penalty="l1", lam=0.1)
    assert model.names[-2:] == ["joy", "bore"]
    assert model.facts["features"] == len(model.names) == model.coef.shape[1]
    words = model.features.sparse(["fun fun dull"]).toarray()[0]
    joy = [j for j, name in enumerate(model.names) if name in ("good", "fun", "great")]
    found = model.matrix(["fun fun dull"]).toarray()[0]
    assert found[-2] == pytest.approx(1.0 if features == "binary" else words[joy].sum())
    # Where a group tells the classes apart, one weight for it costs less than one for each of its words.
    assert {"joy", "bore"} & {name for row in model.strongest(1).values() for name, _ in row}
    model.save(tmp_path / "m.spinney")
    back = TextModel.load(tmp_path / "m.spinney")
    np.testing.assert_array_equal(back.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert back.names == model.names
    assert back.explain(["such fun"]) is not None


def test_structure_that_is_learnt_and_held_out_documents():
    texts = [f"{text} {word}" for text in TEXTS for word in WORDS]
    labels = np.repeat(LABELS, len(WORDS)).tolist()
    model = fit((texts, labels), features="counts", group_features="sentence,brown:6", most_words=4, dev=0.3)
    added = [name for name in model.names if ": " in name]
    assert added
    assert max(model.added.sizes) <= 4
    with pytest.raises(SettingError, match="the family brown has no group of at most 2 words"):
        fit((texts, labels), group_features="brown:2", most_words=2)
    with pytest.raises(SettingError, match="most_words needs group_features"):
        fit((texts, labels), most_words=3)
    with pytest.raises(SettingError, match="give only one of them"):
        fit((texts, labels), groups="sentence", group_features="sentence")
    with pytest.raises(SettingError, match="group_features: there is no family 'sentences'"):
        fit((texts, labels), group_features="sentences")


def test_numbers_have_groups_as_features_too(tmp_path):
    groups = Groups.from_lists([[0, 1]], 3, names=["both"])
    X, y = csr_array([[1.0, 0, 1], [0, 1, 1], [0, 0, 1], [0, 0, 2]]), ["a", "a", "b", "b"]
    model = fit((X, y), group_features=groups, lam=0.1)
    assert model.names == ["1", "2", "3", "both"]
    several = Groups.from_lists([[0, 1], [0, 1, 2]], 3)
    assert len(fit((X, y), group_features=several, most_words=2, lam=0.1).added) == 1
    model.save(tmp_path / "m.spinney")
    assert TextModel.load(tmp_path / "m.spinney").predict(X).tolist() == y


def test_other_groups_in_a_file_are_damage(own, tmp_path):
    model = fit((TEXTS, LABELS), features="counts", group_features=own, lam=0.1)
    model.added = Groups.from_lists([[0, 1], [1, 2]], 5)
    model.save(tmp_path / "m.spinney")
    with pytest.raises(ModelFileError, match="does not match the features"):
        TextModel.load(tmp_path / "m.spinney")
