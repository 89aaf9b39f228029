"""From the JSON of a request to what a model's ``apply`` takes.

A request has ``text``, ``texts`` or ``tokens``. Text is prose by default, split into sentences and tokens as the format
``prose`` does, or as the tokeniser of a pipeline does; with ``"format": "lines"`` every line is a sentence whose tokens
are separated by spaces. Most models take sentences as lists of words, and need nothing here; those that take something
else have a line in :data:`MAKERS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

from spinney.errors import SettingError, did_you_mean, listed, shown
from spinney.serve.refusing import Refused
from spinney.settings import DATA, Setting, Settings, settings_of

LONGEST = 10_000  # words of a sentence: some models keep hundreds of numbers for each
_PARSED = 1000  # words of a sentence for parsers, whose work grows with the square or the cube of it
LARGEST = 100  # of numbers that a request sets, such as nbest: their cost is multiplied by it
_FORMATS = ("prose", "lines")
_FIELDS = ("text", "texts", "tokens", "format", "settings")


@dataclass(frozen=True)
class Given:
    """What a request gives: texts, or sentences in tokens, which are words or, in columns, lists of cells."""

    texts: list[str] | None = None
    tokens: list[list[Any]] | None = None
    format: str = "prose"
    settings: Mapping[str, Any] | None = None
    several: bool = False  # whether the texts came as a list

    def sentences(self) -> list[list[Any]]:
        """All sentences."""
        return list(chain.from_iterable(self.by_text))

    @cached_property
    def by_text(self) -> list[list[list[Any]]]:
        """The sentences of each text; tokens are all of one."""
        if self.texts is None:
            return [self.tokens or []]
        from spinney.corpus.lines import fields
        from spinney.corpus.raw import tokenized_sentences

        if self.format == "lines":
            found = [[words for words in map(fields, text.splitlines()) if words] for text in self.texts]
        else:
            found = [list(tokenized_sentences(text)) for text in self.texts]
        for sentences in found:
            _check_lengths(sentences, "texts" if self.several else "text")
        return found


def parsed(body: bytes) -> dict[str, Any]:
    """The JSON object of a body, or a 400.

    Examples
    --------
    >>> parsed(b'{"text": "So it is."}')
    {'text': 'So it is.'}
    """
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError:
        raise Refused(400, "the body is not UTF-8") from None
    except RecursionError:
        raise Refused(400, "not JSON: brackets are nested too deeply") from None
    except ValueError as error:  # among them numbers of thousands of digits
        raise Refused(400, f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Refused(400, 'the body must be a JSON object, such as {"text": "…"}')
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def given(request: Mapping[str, Any]) -> Given:
    """The fields of a request, checked; a wrong one is a 422 that names it.

    Examples
    --------
    >>> given({"texts": ["So it is.", "Is it?"]}).sentences()
    [['So', 'it', 'is', '.'], ['Is', 'it', '?']]
    """
    for name in request:
        if name not in _FIELDS:
            meant = did_you_mean(name, _FIELDS)
            said = f"there is no field {shown(name)}; there are {listed(_FIELDS, 'and')}"
            raise Refused(422, said + (f" ({meant})" if meant else ""), field=str(name)[:100])
    which = [name for name in ("text", "texts", "tokens") if name in request]
    if len(which) != 1:
        raise Refused(
            422, f"give one of text, texts and tokens, not {listed(which, 'and') if which else 'none'}"
        )
    format = request.get("format", "prose")
    if format not in _FORMATS:
        raise Refused(422, f"must be {listed(_FORMATS, 'or')}, not {shown(format)}", field="format")
    settings = request.get("settings")
    if settings is not None and not isinstance(settings, dict):
        raise Refused(422, f"must be an object, not {shown(settings)}", field="settings")
    if which == ["tokens"]:
        if "format" in request:
            raise Refused(422, "is for text, and tokens need none: leave it out", field="format")
        return Given(tokens=_tokens(request["tokens"]), settings=settings)
    value = request[which[0]]
    several = which == ["texts"]
    texts = value if several else [value]
    if not isinstance(texts, list) or not texts:
        raise Refused(422, f"must be a list of texts, not {shown(value)}", field="texts")
    for text in texts:
        _check_text(text, which[0])
    return Given(texts, format=format, settings=settings, several=several)


def _check_text(text: Any, field: str) -> None:
    if not isinstance(text, str):
        raise Refused(422, f"must be text, not {shown(text)}", field=field)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused(422, "holds half of a surrogate pair, which is no character", field=field) from None


def _tokens(value: Any) -> list[list[Any]]:
    """Sentences in tokens; each is a word, or a list of as many cells as the first one has."""
    if not isinstance(value, list) or not value or not all(isinstance(one, list) for one in value):
        raise Refused(
            422, 'must be a list of sentences, each a list of words: [["so", "it", "is"]]', field="tokens"
        )
    _check_lengths(value, "tokens")
    first = next((token for sentence in value for token in sentence), None)
    if first is None:
        raise Refused(422, "has no words", field="tokens")
    width = len(first) if isinstance(first, list) else None
    for token in chain.from_iterable(value):
        if (
            (len(token) if isinstance(token, list) else None) != width
            or width == 0
            or isinstance(token, dict)
        ):
            said = (
                f"all words must be texts, or all lists of as many cells as the first; one is {shown(token)}"
            )
            raise Refused(422, said, field="tokens")
        for cell in token if width is not None else [token]:
            _check_text(cell, "tokens")
            if not cell or cell.split() != [cell]:
                raise Refused(
                    422, f"a word must have letters and no spaces, unlike {shown(cell)}", field="tokens"
                )
    return value


def _check_lengths(sentences: Iterable[Sized], field: str, longest: int = LONGEST) -> None:
    for sentence in sentences:
        if len(sentence) > longest:
            said = f"a sentence has {len(sentence):,} words, and may have {longest:,}: split it"
            raise Refused(422, said, field=field)


# ----------------------------------------------------------------------------------------- what a model takes


def data_for(model: Any, one: Given) -> Any:
    """What the model's ``apply`` takes, made from what a request gives."""
    return _maker(model)(model, one)


