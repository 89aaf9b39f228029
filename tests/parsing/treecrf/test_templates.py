"""Files of feature templates: what they may say, and one line with a remedy for each mistake."""

import pytest

from spinney.errors import InputError
from spinney.parsing.treecrf import TreeParser
from spinney.parsing.treecrf.templates import COLUMNS, KINDS, default_templates, read_templates

GOOD = "prune: h.upos m.upos\narc: h.upos m.upos\nlabel: m.upos\n"


def test_comments_and_spaces():
    templates = read_templates("\n# what is seen\n  arc :  h.upos   m-1.form # two\n\n" + GOOD)
    assert (templates[0].kind, templates[0].text) == ("arc", "h.upos m-1.form")
    assert len(templates) == 4


@pytest.mark.parametrize("rich", [False, True])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("classes", [(), ("brown",), ("brown", "Other-1")])
def test_the_built_in_templates_are_read(classes, order, rich):
    text = default_templates(classes, order, rich)
    templates = read_templates(text, classes=classes)
    assert {one.kind for one in templates} == set(KINDS[: 2 + order])
    assert "\n".join(f"{one.kind}: {one.text}" for one in templates) + "\n" == text
    assert set(default_templates(classes, order).splitlines()) <= set(text.splitlines())
    assert ("between.lower h.lower" in text) == rich


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("h.upos m.upos", "does not begin with prune:, arc:, label: or sibling:"),
        ("arcs: h.upos", "does not begin with"),
        (":", "does not begin with"),
        ("arc:", "without anything to look at (write a kind, a colon and what is seen: arc: h.upos m.upos)"),
        ("arc: h.uops", "no column 'uops' (did you mean upos?)"),
        ("arc: h.zzz", "no column 'zzz' (there are form, lower, lemma"),
        ("arc: h.brown:4", "no column 'brown:4'"),
        ("arc: h.upos:2", "no column 'upos:2' (did you mean upos?)"),
        ("arc: between.zzz", "no column 'zzz'"),
        ("arc: g.upos", "'g.upos' is nothing that a template can look at (write a word with a column"),
        ("arc: h+10.upos", "'h+10.upos' is nothing that a template can look at"),
        ("arc: h+0.upos", "is nothing that a template can look at"),
        ("arc: h.", "is nothing that a template can look at"),
        ("arc: direktion", "is nothing that a template can look at"),
        ("arc: s.upos", "there is a sibling (s) in templates of that kind only (begin with sibling:)"),
        ("label: gap", "gap is for siblings only (for arcs, write distance)"),
        ("arc: h+1.feat", "feat is for h, m and s themselves, not for their neighbours (use feats)"),
        ("arc: h.feat agreement", "only one of between, feat and agreement"),
        ("arc: between.upos m.feat", "only one of between, feat and agreement"),
        ("arc: h.upos m.upos h.upos", "names the same thing twice (name it once)"),
        ("arc:  h.upos  m.upos", "is there twice (leave one of them out)"),
    ],
)
def test_mistakes_are_told_with_their_line_and_a_remedy(line, what, make):
    path = make(f"# mine\n{GOOD}{line}  # here\n", "mine.templates")
    with pytest.raises(InputError) as caught:
        TreeParser.train([_sentence()], templates=str(path))
    told = str(caught.value)
    assert told.startswith(f"{path}:5: ")
    assert what in told
    assert told.endswith(")")
    assert "\n" not in told


@pytest.mark.parametrize("kind", ["prune", "arc", "label"])
def test_kinds_that_must_be_there(kind, make):
    lines = [line for line in GOOD.splitlines() if not line.startswith(kind)]
    path = make("\n".join(lines))
    with pytest.raises(InputError) as caught:
        read_templates(path.read_text(), str(path))
    assert str(caught.value) == (
        f"{path}: no template of the kind {kind} (add a line such as {kind}: h.upos m.upos)"
    )


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="none: no such file"):
        TreeParser.train([_sentence()], templates=str(tmp_path / "none"))


def test_every_column_is_told_of_in_the_documentation():
    from pathlib import Path

    page = (Path(__file__).parents[3] / "docs" / "parse.md").read_text(encoding="utf-8")
    section = page.partition("## Dependency trees: tree CRFs")[2].partition("\n## ")[0]
    assert all(f"`{column}`" in section for column in COLUMNS)


def _sentence():
    from made_up_treebank import treebank

    return treebank(1)[0]
