"""Spinney's models inside of spaCy: where their bytes are kept, and what is set on documents."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from spinney.errors import InputError, SpinneyError, did_you_mean_file

_FILE = "model.spinney"
#: What spaCy's own taggers give to white space.
SPACES = {"tag": "_SP", "pos": "SPACE"}


class Component:
    """A model in a spaCy pipeline: it annotates documents, some at a time.

    The file is opened when the component is made, if it is there; it may be missing, for a pipeline that is loaded
    brings its own. A component that has no model when a text comes says so.
    """

    #: What the model must be: the beginning of its kind, and the command that makes one.
    kinds: ClassVar[tuple[str, ...]]
    made_by: ClassVar[str]

    def __init__(self, name: str, model: str | None) -> None:
        self.name = name
        self._bytes: bytes | None = None
        self._opened: Any = None
        self._missing = f"give config={{'model': FILE}}, a file made by {self.made_by}"
        self._register()
        if model is not None and os.path.exists(model):
            self._take(read_bytes(model), model)
        elif model is not None:
            self._missing = str(
                InputError(
                    "no such file", path=model, remedy=did_you_mean_file(model) or f"see {self.made_by}"
                )
            )

    @property
    def spinney_model(self) -> Any:
        """The model; an error that says what to do if there is none.

        It is not called ``model``: spaCy asks every component for that name when it links them, in an order that
        changes from one process to the next, and expects an ``AttributeError`` at most.
        """
        if self._opened is None:
            if self._bytes is None:
                raise InputError(f"{self.name} has no model: {self._missing}")
            self._opened = self._load(self._bytes, self.name)
        return self._opened

    def _take(self, data: bytes, name: str) -> None:
        self._opened = self._load(data, name)
        self._bytes = data

    def _load(self, data: bytes, name: str) -> Any:
        """The model that the bytes of a file are."""
        from spinney.kinds import load

        with tempfile.TemporaryDirectory(prefix="spinney-") as folder:
            path = os.path.join(folder, _FILE)
            Path(path).write_bytes(data)
            try:
                found = load(path)
            except SpinneyError as error:
                raise InputError(str(error).replace(path, name)) from None
        kind = str(getattr(found, "kind", ""))
        if not kind.startswith(self.kinds):
            raise InputError(
                f"contains a model of the kind {kind}", path=name, remedy=f"give one of {self.made_by}"
            )
        self._check(found, name)
        return found

    def _check(self, model: Any, name: str) -> None:
        """Refuse a model that cannot do what the component is for."""

    def _register(self) -> None:
        """Make the extensions that the component sets."""

    def annotate(self, docs: Sequence[Any]) -> None:
        """Annotate documents."""
        raise NotImplementedError

    # -- what spaCy calls ---------------------------------------------------------------------------------

    def __call__(self, doc: Any) -> Any:
        """Annotate one document."""
        self.annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Any], *, batch_size: int = 128) -> Iterator[Any]:
        """Annotate documents, a batch at a time."""
        from spinney.corpus.waiting import in_batches

        for docs in in_batches(stream, batch_size):
            self.annotate(docs)
            yield from docs

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The bytes of the model file."""
        return b"" if self._bytes is None else self._bytes

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Take what :meth:`to_bytes` gave."""
        if data:
            self._take(data, self.name)
        return self

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Write the model file into a folder."""
        from spinney.corpus import writing_bytes

        Path(path).mkdir(parents=True, exist_ok=True)
        if self._bytes is not None:
            with writing_bytes(os.path.join(path, _FILE)) as file:
                file.write(self._bytes)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> Self:
        """Take what :meth:`to_disk` wrote."""
        file = os.path.join(path, _FILE)
        if os.path.exists(file):
            self._take(read_bytes(file), file)
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Another process opens the model again: what is compiled or mapped does not travel.
        return {**self.__dict__, "_opened": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._register()


def read_bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", path=path) from None


def sentences_of(doc: Any) -> list[list[Any]]:
    """The tokens of each sentence, or of the document if no sentences are marked, without white space."""
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc]
    found = ([token for token in span if not token.is_space] for span in spans)
    return [tokens for tokens in found if tokens]


def extend(kind: str, name: str, default: Any) -> None:
    import spacy.tokens

    owner = getattr(spacy.tokens, kind)
    if not owner.has_extension(name):
        owner.set_extension(name, default=default)


def set_heads(
    doc: Any, sentences: list[list[Any]], heads: Sequence[Sequence[int]], relations: Sequence[Sequence[str]]
) -> None:
    """Set all heads at once; white space hangs on the token before it, or on the first one after."""
    import numpy as np
    from spacy.attrs import DEP, HEAD

    head_of, relation_of = list(range(len(doc))), [""] * len(doc)
    for tokens, above, names in zip(sentences, heads, relations):
        for token, head, name in zip(tokens, above, names):
            head_of[token.i], relation_of[token.i] = tokens[head - 1].i if head else token.i, name
    words = [token.i for tokens in sentences for token in tokens]
    before = words[0] if words else 0
    for token in doc:
        if token.is_space:
            head_of[token.i], relation_of[token.i] = before, "dep"
        else:
            before = token.i
    distances = np.array(head_of, np.int64) - np.arange(len(doc))
    hashes = np.array([doc.vocab.strings.add(name) if name else 0 for name in relation_of], np.uint64)
    doc.from_array([HEAD, DEP], np.column_stack([distances.astype(np.uint64), hashes]))
