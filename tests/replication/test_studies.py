"""Reports of replications: sections of studies that are run one by one, in any order."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from studies import RESULTS, report, run_studies, sections

STUDIES = {
    "first": lambda quick: f"## First\n\n{'some' if quick else 'all'} of it",
    "second": lambda quick: f"## Second\n\n{'some' if quick else 'all'} of it\n",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """Run studies with some arguments; the report."""

    def go(*arguments: str) -> str:
        out = tmp_path / "report.md"
        monkeypatch.setattr(sys, "argv", ["study.py", "--out", str(out), *arguments])
        run_studies(
            STUDIES, lambda quick, seed, cache: quick, title="Title", ending="## The end\n", name="none",
            about="", quick="", told="Told.",
        )  # fmt: skip
        return out.read_text("utf-8") if out.is_file() else ""

    return go


def test_studies_are_kept_in_their_order_whatever_the_order_of_runs(run) -> None:
    run("--only", "second")
    text = run("--only", "first", "--quick")
    assert (
        text.index("## First\n\nsome of it") < text.index("## Second\n\nall of it") < text.index("## The end")
    )
    assert text.startswith("# Title\n\nTold.\n")
    assert text.count("A quick run, seed 0: ") == text.count("A full run, seed 0: ") == 1


def test_a_quick_run_does_not_replace_a_full_one(run, capsys) -> None:
    full = run("--only", "first")
    assert run("--only", "first", "--quick") == full
    assert "first: the report keeps its full run" in capsys.readouterr().err


def test_missing_runs_what_is_not_there_in_full(run, capsys) -> None:
    run("--only", "first")
    run("--only", "second", "--quick")
    capsys.readouterr()
    text = run("--missing")
    assert "## First" not in capsys.readouterr().out
    assert "## Second\n\nall of it" in text
    assert run("--missing") == text


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.md")), ids=lambda path: path.stem)
def test_reports_of_the_tree_can_be_read_and_written_again(path: Path) -> None:
    found = sections(path)
    if not found:
        pytest.skip("this report is written by a script of its own")
    text = path.read_text("utf-8")
    head, _, rest = text.partition("<!-- ")
    ending = rest.partition("<!-- end of the studies -->\n")[2]
    title, _, told = head.partition("\n\n")
    assert report(title.removeprefix("# ").strip(), told.strip(), ending, found, found) == text
