"""Command lines made from the declared settings.

``command/TASK`` only reads them: every option is parsed and checked, settings that pass are written as TOML and read
again, and the verb itself is not run. ``run/TASK`` runs them on tiny files. Whatever was asked, a command must end with
0 or with one line and 2, must leave its inputs alone, and must leave no files but those that it was told to write.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import shutil
import sys
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from running import Attempt, Harness, SilentChange

from spinney.cli import verbs
from spinney.cli.main import run
from spinney.cli.tasks import COMMANDS, TASKS
from spinney.cli.verbs import Argument, Call, Verb
from spinney.corpus.sample_treebank import elan_document, sample_treebank
from spinney.errors import SpinneyError
from spinney.files import read_model
from spinney.settings import REQUIRED, Setting, Settings, choose, settings_of, toml_lines

#: Numbers that nobody means.
ABSURD = (
    "10000000000000", "-1", "0", "nan", "inf", "-inf", "1e300", "-1e300", "1e-300", "9223372036854775807", "1e9", "2.5",
    "9" * 400, "99999999999999999999", "0x10", "1_000", "٣", " 7 ", "",
)  # fmt: skip
#: Texts that nobody means.
ODD = (
    "",
    "nonsense",
    "x" * 2000,
    "\x1b[31mred\x1b[0m",
    "naïve Ωμέγα 語",
    "-",
    "--",
    "{braces}",
    "a,b",
    "a=b",
    "%s",
    "\n",
)
#: Settings whose largest values mean long work, which is as asked.
LONG = {
    "passes", "sweeps", "max_iter", "refine", "polish", "restarts", "iterations", "trials", "points", "grammars",
    "number", "max_words", "split_passes", "power", "cv", "nbest", "zeros", "neighbours", "documents", "ngrams",
}  # fmt: skip
#: Settings that name what is written.
WRITTEN = {"checkpoint", "cache", "texts", "model", "output", "report"}


#: Settings of all commands, which need not be in every second line.
PLAIN = {"threads", "seed", "encoding", "on_error"}
#: Settings without which a verb does nothing.
NEEDED = {
    ("lm", "mix"): {"dev"}, ("lm", "fit"): {"classes"}, ("tag", "path"): {"preset", "dev"}, ("tag", "fit"): {"preset"},
    ("embed", "eval"): {"similarity"}, ("trend", "compare"): {"value"},
}  # fmt: skip


class Broken(Exception):
    """A command that did not keep its promise."""


# ------------------------------------------------------------------------------------------- command lines


def chosen(rng: np.random.Generator, values: Any) -> Any:
    """One of some values."""
    return values[int(rng.integers(len(values)))]


class Writer:
    """Writes command lines for the verbs of a task."""

    def __init__(self, task: str, files: dict[str, list[str]], out: Path, careful: bool) -> None:
        self.task, self.files, self.out, self.careful = task, files, out, careful
        self.verbs = COMMANDS if task == "others" else TASKS[task].verbs
        if careful:
            self.verbs = {
                name: verb for name, verb in self.verbs.items() if name != "serve"
            }  # it would not end

    def line(self, rng: np.random.Generator) -> tuple[list[str], Verb, list[str]]:
        """The words of a command, its verb, and the files that it may write."""
        name = chosen(rng, [*self.verbs, "fit", "fit"] if "fit" in self.verbs else [*self.verbs])
        verb = self.verbs[name]
        words = [name] if self.task == "others" else [self.task, name]
        written: list[str] = []
        settings = self.settings(rng, verb, words)
        for argument in verb.arguments:
            for value in self.argument(rng, argument):
                words.append(value)
                if argument.name in WRITTEN | {"folder"}:
                    written.append(value)
        wanted = [s for s in verb.output if s.default is None and s.name == "model" and rng.random() < 0.95]
        pool = [
            s
            for s in (*verb.output, *settings)
            if not s.hidden and not (self.careful and s.name == "compile")
        ]
        for _ in range(int(rng.integers(0, 5))):
            setting = chosen(rng, pool)
            if setting.name not in PLAIN or rng.random() < 0.2:
                wanted.append(setting)
        needed = NEEDED.get((self.task, name), ()) if self.careful and rng.random() < 0.9 else ()
        wanted += [s for s in settings if s.name in needed and s not in wanted]
        for setting in wanted:
            words += self.option(rng, setting, written)
        if self.careful:
            words += self.small(verb, settings, words)
            if name == "demo" and not any(word.startswith("--texts") for word in words):
                words.append(f"--texts={self.out / 'texts'}")  # the tour itself takes a minute
                written.append(str(self.out / "texts"))
        words += [flag for flag in ("--json", "--quiet") if rng.random() < 0.5]
        if rng.random() < 0.03:
            words += [
                f"--{chosen(rng, ('nonsense', 'lam', 'no-lowercase', 'classe', '='))}",
                chosen(rng, ODD),
            ]
        if rng.random() < 0.1:
            config = self.out / "settings.toml"
            config.write_text(self.config(rng, pool), "utf-8")
            words += ["--config", str(config)]
            written.append(str(config))
        return words, verb, written

    def settings(self, rng: np.random.Generator, verb: Verb, words: list[str]) -> list[Setting]:
        """The settings of a method, which the words then name."""
        if isinstance(verb.settings, type):
            return list(settings_of(verb.settings))
        method = chosen(rng, [*verb.settings])
        if rng.random() < 0.9:
            words += ["--method", method]
            return list(settings_of(verb.settings[method]))
        return list(settings_of(verb.settings_for()))

    def argument(self, rng: np.random.Generator, argument: Argument) -> Iterator[str]:
        """Values of an argument."""
        if argument.default is not REQUIRED and rng.random() < 0.3:
            return
        if rng.random() < 0.03:
            return
        for _ in range(int(rng.integers(1, 3)) if argument.several else 1):
            if argument.choices:
                yield chosen(rng, [*argument.choices, "nonsense"])
            elif argument.name in WRITTEN | {"folder"} and argument.name != "model":
                yield self.target(rng)
            elif argument.name in ("word", "words"):
                yield chosen(rng, ["the", "dog", *ODD])
            else:
                yield self.file(rng, argument.name)

    def option(self, rng: np.random.Generator, setting: Setting, written: list[str]) -> list[str]:
        """An option with a value, good or not."""
        flag = "--" + setting.name.replace("_", "-")
        if setting.kind is bool:
            return [flag if setting.default is False or rng.random() < 0.5 else f"--no-{flag[2:]}"]
        if setting.name in WRITTEN:
            value = self.target(rng)
            written.append(value)
        else:
            value = self.value(rng, setting)
            if setting.several and not setting.repeated and rng.random() < 0.3:
                value = f"{value},{self.value(rng, setting)}"
        return [f"{flag}={value}"]

    def value(self, rng: np.random.Generator, setting: Setting) -> str:
        """A value of a setting, as text."""
        if setting.choices and rng.random() < 0.7:
            return str(chosen(rng, setting.choices))
        if setting.kind in (int, float):
            bounds = [b.bound for b in setting.bounds]
            if self.careful and setting.name in LONG:
                bounds = bounds[:1]
            near = [b + d for b in bounds for d in (-1, 0, 1, 2, 0.5) if setting.kind is float or d != 0.5]
            good = ["1", "2", "3", "5"] if setting.kind is int else ["0.1", "0.5", "1", "2", "1e-8", "1e8"]
            if self.careful and rng.random() < 0.5:
                return chosen(rng, good)
            return chosen(rng, [chosen(rng, ABSURD), chosen(rng, good), *(f"{n}" for n in near)])
        if setting.file:
            return self.file(rng, setting.name)
        if self.careful and setting.name in self.files and rng.random() < 0.7:
            return chosen(rng, self.files[setting.name])
        return chosen(rng, [*ODD, *self.files.get(setting.name, ()), str(setting.default or "x")])

    def file(self, rng: np.random.Generator, name: str) -> str:
        """A file for an argument or a setting; it may be the wrong one, or none."""
        if rng.random() < 0.85:
            return chosen(rng, self.files.get(name) or self.files["any"])
        return chosen(rng, [*self.files["any"], *self.files["bad"], *ODD])

    def target(self, rng: np.random.Generator) -> str:
        """Where to write."""
        if rng.random() < 0.9:
            return str(self.out / chosen(rng, ("a.spinney", "b.html", "c.txt", "d.svg", "e.arpa.gz", "f")))
        return chosen(
            rng,
            ["", "-", str(self.out), str(self.out / "none" / "x"), "/proc/none", str(self.out / "é\x1b[1m")],
        )

    def config(self, rng: np.random.Generator, pool: list[Setting]) -> str:
        """A configuration file."""
        lines = []
        some = [chosen(rng, pool) for _ in range(int(rng.integers(1, 4)))]
        for setting in {setting.name: setting for setting in some}.values():
            if setting.name in WRITTEN:
                continue
            value = self.value(rng, setting)
            odd = (
                "true",
                "[]",
                "{}",
                "nan",
                "inf",
                "-1",
                "10000000000000000000000",
                "[1, 2]",
                '""',
                "1979-05-27",
                '"\\u0000"',
            )
            lines.append(
                f"{setting.name} = {chosen(rng, [json.dumps(value), json.dumps(value), chosen(rng, odd)])}"
            )
        lines += ["[" * int(rng.integers(0, 3))] * (rng.random() < 0.05)
        return "\n".join(lines) + "\n"

    def small(self, verb: Verb, settings: list[Setting], words: list[str]) -> list[str]:
        """Options that keep a fit small, where nothing was said about them."""
        given = {
            word.partition("=")[0].removeprefix("--").replace("-", "_")
            for word in words
            if word.startswith("--")
        }
        wanted = {name: value for name, value in SMALL.items() if name not in given}
        return [
            f"--{s.name.replace('_', '-')}={wanted[s.name]}"
            for s in settings
            if s.name in wanted and s.default and not s.hidden
        ]


SMALL = {
    "passes": "2", "sweeps": "2", "max_iter": "20", "threads": "1", "trials": "2", "restarts": "2", "iterations": "3",
    "states": "2", "polish": "1", "dimensions": "3", "topics": "2", "points": "3",
}  # fmt: skip


# ---------------------------------------------------------------------------------------------- the checks


@contextmanager
def captured(text: bytes = b"the dog barks\n\na cat sleeps\n") -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Standard output and error as bytes; what a command changes in this process is put back."""
    out, error = io.BytesIO(), io.BytesIO()
    before = sys.stdin, sys.stdout, sys.stderr, warnings.showwarning, dict(os.environ), os.getcwd()
    log = logging.getLogger("spinney")
    handlers, level = list(log.handlers), log.level
    sys.stdin = io.TextIOWrapper(io.BytesIO(text), "utf-8")
    sys.stdout = io.TextIOWrapper(out, "utf-8", errors="surrogateescape", write_through=True)
    sys.stderr = io.TextIOWrapper(error, "utf-8", errors="backslashreplace", write_through=True)
    try:
        with warnings.catch_warnings():
            yield out, error
    finally:
        with suppress(ValueError):
            sys.stdout.flush()
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            with suppress(ValueError, io.UnsupportedOperation):
                stream.detach()
        sys.stdin, sys.stdout, sys.stderr, warnings.showwarning, environment, folder = before
        log.handlers[:], log.level = handlers, level
        changed = {
            name for name in {*os.environ, *environment} if os.environ.get(name) != environment.get(name)
        }
        if {name for name in changed if not name.startswith("KMP_")} or os.getcwd() != folder:
            os.chdir(folder)
            raise Broken(f"the folder or the environment of the process has changed: {changed}")


