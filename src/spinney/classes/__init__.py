"""Word classes learnt from text: Brown and exchange clustering, hidden Markov chains and trees.

:func:`~spinney.corpus.read_text` reads; :func:`pair_counts` with :func:`brown` or :func:`exchange` gives a
:class:`Clustering` (one class a word), :class:`HiddenMarkov` classes that depend on the context. Both give
:class:`~spinney.structure.WordClasses` for other models to use.
"""

from spinney.classes.brown import brown
from spinney.classes.clustering import Clustering, average_mutual_information
from spinney.classes.exchange import exchange
from spinney.classes.hidden import HiddenMarkov
from spinney.classes.loading import load_classes, load_vectors, load_word_model
from spinney.classes.pairs import PairCounts, pair_counts
from spinney.classes.placing import place
from spinney.classes.sampling import sample

__all__ = [
    "Clustering",
    "HiddenMarkov",
    "PairCounts",
    "average_mutual_information",
    "brown",
    "exchange",
    "load_classes",
    "load_vectors",
    "load_word_model",
    "pair_counts",
    "place",
    "sample",
]
