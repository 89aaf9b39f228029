"""Plain annotations become valid CoNLL-U: columns with names, and word/TAG; every mistake is one line."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spinney.corpus import ReadReport, read_conllu, write_conllu
from spinney.corpus.plain_annotations import read_annotated_columns, read_tagged_lines
from spinney.errors import InputError, OptionError


@pytest.fixture
def path(tmp_path):
    """Writes text, and gives its path."""

    def write(text):
        place = tmp_path / "a.tsv"
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        return place

    return write


def test_all_columns(path):
    text = (
        "# sent_id = x\n# text = ti sele.\n"
        "1\tti\tti\tPRON\tP\tPerson=2|Case=Nom\t2\tnsubj\tyou\tA=1\tjunk\n"
        "2\tsele\tsele\tVERB\tV\t\t0\troot\tsleep\t\t\n"
        "3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t\t_\t\n"
    )
    names = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "gloss", "misc", "_"]
    (one,) = read_annotated_columns(path(text), names)
    assert str(one) == (
        "# sent_id = x\n# text = ti sele.\n"
        "1\tti\tti\tPRON\tP\tCase=Nom|Person=2\t2\tnsubj\t_\tA=1|Gloss=you\n"
        "2\tsele\tsele\tVERB\tV\t_\t0\troot\t_\tGloss=sleep|SpaceAfter=No\n"
        "3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_"
    )


def test_spaces_blank_lines_crlf_and_words_with_spaces(path):
    found = list(
        read_annotated_columns(path("a DET\r\nb  NOUN\r\n\r\n \t\r\nnew york\tPROPN\r\n"), ["form", "upos"])
    )
    assert [(one.forms, one.upos) for one in found] == [
        (["a", "b"], ["DET", "NOUN"]),
        (["new york"], ["PROPN"]),
    ]


def test_slashes_in_words(path):
    (one,) = read_tagged_lines(path("1/2/NUM and/CCONJ ///SYM\n"))
    assert (one.forms, one.upos) == (["1/2", "and", "//"], ["NUM", "CCONJ", "SYM"])
    (one,) = read_tagged_lines(path("dogs/dog/NOUN\n"), ["form", "lemma", "xpos"])
    assert (one.forms, one.lemmas, one.xpos) == (["dogs"], ["dog"], ["NOUN"])


@pytest.mark.parametrize(
    ("text", "columns", "says"),
    [
        ("a\tDET\nb\n", "form,upos", "a.tsv:2: 1 columns where 2 are named (form, upos)"),
        ("a\tDET\n\n\tNOUN\n", "form,upos", "a.tsv:3: a word without a form"),
        ("a\tACC\n", "form,feats", "a.tsv:1: 'ACC' is not features such as Case=Acc|Number=Plur"),
        ("a\t2\nb\t1\n", "form,head", "a.tsv:1: the heads of words 1, 2 form a cycle"),
        ("a\t0\nb\t0\n", "form,head", "a.tsv:2: a second root"),
        ("a\t0\nb\t3\n", "form,head", "a.tsv:2: the head '3' is not the number of a word"),
        ("a\t0\nb\t_\n", "form,head", "a.tsv:2: the head '_' is not the number of a word"),
        ("a\t-1\n", "form,head", "the head '-1'"),
        ("a\t²\n", "form,head", "the head '²'"),
        (b"a\tDET\n\nb\t\xff\n", "form,upos", "a.tsv:3: not UTF-8"),
    ],
)
def test_mistakes_in_columns(path, text, columns, says):
    place = path(text)
    with pytest.raises(InputError) as found:
        list(read_annotated_columns(place, columns.split(",")))
    assert says in str(found.value)
    report = ReadReport()
    list(read_annotated_columns(place, columns.split(","), on_error="skip", report=report))
    assert report.skipped == 1


def test_mistakes_in_lines_and_names(path):
    with pytest.raises(InputError, match=r"a.tsv:2: 'b' is not FORM/UPOS"):
        list(read_tagged_lines(path("a/X\nb\n")))
    for columns, says in (
        (["upos"], "one of the columns must be form"),
        (["form", "form"], "the column form is named twice"),
        (["form", "pos"], "there is no column 'pos'"),
    ):
        with pytest.raises(OptionError, match=says):
            list(read_annotated_columns(path("a\n"), columns))
    with pytest.raises(OptionError, match="begin with form"):
        list(read_tagged_lines(path("a/X\n"), ["upos", "form"]))


CELLS = [
    "a",
    "_",
    "#",
    "# text = a b",
    "# a",
    "0",
    "1",
    "X=Y",
    "\t",
    " ",
    "\n",
    "\n\n",
    "/",
    "\x85",
    "\xa0",
    "\r\n",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(pieces=st.lists(st.sampled_from(CELLS), max_size=20))
def test_whatever_is_read_is_valid(tmp_path, pieces):
    place = tmp_path / "a.txt"
    place.write_text("".join(pieces), newline="")
    for read in (
        lambda: list(read_annotated_columns(place, ["form", "head"])),
        lambda: list(read_annotated_columns(place, ["form", "upos", "feats"])),
        lambda: list(read_tagged_lines(place)),
    ):
        try:
            found = read()
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017
            assert error.line is not None  # noqa: PT017
            continue
        write_conllu(tmp_path / "a.conllu", found)
        assert [one.forms for one in read_conllu(tmp_path / "a.conllu")] == [one.forms for one in found]


def test_from_the_command_line(path, tmp_path, capsys):
    from spinney.cli.main import run

    place, out = path("a\tDET\nb\tNOUN\n"), tmp_path / "o.conllu"
    assert run(["pipeline", "import", str(place), "--columns", "form,upos", "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tagged"] == 2
    assert [one.upos for one in read_conllu(out)] == [["DET", "NOUN"]]
    place.write_text("a/DET b/NOUN\n")
    assert run(["pipeline", "import", str(place), "--format", "tagged"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "2\tb\t_\tNOUN\t_\t_\t_\t_\t_\t_"
    assert run(["pipeline", "import", str(place), "--columns", "form,gloss", "-o", str(out)]) == 0
    assert "No word has a tag in the column upos" in capsys.readouterr().out
    assert run(["pipeline", "import", str(tmp_path / "a.tsx"), "--columns", "form", "-o", str(out)]) == 2
    assert "no such file" in capsys.readouterr().err
    empty = path("\n")
    assert run(["pipeline", "import", str(empty), "--columns", "form", "-o", str(tmp_path / "e.conllu")]) == 2
    assert "no sentences" in capsys.readouterr().err
    assert not (tmp_path / "e.conllu").exists()
