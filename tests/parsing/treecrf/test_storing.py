"""Files of tree CRFs: the same trees come back, and what is damaged is refused or harmless."""

import json

import numpy as np
import pytest
from made_up_treebank import treebank
from model_files import damage_array, damage_facts, damage_strings, packed, unpacked

import spinney
from spinney.errors import ModelFileError, SpinneyError
from spinney.parsing import fit
from spinney.parsing.treecrf import TreeParser
from spinney.structure import WordClasses
from spinney.views import as_json

BANK, NEW = treebank(25, 1, crossing=True), treebank(6, 3, crossing=True)
CLASSES = WordClasses(["the", "a", "dog", "cat"], [0, 0, 1, 2], paths=["00", "01", "1"])


def _trained(**how):
    return TreeParser.train(
        BANK, dev=NEW, solver="adagrad", passes=3, threads=1, classes=[{"brown": CLASSES}], **how
    )


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("tree") / "good.spinney"
    _trained().save(path)
    return path.read_bytes()


@pytest.mark.parametrize("how", [{}, {"order": 1, "trees": "all"}], ids=["siblings", "all trees"])
def test_the_same_trees_and_the_same_bytes(how, tmp_path):
    path, parser = tmp_path / "m.spinney", _trained(**how)
    parser.save(path)
    good = path.read_bytes()
    again = spinney.load(path)
    assert isinstance(again, TreeParser)
    assert again.parse(NEW) == parser.parse(NEW)
    assert again.facts == json.loads(json.dumps(parser.facts))
    assert (again.relations, again.templates, again.projective) == (
        parser.relations,
        parser.templates,
        parser.projective,
    )
    np.testing.assert_array_equal(again.w, parser.w.astype(np.float32))
    again.save(tmp_path / "again.spinney")
    assert (tmp_path / "again.spinney").read_bytes() == good
    assert as_json(again.views()).keys() == as_json(parser.views()).keys()


def test_a_file_that_says_nothing_of_the_rough_model_is_of_a_parser_without_its_scores(good, tmp_path):
    """Files of earlier versions."""
    facts, arrays = unpacked(good)
    path = tmp_path / "earlier.spinney"
    header = {key: value for key, value in facts["header"].items() if key != "rough"}
    path.write_bytes(packed({**facts, "header": header}, arrays))
    (tmp_path / "now.spinney").write_bytes(good)
    now, earlier = spinney.load(tmp_path / "now.spinney"), spinney.load(path)
    assert (now.rough, earlier.rough) == (0.15, 0.0)
    chances = [one for _, one, _ in earlier.probable(NEW)]
    assert chances != [one for _, one, _ in now.probable(NEW)]
    now.rough = 0.0
    assert chances == [one for _, one, _ in now.probable(NEW)]


def test_the_settings_of_the_fit_come_back(make, tmp_path):
    bank = make("".join(f"{one}\n\n" for one in BANK), "bank.conllu")
    parser = fit(str(bank), method="tree-crf", lam=0.2, order=1)
    parser.save(tmp_path / "m")
    again = spinney.load(tmp_path / "m")
    assert again.settings == parser.settings
    assert 'method = "tree-crf"' in again.config()
    assert "lam = 0.2" in again.config()


def _works(path):
    """What a damaged model does: it is refused, or gives trees and views."""
    try:
        model = spinney.load(path)
        found = list(model.probable(NEW[:2], threads=1))
        assert [len(tree.heads) for tree, _, _ in found] == list(map(len, NEW[:2]))
        assert 1 <= len(model.kbest(NEW[0], 2)) <= 2
        as_json(model.views())
        as_json(model.explain(NEW[:1], top=2))
    except SpinneyError as error:
        return "\n" in str(error)
    return True


