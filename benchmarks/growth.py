"""How the seconds and the memory of each task grow with its input, over a decade and a half of sizes.

Each run is a command as a user types it, in a process of its own: its CPU seconds and its peak memory are those that
the system counted, less those of the same command on little text (start-up, kernels from the cache). A growth exponent
is the slope of the logarithm of seconds, or of bytes, on that of size: 1 is proportional. No text is repeated to make
it longer: it would have no new words, and everything would look flat.
"""

from __future__ import annotations

import csv
import lzma
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.comparisons import RESULTS, write_text
from benchmarks.data import corpus, review_sentences
from benchmarks.harness import publish

STEPS = 6  # sizes, each twice the one before: a factor of 32
FEW = 0.2  # seconds and
LITTLE = 20e6  # bytes above those of little text: less than that is not told from noise
START = {"tokens": 5000}  # how little text that is, where it is not
FEWEST = 120  # sentences, trees or documents


class Case(NamedTuple):
    """A command and its input: its units, how many of them a quick and a full run take, and the writer of a file."""

    name: str
    command: tuple[str, ...]
    unit: str
    most: tuple[int, int]
    write: Callable[[Path, int], int]  # the first n units, into a file; how many there were
    suffix: str = ".txt"


class Point(NamedTuple):
    """What one run took: the size of its input, CPU seconds and bytes above those of little text."""

    size: int
    seconds: float
    bytes: float


def main(quick: bool) -> None:
    """Run all cases; ``quick``: an eighth of the input, and the cheap tasks only."""
    lines = [
        "### Seconds and memory by size of the input",
        "",
        "| command | input | from | to | seconds | growth | MB | growth |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    drawn = {}
    for case in CASES:
        points = grown(case, case.most[0 if quick else 1])
        drawn[case] = points
        lines.append(_row(case, points))
        print(lines[-1], file=sys.stderr, flush=True)
    publish("growth", ["\n".join(lines) + "\n"], [], quick, how="one run each, one thread; CPU seconds")
    if not quick:
        write_text(RESULTS / "growth.svg", _figure(drawn))


def grown(case: Case, most: int) -> list[Point]:
    """Run a case at all of its sizes."""
    with tempfile.TemporaryDirectory() as folder:
        few, path = Path(folder, "few" + case.suffix), Path(folder, "input" + case.suffix)
        case.write(few, START.get(case.unit, FEWEST))
        run(case, few)  # compiles what is not in the cache
        base = min(run(case, few) for _ in range(2))
        points = []
        for step in range(STEPS):
            size = case.write(path, most >> (STEPS - 1 - step))
            seconds, peak = run(case, path)
            points.append(Point(size, seconds - base[0], peak - base[1]))
            print(f"{case.name}: {points[-1]}", file=sys.stderr, flush=True)
        return points


def run(case: Case, path: Path) -> tuple[float, float]:
    """CPU seconds and peak bytes of a command."""
    model = path.with_name("model.spinney")
    places = {"INPUT": str(path), "MODEL": str(model)}
    command = [sys.executable, "-m", "spinney", *(places.get(word, word) for word in case.command)]
    command += ["--quiet", "--threads", "1"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert child.stderr is not None
    told = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(command)}: {told}")
    return used.ru_utime + used.ru_stime, 1024.0 * used.ru_maxrss


def exponent(sizes: Iterable[float], values: Iterable[float], least: float) -> float | None:
    """The slope of log values on log sizes, of those values that are more than noise; ``None`` if there are not three.

    >>> round(exponent([1, 2, 4, 8], [3, 12, 48, 192], 1.0), 6)
    2.0
    """
    told = [(size, value) for size, value in zip(sizes, values) if value > least]
    if len(told) < 3:
        return None
    x, y = np.log(np.array(told)).T
    return float(np.polyfit(x, y, 1)[0])


def _row(case: Case, points: Sequence[Point]) -> str:
    sizes = [point.size for point in points]
    cells = [f"`{' '.join(word for word in case.command if word not in ('INPUT', 'MODEL', '--model'))}`"]
    cells += [case.unit, f"{sizes[0]:,}", f"{sizes[-1]:,}", f"{points[-1].seconds:.1f}"]
    for values, least, shown in (
        ([point.seconds for point in points], FEW, ""),
        ([point.bytes for point in points], LITTLE, f"{points[-1].bytes / 1e6:.0f}"),
    ):
        found = exponent(sizes, values, least)
        cells += [shown] * bool(shown) + ["too little to tell" if found is None else f"{found:.2f}"]
    return "| " + " | ".join(cells) + " |"


# ------------------------------------------------------------------------------------------ inputs


def _lines(path: Path, lines: Iterable[str], n: int, joint: str = "\n") -> int:
    chosen = list(islice(lines, n))
    path.write_text(joint.join(chosen) + "\n", encoding="utf-8")
    return len(chosen)


def _tokens(path: Path, n: int) -> int:
    """Sentences of film reviews with at least n tokens in all."""
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for sentence in review_sentences():
            if count >= n:
                break
            out.write(" ".join(sentence) + "\n")
            count += len(sentence)
    return count


def _chunks(path: Path, n: int) -> int:
    with zipfile.ZipFile(corpus("nltk", "conll2000.zip")) as archive:
        text = archive.read("conll2000/train.txt").decode()
    return _lines(path, (part for part in text.split("\n\n") if part.strip()), n, "\n\n")


def _reviews(path: Path, n: int) -> int:
    def rows() -> Iterator[list[str]]:
        with lzma.open(corpus("imdb", "train.tsv.xz"), "rt", encoding="utf-8", newline="\n") as lines:
            kept = [line.rstrip("\n").split("\t") for line in lines]
        for row in np.random.default_rng(0).permutation(len(kept)):
            yield [kept[row][3], kept[row][0]]

    chosen = list(islice(rows(), n))
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["text", "label"], *chosen])
    return len(chosen)


