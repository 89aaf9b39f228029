"""Counts of n-grams as input: the same numbers as from the text that they were counted in."""

import gzip
import json
from collections import Counter

import numpy as np
import pytest

import spinney
from spinney.cli.main import run
from spinney.corpus import ReadReport, read_ngrams, read_text, sample_sentences
from spinney.embed import Embedding, fit
from spinney.embed.counts import count_contexts, count_ngrams, window
from spinney.errors import InputError, OptionError, SettingError

SENTENCES = [[word.lower() for word in sentence] for sentence in sample_sentences()[:400]]


def grams_of(sentences, before, after):
    """All n-grams of a text, counted one by one, with marks beyond the ends of sentences."""
    found = Counter()
    for sentence in sentences:
        padded = ["<S>"] * before + sentence + ["</S>"] * after
        found.update(tuple(padded[i : i + before + 1 + after]) for i in range(len(sentence)))
    return found


@pytest.fixture
def files(tmp_path):
    text, grams = tmp_path / "text.txt", tmp_path / "3gm.gz"
    text.write_text("".join(" ".join(sentence) + "\n" for sentence in SENTENCES))
    with gzip.open(grams, "wt") as file:
        file.writelines(f"{' '.join(gram)}\t{n}\n" for gram, n in grams_of(SENTENCES, 1, 1).items())
    return str(text), str(grams)


def by_words(counts, vocabulary):
    """Counts with rows and columns in the order of the alphabet: ties of frequent words may be in any order."""
    order = np.argsort(vocabulary.words)
    width = counts.n_contexts + counts.edges
    places = [*order, *([counts.n_contexts] if counts.edges else [])]
    columns = np.concatenate([block * width + np.array(places) for block in range(counts.n_blocks)])
    return counts.matrix.toarray()[order][:, columns]


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("how", [{}, {"positional": True}, {"weighting": "harmonic"}])
@pytest.mark.parametrize("sides", [(0, 1), (1, 1), (2, 1)])
def test_the_counts_are_those_of_the_text(tmp_path, sides, how, edges):
    (tmp_path / "text").write_text("".join(" ".join(sentence) + "\n" for sentence in SENTENCES))
    lines = (f"{' '.join(gram)}\t{n}\n" for gram, n in grams_of(SENTENCES, *sides).items())
    (tmp_path / "grams").write_text("".join(lines))
    text = read_text(str(tmp_path / "text"), min_count=3)
    ngrams = read_ngrams(str(tmp_path / "grams"), place=sides[0], after=sides[1], min_count=3)
    assert dict(zip(text.vocabulary.words, text.vocabulary.counts)) == dict(
        zip(ngrams.vocabulary.words, ngrams.vocabulary.counts)
    )
    assert ngrams.n_tokens == text.n_tokens
    around = window(*sides, **how)
    ours, theirs = count_ngrams(ngrams, around, edges=edges), count_contexts(text, around, edges=edges)
    assert np.allclose(by_words(ours, ngrams.vocabulary), by_words(theirs, text.vocabulary))
    assert ours.word_counts.sum() == theirs.word_counts.sum()


def test_fewer_contexts_are_the_most_frequent_ones(files):
    ngrams = read_ngrams(files[1], place=1, min_count=3)
    some, all_ = (count_ngrams(ngrams, window(1), n_contexts=n).matrix.toarray() for n in (10, None))
    assert np.array_equal(some, all_[:, :10])


@pytest.mark.parametrize("method", ["cca", "svd", "rescaled", "pmi"])
def test_the_vectors_are_those_of_the_text(files, method):
    how = {"method": method, "window": (1,), "dimensions": 5, "min_count": 3, "svd": "exact"}
    text, grams = fit(files[0], **how), fit(files[1], ngrams=True, **how)
    assert np.allclose(text.singular_values_, grams.singular_values_, rtol=1e-4)
    one, other = text.vectors(), grams.vectors()
    order = [other.words.index(word) for word in one.words]
    ours, theirs = np.asarray(one.matrix), np.asarray(other.matrix)[order]
    assert np.allclose(ours @ ours.T, theirs @ theirs.T, atol=2e-3)


