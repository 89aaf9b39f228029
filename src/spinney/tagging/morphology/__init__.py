"""Morphological tagging: UPOS, XPOS and FEATS of CoNLL-U in one go, by a CRF over composed labels."""

from spinney.tagging.morphology.tagger import MorphTagger

__all__ = ["MorphTagger"]
