"""Settings of the commands that do not belong to a task."""

from __future__ import annotations

from typing import Annotated

from spinney.settings import OUTPUT, Common, File, Spread
from spinney.settings.declared import settings_dataclass as dataclass


@dataclass(frozen=True, kw_only=True)
class Doctor(Spread):
    """``doctor``: what an installation can do, and the workers of a cluster."""

    panel = OUTPUT
    path: Annotated[str | None, "A file or address that the workers of the cluster must be able to read."] = (
        None
    )
    compile: Annotated[
        bool, "Compile all kernels now (takes minutes), so that no later command has to wait."
    ] = False


@dataclass(frozen=True, kw_only=True)
class Demo(Common):
    """``demo``: a tour."""

    panel = OUTPUT
    texts: Annotated[str | None, File, "Only write the sample texts into this folder."] = None
