"""``spinney lm``: every verb and every method, and one clear line for each mistake."""

import gzip
import io
import json
import math
import random
import sys

import numpy as np
import pytest

from spinney.cli.main import run
from spinney.lm.model import load_language_model
from spinney.lm.suffixloss import SuffixTrieLoss
from spinney.structure import ClassTree, WordClasses

TASK = "lm"

DETERMINERS = ["the", "a", "this", "every"]
NOUNS = ["dog", "cat", "tree", "wood", "bird"]
VERBS = ["sees", "hears", "finds"]


def sentences(n, seed):
    """Sentences of a toy grammar."""
    rng = random.Random(seed)
    phrase = lambda: [rng.choice(DETERMINERS), rng.choice(NOUNS)]  # noqa: E731
    return [[*phrase(), rng.choice(VERBS), *phrase()] for _ in range(n)]


def lines(some):
    return "".join(" ".join(words) + "\n" for words in some)


#: A model of each method, with fast options.
ZERO = ["--start", "zero"]
FITS = {
    "mkn": ["--order", 3],
    "kn": ["--order", 3, "--method", "kn"],
    "kn-backoff": ["--order", 3, "--method", "kn-backoff", "--discount", "0.4,0.5,0.6"],
    "wb": ["--method", "wb"],
    "ad": ["--order", 3, "--method", "ad"],
    "jm": ["--order", 3, "--method", "jm"],
    "katz": ["--order", 2, "--method", "katz"],
    "good-turing": ["--order", 2, "--method", "good-turing"],
    "additive": ["--order", 2, "--method", "additive", "--add", 0.1],
    "pitman-yor": ["--order", 3, "--method", "pitman-yor", "--sweeps", 4],
    "memoizer": ["--method", "memoizer", "--sweeps", 4],
    "loglinear": ["--order", 3, "--method", "loglinear", "--max-iter", 30, "--lam", 0.5],
    "law": ["--method", "loglinear", "--max-iter", 90, "--law", "log", "--group-factor", 1.2, *ZERO],
    "unbounded": ["--order", "unbounded", "--method", "loglinear", "--max-iter", 20],
    "hierarchical": ["--order", 2, "--method", "hierarchical", "--max-iter", 20, "--penalty", "l1"],
    "class": ["--order", 3, "--method", "class", "--classes", "paths"],
}
BACKOFF = ["mkn", "kn", "kn-backoff", "wb", "ad", "jm", "katz", "pitman-yor"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with text, and a model of each kind."""
    root = tmp_path_factory.mktemp("lm")
    (root / "train.txt").write_text(lines(sentences(150, 1)))
    (root / "dev.txt").write_text(lines(sentences(30, 2)))
    (root / "new.txt").write_text("the unicorn sees a dog\na dog hears this cat\n")
    paths = [("00", DETERMINERS), ("01", NOUNS), ("1", VERBS)]
    (root / "paths").write_text("".join(f"{path}\t{word}\t1\n" for path, some in paths for word in some))
    for name, options in FITS.items():
        options = [root / option if option == "paths" else option for option in options]
        command = ["lm", "fit", root / "train.txt", "--model", root / name, *options, "--quiet", "--json"]
        assert run([str(part) for part in command]) == 0
    mixing = ["lm", "mix", root / "mkn", root / "memoizer", "--dev", root / "dev.txt", "--quiet", "--json"]
    for name, options in (("mixture", ["--by", "depth", "--cache-words", 50]), ("product", ["--log-linear"])):
        assert run([str(part) for part in [*mixing, "--model", root / name, *options]]) == 0
    return root


ALL = [*FITS, "mixture", "product"]


# ------------------------------------------------------------------------------------------ fit


def test_facts_of_a_fit(facts, data, tmp_path):
    found = facts(
        "fit", data / "train.txt", "--model", tmp_path / "m", "--order", 3, "--dev", data / "dev.txt"
    )
    assert found["model"] == str(tmp_path / "m")
    assert (found["method"], found["order"]) == ("mkn", 3)
    assert (found["sentences"], found["tokens"], found["words"]) == (150, 750, 13)
    assert found["grams"][0] == 14  # the words, <unk> among them, and the end
    assert found["parameters"] == found["active"] == sum(found["grams"])
    assert [len(discounts) for discounts in found["discounts"]] == [3, 3, 3]
    assert found["dev_perplexity"] == pytest.approx(
        facts("eval", tmp_path / "m", data / "dev.txt")["perplexity"]
    )
    assert found["tokens_per_second"] > 0
    assert load_language_model(tmp_path / "m").facts["reading"]["lowercase"] is False


def test_facts_of_a_log_linear_fit(facts, data, tmp_path):
    command = ["fit", data / "train.txt", "--model", tmp_path / "m", "--method", "loglinear", "--order", 2]
    found = facts(*command, "--lam", 2, "--tol", 1e-3)
    assert found["violation"] <= 1e-3
    assert 0 < found["active"] < found["parameters"]
    assert {"objective", "iterations", "seconds", "penalty"} <= set(found)


@pytest.mark.parametrize("name", ALL)
def test_every_model_knows_the_grammar(facts, data, name):
    found = facts("eval", data / name, data / "dev.txt")
    # The grammar has 4, 5, 3, 4, 5 and 1 choices: the sixth root of 1200 is 3.26. Knowing nothing, it would be 14.
    assert 3.2 < found["perplexity"] < 7
    assert found["perplexity_without_ends"] > found["perplexity"]
    assert (found["scored"], found["ends"], found["unknown"], found["sentences"]) == (180, 30, 0, 30)
    assert found["log10_probability"] == pytest.approx(-180 * math.log10(found["perplexity"]))
    assert found["parameters"] >= found["active"] > 0


def test_strengths_are_chosen_on_held_out_text(facts, data, tmp_path):
    for method in ("loglinear", "hierarchical"):
        command = ["fit", data / "train.txt", "--model", tmp_path / "m", "--method", method, "--order", 2]
        found = facts(
            *command, "--max-iter", 10, "--lam", "5,0.5", "--alpha", "1,1.2", "--dev", data / "dev.txt"
        )
        tried = found["tuning"]
        assert {(row["lam"], row["alpha"]) for row in tried} == {(5, 1), (0.5, 1), (5, 1.2), (0.5, 1.2)}
        best = min(tried, key=lambda row: row["perplexity"])
        assert (found["lam"], found["alpha"]) == (best["lam"], best["alpha"])
        assert found["dev_perplexity"] == pytest.approx(best["perplexity"])


@pytest.mark.parametrize("solver", ["words", "fista", "ista", "sage"])
def test_solvers(spinney, data, tmp_path, solver):
    command = ["fit", data / "train.txt", "--model", tmp_path / "m", "--method", "loglinear", "--order", 2]
    options = ["--solver", solver, "--max-iter", 3, "--tol", 1e-9, "--penalty", "tree-linf", "--alpha", 1]
    code, out, err = spinney(*command, *options, "--json", "--quiet")
    assert code == 0
    assert json.loads(out)["solver"] == solver
    assert err.count("warning: ") == 1
    assert "raise --max-iter" in err


@pytest.mark.parametrize("method", ["loglinear", "hierarchical"])
def test_a_penalty_that_leaves_nothing_is_said(spinney, data, tmp_path, method):
    err = spinney("fit", data / "train.txt", "--method", method, "--lam", 1e9, "--model", tmp_path / "m")[2]
    assert "warning: the model is empty: the penalty left no weight (lower --lam)" in err


def test_weights_on_held_out_text(facts, data, tmp_path):
    command = ["fit", data / "train.txt", "--model", tmp_path / "m", "--method", "jm", "--order", 3]
    assert facts(*command)["heldout"] == "deleted"
    found = facts(*command, "--dev", data / "dev.txt")
    assert found["heldout"] == "text"
    assert found["dev_perplexity"] <= facts("eval", data / "jm", data / "dev.txt")["perplexity"]


def test_bounded_memory_gives_the_same_model(facts, data, tmp_path):
    facts("fit", data / "train.txt", "--model", tmp_path / "m", "--order", 3, "--memory", "20K")
    ours, theirs = load_language_model(tmp_path / "m"), load_language_model(data / "mkn")
    np.testing.assert_array_equal(ours.logp, theirs.logp)


def test_trees_of_words(facts, data, tmp_path):
    command = ["fit", data / "train.txt", "--model", tmp_path / "m", "--method", "hierarchical", "--order", 2]
    command += ["--max-iter", 5]
    facts(*command, "--classes", data / "paths")
    facts(*command, "--tree", "classes", "--classes", data / "paths")
    balanced = ClassTree.balanced([*load_language_model(data / "mkn").vocabulary.words, "</s>"])
    balanced.write_newick(tmp_path / "tree.nwk")
    balanced.write_json(tmp_path / "tree.json")
    balanced.save(tmp_path / "tree.spinney")
    for file in ("tree.nwk", "tree.json", "tree.spinney"):
        assert facts(*command, "--tree", tmp_path / file)["decisions_per_token"] == pytest.approx(
            3.8, abs=0.3
        )


def test_classes_from_a_model(facts, data, tmp_path):
    words = [*DETERMINERS, *NOUNS, *VERBS]
    WordClasses(words, [0] * 4 + [1] * 5 + [2] * 3).save(tmp_path / "classes")
    command = ["fit", data / "train.txt", "--model", tmp_path / "m", "--order", 3, "--method", "class"]
    assert facts(*command, "--classes", tmp_path / "classes")["classes"] == 4  # one for the rest: <unk>


def test_another_vocabulary(facts, refused, data, tmp_path):
    (tmp_path / "other.txt").write_text("a dog sees a ghost\n" * 3)
    command = ["fit", tmp_path / "other.txt", "--model", tmp_path / "m", "--order", 2, "--method", "wb"]
    facts(*command)
    mix = ["mix", data / "mkn", tmp_path / "m", "--dev", data / "dev.txt", "--model", tmp_path / "mix"]
    assert f"the vocabulary of {data / 'mkn'}" in refused(*mix)
    facts(*command, "--vocabulary", data / "mkn")
    model = load_language_model(tmp_path / "m")
    assert model.vocabulary.words == load_language_model(data / "mkn").vocabulary.words
    assert model.vocabulary.counts.sum() == 15
    assert facts(*mix)["dev_perplexity"] < 5
    (tmp_path / "words").write_text("dog\na\n\n")
    assert facts(*command, "--vocabulary", tmp_path / "words")["words"] == 3
    assert "already fixes the words" in refused(
        *command, "--vocabulary", tmp_path / "words", "--min-count", 2
    )
    missing = refused(*command, "--vocabulary", tmp_path / "words", "--closed")
    assert "other.txt: 'sees' is not in the vocabulary" in missing
    (tmp_path / "words").write_text("dog\na cat\n")
    assert "words:2: more than one word on a line" in refused(*command, "--vocabulary", tmp_path / "words")


def test_formats(facts, tmp_path):
    text = sentences(40, 3)
    prose = " ".join(" ".join(words).capitalize() + "." for words in text)
    (tmp_path / "prose.txt").write_text(prose)
    (tmp_path / "columns.txt").write_text(
        "".join("".join(f"{w} X\n" for w in words) + "\n" for words in text)
    )
    (tmp_path / "table.csv").write_text("id,body\n" + "".join(f'1,"{" ".join(words)}"\n' for words in text))
    for file, *options in (
        ("prose.txt", "--format", "prose", "--lowercase"),
        ("columns.txt", "--format", "columns", "--words", "0+1"),
        ("table.csv", "--text", "body"),
    ):
        found = facts("fit", tmp_path / file, "--model", tmp_path / "m", "--method", "wb", *options)
        assert (found["sentences"], found["tokens"]) == (40, 200 + 40 * (file == "prose.txt"))
        reading = options[:2] if options[0] in ("--format", "--text") else []
        assert facts("eval", tmp_path / "m", tmp_path / file, *reading)["unknown"] == 0
        assert len(facts("apply", tmp_path / "m", tmp_path / file, *reading)["sentences"]) == 40


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--method", "nonsense"], "--method must be one of mkn, wb"),
        (["--lam", 0.5], "--lam is a setting of the methods loglinear and hierarchical, not of mkn"),
        (
            ["--method", "kn", "--sweeps", 3],
            "--sweeps is a setting of the methods pitman-yor and memoizer, not of kn",
        ),
        (
            ["--method", "loglinear", "--max-iter", 3, "--memory", "2G"],
            ", not of loglinear",
        ),
        (["--order", 0], "--order must be at least 1, not 0"),
        (["--order", "many"], "--order must be a whole number, not 'many'"),
        (["--order", "unbounded"], "--order must be a whole number, not 'unbounded'"),
        (["--method", "loglinear", "--lam", "1,2"], "give --dev"),
        (["--method", "loglinear", "--alpha", "1,2"], "give --dev"),
        (
            ["--method", "loglinear", "--lam", "1,x"],
            "--lam must be a number (or several, separated by commas)",
        ),
        (["--method", "loglinear", "--lam", "-1"], "--lam must be at least 0, not -1"),
        (
            ["--method", "loglinear", "--solver", "newton"],
            "--solver must be words, fista, ista or sage, not 'newton'",
        ),
        (["--method", "loglinear", "--penalty", "l7"], "there is no penalty 'l7'"),
        (["--method", "loglinear", "--collapse"], "contexts cannot share a weight under tree-l2"),
        (["--method", "class"], "--method class needs --classes"),
        (["--method", "hierarchical", "--tree", "classes"], "--tree classes needs --classes"),
        (["--method", "hierarchical", "--tree", "taxonomy", "--classes", "x"], "give only one"),
        (["--memory", "much"], "--memory must be a number of bytes such as 500M or 2G"),
        (["--closed", "--min-count", 2], "--closed keeps every word"),
        (["--method", "kn", "--discount", 2], "--discount must be at most 1, not 2"),
        (["--method", "kn", "--discount", "0.5,0.6"], "--discount has 2 values and --order is "),
        (["--method", "additive", "--add", 0], "--add must be greater than 0, not 0"),
        (["--on-error", "ignore"], "--on-error must be raise or skip"),
    ],
)
def test_bad_options_of_fit(refused, data, tmp_path, words, error):
    assert error in refused("fit", data / "train.txt", "--model", tmp_path / "m", *words)
    assert not (tmp_path / "m").exists()


def test_bad_files_of_fit(refused, data, tmp_path):
    model = tmp_path / "m"
    assert "no such file" in refused("fit", tmp_path / "none.txt", "--model", model)
    (tmp_path / "empty.txt").write_text("\n")
    assert "empty.txt: no sentences" in refused("fit", tmp_path / "empty.txt", "--model", model)
    assert "no such folder" in refused("fit", data / "train.txt", "--model", tmp_path / "no" / "m")
    (tmp_path / "tree.nwk").write_text("(the,dog);")
    command = ["fit", data / "train.txt", "--model", model, "--method", "hierarchical"]
    assert "the tree has no leaf" in refused(*command, "--tree", tmp_path / "tree.nwk")
    assert "no such file" in refused(*command, "--tree", tmp_path / "none.nwk")
    assert "no such file" in refused(*command, "--classes", tmp_path / "none")


@pytest.mark.parametrize("method", [name for name in FITS if name not in ("law", "unbounded", "class")])
def test_the_smallest_text(facts, tmp_path, method):
    (tmp_path / "one.txt").write_text("word\n")
    command = ["fit", tmp_path / "one.txt", "--model", tmp_path / "m", "--method", method]
    assert facts(*command, "--order", 9)["tokens"] == 1  # longer than any sentence
    assert facts("eval", tmp_path / "m", tmp_path / "one.txt")["perplexity"] < 3.01


def test_marks_inside_the_text(facts, refused, data, tmp_path):
    (tmp_path / "marked.txt").write_text("a dog\n<s> a cat </s>\na cat\n")
    command = ["fit", tmp_path / "marked.txt", "--model", tmp_path / "m", "--method", "wb", "--order", 2]
    assert "marked.txt:2: <s> is a word in the text" in refused(*command)
    found = facts(*command, "--on-error", "skip")
    assert (found["sentences"], found["tokens"], found["words"], found["skipped"]) == (2, 4, 4, 1)
    assert facts("export", tmp_path / "m", tmp_path / "m.arpa")["grams"][0] == 5
    for verb in ("eval", "apply"):
        assert "<s>" in refused(verb, data / "mkn", tmp_path / "marked.txt")
    assert facts("apply", data / "mkn", tmp_path / "marked.txt", "--on-error", "skip")["skipped"] == 1
    found = facts("eval", data / "mkn", tmp_path / "marked.txt", "--on-error", "skip")
    assert (found["sentences"], found["skipped_sentences"]) == (2, 1)
    (tmp_path / "all.txt").write_text("<s> a\n")
    assert "all 1 sentences contain" in refused(
        "fit", tmp_path / "all.txt", "--model", tmp_path / "m", "--on-error", "skip"
    )


def test_an_interrupted_fit_keeps_what_was_learnt(spinney, data, tmp_path, monkeypatch):
    gradients = []
    inner = SuffixTrieLoss.value_and_grad

    def interrupted(self, w):
        gradients.append(w)
        if len(gradients) == 5:
            raise KeyboardInterrupt
        return inner(self, w)

    monkeypatch.setattr(SuffixTrieLoss, "value_and_grad", interrupted)
    command = ["fit", data / "train.txt", "--model", tmp_path / "m", "--method", "loglinear", "--order", 2]
    code, out, _ = spinney(*command, "--json", "--quiet")
    assert code == 130
    assert json.loads(out)["interrupted"] is True
    assert load_language_model(tmp_path / "m").next_words(["the"], 1)[0][0] in NOUNS


# ---------------------------------------------------------------------------------------- apply


@pytest.mark.parametrize("name", ALL)
def test_apply_agrees_with_the_library(facts, data, name):
    model = load_language_model(data / name)
    found = facts("apply", data / name, data / "dev.txt")["sentences"]
    stream = model.stream(sentences(30, 2))
    logs = [log for sentence in found for log in sentence["log10"]]
    np.testing.assert_allclose(logs, model.event_logprobs(stream) / math.log(10), rtol=1e-12)
    assert [depth for sentence in found for depth in sentence["depth"]] == model.match_depths(stream).tolist()


def test_apply_writes_columns(spinney, data, tmp_path, monkeypatch):
    code, out, _ = spinney("apply", data / "mkn", data / "dev.txt")
    assert code == 0
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[2] for row in rows[:6]] == [*sentences(30, 2)[0], "</s>"]
    assert [row[:2] for row in rows[5:7]] == [["1", "6"], ["2", "1"]]
    assert all(len(row) == 5 for row in rows)
    total = sum(float(row[3]) for row in rows[:6])
    code, out, _ = spinney("apply", data / "mkn", data / "dev.txt", "--sentences", "-o", tmp_path / "out.gz")
    assert (code, out) == (0, "")
    first = gzip.decompress((tmp_path / "out.gz").read_bytes()).decode().splitlines()[0].split("\t")
    assert float(first[1]) == pytest.approx(total, abs=1e-3)
    assert (first[0], first[2]) == ("1", "5")
    assert float(first[3]) == pytest.approx(10 ** (-total / 6), rel=1e-3)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the dog\n")))
    assert spinney("apply", data / "mkn")[1].count("\n") == 3


def test_unseen_words(facts, refused, data, tmp_path):
    open_ = facts("eval", data / "mkn", data / "new.txt")
    assert (open_["unknown"], open_["skipped"], open_["scored"]) == (1, 0, 12)
    without = facts("eval", data / "mkn", data / "new.txt", "--no-unknown", "--no-ends")
    assert (without["unknown"], without["skipped"], without["scored"], without["ends"]) == (1, 1, 9, 0)
    facts("fit", data / "train.txt", "--model", tmp_path / "m", "--closed", "--order", 2)
    closed = facts("eval", tmp_path / "m", data / "new.txt")
    assert (closed["unknown"], closed["skipped"], closed["scored"]) == (1, 1, 11)
    assert facts("apply", tmp_path / "m", data / "new.txt")["sentences"][0]["log10"][1] is None
    brief = facts("apply", tmp_path / "m", data / "new.txt", "--sentences")["sentences"]
    assert brief[0] == {"number": 1, "log10": None, "words": 5, "perplexity": None}
    (tmp_path / "foreign.txt").write_text("xyzzy plugh\n")
    for model in (data / "mkn", tmp_path / "m"):
        assert "none of the words is in the vocabulary" in refused("eval", model, tmp_path / "foreign.txt")
    assert facts("apply", data / "mkn", tmp_path / "foreign.txt")["sentences"][0]["depth"][0] == 1


# ----------------------------------------------------------------------------------------- eval


def test_breakdowns(facts, refused, data, tmp_path):
    whole = facts("eval", data / "mkn", data / "dev.txt")
    for by in ("depth", "frequency"):
        rows = facts("eval", data / "mkn", data / "dev.txt", "--breakdown", by)["breakdown"]
        assert sum(row["scored"] for row in rows) == 180
        loss = sum(row["scored"] * row["log-loss"] for row in rows)
        assert loss / math.log(10) == pytest.approx(-whole["log10_probability"])
    assert "depth or frequency" in refused("eval", data / "mkn", data / "dev.txt", "--breakdown", "x")
    facts("export", data / "mkn", tmp_path / "m.arpa")
    facts("import", tmp_path / "m.arpa", "--model", tmp_path / "m")
    error = refused("eval", tmp_path / "m", data / "dev.txt", "--breakdown", "frequency")
    assert "does not know how often words were seen" in error


def test_comparisons(facts, refused, data, tmp_path):
    facts("fit", data / "train.txt", "--model", tmp_path / "words", "--order", 1)
    command = [
        "eval",
        data / "mkn",
        data / "dev.txt",
        "--against",
        tmp_path / "words",
        "--against",
        data / "mkn",
    ]
    found = facts(*command)
    worse, same = found["against"]
    assert worse["system"] == pytest.approx(found["perplexity"])
    assert worse["baseline"] == pytest.approx(worse["own_perplexity"])
    assert worse["high"] < 0
    assert worse["p_value"] < 0.01
    assert (same["difference"], same["p_value"]) == (0, 1)
    assert "give a file" in refused("eval", data / "mkn", "-", "--against", data / "kn")


def test_perplexity_is_that_of_kenlm(facts, data, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    facts("export", data / "mkn", tmp_path / "m.arpa")
    theirs = kenlm.Model(str(tmp_path / "m.arpa"))
    text = (data / "new.txt").read_text().splitlines()
    total = sum(theirs.score(line) for line in text)
    ours = facts("eval", data / "mkn", data / "new.txt")
    assert ours["log10_probability"] == pytest.approx(total, abs=1e-4)
    events = [event for line in text for event in theirs.full_scores(line)]
    logs = [
        log
        for sentence in facts("apply", data / "mkn", data / "new.txt")["sentences"]
        for log in sentence["log10"]
    ]
    np.testing.assert_allclose(logs, [event[0] for event in events], atol=1e-5)


@pytest.mark.parametrize("verb", ["apply", "eval"])
def test_bad_models(refused, data, tmp_path, verb):
    assert "no such file" in refused(verb, tmp_path / "none", data / "dev.txt")
    WordClasses(["a"], [0]).save(tmp_path / "classes")
    assert "a structure model where an lm model is needed" in refused(
        verb, tmp_path / "classes", data / "dev.txt"
    )
    assert "no such file" in refused(verb, data / "mkn", tmp_path / "none.txt")
    (tmp_path / "cut").write_bytes((data / "mkn").read_bytes()[:-8])
    assert "cut: " in refused(verb, tmp_path / "cut", data / "dev.txt")


# ----------------------------------------------------------------------------------- mix, inspect


def test_mixtures(facts, refused, data, tmp_path):
    dev = ["--dev", data / "dev.txt", "--model", tmp_path / "m"]
    for options in (
        [],
        ["--by", "depth"],
        ["--by", "rule"],
        ["--cache-words", 20, "--cache-decay", 0.9, "--cache-order", 2],
    ):
        found = facts("mix", data / "mkn", data / "memoizer", data / "class", *dev, *options)
        parts = found["parts"]
        assert list(parts)[:3] == ["mkn", "memoizer", "class"]
        assert found["dev_perplexity"] <= min(part["dev_perplexity"] for part in parts.values()) + 1e-3
        for row in found["weights"]:
            assert sum(row[name] for name in parts) == pytest.approx(1)
        assert facts("eval", tmp_path / "m", data / "dev.txt")["perplexity"] == pytest.approx(
            found["dev_perplexity"]
        )
    assert list(facts("mix", data / "mkn", data / "mkn", *dev)["parts"]) == ["mkn", "mkn-2"]
    assert facts("mix", data / "mkn", "--cache-words", 20, *dev)["dev_perplexity"] < 5
    assert "needs two models" in refused("mix", data / "mkn", *dev)
    assert "--by must be all, depth or rule" in refused("mix", data / "mkn", data / "kn", *dev, "--by", "x")
    assert "one exponent for each model" in refused(
        "mix", data / "mkn", data / "kn", *dev, "--by", "rule", "--log-linear"
    )
    assert "need a cache: give --cache-words" in refused(
        "mix", data / "mkn", data / "kn", *dev, "--cache-decay", 0.5
    )


@pytest.mark.parametrize("name", ALL)
def test_inspect(spinney, facts, data, name):
    found = facts("inspect", data / name, "--top", 3)
    assert found["parameters"] > 0
    (rows,) = found["strongest"].values()
    assert 0 < len(rows) <= 3
    if name not in ("mixture", "product"):
        assert sum(row["grams"] for row in found["sizes"]) > 13
    else:
        assert set(found["parts"]) >= {"mkn", "memoizer"}
    code, out, _ = spinney("inspect", data / name)
    assert code == 0
    assert "parameters" in out
    after = facts("inspect", data / name, "--context", "the dog", "--top", 3)
    assert after["start"] is False
    # Two words in the middle of a text may be followed by a verb or the end.
    if name not in ("good-turing", "additive"):
        assert {row["word"] for row in after["next"]} <= {*VERBS, "</s>"}
    begin = facts("inspect", data / name, "--context", "<s>", "--top", 4)
    assert {row["word"] for row in begin["next"]} == set(DETERMINERS)
    assert 0.7 < sum(row["probability"] for row in begin["next"]) <= 1


def test_facts_of_a_strange_file(spinney, data, tmp_path):
    model = load_language_model(data / "loglinear")
    seconds = model.facts["seconds"]
    model.facts |= {"order": [1], "unknown_share": {}, "lam": "[bold]"}
    model.save(tmp_path / "m")
    code, out, _ = spinney("inspect", tmp_path / "m")
    assert code == 0
    assert "[bold]" not in out
    model.facts["seconds"] = "x"  # a number that all models have
    model.save(tmp_path / "m")
    code, _, err = spinney("inspect", tmp_path / "m")
    assert (code, err) == (2, f"spinney: {tmp_path / 'm'}: damaged: its fact 'seconds' is not a number\n")
    model.facts["seconds"] = seconds
    model.facts["reading"] = {"lowercase": 3}
    model.save(tmp_path / "m")
    code, _, err = spinney("inspect", tmp_path / "m")
    assert (code, err) == (
        2,
        f"spinney: {tmp_path / 'm'}: damaged: the record of how the training text was read is not valid\n",
    )


def test_weights_read_in_order(facts, data):
    (rows,) = facts("inspect", data / "loglinear", "--top", 5)["strongest"].values()
    for row in rows:
        last = row["context"].split()[-1]
        follows = {
            "<s>": DETERMINERS,
            **dict.fromkeys(DETERMINERS, NOUNS),
            **dict.fromkeys(VERBS, DETERMINERS),
        }
        assert row["word"] in [*follows.get(last, VERBS), "</s>"]


# --------------------------------------------------------------------------- sample, export, import


@pytest.mark.parametrize("name", ALL)
def test_sample(facts, spinney, data, name):
    drawn = facts("sample", data / name, "-n", 4, "--seed", 3, "--max-words", 9)["sentences"]
    assert len(drawn) == 4
    assert all(len(words) <= 9 for words in drawn)
    assert facts("sample", data / name, "-n", 4, "--seed", 3, "--max-words", 9)["sentences"] == drawn
    begun = facts("sample", data / name, "--context", "every dog", "--temperature", 0.5)["sentences"]
    assert all(words[:2] == ["every", "dog"] for words in begun)
    assert spinney("sample", data / name, "-n", 2)[1].count("\n") == 2


def test_a_temperature_of_nothing(refused, data):
    assert "--temperature must be greater than 0" in refused("sample", data / "mkn", "--temperature", 0)


@pytest.mark.parametrize("name", BACKOFF)
def test_arpa_files(facts, data, tmp_path, name):
    told = facts("export", data / name, tmp_path / "m.arpa.gz")
    back = facts("import", tmp_path / "m.arpa.gz", "--model", tmp_path / "m")
    assert told["grams"] == back["grams"]
    ours = facts("eval", tmp_path / "m", data / "new.txt")
    assert ours["perplexity"] == pytest.approx(facts("eval", data / name, data / "new.txt")["perplexity"])


@pytest.mark.parametrize("name", sorted(set(ALL) - set(BACKOFF)))
def test_what_has_no_arpa_file(refused, data, tmp_path, name):
    assert "can only contain back-off models" in refused("export", data / name, tmp_path / "m.arpa")
    assert not (tmp_path / "m.arpa").exists()


def test_broken_arpa_files(facts, refused, data, tmp_path):
    facts("export", data / "mkn", tmp_path / "m.arpa")
    text = (tmp_path / "m.arpa").read_text()
    broken = tmp_path / "broken.arpa"
    for content, error in (
        ("", "no \\data\\ in this file"),
        (text[: len(text) // 2], "broken.arpa:"),
        (text.replace("ngram 2=", "ngram 2=1"), "announces"),
        (text.replace("\t</s>", "\t<end>", 1), "</s>"),
    ):
        broken.write_text(content)
        assert error in refused("import", broken, "--model", tmp_path / "out")
    assert "no such file" in refused("import", tmp_path / "none.arpa", "--model", tmp_path / "out")


def test_pages(facts, data, tmp_path):
    for name in ALL:
        command = ["report", str(data / name), "-o", str(tmp_path / "page.html"), "--quiet"]
        assert run(command) == 0
        assert "What comes next" in (tmp_path / "page.html").read_text()
        assert run([*command, "--data", str(data / "dev.txt")]) == 0
        assert "<h2>Losses</h2>" in (tmp_path / "page.html").read_text()


# -- faults that were met -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [("--min-count", 2), ("--max-words", 3)])
def test_rare_marks_are_noticed(facts, refused, tmp_path, more):
    """Though the cut would make an unknown word of them."""
    text = tmp_path / "marked.txt"
    text.write_text("a b\nx <s> y\na c\n")
    assert "marked.txt:2: <s> is a word" in refused("fit", text, "--model", tmp_path / "m", *more)
    found = facts("fit", text, "--model", tmp_path / "m", "--on-error", "skip", *more)
    assert (found["sentences"], found["skipped"], found["tokens"]) == (2, 1, 4)


def test_a_vocabulary_of_words_notices_marks(refused, tmp_path):
    (tmp_path / "marked.txt").write_text("a b\nx <s> y\n")
    (tmp_path / "words.txt").write_text("a\nb\n")
    told = refused(
        "fit", tmp_path / "marked.txt", "--model", tmp_path / "m", "--vocabulary", tmp_path / "words.txt"
    )
    assert "marked.txt:2" in told


def test_dropped_sentences_do_not_count_as_unknown(facts, tmp_path):
    (tmp_path / "train.txt").write_text("a b\nc d\n")
    (tmp_path / "test.txt").write_text("a b\nc d e f g <s> h i j k\n")
    facts("fit", tmp_path / "train.txt", "--model", tmp_path / "m")
    found = facts("eval", tmp_path / "m", tmp_path / "test.txt", "--on-error", "skip")
    assert (found["sentences"], found["unknown"], found["skipped_sentences"]) == (1, 0, 1)


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "loglinear", "--alpha", "1e80"),
        ("--method", "additive", "--add", "1e308"),
        ("--closed", "--unknown", "foo"),
        ("--unknown", "<s>"),
        ("--unknown", "a b"),
        ("--method", "loglinear", "--penalty", "none", "--lam", "1"),
        ("--memory", "0"),
        ("--memory", "-5"),
        ("--seed", "-1"),
    ],
)
def test_options_that_make_no_sense(refused, tmp_path, options):
    (tmp_path / "train.txt").write_text("a b c d e f\nc d\n")
    refused("fit", tmp_path / "train.txt", "--model", tmp_path / "m", *options)
    assert not (tmp_path / "m").exists()


def test_output_goes_to_one_place(facts, refused, tmp_path):
    (tmp_path / "train.txt").write_text("a b\nc d\n")
    facts("fit", tmp_path / "train.txt", "--model", tmp_path / "m")
    assert "--output" in refused(
        "apply", tmp_path / "m", tmp_path / "train.txt", "--json", "-o", tmp_path / "out"
    )
    assert "standard output" in refused("export", tmp_path / "m", "-", "--json")
    other = refused(
        "fit", tmp_path / "train.txt", "--model", tmp_path / "n", "--vocabulary", tmp_path / "m", "--closed"
    )
    assert "leave out" in other


def test_a_cold_draw_takes_the_likeliest(facts, tmp_path):
    (tmp_path / "train.txt").write_text("a b\na b\na c\n")
    facts("fit", tmp_path / "train.txt", "--model", tmp_path / "m", "--order", 2, "--method", "wb")
    for temperature in ("0.0001", "1e-300"):
        assert facts("sample", tmp_path / "m", "--temperature", temperature, "-n", 1)["sentences"] == [
            ["a", "b"]
        ]
