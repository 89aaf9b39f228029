from __future__ import annotations

import lzma
import re
from collections import Counter
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import (
    ReadReport,
    TokenArrays,
    Vocabulary,
    read_conllu,
    read_table,
    reading,
    tokenized_sentences,
)
from spinney.corpus.reading import read_text
from spinney.errors import InputError, OptionError

LINES = "The cat sat\nthe Cat ran off\na dog\n"


@pytest.fixture
def make(tmp_path):
    def write(text: str, name: str = "file.txt") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = text.encode()
        path.write_bytes(lzma.compress(content) if path.suffix == ".xz" else content)
        return path

    return write


def conllu(*sentences):
    """A file of sentences of (form, lemma, upos, head, deprel)."""
    stanzas = [
        "".join(
            f"{i}\t{form}\t{lemma}\t{upos}\t_\t_\t{head}\t{deprel}\t_\t_\n"
            for i, (form, lemma, upos, head, deprel) in enumerate(sentence, start=1)
        )
        for sentence in sentences
    ]
    return "\n".join(stanzas) + "\n"


DOGS = [("Dogs", "dog", "NOUN", 2, "nsubj:pass"), ("attack", "attack", "VERB", 0, "root")]
THE_ATTACK = [("The", "the", "DET", 2, "det"), ("attack", "attack", "NOUN", 0, "root")]
LONG = [(w, w, "X", i, "dep" if i else "root") for i, w in enumerate("abcde")]


def decoded(arrays: TokenArrays) -> list[list[str]]:
    return [arrays.vocabulary.decode(sentence) for sentence in arrays]


# What is a word


def test_pairs_of_columns_are_words(make):
    path = make(conllu(DOGS, THE_ATTACK), "two.conllu")
    arrays = read_text(path, words="lemma+upos", tree=True)
    assert decoded(arrays) == [["dog|NOUN", "attack|VERB"], ["the|DET", "attack|NOUN"]]
    assert arrays.heads.tolist() == [1, -1, 1, -1]
    assert decoded(read_text(path, words="lemma")) == [["dog", "attack"], ["the", "attack"]]
    assert decoded(read_text(path, words="form+upos", lowercase=True))[1] == ["the|DET", "attack|NOUN"]


def test_pairs_of_column_files(make):
    path = make("He PRP\nran VBD\n\nRun VBD\n")
    assert decoded(read_text(path, "columns", words="0+1")) == [["He|PRP", "ran|VBD"], ["Run|VBD"]]
    assert decoded(read_text(path, "columns", words="form")) == [["He", "ran"], ["Run"]]
    assert decoded(read_text(path, "columns", words="1")) == [["PRP", "VBD"], ["VBD"]]


WORDS = st.sampled_from(["A", "a", "B", "b", "<unk>", "c", "D", "É", "é"])
SENTENCES = st.lists(st.lists(st.tuples(WORDS, st.sampled_from("XYZ")), min_size=1, max_size=7), min_size=1)


@given(SENTENCES, st.sampled_from(["0", "0+1"]), st.booleans(), st.integers(1, 3), st.integers(1, 6))
@settings(max_examples=60)
def test_words_are_those_of_strings(tmp_path_factory, sentences, words, lowercase, min_count, max_size):
    """Numbers all the way give what strings would."""

    def word(form, tag):
        form = form.lower() if lowercase else form
        return form if words == "0" or form == "<unk>" else f"{form}|{tag}"

    expected = [[word(*token) for token in sentence] for sentence in sentences]
    options = {"min_count": min_count, "max_size": max_size, "unknown": "<unk>"}
    vocabulary = Vocabulary.from_sentences(expected, **options)
    folder = tmp_path_factory.mktemp("text")
    rows = "\n".join("".join(f"{form} {tag}\n" for form, tag in sentence) for sentence in sentences)
    path = folder / "a.txt"
    path.write_text(rows)
    for where in (None, folder / "arrays"):
        report = ReadReport()
        arrays = read_text(
            path, "columns", words=words, lowercase=lowercase, folder=where, report=report, **options
        )
        assert arrays.vocabulary == vocabulary
        assert [s.tolist() for s in arrays] == [vocabulary.encode(s).tolist() for s in expected]
        assert isinstance(arrays.ids, np.memmap) == (where is not None)
        assert report.tokens == arrays.n_tokens
        assert report.unknown == vocabulary.counts[0]
    again = read_text(path, "columns", words=words, lowercase=lowercase, vocabulary=vocabulary)
    assert np.array_equal(again.ids, arrays.ids)
    assert again.vocabulary is vocabulary


