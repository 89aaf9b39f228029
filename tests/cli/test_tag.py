"""``spinney tag``: every verb on every format, and one clear line for each mistake."""

import gzip
import io
import itertools
import json
import os
import random
import sys

import pytest

from spinney.cli.main import run
from spinney.evaluate import allowed_transitions, convert
from spinney.files import write_model

TASK = "tag"

NEAR = "U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[-1,1]/%x[0,1]\nB\n"


def grammar(n, seed):
    """Sentences of a toy grammar: word, part of speech, chunk."""
    rng = random.Random(seed)

    def phrase():
        yield rng.choice(["the", "a", "this"]), "DT", "B-NP"
        if rng.random() < 0.5:
            yield rng.choice(["old", "red", "big"]), "JJ", "I-NP"
        yield rng.choice(["dog", "cat", "tree", "wood"]), "NN", "I-NP"

    def sentence():
        verb = rng.choice(["sees", "hears", "finds"])
        return [*phrase(), (verb, "VB", "B-VP"), *phrase(), (".", ".", "O")]

    return [sentence() for _ in range(n)]


def as_text(sentences, columns=3, separator=" "):
    return "".join("".join(separator.join(row[:columns]) + "\n" for row in s) + "\n" for s in sentences)


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with training and development data, a template and a model."""
    root = tmp_path_factory.mktemp("tag")
    (root / "train.txt").write_text(as_text(grammar(30, 1)))
    (root / "dev.txt").write_text(as_text(grammar(10, 2)))
    (root / "plain.txt").write_text(as_text(grammar(10, 2), 2))
    (root / "near.tpl").write_text(NEAR)
    arguments = ["tag", "fit", root / "train.txt", "--patterns", root / "near.tpl", "--lam", 0.1]
    assert run([str(a) for a in [*arguments, "--model", root / "model", "--quiet", "--json"]]) == 0
    return root


def labels_of(out, separator="\t"):
    """The last column of each sentence."""
    return [
        [line.split(separator)[-1] for line in stanza.split("\n")] for stanza in out.strip("\n").split("\n\n")
    ]


# ------------------------------------------------------------------------------------------ the five verbs


def test_from_fit_to_inspect(facts, data, tmp_path):
    model = tmp_path / "m"
    fitted = facts("fit", data / "train.txt", "--preset", "chunk", "--model", model, "--lam", 0.1)
    assert fitted["model"] == str(model)
    assert fitted["solver"] == "lbfgs"
    assert fitted["sentences"] == 30
    assert fitted["violation"] <= 1e-3
    scores = facts("eval", model, data / "dev.txt")
    assert scores["f1"] == 1.0
    assert scores["token_error"] == 0.0
    assert scores["unseen_labels"] == []
    assert set(scores["types"]) == {"NP", "VP"}
    applied = facts("apply", model, data / "plain.txt")
    assert [s["labels"] for s in applied["sentences"]] == [[row[2] for row in s] for s in grammar(10, 2)]
    seen = facts("inspect", model, "--top", 3)
    assert set(seen["strongest"]) == {"B-NP", "B-VP", "I-NP", "O"}
    assert all(len(rows) <= 3 for rows in seen["strongest"].values())
    assert sum(map(sum, seen["active_by_pattern"].values())) == fitted["active"]


def test_tables_for_people(spinney, data, tmp_path):
    train, dev, patterns = data / "train.txt", data / "dev.txt", ["--patterns", data / "near.tpl"]
    for command, needle in (
        (["fit", train, *patterns, "--model", tmp_path / "m"], "parameters"),
        (["eval", data / "model", dev], "token error"),
        (["inspect", data / "model", "--by", "pattern"], "Transitions"),
        (["path", train, "--dev", dev, *patterns, "--points", 2], "token_error"),
    ):
        code, out, _ = spinney(*command)
        assert code == 0
        assert needle in out
    code, out, _ = spinney("eval", data / "model", dev, "--conlleval")
    assert code == 0
    assert out.startswith("processed 69 tokens with 30 phrases; found: 30 phrases; correct: 30.\n")


def test_quiet_says_nothing_on_standard_error(spinney, data, tmp_path):
    command = [
        "fit",
        data / "train.txt",
        "--patterns",
        data / "near.tpl",
        "--model",
        tmp_path / "m",
        "--quiet",
    ]
    assert spinney(*command, "--json")[2] == ""
    assert spinney("apply", data / "model", data / "plain.txt", "--quiet")[2] == ""


def test_help(spinney):
    for verb in ("fit", "apply", "eval", "inspect", "path"):
        code, out, _ = spinney(verb, "--help")
        assert code == 0
        assert "--json" in out


@pytest.mark.parametrize(
    ("penalty", "options", "solver"),
    [
        ("l2", [], "lbfgs"),
        ("elasticnet", ["--l2", 0.01], "active-set"),
        ("group-symbol", ["--l1", 0.1], "fista"),
        ("tree", [], "fista"),
        ("elasticnet", ["--l2", 0.01, "--solver", "fista", "--solver-options", "accelerate=yes"], "fista"),
        ("elasticnet", ["--l2", 0.01, "--solver", "sgd", "--passes", 30], "sgd"),
        ("l2", ["--weights", "observed", "--no-start-label", "--min-count", 2], "lbfgs"),
    ],
)
def test_penalties_and_solvers(facts, data, tmp_path, penalty, options, solver):
    template = tmp_path / "t.tpl"
    template.write_text("*0:%x[0,0]\n*1:%x[0,1]\n*2:%x[-1,1]\n")
    model = tmp_path / "m"
    command = ["fit", data / "train.txt", "--patterns", template, "--model", model]
    fitted = facts(*command, "--penalty", penalty, "--lam", 0.2, *options)
    assert fitted["solver"] == solver
    assert 0 < fitted["active"] <= fitted["parameters"]
    assert facts("eval", model, data / "dev.txt")["token_error"] <= 0.05


@pytest.mark.parametrize("kind", ["memm", "hmm"])
def test_the_plainer_models(facts, data, tmp_path, kind):
    patterns = [] if kind == "hmm" else ["--patterns", data / "near.tpl"]
    facts("fit", data / "train.txt", "--method", kind, *patterns, "--model", tmp_path / "m")
    scores = facts("eval", tmp_path / "m", data / "dev.txt")
    assert scores["token_error"] <= 0.05


def test_an_interrupt_keeps_what_was_learnt(spinney, facts, data, tmp_path, monkeypatch):
    from spinney.tagging.stopping import DevSet

    watch, calls = DevSet.__call__, []

    def interrupted(self, step, w):
        calls.append(step)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return watch(self, step, w)

    monkeypatch.setattr(DevSet, "__call__", interrupted)
    dev = ["--dev", data / "dev.txt", "--patience", 50, "--tol", 1e-12, "--lam", 1e-3]
    command = ["fit", data / "train.txt", "--patterns", data / "near.tpl", "--model", tmp_path / "m", *dev]
    code, out, err = spinney(*command, "--json")
    assert code == 130
    assert json.loads(out)["interrupted"] is True
    assert "interrupted" in err
    assert facts("eval", tmp_path / "m", data / "dev.txt")["token_error"] < 0.5


def test_a_configuration_makes_the_same_model(facts, data, tmp_path):
    import spinney

    config = tmp_path / "tag.toml"
    config.write_text(spinney.load(data / "model").config())
    facts("fit", "--config", config, "--model", tmp_path / "m")
    one, other = (spinney.load(path) for path in (data / "model", tmp_path / "m"))
    assert one.settings == other.settings
    assert one.weights_.values.tolist() == other.weights_.values.tolist()


def test_threads_change_nothing(facts, data, tmp_path):
    got = []
    for threads in (1, 2):
        model = tmp_path / f"m{threads}"
        command = ["fit", data / "train.txt", "--patterns", data / "near.tpl", "--model", model]
        fitted = facts(*command, "--threads", threads)
        applied = facts("apply", model, data / "plain.txt", "--proba", "--threads", threads)
        got.append((fitted["objective"], applied["sentences"]))
    assert got[0][0] == pytest.approx(got[1][0], rel=1e-9)
    for one, two in zip(got[0][1], got[1][1], strict=True):
        assert one["labels"] == two["labels"]
        assert one["probabilities"] == pytest.approx(two["probabilities"], abs=1e-6)


def test_path(facts, data, tmp_path):
    command = ["path", data / "train.txt", "--patterns", data / "near.tpl", "--dev", data / "dev.txt"]
    rows = facts(*command, "--points", 3, "--model", tmp_path / "best")["points"]
    assert [row["lam"] for row in rows] == sorted((row["lam"] for row in rows), reverse=True)
    assert rows[0]["active"] == 0
    assert rows[-1]["active"] > 0
    best = min(row["token_error"] for row in rows)
    scores = facts("eval", tmp_path / "best", data / "dev.txt")
    assert scores["token_error"] == best < rows[0]["token_error"]
    rows = facts(*command[:-2], "--lams", "1,4", "--penalty", "l1")["points"]
    assert [row["lam"] for row in rows] == [4, 1]
    assert "token_error" not in rows[0]


# ---------------------------------------------------------------------------------------------- labelling


def test_prune(spinney, facts, data, tmp_path):
    found = facts(
        "prune",
        data / "model",
        data / "dev.txt",
        "--thresholds",
        "0,0.2,0.6",
        "--margin",
        1,
        "--model",
        tmp_path / "s",
    )
    assert found["model"] == str(tmp_path / "s")
    rows = found["thresholds"]
    assert [row["threshold"] for row in rows] == [0.0, 0.2, 0.6]
    assert rows[0]["active"] > rows[1]["active"] > rows[2]["active"] == found["active"]
    assert facts("inspect", tmp_path / "s")["active"] == found["active"]
    assert facts("eval", tmp_path / "s", data / "dev.txt")["token_error"] == rows[2]["token_error"]
    alone = facts("prune", data / "model")
    assert "token_error" not in alone["thresholds"][0]
    code, out, _ = spinney("prune", data / "model", data / "dev.txt")
    assert code == 0
    assert "orphans" in out
    for wrong, said in (
        (["--margin", 2], "--margin is of labelled sentences"),
        (["--thresholds", "-1"], "--thresholds must be at least 0"),
        ([data / "dev.txt", "--model", data / "model"], "would overwrite an input file"),
        (["--rule", "ball"], "interval"),
    ):
        code, _, err = spinney("prune", data / "model", *wrong)
        assert code == 2
        assert said in err
        assert err.count("\n") == 1


def test_both_strengths_of_an_elastic_net(spinney, facts, data, tmp_path):
    command = ["fit", data / "train.txt", "--patterns", data / "near.tpl", "--model", tmp_path / "m"]
    found = facts(*command, "--penalty", "elasticnet", "--l2s", "0.01,1", "--cv", 3)
    assert {row["l2"] for row in found["tried"]} == {0.01, 1.0}
    assert "and l2 = " in found["chosen"]
    code, _, err = spinney(*command, "--l2s", "0.01,1")
    assert (code, err) == (2, "spinney: --l2s are for --penalty elasticnet, not for l2\n")


@pytest.mark.parametrize(("how", "parameters"), [("mi", 12), ("gain", None)])
def test_features_chosen_before_the_fit(spinney, facts, data, tmp_path, how, parameters):
    command = [
        "fit",
        data / "train.txt",
        "--patterns",
        data / "near.tpl",
        "--lam",
        0.1,
        "--model",
        tmp_path / "m",
    ]
    found = facts(*command, "--select", how, "--select-top", 12)
    assert found["selected"].startswith("12 of ")
    assert found["parameters"] == (parameters or found["parameters"])
    assert facts("eval", tmp_path / "m", data / "dev.txt")["token_error"] < 0.4
    code, _, err = spinney(*command, "--select", how)
    assert code == 2
    assert "--select needs --select-top" in err


def test_a_hidden_markov_model_and_unlabelled_sentences(spinney, facts, data, tmp_path, file):
    words = file("words.tpl", "U:%x[0,0]\nB\n")
    command = ["fit", data / "train.txt", "--method", "hmm", "--patterns", words, "--model", tmp_path / "m"]
    found = facts(*command, "--unlabelled", data / "plain.txt", "--passes", 2, "--unlabelled-weight", 0.5)
    assert found["em"] == "2 passes over 10 unlabelled sentences"
    assert (found["solver"], found["iterations"]) == ("em", 2)
    assert facts("eval", tmp_path / "m", data / "dev.txt")["token_error"] < 0.1
    code, _, err = spinney(*command, "--passes", 2)
    assert (code, err) == (2, "spinney: --passes has no effect without --unlabelled: leave it out\n")


def test_clusters_of_unlabelled_sentences(spinney, facts, data, tmp_path):
    command = [
        "fit",
        data / "train.txt",
        "--patterns",
        data / "near.tpl",
        "--lam",
        1,
        "--model",
        tmp_path / "m",
    ]
    more = ["--unlabelled", data / "plain.txt", "--criterion", "weighted", "--criterion-strength", 1]
    assert facts(*command, *more, "--clusters", 1)["effective_sample"] == pytest.approx(30)
    code, _, err = spinney(*command, "--clusters", 3)
    assert (code, err) == (2, "spinney: --clusters need --unlabelled\n")


def test_apply_writes_each_line_with_its_label(spinney, data, tmp_path):
    target = tmp_path / "out.txt"
    code, out, _ = spinney("apply", data / "model", data / "plain.txt", "-o", target)
    assert (code, out) == (0, "")
    assert target.read_text() == as_text(grammar(10, 2), 3, "\t")
    assert spinney("apply", data / "model", data / "plain.txt")[1] == target.read_text()


def test_standard_input_and_output(spinney, data, monkeypatch):
    text = (data / "plain.txt").read_bytes()
    for arguments in (["-", "-o", "-"], []):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        code, out, _ = spinney("apply", data / "model", *arguments)
        assert code == 0
        assert out == as_text(grammar(10, 2), 3, "\t")


def test_compressed_in_and_out(spinney, facts, data, tmp_path, file):
    train = file("train.txt.gz", gzip.compress((data / "train.txt").read_bytes()))
    plain = file("plain.txt.gz", gzip.compress((data / "plain.txt").read_bytes()))
    facts("fit", train, "--patterns", data / "near.tpl", "--model", tmp_path / "m", "--lam", 0.1)
    assert spinney("apply", tmp_path / "m", plain, "--output", tmp_path / "out.gz")[0] == 0
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == as_text(grammar(10, 2), 3, "\t")


def test_probabilities_and_posterior_decoding(spinney, facts, data):
    code, out, _ = spinney("apply", data / "model", data / "plain.txt", "--proba")
    rows = [line.split("\t") for line in out.splitlines() if line]
    assert code == 0
    assert {len(row) for row in rows} == {4}
    assert all(0.5 < float(row[3]) <= 1 for row in rows)
    by_token = facts("apply", data / "model", data / "plain.txt", "--decoding", "posterior")
    assert [s["labels"] for s in by_token["sentences"]] == labels_of(as_text(grammar(10, 2), 3, "\t"))


def test_nbest(spinney, facts, data, file):
    short = file("short.txt", "the DT\ndog NN\n\nsees VB\n")
    found = facts("apply", data / "model", short, "--nbest", 5)["sentences"]
    assert [len(sentence["nbest"]) for sentence in found] == [5, 4]  # one token has four labellings
    for sentence in found:
        scores = [way["score"] for way in sentence["nbest"]]
        assert scores == sorted(scores, reverse=True)
        assert sentence["labels"] == sentence["nbest"][0]["labels"]
        assert len({tuple(way["labels"]) for way in sentence["nbest"]}) == len(scores)
    assert sum(way["probability"] for way in found[1]["nbest"]) == pytest.approx(1.0)
    out = spinney("apply", data / "model", short, "--nbest", 2)[1]
    heads = [line.split() for line in out.splitlines() if line.startswith("#")]
    assert [head[1] for head in heads] == ["1", "2", "1", "2"]


def test_forced_labels(spinney, facts, data, file):
    known = file("known.txt", "the DT _\ndog NN O\nsees VB O|I-NP\n. . B-VP\n")
    [sentence] = facts("apply", data / "model", known, "--force", "--proba")["sentences"]
    assert sentence["labels"][0] == "B-NP"
    assert sentence["labels"][1] == "O"
    assert sentence["labels"][2] in ("O", "I-NP")
    assert sentence["labels"][3] == "B-VP"
    assert sentence["probabilities"][1] == pytest.approx(1.0)
    for way in facts("apply", data / "model", known, "--force", "--nbest", 3)["sentences"][0]["nbest"]:
        assert way["labels"][1::2] == ["O", "B-VP"]
    bad = file("unknown.txt", "the DT _\ndog NN B-PP\n")
    _refused(spinney("apply", data / "model", bad, "--force"), "unknown.txt", "'B-PP'", "never seen")
    bad = file("hole.txt", "the DT B-NP|\n")
    _refused(spinney("apply", data / "model", bad, "--force"), "hole.txt", "'B-NP|'", "PER|LOC")
    bad = file("narrow.txt", "the\n")
    _refused(spinney("apply", data / "model", bad, "--force"), "narrow.txt", "one column")
    bad = file("impossible.txt", "the DT I-NP\n")
    command = ["apply", data / "model", bad, "--force", "--scheme", "iob2"]
    _refused(spinney(*command), "impossible.txt", "sentence 1", "constraints")


@pytest.mark.parametrize("scheme", ["iob2", "iob1"])
def test_a_scheme_gives_valid_sequences_only(facts, data, file, scheme):
    rng = random.Random(3)
    tokens = [row[:2] for sentence in grammar(30, 4) for row in sentence]
    jumbled = file("jumbled.txt", as_text([rng.choices(tokens, k=6) for _ in range(40)], 2))
    names = ["B-NP", "B-VP", "I-NP", "I-VP", "O"]
    allowed = allowed_transitions(names, scheme)
    assert not all(
        _valid(s["labels"], names, allowed) for s in facts("apply", data / "model", jumbled)["sentences"]
    )
    held = facts("apply", data / "model", jumbled, "--scheme", scheme)["sentences"]
    assert all(_valid(sentence["labels"], names, allowed) for sentence in held)


def _valid(labels, names, allowed):
    numbers = [len(names), *map(names.index, labels)]
    return all(allowed[before, label] for before, label in itertools.pairwise(numbers))


def test_a_scheme_of_fit_stays_with_the_model(facts, data, tmp_path, file):
    command = ["fit", data / "train.txt", "--patterns", data / "near.tpl", "--model", tmp_path / "m"]
    facts(*command, "--scheme", "iob2")
    odd = file("odd.txt", "old JJ\ndog NN\n")
    assert facts("apply", tmp_path / "m", odd)["sentences"][0]["labels"][0] != "I-NP"


@pytest.mark.parametrize("scheme", ["iob1", "iob2", "bioes"])
def test_a_scheme_other_than_that_of_the_labels_converts_them(facts, data, tmp_path, file, scheme):
    """It is not a set of rules that none of the model's labellings can keep."""
    gold = [convert([row[2] for row in sentence], "iob1") for sentence in grammar(30, 1)]
    rows = [
        [(*row[:2], label) for row, label in zip(sentence, labels)]
        for sentence, labels in zip(grammar(30, 1), gold)
    ]
    train = file("iob1.txt", as_text(rows))
    fit = facts("fit", train, "--patterns", data / "near.tpl", "--lam", 0.1, "--model", tmp_path / "m")
    assert fit["label_scheme"] == "iob1"
    scores = facts("eval", tmp_path / "m", train, "--scheme", scheme)
    assert (scores["f1"], scores["accuracy"], scores["unseen_labels"]) == (1.0, 1.0, [])
    found = facts("apply", tmp_path / "m", train, "--scheme", scheme)["sentences"]
    assert [sentence["labels"] for sentence in found] == [convert(labels, scheme) for labels in gold]
    other = file("iob2.txt", as_text(grammar(30, 1)))  # a file in another scheme than the model's
    scores = facts("eval", tmp_path / "m", other)
    assert (scores["f1"], scores["accuracy"], scores["unseen_labels"]) == (1.0, 1.0, [])


