"""JSON Lines as spaCy and Prodigy have them: a text on each line, with the places of its entities, or its categories.

They are not told from other JSON Lines by their name: the format is ``spacy-jsonl``, where ``jsonl`` is a table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from spinney.corpus.compressed import FilePath
from spinney.corpus.documents import Document
from spinney.corpus.lines import OnError, ReadReport, read_lines
from spinney.corpus.raw import split_sentences, tokenize
from spinney.errors import InputError, shown

_EXAMPLE = 'as in {"text": "Ada slept", "spans": [{"start": 0, "end": 3, "label": "PER"}]}'


class Token(NamedTuple):
    """A token, and where in the text it stands."""

    text: str
    start: int
    end: int


class Annotated(NamedTuple):
    """A text, its tokens by sentence, its entities as (start, end, label), and its categories."""

    text: str
    sentences: list[list[Token]]
    spans: list[tuple[int, int, str]] | None
    label: str | None


def spacy_jsonl_documents(
    path: FilePath, *, encoding: str = "utf-8", on_error: OnError = "raise", report: ReadReport | None = None
) -> Iterator[Document]:
    """The texts as documents; the label is ``label``, the one in ``accept``, or the category of at least 0.5.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.jsonl")
    >>> with open(path, "w") as file:
    ...     _ = file.write('{"text": "A joy.", "cats": {"pos": 1, "neg": 0}}\\n')
    >>> list(spacy_jsonl_documents(path))
    [Document(text='A joy.', label='pos', id='1')]
    """
    report = ReadReport() if report is None else report
    for number, found in _annotated(path, encoding, on_error, report):
        report.read += 1
        report.empty += not found.text.strip()
        yield Document(found.text, found.label, str(number))


def spacy_jsonl_tagged(
    path: FilePath, *, encoding: str = "utf-8", on_error: OnError = "raise", report: ReadReport | None = None
) -> Iterator[list[tuple[str, ...]]]:
    """The sentences of the texts, as rows of a token and its label: entities in IOB2.

    The tokens are those of the file (``tokens``), or else our own. An entity that begins or ends inside of a token is
    an error, and no sentence ends inside of an entity.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.jsonl")
    >>> with open(path, "w") as file:
    ...     _ = file.write('{"text": "Ada King slept.", "entities": [[0, 8, "PER"]]}\\n')
    >>> list(spacy_jsonl_tagged(path))
    [[('Ada', 'B-PER'), ('King', 'I-PER'), ('slept', 'O'), ('.', 'O')]]
    """
    report = ReadReport() if report is None else report
    for number, found in _annotated(path, encoding, on_error, report):
        try:
            sentences = _labelled(found)
        except InputError as error:
            _skip(error, path, number, on_error, report)
            continue
        for sentence in sentences:
            report.read += 1
            yield sentence


def _annotated(
    path: FilePath, encoding: str, on_error: OnError, report: ReadReport
) -> Iterator[tuple[int, Annotated]]:
    for number, line in read_lines(path, encoding, on_error=on_error, report=report):
        if not line.strip():
            continue
        try:
            found = _parsed(line)
        except InputError as error:
            _skip(error, path, number, on_error, report)
            continue
        if found is not None:
            yield number, found


def _skip(error: InputError, path: FilePath, number: int, on_error: OnError, report: ReadReport) -> None:
    error = InputError(error.what, path=os.fspath(path), line=number, remedy=error.remedy)
    if on_error == "raise":
        raise error from None
    report.skip(error)


def _parsed(line: str) -> Annotated | None:
    """What a line has; None for an example that an annotator rejected or left out."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("not JSON", remedy="write one JSON object per line") from None
    if not isinstance(found, dict) or not isinstance(found.get("text"), str):
        raise InputError("not a JSON object with a text", remedy=_EXAMPLE)
    if found.get("answer", "accept") != "accept":
        return None
    text = found["text"]
    spans = _spans(found, len(text))
    sentences = _given_tokens(found["tokens"], text) if "tokens" in found else _own_tokens(text)
    return Annotated(text, sentences, spans, _label(found))


