"""Settings of the commands that belong to no task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spinney.settings import OUTPUT, Common, File


@dataclass(frozen=True, kw_only=True)
class Doctor(Common):
    """``doctor``: what an installation can do."""

    panel = OUTPUT
    compile: Annotated[bool, "Compile all kernels now (minutes), so that no command waits for it."] = False


@dataclass(frozen=True, kw_only=True)
class Demo(Common):
    """``demo``: a tour."""

    panel = OUTPUT
    texts: Annotated[str | None, File, "Only write the sample texts into this folder."] = None