def test_labels_of_no_single_scheme_are_warned_of(spinney, data, tmp_path, file):
    mixed = file("mixed.txt", "a D B-X\nb D I-X\n\na D I-X\nb D I-X\n\n")
    spinney("fit", mixed, "--patterns", data / "near.tpl", "--model", tmp_path / "m")
    _, _, err = spinney("eval", tmp_path / "m", mixed, "--scheme", "iob2")
    assert "no single scheme" in err


def test_lines_of_the_output_match_those_of_the_input(spinney, data, file):
    text = "\n\n-DOCSTART- -X-\n\nthe DT\ndog NN\n\n\n-DOCSTART-\nthis DT\n-DOCSTART- -X-\na DT\n\n-DOCSTART- -X-\n"
    _, out, _ = spinney("apply", data / "model", file("docs.txt", text))
    first = [line.split("\t")[0] for line in out.split("\n")]
    assert first == [line.split(" ")[0] for line in text.split("\n")]
    assert "-DOCSTART-\t-X-\tO\n" in out
    _, out, _ = spinney("apply", data / "model", file("docs.txt", text), "--proba")
    assert "-DOCSTART-\t-X-\tO\t_\n" in out
    _, out, _ = spinney("apply", data / "model", file("end.txt", "the DT\ndog NN"))
    assert out.count("\n") == 3


