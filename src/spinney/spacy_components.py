"""Spinney's models as components of spaCy pipelines (extra ``spacy``).

spaCy finds the factories by their entry points: after ``pip install 'spinney[spacy]'``,
``nlp.add_pipe("spinney_ner", config={"model": "names.spinney"})`` is all that it takes. A pipeline that was saved holds
the bytes of the model files, and needs them no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from spinney.errors import InputError, OptionError, unknown_choice
from spinney.spacy_models import SPACES, Component, extend, sentences_of, set_heads
from spinney.spacy_pipelines import TOKENIZER, PipelineComponent, PipelineTokenizer, language

__all__ = [
    "Component",
    "classes",
    "language",
    "ner",
    "parser",
    "pipeline",
    "pipeline_tokenizer",
    "tagger",
    "textcat",
]

#: What the columns of a tagger can be.
_ATTRIBUTES = ("text", "lower_", "lemma_", "tag_", "pos_", "shape_", "dep_", "ent_type_")
#: How CoNLL-U calls what a word of a text was made of, and how spaCy does.
_WORDS = {"form": "text", "lemma": "lemma_", "upos": "pos_", "xpos": "tag_"}
_ASSIGNED = [
    "token.tag",
    "token.pos",
    "token.morph",
    "token.lemma",
    "token.head",
    "token.dep",
    "token._.annotations",
]


# --------------------------------------------------------------------------------------------- the components


class _OfTagger(Component):
    """Columns of tokens for a tagger."""

    kinds = ("tagging/Tagger",)
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
        sentences = [tokens for doc in docs for tokens in sentences_of(doc)]
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
        if attribute not in SPACES:
            raise unknown_choice("attribute must be", attribute, tuple(SPACES))
        self.attribute = attribute
        super().__init__(name, model, columns)

    def annotate(self, docs: Sequence[Any]) -> None:
        """Set the tags of documents."""
        sentences, rows = self.rows(docs)
        for tokens, labels in zip(sentences, self._checked(lambda: self.spinney_model.predict(rows))):
            for token, label in zip(tokens, labels):
                self._set(token, label)
        for doc in docs:
            for token in doc:
                if token.is_space:
                    self._set(token, SPACES[self.attribute])

    def _set(self, token: Any, label: str) -> None:
        try:
            setattr(token, f"{self.attribute}_", label)
        except ValueError:
            what = f"the label {label!r} is not a universal part of speech"
            raise InputError(what, path=self.name, remedy="set attribute to tag") from None


class NerComponent(_OfTagger):
    """Entities with their probabilities: ``doc.ents``, ``span._.probability``."""

    def _register(self) -> None:
        extend("Span", "probability", None)

    def _check(self, model: Any, name: str) -> None:
        if not any(label[1:2] == "-" for label in model.written_labels):
            some = ", ".join(model.written_labels[:3])
            remedy = "use spinney_tagger for it"
            raise InputError(f"its labels are not those of entities ({some} …)", path=name, remedy=remedy)

    def annotate(self, docs: Sequence[Any]) -> None:
        """Set the entities of documents, in place of those that they have."""
        from spacy.tokens import Span

        sentences, rows = self.rows(docs)
        found = iter(zip(sentences, self._checked(lambda: self.spinney_model.predict_phrases(rows))))
        for doc in docs:
            spans, chances = [], []
            for _ in sentences_of(doc):
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
        model, texts = self.spinney_model, [doc.text for doc in docs]
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
        extend("Doc", "bracketed", None)

    def annotate(self, docs: Sequence[Any]) -> None:
        """Parse the sentences of documents."""
        for doc in docs:
            if not doc.has_annotation("SENT_START"):
                remedy = "nlp.add_pipe('sentencizer') before it"
                raise InputError("no sentences are marked in the document", path=self.name, remedy=remedy)
        kinds = {"parsing/HeadAutomata": self._from_tags, "parsing/TreeCRF": self._from_columns}
        for doc in docs:
            kinds.get(self.spinney_model.kind, self._from_words)(doc, sentences_of(doc))

    def _from_tags(self, doc: Any, sentences: list[list[Any]]) -> None:
        attribute = _WORDS[self.spinney_model.column]
        tags = [[getattr(token, attribute) for token in tokens] for tokens in sentences]
        seen = {tag for sentence in tags for tag in sentence}
        if seen and not seen & set(self.spinney_model.tags_):
            some = ", ".join(sorted(filter(None, seen))[:3])
            what = f"the model knows none of the tags ({some} …)" if some else f"no token has a {attribute}"
            known = ", ".join(sorted(self.spinney_model.tags_)[:5])
            remedy = f"put a component before it that sets token.{attribute} to {known} …"
            raise InputError(what, path=self.name, remedy=remedy)
        heads = self.spinney_model.predict(tags)
        relations = [["dep" if head else "ROOT" for head in one] for one in heads]
        set_heads(doc, sentences, [one.tolist() for one in heads], relations)

    def _from_columns(self, doc: Any, sentences: list[list[Any]]) -> None:
        from spinney.corpus.conllu import Sentence

        if sentences and not any(token.pos_ for tokens in sentences for token in tokens):
            remedy = "put a component before it that sets token.pos_, or use spinney_pipeline"
            raise InputError("no token has a pos_", path=self.name, remedy=remedy)
        words = []
        for tokens in sentences:
            columns = ("text", "lemma_", "pos_", "tag_", "morph")
            cells = [[str(getattr(token, column)) or "_" for token in tokens] for column in columns]
            forms, lemmas, upos, xpos, feats = cells
            words.append(Sentence(forms, lemmas, upos, xpos, feats))
        found = self.spinney_model.parse(words)
        relations = [["ROOT" if one == "root" else one for one in tree.deprels] for tree in found]
        set_heads(doc, sentences, [tree.heads for tree in found], relations)

    def _from_words(self, doc: Any, sentences: list[list[Any]]) -> None:
        from spinney.parsing.dependencies import to_dependencies
        from spinney.parsing.text import trees_of

        trees = list(trees_of(self.spinney_model, [[token.text for token in tokens] for tokens in sentences]))
        doc._.bracketed = "\n".join(map(str, trees))
        found = [to_dependencies(tree) for tree in trees]
        relations = [["ROOT" if one == "root" else one for one in sentence.deprels] for sentence in found]
        set_heads(doc, sentences, [sentence.heads for sentence in found], relations)


class ClassesComponent(Component):
    """Word classes: ``token._.word_class``, a number, and ``token._.class_path``; None where there is none."""

    kinds = ("classes/", "structure/WordClasses")
    made_by = "spinney classes fit"

    def _register(self) -> None:
        extend("Token", "word_class", None)
        extend("Token", "class_path", None)

    def annotate(self, docs: Sequence[Any]) -> None:
        """Set the classes of the tokens of documents; those of a hidden Markov chain are classes in context."""
        from spinney.corpus.text import Reading, Tokens

        plain = self.spinney_model.kind == "structure/WordClasses"
        reading = Reading() if plain else Reading.of(self.spinney_model.facts)
        sentences = [tokens for doc in docs for tokens in sentences_of(doc)]
        words = [self._words(tokens, reading) for tokens in sentences]
        classes = self.spinney_model if plain else self.spinney_model.word_classes()
        paths = classes.paths if plain else self.spinney_model.class_paths()
        if plain or self.spinney_model.is_tree:  # without heads, a tree has no context
            found = [classes.encode(one).tolist() for one in words]
        else:
            found = self.spinney_model.sentence_classes([Tokens([], one, [], []) for one in words], reading)[
                0
            ]
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


def pipeline(nlp: Any, name: str, model: str | None) -> PipelineComponent:
    """``spinney_pipeline``: sets tags, features, lemmas, heads and relations by a model of ``spinney pipeline fit``."""
    return PipelineComponent(name, model)


def pipeline_tokenizer(model: str | None = None) -> Callable[[Any], PipelineTokenizer]:
    """``spinney.Tokenizer.v1``: the tokeniser of a model of ``spinney pipeline fit``."""
    return lambda nlp: PipelineTokenizer(nlp.vocab, model)


def _register_factories() -> None:
    from spacy.language import Language
    from spacy.util import registry

    columns = {"columns": ["text"]}
    known: list[tuple[str, Callable[..., Component], dict[str, Any], list[str]]] = [
        ("tagger", tagger, {**columns, "attribute": "tag"}, ["token.tag", "token.pos"]),
        ("ner", ner, columns, ["doc.ents", "token.ent_iob", "token.ent_type", "span._.probability"]),
        ("textcat", textcat, {}, ["doc.cats"]),
        ("parser", parser, {}, ["token.head", "token.dep", "doc._.bracketed"]),
        ("classes", classes, {}, ["token._.word_class", "token._.class_path"]),
        ("pipeline", pipeline, {}, _ASSIGNED),
    ]
    if TOKENIZER not in registry.tokenizers:
        registry.tokenizers.register(TOKENIZER, func=pipeline_tokenizer)
    for name, function, config, assigns in known:
        Language.factory(
            f"spinney_{name}", default_config={"model": None, **config}, assigns=assigns, func=function
        )


if find_spec("spacy") is not None:  # spaCy imports this module where it finds its entry points
    _register_factories()
