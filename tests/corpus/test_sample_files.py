"""The texts as files: every reader reads its own, and what is for tests is in no other file."""

from __future__ import annotations

import pytest

from spinney.corpus import read_columns, read_conllu, read_folder, read_table, read_tokenized, read_trees
from spinney.corpus.code_trees import MODULES as TREE_MODULES
from spinney.corpus.elan import ElanTiers, read_elan
from spinney.corpus.sample_files import MODULES, TOLD_APART, code_sentences, method_calls, write_sample_files
from spinney.errors import InputError


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample") / "texts"
    write_sample_files(str(folder))
    return folder


def test_every_file_is_read_by_its_reader(texts):
    assert {d.label for d in read_folder(texts / "manual")} == {
        "expressions",
        "language",
        "objects",
        "statements",
    }
    assert sum(1 for _ in read_tokenized(texts / "manual.txt")) > 1000
    assert sum(1 for _ in read_tokenized(texts / "code.txt")) > 10_000
    for part, least in (("train", 1000), ("test", 250)):
        trees = list(read_trees(texts / f"code-{part}.mrg"))
        rows = list(read_columns(texts / f"code-{part}.col"))
        assert min(len(trees), len(rows)) > least
        assert {len(row) for sentence in rows for row in sentence} == {2}
        assert all(
            d.label.isidentifier()
            for d in read_table(texts / f"calls-{part}.csv", text="text", label="label")
        )
    assert all(path.name[:4].isdigit() for path in (texts / "notes").iterdir())
    for part, n in (("train", 60), ("test", 30)):
        assert len(list(read_conllu(texts / f"invented-{part}.conllu"))) == n
    tiers = ElanTiers(words="words", upos="pos", lemmas="lemma", glosses="gloss")
    spoken = [one for path in sorted((texts / "invented-elan").iterdir()) for one in read_elan(path, tiers)]
    assert len(spoken) == 80
    assert all(set(one.upos) >= {"PUNCT"} for one in spoken)


def test_documents_of_modules_are_split_in_three(texts):
    seen = {}
    for part in ("train", "dev", "test"):
        documents = list(read_folder(texts / f"modules-{part}"))
        assert {d.label for d in documents} == set(TOLD_APART)
        assert all(len(d.text.strip().split("\n")) == 12 for d in documents)
        seen[part] = {d.id for d in documents}
    assert len(seen["train"]) == 8 * len(TOLD_APART)
    assert not seen["train"] & seen["test"]
    assert not seen["dev"] & seen["test"]


def test_unlabelled_code_is_of_other_modules(texts):
    used = {*TREE_MODULES, *TOLD_APART}
    assert used <= set(MODULES)
    own = [" ".join(s) for name in MODULES if name not in used for s in code_sentences(name)]
    assert (texts / "code.txt").read_text().splitlines() == own


def test_the_method_to_guess_is_not_told():
    (row,) = method_calls([["self", ".", "files", ".", "append", "(", "name", ".", "strip", "(", ")", ")"]])
    assert row == ("self files append name", "strip")
    assert method_calls([["f", "(", "x", ")"]]) == []


def test_other_folders_are_left_alone(texts, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError):
        write_sample_files(str(tmp_path))
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_a_folder_that_was_half_made_is_completed(texts, tmp_path):
    (tmp_path / "manual.txt").write_bytes((texts / "manual.txt").read_bytes())
    (tmp_path / ".code.txt.12345678.tmp").write_text("half")
    names = write_sample_files(str(tmp_path))
    assert (tmp_path / names[0]).read_bytes() == (texts / names[0]).read_bytes()
