"""``spinney serve``: models behind HTTP, until the process is told to stop."""

from __future__ import annotations

from spinney.cli.running import begin, print_json
from spinney.cli.streams import flush
from spinney.cli.verbs import Call
from spinney.escaping import printable


def serve(call: Call) -> int:
    """Serve models; an interrupt ends it, when what was begun is done."""
    begin(call)
    from spinney.serve import serve as serve_models

    def ready(url: str, names: list[str]) -> None:
        if call.json:
            print_json({"url": url, "models": names})
        else:
            print(printable(f"Serving {', '.join(names)} on {url} (Ctrl-C stops)"))
        flush()

    serve_models(call.arguments["models"], call.settings, ready=ready)
    return 0
