"""``spinney classes``: every verb on every format, and one clear line for each mistake."""

import functools
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from spinney.classes import Clustering, HiddenMarkov
from spinney.cli.main import run
from spinney.corpus import Sentence, write_conllu
from spinney.structure import WordClasses, WordVectors
from spinney.structure.reading import word_classes

TASK = "classes"

DETERMINERS = ["the", "a", "this", "every"]
NOUNS = ["dog", "cat", "tree", "wood", "bird"]
VERBS = ["sees", "hears", "finds"]
GRAMMAR = {frozenset(DETERMINERS), frozenset(NOUNS), frozenset(VERBS)}


def sentences(n, seed):
    """Sentences of a toy grammar."""
    rng = random.Random(seed)
    phrase = lambda: [rng.choice(DETERMINERS), rng.choice(NOUNS)]  # noqa: E731
    return [[*phrase(), rng.choice(VERBS), *phrase()] for _ in range(n)]


def trees(n, seed):
    """The same as CoNLL-U: determiners hang on nouns, all else on the verb."""
    heads, relations = [2, 3, 0, 5, 3], ["det", "nsubj", "root", "det", "obj"]
    tags = ["DET", "NOUN", "VERB", "DET", "NOUN"]
    return [
        Sentence(words, [w.lower() for w in words], tags, heads=heads, deprels=relations)
        for words in sentences(n, seed)
    ]


