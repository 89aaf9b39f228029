"""Models behind HTTP: JSON in and out, an OpenAPI description, and one page to type into.

:func:`serve` does what ``spinney serve`` does; :func:`application` is the ASGI application alone, for another server.
It needs the extra ``serve``.
"""

from spinney.serve.application import application
from spinney.serve.models import Served, load_models
from spinney.serve.running import serve

__all__ = ["Served", "application", "load_models", "serve"]
