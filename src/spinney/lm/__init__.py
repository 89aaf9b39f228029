"""Language models: smoothed n-grams, Bayesian ones, log-linear models on the suffix trie, and mixtures of them all."""

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
from spinney.lm.pitman_yor import pitman_yor
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
