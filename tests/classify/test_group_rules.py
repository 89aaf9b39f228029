"""Groups and trees that are made inside fit, from the names of features: in pipelines, searches and text models."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from spinney.classify import LinearClassifier, LinearClassifierCV, TextFeatures, TextModel, TreeClassifier
from spinney.classify.group_rules import groups_in_fit
from spinney.errors import InputError, OptionError, SettingError
from spinney.structure import Groups, WordClasses

pd = pytest.importorskip("pandas")
TEXTS = ["walk walked good", "walking good", "talk bad", "talked bad talking", "walks good", "talks bad"] * 3
LABELS = ["+", "+", "-", "-", "+", "-"] * 3
CLASSES = WordClasses(
    ["walk", "walked", "walks", "talk", "talked", "talks", "good"],
    [0, 0, 0, 1, 1, 1, 2],
    paths=["00", "01", "1"],
)


def _named(groups):
    return {name: groups[g].tolist() for g, name in enumerate(groups.names)}


def _pipeline(groups, penalty="group", **more):
    model = LinearClassifier(penalty, lam=0.1, groups=groups, **more)
    return make_pipeline(TextFeatures("counts"), model).set_output(transform="pandas")


def test_rules_of_letters():
    words = ["a", "walk", "walking", "talking", "talk", "wall"]
    assert _named(groups_in_fit("prefix:3", words, "group")) == {"wal…": [1, 2, 5], "tal…": [3, 4], "a": [0]}
    assert _named(groups_in_fit("suffix:3", words, "group")) == {
        "…alk": [1, 4], "…ing": [2, 3], "a": [0], "wall": [5],
    }  # fmt: skip
    nested = groups_in_fit("prefix:3,4", words, "tree-l2")
    assert nested.is_nested
    assert _named(nested)["walk…"] == [1, 2]
    alone = groups_in_fit("prefix:9", ["a", "b"], "group")
    assert [alone[g].tolist() for g in range(len(alone))] == [[0], [1]]


def test_word_classes_are_flat_or_a_tree_as_the_penalty_needs():
    words = ["walk", "walks", "talk", "good", "2024"]
    assert _named(groups_in_fit(CLASSES, words, "group")) == {
        "00": [0, 1], "01": [2], "1": [3], "2024": [4],
    }  # fmt: skip
    nested = groups_in_fit(CLASSES, words, "tree-l2")
    assert nested.is_nested
    assert _named(nested)["0"] == [0, 1, 2]
    assert len(nested.uncovered) == 0


def test_files_of_classes_and_groups(tmp_path):
    CLASSES.write_paths(tmp_path / "paths")
    CLASSES.save(tmp_path / "classes.spinney")
    words = ["walk", "walks", "talk"]
    expected = _named(groups_in_fit(CLASSES, words, "group"))
    for name in ("paths", "classes.spinney"):
        assert _named(groups_in_fit(str(tmp_path / name), words, "group")) == expected
    Groups.from_lists([[0, 1], [2]], 3, names=["a", "b"]).write_json(tmp_path / "g.json", words)
    assert _named(groups_in_fit(tmp_path / "g.json", words, "group")) == {"a": [0, 1], "b": [2]}


@pytest.mark.parametrize(
    "groups", ["prefix:4", CLASSES, lambda names: Groups.from_labels([len(n) for n in names])]
)
def test_a_pipeline_builds_its_groups_and_gives_the_same_as_groups_given(groups):
    pipeline = _pipeline(groups).fit(TEXTS, LABELS)
    names = pipeline[0].names
    assert pipeline[-1].feature_names_in_.tolist() == names
    assert pipeline[-1].groups_.n_features == len(names)
    built = groups(names) if callable(groups) else groups_in_fit(groups, names, "group")
    X = TextFeatures("counts").fit_transform(TEXTS)
    given = LinearClassifier("group", lam=0.1, groups=built).fit(X, LABELS)
    np.testing.assert_allclose(pipeline[-1].coef_, given.coef_)
    assert clone(pipeline).fit(TEXTS, LABELS).predict(TEXTS).tolist() == pipeline.predict(TEXTS).tolist()


def test_grid_search_over_rules_penalties_and_strengths():
    space = {
        "linearclassifier__groups": ["prefix:4", "suffix:2", CLASSES],
        "linearclassifier__penalty": ["group", "sparse-group"],
        "textfeatures__min_count": [1, 2],  # other features, so other groups, in each cell
    }
    search = GridSearchCV(_pipeline("prefix:3"), space, cv=2, error_score="raise").fit(TEXTS, LABELS)
    assert search.best_score_ == 1.0
    chosen = LinearClassifierCV("group", groups="prefix:4", cv=2, per_decade=1)
    found = make_pipeline(TextFeatures(), chosen).set_output(transform="pandas").fit(TEXTS, LABELS)[-1]
    assert len(found.groups_) < found.n_features_in_


def test_a_text_model_knows_its_words():
    model = TextModel(LinearClassifier("group", lam=0.1, groups="prefix:4"), TextFeatures("counts"))
    model.fit(TEXTS, LABELS)
    assert model.facts["groups"]["total"] == len(model.structures()["groups"])
    assert "walk…" in model.estimator.groups.names


def test_trees_of_classes_are_learned_inside_fit():
    rng = np.random.default_rng(0)
    centres = {"cat": [0, 0], "dog": [0, 1], "elm": [9, 0], "oak": [9, 1]}
    y = np.repeat(sorted(centres), 20)
    X = np.array([centres[label] for label in y]) + 0.1 * rng.standard_normal((80, 2))
    assert TreeClassifier("spec").fit(X, y).tree_.to_newick() == "((cat,dog),(elm,oak));"
    search = GridSearchCV(TreeClassifier(lam=0.1), {"tree": ["spec", "huffman", "balanced", None]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.9
    with pytest.raises(SettingError, match="did you mean spec"):
        TreeClassifier("spek").fit(X, y)
    with pytest.raises(OptionError, match="give a ClassTree"):
        TreeClassifier("spec").fit_counts(X, np.ones((80, 2)))


def test_a_tree_classifier_takes_rules_too():
    X = pd.DataFrame(
        TextFeatures("counts").fit_transform(TEXTS).toarray(), columns=TextFeatures().fit(TEXTS).names
    )
    model = TreeClassifier(penalty="group", lam=0.1, groups="prefix:4").fit(X, LABELS)
    assert "walk…" in model.groups_.names


def test_mistakes_are_said():
    with pytest.raises(InputError, match=r"names of the features.*set_output\(transform='pandas'\)"):
        make_pipeline(TextFeatures(), LinearClassifier("group", groups="prefix:4")).fit(TEXTS, LABELS)
    with pytest.raises(OptionError, match="prefix:N, where N"):
        _pipeline("prefix:x").fit(TEXTS, LABELS)
    with pytest.raises(InputError, match=r"prefx:4: no such file .*prefix:N or suffix:N"):
        _pipeline("prefx:4").fit(TEXTS, LABELS)
    with pytest.raises(OptionError, match="none of the 10 features is a word with a class"):
        _pipeline(WordClasses(["zebra"], [0])).fit(TEXTS, LABELS)
    with pytest.raises(OptionError, match="must return Groups, not list"):
        _pipeline(lambda names: [[0]]).fit(TEXTS, LABELS)
