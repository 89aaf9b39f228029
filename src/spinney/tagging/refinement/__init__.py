"""Taggers whose labels have hidden refinements, learned by moments or by EM."""

from spinney.tagging.refinement.tagger import RefinementTagger

__all__ = ["RefinementTagger"]
