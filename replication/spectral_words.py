"""Spectral learning for NLP (tutorial, 2013): vectors of words and tokens, replicated on the text at hand.

    python replication/spectral_words.py [--quick] [--only NAME ...] [--seed S] [--cache FOLDER] [--out FILE]

Studies: vectors, sizes, tagging, views. The data sets are looked for under SPINNEY_DATA; gensim, if it is installed, is
compared with. Texts are kept in the cache, a temporary folder unless one is named. A run of all studies is kept in
``results/spectral_words.md``, as far as it has come; a run of some is kept only where ``--out`` says.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from grave_semcor import data_folder
from spectral_common import Setting
from spectral_tagging import tagging
from spectral_vectors import methods, sizes
from spectral_views import views

from spinney.errors import SpinneyError
from spinney.files import replacing

STUDIES: dict[str, Callable[[Setting], str]] = {
    "vectors": methods,
    "sizes": sizes,
    "tagging": tagging,
    "views": views,
}

DIFFERENCES = """\
## What differs from the tutorial, and why

- Its vectors came from 63 M tokens of RCV-1 (300,000 words), Google n-grams or 100 M tokens; ours from what is free.
- It names neither the window, the transform, the scaling of features nor the method (one-step CCA, LR-MVL) behind its
  error reductions, and gives no absolute scores: only the sign and the size of a reduction can be compared.
- What "holds" below a table is decided by the numbers of this run, one seed, however small the difference, unless a
  p-value is named.
- Seconds are those of a machine with two cores that had other work to do: they are indicative.
"""


def main() -> None:
    """Run the studies, print and keep their tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less text, parts of the training sets; minutes")
    parser.add_argument("--only", nargs="+", choices=STUDIES, metavar="NAME", help=", ".join(STUDIES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, help="where to keep texts; by default for this run only")
    parser.add_argument("--out", type=Path, help="where to keep the tables")
    arguments = parser.parse_args()
    out = arguments.out
    if out is None and arguments.only is None:
        out = Path(__file__).parent / "results" / "spectral_words.md"
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
    text = f"# Spectral learning (tutorial, 2013): words, replicated\n\n{how} Seed {setting.seed}.\n"
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