def _spans(found: dict[str, Any], length: int) -> list[tuple[int, int, str]] | None:
    given = found.get("spans", found.get("entities"))
    if given is None:
        return None
    if not isinstance(given, list):
        raise InputError(f"the spans must be a list, not {shown(given)}", remedy=_EXAMPLE)
    spans = []
    for one in given:
        parts = [one.get(name) for name in ("start", "end", "label")] if isinstance(one, dict) else one
        if not isinstance(parts, list) or len(parts) != 3 or not isinstance(parts[2], str) or not parts[2]:
            raise InputError(f"{shown(one)} is not a span", remedy=_EXAMPLE)
        start, end, label = parts
        if not (_is_place(start) and _is_place(end) and start < end <= length) or label.split() != [label]:
            raise InputError(f"{shown(one)} is not a span of the text", remedy=f"it has {length} characters")
        spans.append((start, end, label))
    spans.sort()
    for (_, end, _), (start, _, label) in pairwise(spans):
        if start < end:
            raise InputError(
                f"the span {label} at {start} overlaps the one before", remedy="keep one of them"
            )
    return spans


def _is_place(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _given_tokens(given: Any, text: str) -> list[list[Token]]:
    """The tokens of the file as one sentence."""
    tokens: list[Token] = []
    last = 0
    if not isinstance(given, list):
        raise InputError("tokens must be a list", remedy='such as [{"text": "Ada", "start": 0, "end": 3}]')
    for one in given:
        start: Any = one.get("start") if isinstance(one, dict) else None
        end: Any = one.get("end") if isinstance(one, dict) else None
        if not (_is_place(start) and _is_place(end) and last <= start < end <= len(text)):
            raise InputError(f"{shown(one)} is not a token of the text", remedy="give start and end of each")
        last = end
        if word := "".join(text[start:end].split()):
            tokens.append(Token(word, start, end))
    return [tokens] if tokens else []


def _own_tokens(text: str) -> list[list[Token]]:
    sentences, last = [], 0
    for sentence in split_sentences(text):
        tokens = []
        for word in tokenize(sentence):
            start = text.index(word, last)
            last = start + len(word)
            tokens.append(Token(word, start, last))
        if tokens:
            sentences.append(tokens)
    return sentences


def _label(found: dict[str, Any]) -> str | None:
    categories, accepted = found.get("cats"), found.get("accept")
    if isinstance(categories, dict):
        if not all(isinstance(value, int | float) for value in categories.values()):
            raise InputError("categories must have numbers", remedy='such as {"pos": 1, "neg": 0}')
        accepted = [name for name, value in categories.items() if value >= 0.5]
    if isinstance(accepted, list):
        if len(accepted) > 1:
            what = f"more than one category: {', '.join(map(str, accepted[:5]))}"
            raise InputError(what, remedy="give each text one category")
        return str(accepted[0]) if accepted else None
    label = found.get("label")
    return label if isinstance(label, str) else None if label is None else json.dumps(label)


def _labelled(found: Annotated) -> list[list[tuple[str, ...]]]:
    if found.spans is None:
        raise InputError("no spans", remedy='a text without entities has "spans": []')
    tokens = [token for sentence in found.sentences for token in sentence]
    labels = _iob2(tokens, found.spans)
    sentences: list[list[tuple[str, ...]]] = []
    n = 0
    for sentence in found.sentences:
        rows = [(token.text, label) for token, label in zip(sentence, labels[n : n + len(sentence)])]
        if sentences and rows[0][1].startswith("I-"):  # an entity goes on
            sentences[-1] += rows
        else:
            sentences.append(list(rows))
        n += len(sentence)
    return sentences


def _iob2(tokens: Sequence[Token], spans: Sequence[tuple[int, int, str]]) -> list[str]:
    labels = ["O"] * len(tokens)
    first = {token.start: i for i, token in enumerate(tokens)}
    last = {token.end: i for i, token in enumerate(tokens)}
    for start, end, label in spans:
        if start not in first or end not in last:
            near = " ".join(token.text for token in tokens if token.start < end and token.end > start)
            remedy = f"the tokens there are {near!r}" if near else "there is only white space"
            raise InputError(
                f"the span {label} from {start} to {end} begins or ends inside of a token", remedy=remedy
            )
        a, b = first[start], last[end]
        labels[a : b + 1] = [f"B-{label}", *[f"I-{label}"] * (b - a)]
    return labels
