"""Grave (2014), part I: word classes by hidden Markov chains and trees, replicated on the text at hand.

    python replication/grave.py [--quick] [--only NAME ...] [--seed S] [--cache FOLDER] [--out FILE]

Studies: corpora, optimisation, similarity, bless, categorisation, composition, ner, supersense. The data sets are
looked for under SPINNEY_DATA. Models that several studies share are kept in the cache, a temporary folder unless one
is named. A run of all studies is kept in ``results/grave.md``, as far as it has come; a run of some is kept only where
``--out`` says.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from grave_categorisation import categorisation
from grave_common import Setting
from grave_composition import composition
from grave_models import corpora
from grave_ner import ner
from grave_optimisation import optimisation
from grave_semcor import data_folder
from grave_similarity import bless, word_pairs
from grave_supersense import supersense

from spinney.errors import SpinneyError
from spinney.files import replacing

STUDIES: dict[str, Callable[[Setting], str]] = {
    "corpora": corpora,
    "optimisation": optimisation,
    "similarity": word_pairs,
    "bless": bless,
    "categorisation": categorisation,
    "composition": composition,
    "ner": ner,
    "supersense": supersense,
}

DIFFERENCES = """\
## What differs from the thesis, and why

- The thesis learnt from 310 M tokens of the New York Times; this is a hundredth (quick) or a thirtieth of that, of
  other kinds. What depends on rare words (WordSim353, BLESS, categories of things) has fewer words and worse vectors.
- Parses are spaCy's, not the Stanford parser's: labels, heads of prepositions and auxiliaries differ.
- The thesis says neither batch size, number of passes, γ nor how Brown's zeros were filled; ours are the defaults of
  the library.
- MUC7 and the pairs of Grefenstette and Sadrzadeh, Mitchell and Lapata, and Vecchi et al. are not at hand. CoNLL-2003
  and ELLDIS/ELLSIM stand in for the first two; the order of rows can be compared, the numbers cannot.
- What "holds" below a table is decided by the numbers of this run, one seed, however small the difference. Standard
  errors are about .06 for WordSim353, .07 for ELLDIS, .1 for ELLSIM, 0.5 points for supersenses, 0.7 for names; one
  verb of ESSLLI is .02 of purity.
"""


def main() -> None:
    """Run the studies, print and keep their tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less text, 128 classes at most; minutes")
    parser.add_argument("--only", nargs="+", choices=STUDIES, metavar="NAME", help=", ".join(STUDIES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, help="where to keep models; by default for this run only")
    parser.add_argument("--out", type=Path, help="where to keep the tables")
    arguments = parser.parse_args()
    out = arguments.out
    if out is None and arguments.only is None:
        out = Path(__file__).parent / "results" / "grave.md"
    try:
        with tempfile.TemporaryDirectory() as folder:
            cache = arguments.cache or Path(folder)
            cache.mkdir(parents=True, exist_ok=True)
            setting = Setting(arguments.quick, arguments.seed, data_folder(), cache)
            run(setting, arguments.only or STUDIES, out)
    except SpinneyError as error:
        raise SystemExit(str(error)) from None


def run(setting: Setting, names: Iterable[str], out: Path | None) -> None:
    """Print the tables of the studies, and keep them as far as they have come."""
    how = "A quick run: each table says what was cut." if setting.quick else "The full run."
    told = "Seconds include models that a study is the first to need."
    text = f"# Grave (2014), part I, replicated\n\n{how} Seed {setting.seed}. {told}\n"
    print(text)
    begun, begun_cpu = time.perf_counter(), time.process_time()
    for name in names:
        started, started_cpu = time.perf_counter(), time.process_time()
        part = STUDIES[name](setting)
        part += f"\n{_spent(started, started_cpu)} for this study.\n"
        print(part, flush=True)
        text += "\n" + part
        _keep(text, out)
    ending = f"\n{DIFFERENCES}\n{_spent(begun, begun_cpu)} in all.\n"
    print(ending)
    _keep(text + ending, out)


def _spent(started: float, started_cpu: float) -> str:
    return f"{time.perf_counter() - started:.0f} s ({time.process_time() - started_cpu:.0f} s of processors)"


def _keep(text: str, out: Path | None) -> None:
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        with replacing(out) as file:
            file.write(text.encode())


if __name__ == "__main__":
    main()
