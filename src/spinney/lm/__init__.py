"""Language models: smoothed n-grams, Bayesian ones, log-linear models on the suffix trie, and mixtures of them all."""

from typing import TYPE_CHECKING

from spinney.importing import lazy
from spinney.lm.pitman_yor import pitman_yor

if TYPE_CHECKING:
    from spinney.lm.arpa import read_arpa, write_arpa
    from spinney.lm.backoff import BackoffModel
    from spinney.lm.cache import CacheModel
    from spinney.lm.classbased import ClassModel, ClassTargetModel, fit_class_model, fit_class_targets
    from spinney.lm.discounts import DiscountWarning
    from spinney.lm.external import external_trie
    from spinney.lm.flat import FlatModel
    from spinney.lm.hierarchical import HierarchicalModel, fit_hierarchical
    from spinney.lm.loglinear import LogLinearModel, fit_loglinear, fit_loglinear_path
    from spinney.lm.memoizer import SequenceMemoizer, sequence_memoizer
    from spinney.lm.mixture import LinearMixture, LogLinearMixture, fit_linear, fit_log_linear
    from spinney.lm.model import LanguageModel, Perplexity, load_language_model
    from spinney.lm.recipes import export, fit, import_arpa, mix, sample
    from spinney.lm.smoothing import METHODS, fit_ngram
    from spinney.lm.suffixtrie import SuffixTrie, suffix_trie
    from spinney.lm.wordtree import huffman_tree, tree_of_classes

__all__ = [
    "METHODS",
    "BackoffModel",
    "CacheModel",
    "ClassModel",
    "ClassTargetModel",
    "DiscountWarning",
    "FlatModel",
    "HierarchicalModel",
    "LanguageModel",
    "LinearMixture",
    "LogLinearMixture",
    "LogLinearModel",
    "Perplexity",
    "SequenceMemoizer",
    "SuffixTrie",
    "export",
    "external_trie",
    "fit",
    "fit_class_model",
    "fit_class_targets",
    "fit_hierarchical",
    "fit_linear",
    "fit_log_linear",
    "fit_loglinear",
    "fit_loglinear_path",
    "fit_ngram",
    "huffman_tree",
    "import_arpa",
    "load_language_model",
    "mix",
    "pitman_yor",
    "read_arpa",
    "sample",
    "sequence_memoizer",
    "suffix_trie",
    "tree_of_classes",
    "write_arpa",
]

#: Where the names are that are imported only when they are used.
_EXPORTS = {
    "spinney.lm.arpa": ("read_arpa", "write_arpa"),
    "spinney.lm.backoff": ("BackoffModel",),
    "spinney.lm.cache": ("CacheModel",),
    "spinney.lm.classbased": ("ClassModel", "ClassTargetModel", "fit_class_model", "fit_class_targets"),
    "spinney.lm.discounts": ("DiscountWarning",),
    "spinney.lm.external": ("external_trie",),
    "spinney.lm.flat": ("FlatModel",),
    "spinney.lm.hierarchical": ("HierarchicalModel", "fit_hierarchical"),
    "spinney.lm.loglinear": ("LogLinearModel", "fit_loglinear", "fit_loglinear_path"),
    "spinney.lm.memoizer": ("SequenceMemoizer", "sequence_memoizer"),
    "spinney.lm.mixture": ("LinearMixture", "LogLinearMixture", "fit_linear", "fit_log_linear"),
    "spinney.lm.model": ("LanguageModel", "Perplexity", "load_language_model"),
    "spinney.lm.recipes": ("export", "fit", "import_arpa", "mix", "sample"),
    "spinney.lm.smoothing": ("METHODS", "fit_ngram"),
    "spinney.lm.suffixtrie": ("SuffixTrie", "suffix_trie"),
    "spinney.lm.wordtree": ("huffman_tree", "tree_of_classes"),
}
__getattr__ = lazy(__name__, _EXPORTS)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
