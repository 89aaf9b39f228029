"""No kind of model takes numbers that are none, counts that its file does not hold, or facts of another type."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import spinney
from spinney.errors import ModelFileError
from spinney.kinds import KINDS

sys.path.insert(0, str(Path(__file__).parent))

from model_files import packed, unpacked
from tiny_models import MODELS, write_data


def test_there_is_a_harness_for_every_kind():
    assert set(MODELS) == set(KINDS)


@pytest.fixture(scope="module", params=MODELS)
def good(request, tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("model")
    write_data(folder)
    MODELS[request.param][0](folder).save(folder / "good.spinney")
    return (folder / "good.spinney").read_bytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_every_number_must_be_one(good, tmp_path, bad):
    facts, arrays = unpacked(good)
    path = tmp_path / "bad.spinney"
    for name, array in arrays.items():
        if (
            array.dtype.kind != "f"
            or not array.size
            or (bad == np.inf and name.endswith(("kappa_", "shrinkage_")))
        ):
            continue  # the prior of a series of zeros may be without bound
        for whole in (True, False):
            changed = array.copy()
            changed.reshape(-1)[slice(None) if whole else slice(-1, None)] = bad
            path.write_bytes(packed(facts, {**arrays, name: changed}))
            with pytest.raises(ModelFileError, match="damaged"):
                spinney.load(path)


def test_facts_that_are_no_facts(good, tmp_path):
    facts, arrays = unpacked(good)
    path = tmp_path / "bad.spinney"
    for name in [key for key, value in facts["header"].items() if isinstance(value, dict)]:
        for other in (None, 3, "x", []):
            path.write_bytes(packed({**facts, "header": {**facts["header"], name: other}}, arrays))
            if name != "fit" or facts["kind"] in ("parsing/Parser", "parsing/HeadAutomata"):
                with pytest.raises(ModelFileError, match="damaged"):
                    spinney.load(path)
