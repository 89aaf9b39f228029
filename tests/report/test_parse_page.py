"""The pages of parsers, and trees as people see them."""

import random
import re
from copy import copy

import numpy as np
import pytest

from spinney.cli.main import run
from spinney.corpus import Tree, write_trees
from spinney.corpus.conllu import Sentence, write_conllu
from spinney.evaluate.parseval import SCORED, bracket_counts
from spinney.evaluate.wrong_nodes import wrong_nodes
from spinney.parsing.automata import HeadAutomata
from spinney.parsing.page import LONGEST
from spinney.parsing.parser import Parser
from spinney.report.html import view_page
from spinney.report.parse_arcs import drawn_arcs
from spinney.report.parse_trees import drawn_tree, phrase_lines
from spinney.settings.report import Report

HOSTILE = "</script><img>"
TREES = [
    Tree.parse(text)
    for text in (
        "(S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat))) (. .))",
        "(S (NP (N dogs)) (VP (V bark) (ADVP (R here))) (. .))",
        "(S (NP (NP (D the) (N dog)) (PP (P in) (NP (N parks)))) (VP (V saw) (NP (N cats))))",
        f"(S (NP (N {HOSTILE})) (VP (V saw) (NP (D the) (N dog))))",
    )
]
SENTENCES = [
    Sentence(["the", "dog", "barks"], upos=["DET", "NOUN", "VERB"], heads=[2, 3, 0]),
    Sentence(["dogs", "see", HOSTILE], upos=["NOUN", "VERB", "NOUN"], heads=[2, 0, 2]),
]


def page_of(model, title, data=None, found=None, **options):
    """The page of a model, shown on data for which it finds these trees or heads."""
    model = copy(model)
    if found is not None:
        name = "parse" if isinstance(model, Parser) else "predict"
        setattr(model, name, lambda sentences: [found[i] for i, _ in enumerate(sentences)])
    return view_page(title, model.report_views(data, Report(**options)))


@pytest.fixture(scope="module")
def parser():
    return Parser("em", states=2, rare=0, max_iter=3).fit(TREES)


def test_page_of_the_parser_alone(parser):
    page = page_of(parser, HOSTILE).html()
    assert page == page_of(parser, HOSTILE).html()
    assert "<img" not in page
    assert page.count("<script") == 1
    assert "http" not in page.replace("http-equiv", "")
    for text in ("<h2>Labels</h2>", "<h2>Rules</h2>", "NP → D N", "part of S", "NP-0", "&lt;/script&gt;"):
        assert text in page
    assert page.count("<svg width") == len(parser.facts["examples"]) == 2  # of five words and more
    assert page.count("<details>") == parser.rules_.n_labels


def test_page_with_trees_beside_each_other(parser):
    wrong = Tree.parse("(S (NP (D the) (N dog) (V saw)) (VP (D a) (N cat)) (. .))")
    page = page_of(parser, "dogs", TREES[:2], [wrong, TREES[1]]).html()
    assert page.count("<svg width") == 3  # two, and one that both have
    assert page.count('class="wrong"') == 3 + 2
    assert "Sentence 2: F1 100.0%" in page
    assert "<h2>Scores</h2>" in page
    assert page_of(parser, "dogs", TREES[:1], [wrong], documents=0).html().count("<svg width") == 0
    alone = page_of(parser, "dogs", [tree.leaves() for tree in TREES], TREES).html()
    assert alone.count("<svg width") == 4
    assert "<h2>Scores</h2>" not in alone


def test_long_sentences_are_not_drawn(parser):
    long = Tree("S", [Tree("N", word="dogs")] * (LONGEST + 1))
    page = page_of(parser, "dogs", [long, TREES[0]], [long, TREES[0]]).html()
    assert page.count("<svg width") == 1
    assert "Sentence 2" in page


def test_spectral_states_are_not_told(tmp_path):
    parser = Parser("spectral", states=2, rare=0).fit(TREES * 6)
    page = page_of(parser, "dogs", top=5).html()
    assert "arbitrary basis" in page
    assert "one end" in page
    assert "typical" not in page


def test_several_grammars_and_a_strange_file(parser, tmp_path):
    several = Parser("em", states=2, grammars=2, rare=0, max_iter=2).fit(TREES)
    several.facts = {
        "sentences": "many",
        "states": [["x"]],
        "words": None,
        "labels": {},
        "examples": [3, ["a", 1], []],
    }
    page = page_of(several, "dogs").html()
    assert "This is the first of 2 grammars." in page
    assert "<h2>Trees</h2>" not in page


def test_examples_are_from_all_over_the_treebank():
    trees = [
        Tree("S", [Tree("N", word=f"{i}.{t}") for t in range(n)]) for i, n in enumerate([4, 5, 12, 13] * 5)
    ]
    found = Parser("pcfg", rare=0).fit(trees).facts["examples"]
    assert [words[0] for words in found] == ["1.0", "5.0", "9.0", "13.0", "17.0"]
    assert {len(words) for words in found} <= set(range(5, 13))


def random_tree(rng, words):
    """Any bracketing, with phrases that hold but one phrase, over words of which some are punctuation."""
    trees = [Tree(rng.choice(["N", "V", ".", ","]), word=word) for word in words]
    while len(trees) > 1 or rng.random() < 0.5:
        start = rng.randrange(len(trees))
        stop = rng.randint(start + 1, min(start + 3, len(trees)))
        trees[start:stop] = [Tree(rng.choice(["S", "NP", "VP-SBJ", "PRT", "ADVP", "TOP"]), trees[start:stop])]
    return Tree("S", trees)


