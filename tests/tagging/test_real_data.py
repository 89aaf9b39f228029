"""Taggers on real corpora: the figures of the documentation."""

import os
import zipfile

import pytest

from spinney.tagging import Tagger
from spinney.tagging.columns import read_all

DATA = os.environ.get("SPINNEY_DATA", "")
pytestmark = pytest.mark.skipif(not os.path.isdir(DATA), reason="SPINNEY_DATA names no folder of corpora")


@pytest.fixture(scope="module")
def chunks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conll2000")
    with zipfile.ZipFile(os.path.join(DATA, "nltk", "conll2000.zip")) as archive:
        for part in ("train", "test"):
            (folder / part).write_bytes(archive.read(f"conll2000/{part}.txt"))
    return read_all(folder / "train"), read_all(folder / "test")


@pytest.mark.slow
def test_chunking_by_passive_aggressive_updates(chunks):
    train, test = chunks
    tagger = Tagger("chunk", solver="pa", passes=3).fit_columns(train)
    assert tagger.facts_["parameters"] == 7_448_628  # CRFsuite's 7,448,606 and the 22 of the start label
    assert tagger.score_columns(test)["f1"] > 0.93


@pytest.mark.slow
def test_chunking_with_a_ridge(chunks):
    train, test = chunks
    assert Tagger("chunk").fit_columns(train).score_columns(test)["f1"] >= 0.936


@pytest.mark.slow
def test_chunking_with_an_elastic_net(chunks):
    train, test = chunks
    tagger = Tagger("chunk", penalty="elasticnet", lam=0.5, l2=0.01).fit_columns(train)
    assert tagger.facts_["active"] <= 0.02 * tagger.facts_["parameters"]
    assert tagger.score_columns(test)["f1"] >= 0.934


@pytest.mark.slow
def test_names():
    train, test = (read_all(os.path.join(DATA, "conll2003", f"eng.{part}.xz")) for part in ("train", "testb"))
    assert Tagger("ner").fit_columns(train).score_columns(test)["f1"] >= 0.84
