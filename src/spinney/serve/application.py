"""The application: addresses, and what becomes of a request on its way to a model and back."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import uuid
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

import spinney
from spinney.errors import SpinneyError, did_you_mean, shown
from spinney.escaping import json_line
from spinney.parallel import default_threads
from spinney.progress import log
from spinney.serve.drawing import text_views
from spinney.serve.inputs import given, open_settings, parsed
from spinney.serve.models import Served, views_json
from spinney.serve.openapi import description
from spinney.serve.page import page
from spinney.serve.refusing import Refused
from spinney.serve.work import Busy, Deadline, TooLate, Work
from spinney.settings.serve import Serve

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Endpoint = Callable[["Request"], Awaitable["Response"]]

#: What goes with every answer. The page itself has a policy of its own, which allows its style and script.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_NOTHING = "default-src 'none'; frame-ancestors 'none'"
_ON_THE_PAGE = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def application(models: Mapping[str, Served], settings: Serve | None = None) -> Starlette:
    """An ASGI application that serves models.

    Examples
    --------
    >>> from spinney.serve.models import Served
    >>> from spinney.structure import WordClasses
    >>> app = application({"words": Served("words", WordClasses(["the", "a"], [0, 0]))})
    >>> [route.path for route in app.routes][:3]
    ['/', '/health', '/openapi.json']
    """
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.routing import Route

    s = Serve() if settings is None else settings
    answers = Answers(models, s)

    def route(path: str, endpoint: Endpoint, method: str = "GET") -> Route:
        return Route(path, _careful(endpoint), methods=[method])

    return Starlette(
        routes=[
            route("/", answers.page),
            route("/health", answers.health),
            route("/openapi.json", answers.openapi),
            route("/models", answers.models_there),
            route("/models/{name}/inspect", answers.inspect),
            route("/models/{name}/neighbours", answers.neighbours),
            route("/models/{name}/apply", answers.apply, "POST"),
            route("/models/{name}/view", answers.view, "POST"),
            route("/models/{name}/explain", answers.explain, "POST"),
        ],
        middleware=[Middleware(Guard, host=s.host)],
        exception_handlers={HTTPException: _not_found},
    )


class Answers:
    """The answers to all addresses."""

    def __init__(self, models: Mapping[str, Served], settings: Serve) -> None:
        self.models, self.settings = models, settings
        self.work = Work(settings.threads or default_threads(), settings.queue)
        self._page, self._openapi = page(list(models.values())), json_line(description(models))

    # -- about the server -----------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """The page to type into."""
        return _response(self._page, "text/html; charset=utf-8", policy=_ON_THE_PAGE)

    async def health(self, request: Request) -> Response:
        """Whether the server answers, and how much it has to do."""
        work = self.work
        told = {"status": "ok", "version": spinney.__version__, "models": len(self.models), "load": work.load}
        return _json(json_line({**told, "threads": work.threads, "queue": work.waiting}))

    async def openapi(self, request: Request) -> Response:
        """The description of all this."""
        return _response(self._openapi, "application/json")

    async def models_there(self, request: Request) -> Response:
        """The models, and what each can be asked."""
        found = [
            {"name": one.name, "kind": one.kind, "task": one.task, "can": one.can, "settings": _settings(one)}
            for one in self.models.values()
        ]
        return _json(json_line({"models": found}))

    # -- about a model --------------------------------------------------------------------------------

    async def apply(self, request: Request) -> Response:
        """What the model says of a text."""
        served, body = self._model(request), await self._body(request)
        return _json(await self._done(lambda deadline: served.answer(given(parsed(body)), deadline)))

    async def view(self, request: Request) -> Response:
        """The same, drawn for a person."""
        from spinney.report.html import html

        served, body = self._model(request), await self._body(request)
        drawn = await self._done(
            lambda deadline: str(html(text_views(served, given(parsed(body)), deadline)))
        )
        return _response(drawn, "text/html; charset=utf-8")

    async def explain(self, request: Request) -> Response:
        """Why it says so."""
        served, body = self._model(request), await self._body(request)
        told = await self._done(lambda deadline: views_json(served.explained(given(parsed(body)), deadline)))
        return _json(told)

    async def inspect(self, request: Request) -> Response:
        """What the model learned, as JSON or as HTML."""
        from spinney.report.html import html

        served, query = self._model(request), dict(request.query_params)
        as_what = query.pop("as", "json")
        if as_what not in ("json", "html"):
            raise Refused(422, f"must be json or html, not {shown(as_what)}", field="as")
        if as_what == "json":
            return _json(await self._done(lambda deadline: views_json(served.inspected(query))))
        drawn = await self._done(lambda deadline: str(html(served.inspected(query))))
        return _response(drawn, "text/html; charset=utf-8")

    async def neighbours(self, request: Request) -> Response:
        """The words most similar to a word."""
        served, query = self._model(request), dict(request.query_params)
        word = query.pop("word", "")
        if not word:
            raise Refused(422, "name a word: ?word=…", field="word")
        return _json(await self._done(lambda deadline: views_json(served.neighbours(word, query))))

    # -- how it is done -------------------------------------------------------------------------------

    def _model(self, request: Request) -> Served:
        name = request.path_params["name"]
        if name not in self.models:
            meant = did_you_mean(name, self.models)
            said = f"there is no model {shown(name)}; there are {', '.join(self.models)}"
            raise Refused(404, said + (f" ({meant})" if meant else ""))
        return self.models[name]

    async def _body(self, request: Request) -> bytes:
        """The body, which must be JSON, and neither too large nor too slow."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            # A page of another site can send forms and plain text without being asked, but not this.
            raise Refused(415, f"the content type must be application/json, not {shown(kind or 'none')}")
        largest = self.settings.largest_body
        too_large = Refused(
            413, f"the body is larger than {largest:,} bytes", headers={"Connection": "close"}
        )
        length = request.headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 12 or int(length) > largest):
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.settings.timeout):
                async for piece in request.stream():
                    body += piece
                    if len(body) > largest:
                        raise too_large
        except TimeoutError:
            said = f"the body did not arrive within {self.settings.timeout:g} seconds"
            raise Refused(408, said, headers={"Connection": "close"}) from None
        return bytes(body)

    async def _done(self, function: Callable[[Deadline], str]) -> str:
        """The result of a call on a thread, within the time limit."""
        deadline = Deadline(self.settings.timeout)
        try:
            future = self.work.begin(lambda: _in_time(function, deadline))
        except Busy:
            raise Refused(
                503, "too many requests wait: try again later", headers={"Retry-After": "1"}
            ) from None
        try:
            # A call that still waits for a thread is dropped when the time is over.
            return await asyncio.wait_for(asyncio.wrap_future(future), deadline.left)
        except (TimeoutError, TooLate):
            said = f"this took longer than {self.settings.timeout:g} seconds: send less text at a time"
            raise Refused(504, said) from None


