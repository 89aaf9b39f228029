"""Tree CRFs: log-linear models of labelled dependency trees, of first and second order."""

from spinney.parsing.treecrf.parser import TreeParser

__all__ = ["TreeParser"]
