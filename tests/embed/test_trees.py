"""Heads and dependents as contexts: against counts written out, and from CoNLL-U to states of tokens."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spinney
from spinney.cli.main import run
from spinney.corpus import Labels, Vocabulary, read_text, sentence_arrays
from spinney.embed import Embedding, fit
from spinney.embed.trees import TreeContexts, count_trees, frequent_relations
from spinney.errors import ModelFileError, OptionError, SettingError

RELATIONS = ("nsubj", "obj", "det")


def trees(seed, n=12, words=9):
    """Random sentences in which each word hangs on one before it, or is the root."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, n)
    text = sentence_arrays([[f"w{x}" for x in rng.integers(0, words, length)] for length in lengths])
    heads = np.concatenate([[-1, *(int(rng.integers(0, t)) for t in range(1, k))] for k in lengths])
    names = Vocabulary(RELATIONS, [1, 1, 1])
    labels = {"deprel": Labels(rng.integers(0, 3, text.n_tokens).astype(np.int32), names)}
    return replace(text, heads=heads.astype(np.int32), labels=labels)


def written_out(text, directed, relations, n_contexts, edges):
    """(word, kind, direction, context) of every edge from both ends."""
    found = Counter()
    column = text.labels["deprel"]
    for start, stop in zip(text.offsets[:-1], text.offsets[1:]):
        for t in range(start, stop):
            head = text.heads[t]
            if head < 0:
                if edges:
                    found[text.ids[t], 0, 0, n_contexts] += 1
                continue
            name = column.vocabulary.words[column.ids[t]]
            kind = 1 + relations.index(name) if name in relations else 0
            up, down = text.ids[t], text.ids[start + head]
            if down < n_contexts:
                found[up, kind, 0, down] += 1
            if up < n_contexts:
                found[down, kind, 1 if directed else 0, up] += 1
    return found


@given(
    st.integers(0, 1000),
    st.booleans(),
    st.booleans(),
    st.sampled_from([(), ("obj",), ("det", "nsubj")]),
    st.integers(1, 9),
)
@settings(max_examples=40, deadline=None)
def test_counts_are_those_of_the_definition(seed, directed, edges, relations, n_contexts):
    text = trees(seed)
    counts = count_trees(text, TreeContexts(directed, relations), n_contexts=n_contexts, edges=edges)
    width = counts.n_contexts + edges
    true = np.zeros(((1 + len(relations)) * (1 + directed) * width, len(text.vocabulary)))
    for (word, kind, side, context), n in written_out(
        text, directed, relations, counts.n_contexts, edges
    ).items():
        true[(kind * (1 + directed) + side) * width + context, word] += n
    np.testing.assert_array_equal(counts.matrix.toarray(), true.T)
    np.testing.assert_array_equal(counts.word_counts, text.vocabulary.counts)


def test_pieces_and_threads_change_nothing(monkeypatch):
    text = trees(3, n=60)
    whole = count_trees(text, TreeContexts(True, RELATIONS[:1])).matrix.toarray()
    monkeypatch.setattr("spinney.embed.trees._PIECE", 20)
    for threads in (1, 3):
        parts = count_trees(text, TreeContexts(True, RELATIONS[:1]), threads=threads).matrix
        np.testing.assert_array_equal(parts.toarray(), whole)


def test_states_are_sums_over_neighbours():
    text = trees(1, n=40)
    model = Embedding("cca", 3, tree=True, positional=True, edges=True).fit(text)
    states, found = model.states_[0], model.token_states(text)
    one = text.part(7, 8)
    np.testing.assert_allclose(
        model.token_states(one), found[text.offsets[7] : text.offsets[8]], rtol=1e-5, atol=1e-7
    )
    width = len(text.vocabulary) + 1
    root = int(np.flatnonzero(one.heads < 0)[0])
    expected = states.projection[width - 1].copy()  # no head: the edge
    for t in np.flatnonzero(one.heads == root):
        expected += states.projection[width + one.ids[t]]
    np.testing.assert_allclose(model.token_states(one)[root], expected, rtol=1e-5, atol=1e-7)


def test_relations_by_frequency():
    text = trees(0)
    ids = np.where(np.arange(text.n_tokens) % 4 == 0, 2, 0).astype(np.int32)
    text = replace(text, labels={"deprel": Labels(ids, text.labels["deprel"].vocabulary)})
    assert frequent_relations(text, 5) == ("nsubj", "det")
    assert frequent_relations(text, 1) == ("nsubj",)
    assert frequent_relations(text, 0) == ()


