"""The texts that come with every Python, as files in every format that the commands read."""

from __future__ import annotations

import csv
import io
import keyword
import os
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final, TypeVar

from spinney.corpus.brackets import Tree
from spinney.corpus.code_trees import MODULES as TREE_MODULES
from spinney.corpus.code_trees import code_trees, module_source, sample_trees
from spinney.corpus.compressed import explained
from spinney.corpus.opening import writing
from spinney.corpus.sample import sample_documents, sample_sentences
from spinney.corpus.sample_treebank import elan_document, sample_raw, sample_treebank
from spinney.errors import InputError

_Item = TypeVar("_Item")

#: Modules in plain Python: source to learn from without trees or labels.
MODULES: Final = (
    "abc", "aifc", "argparse", "ast", "base64", "bdb", "bisect", "calendar", "cgi", "cmd", "code", "codecs", "colorsys",
    "configparser", "contextlib", "copy", "csv", "dataclasses", "datetime", "difflib", "dis", "doctest", "enum",
    "filecmp", "fileinput", "fnmatch", "fractions", "ftplib", "functools", "getopt", "gettext", "glob", "gzip",
    "heapq", "hmac", "imaplib", "inspect", "ipaddress", "linecache", "locale", "lzma", "mailbox", "mimetypes",
    "netrc", "numbers", "optparse", "os", "pathlib", "pdb", "pickle", "pickletools", "platform", "plistlib", "poplib",
    "pprint", "profile", "pstats", "pydoc", "queue", "quopri", "random", "reprlib", "sched", "selectors", "shelve",
    "shlex", "shutil", "smtplib", "socket", "socketserver", "ssl", "statistics", "string", "subprocess", "symtable",
    "tabnanny", "tarfile", "tempfile", "textwrap", "threading", "timeit", "tokenize", "trace", "traceback",
    "types", "typing", "uuid", "warnings", "weakref", "webbrowser", "zipfile",
)  # fmt: skip

#: Modules to be recognised by a few of their statements.
TOLD_APART: Final = ("imaplib", "mailbox", "pickle", "subprocess", "tarfile", "threading")
#: Those of ``code.txt``: none of them has trees, roles or documents in the other files.
UNLABELLED: Final = tuple(name for name in MODULES if name not in (*TREE_MODULES, *TOLD_APART))

#: The release dates of the Python versions that the manual mentions.
_RELEASED: Final = {
    "2.1": "2001-04-17", "2.2": "2001-12-21", "2.3": "2003-07-29", "2.4": "2004-11-30", "2.5": "2006-09-19",
    "2.6": "2008-10-01", "2.7": "2010-07-03", "3.0": "2008-12-03", "3.1": "2009-06-27", "3.2": "2011-02-20",
    "3.3": "2012-09-29", "3.4": "2014-03-16", "3.5": "2015-09-13", "3.6": "2016-12-23", "3.7": "2018-06-27",
    "3.8": "2019-10-14", "3.9": "2020-10-05", "3.10": "2021-10-04", "3.11": "2022-10-24", "3.12": "2023-10-02",
    "3.13": "2024-10-07", "3.14": "2025-10-07",
}  # fmt: skip
_VERSION = re.compile(r"version (\d\.\d+)")
_HELD_OUT = 5  # every fifth is for tests
_CALLED = 40  # minimum number of calls of a method for it to be one of the labels
_STATEMENTS = 12  # of a module in a document
_DOCUMENTS = 8  # of a module to learn from