def test_case_is_folded_and_the_unknown_symbol_is_not(make):
    path = make("The <UNK> sat\nthe Cat\n")
    arrays = read_text(path, lowercase=True, unknown="<UNK>")
    assert decoded(arrays) == [["the", "<UNK>", "sat"], ["the", "cat"]]
    assert arrays.vocabulary.words == ("<UNK>", "the", "sat", "cat")
    assert arrays.vocabulary.counts.tolist() == [1, 2, 1, 1]


def test_the_unknown_symbol_of_the_text_is_the_unknown_symbol(make):
    path = make("a <unk> b\na <unk> <unk> b b\n")
    report = ReadReport()
    arrays = read_text(path, max_size=2, report=report)
    assert arrays.vocabulary.words == ("<unk>", "b")
    assert arrays.vocabulary.counts.tolist() == [5, 3]
    assert (report.tokens, report.unknown) == (8, 5)
    pairs = read_text(
        make(conllu([("<unk>", "<unk>", "X", 0, "root")], DOGS), "a.conllu"), words="lemma+upos"
    )
    assert pairs.vocabulary.words == ("<unk>", "dog|NOUN", "attack|VERB")


def test_without_an_unknown_symbol(make):
    path = make(LINES)
    arrays = read_text(path, unknown=None)
    assert arrays.vocabulary.unknown is None
    with pytest.raises(InputError, match="'cow' is not in the vocabulary"):
        read_text(make("a cow\n", "other.txt"), vocabulary=arrays.vocabulary)
    with pytest.raises(OptionError, match="unknown symbol"):
        read_text(path, unknown=None, max_size=3)


def test_a_given_vocabulary(make):
    vocabulary = read_text(make(LINES), lowercase=True).vocabulary
    report = ReadReport()
    other = make("The cow ran\n", "other.txt")
    arrays = read_text(other, vocabulary=vocabulary, lowercase=True, require_known=True, report=report)
    assert decoded(arrays) == [["the", "<unk>", "ran"]]
    assert (report.tokens, report.unknown) == (3, 1)
    french = make("Le chat\n", "french.txt")
    assert decoded(read_text(french, vocabulary=vocabulary)) == [["<unk>", "<unk>"]]
    with pytest.raises(InputError, match=r"french.txt: none of the words is in the vocabulary"):
        read_text([other, french], vocabulary=vocabulary, require_known=True)


# Trees


def test_relations(make):
    path = make(conllu(DOGS, THE_ATTACK), "two.conllu.xz")
    column = read_text(path, relations=True).labels["deprel"]
    assert column.vocabulary.decode(column.ids) == ["nsubj:pass", "root", "det", "root"]
    assert column.vocabulary.words[0] == "root"
    column = read_text(path, tree=True, relations=True, subtypes=False).labels["deprel"]
    assert column.vocabulary.decode(column.ids) == ["nsubj", "root", "det", "root"]


def test_given_relations(make):
    path = make(conllu(DOGS, THE_ATTACK), "two.conllu")
    names = ["det", "nsubj", "root"]
    column = read_text(path, relations=True, subtypes=False, relation_names=names).labels["deprel"]
    assert column.ids.tolist() == [1, 2, 0, 2]
    with pytest.raises(InputError, match=r"two.conllu:1: 'nsubj:pass' \(deprel\) is not in the vocabulary"):
        read_text(path, relations=True, relation_names=names)
    report = ReadReport()
    names = ["nsubj", "root"]
    options = {"relations": True, "subtypes": False, "relation_names": names, "on_error": "skip"}
    assert decoded(read_text(path, **options, report=report)) == [["Dogs", "attack"]]
    assert report.skipped == 1