def test_conllu_keeps_everything_but_the_tags(spinney, facts, tmp_path, file):
    whole = (
        "# sent_id = 1\n# text = vámonos al mar\n1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "1\tvamos\tir\tVERB\tV\tMood=Imp\t0\troot\t_\t_\n2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_\n"
        "2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n3\tmar\tmar\tNOUN\tN\tGender=Masc\t1\tobl\t1:obl\tA=b\n\n"
    )
    path = file("c.conllu", whole)
    facts("fit", path, "--format", "conllu", "--model", tmp_path / "m", "--lam", 0.01)
    _, out, _ = spinney("apply", tmp_path / "m", path, "--format", "conllu")
    assert out == whole
    blank = whole.replace("VERB", "_").replace("PRON", "X").replace("NOUN", "_")
    _, out, _ = spinney("apply", tmp_path / "m", file("b.conllu", blank), "--format", "conllu")
    assert out == whole
    _, out, _ = spinney("apply", tmp_path / "m", path, "--format", "conllu", "--proba")
    assert "A=b|UposProb=" in out
    _, out, _ = spinney("apply", tmp_path / "m", path, "--format", "conllu", "--nbest", 2)
    assert out.count("# sent_id = 1\n") == 2
    assert "# nbest = 2 score" in out


def test_sounds_are_not_choices(spinney, file, tmp_path):
    words = file("d.dict", "AX  AE1 K S\nTAX  T AE1 K S\nAT  AE1 T\nTEA  T IY1\n")
    fit = ["fit", words, "--format", "cmudict", "--model", tmp_path / "m"]
    _refused(spinney(*fit, "--partial"), "--partial", "cmudict", "K|S")
    spinney(*fit)
    _refused(spinney("apply", tmp_path / "m", words, "--format", "cmudict", "--force"), "--force", "K|S")


