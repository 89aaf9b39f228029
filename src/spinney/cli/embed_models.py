"""The models of ``spinney embed``, out of their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spinney.cli.structures import is_model, word_vectors
from spinney.errors import InputError

if TYPE_CHECKING:
    from spinney.embed import Embedding, MomentTopics, SpectralHMM
    from spinney.structure import WordVectors

    EmbedModel = Embedding | SpectralHMM | MomentTopics


def load_model(path: str) -> EmbedModel:
    """The model in a file that ``spinney embed fit`` wrote."""
    from spinney.embed import Embedding, MomentTopics, SpectralHMM
    from spinney.files import read_model

    file = read_model(path, "embed")
    if file.kind == "embed/Embedding":
        return Embedding.load(path)
    if file.kind == "embed/SpectralHMM":
        return SpectralHMM.load(path)
    if file.kind == "embed/MomentTopics":
        return MomentTopics.load(path)
    raise InputError(f"a model of the kind {file.kind}, which has no command", path=path)


def load_any(path: str) -> EmbedModel | WordVectors:
    """A model of ``spinney embed``, or the vectors of any other file that has some."""
    from spinney.files import read_model

    if is_model(path) and read_model(path).kind.startswith("embed/"):
        return load_model(path)
    return word_vectors(path)