def lines(some):
    return "".join(" ".join(words) + "\n" for words in some)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with text, trees, and a model of each kind."""
    root = tmp_path_factory.mktemp("classes")
    (root / "train.txt").write_text(lines(sentences(150, 1)))
    (root / "dev.txt").write_text(lines(sentences(30, 2)))
    write_conllu(root / "train.conllu", trees(150, 1))
    write_conllu(root / "dev.conllu", trees(30, 2))
    (root / "pairs.txt").write_text(
        "dog cat 9\nsees hears 8\nthe dog 1\ndog sees 1.5\nthe finds 0\nox dog 5\n"
    )
    rows = [(word, kind) for kind, some in (("noun", NOUNS), ("verb", VERBS)) for word in some]
    (root / "kinds.csv").write_text(",category,word\n" + "".join(f"0,{k},{w}\n" for w, k in rows))
    hmm = ["--method", "hmm", "--classes", 3, "--passes", 3, "--batch-tokens", 200, "--root", "--refine", 5]
    fits = {
        "brown": ["train.txt", "--classes", 3, "--root"],
        "exchange": ["train.txt", "--classes", 3, "--root", "--method", "exchange"],
        "chain": ["train.txt", *hmm],
        "tree": ["train.conllu", "--tree", *hmm],
        "typed": ["train.conllu", "--tree", "--typed", 2, "--words", "lemma+upos", *hmm],
    }
    for name, (file, *options) in fits.items():
        command = ["classes", "fit", root / file, "--model", root / name, *options, "--quiet", "--json"]
        assert run([str(part) for part in command]) == 0
    return root


def classes_of_words(found):
    """Sets of words, by class, without the unknown symbol."""
    groups = {}
    for word, number in found:
        groups.setdefault(number, set()).add(word)
    return {frozenset(group - {"<unk>"}) for group in groups.values()} - {frozenset()}


# ------------------------------------------------------------------------------------------ fit


@pytest.mark.parametrize("name", ["brown", "exchange", "chain", "tree"])
def test_the_classes_of_the_grammar_are_found(data, name):
    classes = word_classes(data / name)
    assert classes_of_words(zip(classes.words, classes.ids.tolist())) == GRAMMAR


def test_factsof_a_clustering(facts, data, tmp_path):
    found = facts("fit", data / "train.txt", "--model", tmp_path / "m", "--classes", 3, "--refine", 2)
    assert found["model"] == str(tmp_path / "m")
    assert (found["sentences"], found["tokens"], found["words"]) == (150, 750, 13)
    assert (found["method"], found["structure"], found["classes"]) == ("brown", "chain", 3)
    assert found["ami"] > 0.5
    assert found["unknown_share"] == 0
    assert found["reading"]["words"] == "form"
    assert Clustering.load(tmp_path / "m").facts["reading"]["lowercase"] is False


def test_factsof_a_hidden_markov_model(facts, data, tmp_path):
    options = ["--method", "hmm", "--classes", 3, "--passes", 2, "--dev", data / "dev.txt", "--patience", 2]
    found = facts("fit", data / "train.txt", "--model", tmp_path / "m", "--root", *options)
    assert found["perplexity"] == pytest.approx(math.exp(-found["log_likelihood"]))
    assert found["dev_perplexity"] == pytest.approx(math.exp(-found["dev_log_likelihood"]))
    assert found["dev_perplexity"] < 6
    assert len(found["trace"]) == 3
    scores = facts("eval", tmp_path / "m", data / "dev.txt")
    assert scores["log_likelihood"] == pytest.approx(found["dev_log_likelihood"], rel=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        ["--em", "batch", "--init", "random"],
        ["--gamma", "search", "--delay", 2, "--k-best", 2],
        ["--gamma", "0.7", "--k-best", "none", "--smoothing", 0.001],
        ["--epsilon", 0.01, "--k-best", "auto", "--init", "exchange", "--variant", "predictive"],
        ["--init", "split", "--start", 2, "--split-passes", 1, "--noise", 0.4],
        ["--init", "brown", "--start", 2, "--refine", 1, "--root"],
        ["--init", "uniform", "--shuffle", "sentences"],
    ],
)
def test_ways_to_learn_a_hidden_markov_model(facts, data, tmp_path, options):
    command = ["fit", data / "train.txt", "--method", "hmm", "--classes", 4, "--passes", 3]
    online = [] if "--em" in options else ["--batch-tokens", 300]
    found = facts(*command, "--model", tmp_path / "m", *online, *options)
    assert found["classes"] == 4
    assert found["perplexity"] < 13.5


def test_starting_from_files(facts, data, tmp_path):
    command = ["fit", data / "train.txt", "--method", "hmm", "--passes", 1]
    (tmp_path / "paths").write_text("0\tdog\n0\tcat\n1\tthe\n1\ta\n")
    for init in (data / "brown", tmp_path / "paths"):
        assert facts(*command, "--classes", 4, "--init", init, "--model", tmp_path / "m")["classes"] == 4
    more = facts(*command, "--classes", 8, "--init", data / "chain", "--model", tmp_path / "m")
    assert more["classes"] == 8
    assert HiddenMarkov.load(tmp_path / "m").vocabulary_ == HiddenMarkov.load(data / "chain").vocabulary_
    better = ["fit", data / "train.txt", "--method", "exchange", "--classes", 3, "--passes", 1]
    assert facts(*better, "--init", data / "brown", "--model", tmp_path / "m")["ami"] > 0.5


def test_checkpoints_and_going_on(facts, data, tmp_path):
    model = tmp_path / "m"
    command = ["fit", data / "train.txt", "--method", "hmm", "--classes", 4, "--model", model, "--passes", 2]
    facts(*command, "--checkpoint", model, "--resume")
    before = HiddenMarkov.load(model).statistics_.omega.copy()
    again = facts(*command, "--checkpoint", model, "--resume")
    assert again["passes"] == 3
    assert np.array_equal(before, HiddenMarkov.load(model).statistics_.omega)
    more = [tmp_path / "more" if word is model else word for word in command]
    facts(*more, "--init", model)
    assert not np.array_equal(before, HiddenMarkov.load(tmp_path / "more").statistics_.omega)


def test_typed_trees(facts, data, tmp_path):
    model = HiddenMarkov.load(data / "typed")
    assert list(model.relations_) == ["other", "det", "nsubj"]
    assert "dog|NOUN" in model.vocabulary_
    groups = tmp_path / "groups.json"
    groups.write_text('{"argument": ["nsubj", "obj"], "rest": ["det"]}')
    command = ["fit", data / "train.conllu", "--tree", "--method", "hmm", "--classes", 4, "--passes", 1]
    facts(*command, "--model", tmp_path / "m", "--relation-groups", groups, "--no-subtypes")
    assert list(HiddenMarkov.load(tmp_path / "m").relations_) == ["other", "argument", "rest"]
    assert facts("eval", tmp_path / "m", data / "dev.conllu")["perplexity"] < 12


def test_formats(facts, data, tmp_path):
    text = sentences(40, 3)
    prose = " ".join(" ".join(words).capitalize() + "." for words in text)
    (tmp_path / "prose.txt").write_text(prose)
    (tmp_path / "columns.txt").write_text(
        "".join("".join(f"{w} X\n" for w in words) + "\n" for words in text)
    )
    (tmp_path / "table.csv").write_text("id,body\n" + "".join(f'1,"{" ".join(words)}"\n' for words in text))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text(prose)
    for file, *options in (
        ("prose.txt", "--format", "prose", "--lowercase"),
        ("columns.txt", "--format", "columns"),
        ("columns.txt", "--format", "columns", "--words", "0+1"),
        ("table.csv", "--text", "body"),
        ("folder", "--lowercase"),
    ):
        found = facts("fit", tmp_path / file, "--model", tmp_path / "m", "--classes", 4, *options)
        ends = file in ("prose.txt", "folder")  # these have full stops
        assert (found["sentences"], found["tokens"], found["words"]) == (40, 200 + 40 * ends, 13 + ends)
    assert word_classes(tmp_path / "m")["DOG"] == word_classes(tmp_path / "m")["dog"]


def test_text_kept_in_a_folder_is_read_once(facts, data, tmp_path, monkeypatch):
    text, cache = tmp_path / "t.txt", tmp_path / "cache"
    text.write_text(lines(sentences(50, 3)))
    command = ["fit", text, "--model", tmp_path / "m", "--classes", 4, "--cache", cache]
    first = facts(*command)
    note = (cache / "read.json").stat().st_mtime_ns
    assert facts(*command)["ami"] == first["ami"]
    assert (cache / "read.json").stat().st_mtime_ns == note
    facts(*command, "--min-count", 2)
    assert (cache / "read.json").stat().st_mtime_ns != note
    monkeypatch.setattr("spinney.corpus.text.LARGE", 10)
    assert facts(*command[:-2])["ami"] == first["ami"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupting_saves_what_was_learnt(data, tmp_path, number, code):
    target, text = tmp_path / "m", tmp_path / "t.txt"
    text.write_text(lines(sentences(3000, 1)))
    command = [
        sys.executable,
        "-m",
        "spinney",
        "classes",
        "fit",
        str(text),
        "--method",
        "hmm",
        "--classes",
        "4",
    ]
    command += ["--model", str(target), "--passes", "1000000"]
    # A shell that runs the tests in the background lets its children ignore interrupts.
    listen = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(
        command, preexec_fn=listen, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    line = process.stderr.readline()
    while line and "pass 2" not in line:
        line = process.stderr.readline()
    time.sleep(0.2)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert err.endswith(("spinney: interrupted\n", "spinney: terminated\n"))
    assert "Traceback" not in err
    assert HiddenMarkov.load(target).facts["passes"] >= 2


# ---------------------------------------------------------------------------------------- apply


def columns_of(out):
    return [[line.split("\t") for line in part.split("\n")] for part in out.strip("\n").split("\n\n")]


def test_apply_gives_the_classes_of_words(spinney, data):
    code, out, _ = spinney("apply", data / "brown", data / "dev.txt")
    assert code == 0
    found = columns_of(out)
    assert [[row[0] for row in rows] for rows in found] == sentences(30, 2)
    assert classes_of_words((word, number) for rows in found for word, number in rows) == GRAMMAR
    paths = columns_of(spinney("apply", data / "brown", data / "dev.txt", "--what", "path")[1])
    assert set("".join(row[1] for rows in paths for row in rows)) == {"0", "1"}


@pytest.mark.parametrize(
    ("name", "file"), [("chain", "dev.txt"), ("tree", "dev.conllu"), ("typed", "dev.conllu")]
)
def test_apply_gives_the_classes_of_tokens(spinney, facts, data, name, file):
    place = 0 if file.endswith("txt") else 1
    best = columns_of(spinney("apply", data / name, data / file)[1])
    words = [(row[place], row[-1]) for rows in best for row in rows]
    assert classes_of_words(words) == GRAMMAR
    likely = columns_of(spinney("apply", data / name, data / file, "--what", "posterior", "--top", 2)[1])
    for row, (_, number) in zip((row for rows in likely for row in rows), words):
        cells = [cell.split(":") for cell in row[-1].split("|")]
        assert cells[0][0] == number
        assert 0.5 < sum(float(p) for _, p in cells) <= 1.001
    as_json = facts("apply", data / name, data / file, "--what", "viterbi")
    assert [n for s in as_json["sentences"] for n in s["viterbi"]] == [number for _, number in words]


def test_apply_agrees_with_the_library(spinney, data):
    from spinney.corpus import read_text

    model = HiddenMarkov.load(data / "tree")
    arrays = read_text(str(data / "dev.conllu"), tree=True, vocabulary=model.vocabulary_)
    out = columns_of(spinney("apply", data / "tree", data / "dev.conllu")[1])
    assert [int(row[-1]) for rows in out for row in rows] == model.predict(arrays).tolist()


def test_columns_are_kept_and_the_label_stays_last(spinney, data, tmp_path):
    text = tmp_path / "t.txt"
    text.write_text("the DT B\ndog NN I\n\ncat NN B\n")
    out = columns_of(spinney("apply", data / "chain", text, "--format", "columns", "--before-label")[1])
    assert [[row[0], row[1], row[3]] for rows in out for row in rows] == [
        ["the", "DT", "B"],
        ["dog", "NN", "I"],
        ["cat", "NN", "B"],
    ]
    out = columns_of(spinney("apply", data / "chain", text, "--format", "columns", "--words", "1")[1])
    assert {len(row) for rows in out for row in rows} == {4}


def test_unknown_words(spinney, data, tmp_path):
    text = tmp_path / "t.txt"
    text.write_text("the qux sees\n")
    assert columns_of(spinney("apply", data / "brown", text)[1])[0][1] == ["qux", "_"]
    code, out, _ = spinney("apply", data / "chain", text)
    assert code == 0
    noun = word_classes(data / "chain")["dog"]
    assert columns_of(out)[0][1] == ["qux", str(noun)]  # from its context
    code, _, err = spinney("eval", data / "brown", text)
    assert code == 0
    assert "--min-count 2" in err


def test_plain_text_is_parsed_for_tree_models(facts, data, tmp_path, monkeypatch):
    known = {tuple(tree.forms): tree for tree in trees(30, 2)}
    parse = lambda plain, pipeline, report: (known[tuple(words)] for words in plain)  # noqa: E731
    monkeypatch.setattr("spinney.corpus.dependencies.parse_dependencies", parse)
    for name in ("tree", "typed"):
        parsed = facts("apply", data / name, data / "dev.txt", "--parser", "some")
        assert parsed == facts("apply", data / name, data / "dev.conllu")


def test_classes_and_posteriors_in_the_tagger(data, tmp_path, capsys):
    """Words that the tagger never saw get their labels by their classes."""
    seen = [["the", "dog"], ["a", "cat"]] * 5
    (tmp_path / "train").write_text("".join(f"{d} D\n{n} N\n\n" for d, n in seen))
    (tmp_path / "test").write_text("this D\ntree N\n\n")
    patterns = {"class": "U:%class[0,0,c]", "vector": "U:%vector[0,0,c]"}
    for field, pattern in patterns.items():
        (tmp_path / "p").write_text(pattern + "\n")
        flag = "--classes" if field == "class" else "--vectors"
        command = [
            "tag",
            "fit",
            tmp_path / "train",
            "--patterns",
            tmp_path / "p",
            flag,
            f"c={data / 'chain'}",
        ]
        assert run([str(c) for c in [*command, "--model", tmp_path / "t", "--lam", 0.01, "--quiet"]]) == 0
        capsys.readouterr()
        assert run(["tag", "eval", str(tmp_path / "t"), str(tmp_path / "test"), "--json", "--quiet"]) == 0
        assert json.loads(capsys.readouterr().out)["token_error"] == 0
    for file in ("train", "test"):
        command = ["apply", data / "chain", tmp_path / file, "--format", "columns", "--what", "posterior"]
        command += ["--before-label", "-o", tmp_path / f"{file}.cells"]
        assert run(["classes", *[str(c) for c in command]]) == 0
    (tmp_path / "p").write_text("U:%value[0,1]\n")
    command = [
        "tag",
        "fit",
        tmp_path / "train.cells",
        "--patterns",
        tmp_path / "p",
        "--model",
        tmp_path / "t",
    ]
    assert run([str(c) for c in [*command, "--lam", 0.01, "--quiet"]]) == 0
    capsys.readouterr()
    assert run(["tag", "eval", str(tmp_path / "t"), str(tmp_path / "test.cells"), "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["token_error"] == 0


# ------------------------------------------------------------------------- eval, inspect, neighbours


@pytest.mark.parametrize("name", ["brown", "chain", "typed"])
def test_eval_beside_what_people_say(facts, data, name):
    pairs, kinds = data / "pairs.txt", data / "kinds.csv"
    for measure in ("hellinger", "jensen-shannon", "cosine"):
        scores = facts(
            "eval", data / name, "--similarity", pairs, "--categories", kinds, "--measure", measure
        )
        similarity = scores["similarity"][str(pairs)]
        assert similarity["pearson"] > 0.9
        # Words such as the|DET are not looked for: people compare words of content.
        assert (similarity["n"], similarity["pairs"]) == (3 if name == "typed" else 5, 6)
        assert scores["categories"][str(kinds)]["purity"] == 1.0


def test_eval_of_relations_and_composition(facts, data, tmp_path):
    bless = tmp_path / "bless.txt"
    rows = [("dog-n", "coord", "cat-n"), ("dog-n", "event", "sees-v"), ("dog-n", "random-n", "tree-n")]
    bless.write_text("".join(f"{a}\tx\t{r}\t{b}\n" for a, r, b in rows))
    ell = tmp_path / "ell.txt"
    clause = "dog {} cat and tree does too"
    body = [
        (clause.format("sees"), clause.format(verb), score) for verb, score in (("hears", 5), ("finds", 2))
    ]
    ell.write_text("participant\tsent1\tsent2\tscore\n" + "".join(f"p\t{a}\t{b}\t{s}\n" for a, b, s in body))
    for name, operators in (("tree", 5), ("chain", 5), ("brown", 3)):
        scores = facts("eval", data / name, "--bless", bless, "--composition", ell)
        assert scores["bless"]["coverage"] == 1.0
        assert ("transformed" in scores["bless"]) == (name != "brown")
        found = scores["composition"][str(ell)]
        assert found["second"] == "bare"
        assert len(found) == operators + 1
        assert found["add"]["n"] == 2


def test_a_typed_tree_evaluates_by_relation(facts, refused, data, tmp_path):
    phrases, judged = tmp_path / "phrases.txt", tmp_path / "judged.txt"
    phrases.write_text(
        "p1 compoundnouns 1 dog tree cat wood 4\np1 compoundnouns 1 bird tree cat dog 2\n"
        "p1 verbobjects 1 dog sees cat hears 6\np1 verbobjects 1 wood finds bird hears 3\n"
    )
    judged.write_text("the dog acceptable\na cat acceptable\nsees wood deviant\nhears bird deviant\n")
    found = facts("eval", data / "typed", "--composition", phrases)["composition"][str(phrases)]
    assert list(found) == ["noun-noun", "verb-object"]
    assert {"t-mult", "t-mult, shared"} <= set(found["verb-object"])
    scores = facts("eval", data / "tree", "--deviance", judged)["deviance"][str(judged)]
    assert (scores["n_deviant"], scores["n_acceptable"]) == (2, 2)
    assert scores["t"] < 0  # determiners hang on nouns, verbs do not
    assert set(facts("inspect", data / "typed")["relations"]) == {"other", "det", "nsubj"}
    assert facts("inspect", data / "typed", "--relation", "det")["transitions"]
    assert "did you mean nsubj?" in refused("inspect", data / "typed", "--relation", "nsub")
    assert "fit trees with typed" in refused("inspect", data / "tree", "--relation", "det")
    assert "fit with the method hmm" in refused("eval", data / "brown", "--deviance", judged)


def test_clusters_of_categories(facts, spinney, data):
    options = [
        "eval",
        data / "typed",
        "--categories",
        data / "kinds.csv",
        "--linkage",
        "single",
        "--pos",
        "any",
    ]
    found = facts(*options)["categories"][str(data / "kinds.csv")]
    assert len(found["assigned"]) == 8
    assert len(found["dendrogram"]) == 7
    shown = spinney(*options, "--clusters")[1]
    assert "Clusters and categories: kinds.csv" in shown
    assert "8 words" in shown


def test_words_are_found_without_their_part_of_speech(facts, data):
    assert facts("neighbours", data / "typed", "Dog")["word"] == "dog|NOUN"
    assert facts("inspect", data / "typed", "--word", "sees")["word"]["word"] == "sees|VERB"


def test_tokens_in_context(facts, refused, data, tmp_path):
    options = ["--words", "dog,sees,the", "--tokens", "cat,hears", "--top", 3]
    plot = ["plot", data / "typed", tmp_path / "map.tsv"]
    found = facts(*plot, *options, "--context", data / "dev.conllu")
    assert len(found["map"]) == 9
    assert found["tokens"][0]["context"].count("[") == 1
    assert "--context and --tokens" in refused(*plot, "--tokens", "cat")
    assert "--top has no effect without --context" in refused(*plot, "--top", 3)


def test_roots_of_both_posteriors(spinney, data):
    what = ["--format", "lines", "--what", "both", "--top", 3]
    plain = spinney("apply", data / "chain", data / "dev.txt", *what)[1].split()
    roots = spinney("apply", data / "chain", data / "dev.txt", *what, "--roots")[1].split()
    for one, root in zip(plain[1::2], roots[1::2], strict=True):
        pairs = zip(one.split("|"), root.split("|"), strict=True)
        for (name, p), (same, r) in ((a.split(":"), b.split(":")) for a, b in pairs):
            assert name == same
            assert float(r) ** 2 == pytest.approx(float(p), rel=2e-2)


def test_the_likelihood_of_a_clustering(facts, data):
    scores = facts("eval", data / "brown", data / "train.txt")
    # Classes follow each other for certain; of each class one word in four, five, three, four, five comes.
    ideal = -(2 * math.log(4) + 2 * math.log(5) + math.log(3)) / 5
    assert scores["log_likelihood"] == pytest.approx(ideal, abs=0.01)
    assert scores["ami"] == pytest.approx(Clustering.load(data / "brown").ami)


def test_inspect(facts, data):
    for name in ("brown", "chain", "typed"):
        found = facts("inspect", data / name, "--top", 3, "--classes", 2)
        assert [len(row["words"]) for row in found["largest_classes"]] == [3, 3]
        assert found["largest_classes"][0]["share"] >= found["largest_classes"][1]["share"]
    assert "path" in facts("inspect", data / "brown")["largest_classes"][0]
    word = facts("inspect", data / "chain", "--word", "dog")["word"]
    assert word["word"] == "dog"
    assert sum(share for _, share in word["classes"]) == pytest.approx(1, abs=0.05)
    one = facts("inspect", data / "brown", "--only", 1)
    assert [row["class"] for row in one["largest_classes"]] == [1]
    below = facts("inspect", data / "tree")["transitions"]
    verb, noun = (str(word_classes(data / "tree")[word]) for word in ("sees", "dog"))
    assert below[verb][0][0] == int(noun)


def test_homonyms_are_found(facts, tmp_path):
    """A word that is noun in half of its places and verb in the other half."""
    rng = random.Random(0)
    nouns, verbs = [*NOUNS, "watch"], [*VERBS, "watch"]
    some = [["the", rng.choice(nouns), rng.choice(verbs), "it"] for _ in range(400)]
    (tmp_path / "t.txt").write_text(lines(some))
    command = ["fit", tmp_path / "t.txt", "--model", tmp_path / "m", "--method", "hmm", "--classes", 4]
    facts(*command, "--em", "batch", "--passes", 30)
    found = facts("inspect", tmp_path / "m", "--homonyms")["homonyms"]
    assert [row["word"] for row in found] == ["watch"]
    assert len(found[0]["classes"]) == 2


def test_maps_and_plots(facts, spinney, data, tmp_path, monkeypatch):
    places = facts("plot", data / "chain", tmp_path / "m.tsv", "--words", "dog, cat, sees, hears")["map"]
    at = {word: np.array([x, y]) for word, x, y in places}
    assert np.linalg.norm(at["dog"] - at["cat"]) < 0.2 * np.linalg.norm(at["dog"] - at["sees"])
    assert len((tmp_path / "m.tsv").read_text().splitlines()) == 4
    monkeypatch.setattr("spinney.classes.plots.has_plots", lambda: False)
    code, _, err = spinney("plot", data / "brown", tmp_path / "m.png")
    assert code == 0
    assert "spinney[plots]" in err
    monkeypatch.undo()
    pytest.importorskip("matplotlib")
    for name in ("brown", "tree"):
        for ending in ("png", "svg"):
            plots = [tmp_path / f"map.{ending}", tmp_path / f"heat.{ending}"]
            facts("plot", data / name, plots[0])
            facts("plot", data / name, plots[1], "--what", "transitions")
            assert all(plot.stat().st_size > 5000 for plot in plots)


@pytest.mark.parametrize("name", ["brown", "chain", "tree"])
@pytest.mark.parametrize("measure", ["hellinger", "chi2"])
def test_neighbours(facts, data, name, measure):
    found = facts("neighbours", data / name, "dog", "--top", 4, "--measure", measure, "--min-count", 2)
    assert {row["word"] for row in found["neighbours"]} == set(NOUNS) - {"dog"}


def test_tables_for_people(spinney, data, tmp_path):
    for command, needle in (
        (["fit", data / "train.txt", "--classes", 4, "--model", tmp_path / "m"], "mutual information"),
        (["inspect", data / "chain", "--homonyms"], "most likely after it"),
        (["inspect", data / "tree", "--word", "dog"], "most likely below it"),
        (["inspect", data / "brown"], "path"),
        (["neighbours", data / "chain", "dog"], "similarity"),
        (
            ["eval", data / "chain", "--similarity", data / "pairs.txt", data / "dev.txt"],
            "perplexity",
        ),
    ):
        code, out, _ = spinney(*command)
        assert code == 0
        assert needle in out
        assert max(len(line) for line in out.splitlines()) <= 100


def test_help(spinney):
    for verb in ("fit", "apply", "eval", "inspect", "neighbours", "plot", "export", "place"):
        code, out, _ = spinney(verb, "--help")
        assert code == 0
        assert "--json" in out


# ------------------------------------------------------------------------------------- export, place


@pytest.mark.parametrize("name", ["brown", "chain"])
def test_export(facts, data, tmp_path, name):
    expected = word_classes(data / name)
    readers = {"paths": WordClasses.read_paths, "json": WordClasses.read_json, "classes": WordClasses.load}
    for to, read in readers.items():
        facts("export", data / name, tmp_path / to, "--to", to)
        found = read(tmp_path / to)
        assert classes_of_words((w, found[w]) for w in found.words) == GRAMMAR
        assert found.n_classes <= expected.n_classes
    assert WordClasses.read_paths(tmp_path / "paths").paths is not None


def test_export_of_vectors(facts, refused, data, tmp_path):
    facts("export", data / "chain", tmp_path / "v", "--to", "word2vec")
    vectors = WordVectors.read_word2vec(tmp_path / "v")
    assert vectors["dog"].sum() == pytest.approx(1, rel=1e-5)
    assert "no vectors" in refused("export", data / "brown", tmp_path / "v", "--to", "word2vec")


def test_place(facts, refused, data, tmp_path):
    (tmp_path / "new.txt").write_text("the ox sees a dog\nthis ox finds a cat\n")
    found = facts("place", data / "brown", tmp_path / "new.txt", "--model", tmp_path / "m")
    assert (found["placed"], found["words"]) == (1, 14)
    placed = word_classes(tmp_path / "m")
    assert placed["ox"] == placed["dog"] == word_classes(data / "brown")["dog"]
    assert facts("inspect", tmp_path / "m")["placed"] == 1
    facts("export", data / "brown", tmp_path / "paths", "--to", "paths")
    facts("place", tmp_path / "paths", tmp_path / "new.txt", "--model", tmp_path / "c")
    assert WordClasses.load(tmp_path / "c")["ox"] == WordClasses.load(tmp_path / "c")["dog"]
    assert "init" in refused("place", data / "chain", tmp_path / "new.txt", "--model", tmp_path / "m")


# ------------------------------------------------------------------------------------------ mistakes


def conllu(*heads, words="ab"):
    rows = zip(words * len(heads), heads)
    return "".join(f"{i}\t{w}\t{w}\tX\t_\t_\t{h}\tdep\t_\t_\n" for i, (w, h) in enumerate(rows, 1)) + "\n"


@pytest.mark.parametrize(
    ("heads", "needle"),
    [((2, 1, 0), "cycle"), ((0, 0), "root"), ((0, 7), "head"), ((2, 3, 1), "root")],
)
def test_bad_trees(refused, facts, tmp_path, heads, needle):
    bad = tmp_path / "t.conllu"
    bad.write_text(conllu(0, 1) + conllu(*heads))
    command = ["fit", bad, "--tree", "--model", tmp_path / "m", "--classes", 2]
    error = refused(*command)
    assert "t.conllu:" in error
    assert needle in error
    assert not (tmp_path / "m").exists()
    assert facts(*command, "--on-error", "skip")["skipped"] == 1
    assert "t.conllu" in refused("apply", _tree_model(tmp_path, facts), bad)


def _tree_model(folder, facts):
    good = folder / "good.conllu"
    good.write_text(conllu(0, 1) * 5)
    command = ["fit", good, "--tree", "--model", folder / "good", "--method", "hmm", "--classes", 2]
    facts(*command, "--passes", 1)
    return folder / "good"


def test_long_sentences(facts, refused, data, tmp_path):
    (tmp_path / "t.txt").write_text(lines([["a", "b"] * 30, ["a", "b"]]))
    found = facts("fit", tmp_path / "t.txt", "--model", tmp_path / "m", "--classes", 2, "--max-length", 20)
    assert (found["long"], found["sentences"], found["tokens"]) == (1, 4, 62)
    command = ["fit", data / "train.conllu", "--tree", "--model", tmp_path / "m", "--classes", 2]
    assert "at most 3 words" in refused(*command, "--max-length", 3)


def test_too_few_words(refused, data, tmp_path):
    for method in ("brown", "exchange", "hmm"):
        for init in ([], ["--init", "random"] if method == "hmm" else []):
            options = ["--model", tmp_path / "m", "--method", method, "--classes", 256, *init]
            assert "256 classes" in refused("fit", data / "train.txt", *options)


def test_texts_without_words(refused, data, tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "foreign.txt").write_text("mon chat voit\n")
    for method in ("brown", "hmm"):
        error = refused("fit", tmp_path / "empty.txt", "--model", tmp_path / "m", "--method", method)
        assert "no sentences" in error
    command = ["fit", data / "train.txt", "--model", tmp_path / "m", "--method", "hmm", "--classes", 4]
    assert "none of the words" in refused(*command, "--dev", tmp_path / "foreign.txt")
    assert "none of the words" in refused("eval", data / "brown", tmp_path / "foreign.txt")


def test_options_that_do_not_fit(refused, data, tmp_path):
    text, tree, model = data / "train.txt", data / "train.conllu", ["--model", tmp_path / "m", "--classes", 4]
    hmm = [*model, "--method", "hmm"]
    (tmp_path / "twice.json").write_text('{"a": ["x"], "b": ["x"]}')
    (tmp_path / "bad.json").write_text('{"a": ')
    for command, needle in (
        (["fit", text, *model, "--method", "kmeans"], "one of brown, exchange, hmm"),
        (["fit", text, *model, "--gamma", "0.6"], "--gamma is a setting of the method hmm, not of brown"),
        (
            ["fit", text, *model, "--passes", 3],
            "--passes is a setting of the methods exchange, hmm and pairs, not of brown",
        ),
        (["fit", text, *model, "--init", "random"], "--init is a setting of the methods exchange and hmm"),
        (["fit", text, *model, "--method", "exchange", "--refine", 1], "--refine is a setting of"),
        (["fit", text, *hmm, "--typed", 2], "--tree"),
        (["fit", tree, *hmm, "--tree", "--typed", 2, "--relation-groups", "x"], "give only one"),
        (["fit", tree, *hmm, "--tree", "--relation-groups", tmp_path / "twice.json"], "two groups"),
        (["fit", tree, *hmm, "--tree", "--relation-groups", tmp_path / "bad.json"], "bad.json:1"),
        (["fit", text, *hmm, "--tree"], "no heads in lines"),
        (["fit", text, *hmm, "--patience", 2], "--dev"),
        (["fit", text, *hmm, "--em", "half"], "--em must be online or batch"),
        (["fit", text, *hmm, "--k-best", "few"], "--k-best"),
        (["fit", text, *hmm, "--gamma", 2], "--gamma"),
        (["fit", text, *hmm, "--epsilon", 2], "epsilon"),
        (["fit", text, *hmm, "--init", "nowhere"], "nowhere: no such file"),
        (["fit", text, *hmm, "--init", data / "chain", "--classes", 2], "3 classes"),
        (["fit", text, *hmm, "--init", data / "tree"], "no heads"),
        (["fit", text, *model, "--words", "lemma"], "no lemma in lines"),
        (["fit", text, *model, "--format", "pdf"], "format"),
        (["fit", text, *model, "--on-error", "ignore"], "--on-error"),
        (["fit", tmp_path / "nowhere", *model], "no such file"),
        (["fit", text, "--model", tmp_path / "no" / "m"], "no such folder"),
        (["apply", data / "brown", text, "--what", "posterior"], "one class for each word"),
        (["apply", data / "brown", text, "--what", "colour"], "--what must be"),
        (["apply", data / "tree", text], "no heads in lines"),
        (["apply", text], "train.txt"),
        (["eval", data / "brown"], "say what to evaluate"),
        (["eval", data / "brown", "--similarity", text], "train.txt"),
        (["eval", data / "brown", "--similarity", data / "pairs.txt", "--measure", "feet"], "measure"),
        (["inspect", data / "brown", "--homonyms"], "one class for each word"),
        (["inspect", data / "brown", "--only", 99], "no class 99"),
        (["plot", data / "chain", tmp_path / "m.tsv", "--words", "dog"], "three words"),
        (["neighbours", data / "chain", "dgo"], "did you mean dog"),
        (["neighbours", data / "brown", "qqqq"], "is not among the 13 words"),
        (["export", data / "brown", tmp_path / "x", "--to", "pdf"], "--to must be"),
    ):
        assert needle in refused(*command), command
    assert not os.path.exists(tmp_path / "m")


def test_a_model_that_lies_about_its_text(refused, data, tmp_path):
    clustering = Clustering.load(data / "brown")
    replace(clustering, facts={"reading": {"words": 7}}).save(tmp_path / "m")
    assert "damaged" in refused("apply", tmp_path / "m", data / "dev.txt")


@pytest.mark.slow
def test_real_text(facts, tmp_path):
    """Weekdays are alike in a newspaper, and similarities follow what people say."""
    if "SPINNEY_DATA" not in os.environ:
        pytest.skip("SPINNEY_DATA is not set: no real corpora")
    root = os.environ["SPINNEY_DATA"]
    train, dev = (f"{root}/ptb_lm/ptb.{name}.txt.xz" for name in ("train", "valid"))
    command = ["fit", train, "--model", tmp_path / "m", "--method", "hmm", "--classes", 64, "--passes", 2]
    assert facts(*command, "--dev", dev)["dev_perplexity"] < 320
    near = facts("neighbours", tmp_path / "m", "tuesday", "--min-count", 50, "--top", 5)["neighbours"]
    assert {"monday", "thursday", "friday", "wednesday"} & {row["word"] for row in near}
    pairs = f"{root}/word_similarity/mfaruqui/EN-WS-353-SIM.txt"
    assert facts("eval", tmp_path / "m", "--similarity", pairs)["similarity"][pairs]["spearman"] > 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--em", "batch", "--delay", 2], "--delay has no effect with --em batch"),
        (["--noise", 0.2], "--noise has no effect without --start"),
        (["--backoff", 0.5], "--backoff has no effect without --typed or --relation-groups"),
        (["--init", "random", "--refine", 2], "--refine has no effect unless --init is brown"),
        (["--variant", "predictive"], "--variant has no effect unless --init is exchange"),
    ],
)
def test_settings_without_effect_are_refused(spinney, data, tmp_path, options, message):
    code, _, err = spinney("fit", data / "train.txt", "--method", "hmm", "--model", tmp_path / "m", *options)
    assert code == 2
    assert message in err


def test_options_that_would_do_nothing_are_refused(spinney, data, tmp_path):
    model, text = data / "brown", data / "dev.txt"
    for command, said in (
        (["apply", model, text, "--parser", "nonsense"], "a parser adds trees, lemmas and tags"),
        (["apply", model, text, "--text", "body"], "--text is for tables (csv, tsv, jsonl), not for lines"),
        (
            ["apply", model, text, "--no-header"],
            "--header is for tables (csv, tsv), not for lines: leave it out",
        ),
        (["eval", model, text, "--parser", "nonsense"], "a parser adds trees, lemmas and tags"),
        (["fit", text, "--model", tmp_path / "m", "--init="], "--init is a setting of the methods"),
        (
            ["fit", text, "--method", "hmm", "--model", tmp_path / "m", "--dev="],
            "--dev is empty: name a file",
        ),
        (["fit", text, "--model="], "--model is empty: name a file"),
    ):
        code, _, err = spinney(*command)
        assert code == 2, command
        assert said in err, command
    assert not (tmp_path / "m").exists()
