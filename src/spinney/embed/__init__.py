"""Vectors of words, hidden states and topics, by decomposing counts.

:func:`fit` learns from text by any method. Below it, :class:`Embedding` learns
:class:`~spinney.structure.WordVectors`: eigenwords and their kin, or sparse codes.
:class:`SpectralHMM` and :class:`MomentTopics` learn latent-variable models from moments, without iterations.
:class:`CCA` and :class:`CanonicalRegression` take any two views of the same examples, as matrices.
"""

from typing import TYPE_CHECKING

from spinney.importing import lazy

if TYPE_CHECKING:
    from spinney.embed.cca import CCA
    from spinney.embed.counts import ContextCounts, count_contexts, window
    from spinney.embed.embedding import Embedding
    from spinney.embed.features import TopicFeatures, VectorFeatures
    from spinney.embed.model import EmbedModel
    from spinney.embed.recipes import fit
    from spinney.embed.recovery import HMMParameters, recover_parameters
    from spinney.embed.regression import CanonicalRegression, PrincipalRegression
    from spinney.embed.sparse_coding import SparseCoding
    from spinney.embed.spectral_hmm import SpectralHMM
    from spinney.embed.stochastic_coding import StochasticCoding
    from spinney.embed.topics import MomentTopics
    from spinney.embed.triples import hidden_markov, three_views, word_triples
    from spinney.embed.weighting import correlations, pmi

__all__ = [
    "CCA",
    "CanonicalRegression",
    "ContextCounts",
    "EmbedModel",
    "Embedding",
    "HMMParameters",
    "MomentTopics",
    "PrincipalRegression",
    "SparseCoding",
    "SpectralHMM",
    "StochasticCoding",
    "TopicFeatures",
    "VectorFeatures",
    "correlations",
    "count_contexts",
    "fit",
    "hidden_markov",
    "pmi",
    "recover_parameters",
    "three_views",
    "window",
    "word_triples",
]

#: Where the names are that are imported only when they are used.
_EXPORTS = {
    "spinney.embed.cca": ("CCA",),
    "spinney.embed.counts": ("ContextCounts", "count_contexts", "window"),
    "spinney.embed.embedding": ("Embedding",),
    "spinney.embed.features": ("TopicFeatures", "VectorFeatures"),
    "spinney.embed.model": ("EmbedModel",),
    "spinney.embed.recipes": ("fit",),
    "spinney.embed.recovery": ("HMMParameters", "recover_parameters"),
    "spinney.embed.regression": ("CanonicalRegression", "PrincipalRegression"),
    "spinney.embed.sparse_coding": ("SparseCoding",),
    "spinney.embed.spectral_hmm": ("SpectralHMM",),
    "spinney.embed.stochastic_coding": ("StochasticCoding",),
    "spinney.embed.triples": ("hidden_markov", "three_views", "word_triples"),
    "spinney.embed.topics": ("MomentTopics",),
    "spinney.embed.weighting": ("correlations", "pmi"),
}
__getattr__ = lazy(__name__, _EXPORTS)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
