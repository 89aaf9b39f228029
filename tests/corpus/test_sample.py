from __future__ import annotations

from collections import Counter
from pydoc_data.topics import topics

from spinney.corpus import sample_documents, sample_sentences


def test_documents_with_themes():
    documents = sample_documents()
    assert [document.id for document in documents] == sorted(document.id for document in documents)
    assert len(documents) > 0.9 * len(topics)
    themes = Counter(document.label for document in documents)
    assert len(themes) == 4
    assert min(themes.values()) >= 10
    assert sum(len(document.text.split()) for document in documents) > 40_000
    assert documents == sample_documents()


def test_prose_and_no_code():
    text = "\n".join(document.text for document in sample_documents())
    for mark in ("::=", "****", ">>>", "    "):
        assert mark not in text


def test_sentences():
    sentences = sample_sentences()
    lengths = sorted(map(len, sentences))
    assert 8 < lengths[len(lengths) // 2] < 40
    assert sum(lengths) > 45_000
