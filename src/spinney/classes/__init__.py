"""Word classes learned from text: Brown and exchange clustering, mixtures of pairs, hidden Markov chains and trees.

:func:`fit` learns from text by any method. Below it, :func:`pair_counts` with :func:`brown` or :func:`exchange` gives a
:class:`Clustering` (one class for each word), with :func:`learn_pairs` :class:`PairClasses` (several for each), and
:class:`HiddenMarkov` classes that depend on the context. All give :class:`~spinney.structure.WordClasses` for other
models to use.
"""

from spinney.classes.brown import brown
from spinney.classes.clustering import Clustering, average_mutual_information
from spinney.classes.exchange import exchange
from spinney.classes.features import ClassFeatures, PosteriorFeatures
from spinney.classes.hidden import HiddenMarkov
from spinney.classes.mixture import PairClasses, learn_pairs
from spinney.classes.model import WordClassModel
from spinney.classes.pairs import PairCounts, pair_counts
from spinney.classes.placing import place
from spinney.classes.recipes import fit
from spinney.classes.representations import token_rows
from spinney.classes.sampling import sample

__all__ = [
    "ClassFeatures",
    "Clustering",
    "HiddenMarkov",
    "PairClasses",
    "PairCounts",
    "PosteriorFeatures",
    "WordClassModel",
    "average_mutual_information",
    "brown",
    "exchange",
    "fit",
    "learn_pairs",
    "pair_counts",
    "place",
    "sample",
    "token_rows",
]