def text_numbers(model: Any, one: Given) -> list[int] | None:
    """For each record of a model of sentences, the number of its text, from 0; None where a record is a text."""
    if not one.several or _maker(model) in (_documents, _dated, _bags):
        return None
    if _maker(model) is _segmented:
        sentences = _by_text(model, one)
    else:
        sentences = _untagged(one).by_text if _maker(model) is _tagged else one.by_text
    return [number for number, of_text in enumerate(sentences) for _ in of_text]


def _maker(model: Any) -> Callable[[Any, Given], Any]:
    return MAKERS.get(model.kind) or MAKERS.get(model.kind.partition("/")[0]) or _plain


def _plain(model: Any, one: Given) -> list[list[str]]:
    sentences = one.sentences()
    if any(isinstance(token, list) for sentence in sentences for token in sentence[:1]):
        raise Refused(422, "this model takes words, not lists of cells", field="tokens")
    return _some(sentences, one)


def _some(found: list[Any], one: Given) -> list[Any]:
    if not found:
        raise Refused(422, "has no words", field="texts" if one.several else "text")
    return found


def _cells(model: Any, one: Given) -> list[list[Any]]:
    """Words or rows of columns, as many as the patterns of a tagger look at."""
    sentences = [sentence for sentence in one.sentences() if sentence]
    first = _some(sentences, one)[0][0]
    width, wanted = len(first) if isinstance(first, list) else 1, model.extractor_.required_columns
    if width < wanted:
        said = f"this tagger looks at {wanted} columns: send tokens as lists of {wanted} cells, not {width}"
        raise Refused(422, said, field="tokens" if one.texts is None else "text")
    return sentences


def _documents(model: Any, one: Given) -> list[str]:
    if getattr(model, "features", True) is None:
        raise Refused(422, "this model was fitted to numbers, not to text")
    return [" ".join(sentence) for sentence in _plain(model, one)] if one.texts is None else one.texts


def _dated(model: Any, one: Given) -> Any:
    from spinney.trend.model import Documents

    needed = [*model.covariates.columns, *model.extra]
    if needed:
        raise Refused(
            422, f"this model needs more than text: {listed(needed, 'and')} of each document, from a table"
        )
    return Documents(_documents(model, one))


def _bags(model: Any, one: Given) -> list[list[str]]:
    if one.texts is None:
        return _plain(model, one)
    return [list(chain.from_iterable(sentences)) for sentences in one.by_text]


