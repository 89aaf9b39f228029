"""Model files of word classes, whatever made them."""

from __future__ import annotations

from spinney.classes.clustering import Clustering
from spinney.classes.hidden import HiddenMarkov
from spinney.errors import InputError
from spinney.files import FilePath, read_model
from spinney.structure import WordClasses, WordVectors


def load_word_model(path: FilePath) -> Clustering | HiddenMarkov:
    """The model in a file that ``spinney classes fit`` wrote."""
    if read_model(path, "classes").kind == "classes/Clustering":
        return Clustering.load(path)
    return HiddenMarkov.load(path)


def load_classes(path: FilePath) -> WordClasses:
    """The class of each word: of a clustering, or the most frequent one of a hidden Markov model."""
    model = load_word_model(path)
    return model.classes if isinstance(model, Clustering) else model.word_classes()


def load_vectors(path: FilePath) -> WordVectors:
    """P(class | word) of a hidden Markov model: a vector for each word."""
    model = load_word_model(path)
    if isinstance(model, Clustering):
        raise InputError(
            "a clustering has one class a word, and no vectors",
            path=str(path),
            remedy="use its classes, or fit with --method hmm",
        )
    return model.word_vectors()
