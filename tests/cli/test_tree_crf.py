"""``spinney parse`` with tree CRFs: every verb on a made-up treebank, and one clear line for each mistake."""

import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from made_up_treebank import treebank

from spinney.cli.main import run
from spinney.corpus import Sentence, read_conllu, write_conllu
from spinney.structure import WordClasses

TASK = "parse"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with treebanks, and a parser of siblings, one of all trees, and an older method's."""
    root = tmp_path_factory.mktemp("trees")
    for name, n, seed in (("train", 60, 1), ("dev", 15, 2), ("test", 20, 3)):
        write_conllu(root / f"{name}.conllu", treebank(n, seed, crossing=True))
    bare = [replace(one, heads=[], deprels=[]) for one in treebank(4, 4)]
    write_conllu(root / "bare.conllu", bare)
    for name, options in (
        ("siblings", ["--dev", root / "dev.conllu", "--solver", "adagrad"]),
        ("all", ["--order", 1, "--trees", "all"]),
    ):
        command = ["fit", root / "train.conllu", "--method", "tree-crf", "--model", root / name, *options]
        assert run([str(part) for part in ["parse", *command, "--quiet", "--json"]]) == 0
    command = [
        "parse",
        "fit",
        root / "train.conllu",
        "--method",
        "automata",
        "--states",
        2,
        "--model",
        root / "heads",
    ]
    assert run([*map(str, command), "--quiet", "--json"]) == 0
    return root


# ------------------------------------------------------------------------------------------------- fit


def test_facts_of_a_fit(facts, data, tmp_path):
    found = facts("fit", data / "train.conllu", "--method", "tree-crf", "--model", tmp_path / "m")
    assert found["method"] == "tree-crf"
    assert (found["sentences"], found["order"], found["relations"]) == (60, 2, 9)
    assert found["gap"] <= 0.01
    assert found["converged"]
    assert found["train"] == [str(data / "train.conllu")]
    names = {
        "tokens",
        "parameters",
        "active",
        "objective",
        "violation",
        "solver",
        "seconds",
        "tokens_per_second",
    }
    assert names <= set(found)


def test_a_person_is_told_the_same(spinney, data, tmp_path):
    code, out, _ = spinney(
        "fit", data / "train.conllu", "--method", "tree-crf", "--dev", data / "dev.conllu", "--solver", "adagrad",
        "--model", tmp_path / "m",
    )  # fmt: skip
    assert code == 0
    for name in (
        "sentences",
        "order",
        "arcs lifted, for projective trees",
        "LAS on held-out trees",
        "chosen",
    ):
        assert f"\n{name} " in out
    assert "by LAS on held-out trees (0.25: " in out


def test_templates_and_classes(facts, data, make, tmp_path, refused):
    WordClasses(["dog", "cat", "sees"], [0, 0, 1], paths=["0", "1"]).save(tmp_path / "classes.spinney")
    lines = "prune: h.upos m.upos distance\narc :  h.upos m.upos direction\nlabel: m.upos direction\n"
    command = ["fit", data / "train.conllu", "--method", "tree-crf", "--model", tmp_path / "m"]
    templates = make(lines + "arc: h.brown:1 m.brown direction # classes\n", "mine.templates")
    found = facts(*command, "--templates", templates, "--classes", f"brown={tmp_path / 'classes.spinney'}")
    assert found["order"] == 1
    shown = facts("inspect", tmp_path / "m")["templates"]
    assert {row["template"] for row in shown if row["kind"] == "arc"} == {
        "h.upos m.upos direction",
        "h.brown:1 m.brown direction",
    }
    assert facts("eval", tmp_path / "m", data / "test.conllu")["uas"] > 0.7
    told = refused(*command, "--templates", templates)
    assert f"{templates}:4: no column 'brown:1' (there are form, lower, " in told
    told = refused(*command, "--classes", f"upos={tmp_path / 'classes.spinney'}")
    assert "--classes: the name 'upos' must not be that of a column" in told


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--trees", "all"], "--trees all needs --order 1"),
        (["--order", 3], "--order must be"),
        (["--solver", "pa", "--lam", 1], "--lam has no effect with --solver pa"),
        (["--penalty", "l2", "--l2", 1], "--l2 has no effect with --penalty l2"),
        (["--solver", "lbfgs"], "the solver lbfgs needs a smooth penalty"),
        (["--penalty", "group:shape"], "no grouping 'shape' in a tree CRF; there are template"),
        (["--templates", "nowhere"], "nowhere: no such file"),
        (["--classes", "brown"], "--classes must be NAME=FILE"),
        (["--states", 2], "--states"),
    ],
)
def test_mistakes_in_fit(refused, data, tmp_path, options, what):
    command = ["fit", data / "train.conllu", "--method", "tree-crf", "--model", tmp_path / "m", *options]
    assert what in refused(*command)
    assert not (tmp_path / "m").exists()


