"""Files of taggers: small, the same model after as before, and readable if an earlier version wrote them."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import spinney
from spinney.errors import ModelFileError
from spinney.files import read_model, write_model
from spinney.structure import WordClasses
from spinney.tagging import Tagger
from spinney.tagging.storing import shortest, stored_weights
from spinney.tagging.support import Shape
from spinney.tagging.weights import ChainWeights

OLD = Path(__file__).parent / "old_files"
X = [
    [("the", "DT"), ("old", "JJ"), ("dog", "NN"), ("sees", "VBZ"), ("a", "DT"), ("naïve", "JJ"), ("cat", "NN"),
     (".", ".")],
    [("a", "DT"), ("cat", "NN"), ("hears", "VBZ"), ("the", "DT"), ("dog", "NN"), (".", ".")],
]  # fmt: skip
Y = [
    ["B-NP", "I-NP", "I-NP", "B-VP", "B-NP", "I-NP", "I-NP", "O"],
    ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "O"],
]
PATTERNS = "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nU2:%suffix[0,0,2]\nU3:%class[0,0,brown]\nB"
SPARSE = {"penalty": "elasticnet", "lam": 0.2, "l2": 0.01, "tol": 1e-3}  # as when the old files were written


def tagger(**given):
    brown = WordClasses(["dog", "cat", "fox", "the", "a"], [0, 0, 0, 1, 1], paths=["0", "1"])
    return Tagger(PATTERNS, classes={"brown": brown}, **{"lam": 0.1, **given}).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "given", "marginals"),
    [
        ("dense", {"lam": 0.1}, [0.005098, 0.004853, 0.985299, 0.004751]),
        ("sparse", SPARSE, [0.010034, 0.00815, 0.97443, 0.007386]),
    ],
)
def test_files_of_format_2(name, given, marginals, tmp_path):
    old = spinney.load(OLD / f"{name}-format2.spinney")
    assert old.predict(X) == Y
    np.testing.assert_allclose(old.predict_marginals(X[1:])[0][1], marginals, atol=1e-6)
    new = tagger(**given)
    assert [old.extractor_.names(which) for which in "ub"] == [new.extractor_.names(which) for which in "ub"]
    old.save(tmp_path / "again.spinney")
    again = spinney.load(tmp_path / "again.spinney")
    np.testing.assert_array_equal(again.weights_.full(), old.weights_.full())
    assert read_model(tmp_path / "again.spinney").tensors["values"].dtype == np.float64


@pytest.mark.parametrize("precision", ["half", "single", "double"])
@pytest.mark.parametrize("given", [{}, SPARSE, {"method": "memm"}, {"weights": "observed"}])
def test_a_model_is_the_same_after_a_round_trip(given, precision, tmp_path):
    model = tagger(precision=precision, **given)
    model.save(tmp_path / "m.spinney")
    loaded = spinney.load(tmp_path / "m.spinney")
    np.testing.assert_array_equal(loaded.weights_.full(), model.weights_.full())
    np.testing.assert_array_equal(loaded.predict_marginals(X)[0], model.predict_marginals(X)[0])
    assert [loaded.extractor_.names(which) for which in "ub"] == [
        model.extractor_.names(which) for which in "ub"
    ]
    assert loaded.strongest(3) == model.strongest(3)
    bits = {"half": np.float16, "single": np.float32, "double": np.float64}
    assert read_model(tmp_path / "m.spinney").tensors["values"].dtype == bits[precision]


def test_a_loaded_tagger_goes_on_from_its_file(tmp_path):
    tagger().save(tmp_path / "m.spinney")
    start = spinney.load(tmp_path / "m.spinney")
    again = Tagger(PATTERNS, classes=start.classes, lam=0.1, max_iter=1).fit(X, Y, init=start)
    np.testing.assert_allclose(again.weights_.full(), start.weights_.full(), atol=1e-3)
    copied = pickle.loads(pickle.dumps(spinney.load(tmp_path / "m.spinney")))
    assert copied.predict(X) == Y


def test_weights_that_are_too_large_for_a_precision():
    weights = ChainWeights.of(np.array([1.0, 1e6, 0.1, 0.2]), Shape(2, 0, 2, start=False))
    assert weights.rounded("half").values[1] == 1e6
    assert weights.rounded("half").values[2] == np.float32(0.1)


def test_numbers_take_the_shortest_type_that_keeps_them():
    for dtype in (np.float16, np.float32, np.float64):
        assert shortest(np.array([0.1, 3.0], dtype).astype(np.float64)).dtype == dtype


@pytest.mark.parametrize("seed", range(20))
def test_gaps_give_the_places_back(seed, tmp_path):
    rng = np.random.default_rng(seed)
    shape = Shape(int(rng.integers(0, 9)), int(rng.integers(0, 3)), int(rng.integers(1, 20)), bool(seed % 2))
    w = rng.normal(size=shape.n_params) * (rng.random(shape.n_params) < rng.random())
    tensors = stored_weights(ChainWeights.of(w, shape))
    if "gaps.u" in tensors:
        places = np.concatenate([np.cumsum(tensors[f"gaps.{which}"].astype(int) + 1) - 1 for which in "ub"])
        places[len(tensors["gaps.u"]) :] += shape.n_mu
        np.testing.assert_array_equal(places, np.flatnonzero(w))
        np.testing.assert_array_equal(tensors["values"], w[w != 0])
    else:
        np.testing.assert_array_equal(tensors["values"], w)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("gaps.u", lambda a: a[:-1]),
        ("gaps.u", lambda a: a + np.uint8(200)),
        ("gaps.b", lambda a: np.full_like(a, 255)),
        ("gaps.u", lambda a: np.full(len(a), 2**63, np.uint64)),
        ("values", lambda a: a[:-1]),
        ("values", lambda a: (a * 9).astype(np.int32)),
        ("extractor/observations.u.patterns", lambda a: a + np.uint8(4)),
        ("extractor/observations.u.patterns", lambda a: a.astype(np.float32)),
        ("extractor/observations.u.patterns", lambda a: a[:-1]),
        ("extractor/observations.u.symbols", lambda a: a[:-1]),
        ("extractor/observations.u.symbols", lambda a: a + np.uint8(99)),
        ("extractor/observations.u.symbols", lambda a: np.zeros_like(a)),
        ("extractor/observations.u.symbols", lambda a: a.astype(np.int8) - np.int8(100)),
    ],
)
def test_damage_is_refused(name, change, tmp_path):
    path = tmp_path / "m.spinney"
    tagger(**SPARSE).save(path)
    file = read_model(path)
    tensors = {key: np.array(file.tensors[key]) for key in file.tensors}
    tensors[name] = change(tensors[name])
    strings = {key: list(file.strings[key]) for key in file.strings}
    parts = {
        name: spinney.files.Parts(header, {}, {}) for name, header in file.part_headers.items()
    }  # their arrays are among the tensors, by their full names
    write_model(path, file.kind, file.header, tensors, strings, parts)
    with pytest.raises(ModelFileError, match="damaged"):
        spinney.load(path)
