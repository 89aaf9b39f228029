"""What the documentation names exists: modules and their members, commands and their options, scripts and files."""

import importlib
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from spinney.cli.tasks import TASKS, every_verb
from spinney.cli.verbs import Command, names_of
from spinney.errors import SettingError
from spinney.settings import settings_of

ROOT = Path(__file__).parent.parent
BUILT = {"_build", "generated"}  # of Sphinx
FOREIGN = {
    "coming-from.md"
}  # has options of other programs in its prose and in the first cells of its tables
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if not BUILT & set(page.relative_to(ROOT).parts)),
]

FENCED = re.compile(r"^( *)(```+|~~~+)(\w*)[^\n]*\n(.*?)^\1\2 *$", re.M | re.S)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
NAME = re.compile(r"(?<![\w./~-])~?(spinney(?:\.[A-Za-z_]\w*)+)(?![\w/-])")
FILE = re.compile(r"(?<![\w./-])((?:benchmarks|docs|replication|src|tests)/[\w./-]*\w\.\w+)(?!\w)")
PLACEHOLDER = re.compile(r"[A-Z]+|…|\.\.\.")
UNREAD = re.compile(r"[A-Z…·/λρσ]|^c[12]$")  # values that stand for others: FILE, 2C, 1/C, ρ₁, c1
CONTINUED = re.compile(r"\\\n[> ]*")
SHELL = re.compile(r"\s*(?:\\?\||&&|;|<<|\n)\s*(?:[>$] )?")


def _spans(page):
    """The code spans of the page's prose."""
    return _spans_of(FENCED.sub("", page.read_text(encoding="utf-8")))


def _spans_of(prose):
    return [" ".join(span.split()) for _, span in SPAN.findall(prose)]


def _last_cells(page):
    """The last cell of each row of the page's tables."""
    rows = re.findall(r"^\|.*\|$", page.read_text(encoding="utf-8"), re.M)
    return "\n".join(re.split(r"(?<!\\)\|", row)[-2] for row in rows)


def _commands(page):
    """What might be typed: the words of code spans, of lines in console blocks and of our commands elsewhere."""
    text = page.read_text(encoding="utf-8")
    for _, _, language, block in FENCED.findall(text):
        if language in ("console", "text"):
            yield from (words for words in _split(block) if language == "console" or words[0] == "spinney")
    for line in re.findall(r"^    (spinney .*?)(?:  +#.*)?$", FENCED.sub("", text), re.M):
        yield from _split(line)
    ours = _spans_of(_last_cells(page)) if page.name in FOREIGN else _spans(page)
    for span in [*ours, *(span for span in _spans(page) if span.startswith("spinney "))]:
        yield from _split(span)


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
        if path in every_verb():
            return _refused(path, rest)
        return _unknown(
            rest, set().union(*(known for name, known in _tree().items() if name[: len(path)] == path))
        )
    if first.startswith("--"):
        return _unknown(words, _all_options()) or _wrong_values(words, _every_option())
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


def _refused(path, words):
    """What a verb would not take: an option that its method does not have, or a value that an option refuses."""
    verb = every_verb()[path]
    try:
        # The configuration may name the method: then it may be any.
        command = Command(path[-1], verb, None if "--config" in words else words)
    except SettingError as error:
        return str(error)
    known = {name: [one] for one in (*verb.output, *command.settings) for name in names_of(one)}
    return _unknown(words, {*known, *_tree()[()]}) or _wrong_values(words, known)


def _wrong_values(words, known):
    """The values that no setting of that option would take; the methods of parse may be joined by +."""
    wrong = []
    for place, word in enumerate(words):
        name, given, value = word.partition("=")
        if name not in known or any(one.kind is bool for one in known[name]):
            continue
        value = value if given else " ".join(words[place + 1 : place + 2])
        if value and not value.startswith("--") and not UNREAD.search(value):
            parts = value.split("+") if name == "--method" else [value]
            wrong += [f"{name} {part}" for part in parts if not any(_takes(one, part) for one in known[name])]
    return f"no such value: {', '.join(wrong)}" if wrong else None


def _takes(setting, value):
    try:
        setting.parse(value)
    except SettingError:
        return False
    return True


@cache
def _every_option():
    """All settings that an option may belong to, by its name: those of every verb and method."""
    found = {}
    for verb in every_verb().values():
        classes = [verb.settings] if isinstance(verb.settings, type) else verb.settings.values()
        for one in (*verb.output, *(setting for cls in classes for setting in settings_of(cls))):
            for name in names_of(one):
                found.setdefault(name, []).append(one)
    found.pop("--only")  # names a study of a script in most places
    return found


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
    assert _problem(["spinney", "classes", "fit", "x", "--typed", "3"]) == "no such option: --typed"
    assert _problem(["spinney", "classes", "fit", "x", "--method", "hmm", "--typed", "3"]) is None
    assert _problem(["spinney", "classes", "fit", "--method", "brwn"]).startswith("method must be one of")
    assert _problem(["classes", "apply", "--what", "vitrbi"]) == "no such value: --what vitrbi"
    assert _problem(["--em", "sometimes"]) == "no such value: --em sometimes"
    assert _problem(["--em", "batch", "--passes", "N"]) is None
    assert _problem(["tag", "fit", "--sparsity"]) == "no such option: --sparsity"
    assert _problem(["--sparsity"]) == _problem(["apply", "--sparsity"]) == "no such option: --sparsity"
    assert _problem(["spinney", "TASK", "VERB", "--json"]) is None
    assert _problem(["python", "replication/grave.py", "--only", "nothing"]) == "no such study: nothing"


def test_the_citation_has_the_version():
    from spinney import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
