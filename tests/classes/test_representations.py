"""Rows of tokens for other models: against the posteriors and counts they come from, and as cells of a column."""

from __future__ import annotations

import numpy as np
import pytest

from spinney.classes import HiddenMarkov, fit, token_rows
from spinney.corpus import sentence_arrays
from spinney.corpus.values import values_of
from spinney.errors import OptionError, SettingError
from spinney.settings.classes import Apply

TEXT = [[a, b, c] for a in ("the", "a") for b in ("dog", "cat", "run") for c in ("run", "sleep")] * 4


@pytest.fixture(scope="module")
def model():
    return fit(TEXT, method="hmm", classes=3, passes=2, threads=1, init="random", seed=3)


def test_rows(model):
    text = sentence_arrays(TEXT[:5], vocabulary=model.vocabulary)
    token, vectors = model.posteriors(text), model.word_vectors()
    of_type = vectors.rows([model.vocabulary.words[i] for i in text.ids])
    np.testing.assert_allclose(token_rows(model, text, "posterior"), token, atol=1e-7)
    np.testing.assert_allclose(token_rows(model, text, "type"), of_type, atol=1e-6)
    both = token_rows(model, text, "both", roots=True, at=np.array([7, 2]))
    np.testing.assert_allclose(both**2, np.hstack([token, of_type])[[7, 2]], atol=1e-6)
    viterbi = token_rows(model, text, "viterbi")
    assert np.array_equal(viterbi.argmax(axis=1), model.predict(text))
    assert np.array_equal(viterbi.sum(axis=1), np.ones(15))
    # A scalar product of roots is the sum of two Hellinger kernels.
    p, q = (np.hstack([token, of_type])[i] for i in (7, 2))
    assert both[0] @ both[1] == pytest.approx(np.sqrt(p * q).sum(), abs=1e-6)


def test_cells(model):
    """What apply writes is what token_rows gives, block by block."""
    sentences = TEXT[:5]
    text = sentence_arrays(sentences, vocabulary=model.vocabulary)
    for what, blocks in {"posterior": {"": 0}, "type": {"": 0}, "both": {"": 0, "w": 3}}.items():
        for roots in (False, True):
            rows = token_rows(model, text, what, roots=roots)
            records = model.apply(sentences, what=what, roots=roots, top=3).records
            cells = [cell for record in records for cell in record[what]]
            for row, cell in zip(rows, cells, strict=True):
                expected = {
                    f"{prefix}{i}": row[start + i] for prefix, start in blocks.items() for i in range(3)
                }
                found = dict(values_of(cell))
                least = 5e-4**0.5 if roots else 5e-4
                assert set(found) == {name for name, value in expected.items() if value >= least}
                assert all(found[name] == pytest.approx(expected[name], rel=6e-3) for name in found)


def test_what_is_refused(model):
    text = sentence_arrays(TEXT)
    with pytest.raises(OptionError, match="what must be viterbi, posterior, type or both"):
        token_rows(model, text, "class")
    with pytest.raises(OptionError, match="read with another vocabulary"):
        token_rows(HiddenMarkov(2, passes=1).fit(sentence_arrays([["x", "y"]])), text, "type")
    with pytest.raises(SettingError, match="roots has no effect unless what is posterior, type or both"):
        Apply(what="viterbi", roots=True)
    clusters = fit(TEXT, classes=3)
    with pytest.raises(OptionError, match="only one class for each word"):
        list(clusters.apply(TEXT, what="both").records)
