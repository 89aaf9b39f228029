"""What the tables of the Grave replication share: the setting of a run, Markdown, and what agrees with the thesis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Structure = Literal["tree", "chain"]
#: The thesis has a tree and a chain model for everything.
STRUCTURES: tuple[Structure, ...] = ("tree", "chain")
#: Numbers of the thesis that its text has lost.
LOST = "lost"


@dataclass(frozen=True)
class Setting:
    """How large a run is, its seed, its data, and where models are kept."""

    quick: bool
    seed: int
    data: Path
    cache: Path

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of classes of the models that several tables look at."""
        return (128,) if self.quick else (128, 256, 512)

    @property
    def largest(self) -> int:
        """The number of classes where the thesis has 512."""
        return self.sizes[-1]

    @property
    def passes(self) -> int:
        """Passes of online EM over the text; one of batch EM follows."""
        return 2 if self.quick else 4


def section(title: str, note: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A section with one table."""
    return f"## {title}\n\n{note}\n\n{table(header, rows)}"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; the first column is text, all others are set flush right, and None is a dash."""
    lines = [
        "| " + " | ".join(header) + " |",
        "|" + "|".join("---:" if i else "---" for i in range(len(header))) + "|",
    ]
    lines += ["| " + " | ".join("–" if cell is None else str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def verdict(claims: Iterable[tuple[str, bool]]) -> str:
    """Which statements, of the thesis or after it, hold for the numbers of this run."""
    claims = list(claims)
    held = [claim for claim, holds in claims if holds]
    broken = [claim for claim, holds in claims if not holds]
    named = (("Holds here", held), ("Does not hold here", broken))
    parts = [f"{name}: {'; '.join(some)}." for name, some in named if some]
    return "\n" + " ".join(parts) + "\n"


def short(number: float) -> str:
    """A correlation, a share: two decimals, without the zero before the point."""
    return f"{number:.2f}".replace("0.", ".", 1) if abs(number) < 1 else f"{number:.2f}"