@pytest.mark.parametrize(
    ("heads", "line", "what"),
    [
        ([2, 1, 0], 4, "form a cycle"),
        ([0, 1, 0], 6, "a second root"),
        ([2, 0, 9], 6, "head 9 in a sentence of 3 words"),
        ([2, 0, -1], 6, "not the number of a head"),
        ([2, 0, "_"], 6, "only some words have a head"),
        (["_", "_", "_"], 4, "no head"),
    ],
)
def test_bad_trees(make, heads, line, what):
    bad = [("a", "a", "X", head, "dep") for head in heads]
    path = make(conllu(DOGS, bad, THE_ATTACK), "bad.conllu")
    with pytest.raises(InputError, match=what) as caught:
        read_text(path, tree=True)
    assert caught.value.line == line
    report = ReadReport()
    arrays = read_text(path, tree=True, on_error="skip", report=report)
    assert (len(arrays), report.skipped, arrays.heads.tolist()) == (2, 1, [1, -1, 1, -1])
    assert what in report.errors[0]
    assert "a" not in arrays.vocabulary


# Long sentences


def test_long_trees_are_left_out(make, tmp_path):
    path = make(conllu(DOGS, LONG, THE_ATTACK), "a.conllu")
    for folder in (None, tmp_path / "arrays"):
        report = ReadReport()
        arrays = read_text(path, tree=True, relations=True, max_length=4, folder=folder, report=report)
        assert decoded(arrays) == [["Dogs", "attack"], ["The", "attack"]]
        assert arrays.heads.tolist() == [1, -1, 1, -1]
        assert len(arrays.labels["deprel"].ids) == 4
        assert (report.long, report.tokens) == (1, 4)
        assert "c" not in arrays.vocabulary
    with pytest.raises(InputError, match="no sentences of at most 1 words"):
        read_text(path, tree=True, max_length=1)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 12))
