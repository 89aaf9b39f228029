"""Where work is done: a block of Python, a setting or a variable names the cluster."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, ParamSpec, TypeVar

from spinney.cluster.clients import client_of
from spinney.cluster.engine import Cluster
from spinney.errors import SettingError
from spinney.parallel import elsewhere, is_alone, running_on
from spinney.progress import log
from spinney.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")

#: The variable that names a cluster where no setting does.
VARIABLE = "SPINNEY_CLUSTER"


@contextmanager
def on(cluster: Any) -> Iterator[Cluster | None]:
    """Run what can run elsewhere on a cluster, inside the block.

    Parameters
    ----------
    cluster
        A ``distributed.Client``; the address of a scheduler, such as ``"tcp://host:8786"``; ``"local"`` or
        ``"local:4"`` for processes on this machine with one thread each, which end with the block; or ``None`` for the
        threads of this process. A script that asks for local processes needs ``if __name__ == "__main__":``, since
        each of them imports it.

    Examples
    --------
    >>> import spinney
    >>> text = [["the", "dog", "barks"], ["the", "cat", "sleeps"]] * 10
    >>> with spinney.on(None):  # or "local:2", or "tcp://host:8786"
    ...     model = spinney.classes.fit(text, method="brown", classes=2)
    """
    if cluster is None:
        with running_on(None):
            yield None
        return
    with ExitStack() as stack:
        client = stack.enter_context(client_of(cluster))
        engine = stack.enter_context(closing(Cluster(client)))
        log.info("%s", engine.described())
        stack.enter_context(running_on(engine))
        yield engine


def spread(recipe: Callable[P, R]) -> Callable[P, R]:
    """Let a recipe do its work where its setting ``cluster`` says, or the variable ``SPINNEY_CLUSTER``.

    The variable counts only where no cluster is active yet, and never inside a task of one.
    """

    @functools.wraps(recipe)
    def placed(*data: P.args, **given: P.kwargs) -> R:
        settings = next((one for one in (*data, given.get("settings")) if isinstance(one, Settings)), None)
        named: Any = given.get("cluster") if settings is None else getattr(settings, "cluster", None)
        if named is not None:
            if not isinstance(named, str):
                raise SettingError("{cluster} must be text, not {value}", value=type(named).__name__)
        elif not (elsewhere() or is_alone()):
            named = os.environ.get(VARIABLE) or None
        if named is None:
            return recipe(*data, **given)
        with on(named):
            return recipe(*data, **given)

    return placed