def _in_time(function: Callable[[Deadline], str], deadline: Deadline) -> str:
    deadline.check()  # it may have waited too long for a thread
    return function(deadline)


def _settings(served: Served) -> dict[str, Any]:
    """What a request may set, with a line about each."""
    settings = served.settings("Apply")
    return {} if settings is None else {one.name: one.help for one in open_settings(settings)}


# ------------------------------------------------------------------------------------------------- responses


def _response(
    text: str, kind: str, status: int = 200, headers: Mapping[str, str] | None = None, policy: str = _NOTHING
) -> Response:
    from starlette.responses import Response

    more = {**_HEADERS, "Content-Security-Policy": policy, **(headers or {})}
    return Response(text.encode("utf-8", "replace"), status, headers=more, media_type=kind)


def _json(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return _response(text + "\n", "application/json", status, headers)


def _refusal(refused: Refused) -> Response:
    return _json(json_line(refused.told()), refused.status, refused.headers)


def _careful(endpoint: Endpoint) -> Endpoint:
    """The endpoint, whose errors are answers: a user's mistakes with their line, all others with a number alone."""

    @functools.wraps(endpoint)
    async def call(request: Request) -> Response:
        from starlette.requests import ClientDisconnect

        try:
            return await endpoint(request)
        except Refused as refused:
            return _refusal(refused)
        except SpinneyError as error:
            return _refusal(Refused(422, str(error)))
        except ClientDisconnect:
            return _json("{}", 499)  # nobody reads it
        except Exception:
            number = request.scope["request_id"]
            log.exception("request %s failed", number)
            return _json(json_line({"error": "internal error", "request": number}), 500)

    return call


async def _not_found(request: Request, error: Exception) -> Response:
    status: int = getattr(error, "status_code", 500)
    said = {404: "there is nothing at this address; /openapi.json has all", 405: "not by this method"}
    return _refusal(Refused(status, said.get(status, "refused"), headers=getattr(error, "headers", None)))


class Guard:
    """What stands before the application: every request has a number, and comes by a name that the server has.

    A page of any site can have its own name point to this machine (DNS rebinding), and would then be of the same origin
    as the server. On a loopback address, only the names of the machine for itself are answered.
    """

    def __init__(self, app: Any, host: str) -> None:
        self.app, self.loopback = app, is_loopback(host)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return
        number = uuid.uuid4().hex[:12]
        scope["request_id"] = number

        async def numbered(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", number.encode())]
            await send(message)

        if self.loopback and not _is_own(scope):
            said = "this server answers only to localhost and 127.0.0.1, not to the name in the Host header"
            await _refusal(Refused(421, said))(scope, receive, numbered)
            return
        await self.app(scope, receive, numbered)


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_own(scope: Mapping[str, Any]) -> bool:
    """Whether the one Host header names this machine."""
    hosts = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1:
        return False
    bare = (
        hosts[0].rpartition(":")[0]
        if hosts[0].rpartition(":")[2].isdecimal() and hosts[0].count("]") == 1
        else None
    )
    if bare is None:  # a name or an address of version 4, perhaps with a port
        bare = hosts[0].partition(":")[0] if hosts[0].count(":") == 1 else hosts[0]
    name = bare.removeprefix("[").removesuffix("]")
    return name in _LOOPBACK or is_loopback(name)
