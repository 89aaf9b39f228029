"""A corpus that comes with every Python: the reference manual behind ``help("topics")``.

It has some eighty documents and fifty thousand words of plain English prose, each with a theme: enough to show
what the models do, and always available.
"""

from __future__ import annotations

import re
from typing import Final

from spinney.corpus.documents import Document
from spinney.corpus.raw import tokenized_sentences

#: Topics of the manual by theme; a topic that a later Python adds is a "language" one.
_THEMES: Final = {
    "statements": """
        assert assignment async augassign break class compound continue del else exceptions for function
        global if import nonlocal pass raise return try while with yield
    """,
    "expressions": """
        assignment-expressions atom-identifiers atom-literals attribute-references await binary bitwise
        booleans calls comparisons conversions dict exprlists in lambda lists operator-summary power
        shifting slicings subscriptions ternary truth unary
    """,
    "objects": """
        attribute-access bltin-code-objects bltin-ellipsis-object bltin-null-object bltin-type-objects
        callable-types context-managers customization numeric-types objects sequence-types specialattrs
        specialnames string-methods types typesfunctions typesmapping typesmethods typesmodules typesseq
        typesseq-mutable
    """,
    "language": """
        debugger dynamic-features execmodel floating formatstrings id-classes identifiers imaginary
        integers naming numbers strings
    """,
}
_THEME: Final = {topic: theme for theme, topics in _THEMES.items() for topic in topics.split()}

_EMPHASIS: Final = re.compile(r"(\*\*?)(\w[\w .-]*)\1")


def sample_documents() -> list[Document]:
    """The prose of Python's manual, one document per topic, labelled with its theme.

    The four themes are *statements*, *expressions*, *objects* (types and their methods) and *language*
    (names, literals, execution). Headings, grammar, tables and code examples are left out; a paragraph
    stays if it reads like English. The text is that of the running Python, so that numbers differ a little
    between versions.

    Examples
    --------
    >>> documents = sample_documents()
    >>> sorted({document.label for document in documents})
    ['expressions', 'language', 'objects', 'statements']
    >>> next(document.text for document in documents if document.id == "pass")[:60]
    '"pass" is a null operation — when it is executed, nothing ha'
    """
    from pydoc_data.topics import topics

    prose = {topic: _prose(text) for topic, text in sorted(topics.items())}
    return [Document(text, _THEME.get(topic, "language"), topic) for topic, text in prose.items() if text]


def sample_sentences() -> list[list[str]]:
    """The sentences of :func:`sample_documents`, as tokens.

    Examples
    --------
    >>> len(sample_sentences()) > 2000
    True
    """
    return [tokens for document in sample_documents() for tokens in tokenized_sentences(document.text)]


def _prose(text: str) -> str:
    paragraphs = re.split(r"\n\s*\n", text)
    prose = (" ".join(paragraph.split()) for paragraph in paragraphs if _is_prose(paragraph))
    return "\n\n".join(_EMPHASIS.sub(r"\2", paragraph) for paragraph in prose)


def _is_prose(paragraph: str) -> bool:
    """Whether a paragraph is sentences: it ends as one, has some words, and most of what it has are words."""
    tokens = paragraph.split()
    words = [token for token in tokens if re.fullmatch(r"[\"“`(*]*[A-Za-z’'-]+[\"”`*).,:;]*", token)]
    return tokens[-1:] != [] and tokens[-1][-1] in ".:!?)" and len(words) > max(4, 0.7 * len(tokens))