def test_marks_are_what_parseval_counts():
    rng = random.Random(0)
    compared = 0
    for _ in range(300):
        words = [f"w{i}" for i in range(rng.randint(1, 7))]
        gold, guess = random_tree(rng, words), random_tree(rng, words)
        n_gold, n_guess, n_both, _, _, _, status = bracket_counts([gold], [guess])[0]
        if status != SCORED:
            continue
        compared += 1
        for tree, marks, lacking in zip((gold, guess), wrong_nodes(gold, guess), (n_gold, n_guess)):
            assert sum(bad for node, bad in zip(tree.nodes(), marks) if node.children) == lacking - n_both
    assert compared > 100


def test_punctuation_and_repeated_brackets():
    gold = Tree.parse("(S (NP (NP (N a))) (VP (V b)) (. .))")
    guess = Tree.parse("(S (S (NP (N a)) (VP (V b))) (. .))")
    missed, wrong = wrong_nodes(gold, guess)
    assert [node.label for node, bad in zip(gold.nodes(), missed) if bad] == ["NP"]
    assert [node.label for node, bad in zip(guess.nodes(), wrong) if bad] == ["S"]


def test_nothing_in_a_drawing_overlaps():
    for tree in TREES:
        drawing = drawn_tree(tree)
        places = re.findall(r'<text[^>]* x="([\d.]+)" y="([\d.]+)"', drawing)
        assert len(set(places)) == len(places) == sum(1 for _ in tree.nodes()) + len(tree.leaves())
        width = int(re.search(r'width="(\d+)"', drawing)[1])
        assert max(float(x) for x, _ in places) < width


def test_trees_of_any_depth():
    deep = Tree("N", word="dog")
    for _ in range(3000):
        deep = Tree("NP", [Tree("D", word="the"), deep])
    assert drawn_tree(deep).count("<text") == 6001 + 3001
    assert len(phrase_lines(Tree.parse("(S (A a) (B (C c) (D d)))"))) == 2
    assert all(not any(marks) for marks in wrong_nodes(deep, deep))


def test_page_of_automata():
    model = HeadAutomata("bigram").fit(SENTENCES)
    page = page_of(model, HOSTILE).html()
    assert "<img" not in page
    assert "NOUN, left" in page
    assert "(root), right" in page
    tried = SENTENCES, [np.array([3, 3, 0]), np.array([2, 0, 2])]
    page = page_of(model, HOSTILE, *tried).html()
    assert "<img" not in page
    arcs = page.count('class="arc"') + page.count('class="arc ')
    assert arcs == 6 + 1  # one is wrong, and the right one is drawn too
    assert "the → dog" not in page.replace("dog → the (right, but missed)", "")
    assert 'class="arc"' not in page_of(model, "none", *tried, documents=0).html()


def arcs_of(drawing):
    """The places of arcs: where they start and end, and how high they lie."""
    return re.findall(r'class="arc[^"]*" d="M([\d.]+) [\d.]+V([\d.]+)Q[^"]*Q([\d.]+) ', drawing)


def test_arcs_lie_above_those_inside_them_and_cross_no_word():
    words, heads = list("abcdefg"), [4, 1, 1, 0, 4, 7, 4]
    drawing = drawn_arcs(words, [], heads)
    spans = sorted((abs(float(a) - float(b)), -float(top)) for a, top, b in arcs_of(drawing))
    assert len(spans) == 6
    assert [height for _, height in spans] == sorted(height for _, height in spans)
    assert drawn_arcs(words, [], heads, heads) == drawing
    assert drawn_arcs([HOSTILE], ["N"], [0]).count("<img") == 0
    assert drawn_arcs(["x" * 99], ["N"], [0]).count("x" * 99) == 2  # what is told of it, not what is drawn


def test_report_command(tmp_path, parser, capsys):
    model, trees, page = (tmp_path / name for name in ("p.spinney", "t.mrg", "page.html"))
    parser.save(model)
    write_trees(trees, TREES)
    assert run(["report", str(model), "--data", str(trees), "-o", str(page), "--json", "--quiet"]) == 0
    assert '"f1": 1.0' in capsys.readouterr().out
    assert "<h2>Trees</h2>" in page.read_text()
    lines = tmp_path / "t.txt"
    lines.write_text("the dog saw ( cats )\n\ndogs bark\n")
    assert run(["report", str(model), "--data", str(lines), "-o", str(page), "--quiet"]) == 0
    assert page.read_text().count("<svg width") == 2
    table = tmp_path / "t.csv"
    table.write_text("text\nthe dog\n")
    capsys.readouterr()
    assert run(["report", str(model), "--data", str(table), "-o", str(page), "--quiet"]) == 2
    assert "needs trees" in capsys.readouterr().err


def test_report_command_for_automata(tmp_path, capsys):
    model, text, page = (tmp_path / name for name in ("a.spinney", "t.conllu", "page.html"))
    HeadAutomata("bigram").fit(SENTENCES).save(model)
    write_conllu(text, SENTENCES)
    assert run(["report", str(model), "--data", str(text), "-o", str(page), "--json", "--quiet"]) == 0
    assert '"uas"' in capsys.readouterr().out
    assert "<h2>Scores</h2>" in page.read_text()
