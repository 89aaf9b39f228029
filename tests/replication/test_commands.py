"""The commands of all methods: what they name exists, and a row that fails is told."""

from __future__ import annotations

import ast
import shlex
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import commands
import pytest
from commands import ROWS, WORKS, Row, chosen, outcome, report, table_row, written
from commands_samples import SAMPLES

from spinney.cli.tasks import every_verb
from spinney.cli.verbs import Command
from spinney.settings import REQUIRED

DRAWN = {"map.png", "dendro.svg", "tsne.png"}  # what plots write, after the model
ROW = Row(1, "counting", "spinney classes fit x.txt --model x.spinney", r"^words \d")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.item}: {row.command[:60]}")
def test_every_command_is_one_of_the_command_line(row: Row) -> None:
    program, *words = shlex.split(row.command)
    if program == "python":
        ast.parse(words[1])
        return
    assert program == "spinney"
    verb = every_verb()[tuple(words[:2])]
    command = Command(words[1], verb, words[2:])
    given = command.make_context(row.command, words[2:]).params
    for setting in (*verb.output, *command.settings):
        value = given.get(setting.name)
        for one in value if isinstance(value, tuple) else [value]:
            if isinstance(one, str):
                setting.parse(one)  # an error, if it is no value of this option
    for argument in verb.arguments:
        assert given[argument.name] or argument.default is not REQUIRED, argument.name


def test_items_are_numbered_without_gaps_and_those_of_a_work_are_together() -> None:
    assert [item for item, _ in groupby(row.item for row in ROWS)] == list(range(1, 44))
    ends = [rows[-1].item for rows in WORKS.values()]
    assert ends == [12, 20, 30, 38, 43]


def test_files_are_samples_or_written_by_a_row_before() -> None:
    known = set(SAMPLES) | DRAWN
    for row in ROWS:
        program, *words = shlex.split(row.command)
        if program == "spinney":
            assert {word for word in words if "." in word and Path(word).suffix[1:].isalpha()} <= known | {
                written(row)
            }, row.command
        known.add(written(row) or "")


def test_a_line_is_found_whatever_its_spaces() -> None:
    assert outcome(ROW, 0, "Wrote x.spinney\nwords   12\n") == (True, "words 12")


def test_a_code_other_than_0_and_a_missing_line_are_told() -> None:
    assert outcome(ROW, 2, "words 12\n\nspinney: no such file: x.txt\n") == (
        False,
        "ended with code 2: spinney: no such file: x.txt",
    )
    failed = outcome(ROW, 0, "classes 12\n")
    assert failed == (False, r"no line like ^words \d")
    assert "**fails**: `no line like" in table_row(ROWS[0], failed)


def test_a_long_line_is_cut_around_what_was_found() -> None:
    line = "a " * 200 + "words 12" + " b" * 200
    found = outcome(ROW._replace(line=r"words \d+"), 0, line)
    assert found.holds
    assert found.told.startswith("… ")
    assert " words 12 " in found.told
    assert len(found.told) <= commands.WIDTH + len("…  …")


def test_a_few_items_come_with_the_rows_that_write_what_they_read() -> None:
    rows = chosen({19})
    assert [row.item for row in rows] == [13, 19]
    assert {row.item for row in chosen({12})} == {4, 12}


def test_a_row_that_fails_makes_the_script_fail_after_all_rows(monkeypatch, tmp_path, capsys) -> None:
    told = iter([2, 0])

    def end(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], next(told), "words 12\n", "")

    monkeypatch.setattr(commands, "ROWS", [ROW, ROW])
    monkeypatch.setattr(commands, "WORKS", {"Grave": [ROW, ROW]})
    monkeypatch.setattr(commands, "write_samples", lambda names, folder: None)
    monkeypatch.setattr(commands.subprocess, "run", end)
    monkeypatch.setattr(sys, "argv", ["commands.py", "--out", str(tmp_path / "commands.md")])
    with pytest.raises(SystemExit) as ended:
        commands.main()
    assert ended.value.code == 1
    text = (tmp_path / "commands.md").read_text("utf-8")
    assert text.count("| Grave | 1 counting |") == 2
    assert text.count("**fails**") == 1
    assert text.count("| `words 12` |") == 1


def test_rows_without_their_package_are_named_below_the_table() -> None:
    row = ROW._replace(needs="optuna")
    assert "Without the package optuna, item 1 was not run: `spinney classes fit" in report([], [], [row])
