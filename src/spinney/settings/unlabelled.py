"""Settings of learning from labelled and unlabelled data, of every task that can."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from spinney.errors import SettingError
from spinney.settings import AMOUNT, COUNT, DATA, TRAINING, AtLeast, AtMost, File, Hidden, Settings
from spinney.settings.declared import settings_dataclass as dataclass


@dataclass(frozen=True, kw_only=True)
class Criterion(Settings):
    """How unlabelled data are used."""

    panel = TRAINING
    criterion: Annotated[
        Literal["weighted", "shift", "entropy", "self-training"] | None,
        "How unlabelled data are used (default: the best on held-out labels, if any helps).",
    ] = None
    criterion_strength: Annotated[
        float | None,
        AtLeast(0),
        AMOUNT,
        "Exponent of weights, weight of the entropy, or least confidence (default: chosen).",
    ] = None

    clusters: Annotated[
        int | None,
        AtLeast(1),
        AtMost(10_000),
        COUNT,
        Hidden,
        "Clusters of similar sentences or documents for the criterion weighted (default: 10).",
    ] = None

    def check(self) -> None:
        super().check()
        if self.clusters is not None and self.criterion not in (None, "weighted"):
            raise SettingError(
                "{clusters} are for the criterion weighted, not for {name}", name=self.criterion
            )
        if self.criterion_strength is None:
            return
        if self.criterion is None:
            raise SettingError("{criterion_strength} needs {criterion}")
        if self.criterion != "entropy" and self.criterion_strength > 1:
            raise SettingError(
                "{criterion_strength} of {name} must be at most 1, not {value}",
                name=self.criterion,
                value=self.criterion_strength,
            )


@dataclass(frozen=True, kw_only=True)
class Unlabelled(Criterion):
    """Unlabelled data."""

    panel = DATA
    unlabelled: Annotated[Any | None, File, "Unlabelled data of the same format to learn from."] = None

    def check(self) -> None:
        super().check()
        if self.criterion is not None and self.unlabelled is None:
            raise SettingError("{criterion} needs {unlabelled}")
        if self.clusters is not None and self.unlabelled is None:
            raise SettingError("{clusters} need {unlabelled}")