def _tagged(model: Any, one: Given) -> list[Any]:
    """Sentences with tags, from cells or from ``word/TAG``."""
    from spinney.corpus.conllu import Sentence

    field = "tokens" if one.texts is None else "texts" if one.several else "text"
    found = []
    for sentence in _some(_untagged(one).sentences(), one):
        pairs = [token if isinstance(token, list) else [*token.rpartition("/")[::2]] for token in sentence]
        if any(len(pair) < 2 or not pair[0] or not pair[1] for pair in pairs):
            said = (
                'this parser needs the tag of each word: the/DT dog/NN in text, [["the", "DT"], …] in tokens'
            )
            raise Refused(422, said, field=field)
        tags = {getattr(model, "column", "upos"): [pair[1] for pair in pairs]}
        found.append(Sentence([pair[0] for pair in pairs], **tags))
    if model.kind == "parsing/TreeCRF":
        _check_lengths(found, field, _PARSED)
    return found


def _untagged(one: Given) -> Given:
    """Tagged text is split at spaces and lines only: a tokenizer would split ``word/TAG``."""
    return replace(one, format="lines")


def _in_treebank(model: Any, one: Given) -> list[list[str]]:
    """Words as the treebank of a parser writes them, where they come from prose."""
    sentences = _plain(model, one)
    if one.texts is None or one.format == "lines":
        return sentences
    from spinney.parsing.ptb import treebank_words
    from spinney.parsing.text import known_words

    known = known_words(model)
    return [treebank_words(words, known) for words in sentences]


def _segmented(model: Any, one: Given) -> list[Any]:
    """Sentences by the tokeniser of a pipeline, where text is prose; otherwise as they are given."""
    found = [sentence for sentences in _by_text(model, one) for sentence in sentences]
    _check_lengths(found, "tokens" if one.texts is None else "texts" if one.several else "text", _PARSED)
    return _some(found, one)


def _by_text(model: Any, one: Given) -> list[list[Any]]:
    """The sentences of each text."""
    if one.texts is None or one.format == "lines" or model.tokens is None:
        _plain(model, one)  # refuses lists of cells
        return one.by_text
    return [list(model.segment([text])) for text in one.texts]


#: For each kind of model, or each task, whose ``apply`` takes anything but sentences as lists of words.
MAKERS: dict[str, Callable[[Any, Given], Any]] = {
    "tagging": _cells,
    "tagging/MorphTagger": _plain,
    "tagging/RefinementTagger": _plain,
    "classify": _documents,
    "trend": _dated,
    "embed/MomentTopics": _bags,
    "parsing/Parser": _in_treebank,
    "parsing/HeadAutomata": _tagged,
    "parsing/TreeCRF": _tagged,
    "pipeline": _segmented,
}


# -------------------------------------------------------------------------------------------------- settings


def open_settings(cls: type[Settings]) -> list[Setting]:
    """The settings that a request may choose: not files, nor how files are read, nor how many threads work.

    Examples
    --------
    >>> from spinney.settings.tag import Apply
    >>> [setting.name for setting in open_settings(Apply)]
    ['decoding', 'scheme', 'threshold', 'abstain', 'phrases', 'proba', 'nbest']
    """
    closed = ("threads", "seed", "format", "max_length", "prune", "force")
    return [
        setting
        for setting in settings_of(cls)
        if not (setting.file or setting.hidden or setting.panel == DATA or setting.name in closed)
    ]


def checked(cls: type[Settings], chosen: Mapping[str, Any], *, parse: bool = False) -> dict[str, Any]:
    """The settings of a request, checked; with ``parse``, their values are text, as in an address.

    Examples
    --------
    >>> from spinney.settings.lm import Inspect
    >>> checked(Inspect, {"top": "5"}, parse=True)
    {'top': 5}
    """
    known = {setting.name: setting for setting in open_settings(cls)}
    found: dict[str, Any] = {}
    for name, value in chosen.items():
        if name not in known:
            meant = did_you_mean(name, known)
            said = f"there is no setting {shown(name)}; there are {', '.join(known) or 'none'}"
            raise Refused(422, said + (f" ({meant})" if meant else ""), field=str(name)[:100])
        setting = known[name]
        if parse and setting.kind is bool:
            value = {"true": True, "false": False}.get(value, value)
        try:
            value = setting.parse(value) if parse and isinstance(value, str) else setting.check(value)
        except SettingError as error:
            raise Refused(422, str(error), field=name) from None
        if setting.kind is int and isinstance(value, int) and value > LARGEST and not setting.optional:
            raise Refused(422, f"{name} must be at most {LARGEST} here, not {value:,}", field=name)
        found[name] = value
    return found
