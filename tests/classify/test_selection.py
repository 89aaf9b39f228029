"""Which groups a model selected: against a plain loop, and in files that tell nonsense."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from spinney.classify import LinearClassifier, TextFeatures, TextModel
from spinney.classify import model as model_module
from spinney.classify.readout import model_groups
from spinney.classify.selection import foremost, selection
from spinney.errors import ModelFileError, OptionError
from spinney.structure import Groups

TEXTS = ["good fun", "great fun indeed", "dull film", "bad and dull", "Good film"]
LABELS = ["pos", "pos", "neg", "neg", "pos"]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_selection_is_that_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    coef = rng.choice([0.0, 0.0, 1.0, -2.0, 0.5], (int(rng.integers(1, 4)), 6))
    lists = [rng.permutation(6)[: rng.integers(1, 6)].tolist() for _ in range(int(rng.integers(0, 6)))]
    groups = Groups.from_lists(lists, 6)
    found = selection(coef, groups)
    for g, members in enumerate(lists):
        assert found.norms[g] == pytest.approx(np.linalg.norm(coef[:, members]))
        assert found.active[g] == sum(bool(coef[:, j].any()) for j in members)
    first, last = foremost(groups, found, 3)
    assert all(found.kept[first])
    assert not any(found.kept[last])
    assert len(first) == min(3, found.kept.sum())
    assert len(last) == min(3, (~found.kept).sum())
    assert [found.norms[g] for g in first] == sorted(found.norms[found.kept].tolist())[::-1][:3]


def test_other_features_are_refused():
    with pytest.raises(OptionError, match="groups over 2 features, but a model with 3"):
        selection(np.zeros((1, 3)), Groups.from_lists([[0, 1]], 2))


@pytest.fixture
def model():
    features = TextFeatures("counts")
    X = features.fit_transform(TEXTS)
    groups = Groups.from_lists([[0, 1], [2, 3, 4]], X.shape[1], names=["a: x", "a: y"])
    return TextModel(LinearClassifier("overlap", 0.01, l1=0.1, groups=groups), features).fit_matrix(X, LABELS)


def test_groups_come_back(model, tmp_path):
    model.save(tmp_path / "m.spinney")
    back = TextModel.load(tmp_path / "m.spinney")
    assert back.facts == model.facts
    assert model_groups(back) == model_groups(model)
    assert back.facts["groups"]["families"]["a"] == list(model_groups(model).families["a"])


def test_copies_of_admm_come_back(model, tmp_path, monkeypatch):
    model.estimator.copy_norms_ = np.array([0.0, 2.0])
    model.note_facts(csr_array(model.matrix(TEXTS)))
    for most in (10, 0):  # all groups are stored, or only the foremost
        monkeypatch.setattr(model_module, "MOST_MEMBERSHIPS", most)
        model.save(tmp_path / "m.spinney")
        back = TextModel.load(tmp_path / "m.spinney")
        assert model_groups(back) == model_groups(model)
        assert model_groups(back).n_removed == 1
    monkeypatch.setattr(model_module, "MOST_MEMBERSHIPS", 10)
    for wrong, said in ((np.ones(3), "number of copies"), (np.array([-1.0, 1.0]), "copy_norms")):
        model.estimator.copy_norms_ = wrong
        model.save(tmp_path / "m.spinney")
        with pytest.raises(ModelFileError, match=said):
            TextModel.load(tmp_path / "m.spinney")


def test_groups_over_other_features_are_damage(model, tmp_path):
    model.estimator.groups = Groups.from_lists([[0, 1]], 2)
    model.save(tmp_path / "m.spinney")
    with pytest.raises(ModelFileError, match="groups over 2 features"):
        TextModel.load(tmp_path / "m.spinney")


@pytest.mark.parametrize(
    "wrong",
    [{"stored": "all"}, {"total": None}, {"n_removed": 0.5}, {"families": []}, {"families": {"a": [1]}}],
)
def test_counts_that_are_none_are_damage(model, tmp_path, wrong):
    model.facts["groups"] |= wrong
    model.save(tmp_path / "m.spinney")
    with pytest.raises(ModelFileError, match="group counts"):
        TextModel.load(tmp_path / "m.spinney")
