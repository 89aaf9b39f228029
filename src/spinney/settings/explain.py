"""Settings of ``explain``, which are the same in every task."""

from __future__ import annotations

from typing import Annotated

from spinney.settings.declared import COUNT, OUTPUT, AtLeast, Settings
from spinney.settings.declared import settings_dataclass as dataclass


@dataclass(frozen=True, kw_only=True)
class Explained(Settings):
    """How much of the explanations is shown."""

    panel = OUTPUT
    documents: Annotated[int, AtLeast(1), COUNT, "Number of sentences or documents to explain."] = 3
    top: Annotated[int, AtLeast(1), COUNT, "Number of contributions to show for each prediction."] = 8
