"""The models of ``spinney embed``, out of their files and into them."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

from spinney.cli.structures import is_model, word_vectors
from spinney.cli.textfiles import Reading
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


def facts_of(model: EmbedModel, path: str) -> dict[str, Any]:
    """What the model was learnt from, and how."""
    from spinney.embed import MomentTopics
    from spinney.files import read_model

    if not isinstance(model, MomentTopics):
        return dict(model.facts_)
    kept = read_model(path).header.get("facts", {})
    return kept if isinstance(kept, dict) else {}


def reading_of(model: EmbedModel, path: str) -> Reading:
    """How other text is to be read for it."""
    return Reading.of(facts_of(model, path))


def save_topics(model: MomentTopics, path: str, facts: dict[str, Any]) -> None:
    """Write topics with what was read beside them: they keep no facts of their own."""
    from spinney.files import read_model, write_model

    with tempfile.TemporaryDirectory(prefix="spinney-") as folder:
        passing = os.path.join(folder, "topics")
        model.save(passing)
        file = read_model(passing)
        write_model(path, file.kind, file.header | {"facts": facts}, file.tensors, file.strings)
