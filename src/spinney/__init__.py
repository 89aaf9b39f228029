"""Spinney: small, sparse, readable models of text, and the structure that makes them so."""

__version__ = "0.1.0"