def write_sample_files(folder: str) -> list[str]:
    """Write the sample texts into a folder that is new or contains nothing else; return the names of the files.

    ==========================================  ====================================================================
    ``manual/THEME/TOPIC.txt``                  Python's manual: documents, a folder for each of four themes
    ``manual.txt``                              its sentences, one per line, as tokens
    ``code.txt``                                source code of Python's library, one statement per line, as tokens, from
                                                modules that none of the files below use
    ``code-train.col``, ``code-test.col``       the words of statements, without punctuation, each with its role
    ``code-train.mrg``, ``code-test.mrg``       statements as bracketed trees
    ``calls-train.csv``, ``calls-test.csv``     statements that call a method, without its name, and that name
    ``modules-train/MODULE/01.txt``             twelve statements of a module, as tokens, in a folder for each of six
    ``modules-dev``, ``modules-test``           more of them
    ``notes/2014-03-16-TOPIC-1.txt``            what the manual says about new versions, with their release dates
    ``invented-train.conllu``, ``…-test…``      a small treebank of an invented language
    ``invented.txt``                            raw text of it
    ``invented-elan/morning.eaf``, ``evening…`` more of it as ELAN files, annotated without trees
    ==========================================  ====================================================================

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_sample_files(os.path.join(place, "texts"))
    ['calls-test.csv', 'calls-train.csv', 'code-test.col', 'code-test.mrg', 'code-train.col', 'code-train.mrg',
    'code.txt', 'invented-elan', 'invented-test.conllu', 'invented-train.conllu', 'invented.txt', 'manual',
    'manual.txt', 'modules-dev', 'modules-test', 'modules-train', 'notes']
    """
    files = _sample_files()
    names = sorted({name.partition("/")[0] for name in files})
    there = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    ours = [name for name in there if not name.startswith(".")]
    if ours and ours != names:
        _check_half_made(folder, ours, files)
    for name, text in files.items():
        path = os.path.join(folder, *name.split("/"))
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        except OSError as error:
            raise explained(error, folder) from None
        with writing(path) as file:
            file.write(text)
    return names


def _check_half_made(folder: str, there: list[str], files: Mapping[str, str]) -> None:
    """Refuse a folder with anything but some of the files: one that was half made, on a full disk, is completed."""
    known = {name.partition("/")[0] for name in files}
    for name in sorted(there, key=lambda name: name in known):
        path = os.path.join(folder, name)
        if name not in known or (os.path.isfile(path) and not _holds(path, files.get(name))):
            raise InputError(f"{name} exists already", path=folder, remedy="give the name of a new folder")


def _holds(path: str, text: str | None) -> bool:
    with open(path, "rb") as file:
        return text is not None and file.read() == text.encode()


@cache  # a session that writes them repeatedly, as tests do, waits only once
def _sample_files() -> dict[str, str]:
    """What is in each file."""
    trees = sample_trees()
    files = {f"manual/{d.label}/{d.id}.txt": d.text + "\n" for d in sample_documents()}
    files["manual.txt"] = _lines(map(" ".join, sample_sentences()))
    source = {name: list(code_sentences(name)) for name in MODULES}
    files["code.txt"] = _lines(" ".join(s) for name in UNLABELLED for s in source[name])
    spoken = [rows for tree in trees if len(rows := word_roles(tree)) > 1]
    calls = method_calls(chain.from_iterable(source.values()), least=_CALLED)
    for part, some in (("train", _training), ("test", _held_out)):
        files[f"code-{part}.col"] = "\n".join(_lines(map(" ".join, rows)) for rows in some(spoken))
        files[f"code-{part}.mrg"] = _lines(map(str, some(trees)))
        files[f"calls-{part}.csv"] = _table(some(calls))
    files |= {f"modules-{name}.txt": text for name, text in _module_documents()}
    for part, bank in (("train", sample_treebank(60)), ("test", sample_treebank(30, 1))):
        files[f"invented-{part}.conllu"] = "".join(f"{sentence}\n\n" for sentence in bank)
    files["invented.txt"] = sample_raw(200, 2)
    files["invented-elan/morning.eaf"] = elan_document(sample_treebank(40, 3))
    files["invented-elan/evening.eaf"] = elan_document(sample_treebank(40, 4), ("A", "B"))
    return files | {f"notes/{name}.txt": text + "\n" for name, text in _notes()}


def code_sentences(module: str) -> Iterator[list[str]]:
    """The statements of a module of Python's library as tokens; the contents of strings are left out.

    Examples
    --------
    >>> next(code_sentences("textwrap"))
    ['import', 're']
    """
    sentence: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(module_source(module)).readline):
        if token.type == tokenize.NEWLINE:
            if len(sentence) > 1:
                yield sentence
            sentence = []
        elif token.type == tokenize.STRING:
            sentence.append("'...'")
        elif token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER):
            sentence.append(token.string)


