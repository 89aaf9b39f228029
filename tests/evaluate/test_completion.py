"""Sentence completion: against plain loops, and files that are not what they should be."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spinney.errors import InputError
from spinney.evaluate import Completion, read_completions, sentence_completion
from spinney.structure import WordVectors

WORDS = list("abcdefgh")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
@example(4952)
def test_choices_are_those_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    table = {word: rng.standard_normal(3) for word in WORDS}
    vectors = WordVectors(WORDS, np.array(list(table.values())))
    names = [*WORDS, "unknown"]
    sentences = []
    for _ in range(6):
        candidates = rng.choice(names, 3, replace=False).tolist()
        sentences.append(Completion(rng.choice(names, 4).tolist(), candidates[0], candidates[1:]))
    found = sentence_completion(vectors, sentences)

    def cosine(a, b):
        return table[a] @ table[b] / np.linalg.norm(table[a]) / np.linalg.norm(table[b])

    right = 0
    for i, (words, answer, others) in enumerate(sentences):
        context = [word for word in words if word in table]
        can = bool(context) and all(word in table for word in (answer, *others))
        assert found.known[i] == can
        if not can:
            assert found.choices[i] is None
            continue
        means = {
            word: sum(cosine(word, other) for other in context) / len(context) for word in (answer, *others)
        }
        # Where two candidates are the context, they are equally similar to it, but for rounding.
        best = max(means.values())
        assert found.choices[i] == next(word for word in (*others, answer) if means[word] > best - 1e-12)
        right += found.choices[i] == answer
    assert found.correct.sum() == right
    assert found.accuracy == right / max(found.known.sum(), 1)
    assert found.accuracy_of_all == right / 6


def test_a_tie_is_a_mistake():
    vectors = WordVectors(["x", "y", "z"], [[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    assert sentence_completion(vectors, [Completion(["z"], "x", ["y"])]).accuracy == 0
    assert sentence_completion(vectors, []).accuracy == 0


def test_case_and_punctuation(tmp_path):
    path = tmp_path / "gaps.tsv"
    path.write_text("X, ___!\tY\tz\n")
    [one] = read_completions(path)
    assert one == Completion(["X", ",", "!"], "Y", ["z"])
    vectors = WordVectors(["x", "y", "z"], [[1.0, 0.1], [1.0, 0.0], [-1.0, 1.0]])
    assert sentence_completion(vectors, [one]).choices == ["Y"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no gap\ta\tb\n", "gaps.tsv:1: a sentence with 0 gaps"),
        ("a ___ b\tx\ty\n___ and ___\ta\tb\n", "gaps.tsv:2: a sentence with 2 gaps"),
        ("a ___\tx\n", "fewer than two candidates"),
        ("a ___\tx\t\ty\n", "an empty one"),
        ("a ___\tx\tx\n", "a candidate stands twice"),
        ("", "the file is empty"),
    ],
)
def test_files_that_are_wrong(tmp_path, text, said):
    path = tmp_path / "gaps.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_completions(path)
