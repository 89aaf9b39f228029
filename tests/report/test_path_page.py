"""Pages of regularisation paths, and how a λ was chosen."""

import numpy as np
import pytest

from spinney.classify import LinearClassifier
from spinney.report.path_page import Path, TaggerPath, chosen_section, classifier_path, path_page
from spinney.tagging import Tagger
from spinney.tagging.tagger import labelled_columns

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
    path = classifier_path(points, names, ["a", "b", "c"], {"dev accuracy": [0.1, 0.5, 0.9, 0.9, 0.8]})
    assert path.active == [point.active for point in points]
    assert path.best == 2  # of equals the first, which is the sparsest
    for k, label in enumerate("abc"):
        for j, name in enumerate(names):
            line = path.weights.get(f"{name} → {label}")
            assert line is None or line == [point.coef[k, j] for point in points]
    totals = [sum(map(abs, line)) for line in path.weights.values()]
    assert totals == sorted(totals, reverse=True)
    page = path_page(path, HOSTILE, "A path.")
    text = page.html()
    assert text == path_page(path, HOSTILE, "A path.").html()
    assert "<img" not in text
    assert [section.title for section in page.sections] == ["Weights", "Scores", "Active weights", "Models"]
    assert page.known["dev accuracy at it"] == 0.9


def test_two_classes_share_their_weights(numbers):
    X, y = numbers
    points = LinearClassifier("l1").path(X, y == "a", n=3)
    assert set(classifier_path(points, list("vwxyz"), ["False", "True"], {}).weights) <= set("vwxyz")


def test_the_paths_of_a_tagger_are_its_weights():
    """At each λ, the line of a weight has what the tagger itself has at that λ."""
    X = [["the", "dog", "sees"], ["a", "cat", "sees"], ["the", "cat"]]
    y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N"]]
    data = labelled_columns(X, y)
    tagger, collected, weights = Tagger("U:%x[0,0]\nB", penalty="l1"), TaggerPath(), []
    for point in tagger.path(data, [2.0, 0.5, 0.1]):
        collected.add(tagger, point, {"dev token error": 1.0 / point.lam})
        full, shape = tagger.weights_.full(), tagger.weights_.shape
        here = {}
        for o, name in enumerate(tagger.extractor_.names("u")):
            here |= {f"{name} → {label}": shape.mu(full)[o, i] for i, label in enumerate(tagger.labels_)}
        for b, name in enumerate(tagger.extractor_.names("b")):
            for z, before in enumerate([*tagger.labels_, "(start)"]):
                here |= {
                    f"{name}: {before} → {w}": shape.lam(full)[b, z, i] for i, w in enumerate(tagger.labels_)
                }
        weights.append(here)
    path = collected.path()
    assert any(": " in name.removeprefix("U:") for name in path.weights)
    for name, line in path.weights.items():
        assert line == [here.get(name, 0.0) for here in weights]
    assert path.best == 0  # of errors, the least
    assert path.active[-1] == np.count_nonzero(list(weights[-1].values()))


def test_a_path_of_nothing():
    path = classifier_path([], [], [], {})
    assert path.best is None
    assert "<h2>Models</h2>" in path_page(path, "none", "").html()
    assert path_page(Path([1.0], [0], [1.0], [0.0], [0.1]), "one", "").known == {"models": 1}


def test_how_a_strength_was_chosen():
    tried = [
        {"lam": lam, "l1": l1, "score": lam + l1, "active": 3} for lam in (0.1, 1.0) for l1 in (0.0, 2.0)
    ]
    [section] = chosen_section(tried, "accuracy", 0.1)
    text = "".join(section.blocks)
    assert "4 settings" in text
    assert "λ = 0.1 was chosen" in text
    assert text.count('<figure class="chart"') == 2
    assert text.count("l1 = 2 ") == 2  # a line for each, in both charts
    nested = [{"params": {"lam": 0.1 * i}, "score": 0.5} for i in (1, 2)]
    assert chosen_section(nested)
    for nothing in (None, [], [{"lam": 1.0, "score": 2.0}], {"lam": 1}, ["x", 3], [{"lam": "a"}] * 2):
        assert len(chosen_section(nothing)) <= 1
