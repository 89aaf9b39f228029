"""Trees by spaCy: with a stand-in where spaCy is not installed, with a parser trained on the spot where it is."""

from __future__ import annotations

import random
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from spinney.corpus import ReadReport, Sentence, Vocabulary, read_conllu, write_conllu
from spinney.corpus.dependencies import load_pipeline, parse_dependencies, parsed_batches
from spinney.corpus.heads import tree_problem
from spinney.corpus.reading import read_text
from spinney.corpus.vocabulary import Numbering
from spinney.errors import InputError, OptionError

DOGS = ["Dogs", "bark", ".", "Cats", "do", "not", "."]


class Doc(list):
    """As much of spaCy's documents as is asked for."""

    def __init__(self, vocab, words, sent_starts):
        super().__init__(
            SimpleNamespace(
                i=i, text=word, is_sent_start=start, lemma_=word.lower(), pos_="X", tag_="", dep_="x"
            )
            for i, (word, start) in enumerate(zip(words, sent_starts, strict=True))
        )


class Pipeline:
    """Every word is the head of the next; with ``n_roots``, the first so many words are roots."""

    vocab = None

    def __init__(self, n_roots=1, pipe_names=("tagger", "parser")):
        self.n_roots, self.pipe_names, self.sizes = n_roots, list(pipe_names), []

    def get_pipe_meta(self, name):
        return SimpleNamespace(assigns=["token.dep", "token.head"] if name == "parser" else ["token.tag"])

    def memory_zone(self):
        return nullcontext()

    def pipe(self, documents, batch_size):
        self.sizes.append(len(documents))
        for document in documents:
            for token in document:
                assert token.is_sent_start == (token.i == 0)
                is_root = token.i < self.n_roots
                token.head = token if is_root else document[token.i - 1]
                token.dep_ = "ROOT" if is_root else "next"
            yield document


@pytest.fixture
def fake(monkeypatch):
    """A module ``spacy`` that knows the pipelines ``chain``, ``roots`` and ``tags``."""
    pipelines = {"chain": Pipeline(), "roots": Pipeline(n_roots=3), "tags": Pipeline(pipe_names=["tagger"])}

    def load(name, exclude):
        if name == "broken":
            raise ValueError("[E149] Error deserializing model.\nCheck the config.")
        if name not in pipelines:
            raise OSError(f"[E050] Can't find model '{name}'. It doesn't seem to be\na package.")
        return pipelines[name]

    spacy, tokens = ModuleType("spacy"), ModuleType("spacy.tokens")
    spacy.load, tokens.Doc, spacy.tokens = load, Doc, tokens
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)
    return pipelines


# Errors


def test_without_spacy(monkeypatch, make):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(OptionError, match=r"needs the package spaCy: pip install 'spinney\[parse\]'$"):
        parse_dependencies([], "en_core_web_sm")
    with pytest.raises(OptionError, match="needs the package spaCy"):
        read_text(make("a b\n"), tree=True, parser="en_core_web_sm")
    assert len(read_text(make("a b\n"), parser="en_core_web_sm")) == 1  # nothing asks for a tree


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "en_core_web_sm",
            r"no spaCy pipeline is called 'en_core_web_sm': python -m spacy download en_core_web_sm$",
        ),
        ("broken", r"'broken' does not load: \[E149\] Error deserializing model. Check the config.$"),
        ("tags", r"'tags' has no parser, only tagger: use another, as in python -m spacy download"),
    ],
)
def test_pipelines_that_do_not_parse(fake, name, message):
    with pytest.raises(OptionError, match=message) as caught:
        parse_dependencies([DOGS], name)  # before the first sentence is asked for
    assert "\n" not in str(caught.value)


def test_bad_sentences_and_options(fake):
    with pytest.raises(OptionError, match="batch must be at least 1, not 0"):
        parse_dependencies([], "chain", batch=0)
    with pytest.raises(InputError, match="an empty token in the sentence 'a  b'"):
        list(parse_dependencies([["a", "", "b"]], "chain"))


# Trees


def test_a_tree_for_each_sentence(fake):
    report = ReadReport()
    trees = list(parse_dependencies(iter([["A", "dog"], [], ["B"]]), "chain", batch=2, report=report))
    assert trees == [
        Sentence(["A", "dog"], ["a", "dog"], ["X", "X"], heads=[0, 1], deprels=["root", "next"]),
        Sentence([]),
        Sentence(["B"], ["b"], ["X"], heads=[0], deprels=["root"]),
    ]
    assert report.joined == 0
    assert fake["chain"].sizes == [2, 1]


