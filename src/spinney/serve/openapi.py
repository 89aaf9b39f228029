"""The description of a server in the form of OpenAPI 3.1, made from its models and their settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

import spinney
from spinney.serve.inputs import LARGEST, open_settings
from spinney.serve.models import Served
from spinney.settings import REQUIRED, Setting

_ERRORS = {
    "400": "The body is not JSON.",
    "404": "There is no such model, or it cannot do this.",
    "408": "The body did not arrive in time.",
    "413": "The body or the answer is too large.",
    "415": "The content type is not application/json.",
    "422": "A field or setting is wrong; `field` says which.",
    "500": "An error of the server; `request` is its number in the log.",
    "503": "Too many requests wait; the header Retry-After says when to try again.",
    "504": "The request took too long.",
}
_OF_A_BODY = {"400", "408", "413", "415"}
_INPUT = {
    "text": {"type": "string", "description": "A text."},
    "texts": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "Several texts."},
    "tokens": {
        "type": "array",
        "minItems": 1,
        "description": "Sentences in words; for models that look at several columns, a word is a list of its cells.",
        "items": {
            "type": "array",
            "items": {
                "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]
            },
        },
    },
    "format": {
        "enum": ["prose", "lines"],
        "default": "prose",
        "description": "How text is split: prose into sentences and tokens; lines at line ends and spaces.",
    },
}


def description(models: Mapping[str, Served]) -> dict[str, Any]:
    """The whole description.

    Examples
    --------
    >>> from spinney.structure import WordClasses
    >>> told = description({"words": Served("words", WordClasses(["the", "a"], [0, 0]))})
    >>> told["openapi"], sorted(told["paths"])
    ('3.1.0', ['/', '/health', '/models', '/models/words/inspect', '/openapi.json'])
    """
    paths: dict[str, Any] = {
        "/": {"get": _get("page", "The page to type into.", "text/html")},
        "/health": {"get": _get("health", "Whether the server answers, and how much it has to do.")},
        "/openapi.json": {"get": _get("openapi", "This description.")},
        "/models": {"get": _get("models", "The models, and what each can be asked.")},
    }
    for number, served in enumerate(models.values()):
        for verb in served.can:
            paths[f"/models/{quote(served.name)}/{verb}"] = _VERBS[verb](served, f"{verb}_{number}")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Spinney",
            "version": spinney.__version__,
            "description": "Small, sparse, readable models of text.",
        },
        "paths": paths,
        "components": {
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["error"],
                    "properties": {
                        "error": {"type": "string"},
                        "field": {"type": "string"},
                        "request": {"type": "string"},
                    },
                }
            }
        },
    }


def _get(name: str, about: str, kind: str = "application/json") -> dict[str, Any]:
    return {"operationId": name, "summary": about, "responses": {"200": _found(about, kind)}}


def _found(
    about: str, kind: str = "application/json", schema: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {"description": about, "content": {kind: {"schema": schema or _anything(kind)}}}


def _anything(kind: str) -> dict[str, Any]:
    return {"type": "object"} if kind == "application/json" else {"type": "string"}


def _errors(body: bool) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {
        status: _found(about, schema=schema)
        for status, about in _ERRORS.items()
        if body or status not in _OF_A_BODY
    }


def _post(
    served: Served, name: str, about: str, answer: dict[str, Any], chosen: Iterable[Setting] = ()
) -> dict[str, Any]:
    properties = dict(_INPUT)
    if settings := {setting.name: schema_of(setting) for setting in chosen}:
        properties["settings"] = {
            "type": "object",
            "additionalProperties": False,
            "properties": settings,
            "description": "Settings of apply, instead of those that are usual here.",
        }
    schema = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "oneOf": [{"required": [field]} for field in ("text", "texts", "tokens")],
    }
    return {
        "post": {
            "operationId": name,
            "summary": about,
            "tags": [served.name],
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
            "responses": {"200": answer, **_errors(body=True)},
        }
    }


def _apply(served: Served, name: str) -> dict[str, Any]:
    settings = served.settings("Apply")
    chosen = [] if settings is None else open_settings(settings)
    about = (
        f"Apply the model ({served.kind}): a record for each sentence or text, as `apply --json` prints them."
    )
    return _post(served, name, about, _found("The records."), chosen)


def _view(served: Served, name: str) -> dict[str, Any]:
    return _post(
        served, name, "What the model makes of a text, drawn.", _found("A part of a page.", "text/html")
    )


def _explain(served: Served, name: str) -> dict[str, Any]:
    return _post(served, name, "Why the model says what it says.", _found("The reasons."))


def _inspect(served: Served, name: str) -> dict[str, Any]:
    as_what = {
        "name": "as",
        "in": "query",
        "schema": {"enum": ["json", "html"], "default": "json"},
        "description": "The form of the answer.",
    }
    return _asked(served, name, "What the model learned.", "Inspect", [as_what])


def _neighbours(served: Served, name: str) -> dict[str, Any]:
    word = {
        "name": "word",
        "in": "query",
        "required": True,
        "schema": {"type": "string"},
        "description": "The word.",
    }
    return _asked(served, name, "The words most similar to a word.", "Neighbours", [word])


def _asked(served: Served, name: str, about: str, verb: str, first: list[dict[str, Any]]) -> dict[str, Any]:
    settings = served.settings(verb)
    parameters = [
        {"name": setting.name, "in": "query", "schema": schema_of(setting), "description": setting.help}
        for setting in ([] if settings is None else open_settings(settings))
    ]
    return {
        "get": {
            "operationId": name,
            "summary": about,
            "tags": [served.name],
            "parameters": first + parameters,
            "responses": {"200": _found(about), **_errors(body=False)},
        }
    }


_VERBS = {"apply": _apply, "view": _view, "explain": _explain, "inspect": _inspect, "neighbours": _neighbours}


def schema_of(setting: Setting) -> dict[str, Any]:
    """The schema of a setting's values.

    Examples
    --------
    >>> from spinney.settings import settings_of
    >>> from spinney.settings.tag import Apply
    >>> schema_of({setting.name: setting for setting in settings_of(Apply)}["nbest"])["maximum"]
    100
    """
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    one: dict[str, Any] = {"type": kinds[setting.kind]} if setting.kind in kinds else {}
    if setting.choices and not setting.open:
        one = {"type": "string", "enum": list(setting.choices)}
    if setting.kind is int and not setting.optional:
        one |= {"maximum": LARGEST}
    schema = {"type": "array", "items": one} if setting.several else one
    if setting.optional:
        schema = {"anyOf": [schema, {"type": "null"}]}
    default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    return {**schema, "description": setting.help} | ({} if default is REQUIRED else {"default": default})