def word_roles(tree: Tree) -> list[tuple[str, str]]:
    """The words of a statement, without punctuation, strings and numbers, each with its role.

    Examples
    --------
    >>> from spinney.corpus.code_trees import code_trees
    >>> for tree in code_trees("return self.show(name, indent=width)"):
    ...     print(*(f"{word}/{role}" for word, role in word_roles(tree)))
    return/keyword self/variable show/method name/variable indent/option width/variable
    """
    found: list[tuple[str, str]] = []
    stack: list[tuple[Tree, str, bool]] = [
        (tree, "", False)
    ]  # with the label above, and whether it is called
    while stack:
        node, above, called = stack.pop()
        if node.word is not None:
            role = _role(node, above, called)
            if role:
                found.append((node.word, role))
            continue
        for i, child in reversed(list(enumerate(node.children))):
            inside = called if child.word is not None else node.label == "Call" and i == 0
            stack.append((child, node.label, inside))
    return found


def _role(leaf: Tree, above: str, called: bool) -> str | None:
    if leaf.label == "KEYWORD":
        return "keyword"
    if leaf.label != "NAME" or leaf.word is None or keyword.iskeyword(leaf.word):
        return None
    if above == "Attribute":
        return "method" if called else "attribute"
    if above == "keyword":
        return "option"
    return "function" if called else "variable"


def method_calls(statements: Iterable[Sequence[str]], *, least: int = 1) -> list[tuple[str, str]]:
    """The names in statements that call a method, without the name of the (last) method, and that name as the label.

    Methods that are called less than ``least`` times are skipped.

    Examples
    --------
    >>> method_calls([["names", ".", "append", "(", "name", ")"], ["return", "names"]])
    [('names name', 'append')]
    """
    found = []
    for tokens in statements:
        called = [i for i in range(1, len(tokens) - 1) if tokens[i - 1] == "." and tokens[i + 1] == "("]
        rest = [token for i, token in enumerate(tokens) if token.isidentifier() and i not in called[-1:]]
        if called and rest:
            found.append((" ".join(rest), tokens[called[-1]]))
    times = Counter(name for _, name in found)
    return [(rest, name) for rest, name in found if times[name] >= least]


def _module_documents() -> Iterator[tuple[str, str]]:
    """Some statements of a module each, as tokens; those to learn from lie as far apart as they can."""
    for module in TOLD_APART:
        words = [tree.leaves() for tree in code_trees(module_source(module))]
        lines = [" ".join(map(_sign, some)) for some in words if 4 <= len(some) <= 25]
        n = len(lines) // _STATEMENTS
        training = {i * n // _DOCUMENTS for i in range(_DOCUMENTS)}
        for i in range(n):
            part = "train" if i in training else ("dev", "test")[i % 2]
            yield f"{part}/{module}/{i + 1:02}", _lines(lines[i * _STATEMENTS : (i + 1) * _STATEMENTS])


def _sign(word: str) -> str:
    return {"-LRB-": "(", "-RRB-": ")"}.get(word, word)


def _notes() -> Iterator[tuple[str, str]]:
    """Paragraphs of the manual that mention a version, named by its release date."""
    for document in sample_documents():
        number = 0
        for paragraph in document.text.split("\n\n"):
            version = _VERSION.search(paragraph)
            if version and version[1] in _RELEASED:
                number += 1
                yield f"{_RELEASED[version[1]]}-{document.id}-{number}", paragraph


def _training(items: Sequence[_Item]) -> list[_Item]:
    return [item for i, item in enumerate(items) if i % _HELD_OUT != _HELD_OUT - 1]


def _held_out(items: Sequence[_Item]) -> list[_Item]:
    return list(items[_HELD_OUT - 1 :: _HELD_OUT])


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _table(rows: Iterable[tuple[str, str]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([("text", "label"), *rows])
    return file.getvalue()
