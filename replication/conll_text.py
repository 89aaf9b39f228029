"""Text, a list of names and patterns for taggers of phrases and names, as files that ``spinney`` takes.

    python replication/conll_text.py FOLDER

writes what the commands of docs/tagging.md, "Speed and quality", are given: ``news.txt``, ``lists.paths``,
``chunk.tpl`` and the data of CoNLL-2000 as ``train.txt`` and ``test.txt``. The data sets are looked for under
SPINNEY_DATA. No text of a test set is in ``news.txt``.
"""

from __future__ import annotations

import csv
import re
import sys
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from sokolovska_common import data_folder

from spinney.corpus import open_text, tokenized_sentences
from spinney.errors import InputError
from spinney.files import replacing
from spinney.tagging.columns import read_all
from spinney.tagging.presets import PRESETS, preset

#: The lines of the Penn Treebank text that come before its last section, the test set of CoNLL-2000.
BEFORE_TEST = 40_056
#: The lexicographers' files of WordNet that proper nouns of a list are in.
_KINDS = {"15": "place", "18": "person", "14": "group"}
#: The lists, as bits of a path: presets look at the first 4, 6 and 10 of them.
_LISTS = (
    "place", "person", "group", "first name", "adjective", "other",
    "in place", "in person", "in group", "in other",
)  # fmt: skip
_ENTITIES = {"\\": " ", "#39;": "'", "&lt;": "<", "&gt;": ">", "quot;": '"'}


# -- text -----------------------------------------------------------------------------------------------------------


def news(data: Path, phrases: Path) -> Iterator[list[str]]:
    """Sentences of news, fiction and both training sets (``phrases``: that of CoNLL-2000): 4.35 M tokens."""
    for story in _stories(data / "reuters_aptemod" / "reuters.tar.xz"):
        title, _, body = story.replace("&lt;", "<").partition("\n")
        yield from tokenized_sentences(title)
        yield from tokenized_sentences(" ".join(body.split()))
    for text in _zipped(data / "nltk" / "brown.zip", r"brown/c[a-r]\d\d"):
        for line in text.split("\n"):
            yield [token.rpartition("/")[0] for token in line.split()]
    with open_text(data / "ptb_lm" / "ptb.train.txt.xz") as file:
        yield from [line.split() for line in file][:BEFORE_TEST]
    for path in (phrases, data / "conll2003" / "eng.train.xz"):
        columns = read_all(path)
        words = columns.strings(0)
        for start, stop in zip(columns.offsets[:-1], columns.offsets[1:]):
            yield words[start:stop]
    with open_text(data / "ag_news_testonly" / "test.csv.xz") as file:
        for _, *texts in csv.reader(file):
            for text in texts:
                for entity, character in _ENTITIES.items():
                    text = text.replace(entity, character)
                yield from tokenized_sentences(text)
    for text in _zipped(data / "nltk" / "ieer.zip", r"ieer/(APW|NYT)_\d+"):
        for paragraph in re.split(r"\n\s*\n", re.sub(r"<[^>]*>", " ", text)):
            yield from tokenized_sentences(" ".join(paragraph.split()))


def _stories(archive: Path) -> Iterator[str]:
    with tarfile.open(archive) as files:
        for member in files:
            if member.isfile() and re.fullmatch(r"\d+", member.name.rpartition("/")[2]):
                file = files.extractfile(member)
                assert file is not None
                yield file.read().decode("latin-1")


def _zipped(archive: Path, names: str) -> Iterator[str]:
    with zipfile.ZipFile(archive) as files:
        for name in files.namelist():
            if re.fullmatch(names, name):
                yield files.read(name).decode("latin-1")


# -- lists ----------------------------------------------------------------------------------------------------------


def listed(data: Path) -> dict[str, set[str]]:
    """The lists that a capitalised word is on: proper nouns of WordNet, whole or a part of one, and first names."""
    found: dict[str, set[str]] = defaultdict(set)
    with tarfile.open(data / "wordnet" / "wordnet-3.0-dict.tar.xz") as files:
        for member in files:
            part = re.search(r"/data\.(noun|adj)$", f"/{member.name}")
            file = files.extractfile(member) if part else None
            for line in file.read().decode().split("\n") if file else ():
                if line and not line.startswith(" "):
                    _note_synset(line.split(" "), part is not None and part[1] == "adj", found)
    for text in _zipped(data / "nltk" / "names.zip", r".*/(fe)?male\.txt"):
        for name in filter(None, map(str.strip, text.split("\n"))):
            found[name].add("first name")
    return found


def _note_synset(fields: list[str], adjective: bool, found: dict[str, set[str]]) -> None:
    """One line of a data file: offset, file of the lexicographer, part of speech, number of words, words, …"""
    kind = "adjective" if adjective else _KINDS.get(fields[1], "other")
    for lemma in fields[4 : 4 + 2 * int(fields[3], 16) : 2]:
        words = re.sub(r"\(\w+\)$", "", lemma).split("_")
        if len(words) == 1 or not adjective:
            for word in words:
                if word[:1].isupper():
                    found[word].add(kind if len(words) == 1 else f"in {kind}")


def paths(found: dict[str, set[str]]) -> Iterator[str]:
    """A Brown paths file whose classes are sets of lists; words also stand there in capitals, as in headlines."""
    forms: dict[str, set[str]] = defaultdict(set)
    for word, lists in found.items():
        for form in (word, word.upper()):
            forms[form] |= lists
    for form in sorted(forms):
        bits = "".join("01"[name in forms[form]] for name in _LISTS)
        yield f"{bits}\t{form}\t1\n"


def main() -> None:
    """Write the files."""
    if len(sys.argv) != 2:
        raise SystemExit((__doc__ or "").split("\n\n")[1].strip())
    try:
        folder, data = Path(sys.argv[1]), data_folder()
    except InputError as error:
        raise SystemExit(str(error)) from None
    folder.mkdir(parents=True, exist_ok=True)

    def write(name: str, lines: Iterator[str]) -> None:
        with replacing(folder / name) as file:
            file.writelines(line.encode() for line in lines)

    for part in ("train", "test"):
        write(f"{part}.txt", _zipped(data / "nltk" / "conll2000.zip", rf"conll2000/{part}\.txt"))
    write("news.txt", (" ".join(words) + "\n" for words in news(data, folder / "train.txt") if words))
    write("lists.paths", paths(listed(data)))
    form = [
        line for line in PRESETS["pos"].split("\n") if re.match(r"U((prefix|suffix)\d|shape|flags):", line)
    ]
    write("chunk.tpl", iter([preset("chunk", {"news": "paths"}), "\n".join(form) + "\n"]))


if __name__ == "__main__":
    main()
