"""No command replaces what it reads."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def inputs(tmp_path, monkeypatch, spinney):
    """Files to read, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.col").write_text("the DT\ndog NN\n\na DT\ncat NN\n\n" * 4)
    (tmp_path / "text").write_text("the dog\na cat\n" * 10)
    (tmp_path / "patterns").write_text("U:w=%x[0,0]\n")
    (tmp_path / "settings.toml").write_text("order = 2\n")
    (tmp_path / "themes" / "x").mkdir(parents=True)
    (tmp_path / "themes" / "x" / "1.txt").write_text("a document\n")
    assert spinney("lm", "fit", "text", "--model", "model", "--order", "2", "--quiet")[0] == 0
    os.link("text", "hard-link")
    os.symlink("text", "link")
    return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("tag fit a.col --preset pos --model a.col", "--model a.col would overwrite an input file"),
        ("tag fit a.col --patterns patterns --model patterns", "--model patterns"),
        ("tag fit a.col --preset pos --classes c=text --model text", "--model text"),
        ("tag path a.col --preset pos --report a.col", "--report a.col"),
        ("tag path a.col --preset pos --dev a.col --model new --report new", "--model and --report"),
        ("tag import a.col --model a.col", "--model a.col"),
        ("lm fit text --model text", "--model text"),
        ("lm fit text --model ./text", "--model ./text"),
        ("lm fit link --model text", "--model text"),
        ("lm fit text --model hard-link", "--model hard-link"),
        ("lm fit text --config settings.toml --model settings.toml", "--model settings.toml"),
        ("lm apply model text -o model", "--output model"),
        ("lm apply model text -o text", "--output text"),
        ("lm export model model", "OUTPUT model"),
        ("lm mix model model --dev text --model model", "--model model"),
        ("lm init-config --from model -o model", "--output model"),
        ("classes fit text --model text", "--model text"),
        ("classes fit text --method hmm --checkpoint text --model new", "--checkpoint text"),
        ("classify fit themes --model themes/x/1.txt", "--model themes/x/1.txt"),
        ("classify path themes --report themes/x/1.txt", "--report themes/x/1.txt"),
        ("report model --data text -o text", "--output text"),
        ("report model -o model", "--output model"),
        ("lm fit text --model -", "standard output"),
    ],
)
def test_an_output_that_is_an_input_is_refused(inputs, refused, command, told):
    assert told in refused(*command.split())
    assert {path: path.read_bytes() for path in inputs} == inputs
    assert not os.path.exists("-")


def test_a_model_may_replace_an_older_one_in_a_folder_of_documents(inputs, spinney):
    for _ in range(2):
        code, _, err = spinney(
            "lm", "fit", "themes", "--model", "themes/lm.spinney", "--order", "1", "--quiet"
        )
        assert code == 0, err


def test_an_input_that_is_the_standard_output_is_refused(inputs):
    command = [sys.executable, "-m", "spinney", "lm", "apply", "model", "text"]
    with open("text", "a") as text:
        run = subprocess.run(command, stdout=text, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in inputs} == inputs