def test_an_encoding_stays_inside_the_model(facts, data, tmp_path):
    command = ["--patterns", data / "near.tpl", "--lam", 0.1, "--encode", "bioes"]
    fit = facts("fit", data / "train.txt", *command, "--model", tmp_path / "m", "--dev", data / "dev.txt")
    assert fit["labels"] == 5  # B-NP, I-NP, E-NP, S-VP, O
    known = {"B-NP", "I-NP", "B-VP", "O"}
    for more in ([], ["--proba"], ["--nbest", 3]):
        for sentence in facts("apply", tmp_path / "m", data / "plain.txt", *more)["sentences"]:
            assert set(sentence["labels"]) <= known
            assert all(set(way["labels"]) <= known for way in sentence.get("nbest", []))
    scores = facts("eval", tmp_path / "m", data / "dev.txt")
    assert (scores["f1"], scores["token_error"], scores["unseen_labels"]) == (1.0, 0.0, [])
    other = facts("apply", tmp_path / "m", data / "plain.txt", "--scheme", "bioes")["sentences"][0]["labels"]
    assert "S-VP" in other
    forced = facts("apply", tmp_path / "m", data / "dev.txt", "--force")["sentences"]
    assert [s["labels"] for s in forced] == [[row[2] for row in s] for s in grammar(10, 2)]
    path = facts(
        "path", data / "train.txt", *command[:2], *command[4:], "--dev", data / "dev.txt", "--lams", "0.1"
    )
    assert path["points"][0]["f1"] == 1.0


