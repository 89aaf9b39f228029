"""The command, the signatures and the page of the benchmarks; no benchmark is run."""

import importlib.util
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # benchmarks are not installed

from benchmarks import running  # noqa: E402
from benchmarks.__main__ import NAMES, main  # noqa: E402
from benchmarks.comparisons import Comparison, Stored, fastest_peer, judge, load, store  # noqa: E402
from benchmarks.data import Missing, corpus  # noqa: E402
from benchmarks.summary import Run, keep_run, summary, write_summary  # noqa: E402

MACHINE = {"system": "Linux x86_64", "processors": 2, "python": "3.11.7", "versions": {"numpy": "2.4.6"}}


def row(task, ours, theirs, verdict="same", **changes):
    given = {"what": "a fit", "input": "ten texts", "peer": "a peer", "unit": "s", "quality": "equal"}
    return Comparison(task=task, ours=ours, theirs=theirs, verdict=verdict, **{**given, **changes})


@pytest.fixture
def folder(tmp_path):
    """Two benchmarks by hand: one quick, with a loss, and one full."""
    won, lost = row("Winning", 2.0, 5.0), row("Losing", 8.0, 2.0, "worse", quality="0.7 | 0.8")
    store(Stored("linear", True, MACHINE, (won, lost)), tmp_path)
    store(Stored("crf", False, MACHINE, (row("Older", 3e5, 1e4, unit="tokens/s"),)), tmp_path)
    return tmp_path


def line_of(page, task):
    return next(line for line in page.splitlines() if line.startswith(f"| {task}"))


def test_page_from_stored_comparisons(folder):
    page = summary(["linear", "crf"], Run(True, {"linear": 61.0}), folder)
    assert (
        line_of(page, "Winning") == "| Winning | a fit | ten texts | a peer | 5 s | 2 s | 2.50 | yes: equal |"
    )
    assert "**0.25 (slower)** | **worse**: 0.7 \\| 0.8 |" in line_of(page, "Losing")
    assert "| Older (full run) |" in page
    assert "| 30.0 |" in line_of(page, "Older")
    assert "Spinney is slower in 1 of 3 rows: Losing (a fit)." in page
    assert "2 processors, Linux x86_64, Python 3.11.7; numpy 2.4.6." in page


def test_page_changes_with_the_json(folder):
    before = summary(["linear", "crf"], Run(True, {"linear": 61.0}), folder)
    path = folder / "quick" / "linear.json"
    content = json.loads(path.read_text())
    content["rows"][0]["ours"] = 0.5
    path.write_text(json.dumps(content))
    after = summary(["linear", "crf"], Run(True, {"linear": 61.0}), folder)
    assert "| 10.0 |" in line_of(after, "Winning")
    assert len(set(before.splitlines()) ^ set(after.splitlines())) == 2


def test_page_says_what_was_skipped_and_what_failed(folder):
    keep_run(Run(True, {}, {"crf": "no corpora"}, {"linear": "ValueError: a\nb"}), folder)
    page = write_summary(["linear", "crf"], folder).read_text()
    assert "| crf | skipped | no corpora |" in page
    assert "| linear | **failed** | ValueError: a b |" in page
    assert "| Winning (earlier quick run) |" in page


def test_quick_results_leave_full_ones_alone(folder):
    full = load("crf", False, folder)
    store(Stored("crf", True, MACHINE, ()), folder)
    assert load("crf", False, folder) == full
    assert load("crf", True, folder).rows == ()
    assert load("hmm", True, folder) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "higher", "verdict"),
    [
        (0.9, 0.8, True, "better"),
        (0.8, 0.9, True, "worse"),
        (140.0, 150.0, False, "better"),
        (0.8, 0.8005, True, "same"),
    ],
)
def test_judge(ours, theirs, higher, verdict):
    assert judge(ours, theirs, higher=higher, tolerance=1e-3) == verdict


def test_fastest_peer_is_one_that_got_there():
    from benchmarks.harness import Row

    ours = Row("Spinney", 0, 1.0, 0.0, 1)
    peers = [Row("hasty", 0, 0.1, 0.5, 1), Row("good (epochs)", 0, 4.0, 0.0, 1), Row("slow", 0, 9.0, 0.0, 1)]
    found = fastest_peer([ours, *peers, Row("Spinney's other", 0, 0.1, 0.0, 1)], 1e-6, "", "", "")
    assert (found.peer, found.ratio, found.verdict) == ("good, the fastest of 2", 4.0, "same")
    assert fastest_peer([ours, peers[0]], 1e-6, "", "", "").verdict == "better"


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_has_a_main_with_quick(name):
    """Read, not imported: peers need not be installed."""
    spec = importlib.util.find_spec(f"benchmarks.{name}")
    source = Path(spec.origin).read_text()
    assert "\ndef main(quick: bool) -> None:\n" in source
    assert f'publish("{name}", ' in " ".join(source.split()).replace("publish( ", "publish(")


def test_publish_wants_comparisons():
    from benchmarks.harness import publish

    assert list(inspect.signature(publish).parameters)[:4] == ["name", "sections", "comparisons", "quick"]


def test_missing_things_are_skipped_and_errors_are_failures(monkeypatch):
    class Module:
        error: BaseException

        @classmethod
        def main(cls, quick):
            raise cls.error

    monkeypatch.setattr(running.importlib, "import_module", lambda name: Module)
    for error, state in (
        (Missing("no corpora"), "skipped"),
        (ModuleNotFoundError("No module named 'celer'", name="celer"), "skipped"),
        (ModuleNotFoundError("No module named 'spinney.x'", name="spinney.x"), "failed"),
        (ValueError("wrong"), "failed"),
        (SystemExit("stop"), "failed"),
    ):
        Module.error = error
        assert running.run_one("linear", True)[0] == state


def test_missing_corpus_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("SPINNEY_DATA", raising=False)
    with pytest.raises(Missing, match="SPINNEY_DATA"):
        corpus("imdb")
    monkeypatch.setenv("SPINNEY_DATA", str(tmp_path))
    with pytest.raises(Missing, match="imdb/train"):
        corpus("imdb", "train.tsv.xz")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["linaer"], "did you mean linear?"), ([], "name a benchmark"), (["zzz"], "there are linear")],
)
def test_wrong_names(arguments, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_usage():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "usage: python -m benchmarks" in done.stdout
    assert all(word in done.stdout for word in ("--quick", "--summary", "embed_topics"))
