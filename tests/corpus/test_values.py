"""Features with given values: their matrix, and classifiers of them."""

import numpy as np
import pytest
from sklearn.feature_extraction import DictVectorizer
from sklearn.svm import LinearSVC

from spinney.classes import HiddenMarkov, token_rows
from spinney.classify import TextModel
from spinney.classify.recipes import fit
from spinney.corpus import sentence_arrays
from spinney.corpus.text_features import TextFeatures
from spinney.corpus.values import ValueVectoriser, values_of
from spinney.errors import InputError, OptionError, SettingError
from spinney.views import as_json

CELLS = ["b:2|a:-0.5", "a", "c\\:d:3|B:1e-2", "|"]


def test_the_matrix_is_that_of_scikit_learn():
    made, theirs = ValueVectoriser(), DictVectorizer()
    X = made.fit_transform(CELLS)
    np.testing.assert_array_equal(
        X.toarray(), theirs.fit_transform(map(dict, map(values_of, CELLS))).toarray()
    )
    assert made.names == theirs.get_feature_names_out().tolist()
    assert made.transform(["a:4|unknown:1|a:1"]).toarray().tolist() == [[0.0, 5.0, 0.0, 0.0]]
    assert TextFeatures("values", min_count=2).fit(CELLS).names == ["a"]
    assert TextFeatures("values").tokens_of("A:2|b") == ["A", "b"]


def test_what_is_refused():
    with pytest.raises(InputError, match="document 2: 'x:y': 'y' is not a finite number"):
        ValueVectoriser().fit_transform(["a:1", "x:y"])
    with pytest.raises(SettingError, match="there is no word to learn from"):
        TextFeatures("values").fit(["|", "|"])
    with pytest.raises(OptionError, match="ngrams is for words, not for values"):
        TextFeatures("values", ngrams=2)
    with pytest.raises(SettingError, match="lowercase has no effect with features values"):
        fit((CELLS, list("aabb")), features="values", lowercase=False)


def test_a_machine_with_a_hellinger_kernel_from_cells_is_that_of_liblinear_on_rows(tmp_path):
    """Supersenses after Grave 2014, section 4.4: square roots of posteriors, a squared hinge."""
    rng = np.random.default_rng(0)
    kinds = {"animal": (["dog", "cat"], ["barks", "runs"]), "food": (["soup", "bread"], ["smells", "cools"])}
    chosen = rng.choice(sorted(kinds), 300).tolist()
    lines = [["the", rng.choice(kinds[kind][0]), rng.choice(kinds[kind][1])] for kind in chosen]
    text = sentence_arrays(lines)
    hidden = HiddenMarkov(6, em="batch", passes=10, random_state=1).fit(text)
    at = np.arange(1, text.n_tokens, 3)  # the nouns
    rows = token_rows(hidden, text, "both", roots=True, at=at)
    cells = ["|".join(f"{j}:{float(value)!r}" for j, value in enumerate(row) if value) for row in rows]
    train, test = slice(0, 100), slice(100, None)
    model = fit(
        (cells[train], chosen[train]),
        features="values",
        loss="squared-hinge",
        penalty="l2",
        lam=1.0,
        tol=1e-9,
    )
    # liblinear penalises the intercept, as the weight of a column: a large one is hardly penalised.
    peer = LinearSVC(C=1.0, dual=False, intercept_scaling=1e3, tol=1e-10, max_iter=100_000)
    peer.fit(rows[train], chosen[train])
    margins = model.estimator.decision_function(model.matrix(cells[test]))
    np.testing.assert_allclose(margins, peer.decision_function(rows[test]), atol=1e-3)
    model.save(tmp_path / "m.spinney")
    back = TextModel.load(tmp_path / "m.spinney")
    assert back.predict(cells[test]).tolist() == peer.predict(rows[test]).tolist()
    [found] = as_json(back.explain(cells[:1], documents=1))["explained"]
    total = found["intercept"] + sum(value for _, value in found["contributions"])
    assert abs(total) == pytest.approx(
        abs(float(back.estimator.decision_function(back.matrix(cells[:1]))[0]))
    )