def test_treebanks_that_cannot_be_learned_from(refused, data, make, tmp_path):
    command = ["--method", "tree-crf", "--model", tmp_path / "m"]
    assert "sentence 1 has no heads (give dependency trees" in refused("fit", data / "bare.conllu", *command)
    bank = treebank(3)
    for name, changed in (("upos", {"upos": ["_"] * 9}), ("both", {"upos": ["_"] * 9, "xpos": ["_"] * 9})):
        path = tmp_path / f"{name}.conllu"
        write_conllu(path, [replace(one, **{k: v[: len(one)] for k, v in changed.items()}) for one in bank])
        told = refused("fit", path, *command)
        assert f"{path}: no tags in the column upos" in told
        assert ("xpos" in told) == (name == "upos")
    path = make("1\ta\t_\tX\t_\t_\t2\tdep\t_\t_\n2\tb\t_\tX\t_\t_\t1\tdep\t_\t_\n\n", "circle.conllu")
    assert f"{path}:1: " in refused("fit", path, *command)
    assert "skipped" not in refused("fit", make("", "empty.conllu"), *command)


def test_an_interrupt_saves_what_was_learned(spinney, data, tmp_path, monkeypatch):
    from spinney.parsing.treecrf.loss import TreeLoss

    added, calls = TreeLoss.add, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 40:  # fifteen batches a pass
            raise KeyboardInterrupt
        return added(self, *args)

    monkeypatch.setattr(TreeLoss, "add", interrupted)
    command = [
        "fit",
        data / "train.conllu",
        "--method",
        "tree-crf",
        "--model",
        tmp_path / "m",
        "--threads",
        1,
    ]
    code, _, _ = spinney(*command, "--quiet")
    assert code == 130
    monkeypatch.undo()
    code, out, _ = spinney("eval", tmp_path / "m", data / "test.conllu", "--json", "--quiet")
    assert code == 0
    assert json.loads(out)["las"] > 0.8


