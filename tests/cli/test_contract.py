"""The command-line contract: every task has its verbs, every verb the common options, and JSON what is promised."""

import json

import pytest

from spinney.cli.main import command as the_commands
from spinney.cli.main import run
from spinney.corpus.sample_files import write_sample_files

#: One line for each promise: what is run, in the order of the tasks, and keys that its JSON object holds.
CONTRACT = """
tag fit few.col --preset pos --model tag.spinney  | sentences, parameters, active, objective, violation, seconds
tag apply tag.spinney few.col                                           |
tag eval tag.spinney few.col  | token_error, sequence_error, accuracy, active
tag eval chunks.spinney chunks.col  | precision, recall, f1
tag inspect tag.spinney  | strongest, active_by_pattern
tag path few.col --preset pos --lams 4,2  | points
classify fit few --model classify.spinney --penalty l1 --lam 0.1  | documents, parameters, n_active, violation, seconds
classify apply classify.spinney few --proba  | predictions
classify eval classify.spinney few  | accuracy, f1
classify fit numbers.csv --regression --model numbers.spinney  | objective
classify eval numbers.spinney numbers.csv  | mse
classify inspect classify.spinney --data few  | strongest
classify path few --points 3  | points
classes fit few.txt --model classes.spinney --classes 8  | tokens, words, parameters, seconds
classes fit few.txt --model hmm.spinney --method hmm --classes 8 --passes 1  | tokens, log_likelihood
classes apply hmm.spinney few.txt --what posterior                      |
classes eval hmm.spinney few.txt  | log_likelihood
classes inspect hmm.spinney  | classes
classes neighbours hmm.spinney the  | neighbours
embed fit few.txt --model embed.spinney --dimensions 5  | tokens, words, seconds
embed apply embed.spinney few.txt                                       |
embed eval embed.spinney --similarity pairs.csv  | similarity
embed inspect embed.spinney  | dimensions
embed neighbours embed.spinney the  | neighbours
lm fit few.txt --model lm.spinney  | tokens, parameters, seconds
lm apply lm.spinney few.txt                                             |
lm eval lm.spinney few.txt  | perplexity
lm inspect lm.spinney  | sizes
lm sample lm.spinney  | sentences
lm export lm.spinney few.arpa                                           |
parse fit few.mrg --model parse.spinney --method pcfg  | trees, parameters, seconds
parse apply parse.spinney words.txt  | sentences
parse eval parse.spinney few.mrg  | f1, tagging_accuracy
parse inspect parse.spinney  | labels
trend fit texts/notes --model trend.spinney --every 3 --method ridge-ts  | parameters, violation, seconds
trend apply trend.spinney texts/notes                                   |
trend eval texts/notes --every 3 --methods ridge-ts,ridge-one  | methods
trend inspect trend.spinney  | strongest
report tag.spinney --data few.col  | report, kind
report classify.spinney --data few  | report, kind
report classes.spinney  | report, kind
report hmm.spinney --data few.txt  | report, kind
report embed.spinney  | report, kind
report lm.spinney --data few.txt  | report, kind
report parse.spinney --data few.mrg  | report, kind
report trend.spinney  | report, kind
doctor  | versions
"""
LINES = [[part.strip() for part in line.split("|")] for line in CONTRACT.strip().splitlines()]
TASKS = ("tag", "classify", "classes", "embed", "lm", "parse", "trend")
VERBS = ("fit", "apply", "eval", "inspect")
MORE = {
    "tag": ["path"],
    "classify": ["path"],
    "classes": ["neighbours"],
    "embed": ["neighbours"],
    "lm": ["sample", "export"],
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


def _commands():
    for task, command in the_commands().commands.items():
        for verb, inner in getattr(command, "commands", {"": command}).items():
            yield f"{task} {verb}".strip(), inner


def test_every_task_has_its_verbs():
    names = {name for name, _ in _commands()}
    wanted = {f"{task} {verb}" for task in TASKS for verb in [*VERBS, *MORE.get(task, [])]}
    assert wanted | {"report", "demo", "doctor"} <= names


@pytest.mark.parametrize(
    ("name", "command"), list(_commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_verb_has_the_common_options(name, command):
    options = {option for parameter in command.params for option in parameter.opts}
    missing = {"--json", "--quiet", "--threads", "--seed"} - options
    assert not missing, f"{name} lacks {', '.join(sorted(missing))}"
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name} {parameter.name} has no help"
        assert not parameter.help or parameter.help.rstrip().endswith((".", "]", "…", ")")), (
            f"{name} {parameter.name}"
        )


def test_a_model_comes_first_and_fit_takes_model():
    for name, command in _commands():
        verb = name.split()[-1]
        arguments = [p.name for p in command.params if p.param_type_name == "argument"]
        if verb == "fit":
            assert arguments[0] in ("train", "data"), name
            assert any("--model" in p.opts for p in command.params), name
        elif verb in ("apply", "inspect") or (verb == "eval" and name != "trend eval"):
            assert arguments[0] == "model", name