# --------------------------------------------------------------------------------------- ways of training


def test_half_known_labels(facts, data, tmp_path, file):
    rng = random.Random(5)
    hidden = {"B-NP": "B-NP|I-NP", "O": "_"}
    rows = [
        [(w, p, hidden.get(y, y) if rng.random() < 0.4 else y) for w, p, y in sentence]
        for sentence in grammar(40, 6)
    ]
    some = file("some.txt", as_text(rows))
    command = ["fit", some, "--patterns", data / "near.tpl", "--model", tmp_path / "m", "--lam", 0.1]
    assert facts(*command, "--partial")["labels"] == 4
    assert facts("eval", tmp_path / "m", data / "dev.txt")["token_error"] <= 0.05
    assert facts(*command)["labels"] == 6  # without the option they are names like others


def test_partial_mistakes(spinney, data, tmp_path, file):
    command = ["--patterns", data / "near.tpl", "--model", tmp_path / "m", "--partial"]
    _refused(spinney("fit", file("none.txt", "a A _\nb B _\n"), *command), "none.txt", "no label is known")
    _refused(spinney("fit", file("hole.txt", "a A X|\n"), *command), "hole.txt", "'X|'", "PER|LOC")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("options", [["--lam", 0.1], ["--penalty", "l1", "--lam", 1e6]])
def test_inspecting_a_model_without_bigrams(facts, data, tmp_path, file, options):
    template = file("u.tpl", "U0:%x[0,0]\n")
    facts("fit", data / "train.txt", "--patterns", template, "--model", tmp_path / "m", *options)
    assert facts("inspect", tmp_path / "m")["bigrams_with_symbol"] == 0


def test_going_on_from_a_model(facts, data, tmp_path, file):
    command = ["--patterns", data / "near.tpl", "--lam", 0.1, "--tol", 1e-4]
    facts("fit", data / "train.txt", *command, "--model", tmp_path / "one")
    again = facts(
        "fit", data / "train.txt", *command, "--model", tmp_path / "two", "--init", tmp_path / "one"
    )
    assert again["iterations"] <= 1  # nothing was left to do
    more = file("more.txt", as_text(grammar(30, 1)) + "zebras NNS B-NP\nrun VB B-VP\nfast RB B-ADVP\n")
    went_on = facts("fit", more, *command, "--model", tmp_path / "three", "--init", tmp_path / "one")
    afresh = facts("fit", more, *command, "--model", tmp_path / "four")
    assert went_on["labels"] == 5
    assert went_on["objective"] == pytest.approx(afresh["objective"], rel=1e-3)


def test_stopping_early(facts, data, tmp_path):
    command = ["fit", data / "train.txt", "--patterns", data / "near.tpl", "--model", tmp_path / "m"]
    fitted = facts(*command, "--dev", data / "dev.txt", "--patience", 1, "--solver", "sgd", "--passes", 50)
    assert fitted["iterations"] < 50
    assert fitted["dev_token_error"] == facts("eval", tmp_path / "m", data / "dev.txt")["token_error"]


def test_word_classes_and_vectors(facts, data, tmp_path, file):
    paths = file(
        "paths", "00\tdog\t5\n00\tcat\t4\n00\tfox\t1\n01\tthe\t9\n01\ta\t8\n1\tsees\t3\n1\tfinds\t2\n"
    )
    vectors = file("vectors.txt", "3 2\nthe 1 0\ndog 0 1\nfox 0 1\n")
    template = file(
        "s.tpl", "U0:%x[0,0]\nU1:%class[0,0,brown]\nU2:%path[0,0,brown,1]\nU3:%vector[0,0,w2v]\nB\n"
    )
    structures = ["--classes", f"brown={paths}", "--vectors", f"w2v={vectors}"]
    facts("fit", data / "train.txt", "--patterns", template, *structures, "--model", tmp_path / "m")
    active = facts("inspect", tmp_path / "m")["active_by_pattern"]
    assert {"U1:%class[0,0,brown]", "U2:%path[0,0,brown,1]", "U3:%vector[0,0,w2v]"} <= set(active)
    unseen = file("fox.txt", "a\nfox\nsees\na\nfox\n")
    # A word never seen in training is known by its class; the model file holds the classes.
    paths.unlink()
    labels = facts("apply", tmp_path / "m", unseen)["sentences"][0]["labels"]
    assert labels == ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP"]


def test_a_preset_looks_at_structures_by_itself(facts, data, tmp_path):
    from spinney.structure import WordClasses

    classes = tmp_path / "classes.spinney"
    WordClasses(["dog", "cat", "the"], [0, 0, 1], paths=["00", "01"]).save(classes)
    command = ["fit", data / "train.txt", "--preset", "chunk", "--classes", f"own={classes}"]
    facts(*command, "--model", tmp_path / "m")
    assert "U-own-path4+0:%path[0,0,own,4]" in facts("inspect", tmp_path / "m")["active_by_pattern"]


# ------------------------------------------------------------------------------------------------- formats


CONLLU = """\
# text = the dog sees it
1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tdog\tdog\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsees\tsee\tVERB\tVBZ\t_\t0\troot\t_\t_
4\tit\tit\tPRON\tPRP\t_\t3\tobj\t_\t_

1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tcat\tcat\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsees\tsee\tVERB\tVBZ\t_\t0\troot\t_\t_

"""
CRFSUITE = "D\tw=the\tlength:0.3\nN\tw=dog\tlength:0.3\n\nD\tw=a\nN\tw=x\\:y\n"
NETTALK = "aback\txb@k-\t0>1<<\t0\ncab\tk@b\t>1<\t0\nback\tb@k-\t>1<<\t0\n"