def _trees(path: Path, n: int) -> int:
    with zipfile.ZipFile(corpus("nltk", "treebank.zip")) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".mrg"))
        text = "\n".join(archive.read(name).decode() for name in names)
    trees = text.replace("\n(", "\n\x00(").split("\x00")
    return _lines(path, (tree for tree in trees if tree.strip()), n)


def _papers(path: Path, n: int) -> int:
    with lzma.open(next(corpus("arxiv").glob("*.xz")), "rt", encoding="utf-8", newline="\n") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    chosen = [rows[row] for row in np.random.default_rng(0).permutation(len(rows))[:n]]
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows(
            [["time", "text"], *([row["created"][:4], row["abstract"]] for row in chosen)]
        )
    return len(chosen)


def _case(
    name: str, command: str, unit: str, quick: int, full: int, write: Callable[..., int], suffix: str = ".txt"
) -> Case:
    return Case(name, tuple(command.split()), unit, (quick, full), write, suffix)


FIT = "fit INPUT --model MODEL"
CASES = (
    _case("tagging", f"tag {FIT} --preset chunk", "sentences", 1_000, 8_936, _chunks, ".col"),
    _case("classifying", f"classify {FIT}", "reviews", 1_600, 24_996, _reviews, ".csv"),
    _case(
        "Brown classes",
        f"classes {FIT} --method brown --classes 256",
        "tokens",
        3_200_000,
        25_600_000,
        _tokens,
    ),
    _case(
        "hidden Markov chain",
        f"classes {FIT} --method hmm --classes 32",
        "tokens",
        200_000,
        1_600_000,
        _tokens,
    ),
    _case("vectors", f"embed {FIT}", "tokens", 3_200_000, 25_600_000, _tokens),
    _case("Kneser-Ney", f"lm {FIT} --order 3", "tokens", 3_200_000, 25_600_000, _tokens),
    _case(
        "log-linear language model",
        f"lm {FIT} --method loglinear --order 3",
        "tokens",
        100_000,
        800_000,
        _tokens,
    ),
    _case("parsing", f"parse {FIT} --polish 5", "trees", 800, 3_200, _trees, ".mrg"),
    _case("text over time", f"trend {FIT}", "abstracts", 3_200, 12_800, _papers, ".csv"),
)


# ------------------------------------------------------------------------------------------ figure


def _figure(drawn: dict[Case, list[Point]]) -> str:
    """Seconds (solid) and megabytes (dashed) of each task on logarithmic scales, as SVG."""
    import io

    import matplotlib as mpl
    from matplotlib.figure import Figure

    columns = 3
    rows = -(-len(drawn) // columns)
    with mpl.rc_context({"svg.hashsalt": "growth", "font.size": 8}):
        figure = Figure(figsize=(3 * columns, 2.4 * rows), layout="constrained")
        axes: Any = figure.subplots(rows, columns, squeeze=False)
        for axis, (case, points) in zip(axes.flat, drawn.items()):
            sizes = np.array([point.size for point in points], dtype=float)
            for values, least, style, label in (
                (np.array([point.seconds for point in points]), FEW, "o-", "s"),
                (np.array([point.bytes for point in points]) / 1e6, LITTLE / 1e6, "s--", "MB"),
            ):
                axis.loglog(sizes, np.maximum(values, least / 10), style, markersize=3, label=label)
                axis.loglog(sizes, values[-1] * sizes / sizes[-1], ":", color="0.6", linewidth=0.8)
            axis.set_title(case.name)
            axis.set_xlabel(case.unit)
        for axis in axes.flat[len(drawn) :]:
            axis.set_visible(False)
        axes.flat[0].legend(frameon=False)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