@pytest.mark.slow
def test_a_signal_saves_what_was_learned(data, tmp_path):
    """The same by Ctrl-C in a process of its own: the model is there, and the exit code says why it ended."""
    write_conllu(tmp_path / "long.conllu", treebank(2000, 5))
    command = [
        "parse",
        "fit",
        tmp_path / "long.conllu",
        "--method",
        "tree-crf",
        "--passes",
        1000,
        "--solver",
        "pa",
    ]
    command = [sys.executable, "-m", "spinney", *map(str, command), "--model", str(tmp_path / "m")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.communicate(timeout=25)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    assert process.returncode == 130
    assert os.path.exists(tmp_path / "m")


# ----------------------------------------------------------------------------------------------- apply


def test_conllu_in_and_out(spinney, data, tmp_path):
    code, out, err = spinney("apply", data / "siblings", data / "bare.conllu", "--quiet")
    assert (code, err) == (0, "")
    (tmp_path / "out.conllu").write_text(out)
    found, given = list(read_conllu(tmp_path / "out.conllu")), list(read_conllu(data / "bare.conllu"))
    gold = treebank(4, 4)
    assert [(one.forms, one.upos, one.feats) for one in found] == [
        (one.forms, one.upos, one.feats) for one in given
    ]
    right = sum(a == b for one, other in zip(found, gold) for a, b in zip(one.heads, other.heads))
    assert right >= 0.85 * sum(map(len, gold))
    spinney("apply", data / "siblings", data / "bare.conllu", "-o", tmp_path / "again.conllu", "--quiet")
    assert (tmp_path / "again.conllu").read_text() == out


def test_standard_input_is_answered(spinney, data, monkeypatch):
    text = io.TextIOWrapper(io.BytesIO((data / "bare.conllu").read_bytes()), "utf-8")
    monkeypatch.setattr(sys, "stdin", text)
    code, out, _ = spinney("apply", data / "siblings", "-", "--quiet")
    assert code == 0
    assert out.count("\troot\t") == 4


def test_probabilities(spinney, facts, data):
    _, out, _ = spinney("apply", data / "siblings", data / "bare.conllu", "--proba", "--quiet")
    fields = [line.split("\t")[9] for line in out.splitlines() if line]
    assert all(field.startswith("ArcProbability=") and "|RelationProbability=" in field for field in fields)
    (first, *_) = facts("apply", data / "siblings", data / "bare.conllu")["sentences"]
    assert set(first) == {"number", "words", "tags", "heads", "relations", "probability"}
    told = [float(part.split("=")[1]) for part in fields[0].split("|")]
    assert first["probability"][0] == pytest.approx(told[0] * told[1], abs=2e-3)
    assert all(0 < p <= 1 + 1e-9 for p in first["probability"])


def test_probabilities_replace_older_ones(spinney, data, tmp_path):
    spinney(
        "apply", data / "siblings", data / "bare.conllu", "--proba", "-o", tmp_path / "a.conllu", "--quiet"
    )
    _, out, _ = spinney("apply", data / "all", tmp_path / "a.conllu", "--proba", "--quiet")
    assert out.count("ArcProbability=") == sum(map(len, treebank(4, 4)))


def test_several_trees(spinney, facts, data):
    found = facts("apply", data / "siblings", data / "bare.conllu", "--nbest", 3)["sentences"]
    for one in found:
        scores = [tree["log_probability"] for tree in one["trees"]]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(tree["heads"]) for tree in one["trees"]}) == len(scores) <= 3
        assert scores[0] <= 0
    _, out, _ = spinney("apply", data / "siblings", data / "bare.conllu", "--nbest", 3, "--quiet")
    assert out.count("# rank = 1\n") == 4
    assert f"# rank = 2\n# log_probability = {found[0]['trees'][1]['log_probability']:.4f}\n" in out


def test_given_arcs_are_kept(facts, refused, data, tmp_path):
    sentence = treebank(1, 4)[0]
    n, path = len(sentence), tmp_path / "given.conllu"

    def write(*given, before=()):
        misc = [f"Head={head}" if head >= 0 else "SpaceAfter=No" for head in given]
        write_conllu(path, [*before, replace(sentence, heads=[], deprels=[], misc=misc)])

    free = [-1] * n
    write(*free[:-1], 1)
    for options in ([], ["--nbest", 2]):
        (found,) = facts("apply", data / "siblings", path, *options)["sentences"]
        trees = found.get("trees", [found])
        assert all(tree["heads"][-1] == 1 for tree in trees)
    explained = facts("explain", data / "siblings", path)["explained"][0]["words"]
    assert (explained[-1]["head"], explained[-1]["head_probability"]) == (sentence.forms[0], pytest.approx(1))
    write(0, 0, *free[2:])
    told = refused("apply", data / "siblings", path, "--nbest", 2)
    assert f"{path}: sentence 1: no projective tree with one root has all the arcs that are given" in told
    write(0, 0, *free[2:], before=[replace(sentence, heads=[], deprels=[])])
    assert f"{path}: sentence 2: no projective tree with one root" in refused(
        "apply", data / "siblings", path
    )
    write(*free[:-1], n)
    told = refused("apply", data / "siblings", path)
    assert (
        f"{path}: sentence 1: Head={n} is not the number of another word of the sentence, or 0 (correct"
        in told
    )
    for bad in ("Head=x", "Head=99", "Head=-1", "Head=1.5", "Head=٣"):
        write_conllu(path, [replace(sentence, heads=[], deprels=[], misc=[bad] + ["_"] * (n - 1))])
        assert "is not the number of another word" in refused("apply", data / "siblings", path)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (
            ["--format", "lines"],
            "--format must be conllu for a tree CRF, which reads tagged words, not 'lines'",
        ),
        (["--format", "prose"], "for raw text, use a model of pipeline fit"),
        (["--format", "tagged"], "--format must be conllu"),
        (["--what", "trees"], "--what must be conllu"),
        (["--what", "brackets"], "--what must be conllu"),
        (["--decoder", "mbr"], "--decoder is not for tree CRFs: leave it out"),
        (["--prune", 0.1], "--prune is not for tree CRFs: leave it out"),
        (["--head-rules", "x"], "--head-rules is not for tree CRFs: leave it out"),
        (["--nbest", 2, "--proba"], "--proba is for one tree per sentence: leave out --proba or --nbest"),
    ],
)
def test_what_apply_refuses(refused, data, options, what):
    assert what in refused("apply", data / "siblings", data / "bare.conllu", *options)


