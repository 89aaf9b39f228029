"""Parsers: grammars with latent states, learned by EM, from spectral moments or from clusters; of dependencies, too.

:class:`Parser` learns constituents from bracketed trees, :class:`HeadAutomata` learns dependencies of tags, and
:class:`TreeParser` dependencies with their relations (:mod:`~spinney.parsing.treecrf`). The parts of a grammar are in
modules of their own: trees are cleaned (:mod:`~spinney.parsing.cleaning`), binarised
(:mod:`~spinney.parsing.binarising`) and converted to arrays (:mod:`~spinney.parsing.treearrays`); a
:class:`~spinney.parsing.grammar.Grammar` has rules and their numbers; sentences become forests
(:mod:`~spinney.parsing.forest`), which all decoders share.
"""

from spinney.parsing.automata import HeadAutomata
from spinney.parsing.binarising import Binarisation
from spinney.parsing.cleaning import clean_tree, read_treebank
from spinney.parsing.dependencies import to_dependencies
from spinney.parsing.headrules import COLLINS, HeadRules
from spinney.parsing.parser import Bracket, Parser
from spinney.parsing.recipes import fit
from spinney.parsing.text import dependency_parser, trees_of
from spinney.parsing.treecrf import TreeParser

__all__ = [
    "COLLINS",
    "Binarisation",
    "Bracket",
    "HeadAutomata",
    "HeadRules",
    "Parser",
    "TreeParser",
    "clean_tree",
    "dependency_parser",
    "fit",
    "read_treebank",
    "to_dependencies",
    "trees_of",
]
