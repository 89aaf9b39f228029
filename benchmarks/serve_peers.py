"""The peers of ``serve``: bare Starlette endpoints around a CRFsuite tagger and a scikit-learn pipeline.

``python -m benchmarks.serve_peers crfsuite|sklearn MODEL`` listens on a free port, and says on which.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.crf import _features


def crfsuite_labels(model: str) -> Callable[[Any], list[str]]:
    """A function from rows of words and tags to labels."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    return lambda rows: [str(label) for label in tagger.tag(_features(rows))]


def _tags(model: str) -> Callable[[Any], Any]:
    label = crfsuite_labels(model)
    return lambda asked: {"sentences": [{"labels": label(rows)} for rows in asked["tokens"]]}


def _classes(model: str) -> Callable[[Any], Any]:
    import pickle
    from pathlib import Path

    pipeline = pickle.loads(Path(model).read_bytes())
    names = [str(label) for label in pipeline.classes_]

    def answer(asked: Any) -> Any:
        chances = pipeline.predict_proba([asked["text"]])[0].tolist()
        return {"predictions": [{"proba": dict(zip(names, chances))}]}

    return answer


def main(kind: str, model: str) -> None:
    """Serve a model until the process is stopped."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    answer = {"crfsuite": _tags, "sklearn": _classes}[kind](model)

    async def endpoint(request: Request) -> JSONResponse:
        return JSONResponse(answer(await request.json()))

    app = Starlette(routes=[Route("/", endpoint, methods=["POST"])])
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        print(json.dumps({"url": f"http://127.0.0.1:{sock.getsockname()[1]}"}), flush=True)
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[sock])


if __name__ == "__main__":
    main(*sys.argv[1:3])