def brief(words: list[str]) -> str:
    """A command line in a message."""
    return " ".join(word if len(word) < 200 else word[:200] + "…" for word in map(repr, words))


def check_told(words: list[str], code: object, out: bytes, error: bytes) -> None:
    """The exit code, and what was said."""
    told = error.decode("utf-8", "replace")
    lines = [line for line in told.split("\n") if line.startswith("spinney:")]
    if code not in (0, 2):
        raise Broken(f"exit code {code}: {brief(words)}\n{told[-2000:]}")
    if "Traceback" in told:
        raise Broken(f"a traceback: {brief(words)}\n{told[-2000:]}")
    if len(lines) != (1 if code == 2 else 0) or (code == 2 and not told.rstrip("\n").endswith(lines[0])):
        raise Broken(f"{len(lines)} lines with exit code {code}: {brief(words)}\n{told[-2000:]}")
    if code == 0 and "--json" in words and "--help" not in words:
        try:
            json.loads(out, parse_constant=_refused)
        except ValueError as wrong:
            raise Broken(f"not JSON ({wrong}): {brief(words)}\n{out[:500]!r}") from None


def _refused(text: str) -> None:
    raise ValueError(f"{text} is not a number of JSON")


def digest(folder: Path) -> str:
    """A hash over the names and contents of the files of a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found.update(str(path).encode())
        if path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()


def check_model(path: Path) -> None:
    """A model that was saved holds numbers."""
    try:
        model = read_model(path)
    except SpinneyError:
        return  # a page, an ARPA file, a table
    for name, array in model.tensors.items():
        if array.dtype.kind == "f" and array.size and np.isnan(np.min(array)):
            raise SilentChange(f"{path.name}: {name} holds NaN")


# -------------------------------------------------------------------------------------------- the harnesses


def only_read(task: str, folder: Path) -> Attempt:
    """Command lines that are parsed and checked, and not run."""
    out = folder / "out"
    out.mkdir()
    names = ["a.txt", "b.csv", "c.spinney"]
    for name in names:
        (folder / name).write_text("the dog barks\n")
    known = [str(folder / name) for name in names]
    files = {"any": known, "bad": [str(folder), str(folder / "missing")]}
    writer = Writer(task, files, out, careful=False)
    verbs.imported = _stub  # type: ignore[assignment]

    def attempt(rng: np.random.Generator) -> None:
        words, _, _ = writer.line(rng)
        with captured() as (told, error):
            code = run(words)
        check_told([word for word in words if word != "--json"], code, told.getvalue(), error.getvalue())

    return attempt


def _stub(name: str) -> Any:
    """What stands for the function of a verb: it looks at the settings that it would have got."""
    del name
    return written_and_read


def written_and_read(call: Call) -> int:
    """Settings that were taken must be the same after they were written as TOML, but for where to compute."""
    made: Settings = call.settings
    text = "\n".join(toml_lines(made.as_dict(), type(made)))
    given = {name: value for name, value in tomllib.loads(text).items() if value is not None}
    again = (
        type(made).of(given) if isinstance(call.verb.settings, type) else choose(call.verb.settings, given)
    )
    if again.lasting() != made.lasting():
        differ = [name for name, value in made.lasting().items() if value != again.lasting()[name]]
        raise SilentChange(f"{differ} of {str(made)[:2000]} are read back from TOML as {str(again)[:2000]}")
    return 0


def runs(task: str, folder: Path) -> Attempt:
    """Command lines that are run on tiny files."""
    data, out, here = folder / "data", folder / "out", folder / "here"
    for one in (data, out, here):
        one.mkdir()
    os.chdir(here)
    files = tiny_files(data)
    writer = Writer(task, files, out, careful=True)
    made: list[str] = []

    def attempt(rng: np.random.Generator) -> None:
        if not made:
            make_models(task, data, files)
            made.append(digest(data))
        try:
            words, _, written = writer.line(rng)
            with captured() as (told, error):
                code = run(words)
            check_told(words, code, told.getvalue(), error.getvalue())
            if digest(data) != made[0]:
                raise SilentChange(f"an input has changed: {brief(words)}")
            allowed = {os.path.abspath(path) for path in written} | {str(here / "report.html")}
            for path in (*out.rglob("*"), *here.rglob("*")):
                told_of = str(path) in allowed or any(
                    str(path).startswith(f"{one}/") or one.startswith(f"{path}/") for one in allowed
                )
                if not told_of or path.name.endswith(".tmp"):
                    raise Broken(f"left {path}: {brief(words)}")
                if path.is_file():
                    check_model(path)
        finally:
            empty(out, here)
            if made and digest(data) != made[0]:
                empty(data)
                files.update(tiny_files(data))
                made.clear()

    return attempt


def empty(*folders: Path) -> None:
    """Remove all that folders hold."""
    for folder in folders:
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


# ---------------------------------------------------------------------------------------------- tiny files


def tiny_files(data: Path) -> dict[str, list[str]]:
    """Files of every kind, and which of them a setting or an argument may be given."""
    rng = np.random.default_rng(0)
    nouns, verbs_, small = (
        ["dog", "cat", "bird", "fish"],
        ["barks", "sleeps", "sings", "swims"],
        ["the", "a", "every"],
    )

    def sentence() -> list[str]:
        words = [chosen(rng, small), chosen(rng, nouns), chosen(rng, verbs_)]
        return words if rng.random() < 0.7 else [*words, "and", chosen(rng, verbs_)]

    lines = [sentence() for _ in range(40)]
    text = "".join(" ".join(line) + "\n" for line in lines)
    tags = {
        **dict.fromkeys(small, "DT"),
        **dict.fromkeys(nouns, "NN"),
        **dict.fromkeys(verbs_, "VB"),
        "and": "CC",
    }
    chunks = {"DT": "O", "NN": "B-NP", "VB": "O", "CC": "O"}
    write = {
        "text.txt": text,
        "few.txt": "the dog barks\nan eel swims\n",
        "empty.txt": "",
        "labelled.csv": "text,label\n" + "".join(f"{' '.join(line)},{line[1]}\n" for line in lines),
        "two.csv": "text,label\n" + "".join(f"{' '.join(one)},{'yes' if one[1] < 'cow' else 'no'}\n" for one in lines),
        "numbers.csv": "text,label\n" + "".join(f"{' '.join(line)},{len(line[1])}\n" for line in lines),
        "large.csv": "text,label\n" + "".join(f"{' '.join(one)},{'-' * (len(one) % 2)}1e308\n" for one in lines),
        "matrix.svm": "".join(f"{1 + i % 2} 1:{i % 3} 2:{i % 5} 3:1\n" for i in range(20)),
        "tagged.col": "".join("".join(f"{w} {tags[w]} {chunks[tags[w]]}\n" for w in line) + "\n" for line in lines),
        "trees.mrg": "".join(
            f"(S (NP (DT {a}) (NN {b})) (VP (VB {c})))\n" for a, b, c in (line[:3] for line in lines)
        ),
        "story.eaf": elan_document(sample_treebank(3), ("A", "B")),
        "trees.conllu": "".join(
            f"1\t{a}\t{a}\tDET\tDT\t_\t2\tdet\t_\t_\n2\t{b}\t{b}\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n"
            f"3\t{c}\t{c}\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
            for a, b, c in (line[:3] for line in lines)
        ),
        "dated.csv": "text,time,value,label,party\n"
        + "".join(f"{' '.join(x)},{2000 + i // 8},{i % 7},{'ab'[i % 2]},{'pq'[i % 2]}\n" for i, x in enumerate(lines)),
        "classes.paths": "".join(f"{'0' if tags[w] == 'NN' else '1'}\t{w}\t5\n" for w in tags),
        "vectors.txt": f"{len(tags)} 2\n" + "".join(f"{w} {i % 3} {i % 5}\n" for i, w in enumerate(tags)),
        "pairs.csv": "word1,word2,similarity\nthe,a,9\ndog,cat,8\nthe,dog,1\n",
        "categories.csv": "word,category\ndog,noun\ncat,noun\nbarks,verb\nsings,verb\n",
        "analogies.txt": ": some\ndog barks cat sleeps\n",
        "groups.json": '{"groups": {"animals": ["dog", "cat"]}}',
        "relations.json": '{"subject": ["nsubj"]}',
        "space.json": '{"ridge-ts": {"lam": [1.0]}}',
        "patterns.txt": "U:%x[0,0]\nB\n",
        "words.txt": "the\na\ndog\n",
        "tree.nwk": "((dog,cat),(bird,fish));\n",
        "rules.txt": "S left-to-right VP\nNP right-to-left NN\n",
        "settings.toml": "seed = 3\n",
        "tiny.arpa": "\\data\\\nngram 1=4\nngram 2=2\n\n\\1-grams:\n"
        "-1\t<unk>\n-99\t<s>\t-0.5\n-0.5\t</s>\n-0.3\tdog\t-0.2\n\n"
        "\\2-grams:\n-0.1\t<s> dog\n-0.2\tdog </s>\n\n\\end\\\n",
    }  # fmt: skip
    for name, content in write.items():
        (data / name).write_text(content, "utf-8")
    for label in ("dog", "cat"):
        (data / "folder" / label).mkdir(parents=True)
        for i, line in enumerate(line for line in lines if line[1] == label):
            (data / "folder" / label / f"{i}.txt").write_text(" ".join(line))

    def named(*names: str) -> list[str]:
        return [str(data / name) for name in names]

    return {
        "any": named(*write, "folder"),
        "bad": [str(data), str(data / "missing"), "/proc/self/mem", "/dev/null", "-"],
        "similarity": named("pairs.csv"),
        "categories": named("categories.csv"),
        "analogies": named("analogies.txt"),
        "vectors": [*named("vectors.txt"), f"v={data / 'vectors.txt'}"],
        "groups": [*named("groups.json"), "sentence", "neighbours:3", "brown:2", "lda:2"],
        "relation_groups": named("relations.json"),
        "space": [*named("space.json"), "lam=0.1,1", "lam=0.01..1", "groups=lda:2|sentence"],
        "patterns": named("patterns.txt"),
        "vocabulary": named("words.txt"),
        "tree": [*named("tree.nwk"), "huffman"],
        "class_tree": named("tree.nwk"),
        "head_rules": named("rules.txt"),
        "config": named("settings.toml"),
        "classes": [*named("classes.paths"), f"c={data / 'classes.paths'}", "dog,cat"],
        "words": ["words", "form"], "upos": ["pos@*"], "columns": ["form,xpos,upos"], "raw": named("text.txt"),
        "label": ["label"], "value": ["value"], "time": ["time"], "text": ["text"], "covariates": ["party"],
        "extra": ["value"], "context": ["the dog"], "labels": ["dog=x"], "strengths": ["sentence=1"],
        "memory": ["1M", "10"], "encoding": ["utf-8", "latin-1"], "at": ["2003"], "start": ["2003"],
        "init": named("classes.paths"), "parses": named("trees.mrg"), "unlabelled": named("few.txt"),
    }  # fmt: skip


TRAIN = {
    "classes": ("text.txt", "trees.conllu"),
    "classify": ("labelled.csv", "two.csv", "numbers.csv", "large.csv", "matrix.svm", "folder"),
    "embed": ("text.txt",),
    "lm": ("text.txt",),
    "parse": ("trees.mrg", "trees.conllu"),
    "pipeline": ("trees.conllu",),
    "tag": ("tagged.col", "trees.conllu"),
    "trend": ("dated.csv",),
}
#: The models that commands of a task are given.
FITS = {
    "classes": {"brown": "classes fit text.txt --classes 4",
        "hmm": "classes fit text.txt --method hmm --classes 4 --passes 1"},
    "classify": {"linear": "classify fit two.csv --lam 0.1",
        "numbers": "classify fit numbers.csv --regression --lam 0.1"},
    "embed": {"cca": "embed fit text.txt --dimensions 3",
        "topics": "embed fit text.txt --method topics --topics 2 --stop-words 0"},
    "lm": {"mkn": "lm fit text.txt --order 3", "additive": "lm fit text.txt --method additive --order 2"},
    "parse": {"pcfg": "parse fit trees.mrg --method pcfg",
        "automata": "parse fit trees.conllu --method automata-bigram",
        "crf": "parse fit trees.conllu --method tree-crf --lam 0.1"},
    "pipeline": {"whole": "pipeline fit trees.conllu --jackknife 1 --lam 0.1"},
    "tag": {"crf": "tag fit tagged.col --preset chunk --lam 1",
        "hmm": "tag fit tagged.col --method hmm --patterns patterns.txt",
        "morph": "tag fit trees.conllu --method morph --passes 2",
        "refinement": "tag fit tagged.col --method refinement --states 2"},
    "trend": {"ridge": "trend fit dated.csv --method ridge-ts --lam 1 --alpha 1 --value value"},
}  # fmt: skip
FITS["others"] = {"lm": FITS["lm"]["additive"], "linear": FITS["classify"]["linear"]}


def make_models(task: str, data: Path, files: dict[str, list[str]]) -> None:
    """Fit the models of a task, and say where they and their training data may be used."""
    models = []
    for name, line in FITS[task].items():
        model = data / f"{name}.spinney"
        area, verb, train, *rest = line.split()
        rest = [str(data / word) if (data / word).is_file() else word for word in rest]
        with captured() as (_, error):
            code = run([area, verb, str(data / train), *rest, "--model", str(model), "-q", "--threads", "1"])
        if code:
            raise Broken(f"{line}: {error.getvalue().decode()}")
        models.append(str(model))
    train = [str(data / name) for name in TRAIN.get(task, ("text.txt", "two.csv"))]
    files |= {
        "files": [str(data / "story.eaf"), str(data / "tagged.col")],
        "model": models, "models": models, "against": models, "from": models, "vectors": [*files["vectors"], *models],
        "train": train, "data": [*train, str(data / "few.txt")], "dev": [*train, "0.2"], "parser": models,
        "arpa": [str(data / "tiny.arpa")], "init": [*files["init"], *models],
        "classes": [*files["classes"], *models],
        "unlabelled": train,
    }  # fmt: skip


HARNESSES: list[Harness] = [
    *(Harness(f"command/{task}", partial(only_read, task), share=0.3) for task in (*TASKS, "others")),
    *(Harness(f"run/{task}", partial(runs, task)) for task in (*TASKS, "others")),
]
