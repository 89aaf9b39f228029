"""What the studies of the spectral replication share: the setting of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Setting:
    """How large a run is, its seed, its data, and where texts are kept."""

    quick: bool
    seed: int
    data: Path
    cache: Path

    @property
    def size(self) -> str:
        """The beginning of names in the cache."""
        return "quick" if self.quick else "full"


def figure(number: float) -> str:
    """A correlation or a share: three decimals, without the zero before the point."""
    return f"{number:.3f}".replace("0.", ".", 1)


def chance(p_value: float) -> str:
    """A p-value."""
    return "p < .001" if p_value < 0.001 else f"p = {figure(p_value)}"