@settings(max_examples=50)
def test_long_chains_are_cut(tmp_path_factory, lengths, max_length):
    path = tmp_path_factory.mktemp("long") / "a.txt"
    path.write_text("\n".join(" ".join(f"w{i}" for i in range(n)) for n in lengths))
    whole = read_text(path)
    report = ReadReport()
    arrays = read_text(path, max_length=max_length, report=report)
    assert np.array_equal(arrays.ids, whole.ids)
    pieces = np.diff(arrays.offsets)
    assert pieces.max() <= max_length
    assert pieces.min() >= 1
    assert set(whole.offsets) <= set(arrays.offsets)
    assert len(arrays) == sum(-(-n // max_length) for n in lengths)
    assert report.long == sum(n > max_length for n in lengths)


# Formats


def test_formats_by_name(make, tmp_path):
    make("One. <b>Two</b> things!", "docs/a.txt")
    make("Three.", "docs/b.txt")
    documents = [["One", "."], ["Two", "things", "!"], ["Three", "."]]
    assert decoded(read_text(tmp_path / "docs")) == documents
    table = "label\ttext\n1\tOne.<br /><br />Two things!\n2\tThree.\n"
    assert decoded(read_text(make(table, "a.tsv"))) == documents
    assert decoded(read_text(make(table.replace("\t", ","), "a.csv.xz"))) == documents
    bare = make(table.partition("\n")[2], "b.tsv")
    assert decoded(read_text(bare, text=1, header=False)) == documents
    assert decoded(read_text(bare, text="1", header=False)) == documents
    assert decoded(read_text(make("One. Two things!\nThree."), "prose")) == documents
    assert decoded(read_text(make("One . Two\n", "a.text"))) == [["One", ".", "Two"]]


def test_several_files_are_one_text(make, tmp_path):
    docs = make("One. Two.", "docs/a.txt").parent
    arrays = read_text([docs, make("One two\n", "lines.txt"), make(conllu(DOGS), "a.conllu")])
    assert decoded(arrays) == [["One", "."], ["Two", "."], ["One", "two"], ["Dogs", "attack"]]


def test_symbols_in_brackets_are_no_tags(make):
    path = make("text\nan <unk> < 3 <b class='x'>word</b> <Bob>\n", "a.csv")
    assert decoded(read_text(path)) == [["an", "<", "unk", ">", "<", "3", "word", "<", "Bob", ">"]]


@pytest.mark.parametrize(
    ("name", "options", "what"),
    [
        ("a.txt", {"tree": True}, "no heads in lines"),
        ("a.csv", {"relations": True}, "no relations in csv"),
        ("a.txt", {"words": "lemma"}, "no lemma in lines"),
        ("a.txt", {"format": "columns", "words": "lemma"}, "numbers from 0, not lemma"),
        ("a.txt", {"format": "columns", "words": "form+0"}, "numbers from 0"),
        ("a.conllu", {"words": "lemma+upos+feats"}, "one column, or two"),
        ("a.conllu", {"words": "lemma+lemma"}, "one column, or two"),
        ("a.conllu", {"words": "lemmas"}, "no column 'lemmas' in CoNLL-U"),
        ("a.conllu", {"words": "form+deprel", "relations": True}, "not both"),
        ("a.txt", {"format": "words"}, "format must be"),
        ("a.tsv", {"header": False}, "say which column"),
        ("a.txt", {"max_length": 0}, "max_length must be at least 1"),
        ("a.txt", {"on_error": "stop"}, "on_error must be"),
    ],
)
def test_options(make, name, options, what):
    path = make(conllu(DOGS) if name.endswith("conllu") else LINES, name)
    with pytest.raises(OptionError, match=what):
        read_text(path, **options)


def test_nothing_to_read(make, tmp_path):
    with pytest.raises(OptionError, match="no files"):
        read_text([])
    for name in ("a.txt", "a.conllu"):
        with pytest.raises(InputError, match=rf"{name}: no sentences$"):
            read_text(make("\n\n", name))
    assert len(read_text([make(LINES), make("", "empty.txt")])) == 3
    with pytest.raises(InputError, match=r"no sentences: 1 were bad, the first: .*bad.conllu:1: "):
        read_text(make("1\tword\n", "bad.conllu"), on_error="skip")
    with pytest.raises(InputError, match="no such file"):
        read_text(tmp_path / "nowhere.txt")
    bare = [("a", "_", "_", 0, "_")]
    for options, column in (({"words": "lemma"}, "lemma"), ({"relations": True}, "deprel")):
        with pytest.raises(InputError, match=f"the column {column} is empty"):
            read_text(make(conllu(bare), "bare.conllu"), **options)


def test_a_folder_that_fails_leaves_nothing(make, tmp_path):
    with pytest.raises(InputError):
        read_text(make(conllu(DOGS, [("a", "a", "X", 5, "dep")]), "a.conllu"), folder=tmp_path / "arrays")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.conllu"]


def test_reading_in_steps_is_the_same(make, monkeypatch, tmp_path):
    path = make(LINES * 50)
    report = ReadReport()
    whole = read_text(path, max_size=4)
    monkeypatch.setattr(reading, "_STEP", 3)
    arrays = read_text(path, max_size=4, folder=tmp_path / "arrays", report=report)
    assert np.array_equal(arrays.ids, whole.ids)
    assert report.unknown == np.count_nonzero(whole.ids == 0)


# Real text


def test_universal_dependencies(data):
    path = data / "ud_english_ewt" / "en_ewt-ud-dev.conllu.xz"
    sentences = list(read_conllu(path))
    words = [[f"{lemma}|{tag}" for lemma, tag in zip(s.lemmas, s.upos)] for s in sentences]
    arrays = read_text(
        path, tree=True, words="lemma+upos", relations=True, subtypes=False, max_length=50, max_size=1000
    )
    short = [s for s in sentences if len(s) <= 50]
    kept = [word for s in words if len(s) <= 50 for word in s]
    counts = Counter(dict.fromkeys(chain.from_iterable(words), 0))  # ties are in the order of the file
    counts.update(kept)
    assert arrays.vocabulary.words == ("<unk>", *(word for word, _ in counts.most_common(999)))
    known = [word if word in arrays.vocabulary else "<unk>" for word in kept]
    assert arrays.vocabulary.decode(arrays.ids) == known
    assert arrays.heads.tolist() == [head - 1 for s in short for head in s.heads]
    column = arrays.labels["deprel"]
    assert column.vocabulary.decode(column.ids) == [r.split(":")[0] for s in short for r in s.deprels]


def test_reviews(data, make):
    documents = list(islice(read_table(data / "imdb" / "test.tsv.xz", 3, header=False), 300))
    assert any("<br />" in document.text for document in documents)
    path = make("text\n" + "\n".join(document.text for document in documents), "reviews.tsv")
    expected = [s for d in documents for s in tokenized_sentences(re.sub("</?(br|i) ?/?>", " ", d.text))]
    assert decoded(read_text(path)) == expected