def test_the_command_the_file_and_the_library_agree(files, tmp_path, capsys):
    options = ["--ngrams", "--window", "1", "--dimensions", "4", "--min-count", "3"]
    assert run(["embed", "fit", files[1], *options, "--model", str(tmp_path / "m"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    model = fit(files[1], ngrams=True, window=(1,), dimensions=4, min_count=3)
    assert facts["tokens"] == sum(map(len, SENTENCES))
    assert facts["ngrams"] == model.facts["ngrams"]
    loaded = spinney.load(tmp_path / "m")
    assert np.array_equal(loaded.vectors_, model.vectors_)
    text = read_text(files[0], vocabulary=loaded.vocabulary_)
    assert loaded.token_states(text).shape == (text.n_tokens, 4)


@pytest.mark.parametrize(
    ("cells", "count"),
    [("7", 7), ("1999\t7\t3", 7), ("1999,3,1\t2000,4,2", 7), ("2000,7,2", 7)],
    ids=["web", "books", "books of 2020", "one year of 2020"],
)
def test_the_formats(tmp_path, cells, count):
    (tmp_path / "grams").write_text(f"a b\t{cells}\nb </S>\t1\n")
    ngrams = read_ngrams(str(tmp_path / "grams"), unknown=None)
    assert ngrams.vocabulary.words == ("a", "b")
    assert ngrams.counts.tolist() == [count, 1]


def test_case_and_several_files(tmp_path):
    (tmp_path / "one").write_text("The cat\t2\n_START_ The\t9\n")
    (tmp_path / "two").write_text("the cat\t3\ncat _END_\t5\n")
    ngrams = read_ngrams([str(tmp_path / "one"), str(tmp_path / "two")], lowercase=True, unknown=None)
    assert ngrams.vocabulary.words == ("the", "cat")
    assert ngrams.vocabulary.counts.tolist() == [5, 5]
    assert ngrams.ids.tolist() == [[0, 1], [-1, 0], [0, 1], [1, -1]]


@pytest.mark.parametrize(
    "line",
    [
        "a b",
        "a b\tx",
        "a b\t1\t2",
        "a  b\t1",
        "a b\t-1",
        "a b\t1.5",
        "\t3",
        "a b\t1999,2",
        "a b\t" + "9" * 19,
    ],
)
def test_bad_lines_are_named_or_skipped(tmp_path, line):
    (tmp_path / "grams").write_text(f"a b\t2\n{line}\nb a\t2\n")
    with pytest.raises(InputError, match="not an n-gram with its count") as caught:
        read_ngrams(str(tmp_path / "grams"))
    assert caught.value.line == 2
    report = ReadReport()
    assert len(read_ngrams(str(tmp_path / "grams"), on_error="skip", report=report)) == 2
    assert report.skipped == 1
    assert len(report.errors) == 1


def test_what_cannot_be_learned_from_is_refused(tmp_path, files):
    (tmp_path / "mixed").write_text("a b\t2\na b c\t2\n")
    with pytest.raises(InputError, match="3 words after those of 2"):
        read_ngrams(str(tmp_path / "mixed"))
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(InputError, match="there are no n-grams"):
        read_ngrams(str(tmp_path / "empty"))
    (tmp_path / "marks").write_text("<S> a\t2\n")
    with pytest.raises(InputError, match="no word is at place 1"):
        read_ngrams(str(tmp_path / "marks"))
    with pytest.raises(InputError, match="too short for 5 words before a word and 5 after"):
        fit(files[1], ngrams=True)
    with pytest.raises(SettingError, match="ngrams"):
        fit(files[1], ngrams=True, method="tscca")
    with pytest.raises(SettingError, match="format"):
        fit(files[1], ngrams=True, format="lines", window=(1,))
    with pytest.raises(SettingError, match="read from files"):
        fit(SENTENCES, ngrams=True, window=(1,))
    with pytest.raises(OptionError, match="lrmvl needs text"):
        Embedding("lrmvl", 4).fit(read_ngrams(files[1], place=1))
    with pytest.raises(OptionError, match="does not fit"):
        Embedding("cca", 4, window=(2,)).fit(read_ngrams(files[1], place=1))


def test_the_command_says_what_is_wrong_in_one_line(files, capsys):
    assert run(["embed", "fit", files[1], "--ngrams", "--model", "never"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
