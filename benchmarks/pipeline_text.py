"""Raw text of another kind for the benchmark ``pipeline_more``: LibreOffice's help pages, menus and messages.

    apt-get download libreoffice-help-{el,hu,vi} libreoffice-l10n-{af,cy,ta,ug}     # Debian, into the current folder
    python -m benchmarks.pipeline_text *.deb

writes a file ``raw/TREEBANK.txt`` for each package into the work folder of ``pipeline``: paragraphs of help pages and
messages of at least three words, each once. It needs ``dpkg-deb``.
"""

from __future__ import annotations

import gettext
import html
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.pipeline import TREEBANKS, work_folder

_PARAGRAPH = re.compile(r"<(?:p|h[1-6]|li)\b[^>]*>(.*?)</(?:p|h[1-6]|li)>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_MARKS = re.compile(r"[~_]|%\w+|\$\(\w+\)|\{\w*\}")  # keys of menus, and what a program puts in


def main(packages: list[str]) -> None:
    """Write a text file for each package."""
    stems = {stem.rpartition("/")[2][:2]: stem.rpartition("/")[2] for stem in TREEBANKS.values()}
    for package in packages:
        language = Path(package).name.split("_")[0].rpartition("-")[2]
        file = work_folder() / "raw" / f"{stems[language]}.txt"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
            lines = dict.fromkeys(_lines(Path(folder)))
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
        print(f"{file.name}: {len(lines):,} paragraphs, {sum(len(line.split()) for line in lines):,} words")


def _lines(folder: Path) -> Iterator[str]:
    for text in _texts(folder):
        line = " ".join(_MARKS.sub("", html.unescape(_TAG.sub(" ", text))).split())
        if line.count(" ") >= 2:
            yield line


def _texts(folder: Path) -> Iterator[str]:
    for page in sorted(folder.rglob("*.html")):
        yield from _PARAGRAPH.findall(page.read_text(encoding="utf-8", errors="replace"))
    for catalogue in sorted(folder.rglob("*.mo")):
        with catalogue.open("rb") as opened:
            found = gettext.GNUTranslations(opened)._catalog  # type: ignore[attr-defined]
        for key, message in found.items():
            if key:  # the empty key has facts about the translation
                yield from message.split("\n")


if __name__ == "__main__":
    main(sys.argv[1:])