def test_later_roots_hang_on_the_first(fake):
    report = ReadReport()
    [tree, single] = parse_dependencies([DOGS[:5], ["Dogs"]], "roots", report=report)
    assert tree.heads == [0, 1, 1, 3, 4]
    assert tree.deprels == ["root", "dep", "dep", "next", "next"]
    assert single.heads == [0]
    assert report.joined == 1


def test_batches_of_parsed_text():
    trees = [
        Sentence(["a", "b"], heads=[2, 0], deprels=["x", "root"]),
        Sentence(["c"], heads=[0], deprels=["root"]),
    ]
    relations = Vocabulary(("root",), np.zeros(1)).numbering()
    tables = {"form": Numbering(), "lemma": Numbering(), "deprel": relations}
    with pytest.raises(InputError, match=r"^a.txt: 'x' is not in the vocabulary \(deprel\) \(parse with"):
        list(parsed_batches(trees, tables, path="a.txt", report=ReadReport()))
    report = ReadReport(read=2)
    [first, second] = parsed_batches(trees, tables, path="a", on_error="skip", report=report, size=1)
    assert (len(first.lengths), len(first.heads), len(first.columns["form"])) == (0, 0, 0)
    assert (second.lengths.tolist(), second.heads.tolist()) == ([1], [-1])
    assert {name: column.tolist() for name, column in second.columns.items()} == {
        "form": [2],
        "lemma": [0],
        "deprel": [0],
    }
    assert (report.read, report.skipped) == (1, 1)


# Trees of text for classes


def test_text_that_is_parsed(fake, make, tmp_path):
    lines = make("The dog barks\nIt sleeps\n")
    arrays = read_text(lines, tree=True, parser="chain", words="lemma+upos", relations=True)
    words = [arrays.vocabulary.decode(sentence) for sentence in arrays]
    assert words == [["the|X", "dog|X", "barks|X"], ["it|X", "sleeps|X"]]
    assert arrays.heads.tolist() == [-1, 0, 1, -1, 0]
    column = arrays.labels["deprel"]
    assert column.vocabulary.decode(column.ids) == ["root", "next", "next", "root", "next"]
    prose = make("The dog barks. It sleeps!", "prose.txt")
    assert read_text(prose, "prose", tree=True, parser="chain").heads.tolist() == [-1, 0, 1, 2, -1, 0, 1]
    make("Yes. No", "docs/a.txt")
    table = make("text\nYes.<br />No\n", "a.tsv")
    for path in (tmp_path / "docs", table):
        assert read_text(path, tree=True, parser="chain").heads.tolist() == [-1, 0, -1]


def test_conllu_keeps_its_trees(fake, make, tmp_path):
    path = tmp_path / "a.conllu"
    write_conllu(path, [Sentence(["a", "b", "c"], heads=[3, 3, 0], deprels=["x", "y", "root"])])
    arrays = read_text([make("a b\n"), path], tree=True, parser="chain")
    assert arrays.heads.tolist() == [-1, 0, 2, 2, -1]


def test_long_and_bad_sentences_of_parsed_text(fake, make):
    report = ReadReport()
    path = make("a b c d\ne\nf g\n")
    arrays = read_text(path, tree=True, parser="chain", max_length=3, report=report)
    assert (arrays.heads.tolist(), report.long, report.read) == ([-1, -1, 0], 1, 3)
    options = {"tree": True, "relations": True, "relation_names": ["root"], "parser": "chain"}
    with pytest.raises(InputError, match=r"file.txt: 'next' is not in the vocabulary \(deprel\)"):
        read_text(path, **options)
    report = ReadReport()
    assert len(read_text(path, **options, on_error="skip", report=report)) == 1
    assert (report.read, report.skipped) == (1, 2)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"words": "feats", "parser": "chain"}, "no feats in parsed text: only form, lemma"),
        ({"words": "form+deprel", "relations": True, "parser": "chain"}, "not both"),
        ({"format": "columns", "tree": True, "parser": "chain"}, "no heads in columns"),
        ({"tree": True}, "no heads in lines: .* or name a parser"),
        ({"tree": True, "parser": "nope"}, "no spaCy pipeline is called 'nope'"),
    ],
)
def test_options_of_parsed_text(fake, make, options, what):
    with pytest.raises(OptionError, match=what):
        read_text(make("a b\n"), **options)