@pytest.mark.parametrize(
    ("format", "text", "labels"),
    [
        ("conllu", CONLLU, 4),
        ("crfsuite", CRFSUITE, 2),
        ("nettalk", NETTALK, 5),
        ("nettalk-stress", NETTALK, 7),
    ],
    ids=["conllu", "crfsuite", "nettalk", "nettalk-stress"],
)
def test_formats(facts, tmp_path, file, format, text, labels):
    train = file(f"train.{format}", text)
    fitted = facts("fit", train, "--format", format, "--model", tmp_path / "m", "--lam", 0.01)
    assert fitted["labels"] == labels
    assert facts("eval", tmp_path / "m", train, "--format", format)["token_error"] == 0.0


def test_the_name_of_a_file_tells_its_format(spinney, facts, tmp_path, file):
    train = file("train.conllu", CONLLU)
    fitted = facts("fit", train, "--model", tmp_path / "m", "--lam", 0.01)  # neither --format nor --preset
    assert fitted["labels"] == 4
    assert facts("eval", tmp_path / "m", train)["token_error"] == 0.0
    assert spinney("apply", tmp_path / "m", train)[1] == CONLLU
    both = spinney("fit", train, file("a.txt", "the DT\n"), "--model", tmp_path / "n")
    _refused(both, "train.conllu (conllu)", "a.txt (columns)", "give --format")
    as_columns = spinney("fit", train, "--format", "columns", "--preset", "pos", "--model", tmp_path / "n")
    _refused(as_columns, "train.conllu")


def test_letters_and_lines(spinney, facts, tmp_path, file):
    facts("fit", file("n", NETTALK), "--format", "nettalk", "--model", tmp_path / "m", "--lam", 0.01)
    words = file("words.txt", "back cab\naback\n")
    out = spinney("apply", tmp_path / "m", words, "--format", "letters")[1]
    assert labels_of(out) == [list("b@k-"), list("k@b"), list("xb@k-")]
    assert out.startswith("b\tb\na\t@\n")
    facts("fit", file("c", CONLLU), "--format", "conllu", "--model", tmp_path / "m", "--lam", 0.01)
    lines = file("lines.txt", "the cat sees it\nthe dog\n")
    out = spinney("apply", tmp_path / "m", lines, "--format", "lines")[1]
    assert labels_of(out) == [["DET", "NOUN", "VERB", "PRON"], ["DET", "NOUN"]]
    _refused(spinney("eval", tmp_path / "m", lines, "--format", "lines"), "'lines'", "conllu")


def test_bad_lines_of_formats(spinney, tmp_path, file):
    def fit(path, format):
        result = spinney("fit", path, "--format", format, "--model", tmp_path / "m")
        assert not (tmp_path / "m").exists()
        return result

    _refused(fit(file("a.crf", "D\tw=the\n\tw=dog\n"), "crfsuite"), "a.crf:2", "label TAB attribute")
    _refused(fit(file("b.crf", "D\tw=the:x\n"), "crfsuite"), "b.crf:1", "\\:")
    _refused(fit(file("n.data", "aback\txb\t0>1<<\t0\n"), "nettalk"), "n.data:1", "NETtalk")
    _refused(fit(file("d.dict", "CAB\n"), "cmudict"), "d.dict:1", "without phonemes")
    _refused(fit(file("c.conllu", "1\tthe\tthe\tDET\n"), "conllu"), "c.conllu:1")


def test_ends_of_lines_and_gaps_between_them(facts, data, file):
    text = "\r\n\r\nthe\tDT\r\ndog \t NN\r\n\r\n\r\n \r\nsees  VB\r\n"
    applied = facts("apply", data / "model", file("crlf.txt", text))
    assert [sentence["labels"] for sentence in applied["sentences"]] == [["B-NP", "I-NP"], ["B-VP"]]
    labelled = "\r\n\r\nthe\tDT\tB-NP\r\ndog NN  I-NP\r\n\r\n\r\n\r\nsees VB B-VP"
    scores = facts("eval", data / "model", file("gold.txt", labelled))
    assert (scores["sentences"], scores["tokens"], scores["token_error"]) == (2, 3, 0.0)


def test_documents_start(facts, data, file):
    text = file("docs.txt", "-DOCSTART- -X- O\n\nthe DT B-NP\n")
    assert facts("eval", data / "model", text)["tokens"] == 1
    assert facts("eval", data / "model", text, "--docstart", "keep")["tokens"] == 2


def test_very_long_sentences(facts, data, tmp_path, file):
    rows = [row for sentence in grammar(15_000, 7) for row in sentence]
    assert len(rows) > 100_000
    long = file("long.txt", as_text([rows]))
    facts("fit", long, "--patterns", data / "near.tpl", "--model", tmp_path / "m", "--max-iter", 3)
    scores = facts("eval", tmp_path / "m", long)
    assert scores["sentences"] == 1
    assert scores["token_error"] == 0.0
    [sentence] = facts("apply", tmp_path / "m", long, "--proba")["sentences"]
    assert len(sentence["labels"]) == len(rows)


def test_one_label_only(facts, tmp_path, file):
    one = file("one.txt", "a A\nb A\n\nc A\n")
    fitted = facts("fit", one, "--preset", "pos", "--model", tmp_path / "m")
    assert fitted["labels"] == 1
    assert facts("eval", tmp_path / "m", one)["token_error"] == 0.0
    [first, _] = facts("apply", tmp_path / "m", one, "--proba")["sentences"]
    assert first["probabilities"] == [1.0, 1.0]


def test_a_label_never_seen_is_an_error_of_the_tagger(facts, spinney, data, file):
    text = as_text(grammar(10, 2)).replace("B-VP", "B-XP")
    scores = facts("eval", data / "model", file("new.txt", text))
    assert scores["unseen_labels"] == ["B-XP"]
    assert scores["token_error"] == pytest.approx(10 / 69)
    assert "B-XP" in spinney("eval", data / "model", file("new.txt", text))[1]


