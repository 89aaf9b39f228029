"""Structure goes from one model to another in one command, and what is of the wrong kind is refused in one line."""

import json
import os

import pytest

import spinney
from spinney.corpus import Tree
from spinney.structure.reading import word_classes

TREES = [
    f"(S (NP (D the) (N {n})) (VP (V {v}) (NP (D a) (N {m}))))"
    for n in ("dog", "cat", "fox")
    for v in ("sees", "bites")
    for m in ("bone", "bird")
]
SENTENCES = [" ".join(Tree.parse(tree).leaves()) for tree in TREES]
RULES = "* left\nS left VP\nNP right N\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A parser, Brown classes, topics and text, made once."""
    from spinney.cli.main import run

    folder = tmp_path_factory.mktemp("flows")
    (folder / "trees.mrg").write_text("\n".join(TREES) + "\n")
    (folder / "text.txt").write_text("\n".join(SENTENCES) + "\n")
    (folder / "rules").write_text(RULES)
    old = os.getcwd()
    os.chdir(folder)
    for command in (
        "parse fit trees.mrg --method pcfg --model parser.spinney",
        "classes fit text.txt --classes 4 --model brown.spinney",
        "embed fit text.txt --method topics --topics 2 --stop-words 0 --min-count 1 --model topics.spinney",
        "classes export brown.spinney brown.paths",
    ):
        assert run([*command.split(), "--quiet"]) == 0, command
    for i, sentence in enumerate(SENTENCES):
        label = "bites" if "bites" in sentence else "sees"
        place = folder / "documents" / label / f"{i}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{sentence}\n{SENTENCES[i - 1].replace('bites', 'sees')}\n")
    os.chdir(old)
    return folder


@pytest.fixture(autouse=True)
def _there(models, monkeypatch):
    monkeypatch.chdir(models)


# ------------------------------------------------------------------------------- a parser gives trees


def test_parser_to_tree_classes_in_one_step_and_two(facts, spinney, tmp_path):
    how = ("--tree", "--classes", 3)
    one = facts(
        "classes",
        "fit",
        "text.txt",
        *how,
        "--parser",
        "parser.spinney",
        "--head-rules",
        "rules",
        "--model",
        "one",
    )
    assert one["structure"] == "tree"
    assert one["reading"]["parser"] == "parser.spinney"
    assert one["reading"]["head_rules"] == "rules"
    assert one["flat"] == 0
    code, conllu, _ = spinney(
        "parse", "apply", "parser.spinney", "text.txt", "--what", "conllu", "--head-rules", "rules", "--quiet"
    )
    assert code == 0
    (tmp_path / "text.conllu").write_text(conllu)
    two = facts("classes", "fit", tmp_path / "text.conllu", *how, "--model", "two")
    assert one["ami"] == two["ami"]
    first, second = word_classes("one"), word_classes("two")
    assert list(first.words) == list(second.words)
    assert first.ids.tolist() == second.ids.tolist()
    assert first.paths == second.paths


def test_head_rules_matter_and_are_kept(facts):
    how = ("classes", "fit", "text.txt", "--tree", "--classes", 3, "--parser", "parser.spinney", "--model")
    with_rules, without = facts(*how, "m1", "--head-rules", "rules"), facts(*how, "m2")
    assert with_rules["ami"] != without["ami"]
    hidden = facts(*how, "m3", "--head-rules", "rules", "--method", "hmm", "--passes", 1)
    assert hidden["reading"]["head_rules"] == "rules"
    assert facts("classes", "eval", "m3", "text.txt")


def test_hidden_markov_tree(facts):
    told = facts(
        "classes", "fit", "text.txt", "--method", "hmm", "--tree", "--parser", "parser.spinney", "--classes", 2,
        "--passes", 1, "--model", "hidden",
    )  # fmt: skip
    assert told["reading"]["tree"]


