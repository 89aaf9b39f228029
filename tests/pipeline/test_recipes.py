"""Pipelines from treebanks: whole ones and those that lack trees or lemmas; commands; interrupts; bad input."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from spinney.corpus import Sentence, read_conllu, write_conllu
from spinney.corpus.sample_treebank import sample_treebank
from spinney.errors import InputError, ModelFileError, OptionError
from spinney.evaluate.conll18 import METRICS
from spinney.pipeline import Pipeline, fit
from spinney.pipeline.lemmas import Lemmatiser
from spinney.pipeline.phrases import phrase_tree
from spinney.tagging.morphology import MorphTagger
from spinney.views import as_json

TREES = {"UAS", "LAS", "CLAS", "MLAS", "BLEX"}


def sentences_of(text):
    """The sentences of CoNLL-U text, as lists of rows."""
    return [
        [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
        for block in text.strip().split("\n\n")
    ]


# ------------------------------------------------------------------------------- what a treebank lacks


def test_without_trees_there_is_no_parser_and_everything_else(files):
    pipeline = Pipeline.load(files / "flat.spinney")
    assert pipeline.trees is None
    assert pipeline.facts["absent"] == ["trees"]
    told = as_json(pipeline.summary())
    assert [row["learned"] for row in told["parts"]][3] == "not learned: its treebank has no trees"
    (one,) = pipeline("Vanira kelak lanamit!")
    assert one.upos == ["NOUN", "NOUN", "VERB", "PUNCT"]
    assert one.lemmas == ["vani", "kela", "lana", "!"]
    assert one.heads == []
    assert "parser" not in pipeline.structures()


def test_scores_leave_out_what_was_not_learned(files, facts, spinney):
    found = facts("pipeline", "eval", files / "flat.spinney", files / "test.conllu")
    assert set(found["metrics"]) == set(METRICS) - TREES
    assert found["upos"] > 0.9
    assert "las" not in found
    code, out, _ = spinney("pipeline", "eval", files / "flat.spinney", files / "test.conllu")
    assert code == 0
    assert "Left out: UAS, LAS, CLAS, MLAS, BLEX, since this pipeline has no parser" in " ".join(out.split())
    code, _, err = spinney(
        "pipeline", "eval", files / "flat.spinney", files / "test.conllu", "--start", "tags"
    )
    assert code == 2
    assert "no parser (its treebank has no trees): start from tokens" in err


def test_a_treebank_without_trees_does_not_measure_them(files, facts):
    found = facts("pipeline", "eval", files / "whole.spinney", files / "flat.conllu")
    assert set(found["metrics"]) == set(METRICS) - TREES


def test_the_parser_learns_from_the_sentences_that_have_heads(treebank, files):
    some = [one if i % 2 else replace(one, heads=[], deprels=[]) for i, one in enumerate(treebank)]
    pipeline = fit(some, jackknife=1)
    assert pipeline.facts["sentences_with_trees"] == 20
    assert pipeline.trees.facts["sentences"] == 20
    assert pipeline.tags.facts["sentences"] == 40
    test = list(read_conllu(files / "test.conllu"))
    partly = [one if i % 3 else replace(one, heads=[], deprels=[]) for i, one in enumerate(test)]
    las = as_json(pipeline.evaluate(partly))["las"]
    kept = [one for i, one in enumerate(test) if i % 3]
    assert las == pytest.approx(as_json(pipeline.evaluate(kept))["las"])


def test_without_lemmas_there_is_no_lemmatiser(treebank):
    pipeline = fit([replace(one, lemmas=["_"] * len(one)) for one in treebank], jackknife=1)
    assert pipeline.lemmas is None
    assert pipeline.facts["absent"] == ["lemmas"]
    assert pipeline("Nas osu.")[0].lemmas == ["_"] * 4
    found = as_json(pipeline.evaluate(treebank))
    assert set(found["metrics"]) == set(METRICS) - {"Lemmas", "BLEX"}
    with pytest.raises(OptionError, match="no lemmatiser: its treebank has no lemmas"):
        pipeline.views(part=["lemmas"])


def test_tags_in_the_wrong_column_and_none_at_all(treebank):
    moved = [replace(one, upos=[], xpos=one.upos) for one in treebank]
    with pytest.raises(
        InputError, match=r"no tags in the column upos \(the column xpos has tags: copy them to upos\)"
    ):
        fit(moved)
    with pytest.raises(InputError, match="learns from a tagged treebank"):
        fit([Sentence(one.forms) for one in treebank])


# -------------------------------------------------------------------------------------------- commands


def test_fit_tells_what_it_did(files, facts, tmp_path):
    found = facts(
        "pipeline", "fit", files / "train.conllu", "--dev", files / "test.conllu", "--test", files / "test.conllu",
        "--jackknife", 2, "--model", tmp_path / "m.spinney",
    )  # fmt: skip
    assert found["sentences"] == 40
    assert [row["part"] for row in found["parts"]] == ["Tokeniser", "Tagger", "Lemmatiser", "Parser"]
    assert {row["metric"] for row in found["test"]} == set(METRICS)
    assert all(row["tokens"] > 0.8 for row in found["test"] if row["metric"] in ("UPOS", "LAS"))
    model = Pipeline.load(tmp_path / "m.spinney")
    assert len(model.trees.facts["tried"]) > 1  # strengths, on dev
    assert model.settings.jackknife == 2


def test_apply_reads_text_lines_and_conllu(files, spinney, tmp_path):
    code, out, err = spinney("pipeline", "apply", files / "whole.spinney", files / "raw.txt")
    assert code == 0, err
    found = sentences_of(out)
    assert [row[1] for row in found[0]] == ["Nas", "Na", "es", "osu", "."]
    assert found[1][1][3:8] == ["NOUN", "_", "Case=Acc|Number=Sing", "3", "obj"]
    assert out.count("# newpar") == 2
    (tmp_path / "o.conllu").write_text(out)
    assert len(list(read_conllu(tmp_path / "o.conllu"))) == 3
    (tmp_path / "lines.txt").write_text("Vanira kelak lanamit !\n\n")
    _, lines, _ = spinney(
        "pipeline", "apply", files / "whole.spinney", tmp_path / "lines.txt", "--format", "lines"
    )
    assert [row[1:8] for row in sentences_of(lines)[0]] == [row[1:8] for row in found[1]]
    _, again, _ = spinney(
        "pipeline", "apply", files / "whole.spinney", tmp_path / "o.conllu", "--format", "conllu"
    )
    assert again == out


def test_apply_stops_where_it_is_told(files, spinney):
    filled = {"tokens": (), "tags": (3, 5), "lemmas": (2, 3, 5), "trees": (2, 3, 5, 6, 7)}
    for until, columns in filled.items():
        _, out, _ = spinney("pipeline", "apply", files / "whole.spinney", files / "raw.txt", "--until", until)
        row = sentences_of(out)[1][1]
        assert tuple(i for i in range(2, 8) if row[i] != "_") == columns, until


def test_probabilities_of_tags_and_arcs(files, spinney, tmp_path):
    _, out, _ = spinney("pipeline", "apply", files / "whole.spinney", files / "raw.txt", "--proba")
    misc = [row[9] for one in sentences_of(out) for row in one if "-" not in row[0]]
    pattern = r"(?:.*\|)?TagProbability=(\S+)\|ArcProbability=(\S+)\|RelationProbability=([\d.]+)"
    chances = [tuple(map(float, re.fullmatch(pattern, field).groups())) for field in misc]
    assert all(0 <= chance <= 1 for one in chances for chance in one)
    _, tags, _ = spinney("pipeline", "apply", files / "flat.spinney", files / "raw.txt", "--proba")
    assert "TagProbability=" in tags
    assert "ArcProbability" not in tags
    (tmp_path / "o.conllu").write_text(out)  # what is there already is not there twice
    _, again, _ = spinney(
        "pipeline", "apply", files / "whole.spinney", tmp_path / "o.conllu", "--format", "conllu", "--proba"
    )
    assert again == out


def test_probabilities_are_those_of_the_tagger(files, treebank):
    from spinney.pipeline.doubts import probable_tags

    tagger = Pipeline.load(files / "whole.spinney").tags
    forms = [one.forms for one in treebank]
    labels, chances = probable_tags(tagger, forms)
    assert labels == tagger.tag(forms)
    found = tagger.marginals(forms)
    every = np.array([chance for one in chances for chance in one])
    assert np.all(every <= found.probabilities.max(axis=1) + 1e-12)
    assert np.all(every > 0)


def test_json_of_apply(files, facts):
    found = facts("pipeline", "apply", files / "whole.spinney", files / "raw.txt")
    assert [one["sentence"] for one in found["sentences"]] == [
        "Nas osu.",
        "Vanira kelak lanamit!",
        "Ke miru selemi.",
    ]
    assert found["sentences"][0]["multiword"] == [[1, 2, "Nas"]]
    assert found["sentences"][1]["upos"] == ["NOUN", "NOUN", "VERB", "PUNCT"]
    assert found["skipped"] == 0


def test_scores(files, facts, spinney, tmp_path):
    found = {
        start: facts("pipeline", "eval", files / "whole.spinney", files / "test.conllu", "--start", start)
        for start in ("tokens", "text", "tags")
    }
    for start, scores in found.items():
        assert (scores["sentences"], scores["start"]) == (15, start)
        assert scores["tokens"] > 50
        assert set(scores["metrics"]) == set(METRICS)
        assert scores["las"] == scores["metrics"]["LAS"]["f1"] > 0.8
    assert found["tokens"]["tokens_f1"] == found["tags"]["upos"] == 1.0
    _, out, _ = spinney(
        "pipeline", "apply", files / "flat.spinney", files / "test.conllu", "--format", "conllu"
    )
    (tmp_path / "other.conllu").write_text(out)
    against = facts(
        "pipeline", "eval", files / "whole.spinney", files / "test.conllu", "--against", files / "whole.spinney",
        "--against", tmp_path / "other.conllu",
    )["against"]  # fmt: skip
    assert len(against) == 2 * len(METRICS)
    assert all(row["difference"] == 0 for row in against[: len(METRICS)])


def test_inspect_explain_and_report(files, facts, spinney, tmp_path):
    found = facts("pipeline", "inspect", files / "whole.spinney")
    assert found["sentences"] == 40
    assert set(found["learned"]) == {"tokens", "tags", "lemmas", "trees"}
    assert found["learned"]["tags"]["method"] == "morph"
    one = facts("pipeline", "inspect", files / "whole.spinney", "--part", "trees", "--top", 3)
    assert set(one["learned"]) == {"trees"}
    words = facts("pipeline", "explain", files / "whole.spinney", files / "raw.txt")["explained"]
    assert [row["word"] for row in words[1]] == ["Vanira", "kelak", "lanamit", "!"]
    tags = facts("pipeline", "explain", files / "whole.spinney", files / "raw.txt", "--part", "tags")[
        "explained"
    ]
    assert tags[1][1]["label"].startswith("NOUN")
    flat = facts("pipeline", "explain", files / "flat.spinney", files / "raw.txt")["explained"]
    assert flat[1][1]["label"].startswith("NOUN")
    code, _, err = spinney(
        "pipeline", "explain", files / "flat.spinney", files / "raw.txt", "--part", "trees"
    )
    assert code == 2
    assert "no parser: its treebank has no trees" in err
    for model, data in (("whole", "test"), ("whole", None), ("flat", "test"), ("flat", None)):
        page = tmp_path / f"{model}.html"
        more = [] if data is None else ["--data", files / f"{data}.conllu"]
        assert facts("report", files / f"{model}.spinney", *more, "-o", page)["kind"] == "pipeline/Pipeline"
        text = page.read_text()
        assert "Parser" in text
        assert ("<svg" in text) == (data is not None and model == "whole") or data is None


def test_config_of_a_model(files, spinney, tmp_path):
    code, out, _ = spinney("pipeline", "init-config", "--from", files / "whole.spinney")
    assert code == 0
    (tmp_path / "c.toml").write_text(out)
    assert "jackknife = 2" in out


# ----------------------------------------------------------------------- checkpoints and interrupts


def told(model):
    """Everything that a model keeps, without how long it took."""
    header, tensors, strings, parts = model.contents()

    def timeless(value):
        if isinstance(value, dict):
            return {
                key: timeless(inner)
                for key, inner in value.items()
                if not key.startswith("seconds") and not key.endswith("_second")
            }
        return value

    def plain(of):
        return {name: np.asarray(array).tolist() for name, array in of.items()}

    return (
        json.dumps(timeless(dict(header)), sort_keys=True),
        plain(tensors),
        strings,
        {
            name: (
                json.dumps(timeless(dict(part.header)), sort_keys=True),
                plain(part.tensors),
                {key: list(texts) for key, texts in part.strings.items()},
            )
            for name, part in parts.items()
        },
    )


def test_an_interrupt_keeps_the_parts_and_resume_goes_on(files, tmp_path, monkeypatch, spinney):
    fitting = (
        "pipeline",
        "fit",
        files / "train.conllu",
        "--jackknife",
        2,
        "--raw",
        files / "raw.txt",
        "--classes",
        4,
    )
    at = ("--checkpoint", tmp_path / "c.spinney", "--model")
    whole = (
        *fitting,
        "--checkpoint",
        tmp_path / "d.spinney",
        "--model",
        tmp_path / "whole.spinney",
        "--quiet",
    )
    assert spinney(*whole)[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(Lemmatiser, "train", _interrupted)
        code, out, _ = spinney(*fitting, *at, tmp_path / "half.spinney")
    assert code == 130
    assert "not learned" in out  # a narrow terminal breaks the line
    half = Pipeline.load(tmp_path / "half.spinney")
    assert half.tags is not None
    assert (half.lemmas, half.trees) == (None, None)
    assert half("Nas osu.")[0].upos == ["PRON", "AUX", "ADJ", "PUNCT"]
    with monkeypatch.context() as patch:
        patch.setattr("spinney.pipeline.recipes.Tokeniser.train", _interrupted)  # is not learned again
        assert spinney(*fitting, *at, tmp_path / "resumed.spinney", "--resume", "--quiet")[0] == 0
    one, other = Pipeline.load(tmp_path / "whole.spinney"), Pipeline.load(tmp_path / "resumed.spinney")
    assert told(one) == told(other)
    # a second time, nothing is left to do
    assert spinney(*fitting, *at, tmp_path / "again.spinney", "--resume", "--quiet")[0] == 0
    assert told(Pipeline.load(tmp_path / "again.spinney")) == told(one)
    for changed, says in (
        (["--seed", 3], "the checkpoint was made with other settings"),
        (["--limit", 30], "the checkpoint is of other training data"),
    ):
        code, _, err = spinney(*fitting, *at, tmp_path / "x.spinney", "--resume", *changed)
        assert code == 2
        assert says in err


def _interrupted(*_, **__):
    raise KeyboardInterrupt


def test_an_interrupt_while_tags_are_predicted(treebank, monkeypatch):
    """A tagger that was interrupted returns what it has: the pipeline must not go on with the next one."""
    train, called = MorphTagger.train, []

    def second_is_interrupted(*args, **given):
        tagger = train(*args, **given)
        called.append(tagger)
        if len(called) == 2:
            tagger.facts["interrupted"] = True
        return tagger

    monkeypatch.setattr(MorphTagger, "train", second_is_interrupted)
    pipeline = fit(treebank, jackknife=3)
    assert len(called) == 2
    assert pipeline.facts["interrupted"]
    assert (pipeline.lemmas, pipeline.trees) == (None, None)


def test_a_part_that_was_interrupted_is_learned_again(treebank, tmp_path, monkeypatch):
    train = MorphTagger.train

    def halfway(*args, **given):
        tagger = train(*args, **given)
        tagger.facts["interrupted"] = True
        return tagger

    with monkeypatch.context() as patch:
        patch.setattr(MorphTagger, "train", halfway)
        fit(treebank, jackknife=1).save(tmp_path / "m.spinney")
    resumed = fit(treebank, jackknife=1, checkpoint=str(tmp_path / "m.spinney"), resume=True)
    assert not resumed.tags.facts["interrupted"]
    assert resumed.trees is not None


def test_an_interrupt_before_anything_is_learned(treebank, monkeypatch):
    monkeypatch.setattr("spinney.pipeline.recipes.Tokeniser.train", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(treebank)


# ------------------------------------------------------------------------------------- damaged files


def test_damaged_files_are_refused(files, tmp_path):
    whole = (files / "whole.spinney").read_bytes()
    path = tmp_path / "m.spinney"
    rng = np.random.default_rng(0)
    for cut in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(ModelFileError):
            Pipeline.load(path)
    for _ in range(40):
        at = int(rng.integers(8, len(whole)))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with pytest.raises(ModelFileError):
            Pipeline.load(path)


@pytest.mark.parametrize(
    "header",
    [
        {"parts": []},
        {"parts": ["tokens", "trees", "hats"]},
        {"parts": [3]},
        {"parts": ["lemmas", "tags"]},
        {"facts": {"seconds_by_part": 3}},
        {"facts": {"test": {"tokens": {"LAS": "high"}}}},
        {"facts": {"absent": 1}},
    ],
)
def test_headers_that_no_pipeline_has(files, tmp_path, header):
    from spinney.files import write_model

    kept = Pipeline.load(files / "flat.spinney").contents()
    parts = dict(kept.parts)
    if "parts" in header and "lemmas" in header["parts"]:
        del parts["lemmas"]
    write_model(tmp_path / "m.spinney", Pipeline.kind, {**kept.header, **header}, {}, {}, parts)
    with pytest.raises(ModelFileError):
        Pipeline.load(tmp_path / "m.spinney")


# -------------------------------------------------------------------------------------------- bad input

GOOD = (
    "1\tTi\tti\tPRON\t_\t_\t3\tnsubj\t_\t_\n2\tes\tes\tAUX\t_\t_\t3\tcop\t_\t_\n"
    "3\tosu\tosu\tADJ\t_\t_\t0\troot\t_\tSpaceAfter=No\n4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_\n\n"
)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (GOOD.replace("\t0\troot", "\t1\troot"), "the heads of words 1, 3 form a cycle"),
        (GOOD.replace("\t3\tnsubj", "\t0\tnsubj"), "a second root"),
        (GOOD.replace("3\tosu", "7\tosu"), "word number 7 where 3 is expected"),
        (GOOD.replace("\t3\tcop", "\t9\tcop"), "9"),
        (GOOD.replace("\tes\tes", "\tes"), "9 columns where CoNLL-U has 10"),
    ],
)
def test_bad_sentences_are_named_or_skipped(spinney, facts, tmp_path, bad, says):
    path = tmp_path / "t.conllu"
    path.write_text(GOOD * 3 + bad + GOOD * 3)
    code, _, err = spinney("pipeline", "fit", path, "--model", tmp_path / "m.spinney")
    assert code == 2
    assert says in err
    assert re.search(r"t\.conllu:\d+: ", err)
    assert err.count("\n") == 1
    found = facts(
        "pipeline", "fit", path, "--on-error", "skip", "--jackknife", 1, "--model", tmp_path / "m.spinney"
    )
    assert (found["sentences"], found["skipped"]) == (6, 1)


def test_empty_nodes_enhanced_columns_comments_ranges_and_crlf(spinney, facts, tmp_path):
    rich = (
        "# sent_id = 1\n# weird\n1-2\tTis\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "1\tTi\tti\tPRON\t_\t_\t3\tnsubj\t3:nsubj|2.1:dep\t_\n2\tes\tes\tAUX\t_\t_\t3\tcop\t3:cop\t_\n"
        "2.1\tgone\tgone\tVERB\t_\t_\t_\t_\t0:root\t_\n"
        "3\tosu\tosu\tADJ\t_\t_\t0\troot\t0:root\tSpaceAfter=No\n4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t3:punct\t_\n\n"
    )
    path, model = tmp_path / "t.conllu", tmp_path / "m.spinney"
    path.write_text((rich * 4 + GOOD * 4).replace("\n", "\r\n"), newline="")
    assert facts("pipeline", "fit", path, "--jackknife", 1, "--model", model)["sentences"] == 8
    assert facts("pipeline", "eval", model, path)["words_f1"] == 1.0
    _, out, _ = spinney("pipeline", "apply", model, path, "--format", "conllu")
    assert "# weird" in out
    assert "1-2\tTis" in out
    assert "2.1\t" not in out  # of another graph
    assert "3:nsubj" not in out
    (tmp_path / "o.conllu").write_text(out)
    assert len(list(read_conllu(tmp_path / "o.conllu"))) == 8


def test_nothing_in_any_column(spinney, tmp_path):
    path = tmp_path / "t.conllu"
    path.write_text("1\t_" + "\t_" * 8 + "\n2\t_" + "\t_" * 8 + "\n\n")
    code, _, err = spinney("pipeline", "fit", path, "--model", tmp_path / "m.spinney")
    assert code == 2
    assert "no tags in the column upos" in err
    path.write_text("")
    code, _, err = spinney("pipeline", "fit", path, "--model", tmp_path / "m.spinney")
    assert code == 2
    assert "no sentences" in err


def test_bad_bytes_in_raw_text(files, spinney, tmp_path):
    (tmp_path / "t.txt").write_bytes(b"Nas osu.\n\xff\n\nKe miru selemi.\n")
    code, _, err = spinney("pipeline", "apply", files / "whole.spinney", tmp_path / "t.txt")
    assert code == 2
    assert "t.txt:2: not UTF-8" in err
    code, out, err = spinney(
        "pipeline", "apply", files / "whole.spinney", tmp_path / "t.txt", "--on-error", "skip"
    )
    assert code == 0
    assert len(sentences_of(out)) == 2
    assert "1 sentences were skipped" in err


def test_sentences_of_500_words(files):
    pipeline = Pipeline.load(files / "whole.spinney")
    words = [word for one in sample_treebank(120, 3) for word in one.forms if word not in ".?!"][:500]
    assert len(words) == 500
    (one,) = pipeline.annotate([Sentence(words)])
    assert one.heads.count(0) == 1
    assert len(list(phrase_tree(one).leaves())) == 500


def test_words_with_spaces(tmp_path):
    def sentence(name, verb):
        forms = [name, verb, "."]
        misc = ["_", "SpaceAfter=No", "_"]
        return Sentence(
            forms,
            forms,
            ["PROPN", "VERB", "PUNCT"],
            heads=[2, 0, 2],
            deprels=["nsubj", "root", "punct"],
            misc=misc,
        )

    text = [
        sentence(name, verb) for name in ("hà nội", "sài gòn", "huế") for verb in ("đẹp", "xa", "nhỏ")
    ] * 3
    pipeline = fit(text, jackknife=1)
    assert [one.forms for one in pipeline("hà nội xa. huế đẹp.")] == [
        ["hà nội", "xa", "."],
        ["huế", "đẹp", "."],
    ]
    write_conllu(tmp_path / "t.conllu", pipeline("hà nội xa."))
    assert next(iter(read_conllu(tmp_path / "t.conllu"))).forms[0] == "hà nội"


def test_right_to_left(tmp_path):
    def sentence(noun, verb):
        forms = [noun, verb, "؟"]
        misc = ["_", "SpaceAfter=No", "_"]
        return Sentence(
            forms,
            forms,
            ["NOUN", "VERB", "PUNCT"],
            heads=[2, 0, 2],
            deprels=["nsubj", "root", "punct"],
            misc=misc,
        )

    nouns, verbs = ("بالا", "ئات", "قۇش"), ("كەلدى", "كەتتى")
    pipeline = fit([sentence(noun, verb) for noun in nouns for verb in verbs] * 4, jackknife=1)
    found = pipeline("قۇش كەلدى؟ ئات كەتتى؟")
    assert [one.forms for one in found] == [["قۇش", "كەلدى", "؟"], ["ئات", "كەتتى", "؟"]]
    assert found[0].deprels == ["nsubj", "root", "punct"]


@pytest.mark.parametrize("heads", [[2, 0, 2, 1], [3, 4, 0, 3, 2], [0, 1, 1, 2, 3], [0]])
def test_phrases_keep_all_words_in_their_order(heads):
    """Where arcs cross, too: 4 depends on 1, and 2 on 3."""
    words = [f"w{i}" for i in range(len(heads))]
    one = Sentence(words, heads=heads, deprels=[f"r{i}" for i in range(len(heads))])
    tree = phrase_tree(one)
    assert tree.leaves() == words
    assert tree.label == f"r{heads.index(0)}"
