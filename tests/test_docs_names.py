"""What the documentation names exists: modules and their members, commands and their options, scripts and files."""

import importlib
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from spinney.cli.tasks import TASKS, every_verb
from spinney.cli.verbs import names_of

ROOT = Path(__file__).parent.parent
BUILT = {"_build", "generated"}  # of Sphinx
FOREIGN = {"coming-from.md"}  # has options of other programs in its spans
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if not BUILT & set(page.relative_to(ROOT).parts)),
]

FENCED = re.compile(r"^( *)(```+|~~~+)(\w*)[^\n]*\n(.*?)^\1\2 *$", re.M | re.S)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
NAME = re.compile(r"(?<![\w./~-])~?(spinney(?:\.[A-Za-z_]\w*)+)(?![\w/-])")
FILE = re.compile(r"(?<![\w./-])((?:benchmarks|docs|replication|src|tests)/[\w./-]*\w\.\w+)(?!\w)")
PLACEHOLDER = re.compile(r"[A-Z]+|…|\.\.\.")
CONTINUED = re.compile(r"\\\n[> ]*")
SHELL = re.compile(r"\s*(?:\\?\||&&|;|<<|\n)\s*(?:[>$] )?")


def _spans(page):
    """The code spans of the page's prose."""
    prose = FENCED.sub("", page.read_text(encoding="utf-8"))
    return [" ".join(span.split()) for _, span in SPAN.findall(prose)]


def _commands(page):
    """What might be typed: the words of code spans, of lines in console blocks and of our commands elsewhere."""
    text = page.read_text(encoding="utf-8")
    for _, _, language, block in FENCED.findall(text):
        if language in ("console", "text"):
            yield from (words for words in _split(block) if language == "console" or words[0] == "spinney")
    for line in re.findall(r"^    (spinney .*?)(?:  +#.*)?$", FENCED.sub("", text), re.M):
        yield from _split(line)
    for span in _spans(page):
        yield from (words for words in _split(span) if page.name not in FOREIGN or words[0] == "spinney")


def _split(text):
    commands = (_words(command.removeprefix("$ ")) for command in SHELL.split(CONTINUED.sub(" ", text)))
    return [words for words in commands if words]


def _words(command):
    try:
        return shlex.split(command, comments=True)
    except ValueError:  # prose with an apostrophe, part of a script
        return command.split()


def _options(words):
    return [word.partition("=")[0] for word in words if re.fullmatch(r"--[a-z][\w-]*(=.*)?", word)]


@cache
def _tree():
    """The options of every command, by its words: ``("tag", "fit") -> {"--model", …}``, of all methods together."""
    every = {"--help", "--json", "--quiet", "--config", "--version"}
    found = {(): every} | {(task,): set(every) for task in TASKS}
    for words, verb in every_verb().items():
        found[words] = {name for s in (*verb.output, *verb.every_setting()) for name in names_of(s)} | every
    return found


def _script_options(script):
    sources = (
        [script, ROOT / "replication" / "studies.py"] if script.parent.name == "replication" else [script]
    )
    return set(re.findall(r'"(--[a-z][\w-]*)"', "".join(source.read_text() for source in sources)))


@cache
def _all_options():
    scripts = [*(ROOT / "replication").glob("*.py"), ROOT / "benchmarks" / "__main__.py"]
    return set().union(*_tree().values(), *map(_script_options, scripts))


def _problem(words):
    """What is wrong with a command of ours, or None."""
    if tuple(words[:2]) in _tree():  # `tag fit --lam 1`
        words = ["spinney", *words]
    first, *rest = words
    if first == "spinney":
        path = ()
        while rest and (*path, rest[0]) in _tree():
            path = (*path, rest.pop(0))
        is_group = any(name and name[:-1] == path for name in _tree())
        if is_group and rest and not rest[0].startswith("-") and not PLACEHOLDER.fullmatch(rest[0]):
            return f"no such command: {rest[0]}"
        return _unknown(
            rest, set().union(*(known for name, known in _tree().items() if name[: len(path)] == path))
        )
    if first.startswith("--"):
        return _unknown(words, _all_options())
    verb = set().union(*(options for path, options in _tree().items() if path and path[-1] == first))
    if verb:
        return _unknown(rest, verb)
    if first in ("python", "python3") and rest and re.match(r"(replication|benchmarks)/", rest[0]):
        return _script_problem(ROOT / rest[0], rest[1:])
    if first in ("python", "python3") and rest[:2] == ["-m", "benchmarks"]:
        missing = [
            name for name in rest[2:] if name.islower() and not (ROOT / f"benchmarks/{name}.py").exists()
        ]
        return f"no such benchmark: {missing}" if missing else None
    return None


def _unknown(words, known):
    missing = [option for option in _options(words) if option not in known]
    return f"no such option: {', '.join(missing)}" if missing else None


def _script_problem(script, words):
    if not script.exists():
        return "no such script"
    if "--only" in words:
        source = "".join(part.read_text() for part in script.parent.glob(f"{script.stem}*.py"))
        for name in words[words.index("--only") + 1 :]:
            if name.startswith("-"):
                break
            if name.islower() and f'"{name}"' not in source:
                return f"no such study: {name}"
    return _unknown(words, _script_options(script))


def _exists(name):
    """Whether a dotted name is a module, or can be had from one; of classes, fields and what their text tells of."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError as error:
            if not name.startswith(error.name or ""):
                raise
            continue
        break
    for part in parts[length:]:
        if not hasattr(found, part):
            return isinstance(found, type) and _tells_of(found, part)
        found = getattr(found, part)
    return True


def _tells_of(kind, attribute):
    annotated = {name for base in kind.__mro__ for name in getattr(base, "__annotations__", {})}
    return attribute in annotated or re.search(rf"\b{attribute}\b", kind.__doc__ or "") is not None


def _name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_dotted_names(page):
    names = {name for span in _spans(page) for name in NAME.findall(span)}
    assert not sorted(name for name in names if not _exists(name))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_commands_and_options(page):
    problems = {" ".join(words): _problem(words) for words in _commands(page)}
    assert not {command: problem for command, problem in problems.items() if problem}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_files(page):
    files = {file for span in _spans(page) for file in FILE.findall(span)}
    assert not sorted(file for file in files if not (ROOT / file).exists())


def test_what_is_missing_is_found():
    assert all(map(_exists, ["spinney.tagging.Tagger.fit", "spinney.optim.Solution.violation"]))
    assert not any(map(_exists, ["spinney.tagging.Tagger.fly", "spinney.nothing"]))
    assert _problem(["spinney", "tag", "fit", "x", "--lam=1"]) is None
    assert _problem(["spinney", "tag", "fit", "x", "--sparsity", "1"]) == "no such option: --sparsity"
    assert _problem(["spinney", "tag", "learn"]) == "no such command: learn"
    assert _problem(["tag", "fit", "--sparsity"]) == "no such option: --sparsity"
    assert _problem(["--sparsity"]) == _problem(["apply", "--sparsity"]) == "no such option: --sparsity"
    assert _problem(["spinney", "TASK", "VERB", "--json"]) is None
    assert _problem(["python", "replication/grave.py", "--only", "nothing"]) == "no such study: nothing"


def test_the_citation_has_the_version():
    from spinney import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
