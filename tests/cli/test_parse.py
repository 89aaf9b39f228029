"""``spinney parse``: every verb and every method, and one clear line for each mistake."""

import gzip
import io
import json
import os
import random
import sys
import zipfile

import pytest

from spinney.cli.main import run
from spinney.corpus import Sentence, Tree, read_conllu, read_trees, write_conllu
from spinney.files import read_model
from spinney.parsing import methods
from spinney.parsing.dependencies import to_dependencies
from spinney.parsing.parser import Parser

TASK = "parse"


def trees(n, seed):
    """Trees of a toy grammar as the Penn Treebank writes them: an outer bracket, function tags, traces."""
    rng = random.Random(seed)

    def phrase(depth=0):
        noun = f"(NN {rng.choice(['dog', 'cat', 'bird', 'tree'])})"
        kind = rng.random()
        if kind < 0.3:
            return f"(NNP {rng.choice(['Ann', 'Bob', 'Carla'])})"
        if kind < 0.5 and depth < 2:
            return f"(NP (DT {rng.choice(['the', 'a'])}) {noun}) (PP (IN near) (NP {phrase(depth + 1)}))"
        return f"(DT {rng.choice(['the', 'a'])}) {noun}"

    def clause():
        trace = " (NP-2 (-NONE- *T*-1))" if rng.random() < 0.2 else ""
        return (
            f"( (S (NP-SBJ {phrase()}) (VP (VBZ {rng.choice(['sees', 'hears'])}) (NP {phrase()}){trace})"
            " (. .)))\n"
        )

    return "".join(clause() for _ in range(n))


