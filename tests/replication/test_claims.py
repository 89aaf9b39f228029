"""The page of all claims counts its own rows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "research" / "claims.md"
VERDICTS = ("holds", "holds in part", "does not hold", "cannot be tested here", "not run yet")
FIRST = {"Grave 2014": "Grave", "Sokolovska 2010": "Sokolovska", "Spectral learning 2013": "Spectral",
         "Yogatama 2015": "Yogatama", "Nelakanti 2014": "Nelakanti"}  # fmt: skip


def rows() -> list[list[str]]:
    """The cells of each claim: work and place, claim, published, ours, verdict, what it rests on."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [
        line.strip("| ").split(" | ")
        for line in lines
        if re.match(rf"\| ({'|'.join(FIRST.values())}),", line)
    ]


def test_every_row_has_a_verdict_and_says_what_it_rests_on() -> None:
    for row in rows():
        assert len(row) == 6, row[:2]
        verdict, rests_on = row[4].strip("*"), row[5]
        assert verdict in VERDICTS, row[:2]
        assert rests_on != "–" or verdict in VERDICTS[3:], row[:2]


@pytest.mark.parametrize("work", FIRST)
def test_the_table_at_the_head_counts_them(work: str) -> None:
    found = Counter(row[4].strip("*") for row in rows() if row[0].startswith(FIRST[work] + ","))
    line = next(
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| [{work}]")
    )
    told = [int(cell) for cell in line.strip("| ").split(" | ")[1:]]
    assert told == [*(found[verdict] for verdict in VERDICTS), found.total()]
