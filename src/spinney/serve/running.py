"""A server of models, from a free port to a graceful end."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from spinney.errors import OptionError, SettingError, one_line
from spinney.progress import log
from spinney.settings import Settings, settings_or
from spinney.settings.serve import Serve

if TYPE_CHECKING:
    import uvicorn

    from spinney.serve.models import Served

_CONNECTIONS = 2000  # open at a time; others get 503


def serve(
    models: Sequence[str],
    settings: Settings | None = None,
    *,
    ready: Callable[[str, list[str]], None] = lambda url, names: None,
    **given: Any,
) -> None:
    """Serve model files until the process is interrupted (Ctrl-C) or terminated.

    Parameters
    ----------
    models
        Model files; a request names each by its file without ``.spinney``.
    settings
        A :class:`spinney.settings.serve.Serve`; or give its fields by name.
    ready
        Called with the address and the names of the models once requests are accepted.

    Examples
    --------
    >>> serve(["missing.spinney"], port=0)
    Traceback (most recent call last):
    spinney.errors.ModelFileError: missing.spinney: no such file
    """
    s = settings_or(Serve, settings, given)
    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise OptionError(f"serving needs the package {package}: pip install 'spinney[serve]'")
    from spinney.serve.application import is_loopback
    from spinney.serve.models import load_models

    with listening(s) as sock:  # before models are loaded, which may take long
        served = load_models(models)
        if not is_loopback(s.host):
            log.warning(
                "%s can be reached by other machines, and the server asks nobody for a password", s.host
            )
        ready(address(sock, s.host), list(served))
        server(served, s).run(sockets=[sock])


def server(served: Mapping[str, Served], s: Serve) -> uvicorn.Server:
    """A server of loaded models, which is not running yet."""
    import uvicorn

    from spinney.serve.application import application

    config = uvicorn.Config(
        application(served, s),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS,
        # What runs may end within its own limit. Signals are Uvicorn's until then, and are raised again at the end.
        timeout_graceful_shutdown=math.ceil(s.timeout) + 1,
    )
    return uvicorn.Server(config)


def listening(s: Serve) -> socket.socket:
    """A socket on which requests can arrive.

    Examples
    --------
    >>> with listening(Serve(port=0)) as sock:
    ...     address(sock, "127.0.0.1").startswith("http://127.0.0.1:")
    True
    """
    try:
        found = socket.getaddrinfo(s.host, s.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, where = found[0]
        sock = socket.create_server(where[:2], family=family, backlog=1024)
        # Connections inherit it. Otherwise the end of an answer would wait 40 ms until its beginning is acknowledged.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
    except OSError as error:
        why = str(error) if error.errno is None or error.errno < 0 else os.strerror(error.errno)
        raise SettingError(
            "cannot listen on {at}: {why} (choose another {port} or {host})",
            at=f"{s.host}:{s.port}",
            why=one_line(why.lower()),
        ) from None


def address(sock: socket.socket, host: str) -> str:
    """The address of a server."""
    port = sock.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
