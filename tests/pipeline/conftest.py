"""A small pipeline of an invented language, learned once, with and without trees."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from spinney.corpus import write_conllu
from spinney.corpus.sample_treebank import sample_treebank


@pytest.fixture(scope="session")
def treebank():
    return sample_treebank(40)


@pytest.fixture(scope="session")
def files(tmp_path_factory, treebank):
    """A folder with a treebank, one without trees, a test treebank, raw text and two pipelines."""
    from spinney.pipeline import fit

    folder = tmp_path_factory.mktemp("pipeline")
    flat = [replace(one, heads=[], deprels=[]) for one in treebank]
    write_conllu(folder / "train.conllu", treebank)
    write_conllu(folder / "flat.conllu", flat)
    write_conllu(folder / "test.conllu", sample_treebank(15, 5))
    (folder / "raw.txt").write_text("Nas osu. Vanira kelak lanamit!\n\nKe miru selemi.\n")
    fit(str(folder / "train.conllu"), jackknife=2).save(folder / "whole.spinney")
    fit(str(folder / "flat.conllu"), jackknife=2).save(folder / "flat.spinney")
    return folder


@pytest.fixture
def spinney(capsys):
    """Runs a command: its exit code, and what it prints."""
    from spinney.cli.main import run

    def call(*words):
        capsys.readouterr()
        code = run([str(word) for word in words])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.fixture
def facts(spinney):
    """Runs a command that must succeed: its JSON."""

    def call(*words):
        code, out, err = spinney(*words, "--json", "--quiet")
        assert code == 0, err
        return json.loads(out)

    return call
