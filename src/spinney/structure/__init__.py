"""The four types that carry structure from the learners that find it to the models that use it."""

from spinney.structure.classtree import ClassTree
from spinney.structure.groups import Groups
from spinney.structure.wordclasses import WordClasses
from spinney.structure.wordvectors import WordVectors

__all__ = ["ClassTree", "Groups", "WordClasses", "WordVectors"]