def test_a_lost_parser_is_named_with_the_remedy(facts, refused, models, tmp_path):
    lost = tmp_path / "lost.spinney"
    lost.write_bytes((models / "parser.spinney").read_bytes())
    facts(
        "classes", "fit", "text.txt", "--method", "hmm", "--tree", "--parser", lost, "--classes", 2, "--passes", 1,
        "--model", "m",
    )  # fmt: skip
    lost.unlink()
    assert facts("classes", "inspect", "m")  # needs no parser
    message = refused("classes", "apply", "m", "text.txt")
    assert "lost.spinney: no such file" in message
    assert "give a model of parse fit or pipeline fit as the parser" in message
    assert facts("classes", "apply", "m", "text.txt", "--parser", "parser.spinney")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("--parser brown.spinney", "brown.spinney"),
        ("--parser prser.spinney", "did you mean parser.spinney?"),
        ("--parser text.txt", "text.txt"),
        ("--head-rules rules", "--head-rules needs a model of parse fit: give --parser"),
        ("--parser en_core_web_sm --head-rules rules", "head rules need a model of parse fit"),
        ("--parser parser.spinney --head-rules text.txt", "text.txt:1"),
    ],
)
def test_wrong_parsers(refused, command, told):
    line = refused("classes", "fit", "text.txt", "--tree", *command.split(), "--model", "m")
    assert told in line


def test_head_automata_have_no_words_to_parse(facts, refused, spinney, tmp_path):
    code, conllu, _ = spinney("parse", "apply", "parser.spinney", "text.txt", "--what", "conllu", "--quiet")
    (tmp_path / "text.conllu").write_text(conllu)
    path = tmp_path / "automata.spinney"
    facts(
        "parse", "fit", tmp_path / "text.conllu", "--method", "automata", "--column", "xpos", "--model", path
    )
    assert "this model cannot parse plain text" in refused(
        "classes", "fit", "text.txt", "--tree", "--parser", path, "--model", "m"
    )
    assert code == 0


def test_a_cache_knows_the_parser_that_made_it(facts, models, tmp_path):
    parser, cache = tmp_path / "parser.spinney", tmp_path / "cache"
    parser.write_bytes((models / "parser.spinney").read_bytes())
    how = (
        "classes",
        "fit",
        "text.txt",
        "--tree",
        "--parser",
        parser,
        "--classes",
        3,
        "--cache",
        cache,
        "--model",
        "m",
    )
    first = facts(*how)
    note = json.loads((cache / "read.json").read_text())
    assert facts(*how)["ami"] == first["ami"]
    assert json.loads((cache / "read.json").read_text()) == note
    os.utime(parser, ns=(1, 1))
    facts(*how)
    assert json.loads((cache / "read.json").read_text()) != note


# ------------------------------------------------------------------------------- groups of a classifier


def test_all_families_of_groups_at_once(facts):
    facts(
        "classify", "fit", "documents", "--groups", "sentence,brown:brown.spinney,topics:topics.spinney,parse",
        "--parser", "parser.spinney", "--tokens", "spaces", "--lam", 0.01, "--l2", 0.1, "--model", "c",
    )  # fmt: skip
    assert facts("classify", "eval", "c", "documents")["accuracy"] > 0.9
    told = facts("classify", "inspect", "c", "--top", 500)["groups"]
    assert set(told["families"]) == {"sentence", "brown", "topics", "parse"}
    names = [group["name"] for kind in ("selected", "removed") for group in told[kind]]
    assert any(name.startswith("parse: NP: the dog") for name in names)


