"""Spinney's models as components of spaCy pipelines (extra ``spacy``).

spaCy finds the factories by their entry points: after ``pip install 'spinney[spacy]'``,
``nlp.add_pipe("spinney_ner", config={"model": "names.spinney"})`` is all that it takes. A pipeline that was saved holds
the bytes of the model files, and needs them no more.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Self

from spinney.errors import InputError, OptionError, SpinneyError, did_you_mean_file, unknown_choice

_FILE = "model.spinney"
#: What the columns of a tagger can be.
_ATTRIBUTES = ("text", "lower_", "lemma_", "tag_", "pos_", "shape_", "dep_", "ent_type_")
#: How CoNLL-U calls what a word of a text was made of, and how spaCy does.
_WORDS = {"form": "text", "lemma": "lemma_", "upos": "pos_", "xpos": "tag_"}
_SPACES = {"tag": "_SP", "pos": "SPACE"}  # what spaCy's own taggers give to white space


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
            self._take(_read(model), model)
        elif model is not None:
            self._missing = str(
                InputError(
                    "no such file", path=model, remedy=did_you_mean_file(model) or f"see {self.made_by}"
                )
            )

    @property
    def model(self) -> Any:
        """The model."""
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
            self._take(_read(file), file)
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Another process opens the model again: what is compiled or mapped does not travel.
        return {**self.__dict__, "_opened": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._register()


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", path=path) from None


def _sentences(doc: Any) -> list[list[Any]]:
    """The tokens of each sentence, or of the document if no sentences are marked, without white space."""
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc]
    found = ([token for token in span if not token.is_space] for span in spans)
    return [tokens for tokens in found if tokens]


def _extend(kind: str, name: str, default: Any) -> None:
    import spacy.tokens

    owner = getattr(spacy.tokens, kind)
    if not owner.has_extension(name):
        owner.set_extension(name, default=default)


# --------------------------------------------------------------------------------------------- the components


class _OfTagger(Component):
    """Columns of tokens for a tagger."""

    kinds = ("tagging/",)
    made_by = "spinney tag fit"

    def __init__(self, name: str, model: str | None, columns: Sequence[str]) -> None:
        for column in columns:
            if column not in _ATTRIBUTES:
                raise unknown_choice("columns are attributes of tokens:", column, _ATTRIBUTES)
        if not columns:
            raise OptionError("columns must name an attribute of tokens at least, such as text")
        self.columns = list(columns)
        super().__init__(name, model)

    def rows(self, docs: Sequence[Any]) -> tuple[list[list[Any]], list[list[tuple[str, ...]]]]:
        """The tokens of each sentence of documents, and the rows of columns that the tagger sees."""
        sentences = [tokens for doc in docs for tokens in _sentences(doc)]
        rows = [
            [tuple(getattr(t, one) or "_" for one in self.columns) for t in tokens] for tokens in sentences
        ]
        return sentences, rows

    def _checked(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except InputError as error:
            if "the data have" not in error.what:
                raise
            given = f"columns={self.columns}"
            remedy = f"name an attribute of spaCy's tokens for each column of the training data; now {given}"
            raise InputError(error.what, path=self.name, remedy=remedy) from None


class TaggerComponent(_OfTagger):
    """Labels of tokens: ``token.tag_``, or ``token.pos_`` if ``attribute`` is ``"pos"``."""

    def __init__(self, name: str, model: str | None, columns: Sequence[str], attribute: str) -> None:
        if attribute not in _SPACES:
            raise unknown_choice("attribute must be", attribute, tuple(_SPACES))
        self.attribute = attribute
        super().__init__(name, model, columns)

    def annotate(self, docs: Sequence[Any]) -> None:
        """Set the tags of documents."""
        sentences, rows = self.rows(docs)
        for tokens, labels in zip(sentences, self._checked(lambda: self.model.predict(rows))):
            for token, label in zip(tokens, labels):
                self._set(token, label)
        for doc in docs:
            for token in doc:
                if token.is_space:
                    self._set(token, _SPACES[self.attribute])

    def _set(self, token: Any, label: str) -> None:
        try:
            setattr(token, f"{self.attribute}_", label)
        except ValueError:
            what = f"the label {label!r} is not a universal part of speech"
            raise InputError(what, path=self.name, remedy="set attribute to tag") from None


class NerComponent(_OfTagger):
    """Entities with their probabilities: ``doc.ents``, ``span._.probability``."""

    def _register(self) -> None:
        _extend("Span", "probability", None)

    def _check(self, model: Any, name: str) -> None:
        if not any(label[1:2] == "-" for label in model.written_labels):
            some = ", ".join(model.written_labels[:3])
            remedy = "use spinney_tagger for it"
            raise InputError(f"its labels are not those of entities ({some} …)", path=name, remedy=remedy)

    def annotate(self, docs: Sequence[Any]) -> None:
        """Set the entities of documents, in place of those that they have."""
        from spacy.tokens import Span

        sentences, rows = self.rows(docs)
        found = iter(zip(sentences, self._checked(lambda: self.model.predict_phrases(rows))))
        for doc in docs:
            spans, chances = [], []
            for _ in _sentences(doc):
                tokens, phrases = next(found)
                for start, stop, kind, probability in phrases:
                    spans.append(Span(doc, tokens[start].i, tokens[stop - 1].i + 1, label=kind))
                    chances.append(probability)
            doc.set_ents(spans, default="outside")
            for span, chance in zip(spans, chances):
                span._.probability = chance


class TextcatComponent(Component):
    """Probabilities of classes: ``doc.cats``."""

    kinds = ("classify/",)
    made_by = "spinney classify fit"

    def _check(self, model: Any, name: str) -> None:
        if not model.is_classifier:
            raise InputError("a regression model has no classes", path=name, remedy="fit a classifier")
        if model.features is None:
            raise InputError(
                "the model was trained on numbers, not on text", path=name, remedy="fit it on texts"
            )

    def annotate(self, docs: Sequence[Any]) -> None:
        """Set the categories of documents; a model without probabilities gives 1 to the class that it predicts."""
        model, texts = self.model, [doc.text for doc in docs]
        if model.has_probabilities:
            rows = model.predict_proba(texts).tolist()
        else:
            rows = [[float(str(label) == one) for one in model.outputs] for label in model.predict(texts)]
        for doc, row in zip(docs, rows):
            doc.cats.update(zip(model.outputs, row))


class ParserComponent(Component):
    """Heads and relations: ``token.head``, ``token.dep_``; with a grammar, its trees too, ``doc._.bracketed``."""

    kinds = ("parsing/",)
    made_by = "spinney parse fit"

    def _register(self) -> None:
        _extend("Doc", "bracketed", None)

    def annotate(self, docs: Sequence[Any]) -> None:
        """Parse the sentences of documents."""
        for doc in docs:
            if not doc.has_annotation("SENT_START"):
                remedy = "nlp.add_pipe('sentencizer') before it"
                raise InputError("no sentences are marked in the document", path=self.name, remedy=remedy)
        by_tags = self.model.kind == "parsing/HeadAutomata"
        for doc in docs:
            sentences = _sentences(doc)
            (self._from_tags if by_tags else self._from_words)(doc, sentences)

    def _from_tags(self, doc: Any, sentences: list[list[Any]]) -> None:
        attribute = _WORDS[self.model.column]
        tags = [[getattr(token, attribute) for token in tokens] for tokens in sentences]
        seen = {tag for sentence in tags for tag in sentence}
        if seen and not seen & set(self.model.tags_):
            some = ", ".join(sorted(filter(None, seen))[:3])
            what = f"the model knows none of the tags ({some} …)" if some else f"no token has a {attribute}"
            known = ", ".join(sorted(self.model.tags_)[:5])
            remedy = f"put a component before it that sets token.{attribute} to {known} …"
            raise InputError(what, path=self.name, remedy=remedy)
        heads = self.model.predict(tags)
        relations = [["dep" if head else "ROOT" for head in one] for one in heads]
        _set_heads(doc, sentences, [one.tolist() for one in heads], relations)

    def _from_words(self, doc: Any, sentences: list[list[Any]]) -> None:
        from spinney.parsing.dependencies import to_dependencies
        from spinney.parsing.text import trees_of

        trees = list(trees_of(self.model, [[token.text for token in tokens] for tokens in sentences]))
        doc._.bracketed = "\n".join(map(str, trees))
        found = [to_dependencies(tree) for tree in trees]
        relations = [["ROOT" if one == "root" else one for one in sentence.deprels] for sentence in found]
        _set_heads(doc, sentences, [sentence.heads for sentence in found], relations)


def _set_heads(
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


class ClassesComponent(Component):
    """Word classes: ``token._.word_class``, a number, and ``token._.class_path``; None where there is none."""

    kinds = ("classes/", "structure/WordClasses")
    made_by = "spinney classes fit"

    def _register(self) -> None:
        _extend("Token", "word_class", None)
        _extend("Token", "class_path", None)

    def annotate(self, docs: Sequence[Any]) -> None:
        """Set the classes of the tokens of documents; those of a hidden Markov chain are classes in context."""
        from spinney.corpus.text import Reading, Tokens

        plain = self.model.kind == "structure/WordClasses"
        reading = Reading() if plain else Reading.of(self.model.facts)
        sentences = [tokens for doc in docs for tokens in _sentences(doc)]
        words = [self._words(tokens, reading) for tokens in sentences]
        classes = self.model if plain else self.model.word_classes()
        paths = classes.paths if plain else self.model.class_paths()
        if plain or self.model.is_tree:  # without heads, a tree has no context
            found = [classes.encode(one).tolist() for one in words]
        else:
            found = self.model.sentence_classes([Tokens([], one, [], []) for one in words], reading)[0]
        for tokens, numbers in zip(sentences, found):
            for token, number in zip(tokens, numbers):
                if number >= 0:
                    token._.word_class = number
                    token._.class_path = paths[number] if paths else None

    def _words(self, tokens: Sequence[Any], reading: Any) -> list[str]:
        """Words as those of the training text were made."""
        parts = reading.words.split("+")
        if not set(parts) <= set(_WORDS):
            what = f"the words of the model are made of {reading.words}, which spaCy's tokens do not have"
            raise InputError(what, path=self.name, remedy=f"fit it on {', '.join(_WORDS)}")
        columns = [[getattr(token, _WORDS[part]) or "_" for token in tokens] for part in parts]
        if reading.lowercase:
            columns[0] = [word.lower() for word in columns[0]]
        return ["|".join(row) for row in zip(*columns)]


# ---------------------------------------------------------------------------------------------- the factories


def tagger(nlp: Any, name: str, model: str | None, columns: list[str], attribute: str) -> TaggerComponent:
    """``spinney_tagger``: sets ``token.tag_`` or ``token.pos_`` by a model of ``spinney tag fit``."""
    return TaggerComponent(name, model, columns, attribute)


def ner(nlp: Any, name: str, model: str | None, columns: list[str]) -> NerComponent:
    """``spinney_ner``: sets ``doc.ents`` and ``span._.probability`` by a model of ``spinney tag fit``."""
    return NerComponent(name, model, columns)


def textcat(nlp: Any, name: str, model: str | None) -> TextcatComponent:
    """``spinney_textcat``: sets ``doc.cats`` by a model of ``spinney classify fit``."""
    return TextcatComponent(name, model)


def parser(nlp: Any, name: str, model: str | None) -> ParserComponent:
    """``spinney_parser``: sets ``token.head`` and ``token.dep_`` by a model of ``spinney parse fit``."""
    return ParserComponent(name, model)


def classes(nlp: Any, name: str, model: str | None) -> ClassesComponent:
    """``spinney_classes``: sets ``token._.word_class`` and ``token._.class_path``, by ``spinney classes fit``."""
    return ClassesComponent(name, model)


def _register_factories() -> None:
    from spacy.language import Language

    columns = {"columns": ["text"]}
    known: list[tuple[str, Callable[..., Component], dict[str, Any], list[str]]] = [
        ("tagger", tagger, {**columns, "attribute": "tag"}, ["token.tag", "token.pos"]),
        ("ner", ner, columns, ["doc.ents", "token.ent_iob", "token.ent_type", "span._.probability"]),
        ("textcat", textcat, {}, ["doc.cats"]),
        ("parser", parser, {}, ["token.head", "token.dep", "doc._.bracketed"]),
        ("classes", classes, {}, ["token._.word_class", "token._.class_path"]),
    ]
    for name, function, config, assigns in known:
        Language.factory(
            f"spinney_{name}", default_config={"model": None, **config}, assigns=assigns, func=function
        )


if find_spec("spacy") is not None:  # spaCy imports this module where it finds its entry points
    _register_factories()