SENTENCE = """1\t{}\t_\tDET\t_\t_\t2\tdet\t_\t_
2\t{}\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_
3\t{}\t_\tVERB\t_\t_\t0\troot\t_\t_
4\t{}\t_\tADV\t_\t_\t3\tadvmod\t_\t_

"""


@pytest.fixture
def treebank(tmp_path):
    """Nouns and adverbs stand near the same words, but only the tree tells subjects from modifiers."""
    rng = np.random.default_rng(0)
    words = [["the", "a"], ["dog", "cat", "bird"], ["barks", "sleeps"], ["now", "often"]]
    path = tmp_path / "trees.conllu"
    path.write_text(
        "".join(SENTENCE.format(*(some[rng.integers(len(some))] for some in words)) for _ in range(80))
    )
    return str(path)


def test_from_conllu_to_states(treebank, tmp_path, capsys):
    how = {"tree": True, "typed": 3, "positional": True, "dimensions": 4}
    model = fit(treebank, **how)
    file = str(tmp_path / "m.spinney")
    command = ["embed", "fit", treebank, "--tree", "--typed", "3", "--positional", "--dimensions", "4"]
    assert run([*command, "--model", file]) == 0
    assert "heads and dependents" in capsys.readouterr().out
    again = spinney.load(file)
    text = read_text(treebank, "conllu", tree=True, relations=True, vocabulary=model.vocabulary_)
    assert again.states_[0].contexts == TreeContexts(True, ("det", "nsubj", "advmod"))
    np.testing.assert_array_equal(again.token_states(text), model.token_states(text))
    assert {word for word, _ in model.vectors().neighbours("dog", 2)} == {"cat", "bird"}
    assert (
        run(["embed", "apply", file, treebank, "--what", "states", "-o", str(tmp_path / "states.tsv")]) == 0
    )
    assert (tmp_path / "states.tsv").read_text().count("\n") == 80 * 5
    # Vectors of words, and their neighbours, need no trees.
    assert len(list(model.apply([["the", "dog"]]))) == 1
    assert model.explain([["the", "dog"]])
    with pytest.raises(OptionError, match="a parser adds trees"):
        model.apply([["the", "dog"]], parser="parser.spinney")


def test_text_without_heads_is_refused(tmp_path, capsys):
    plain = tmp_path / "plain.txt"
    plain.write_text("a dog barks\n" * 9)
    assert run(["embed", "fit", str(plain), "--tree", "--model", str(tmp_path / "m")]) == 2
    assert capsys.readouterr().err.startswith("spinney: no heads in lines")
    with pytest.raises(OptionError, match="need heads"):
        fit([["a", "dog", "barks"]] * 9, tree=True)
    with pytest.raises(OptionError, match="need heads and relations"):
        Embedding(tree=True, typed=2).fit(sentence_arrays([["a", "b"]] * 9))
    model = Embedding(dimensions=2, tree=True).fit(trees(0))
    with pytest.raises(OptionError, match="need heads"):
        model.token_states(sentence_arrays([["w1"]], vocabulary=model.vocabulary_))


def test_settings_without_effect_are_refused(treebank):
    for given_, said in [
        ({"tree": True, "window": (2,)}, "window has no effect with tree"),
        ({"tree": True, "weighting": "flat"}, "weighting has no effect with tree"),
        ({"typed": 3}, "typed is for trees"),
        ({"tree": True, "head_rules": "rules"}, "head_rules needs"),
        ({"tree": True, "ngrams": True}, "tree has no effect with ngrams"),
        ({"tree": True, "method": "tscca"}, "tree is a setting of the methods"),
    ]:
        with pytest.raises(SettingError, match=said):
            fit(treebank, **given_)


@pytest.mark.parametrize(
    "change",
    [
        {"directed": 1},
        {"relations": ["obj", "obj"]},
        {"relations": "obj"},
        {"relations": ["obj", "x"]},
        {"n_contexts": 3},
    ],
)
def test_a_damaged_file_is_refused(tmp_path, change):
    from spinney.files import write_model

    model = Embedding(dimensions=2, tree=True, typed=1).fit(trees(0))
    contents = model.contents()
    contents.header["states"][0] |= change
    write_model(tmp_path / "bad", model.kind, contents.header, contents.tensors, contents.strings)
    with pytest.raises(ModelFileError, match="damaged"):
        spinney.load(tmp_path / "bad")
