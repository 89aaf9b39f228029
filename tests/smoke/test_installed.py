"""What is installed is whole: run from anywhere, against whichever Spinney Python finds (`make smoke`: the wheel)."""

import json
import pkgutil
import re
import subprocess
import sys
from importlib import import_module, metadata, resources
from importlib.util import find_spec
from pathlib import Path

import pytest

import spinney
from spinney.cli.main import run
from spinney.corpus import sample_documents, sample_sentences
from spinney.corpus.code_trees import sample_trees


def _public(package):
    for _, name, is_package in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if not name.rpartition(".")[2].startswith("_"):
            yield name
            if is_package:
                yield from _public(import_module(name))


def test_every_public_module_can_be_imported():
    names = list(_public(spinney))
    assert {"spinney.optim.solvers.admm", "spinney.tagging", "spinney.cli.doctor"} <= set(names)
    for name in names:
        if name.startswith("spinney.inference.gpu") and find_spec("torch") is None:
            continue  # an extra, which no other module needs
        module = import_module(name)
        for public in getattr(module, "__all__", []):
            assert hasattr(module, public), f"{name}.{public}"


def test_to_import_gives_no_warning():
    subprocess.run([sys.executable, "-W", "error", "-c", "import spinney, spinney.cli.main"], check=True)


def _script(*arguments):
    spinney_script = Path(sys.executable).with_name("spinney")
    return subprocess.run([spinney_script, *arguments], capture_output=True, text=True, timeout=120)


def test_the_version_is_told_in_one_way():
    assert re.fullmatch(r"\d+\.\d+\.\d+\w*", spinney.__version__)
    assert _script("--version").stdout == f"spinney {spinney.__version__}\n"
    assert metadata.version("spinney") == spinney.__version__


def test_the_doctor_finds_nothing_broken():
    done = _script("doctor", "--json", "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(done.stdout)
    assert facts["versions"]["spinney"] == spinney.__version__
    assert not [problem for problem in facts["problems"] if problem["broken"]]


def test_the_metadata():
    about = metadata.metadata("spinney")
    assert about["Name"] == "spinney"
    assert about["License-Expression"] == "BSD-3-Clause"
    assert about["Requires-Python"] == ">=3.11"
    (script,) = metadata.entry_points(group="console_scripts", name="spinney")
    assert script.value == "spinney.__main__:main"


def test_files_that_are_not_python():
    root = resources.files("spinney")
    for name in ("py.typed", "report/page.css", "report/page.js"):
        assert root.joinpath(name).is_file(), name


def test_the_wheel_holds_the_package_alone():
    files = [str(file) for file in metadata.files("spinney") or []]
    if not any(file == "spinney/__init__.py" for file in files):
        pytest.skip("installed from a source tree, not from a wheel")
    outside = [
        file
        for file in files
        if not re.match(r"spinney/|spinney-[\w.]+\.dist-info/|\.\./.*bin/spinney", file)
    ]
    assert outside == []
    kinds = {Path(file).suffix for file in files if file.startswith("spinney/")}
    assert kinds <= {".py", ".pyc", ".nbi", ".nbc", ".typed", ".css", ".js"}
    assert not [file for file in files if "test" in Path(file).parts]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A little text in every format."""
    folder = tmp_path_factory.mktemp("texts")
    sentences = [" ".join(words) for words in sample_sentences()[:200]]
    (folder / "text.txt").write_text("\n".join(sentences), "utf-8")
    (folder / "few.txt").write_text("\n".join(sentences[:5]), "utf-8")
    trees = sample_trees(["textwrap"])
    (folder / "code.mrg").write_text("\n".join(map(str, trees)), "utf-8")
    (folder / "code.txt").write_text(" ".join(trees[0].leaves()), "utf-8")
    labelled = ("\n".join(f"{word} {word.isalpha()}" for word in tree.leaves()) for tree in trees)
    (folder / "roles.col").write_text("\n\n".join(labelled), "utf-8")
    rows = [
        f'"{re.sub(r"[^a-z ]", " ", d.text[:300])}",{d.label},{2000 + i % 3}'
        for i, d in enumerate(sample_documents())
    ]
    (folder / "documents.csv").write_text("\n".join(["text,label,time", *rows]), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("fit", "data"),
    [
        ("tag fit roles.col --preset pos --max-iter 5", "roles.col"),
        ("classify fit documents.csv --lam-ratio 0.5", "documents.csv"),
        ("classes fit text.txt --classes 4", "few.txt"),
        ("embed fit text.txt --dimensions 4 --min-count 2", "few.txt"),
        ("lm fit text.txt --order 3", "few.txt"),
        ("parse fit code.mrg --method pcfg", "code.txt"),
        ("trend fit documents.csv --method ridge-ts --max-features 20", None),
    ],
    ids=lambda value: value.split()[0] if value and " " in value else "",
)
def test_each_task_fits_applies_and_reports(fit, data, texts, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(texts)
    task, model = fit.split()[0], str(tmp_path / "model.spinney")
    assert run([*fit.split(), "--model", model, "--quiet"]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert run([task, "inspect", model, "--json", "--quiet"]) == 0, capsys.readouterr().err
    assert json.loads(capsys.readouterr().out)
    if data is not None:
        assert run([task, "apply", model, data, "--quiet"]) == 0, capsys.readouterr().err
        assert capsys.readouterr().out.strip()
    page = tmp_path / "page.html"
    assert run(["report", model, "--output", str(page), "--quiet"]) == 0, capsys.readouterr().err
    assert page.read_text("utf-8").lower().startswith("<!doctype html>")