# ------------------------------------------------------------------------------------------------ mistakes


def _refused(result, *needles):
    code, out, err = result
    assert code == 2, err
    assert out == ""
    assert len(err.strip().splitlines()) == 1, err
    for needle in needles:
        assert needle in err, err


@pytest.fixture
def fit(spinney, tmp_path):
    """A fit that must fail, and leave nothing behind."""

    def call(*arguments):
        before = set(os.listdir(tmp_path))
        result = spinney("fit", *arguments, "--model", tmp_path / "never")
        assert set(os.listdir(tmp_path)) == before
        return result

    return call


def test_mistakes_in_data(fit, data, tmp_path, file):
    near = ["--patterns", data / "near.tpl"]
    _refused(fit(file("r.txt", "a B C\nb C\n"), *near), "r.txt:2", "2 columns", "3", "a field is missing")
    _refused(fit(data / "train.txt", file("two.txt", "a B\n"), *near), "two.txt:1", "2 columns")
    _refused(fit(file("one.txt", "a\nb\n"), *near), "one.txt", "no labels", "last column")
    _refused(fit(file("empty.txt", ""), *near), "empty.txt", "no sentences")
    _refused(fit(file("blank.txt", "\n \n"), *near), "blank.txt", "no sentences")
    _refused(fit(tmp_path / "nowhere.txt", *near), "nowhere.txt", "no such file")
    _refused(fit(tmp_path, *near), str(tmp_path), "folder")
    _refused(fit(file("l.txt", b"a B C\ncaf\xe9 B C\n"), *near), "l.txt:2", "the encoding latin-1")
    _refused(fit(file("cut.txt.gz", gzip.compress(b"a B C\n" * 99)[:-9]), *near), "cut.txt.gz", "truncated")
    train = data / "train.txt"
    _refused(fit(train, *near, "--dev", file("d.txt", "a B\n")), "d.txt", "2 columns", "3")
    _refused(fit(train, *near, "--dev", tmp_path / "nodev"), "nodev", "no such file")


def test_mistakes_in_templates(fit, data, tmp_path, file):
    train = data / "train.txt"
    wide = file("wide.tpl", "U0:%x[0,0]\nU1:%x[0,2]\nB\n")
    _refused(fit(train, "--patterns", wide), "train.txt", "wide.tpl:2", "column 2", "counted from 0")
    bad = file("bad.tpl", "# words\nU0:%x[0,0]\nU1:%x[0\n")
    _refused(fit(train, "--patterns", bad), "bad.tpl:3", "%x[0,0]")
    _refused(fit(train, "--patterns", file("v.tpl", "U0:%foo[0,0]\n")), "v.tpl:1", "%foo", "%lower")
    _refused(fit(train, "--patterns", file("k.tpl", "x:%x[0,0]\n")), "k.tpl:1", "U, B or *")
    _refused(fit(train, "--patterns", file("re.tpl", 'U0:%t[0,0,"(a"]\n')), "re.tpl:1", "regular expression")
    _refused(fit(train, "--patterns", file("no.tpl", "# none\n")), "no.tpl", "no patterns")
    _refused(
        fit(train, "--patterns", tmp_path / "nowhere.tpl"), "nowhere.tpl", "neither a file nor a built-in set"
    )
    _refused(fit(train, "--patterns", file("c.tpl", "U0:%class[0,0,b]\n")), "c.tpl:1", "'b'", "none")


def test_mistakes_in_options(fit, data, tmp_path, file):
    train, near = data / "train.txt", ["--patterns", data / "near.tpl"]
    _refused(fit(train), "--preset", "--patterns")
    _refused(fit(train, *near, "--preset", "chunk"), "give only one")
    _refused(fit(train, "--preset", "verbs"), "'verbs'", "chunk, ner, pos or g2p")
    _refused(fit(train, *near, "--penalty", "lasso"), "no penalty 'lasso'", "elasticnet")
    _refused(fit(train, *near, "--solver", "magic"), "not 'magic'", "lbfgs")
    _refused(fit(train, *near, "--scheme", "iob9"), "'iob9'", "iob2")
    _refused(fit(train, *near, "--encode", "iob9"), "--encode", "'iob9'", "iob2")
    _refused(fit(train, *near, "--method", "svm"), "'svm'", "memm")
    _refused(fit(train, *near, "--weights", "some"), "'some'", "observed")
    _refused(fit(train, *near, "--format", "xml"), "'xml'", "conllu")
    _refused(fit(train, *near, "--docstart", "eat"), "'eat'")
    _refused(fit(train, *near, "--on-error", "shrug"), "--on-error")
    _refused(fit(train, *near, "--lam", -1), "--lam must be at least 0")
    _refused(fit(train, *near, "--solver-options", "kappa2"), "'kappa2'", "NAME=VALUE")
    _refused(fit(train, *near, "--classes", "paths"), "'paths'", "NAME=FILE")
    _refused(fit(train, *near, "--classes", "=paths"), "NAME=FILE")
    _refused(fit(train, *near, "--vectors", "w="), "NAME=FILE")
    _refused(
        fit(train, *near, "--classes", f"b={tmp_path / 'nowhere'}"),
        "nowhere",
        "no such file",
    )
    _refused(fit(train, *near, "--vectors", f"b={file('v', 'the 1 2 x')}"), "v:1")
    _refused(fit(train, *near, "--penalty", "l1", "--solver", "lbfgs"), "lbfgs", "owlqn")
    _refused(fit(train, *near, "--penalty", "tree", "--solver", "sbcd"), "sbcd", "fista")
    _refused(fit(train, *near, "--penalty", "tree", "--solver", "sgd"), "sgd", "fista")
    _refused(fit(train, *near, "--method", "hmm"), "hmm", "U:%x[0,0]")
    _refused(fit(train, *near, "--init", tmp_path / "nowhere"), "nowhere", "no such file")
    _refused(fit(train, *near, "--unknown"), "--unknown")


