"""Pages of regularisation paths, and how a λ was chosen."""

import numpy as np
import pytest

from spinney.classify import LinearClassifier
from spinney.classify.views import weight_path
from spinney.optim.paths import Path, how_chosen
from spinney.report.html import view_page

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    return X, np.array(list("abc"))[np.argmax(X[:, :3], axis=1)]


def test_the_paths_of_a_classifier(numbers):
    X, y = numbers
    points = LinearClassifier("l1").path(X, y, n=5)
    names = [HOSTILE, "one", "two", "three", "four"]
    path = weight_path(points, names, ["a", "b", "c"], {"dev accuracy": [0.1, 0.5, 0.9, 0.9, 0.8]})
    assert path.active == [point.active for point in points]
    assert path.best == 2  # of equals the first, which is the sparsest
    for k, label in enumerate("abc"):
        for j, name in enumerate(names):
            line = path.weights.get(f"{name} → {label}")
            assert line is None or line == [point.coef[k, j] for point in points]
    totals = [sum(map(abs, line)) for line in path.weights.values()]
    assert totals == sorted(totals, reverse=True)
    page = view_page(HOSTILE, path.views())
    text = page.html()
    assert text == view_page(HOSTILE, path.views()).html()
    assert "<img" not in text
    assert [section.title for section in page.sections] == ["Weights", "Scores", "Active weights", "Models"]
    assert page.known["dev accuracy at best λ"] == 0.9


def test_two_classes_share_their_weights(numbers):
    X, y = numbers
    points = LinearClassifier("l1").path(X, y == "a", n=3)
    assert set(weight_path(points, list("vwxyz"), ["False", "True"], {}).weights) <= set("vwxyz")


def test_a_path_of_nothing():
    path = weight_path([], [], [], {})
    assert path.best is None
    assert "<h2>Models</h2>" in view_page("none", path.views()).html()
    assert view_page("one", Path([1.0], [0], [1.0], [0.0], [0.1]).views()).known == {"models": 1}


def test_how_a_strength_was_chosen():
    tried = [
        {"lam": lam, "l1": l1, "score": lam + l1, "active": 3} for lam in (0.1, 1.0) for l1 in (0.0, 2.0)
    ]
    [section] = view_page("", how_chosen(tried, "accuracy", 0.1)).sections
    text = "".join(section.blocks)
    assert "4 settings" in text
    assert "λ = 0.1 was chosen" in text
    assert text.count('<figure class="chart"') == 2
    assert text.count("l1 = 2 ") == 2  # a line for each, in both charts
    nested = [{"params": {"lam": 0.1 * i}, "score": 0.5} for i in (1, 2)]
    assert how_chosen(nested)
    for nothing in (None, [], [{"lam": 1.0, "score": 2.0}], {"lam": 1}, ["x", 3], [{"lam": "a"}] * 2):
        assert len(how_chosen(nothing)) <= 1
