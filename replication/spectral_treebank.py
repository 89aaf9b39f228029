"""The sample of the Penn Treebank, in its three parts. The benchmarks read it too."""

from __future__ import annotations

import os
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from spinney.corpus import Tree
from spinney.parsing import read_treebank


class Treebank(NamedTuple):
    """Cleaned trees: to learn from, to choose by, to test on."""

    train: list[Tree]
    dev: list[Tree]
    test: list[Tree]


@cache
def sample_treebank() -> Treebank:
    """The 199 files of NLTK's sample in the order of their names: 80 %, 10 % and 10 % of them."""
    archive = Path(os.environ.get("SPINNEY_DATA", "")) / "nltk" / "treebank.zip"
    if not archive.is_file():
        raise SystemExit("the variable SPINNEY_DATA must name a folder with nltk/treebank.zip")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as packed:
        names = sorted(name for name in packed.namelist() if name.endswith(".mrg"))
        files = [Path(packed.extract(name, folder)) for name in names]
        first, second = int(0.8 * len(files)), int(0.9 * len(files))
        parts = files[:first], files[first:second], files[second:]
        return Treebank(*([tree for file in part for tree in read_treebank(file)] for part in parts))