def _numbers(array):
    """Other arrays in its place."""
    yield array[:-1]
    yield array[: len(array) // 2]
    yield np.concatenate([array, array[-1:]])
    yield array[::-1]
    yield array.reshape(1, -1)
    yield np.zeros_like(array)
    yield array.astype(np.float64 if array.dtype != np.float64 else np.int32)
    limits = np.finfo(array.dtype) if array.dtype.kind == "f" else np.iinfo(array.dtype)
    for place, value in ((0, limits.max), (len(array) // 2, 1), (-1, limits.min), (-1, limits.max)):
        other = array.copy()
        other[place] = value
        yield other


def test_every_tensor_damaged_in_every_way(good, tmp_path):
    facts, arrays = unpacked(good)
    path = tmp_path / "bad.spinney"
    ended = {True: 0, False: 0}
    for name, array in arrays.items():
        if not array.size:
            continue
        for other in _numbers(array):
            path.write_bytes(packed(facts, {**arrays, name: np.ascontiguousarray(other)}))
            ended[_works(path)] += 1
    assert ended[False] > 80
    assert ended[True] > 10  # other weights are weights


@pytest.mark.parametrize("name", ["arc_templates", "label_templates", "relation", "relation_counts"])
def test_numbers_out_of_range_never_reach_a_kernel(good, tmp_path, name):
    facts, arrays = unpacked(good)
    for value in (np.iinfo(arrays[name].dtype).max, np.iinfo(arrays[name].dtype).min):
        if not value:
            continue
        other = arrays[name].copy()
        other[-1] = value
        path = tmp_path / "bad.spinney"
        path.write_bytes(packed(facts, {**arrays, name: other}))
        with pytest.raises(ModelFileError, match="damaged"):
            spinney.load(path)


def test_every_tensor_and_fact_is_needed(good, tmp_path):
    facts, arrays = unpacked(good)
    path = tmp_path / "bad.spinney"
    for name in arrays:
        if ":" in name:
            continue
        path.write_bytes(packed(facts, {key: array for key, array in arrays.items() if key != name}))
        if name.startswith("classes"):
            _works(path)
            continue
        with pytest.raises(ModelFileError):
            spinney.load(path)
    for name in ("projective", "prune", "classes", "facts"):
        header = {key: value for key, value in facts["header"].items() if key != name}
        path.write_bytes(packed({**facts, "header": header}, arrays))
        with pytest.raises(ModelFileError, match="damaged"):
            spinney.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prune", {"share": 0.0, "most": 8}), ("prune", {"share": 2.0, "most": 8}),
        ("prune", {"share": None, "most": 8}), ("prune", {"share": 0.1, "most": 0}),
        ("prune", {"share": 0.1, "most": 10**9}), ("prune", {"share": 0.1, "most": 1.5}),
        ("rough", -0.1), ("rough", 1.0), ("rough", "much"), ("rough", None), ("rough", True),
        ("prune", {"share": 0.1, "most": True}), ("projective", 1), ("classes", [1]), ("classes", ["other", "brown"]),
        ("classes", []), ("facts", {"tried": [{"lam": "x", "las": 1}]}), ("facts", {"tried": 3}),
        ("facts", {"tried": [None]}),
    ],
)  # fmt: skip
def test_facts_that_are_none(good, tmp_path, name, value):
    facts, arrays = unpacked(good)
    path = tmp_path / "bad.spinney"
    path.write_bytes(packed({**facts, "header": {**facts["header"], name: value}}, arrays))
    with pytest.raises(ModelFileError, match="damaged"):
        spinney.load(path)


def test_siblings_belong_to_projective_trees(good, tmp_path):
    facts, arrays = unpacked(good)
    path = tmp_path / "bad.spinney"
    path.write_bytes(packed({**facts, "header": {**facts["header"], "projective": False}}, arrays))
    with pytest.raises(ModelFileError, match="damaged: it has siblings, but not in projective trees"):
        spinney.load(path)


def test_random_damage(good, tmp_path):
    path = tmp_path / "bad.spinney"
    for seed in range(90):
        rng = np.random.default_rng(seed)
        facts, arrays = unpacked(good)
        [damage_facts, damage_array, damage_strings][seed % 3](rng, facts if seed % 3 == 0 else arrays)
        path.write_bytes(packed(facts, arrays))
        _works(path)


def test_a_fit_that_gave_no_numbers_is_not_saved(tmp_path):
    broken = _trained()
    broken.w *= np.nan
    with pytest.raises(ValueError, match="is not saved"):
        broken.save(tmp_path / "m")