@pytest.mark.parametrize("solver", ["sbcd", "fista", "owlqn"])
def test_an_option_that_the_solver_has_not(fit, data, solver):
    command = ["--patterns", data / "near.tpl", "--penalty", "elasticnet", "--solver", solver]
    _refused(fit(data / "train.txt", *command, "--solver-options", "zeal=3"), solver, "zeal")


def test_groups_over_observed_labels_only(fit, data):
    command = ["--patterns", data / "near.tpl", "--penalty", "group-pattern", "--weights", "observed"]
    _refused(fit(data / "train.txt", *command), "group", "--weights all")


def test_mistakes_with_targets(spinney, data, tmp_path):
    command = ["fit", data / "train.txt", "--patterns", data / "near.tpl"]
    _refused(spinney(*command, "--model", tmp_path / "no" / "m"), "no such folder")
    _refused(spinney(*command, "--model", tmp_path), "cannot be written")
    _refused(spinney(*command), "--model")
    old = tmp_path / "old"
    old.write_text("precious")
    _refused(spinney(*command, "--model", old, "--penalty", "lasso"))
    assert old.read_text() == "precious"


def test_mistakes_of_apply_leave_no_file(spinney, data, tmp_path, file):
    def apply(path, *arguments, model=data / "model"):
        before = set(os.listdir(tmp_path))
        result = spinney("apply", model, path, "--output", tmp_path / "never.txt", *arguments)
        assert set(os.listdir(tmp_path)) == before
        return result

    plain = data / "plain.txt"
    _refused(apply(file("narrow.txt", "the\ndog\n")), "narrow.txt", "column 1", "counted from 0")
    _refused(apply(file("late.txt", "the DT\n\n" * 5000 + "dog\n")), "late.txt:10001", "1 columns")
    _refused(apply(tmp_path / "nowhere.txt"), "nowhere.txt", "no such file")
    _refused(apply(plain, "--format", "xml"), "'xml'", "conllu")
    _refused(apply(plain, "--on-error", "shrug"), "shrug")
    _refused(apply(plain, "--decoding", "guess"), "'guess'", "posterior")
    _refused(apply(plain, "--decoding", "guess", "--nbest", 2), "'guess'", "posterior")
    _refused(apply(plain, "--scheme", "iob9"), "'iob9'", "iob2")
    _refused(apply(plain, "--nbest", 0), "--nbest")
    _refused(apply(plain, model=tmp_path / "nomodel"), "nomodel", "no such file")


def test_more_columns_than_wanted_are_fine(spinney, data, file):
    wider = file("wider.txt", as_text([[(*row[:2], "x", "y") for row in s] for s in grammar(10, 2)], 4))
    code, out, _ = spinney("apply", data / "model", wider)
    assert code == 0
    assert labels_of(out) == [[row[2] for row in s] for s in grammar(10, 2)]
    assert {line.count("\t") for line in out.splitlines() if line} == {4}


def test_mistakes_with_models(spinney, data, tmp_path, file):
    other = tmp_path / "classifier.spinney"
    write_model(other, "classify/TextModel", {}, {})
    for verb in (["inspect", other], ["eval", other, data / "dev.txt"], ["apply", other, data / "plain.txt"]):
        _refused(spinney(*verb), "classifier.spinney", "classify")
    _refused(spinney("inspect", data / "train.txt"), "train.txt", "not a Spinney model")
    _refused(spinney("inspect", tmp_path / "nowhere"), "nowhere", "no such file")
    whole = (data / "model").read_bytes()
    for size in (0, 5, 200, len(whole) // 2, len(whole) - 1):
        half = file(f"half{size}.spinney", whole[:size])
        _refused(spinney("inspect", half), half.name)
    _refused(spinney("inspect", data / "model", "--by", "colour"), "'colour'", "pattern")


def test_mistakes_of_eval_and_path(spinney, data, tmp_path, file):
    _refused(spinney("eval", data / "model", file("n.txt", "the B-NP\n")), "n.txt", "column 1")
    _refused(spinney("eval", data / "model", file("e.txt", "")), "e.txt", "no sentences")
    _refused(spinney("eval", data / "model", file("o.txt", "the\n")), "o.txt", "no labels")
    pos = file("pos.txt", "the DET\ndog NOUN\n")
    assert spinney("fit", pos, "--preset", "pos", "--model", tmp_path / "pos", "--quiet")[0] == 0
    _refused(spinney("eval", tmp_path / "pos", pos, "--conlleval"), "pos.txt", "phrase labels")
    _refused(spinney("eval", tmp_path / "pos", pos, "--scheme", "iob2"), "pos.txt", "phrase label")
    path = ["path", data / "train.txt", "--patterns", data / "near.tpl"]
    _refused(spinney(*path, "--model", tmp_path / "m"), "--dev")
    _refused(spinney(*path, "--lams", "4,x"), "--lams")
    _refused(spinney(*path, "--lams", "1,-1", "--dev", data / "dev.txt", "--model", tmp_path / "m"), "--lams")
    _refused(spinney(*path, "--ratio", 2), "--ratio")
    _refused(spinney(*path, "--points", 1), "--points")
    assert not (tmp_path / "m").exists()


def test_passing_over_what_is_bad(spinney, facts, data, tmp_path, file):
    text = (
        as_text(grammar(10, 2)) + "a ragged\nrow here now\n\nthe DT B-NP\nbroken\n\n" + as_text(grammar(2, 3))
    )
    gaps = file("gaps.txt", text)
    skip = ["--on-error", "skip"]
    fitted = facts("fit", gaps, "--patterns", data / "near.tpl", "--model", tmp_path / "m", *skip)
    assert (fitted["sentences"], fitted["skipped"]) == (12, 2)
    scores = facts("eval", data / "model", gaps, *skip)
    assert (scores["sentences"], scores["skipped"]) == (12, 2)
    applied = facts("apply", data / "model", gaps, *skip)
    assert (len(applied["sentences"]), applied["skipped"]) == (12, 2)
    code, out, err = spinney("apply", data / "model", gaps, *skip)
    assert (code, len(labels_of(out))) == (0, 12)
    assert "2 sentences" in err
    assert "gaps.txt:" in err