#: A model of each method, with fast options.
FITS = {
    "pcfg": ["--method", "pcfg"],
    "em": ["--method", "em", "--states", 2, "--max-iter", 6],
    "split-merge": ["--states", 4],
    "spectral": ["--method", "spectral", "--states", 2],
    "clustering": ["--method", "clustering", "--states", 2, "--polish", 2],
    "pivots": ["--method", "pivots", "--states", 2],
    "several": ["--method", "em", "--states", 2, "--max-iter", 3, "--grammars", 2],
    "collapsed": ["--method", "pcfg", "--unaries", "collapse", "--vertical", 2, "--horizontal", "all"],
}
AUTOMATA = ("spectral", "em", "bigram", "deterministic")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with treebanks, and a model of each kind."""
    root = tmp_path_factory.mktemp("parse")
    for name, n, seed in (("train", 120, 1), ("dev", 20, 2), ("test", 30, 3)):
        (root / f"{name}.mrg").write_text(trees(n, seed))
        sentences = [to_dependencies(tree) for tree in read_trees(root / f"{name}.mrg")]
        write_conllu(root / f"{name}.conllu", sentences)
    for name, options in FITS.items():
        command = ["fit", root / "train.mrg", "--model", root / name, "--rare", 1, *options]
        assert run([str(part) for part in ["parse", *command, "--quiet", "--json"]]) == 0
    for kind in AUTOMATA:
        method = "automata" if kind == "spectral" else f"automata-{kind}"
        command = ["fit", root / "train.conllu", "--method", method, "--column", "xpos"]
        options = ["--states", 2] if kind in ("spectral", "em") else []
        command = ["parse", *command, "--model", root / f"{kind}-automata", *options, "--quiet", "--json"]
        assert run([str(part) for part in command]) == 0
    return root


# ------------------------------------------------------------------------------------------ fit


def test_facts_of_a_fit(facts, data, tmp_path):
    found = facts(
        "fit", data / "train.mrg", "--dev", data / "dev.mrg", "--model", tmp_path / "m", "--states", 2
    )
    assert found["model"] == str(tmp_path / "m")
    assert (found["method"], found["sentences"], found["grammars"]) == ("clustering", 120, 1)
    assert found["train"] == [str(data / "train.mrg")]
    names = {"tokens", "words", "labels", "binary_rules", "unary_rules", "parameters", "states", "seconds"}
    assert names <= set(found)
    assert found["tokens_per_second"] > 0
    assert found["dev_f1"] == pytest.approx(facts("eval", tmp_path / "m", data / "dev.mrg")["f1"])
    assert Parser.load(tmp_path / "m").facts["dev_f1"] == found["dev_f1"]


def test_a_person_is_told_the_same(spinney, data, tmp_path):
    code, out, _ = spinney(
        "fit", data / "train.mrg", "--dev", data / "dev.mrg", "--method", "pcfg", "--model", tmp_path / "m"
    )
    assert code == 0
    names = (
        "sentences",
        "tokens",
        "binary rules",
        "parameters",
        "seconds",
        "tokens per second",
        "F1 on held-out trees",
    )
    for name in names:
        assert f"\n{name} " in out


@pytest.mark.parametrize("name", FITS)
def test_every_method_learns_the_grammar(facts, data, name):
    found = facts("eval", data / name, data / "test.mrg")
    # Where a phrase hangs that says where it is near is a matter of luck in this language; nothing else is.
    assert 0.8 < found["f1"] <= 1
    assert found["tagging_accuracy"] == 1
    assert found["failed"] == 0


def test_training_is_repeatable(data, tmp_path, facts):
    for name in ("a", "b"):
        facts("fit", data / "train.mrg", "--model", tmp_path / name, "--states", 2, "--seed", 7)
    one, other = (read_model(tmp_path / name) for name in ("a", "b"))
    assert all((one.tensors[name] == other.tensors[name]).all() for name in one.tensors)


def test_folders_and_compressed_files(facts, data, tmp_path):
    bank = tmp_path / "bank"
    bank.mkdir()
    (bank / "a.mrg").write_text(trees(10, 1))
    with gzip.open(bank / "b.mrg.gz", "wt") as file:
        file.write(trees(10, 2))
    (bank / "notes.md").write_text("not a tree")
    found = facts("fit", bank, data / "dev.mrg", "--method", "pcfg", "--rare", 0, "--model", tmp_path / "m")
    assert found["sentences"] == 40


def test_standard_input(facts, data, tmp_path, monkeypatch):
    _stdin(monkeypatch, (data / "train.mrg").read_text())
    assert facts("fit", "-", "--method", "pcfg", "--model", tmp_path / "m")["sentences"] == 120


def test_function_tags_and_raw_trees(facts, data, tmp_path, spinney, monkeypatch):
    command = ["fit", data / "train.mrg", "--method", "pcfg", "--rare", 0, "--model", tmp_path / "m"]
    facts(*command, "--keep-functions")
    _stdin(monkeypatch, "the dog sees Bob .\n")
    assert spinney("apply", tmp_path / "m", "--quiet")[1].startswith("(S (NP-SBJ (DT the)")
    assert facts("eval", tmp_path / "m", data / "test.mrg")["f1"] > 0.8
    facts(*command, "--no-clean")
    assert "-NONE-" in Parser.load(tmp_path / "m").rules_.labels
    assert facts("eval", tmp_path / "m", data / "test.mrg")["sentences"] == 30


def test_trees_without_words_are_left_out_and_counted(facts, tmp_path):
    (tmp_path / "t.mrg").write_text("( (S (NP (-NONE- *))))\n" + trees(5, 1))
    found = facts("fit", tmp_path / "t.mrg", "--method", "pcfg", "--model", tmp_path / "m")
    assert (found["sentences"], found["empty"]) == (5, 1)


# ------------------------------------------------------------------------------------- interrupts


class _Interrupting:
    """Stands for a function that the user interrupts at its nth call."""

    def __init__(self, function, at):
        self.function, self.at, self.calls = function, at, 0

    def __call__(self, *arguments, **options):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return self.function(*arguments, **options)


@pytest.mark.parametrize(
    ("options", "at", "kept"),
    [
        (["--method", "em", "--states", 2, "--max-iter", 3, "--grammars", 3], 8, 3),  # in the third grammar
        (["--method", "em", "--states", 2, "--max-iter", 3, "--grammars", 3], 7, 2),  # before it has learnt
        (["--method", "em", "--states", 2, "--max-iter", 30], 4, 1),
        (["--method", "split-merge", "--states", 4], 45, 1),  # in the second cycle
        (["--states", 2, "--polish", 9], 4, 1),
    ],
)
def test_an_interrupt_keeps_what_was_learnt(spinney, data, tmp_path, monkeypatch, options, at, kept):
    from spinney.parsing import em

    monkeypatch.setattr(em, "beliefs", _Interrupting(em.beliefs, at))
    code, out, err = spinney(
        "fit", data / "train.mrg", "--model", tmp_path / "m", *options, "--quiet", "--json"
    )
    assert code == 130
    assert err == "spinney: interrupted\n"
    assert json.loads(out)["grammars"] == kept
    parser = Parser.load(tmp_path / "m")
    assert len(parser.grammars_) == kept
    assert parser.facts["interrupted"]
    assert parser.score([Tree.parse("(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (NNP Bob))) (. .))")]) > 0.5


def test_an_interrupt_of_the_last_judgement_saves_all(spinney, data, tmp_path, monkeypatch):
    monkeypatch.setattr(Parser, "score", _Interrupting(Parser.score, 1))
    command = [
        "fit",
        data / "train.mrg",
        "--method",
        "pcfg",
        "--dev",
        data / "dev.mrg",
        "--model",
        tmp_path / "m",
    ]
    code, _, err = spinney(*command, "--quiet")
    assert (code, err) == (130, "spinney: interrupted\n")
    assert Parser.load(tmp_path / "m").facts["interrupted"]


def test_an_interrupt_before_anything_is_learnt_writes_nothing(spinney, data, tmp_path, monkeypatch):
    monkeypatch.setattr(methods, "run_split_merge", _Interrupting(methods.run_split_merge, 1))
    command = ["fit", data / "train.mrg", "--method", "split-merge", "--model", tmp_path / "m", "--quiet"]
    code, out, err = spinney(*command)
    assert (code, out, err) == (130, "", "spinney: interrupted\n")
    assert not (tmp_path / "m").exists()


# ---------------------------------------------------------------------------------------- apply


def _stdin(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_lines_stay_aligned(spinney, data, monkeypatch):
    _stdin(monkeypatch, "the dog sees Bob .\n\n   \nflurb grombles (\n")
    code, out, err = spinney("apply", data / "split-merge")
    assert code == 0
    lines = out.split("\n")
    assert lines[0] == "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (NNP Bob))) (. .))"
    assert lines[1:3] == ["", ""]
    # Only unknown words, one of them a bracket: a tree all the same, which can be read again.
    assert Tree.parse(lines[3]).leaves() == ["flurb", "grombles", "-LRB-"]
    assert "2 empty lines" in err


def test_output_files(spinney, data, tmp_path):
    (tmp_path / "t.txt.gz").write_bytes(gzip.compress(b"the dog sees Bob .\n"))
    code, out, _ = spinney(
        "apply", data / "pcfg", tmp_path / "t.txt.gz", "-o", tmp_path / "t.mrg.gz", "--quiet"
    )
    assert (code, out) == (0, "")
    assert [tree.leaves() for tree in read_trees(tmp_path / "t.mrg.gz")] == [
        ["the", "dog", "sees", "Bob", "."]
    ]


def test_as_json(facts, data, monkeypatch):
    _stdin(monkeypatch, "the dog sees Bob .\n\n")
    found = facts("apply", data / "pcfg")
    assert [one["number"] for one in found["sentences"]] == [1, 2]
    assert found["sentences"][0]["words"] == ["the", "dog", "sees", "Bob", "."]
    assert found["sentences"][1]["tree"] is None
    assert found["empty"] == 1


def test_the_k_best(spinney, facts, data, monkeypatch):
    text = "the dog sees a cat near Bob near Ann .\n\nBob sees Ann .\n"
    _stdin(monkeypatch, text)
    code, out, _ = spinney("apply", data / "em", "--nbest", 4, "--quiet")
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert {row[0] for row in rows} == {"1", "3"}
    of_first = [row for row in rows if row[0] == "1"]
    assert [row[1] for row in of_first] == ["1", "2", "3", "4"][: len(of_first)]
    assert len({row[3] for row in of_first}) == len(of_first) > 1
    scores = [float(row[2]) for row in of_first]
    assert scores == sorted(scores, reverse=True)
    _stdin(monkeypatch, text)
    best = facts("apply", data / "em", "--nbest", 4)["sentences"][0]["trees"]
    assert [one["tree"] for one in best] == [row[3] for row in of_first]


def test_brackets_with_probabilities(spinney, facts, data, monkeypatch):
    _stdin(monkeypatch, "the dog sees Bob .\n")
    _, out, _ = spinney("apply", data / "em", "--what", "brackets", "--least", 0.5, "--quiet")
    rows = [line.split("\t") for line in out.splitlines()]
    assert ["1", "NP", "1", "2", "1.0000", "the dog"] in rows
    _stdin(monkeypatch, "the dog sees Bob .\n")
    found = facts("apply", data / "em", "--what", "brackets", "--least", 0.5)["sentences"][0]["brackets"]
    assert len(found) == len(rows)
    assert [[one["label"], str(one["first"]), str(one["last"])] for one in found] == [
        row[1:4] for row in rows
    ]


def test_raw_text(spinney, data, monkeypatch):
    _stdin(monkeypatch, 'The dog sees Bob. "Ann (a bird)\nhears Carla."\n')
    code, out, _ = spinney("apply", data / "pcfg", "--format", "prose", "--quiet")
    assert code == 0
    assert [Tree.parse(line).leaves() for line in out.splitlines()] == [
        ["The", "dog", "sees", "Bob", "."],
        ["``", "Ann", "-LRB-", "a", "bird", "-RRB-", "hears", "Carla", ".", "''"],
    ]
    _stdin(monkeypatch, '"Ann (a bird) hears Carla."\n')
    _, out, _ = spinney("apply", data / "pcfg", "--format", "prose", "--what", "conllu", "--quiet")
    assert [line.split("\t")[1] for line in out.splitlines()[1:] if line] == [
        *(['"', "Ann", "(", "a", "bird", ")", "hears", "Carla", ".", '"']),
    ]


def test_given_tags(spinney, data, monkeypatch):
    _stdin(monkeypatch, "the/DT 1/2/NN sees/VBZ sees/NNP ./.\n")
    code, out, err = spinney("apply", data / "split-merge", "--format", "tagged", "--quiet")
    assert (code, err) == (0, "")
    assert out == "(S (NP (DT the) (NN 1/2)) (VP (VBZ sees) (NP (NNP sees))) (. .))\n"
    _stdin(monkeypatch, "the/DT dog/NN sees/VBZ sees/NNP ./.\n")
    _, out, _ = spinney("apply", data / "em", "--format", "tagged", "--nbest", 2, "--quiet")
    assert "(NNP sees)" in out.splitlines()[0]


def test_tags_that_the_grammar_lacks_are_told(spinney, data, monkeypatch):
    _stdin(monkeypatch, "the/DT dog/NOUN sees/VBZ Bob/NNP ./.\n")
    code, out, err = spinney("apply", data / "pcfg", "--format", "tagged", "--quiet")
    assert code == 0
    assert out == "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (NNP Bob))) (. .))\n"
    assert err == "warning: 1 of 5 tags are unknown to the model and were ignored: NOUN …\n"


def test_long_sentences(spinney, refused, data, tmp_path):
    line = " ".join(["the", "dog", "sees", "Bob"] * 3)
    (tmp_path / "t.txt").write_text(f"the dog sees Bob .\n{line}\nBob sees Ann .\n")
    command = ["apply", data / "pcfg", tmp_path / "t.txt", "--max-length", 10]
    code, out, err = spinney(*command, "--quiet")
    assert code == 0
    short, flat, other = out.splitlines()
    assert short.startswith("(S (NP")
    assert other.startswith("(S (NP")
    assert flat == "(S" + " (DT the) (NN dog) (VBZ sees) (NNP Bob)" * 3 + ")"
    assert (
        "1 sentence is longer than --max-length 10 and got a flat tree; the first: number 2, with 12" in err
    )
    _, out, _ = spinney(*command, "--nbest", 2, "--quiet")
    assert f"2\t1\t-inf\t{flat}\n" in out
    _, out, _ = spinney(*command, "--what", "brackets", "--quiet")
    assert {line.split("\t")[0] for line in out.splitlines()} == {"1", "3"}
    assert "12 words in a sentence" in refused("explain", *command[1:])
    code, out, _ = spinney("apply", data / "split-merge", tmp_path / "t.txt", "--quiet")
    assert code == 0
    assert out.count("\n") == 3


def test_tree_word_classes_from_raw_text(spinney, facts, data, tmp_path, capsys):
    text = "The dog sees Bob. A cat near Ann hears the bird.\n" * 20
    (tmp_path / "raw.txt").write_text(text)
    command = ["apply", data / "split-merge", tmp_path / "raw.txt", "--format", "prose", "--what", "conllu"]
    assert spinney(*command, "-o", tmp_path / "t.conllu", "--quiet")[0] == 0
    parsed = list(read_conllu(tmp_path / "t.conllu"))
    assert parsed[0].comments == ["# sent_id = 1"]
    assert parsed[0].forms == ["The", "dog", "sees", "Bob", "."]
    assert parsed[0].heads == [2, 3, 0, 3, 3]
    assert parsed[0].deprels == ["det", "sbj", "root", "obj", "punct"]
    command = ["classes", "fit", tmp_path / "t.conllu", "--method", "hmm", "--tree", "--classes", 3]
    options = ["--passes", 2, "--model", tmp_path / "c", "--json", "--quiet"]
    assert run([str(part) for part in [*command, *options]]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["structure"], found["sentences"]) == ("tree", 40)


# ----------------------------------------------------------------------------------------- eval


def test_scores(facts, data):
    found = facts("eval", data / "split-merge", data / "test.mrg")
    for name in ("f1", "precision", "recall", "exact", "tagging_accuracy", "uas", "las"):
        assert 0 <= found[name] <= 1
    assert found["f1_low"] <= found["f1"] <= found["f1_high"]
    assert (found["sentences"], found["failed"], found["unseen_labels"]) == (30, 0, [])
    assert found["sentences_per_second"] > 0
    phrase = next(row for row in found["labels"] if row["label"] == "NP")
    assert phrase["gold"] >= phrase["matched"]
    parser = Parser.load(data / "split-merge")
    from spinney.parsing.cleaning import read_treebank

    assert found["f1"] == pytest.approx(parser.score(list(read_treebank(data / "test.mrg"))))


def test_scores_for_a_person(spinney, data):
    code, out, _ = spinney(
        "eval",
        data / "em",
        data / "test.mrg",
        "--against",
        data / "pcfg",
        "--against",
        data / "em",
        "--quiet",
    )
    assert code == 0
    for text in ("F1  ", "heads (UAS)", "By label", "NP ", "against", "sentences per second"):
        assert text in out


def test_paired_test(facts, data):
    found = facts(
        "eval", data / "em", data / "test.mrg", "--against", data / "em", "--against", data / "pcfg"
    )
    same, other = found["against"]
    assert (same["difference"], same["p_value"]) == (0, 1)
    assert other["system"] == found["f1"]
    assert other["baseline"] == pytest.approx(facts("eval", data / "pcfg", data / "test.mrg")["f1"])


def test_tags_of_the_treebank(facts, data, tmp_path):
    (tmp_path / "t.mrg").write_text("(S (NP (DT flurb) (NN the)) (VP (VBZ dog) (NP (NNP sees))) (. .))\n")
    assert facts("eval", data / "em", tmp_path / "t.mrg", "--gold-tags")["f1"] == 1
    assert facts("eval", data / "em", tmp_path / "t.mrg")["f1"] < 1


def test_labels_that_were_never_seen_are_told(facts, spinney, data, tmp_path):
    (tmp_path / "t.mrg").write_text("( (SINV (NP (DT the) (FOO dog)) (VP (VBZ sees))))\n")
    found = facts("eval", data / "pcfg", tmp_path / "t.mrg")
    assert found["unseen_labels"] == ["FOO", "SINV"]
    assert found["failed"] == 0
    assert (
        "Never seen in training: FOO, SINV"
        in spinney("eval", data / "pcfg", tmp_path / "t.mrg", "--quiet")[1]
    )


def test_only_short_sentences(facts, data):
    found = facts("eval", data / "pcfg", data / "test.mrg", "--max-length", 6)
    assert found["long"] + found["sentences"] == 30
    assert found["long"] > 0


def test_decoders(facts, data):
    for decoder in ("mbr", "free", "viterbi"):
        assert facts("eval", data / "pcfg", data / "test.mrg", "--decoder", decoder)["f1"] > 0.8


def test_other_head_rules(facts, data, tmp_path):
    (tmp_path / "rules.txt").write_text("* left\n")
    found = facts("eval", data / "pcfg", data / "test.mrg", "--head-rules", tmp_path / "rules.txt")
    assert 0 < found["uas"] <= 1


# -------------------------------------------------------------------------------------- inspect


@pytest.mark.parametrize("name", FITS)
def test_what_a_parser_holds(spinney, facts, data, name):
    found = facts("inspect", data / name)
    assert found["method"] == Parser.load(data / name).settings.method
    assert found["described"][0]["phrase"] == ("VP" if name == "collapsed" else "NP")
    assert sum(row["share"] for row in found["label_table"]) == pytest.approx(1)
    code, out, _ = spinney("inspect", data / name, "--label", "NN", "--quiet")
    assert code == 0
    assert "NN: " in out
    assert "dog" in out or name == "collapsed"


def test_states_in_words(spinney, data):
    code, out, _ = spinney("inspect", data / "several", "--grammar", 2, "--label", "VBZ", "--quiet")
    assert code == 0
    assert "VBZ: its states" in out
    code, out, _ = spinney("inspect", data / "spectral", "--label", "NN", "--quiet")
    assert "coordinates without a meaning of their own" in out


# ------------------------------------------------------------------------------- head automata


@pytest.mark.parametrize("kind", AUTOMATA)
def test_head_automata(facts, spinney, data, kind):
    path = data / f"{kind}-automata"
    found = facts("eval", path, data / "test.conllu")
    assert found["uas"] > 0.8
    assert found["uas_low"] <= found["uas"] <= found["uas_high"]
    assert {"exact", "root", "sentences", "sentences_per_second"} <= set(found)
    described = facts("inspect", path, "--label", "NN")["heads"]
    assert described[0]["modifiers"][0]["tag"] == "DT"
    assert spinney("inspect", path, "--quiet")[0] == 0
    assert spinney("eval", path, data / "test.conllu", "--against", path, "--quiet")[0] == 0


def test_head_automata_keep_the_rest_of_a_sentence(spinney, refused, data, tmp_path):
    words, tags = ["the", "dog", "sees", "Bob", "."], ["DT", "NN", "VBZ", "NNP", "."]
    sentence = Sentence(words, xpos=tags, comments=["# text = …"])
    write_conllu(tmp_path / "t.conllu", [sentence])
    code, _, _ = spinney(
        "apply", data / "spectral-automata", tmp_path / "t.conllu", "-o", tmp_path / "o", "--quiet"
    )
    assert code == 0
    (found,) = read_conllu(tmp_path / "o")
    assert (found.heads, found.comments) == ([2, 3, 0, 3, 3], ["# text = …"])
    assert found.deprels == ["dep", "dep", "root", "dep", "dep"]
    command = ["apply", data / "spectral-automata", tmp_path / "t.conllu", "--max-length", 4]
    code, out, err = spinney(*command)
    assert (code, [line.split("\t")[6] for line in out.splitlines()[1:6]]) == (0, ["0", "1", "1", "1", "1"])
    assert "1 sentence is longer than --max-length 4" in err
    assert "--prune is not for head automata" in refused(*command[:3], "--prune", 0.1)
    assert "--nbest is not for head automata" in refused(*command[:3], "--nbest", 2)


def test_head_automata_on_tagged_words(facts, data, monkeypatch):
    _stdin(monkeypatch, "the/DT dog/NN sees/VBZ Bob/NNP ./.\n\n")
    found = facts("apply", data / "spectral-automata", "--format", "tagged")
    assert found["sentences"][0]["heads"] == [2, 3, 0, 3, 3]
    assert found["sentences"][1]["heads"] == []


def test_latent_trees_choose_among_trees_of_head_automata(facts, data, tmp_path):
    train, model = data / "train.conllu", tmp_path / "m.spinney"
    options = ["--method", "automata", "--column", "xpos", "--states", 2, "--rerank", 5, "--rerank-states", 3]
    assert facts("fit", train, *options, "--model", model)["rerank"] == 5
    assert facts("eval", model, train)["uas"] > 0.5


def test_facts_of_head_automata(facts, data, tmp_path):
    command = [
        "fit",
        data / "train.conllu",
        "--method",
        "automata",
        "--column",
        "xpos",
        "--model",
        tmp_path / "m",
    ]
    found = facts(*command, "--dev", data / "dev.conllu")
    assert (found["sentences"], found["method"]) == (120, "automata")
    assert found["parameters"] > 0
    assert 0.8 < found["dev_uas"] <= 1


# ---------------------------------------------------------------------------------- bad input


MISTAKES = {
    "no method": (["--method", "magic"], "--method must be one of clustering"),
    "no option of the method": (["--method", "pcfg", "--states", 3], "--states is a setting of the methods"),
    "polish": (
        ["--method", "em", "--polish", 3],
        "--polish is a setting of the methods clustering, spectral and pivots",
    ),
    "a product": (["--method", "em+pcfg", "--polish", 3], "--polish is not a setting of the methods em+pcfg"),
    "column": (["--column", "xpos"], "--column is a setting of the methods automata"),
    "horizontal": (["--horizontal", "two"], "--horizontal must be all, auto or a whole number, not 'two'"),
    "unaries": (["--unaries", "none"], "--unaries must be one or collapse"),
    "decoder": (["--decoder", "best"], "--decoder must be max-rule"),
    "viterbi": (["--decoder", "viterbi"], "needs a grammar without states"),
    "prune": (["--prune", 2], "--prune must be less than 1"),
    "features": (
        ["--method", "spectral", "--features", "none"],
        "--features must be full, rule or fragments",
    ),
    "two ways of cleaning": (["--no-clean", "--keep-functions"], "leave out --keep-functions"),
    "on-error": (["--on-error", "laugh"], "--on-error must be raise or skip"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_wrong_options(refused, data, tmp_path, name):
    options, told = MISTAKES[name]
    assert told in refused("fit", data / "train.mrg", "--model", tmp_path / "m", *options)
    assert not (tmp_path / "m").exists()


AUTOMATA_MISTAKES = {
    "kind": ("-tree", [], "--method must be one of"),
    "states": ("-bigram", ["--states", 3], "--states is a setting of the methods"),
    "vertical": ("", ["--vertical", 2], "--vertical is a setting of the methods"),
    "clean": ("", ["--no-clean"], "--clean is a setting of the methods"),
    "column": (
        "",
        [],
        "train.conllu: no tags in the column upos (the tags are in xpos: use the column xpos)",
    ),
    "other column": ("", ["--column", "feats"], "--column must be upos or xpos, not 'feats'"),
}


@pytest.mark.parametrize("name", AUTOMATA_MISTAKES)
def test_wrong_options_of_automata(refused, data, tmp_path, name):
    kind, options, told = AUTOMATA_MISTAKES[name]
    command = [
        "fit",
        data / "train.conllu",
        "--method",
        f"automata{kind}",
        "--model",
        tmp_path / "m",
        *options,
    ]
    assert told in refused(*command)


TREEBANKS = {
    "unbalanced": ("(S (NN a))\n(S (NP (NN a)\n(S (NN b))\n", ":2: 2 brackets are not closed"),
    "too many": ("(S (NN a)))\n", ":1: a closing bracket without an opening one"),
    "no word": ("(S (NN a))\n(S (NP))\n", ":2: an empty pair of brackets"),
    "text": ("(S (NN a))\nhello\n", ":2: text outside brackets: 'hello'"),
    "nothing": ("", ": no trees"),
    "blank": ("\n\n", ": no trees"),
    "only traces": ("(S (NP (-NONE- *)))\n", ": no trees with words, and 1 without"),
}


@pytest.mark.parametrize("name", TREEBANKS)
def test_bad_treebanks(refused, data, tmp_path, name):
    text, told = TREEBANKS[name]
    (tmp_path / "t.mrg").write_text(text)
    assert f"{tmp_path}/t.mrg{told}" in refused("fit", tmp_path / "t.mrg", "--model", tmp_path / "m")
    assert f"{tmp_path}/t.mrg{told}" in refused("eval", data / "pcfg", tmp_path / "t.mrg")
    assert not (tmp_path / "m").exists()


def test_bad_trees_can_be_passed_over(facts, data, tmp_path):
    (tmp_path / "t.mrg").write_text("(S (NP (NN a)\n" + trees(5, 1))
    found = facts(
        "fit", tmp_path / "t.mrg", "--method", "pcfg", "--model", tmp_path / "m", "--on-error", "skip"
    )
    assert (found["sentences"], found["skipped"]) == (5, 1)
    assert facts("eval", data / "pcfg", tmp_path / "t.mrg", "--on-error", "skip")["skipped"] == 1


def test_an_old_model_survives_a_bad_treebank(refused, data, tmp_path):
    (tmp_path / "m").write_text("precious")
    (tmp_path / "t.mrg").write_text("(S (NN a)\n")
    refused("fit", tmp_path / "t.mrg", "--model", tmp_path / "m")
    assert (tmp_path / "m").read_text() == "precious"


def test_missing_files_and_other_models(refused, data, tmp_path):
    assert "no such file" in refused("fit", tmp_path / "none.mrg", "--model", tmp_path / "m")
    assert "no such folder" in refused("fit", data / "train.mrg", "--model", tmp_path / "no" / "m")
    for verb, more in (("apply", [data / "train.mrg"]), ("eval", [data / "test.mrg"]), ("inspect", [])):
        assert "no such file" in refused(verb, tmp_path / "none", *more)
        assert "train.mrg" in refused(verb, data / "train.mrg", *more)
    assert "no such file" in refused("apply", data / "pcfg", tmp_path / "none.txt")
    from spinney.structure import WordClasses

    WordClasses(["a", "b"], [0, 1]).save(tmp_path / "classes")
    for verb in ("apply", "eval", "inspect"):
        more = [] if verb == "inspect" else [data / "test.mrg"]
        assert "a structure model where a parsing model is needed" in refused(
            verb, tmp_path / "classes", *more
        )
    (tmp_path / "empty").mkdir()
    assert "no tree files in this folder" in refused("fit", tmp_path / "empty", "--model", tmp_path / "m")


def test_the_wrong_kind_of_trees(refused, data, tmp_path):
    assert "CoNLL-U has dependencies" in refused("fit", data / "train.conllu", "--model", tmp_path / "m")
    assert "CoNLL-U has dependencies" in refused("eval", data / "pcfg", data / "test.conllu")
    assert ":1: 1 columns where CoNLL-U has 10" in refused("eval", data / "em-automata", data / "test.mrg")
    told = refused("eval", data / "pcfg", data / "test.mrg", "--against", data / "em-automata")
    assert "a grammar and head automata cannot be compared" in told
    write_conllu(tmp_path / "t.conllu", [Sentence(["a"], xpos=["DT"])])
    told = refused(
        "fit", tmp_path / "t.conllu", "--method", "automata", "--column", "xpos", "--model", tmp_path / "m"
    )
    assert "t.conllu: sentence 1 has no heads (give dependency trees" in told


def test_wrong_tags(refused, data, tmp_path):
    (tmp_path / "t.txt").write_text("the/DT dog/NN\nthe/DT dog\n")
    told = refused("apply", data / "pcfg", tmp_path / "t.txt", "--format", "tagged")
    assert f"{tmp_path}/t.txt:2: 'dog' is not word/TAG" in told
    (tmp_path / "t.txt").write_text("the/DET dog/NOUN\n")
    for model in ("pcfg", "em-automata"):
        told = refused("apply", data / model, tmp_path / "t.txt", "--format", "tagged")
        assert f"{tmp_path}/t.txt: the model knows none of the tags (DET, NOUN …) (the model has " in told
    write_conllu(tmp_path / "t.conllu", [Sentence(["a"], upos=["DET"])])
    told = refused("apply", data / "em-automata", tmp_path / "t.conllu")
    assert "t.conllu: no tags in the column xpos" in told


def test_options_of_apply_and_eval(refused, data, tmp_path):
    (tmp_path / "t.txt").write_text("the dog\n")
    text = tmp_path / "t.txt"
    told = refused("apply", data / "pcfg", text, "--what", "t.mrg")
    assert "--what must be trees, conllu or brackets, not 't.mrg'" in told
    assert "--format must be lines, prose or tagged" in refused(
        "apply", data / "pcfg", text, "--format", "conllu"
    )
    assert "--format must be conllu or tagged for this kind of parser" in refused(
        "apply", data / "em-automata", text, "--format", "prose"
    )
    assert "--nbest is for trees" in refused("apply", data / "pcfg", text, "--nbest", 2, "--what", "conllu")
    assert "one tree per sentence" in refused("apply", data / "pcfg", text, "--nbest", 2, "--decoder", "free")
    assert "--decoder must be" in refused("apply", data / "pcfg", text, "--decoder", "x")
    assert "--decoder viterbi needs" in refused(
        "eval", data / "em", data / "test.mrg", "--decoder", "viterbi"
    )
    assert "not for head automata" in refused("apply", data / "em-automata", text, "--decoder", "mbr")
    assert "leave out --output" in refused("apply", data / "pcfg", text, "--json", "-o", tmp_path / "o")
    assert "give a file instead" in refused("eval", data / "pcfg", "-", "--against", data / "em")
    assert "no sentence has at most 1 words" in refused(
        "eval", data / "pcfg", data / "test.mrg", "--max-length", 1
    )
    assert "has no label 'XQ'" in refused("inspect", data / "pcfg", "--label", "XQ")
    assert "has no tag 'XQ'" in refused("inspect", data / "em-automata", "--label", "XQ")
    assert "--grammar must be at most 1" in refused("inspect", data / "pcfg", "--grammar", 2)


def test_bad_bytes(refused, spinney, data, tmp_path):
    (tmp_path / "t.txt").write_bytes(b"the dog\nthe \xff dog\nBob sees Ann .\n")
    assert f"{tmp_path}/t.txt:2: not UTF-8" in refused("apply", data / "pcfg", tmp_path / "t.txt")
    code, out, _ = spinney("apply", data / "pcfg", tmp_path / "t.txt", "--on-error", "skip", "--quiet")
    assert code == 0
    assert [bool(line) for line in out.splitlines()] == [True, False, True]


# ------------------------------------------------------------------------------------ real trees


@pytest.mark.slow
@pytest.mark.skipif("SPINNEY_DATA" not in os.environ, reason="SPINNEY_DATA is not set")
def test_a_treebank_of_newspaper_text(facts, spinney, tmp_path):
    with zipfile.ZipFile(os.path.join(os.environ["SPINNEY_DATA"], "nltk", "treebank.zip")) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".mrg"))
        for part, some in (("train", names[:159]), ("test", names[-4:])):
            (tmp_path / f"{part}.mrg").write_bytes(b"\n".join(archive.read(name) for name in some))
    found = facts("fit", tmp_path / "train.mrg", "--method", "pcfg", "--model", tmp_path / "m")
    assert (found["sentences"], found["empty"]) == (3396, 0)
    assert facts("eval", tmp_path / "m", tmp_path / "test.mrg")["f1"] > 0.6
    told = facts("inspect", tmp_path / "m", "--label", "IN")["described"][0]
    assert {share["name"] for share in told["words"][:2]} == {"of", "in"}
