"""20 Newsgroups from the raw folder, as a user would: one command each."""

import json
import os
import tarfile
from pathlib import Path

import pytest

from spinney.cli.main import run

DATA = os.environ.get("SPINNEY_DATA", "")
ARCHIVE = Path(DATA) / "20newsgroups" / "20news-bydate.tar.xz"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not ARCHIVE.is_file(), reason="needs 20 Newsgroups in the folder that SPINNEY_DATA names"
    ),
]


@pytest.fixture(scope="module")
def newsgroups(tmp_path_factory):
    root = tmp_path_factory.mktemp("newsgroups")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root, filter="data")
    return root


def test_twenty_newsgroups_with_l1(newsgroups, tmp_path, capsys):
    model = str(tmp_path / "news.spinney")
    train, test = (str(newsgroups / f"20news-bydate-{part}") for part in ("train", "test"))
    assert (
        run(["classify", "fit", train, "--encoding", "latin-1", "--model", model, "--lam", "0.3", "--json"])
        == 0
    )
    facts = json.loads(capsys.readouterr().out)
    assert facts["documents"] == 11_314
    assert facts["violation"] < 1e-4
    assert facts["active"] < 0.01 * facts["parameters"]
    assert run(["classify", "eval", model, test, "--encoding", "latin-1", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["documents"] == 7_532
    assert scores["accuracy"] > 0.78
    assert run(["classify", "inspect", model, "--json"]) == 0
    strongest = json.loads(capsys.readouterr().out)["strongest"]
    assert "hockey" in dict(strongest["rec.sport.hockey"])
    assert "encryption" in dict(strongest["sci.crypt"])