def test_probabilities_are_for_tree_crfs(refused, data, make):
    assert "--proba is for tree CRFs" in refused("apply", data / "heads", data / "bare.conllu", "--proba")


def test_text_that_is_no_conllu(refused, data, make):
    told = refused("apply", data / "siblings", make("the dog barks\n", "text.txt"))
    assert "text.txt:1: " in told
    path = make("1\tdog" + "\t_" * 8 + "\n\n", "bare.conllu")
    assert (
        f"{path}: no tags in the column upos (tag the text first, or use a model of pipeline fit)"
        in refused("apply", data / "siblings", path)
    )


def test_bad_sentences_are_skipped_if_asked(spinney, refused, data, make):
    good = "1\tdog\t_\tNOUN" + "\t_" * 6 + "\n\n"
    path = make(good + "1\tdog\n\n" + good.replace("\n\n", "\r\n\r\n"), "mixed.conllu")
    assert "mixed.conllu:3: " in refused("apply", data / "siblings", path)
    code, out, err = spinney("apply", data / "siblings", path, "--on-error", "skip")
    assert (code, out.count("\troot\t")) == (0, 2)
    assert "1 sentences were skipped" in err


def test_odd_sentences(spinney, data, tmp_path):
    """Words with spaces, other scripts, one word, columns without anything, ranges, empty nodes and comments."""
    odd = [
        Sentence(["New York", "كلب", "😀"], upos=["PROPN", "NOUN", "_"]),
        Sentence(["Stop"], upos=["VERB"], feats=["Mood=Imp"]),
        Sentence(
            ["de", "le", "x"], upos=["ADP", "DET", "ZZZ"], comments=["# text = du x", "#"],
            extras=[(0, "1-2\tdu" + "\t_" * 8), (3, "3.1\te" + "\t_" * 6 + "\t3:dep\t_")],
        ),
    ]  # fmt: skip
    write_conllu(tmp_path / "odd.conllu", odd)
    for model in ("siblings", "all"):
        code, out, err = spinney("apply", data / model, tmp_path / "odd.conllu", "--quiet")
        assert (code, err) == (0, "")
        (tmp_path / "out.conllu").write_text(out)
        found = list(read_conllu(tmp_path / "out.conllu"))  # which checks that they are trees
        assert [(one.forms, one.comments, one.extras) for one in found] == [
            (one.forms, one.comments, one.extras) for one in odd
        ]


def test_long_sentences_get_flat_trees_and_a_warning(spinney, data, tmp_path):
    n = 30
    write_conllu(tmp_path / "long.conllu", [Sentence(["dog"] * n, upos=["NOUN"] * n)])
    code, out, err = spinney("apply", data / "siblings", tmp_path / "long.conllu", "--max-length", 20)
    assert code == 0
    assert [line.split("\t")[6] for line in out.splitlines() if line] == ["0"] + ["1"] * (n - 1)
    assert "1 sentence is longer than 20 words and got a flat tree; the first: number 1" in err
    code, _, err = spinney("apply", data / "siblings", tmp_path / "long.conllu")
    assert (code, err) == (0, "")


# ------------------------------------------------------------------------------------ eval, inspect, explain


