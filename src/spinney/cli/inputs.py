"""Documents for verbs that do not declare settings yet."""

from __future__ import annotations

from spinney.cli.running import check_target  # noqa: F401
from spinney.corpus.labelled import *  # noqa: F403
from spinney.errors import about  # noqa: F401
