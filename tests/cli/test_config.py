"""Configuration files: they take what a verb takes, a model gives the one that made it, and mistakes name the file."""

import tomllib

import numpy as np
import pytest

from spinney.cli.main import run
from spinney.cli.tasks import TASKS
from spinney.files import read_model
from spinney.settings import settings_of

METHODS = [
    (task, method)
    for task, of in TASKS.items()
    if not isinstance(of.verbs["fit"].settings, type)
    for method in of.verbs["fit"].settings
]


@pytest.fixture(autouse=True)
def text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sentences = [f"the {a} sees a {b}" for a in ("dog", "cat", "fox") for b in ("bird", "bone")]
    (tmp_path / "text.txt").write_text("\n".join(sentences * 3) + "\n")
    tags = ("D", "N", "V", "D", "N")
    columns = ("\n".join(map(" ".join, zip(words.split(), tags))) for words in sentences)
    (tmp_path / "words.col").write_text("\n\n".join(columns) + "\n\n")
    rows = (f"{words},{words.split()[1]},{2000 + i % 3},{i}" for i, words in enumerate(sentences * 3))
    (tmp_path / "table.csv").write_text("\n".join(["text,label,time,y", *rows]) + "\n")
    trees = (f"(S (NP (D the) (N {a})) (VP (V sees) (NP (D a) (N {b}))))" for a in "xy" for b in "zw")
    (tmp_path / "trees.mrg").write_text("\n".join(trees) + "\n")


FITS = """
lm fit text.txt --method kn --order 2 --lowercase
lm fit text.txt --method loglinear --order 3 --lam 0.1,0.5 --dev text.txt --seed 7
lm fit text.txt --method pitman-yor --order 2 --sweeps 3 --seed 3
tag fit words.col --preset pos --penalty elasticnet --lam 0.5 --l2 0.1
tag fit words.col --method hmm
classify fit table.csv --penalty l1 --lam 0.01 --ngrams 2
classify fit table.csv --groups sentence --lam 0.01 --no-lowercase
classes fit text.txt --classes 3 --refine 1
classes fit text.txt --method hmm --classes 3 --passes 2 --seed 5
embed fit text.txt --dimensions 3 --seed 2
parse fit trees.mrg --method split-merge --states 2 --seed 4
trend fit table.csv --method ridge-ts --lam 0.5
trend fit table.csv --method adaptive --value y
"""


@pytest.mark.parametrize("command", FITS.strip().split("\n"))
def test_the_configuration_of_a_model_makes_the_same_model(spinney, command):
    task = command.split()[0]
    assert spinney(*command.split(), "--model", "one", "--threads", 1, "-q")[0] == 0
    assert spinney(task, "init-config", "--from", "one", "-o", "one.toml") == (0, "", "")
    code, _, err = spinney(task, "fit", "--config", "one.toml", "--model", "two", "-q")
    assert code == 0, err
    one, two = read_model("one"), read_model("two")
    assert one.header["fit"] == two.header["fit"]
    assert {name: list(of) for name, of in one.strings.items()} == {
        name: list(of) for name, of in two.strings.items()
    }
    assert set(one.tensors) == set(two.tensors)
    for name in one.tensors:
        np.testing.assert_array_equal(one.tensors[name], two.tensors[name])


@pytest.mark.parametrize(("task", "method"), METHODS)
def test_the_defaults_are_a_configuration(spinney, task, method):
    code, text, err = spinney(task, "init-config", "--method", method)
    assert (code, err) == (0, "")
    values = tomllib.loads(text)
    assert values["method"] == method
    for setting in settings_of(TASKS[task].verbs["fit"].settings[method]):
        if setting.name in values and setting.name != "method":
            assert setting.check(values[setting.name]) == setting.default
    for line in text.splitlines():
        assert not line or line.startswith("#") or "  # " in line  # help beside every setting


def test_options_override_the_file(facts):
    with open("c.toml", "w") as file:
        file.write('train = ["text.txt"]\nmethod = "kn"\norder = 4\nmodel = "m"\n')
    assert facts("lm", "fit", "--config", "c.toml")["order"] == 4
    told = facts("lm", "fit", "--config", "c.toml", "--order", 2)
    assert (told["order"], told["method"]) == (2, "kn")
    assert facts("lm", "fit", "--config", "c.toml", "--method", "wb")["method"] == "wb"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ordr = 3", "c.toml: there is no setting ordr (did you mean order?)"),
        ('order = "three"', "c.toml: order must be a whole number, not 'three'"),
        ("order = 0", "c.toml: order must be at least 1, not 0"),
        ("lowercase = 1", "c.toml: lowercase must be true or false, not 1"),
        ('format = "lnes"', "did you mean lines?"),
        ("lam = 1.0", "c.toml: lam is a setting of the methods loglinear and hierarchical, not of mkn"),
        ("train = 3", "c.toml: train must be text, not 3"),
        ("order =", "c.toml: not TOML"),
    ],
)
def test_mistakes_name_the_file(refused, line, told):
    with open("c.toml", "w") as file:
        file.write(line + "\n")
    assert told in refused("lm", "fit", "--config", "c.toml", "--model", "m")


def test_a_file_that_is_not_there(refused):
    open("config.toml", "w").close()
    assert "did you mean config.toml?" in refused("lm", "fit", "--config", "conf.toml", "--model", "m")


def test_a_model_of_another_task_has_no_configuration_here(spinney, refused):
    assert run(["lm", "fit", "text.txt", "--model", "one", "-q"]) == 0
    spinney()
    for task in set(TASKS) - {"lm"}:
        assert "one" in refused(task, "init-config", "--from", "one")


@pytest.mark.parametrize("value", ["{}", "nan", "[{}]", "[1.0, inf]", "{a = 1}"])
@pytest.mark.parametrize("name", ["penalty", "groups", "lam", "label"])
def test_tables_and_numbers_that_are_none_are_refused(tmp_path, capsys, name, value):
    (tmp_path / "bad.toml").write_text(f"{name} = {value}\n")
    assert run(["classify", "fit", "text.txt", "--config", "bad.toml", "--model", "m"]) == 2
    assert capsys.readouterr().err.startswith(f"spinney: bad.toml: {name} must be ")
