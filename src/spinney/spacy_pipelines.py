"""Pipelines of Spinney inside of spaCy: their tokeniser in the place of spaCy's, and a component for all the rest."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from spinney.errors import InputError, OptionError, did_you_mean_file
from spinney.spacy_models import SPACES, Component, extend, sentences_of, set_heads

#: The name of the tokeniser in spaCy's registry.
TOKENIZER = "spinney.Tokenizer.v1"
_COLUMNS = {
    "form": "forms", "lemma": "lemmas", "upos": "upos", "xpos": "xpos", "feats": "feats", "deprel": "deprels",
}  # fmt: skip


class PipelineComponent(Component):
    """What a pipeline finds: tags, features, lemmas, heads and relations.

    A multi-word token is one token in spaCy. It has the annotation of its word that is nearest to the root, and
    ``token._.annotations`` has those of all its words.
    """

    kinds = ("pipeline/",)
    made_by = "spinney pipeline fit"

    def _register(self) -> None:
        extend("Token", "words", None)
        extend("Token", "annotations", None)

    def annotate(self, docs: Sequence[Any]) -> None:
        """Annotate documents whose sentences are marked."""
        for doc in docs:
            if len(doc) and not doc.has_annotation("SENT_START"):
                remedy = (
                    "use the tokeniser of the pipeline (spinney.spacy_components.language), or a sentencizer"
                )
                raise InputError("no sentences are marked in the document", path=self.name, remedy=remedy)
        by_doc = [sentences_of(doc) for doc in docs]
        words = [_sentence_of(tokens) for sentences in by_doc for tokens in sentences]
        found = iter(self.spinney_model.annotate(words))
        for doc, sentences in zip(docs, by_doc):
            self._set(doc, sentences, [next(found) for _ in sentences])

    def _set(self, doc: Any, sentences: list[list[Any]], found: list[Any]) -> None:
        from spinney.pipeline.whole_tokens import collapsed

        heads, relations = [], []
        for tokens, one in zip(sentences, found):
            wholes = collapsed(one)
            for token, whole in zip(tokens, wholes):
                _set_columns(token, _row(one, whole.word))
                if len(whole.words) > 1:
                    token._.annotations = [_row(one, word) for word in whole.words]
            heads.append([whole.head for whole in wholes])
            names = one.deprels or ["_"] * len(one)
            relations.append(["ROOT" if not whole.head else names[whole.word] for whole in wholes])
        for token in doc:
            if token.is_space:
                token.tag_, token.pos_ = SPACES["tag"], SPACES["pos"]
        if any(one.heads for one in found):
            set_heads(doc, sentences, heads, relations)


def _sentence_of(tokens: Sequence[Any]) -> Any:
    """The tokens of a sentence as words; those that the tokeniser knows as several words are these."""
    from spinney.corpus.conllu import Sentence

    words: list[str] = []
    extras: list[tuple[int, str]] = []
    for token in tokens:
        inside = token._.words or [token.text]
        if len(inside) > 1:
            line = f"{len(words) + 1}-{len(words) + len(inside)}\t{' '.join(token.text.split())}" + "\t_" * 8
            extras.append((len(words), line))
        words += inside
    return Sentence([" ".join(word.split()) for word in words], extras=extras)


def _row(sentence: Any, word: int) -> dict[str, str]:
    """What is annotated of a word."""
    filled = {name: getattr(sentence, column) for name, column in _COLUMNS.items()}
    return {name: column[word] for name, column in filled.items() if column}


def _set_columns(token: Any, row: dict[str, str]) -> None:
    upos, xpos = row.get("upos", "_"), row.get("xpos", "_")
    with suppress(ValueError):  # tags of one's own are no universal parts of speech
        token.pos_ = "" if upos == "_" else upos
    token.tag_ = xpos if xpos != "_" else upos if upos != "_" else ""
    token.lemma_ = "" if row.get("lemma", "_") == "_" else row["lemma"]
    token.set_morph("" if row.get("feats", "_") == "_" else row["feats"])


class PipelineTokenizer(Component):
    """The tokeniser of a pipeline, in the place of spaCy's: tokens as the treebank has them, and where sentences begin.

    ``token._.words`` has the words of multi-word tokens.
    """

    kinds = ("pipeline/",)
    made_by = "spinney pipeline fit"

    def __init__(self, vocab: Any, model: str | None) -> None:
        self.vocab = vocab
        super().__init__("the tokeniser", model)

    def _register(self) -> None:
        extend("Token", "words", None)

    def __call__(self, text: str) -> Any:
        """The document of a text."""
        from spacy.tokens import Doc

        from spinney.pipeline.whole_tokens import whole_tokens

        wholes = list(whole_tokens(self.spinney_model.segment([text])))
        if not wholes:
            return Doc(self.vocab, words=[text] if text else [], spaces=[False] if text else [])
        words, spaces, starts, inside = zip(*wholes)
        doc = Doc(self.vocab, words=list(words), spaces=list(spaces), sent_starts=list(starts))
        for token, own in zip(doc, inside):
            if own:
                token._.words = list(own)
        return doc

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Any]:
        """The documents of texts."""
        yield from map(self, texts)


def language(model: str | os.PathLike[str], lang: str = "xx") -> Any:
    """A spaCy ``Language`` that does what a pipeline does: raw text in, a document with tags, lemmas and trees out.

    Parameters
    ----------
    model
        A file made by ``spinney pipeline fit``.
    lang
        What spaCy calls the language; ``"xx"`` stands for any.

    Examples
    --------
    >>> nlp = language("maltese.spinney")  # doctest: +SKIP
    >>> [(token.text, token.pos_, token.head.text) for token in nlp("Il-kelb jorqod.")]  # doctest: +SKIP
    """
    import spacy

    path = os.fspath(model)
    if not os.path.exists(path):
        raise InputError("no such file", path=path, remedy=did_you_mean_file(path) or None)
    how = {"@tokenizers": TOKENIZER, "model": path}
    try:
        nlp = spacy.blank(lang, config={"nlp": {"tokenizer": how}})
    except ImportError:
        raise OptionError(f"spaCy knows no language {lang!r}: use xx, which stands for any") from None
    nlp.add_pipe("spinney_pipeline", config={"model": path})
    return nlp
