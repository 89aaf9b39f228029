"""The command-line contract: every task has its verbs, every verb the common options, and JSON what is promised."""

import json

import pytest
from made_up_treebank import treebank

from spinney.cli.completion import candidates
from spinney.cli.main import run
from spinney.cli.tasks import TASKS as DECLARED
from spinney.cli.tasks import every_verb
from spinney.cli.verbs import Command, names_of
from spinney.corpus import write_conllu
from spinney.corpus.sample_files import write_sample_files

#: One line for each promise: what is run, in the order of the tasks, and keys that its JSON object holds.
CONTRACT = """
tag fit few.col --preset pos --model tag.spinney  | sentences, parameters, active, objective, violation, seconds
tag apply tag.spinney few.col                                           |
tag eval tag.spinney few.col  | token_error, sequence_error, accuracy, active
tag eval chunks.spinney chunks.col  | precision, recall, f1
tag inspect tag.spinney  | strongest, active_by_pattern
tag apply chunks.spinney chunks.col --phrases  | phrases
tag eval chunks.spinney chunks.col --decoding f1 --abstain 0.5  | calibration_error, brier, phrase_brier, coverage
tag explain tag.spinney few.col  | explained
tag path few.col --preset pos --lams 4,2  | points
tag prune chunks.spinney chunks.col --margin 1  | thresholds, margins, confusions, active
tag fit trees.conllu --method morph --passes 2 --model morph.spinney  | sentences, parameters, active, seconds
tag apply morph.spinney trees.conllu  | sentences
tag eval morph.spinney trees.conllu  | accuracy
tag inspect morph.spinney  | strongest
tag explain morph.spinney trees.conllu  | explained
tag fit few.col --preset pos --no-start-label --lam 1 --model plain.spinney  | active
tag export plain.spinney plain.crfsuite  | output, labels, active
tag import plain.crfsuite --model again.spinney  | imported, labels, active
classify fit few --model classify.spinney --penalty l1 --lam 0.1  | documents, parameters, active, violation, seconds
classify apply classify.spinney few --proba  | predictions
classify eval classify.spinney few  | accuracy, f1, calibration_error, brier, reliability
classify eval classify.spinney few --abstain 0.5  | coverage, accuracy_answered
classify explain classify.spinney few  | explained
classify fit numbers.csv --regression --model numbers.spinney  | objective
classify eval numbers.spinney numbers.csv  | mse
classify inspect classify.spinney --data few  | strongest
classify path few --points 3  | points
classes fit few.txt --model classes.spinney --classes 8  | tokens, words, parameters, seconds
classes fit few.txt --model hmm.spinney --method hmm --classes 8 --passes 1  | tokens, log_likelihood
classes apply hmm.spinney few.txt --what posterior                      |
classes eval hmm.spinney few.txt  | log_likelihood
classes inspect hmm.spinney  | classes
classes explain hmm.spinney few.txt  | explained
classes neighbours hmm.spinney the  | neighbours
embed fit few.txt --model embed.spinney --dimensions 5  | tokens, words, seconds
embed apply embed.spinney few.txt                                       |
embed eval embed.spinney --similarity pairs.csv  | similarity
embed inspect embed.spinney  | dimensions
embed explain embed.spinney few.txt  | explained
embed neighbours embed.spinney the  | neighbours
embed plot embed.spinney places.tsv --runs 1  | map, divergence
lm fit few.txt --model lm.spinney  | tokens, parameters, seconds
lm apply lm.spinney few.txt                                             |
lm eval lm.spinney few.txt  | perplexity
lm inspect lm.spinney  | sizes
lm explain lm.spinney few.txt  | explained
lm sample lm.spinney  | sentences
lm export lm.spinney few.arpa                                           |
parse fit few.mrg --model parse.spinney --method pcfg  | sentences, parameters, seconds
parse apply parse.spinney words.txt  | sentences
parse eval parse.spinney few.mrg  | f1, tagging_accuracy
parse explain parse.spinney words.txt  | explained
parse inspect parse.spinney  | labels
parse fit trees.conllu --method tree-crf --model trees.spinney  | sentences, parameters, active, objective, gap, seconds
parse apply trees.spinney trees.conllu --proba  | sentences
parse eval trees.spinney trees.conllu  | uas, las, relations
parse explain trees.spinney trees.conllu  | explained
parse inspect trees.spinney  | templates, strongest_arc
pipeline fit trees.conllu --jackknife 2 --lam 0.5 --model pipeline.spinney  | sentences, parameters, active, seconds
pipeline apply pipeline.spinney raw.txt  | sentences
pipeline eval pipeline.spinney trees.conllu  | metrics
pipeline explain pipeline.spinney raw.txt  | explained
pipeline inspect pipeline.spinney  | parts
trend fit texts/notes --model trend.spinney --every 3 --method ridge-ts  | parameters, violation, seconds
trend apply trend.spinney texts/notes                                   |
trend explain trend.spinney texts/notes  | explained
trend compare texts/notes --every 3 --methods ridge-ts,ridge-one  | methods
trend inspect trend.spinney  | strongest
report tag.spinney --data few.col  | report, kind
report classify.spinney --data few  | report, kind
report classes.spinney  | report, kind
report hmm.spinney --data few.txt  | report, kind
report embed.spinney  | report, kind
report lm.spinney --data few.txt  | report, kind
report parse.spinney --data few.mrg  | report, kind
report morph.spinney  | report, kind
report trees.spinney --data trees.conllu  | report, kind
report pipeline.spinney --data trees.conllu  | report, kind
report trend.spinney  | report, kind
doctor  | versions
"""
LINES = [[part.strip() for part in line.split("|")] for line in CONTRACT.strip().splitlines()]
TASKS = ("tag", "classify", "classes", "embed", "lm", "parse", "trend", "pipeline")
VERBS = ("fit", "apply", "eval", "explain", "inspect")
MORE = {
    "tag": ["path", "prune", "import", "export"],
    "classify": ["path"],
    "classes": ["neighbours"],
    "embed": ["neighbours", "plot"],
    "lm": ["sample", "export"],
    "pipeline": ["import"],
    "trend": ["compare"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small files of every kind; models are added by the lines of the contract, one after the other."""
    folder = tmp_path_factory.mktemp("contract")
    write_sample_files(str(folder / "texts"))
    texts = folder / "texts"
    labelled = (texts / "code-train.col").read_text().split("\n\n")[:30]
    (folder / "few.col").write_text("\n\n".join(labelled) + "\n\n")
    chunks = "the DT B-NP\ncat NN I-NP\nsat VB B-VP\n\na DT B-NP\ndog NN I-NP\nran VB B-VP\n\n"
    (folder / "chunks.col").write_text(chunks)
    for path in sorted(texts.glob("manual/*/*"))[::6]:
        (folder / "few" / path.parent.name).mkdir(parents=True, exist_ok=True)
        (folder / "few" / path.parent.name / path.name).write_text(path.read_text()[:2000])
    (folder / "numbers.csv").write_text(
        "text,label\n" + "".join(f"{'good ' * n}film,{n}\n" for n in range(1, 8))
    )
    (folder / "few.txt").write_text("".join((texts / "manual.txt").open().readlines()[:200]))
    (folder / "few.mrg").write_text("".join((texts / "code-train.mrg").open().readlines()[:60]))
    write_conllu(folder / "trees.conllu", treebank(20))
    (folder / "raw.txt").write_text("The dog sees a cat.\n")
    (folder / "words.txt").write_text("x = f -LRB- y -RRB-\nreturn x\n")
    (folder / "pairs.csv").write_text("word1,word2,similarity\nthe,a,9\nis,are,8\nthe,is,1\nof,to,3\n")
    assert (
        run(
            [
                "tag",
                "fit",
                str(folder / "chunks.col"),
                "--preset",
                "chunk",
                "--model",
                str(folder / "chunks.spinney"),
                "-q",
            ]
        )
        == 0
    )
    return folder


def test_json_holds_what_is_promised(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    wrong = []
    for command, keys in LINES:
        capsys.readouterr()
        code = run([*command.split(), "--json", "--quiet", "--threads", "1", "--seed", "0"])
        told = capsys.readouterr()
        if code or told.err:
            wrong.append(f"{command}: {code} {told.err.strip()}")
            continue
        facts = json.loads(told.out)
        missing = [key for key in filter(None, keys.split(", ")) if key not in facts]
        if missing or not isinstance(facts, dict):
            wrong.append(f"{command}: no {', '.join(missing)} among {', '.join(facts)}")
    assert not wrong, "\n".join(wrong)


VERBS_OF = every_verb()


def _methods(verb):
    """The words that choose each method of a verb."""
    return [[]] if isinstance(verb.settings, type) else [["--method", method] for method in verb.settings]


def test_every_task_has_its_verbs():
    assert set(DECLARED) <= set(TASKS)
    for task in DECLARED:
        wanted = {*VERBS, *MORE.get(task, []), "init-config"}
        assert wanted <= set(DECLARED[task].verbs), task
    assert {("report",), ("demo",), ("doctor",), ("completion",)} <= set(VERBS_OF)


@pytest.mark.parametrize("words", VERBS_OF, ids=" ".join)
def test_every_verb_has_the_common_options(words):
    verb = VERBS_OF[words]
    for method in _methods(verb):
        options = {name for parameter in Command("", verb, method).params for name in parameter.opts}
        missing = {"--json", "--quiet", "--threads", "--seed", "--config"} - options
        assert not missing, f"{words} {method} lacks {', '.join(sorted(missing))}"


@pytest.mark.parametrize("words", VERBS_OF, ids=" ".join)
def test_everything_has_help_that_is_a_sentence(words):
    verb = VERBS_OF[words]
    for said in [verb, *verb.arguments, *verb.output, *verb.every_setting()]:
        assert said.help, said
        assert said.help[0].isupper() or not said.help[0].isalpha() or said.help[0] in "αλκ", said.help
        assert said.help.endswith((".", "]", "…", ")")), said.help


@pytest.mark.parametrize("words", VERBS_OF, ids=" ".join)
def test_help_fits_80_columns(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for method in _methods(VERBS_OF[words]):
        assert run([*words, *method, "--help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80, method
        assert len(lines) <= (70 if words == ("classify", "fit") else 85), method  # not a manual


@pytest.mark.parametrize("words", VERBS_OF, ids=" ".join)
def test_completion_offers_every_option_and_every_choice(words):
    verb = VERBS_OF[words]
    names = {
        name
        for setting in (*verb.output, *verb.every_setting())
        for name in names_of(setting)
        if name.startswith("--")
    }
    assert names <= {value for value, _ in candidates([*words, "--"])}
    for method in _methods(verb):
        for setting in Command("", verb, method).settings:
            if setting.choices:
                offered = {value for value, _ in candidates([*words, *method, names_of(setting)[0], ""])}
                assert set(setting.choices) <= offered, setting.name


def test_a_model_comes_first_and_fit_takes_model():
    for words, verb in VERBS_OF.items():
        arguments = [argument.name for argument in verb.arguments]
        if words[-1] == "fit":
            assert arguments[0] in ("train", "data"), words
            assert any(setting.name == "model" for setting in verb.output), words
        elif words[-1] in ("apply", "inspect", "eval"):
            assert arguments[0] == "model", words
