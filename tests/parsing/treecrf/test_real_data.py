"""A tree CRF of a real treebank: that of Tamil in Universal Dependencies, with its own tags."""

import os

import pytest

from spinney.corpus.conllu import read_conllu
from spinney.evaluate.attachment import attachment
from spinney.parsing.treecrf import TreeParser


@pytest.mark.slow
def test_tamil(data, tmp_path):
    root = data / "ud_small"
    if not root.exists():
        pytest.skip("no treebanks of Universal Dependencies in SPINNEY_DATA")
    train, test = (list(read_conllu(root / f"ta_ttb-ud-{part}.conllu.xz")) for part in ("train", "test"))
    parser = TreeParser.train(train, solver="adagrad")
    scores = attachment(test, parser.parse(test), punctuation=True)
    assert scores.uas > 0.76
    assert scores.las > 0.685
    parser.save(tmp_path / "tamil.spinney")
    assert os.path.getsize(tmp_path / "tamil.spinney") < 2e6
    assert parser.facts["active"] < 0.4 * parser.facts["parameters"]