@pytest.mark.parametrize("family", ["sentence", "parse --parser parser.spinney"])
def test_with_tokens_by_spaces_a_line_is_a_sentence(facts, tmp_path, family):
    for label, text in {"x": "the dog . sees a bird\nthe cat\n", "y": "the fox bites\na bone !\n"}.items():
        (tmp_path / label).mkdir()
        (tmp_path / label / "1.txt").write_text(text)
    facts(
        "classify",
        "fit",
        tmp_path,
        "--tokens",
        "spaces",
        "--groups",
        *family.split(),
        "--lam",
        0.001,
        "--model",
        "c",
    )
    told = facts("classify", "inspect", "c", "--top", 500)["groups"]
    names = {group["name"].partition(": ")[2] for kind in ("selected", "removed") for group in told[kind]}
    lines = {"the dog . sees a bird", "the cat", "the fox bites", "a bone !"}
    assert lines == names if family == "sentence" else lines <= {name.partition(": ")[2] for name in names}


def test_groups_of_parses_have_the_words_of_the_text(facts, tmp_path):
    """Brackets are words of their own for the parser, and themselves in the groups."""
    for label in ("x", "y"):
        (tmp_path / label).mkdir()
        (tmp_path / label / "1.txt").write_text(f"the dog ( {label} ) bites\n")
    facts(
        "classify", "fit", tmp_path, "--tokens", "spaces", "--groups", "parse", "--parser", "parser.spinney",
        "--lam", 0.001, "--model", "c",
    )  # fmt: skip
    told = str(facts("classify", "inspect", "c", "--top", 500)["groups"])
    assert "( x )" in told
    assert "LRB" not in told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--groups parse", "--groups parse needs trees"),
        ("--groups parse --parser brown.spinney", "brown.spinney"),
        ("--groups parse --parser nowhere.spinney", "nowhere.spinney: no such file"),
        ("--groups parse --parser parser.spinney --parses trees.mrg", "give only one"),
        ("--groups sentence --parser parser.spinney", "--parser needs --groups parse"),
        ("--groups topics:brown.spinney", "brown.spinney"),
        ("--groups brown:topics.spinney", "topics.spinney"),
        ("--groups brown:parser.spinney", "parser.spinney"),
        ("--method tree --class-tree parser.spinney", "parser.spinney"),
        ("--method tree --class-tree topics.spinney", "topics.spinney"),
    ],
)
def test_wrong_structure_for_a_classifier(refused, options, told):
    assert told in refused("classify", "fit", "documents", *options.split(), "--model", "c")


# ------------------------------------------------------------------------------- trees of classes, and the rest


@pytest.mark.parametrize("file", ["brown.spinney", "brown.paths"])
def test_brown_paths_are_a_tree_of_words_and_of_labels(facts, file):
    told = facts(
        "lm", "fit", "text.txt", "--method", "hierarchical", "--tree", file, "--order", 2, "--model", "lm"
    )
    assert told["active"] > 0
    assert facts("lm", "eval", "lm", "text.txt")["perplexity"] < 10
    facts(
        "classify", "fit", "documents", "--method", "tree", "--class-tree", file, "--lam", 0.1, "--model", "c"
    )
    assert facts("classify", "eval", "c", "documents")["accuracy"] > 0.9


def test_labels_that_are_no_words_have_no_tree(refused, tmp_path):
    (tmp_path / "t.csv").write_text("text,label\na dog,first\na cat,second\n")
    how = ["--method", "tree", "--class-tree", "brown.spinney"]
    line = refused("classify", "fit", tmp_path / "t.csv", *how, "--model", "c")
    assert "no word has a class" in line
    assert "are its words of the same kind as those of the data?" in line


def test_classes_begin_a_hidden_markov_model(facts, refused):
    told = facts(
        "classes", "fit", "text.txt", "--method", "hmm", "--init", "brown.spinney", "--classes", 4, "--passes", 2,
        "--dev", "text.txt", "--model", "h",
    )  # fmt: skip
    assert len(told["trace"]) >= 2
    assert "topics.spinney" in refused(
        "classes", "fit", "text.txt", "--method", "hmm", "--init", "topics.spinney", "--model", "h"
    )


def test_a_parser_gives_trees_to_others(models):
    parser = spinney.load(models / "parser.spinney")
    [tree] = parser.structures()["constituents"]([SENTENCES[0].split()])
    assert str(tree) == TREES[0]
