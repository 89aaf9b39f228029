"""Models behind HTTP: JSON in and out, an OpenAPI description, and one page to type into."""

from spinney.serve.running import serve

__all__ = ["serve"]