def test_a_column_that_the_pipeline_does_not_fill(fake, make):
    with pytest.raises(InputError, match="the column xpos is empty"):
        read_text(make("a b\n"), words="xpos", parser="chain")


# With spaCy itself


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a pipeline that has learnt to begin a tree after each full stop."""
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed (extra parse)")
    from spacy.training import Example

    pipeline = spacy.blank("en")
    pipeline.add_pipe("parser", config={"min_action_freq": 1})
    pipeline.add_pipe("sentencizer", first=True)
    heads, relations = [1, 1, 1, 4, 4, 4, 4], ["nsubj", "ROOT", "punct", "nsubj", "ROOT", "neg", "punct"]
    document = spacy.tokens.Doc(pipeline.vocab, words=DOGS)
    example = Example.from_dict(document, {"heads": heads, "deps": relations})
    spacy.util.fix_random_seed(0)
    optimizer = pipeline.initialize(lambda: [example])
    for _ in range(30):
        pipeline.update([example], sgd=optimizer)
    folder = tmp_path_factory.mktemp("pipeline") / "two_roots"
    pipeline.to_disk(folder)
    whole = pipeline(spacy.tokens.Doc(pipeline.vocab, words=DOGS))
    assert sum(token.head.i == token.i for token in whole) == 2  # left alone, it splits
    return str(folder)


def test_spacy_gives_one_tree_for_each_sentence(trained, tmp_path):
    chooser = random.Random(0)
    words = [*DOGS, "<unk>", "10\xa0km", "'s", " ", "\u200d", "人"]
    sentences = [chooser.choices(words, k=chooser.randrange(1, 30)) for _ in range(200)] + [DOGS]
    report = ReadReport()
    trees = list(parse_dependencies(sentences, trained, batch=7, report=report))
    assert [tree.forms for tree in trees] == sentences
    for tree in trees:
        assert tree.heads.count(0) == 1
        assert tree.deprels[tree.heads.index(0)] == "root"
        assert tree_problem(np.array(tree.heads, np.int32), np.array([len(tree)])) is None
    assert trees[-1].lemmas == trees[-1].upos == trees[-1].xpos == []
    assert trees == list(parse_dependencies(sentences, load_pipeline(trained), batch=1000))
    write_conllu(tmp_path / "a.conllu", trees)
    assert [tree.heads for tree in read_conllu(tmp_path / "a.conllu")] == [tree.heads for tree in trees]


def test_spacy_parses_text(trained, make):
    arrays = read_text(make(" ".join(DOGS) + "\n"), tree=True, parser=trained)
    [tree] = parse_dependencies([DOGS], trained)
    assert arrays.heads.tolist() == [head - 1 for head in tree.heads]


def test_spacy_says_what_is_missing(trained, tmp_path):
    import spacy

    with pytest.raises(OptionError, match="no spaCy pipeline is called 'no_such_pipeline'"):
        load_pipeline("no_such_pipeline")
    with pytest.raises(OptionError, match=r"does not load: \[E"):
        load_pipeline(str(tmp_path))
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(OptionError, match="has no parser, only nothing"):
        load_pipeline(str(tmp_path / "blank"))


def test_a_pipeline_of_english(trained):
    from spacy.util import get_installed_models

    names = [name for name in get_installed_models() if name.startswith("en_core_web")]
    if not names:
        pytest.skip("no English pipeline is installed (python -m spacy download en_core_web_sm)")
    [tree] = parse_dependencies([["The", "old", "dogs", "were", "barking", "loudly", "."]], names[0])
    assert tree.heads == [3, 3, 5, 5, 0, 5, 5]
    assert tree.lemmas == ["the", "old", "dog", "be", "bark", "loudly", "."]
    assert tree.upos == ["DET", "ADJ", "NOUN", "AUX", "VERB", "ADV", "PUNCT"]
    assert tree.xpos == ["DT", "JJ", "NNS", "VBD", "VBG", "RB", "."]
    assert tree.deprels == ["det", "amod", "nsubj", "aux", "root", "advmod", "punct"]
