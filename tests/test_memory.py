"""Work that needs more memory than there is ends before it begins, with a line that names the setting."""

import pytest
from scipy.sparse import csr_array

from spinney import memory
from spinney.classes import fit as fit_classes
from spinney.classify import LinearClassifier
from spinney.corpus import Tree
from spinney.embed import fit as fit_embedding
from spinney.errors import SettingError
from spinney.memory import available, check_memory
from spinney.parsing import fit as fit_parser
from spinney.tagging import Tagger

TEXT = [["the", "dog", "barks"], ["a", "cat", "sleeps"]] * 10
TREES = [Tree.parse("(S (NP (D the) (N dog)) (VP (V barks)))")] * 20


def test_the_smallest_limit_counts(monkeypatch):
    monkeypatch.setattr(memory, "_left_on_machine", lambda: 5 * 10**9)
    monkeypatch.setattr(memory, "_left_in_group", lambda *_: None)
    monkeypatch.setattr(memory, "_left_to_process", lambda: [2 * 10**9, 3 * 10**9])
    assert available() == 2 * 10**9
    check_memory(1e9, "{order} 3", "lower {order}")
    with pytest.raises(
        SettingError, match="order 3 needs about 4 GB of memory, and 2 GB are left: lower order"
    ):
        check_memory(4e9, "{order} 3", "lower {order}")
    monkeypatch.setattr(memory, "_left_to_process", lambda: [-5])
    assert available() == 1


def test_nothing_is_refused_where_nothing_tells(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: None)
    check_memory(1e30, "{order} 3", "lower {order}")


def test_states_of_grammars():
    with pytest.raises(SettingError, match=r"states 4096 with 2 rules of two children needs about 3\.3 TB"):
        fit_parser(TREES, method="em", states=4096)


def test_dimensions_of_codes():
    with pytest.raises(
        SettingError, match=r"dimensions 1000000000 with 7 words needs about .* ask for fewer dim"
    ):
        fit_embedding(TEXT, method="lasso", dimensions=10**9, min_count=1)
    with pytest.raises(SettingError, match="dimensions 1000000000 with 7 words needs about"):
        fit_embedding(TEXT, method="lrmvl", dimensions=10**9, min_count=1)


def test_more_classes_than_words():
    with pytest.raises(ValueError, match="1000000000 classes for 6 words: ask for at most 6"):
        fit_classes(TEXT, classes=10**9, unknown="")


def test_weights_of_classifiers():
    X = csr_array(([1.0, 1.0], [0, 2 * 10**12], [0, 1, 2]), shape=(2, 2 * 10**12 + 1))
    with pytest.raises(
        SettingError, match=r"a linear model of 2,000,000,000,002 weights needs about .* without gaps"
    ):
        LinearClassifier("l1", lam=0.1).fit(X, ["a", "b"])


def test_weights_of_taggers(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(
        SettingError, match=r"a model of 2 labels and \d+ observations needs .* raise min_count"
    ):
        Tagger(lam=1.0).fit([["a", "b"]], [["X", "Y"]])