def test_scores(facts, spinney, data):
    found = facts("eval", data / "siblings", data / "test.conllu")
    assert 0.8 < found["las"] <= found["uas"] <= 1
    assert found["las_low"] <= found["las"] <= found["las_high"]
    assert sum(row["gold"] for row in found["relations"]) == sum(map(len, treebank(20, 3, crossing=True)))
    assert {"root", "exact", "tokens_per_second", "skipped", "long"} <= set(found)
    with_points = facts("eval", data / "siblings", data / "test.conllu", "--punctuation")
    assert with_points["tokens"] == found["tokens"] + 20
    assert facts("eval", data / "siblings", data / "test.conllu", "--max-length", 6)["long"] > 0
    _, out, _ = spinney("eval", data / "siblings", data / "test.conllu")
    assert "heads and relations (LAS)" in out


def test_comparison_with_another_model(facts, refused, data):
    found = facts("eval", data / "all", data / "test.conllu", "--against", data / "siblings")
    assert [row["score"] for row in found["against"]] == ["UAS", "LAS"]
    assert found["against"][1]["difference"] == pytest.approx(
        found["las"] - facts("eval", data / "siblings", data / "test.conllu")["las"]
    )
    told = refused("eval", data / "all", data / "test.conllu", "--against", data / "heads")
    assert "a tree CRF can be compared with another tree CRF only" in told


def test_what_eval_refuses(refused, data):
    command = ["eval", data / "siblings", data / "test.conllu"]
    assert "--gold-tags is not for tree CRFs, which always look at the tags" in refused(
        *command, "--gold-tags"
    )
    assert "--decoder is not for tree CRFs" in refused(*command, "--decoder", "mbr")
    assert "no sentence has at most 1 words" in refused(*command, "--max-length", 1)
    assert "has no heads" in refused("eval", data / "siblings", data / "bare.conllu")


def test_inspection(facts, spinney, refused, data):
    found = facts("inspect", data / "siblings", "--top", 3)
    assert len(found["strongest_arc"]) == len(found["strongest_sibling"]) == 3
    assert "m.upos=" in json.dumps(found["strongest_det"])
    assert {row["kind"] for row in found["templates"]} == {"arc", "label", "sibling"}
    assert sum(row["active"] for row in found["templates"]) <= found["active"]
    only = facts("inspect", data / "siblings", "--label", "nsubj", "--label", "obj")
    assert set(only) == {"strongest_nsubj", "strongest_obj"}
    assert "no relation 'nsbj' (did you mean nsubj?)" in refused(
        "inspect", data / "siblings", "--label", "nsbj"
    )
    _, out, _ = spinney("inspect", data / "all")
    assert "Relation nsubj" in out
    assert "Neighbouring modifiers" not in out


def test_explanations(facts, spinney, refused, data):
    found = facts("explain", data / "siblings", data / "bare.conllu", "--documents", 2, "--top", 2)[
        "explained"
    ]
    assert [one["number"] for one in found] == [1, 2]
    words = found[0]["words"]
    assert [row["word"] for row in words] == treebank(4, 4)[0].forms
    for row in words:
        if row["other_head"]:
            assert 0 <= row["other_probability"] <= row["head_probability"] <= 1 + 1e-9
        assert row["features"].count(" · ") <= 1
    _, out, _ = spinney("explain", data / "siblings", data / "bare.conllu")
    assert "None" not in out
    assert "--format must be conllu" in refused(
        "explain", data / "siblings", data / "bare.conllu", "--format", "lines"
    )
    told = refused("explain", data / "siblings", data / "bare.conllu", "--max-length", 2)
    assert "raise" in told
    assert "max" in told


def test_the_page(data, tmp_path):
    page = tmp_path / "page.html"
    code = run(
        ["report", str(data / "siblings"), "--data", str(data / "test.conllu"), "-o", str(page), "--quiet"]
    )
    assert code == 0
    text = page.read_text(encoding="utf-8")
    assert "What it learned" in text
    assert "Relation nsubj" in text
    assert "<svg" in text
    assert run(["report", str(data / "all"), "-o", str(page), "--quiet"]) == 0
