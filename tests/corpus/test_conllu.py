from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import ReadReport, Sentence, read_arrays, read_conllu, write_conllu
from spinney.corpus.heads import tree_problem
from spinney.errors import InputError, OptionError

SENTENCE = """\
# sent_id = 1
# text = Vámonos, don't
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tVamos\tir\tVERB\tV\tMood=Imp|Number=Plur\t0\troot\t0:root\t_
2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\tX=1|Y=two words
2.1\tgo\tgo\tVERB\t_\t_\t_\t_\t1:conj\tCopyOf=1
3\tNew York\t_\t_\t_\t_\t1\tdep\t_\t_
"""


def word(number, head, form="w"):
    return f"{number}\t{form}\t_\t_\t_\t_\t{head}\t_\t_\t_\n"


def tree(*heads):
    return "".join(word(i, head) for i, head in enumerate(heads, start=1)) + "\n"


GOOD = tree(2, 0, 2)


def test_fields(make):
    [sentence] = read_conllu(make(SENTENCE))
    assert sentence.forms == ["Vamos", "nos", "New York"]
    assert sentence.lemmas == ["ir", "nosotros", "_"]
    assert sentence.upos == ["VERB", "PRON", "_"]
    assert sentence.xpos == ["V", "P", "_"]
    assert sentence.feats == ["Mood=Imp|Number=Plur", "_", "_"]
    assert sentence.heads == [0, 1, 1]
    assert sentence.deprels == ["root", "obj", "dep"]
    assert sentence.deps == ["0:root", "_", "_"]
    assert sentence.misc == ["_", "X=1|Y=two words", "_"]
    assert sentence.comments == ["# sent_id = 1", "# text = Vámonos, don't"]
    assert [(before, line.split("\t")[:2]) for before, line in sentence.extras] == [
        (0, ["1-2", "Vámonos"]),
        (2, ["2.1", "go"]),
    ]
    assert len(sentence) == 3


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE + "\n" + GOOD,
        GOOD + "# c\n" + "0.1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n" + "1-3\tb\t_\t_\t_\t_\t_\t_\t_\t_\n" + GOOD,
        "# a tree-less sentence,\twith a tab in its comment\n" + tree("_", "_"),
    ],
)
def test_exact_round_trip(make, tmp_path, text):
    path = make(text if text.endswith("\n\n") else text + "\n")
    write_conllu(tmp_path / "out.conllu.gz", read_conllu(path))
    write_conllu(tmp_path / "out.conllu", read_conllu(tmp_path / "out.conllu.gz"))
    assert (tmp_path / "out.conllu").read_bytes() == path.read_bytes()


FIELD = st.text(
    st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=5
)


@st.composite
def sentences(draw):
    n = draw(st.integers(1, 6))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for place, number in enumerate(order[1:], start=1):
        heads[number - 1] = order[draw(st.integers(0, place - 1))]
    columns = [draw(st.lists(FIELD, min_size=n, max_size=n)) for _ in range(8)]
    return Sentence(*columns[:5], heads, *columns[5:])


@given(st.lists(sentences(), max_size=4))
def test_round_trip(tmp_path_factory, given_sentences):
    path = tmp_path_factory.mktemp("conllu") / "a.conllu"
    write_conllu(path, given_sentences)
    assert list(read_conllu(path)) == given_sentences


def test_crlf_marks_and_a_missing_end(make):
    text = ("\ufeff# c\n" + GOOD + GOOD).rstrip("\n").replace("\n", "\r\n")
    first, second = read_conllu(make(text))
    assert first.comments == ["# c"]
    assert first.heads == second.heads == [2, 0, 2]


def test_comments_that_stand_alone_go_to_the_next_sentence(make):
    [sentence] = read_conllu(make("# licence\n\n\n# text\n" + GOOD + "# end\n"))
    assert sentence.comments == ["# licence", "# text"]


NEXT = "\n\n# next\n" + GOOD
BAD = [
    (word(1, 0) + "2\tw\t_\t0\n", 2, "4 columns where CoNLL-U has 10"),
    (word(1, 0) + "no tabs\n", 2, "1 columns where CoNLL-U has 10"),
    (word(1, 0).rstrip("\n") + "\textra\n", 1, "11 columns"),
    (word(1, 0) + " \n" + word(1, 0), 2, "white space on a blank line"),
    (word(1, 0) + word(3, 1), 2, "word number 3 where 2 is expected"),
    (word(2, 0), 1, "word number 2 where 1 is expected"),
    (word("²", 0), 1, "word number ² where 1 is expected"),
    (word("x", 0) + word(1, 0), 1, "'x' is not a word number"),
    (word("1-2", "_"), 1, "a sentence without words"),
    (word("2-3", "_") + word(1, 0) + word(2, 1) + word(3, 1), 1, "2-3 is out of place after 0 words"),
    (word("1-3", "_") + word(1, 0) + word(2, 1), 1, "1-3 is out of place after 0 words"),
    (word(1, 0) + word("2-1", "_") + word(2, 1), 2, "2-1 is out of place after 1 words"),
    (word(1, 0) + word("2.1", "_") + word(2, 1), 2, "2.1 is out of place after 1 words"),
    (word(1, 0) + word(2, 1, form=""), 2, "a word without a form"),
    (tree(0, 3), 2, "head 3 in a sentence of 2 words"),
    (tree(0, 1, 99999), 3, "head 99999 in a sentence of 3 words"),
    (tree(0, -1), 2, "'-1' is not the number of a head"),
    (tree(0, "1_0"), 2, "'1_0' is not the number of a head"),
    (tree(0, ""), 2, "'' is not the number of a head"),
    (tree(0, "_"), 2, "only some words have a head"),
    (tree("_", 0), 2, "only some words have a head"),
    (tree(0, 1, 0), 3, "a second root, but a sentence has only one"),
    (tree(0, 2), 2, "the heads of words 2 form a cycle"),
    (tree(2, 1), 1, "the heads of words 1, 2 form a cycle"),
    (tree(0, 5, 1, 2, 4, 1), 2, "the heads of words 2, 4, 5 form a cycle"),
    (word(1, 0).replace("w", "\0"), 1, "NUL byte"),
]


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(("text", "line", "message"), BAD)
def test_bad_sentences(make, text, line, message, fast):
    before = "# first\n" + GOOD
    path = make(before + text + NEXT)
    line += before.count("\n")

    def read(**options):
        if fast:
            return len(read_arrays(path, "conllu", heads=True, **options))
        return len(list(read_conllu(path, **options)))

    with pytest.raises(InputError) as caught:
        read()
    assert str(caught.value).startswith(f"{path}:{line}: {message}")
    assert "\n" not in str(caught.value)
    report = ReadReport()
    kept = read(on_error="skip", report=report)
    if "blank line" in message:  # its two halves are good
        assert (kept, report.skipped) == (4, 1)
    else:
        assert (kept, report.read, report.skipped) == (2, 2, 1)
        assert report.errors == [str(caught.value)]


def test_bad_byte(make):
    with pytest.raises(InputError, match=r":6: not UTF-8"):
        list(read_conllu(make(GOOD.encode() + b"# good\n" + word(1, 0).encode().replace(b"w", b"\xe9"))))


def test_the_right_line_far_into_a_file(make):
    good = ("# c\n" + GOOD) * 20_000
    path = make(good + tree(0, 0) + good)
    for read in (lambda: list(read_conllu(path)), lambda: read_arrays(path, "conllu")):
        with pytest.raises(InputError, match=r":100002: a second root"):
            read()


@given(st.lists(st.integers(1, 6).flatmap(lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n))))
def test_tree_problem_against_walking_up(trees):
    heads = np.array([head for tree in trees for head in tree], np.int32)
    lengths = np.array([len(tree) for tree in trees], np.int64)

    def is_tree(tree):
        for number in range(1, len(tree) + 1):
            steps = 0
            while number and steps <= len(tree):
                number, steps = tree[number - 1], steps + 1
            if number:
                return False
        return tree.count(0) == 1

    problem = tree_problem(heads, lengths)
    assert (problem is None) == all(map(is_tree, trees))
    if problem is not None:
        sentence = int(np.searchsorted(np.cumsum(lengths), problem[0], side="right"))
        assert not is_tree(trees[sentence])


def test_arrays_agree_with_objects(make):
    path = make(SENTENCE + "\n" + GOOD + SENTENCE)
    arrays = read_arrays(path, "conllu", labels=["upos", "deprel"], heads=True)
    read = list(read_conllu(path))
    assert [arrays.vocabulary.decode(sentence) for sentence in arrays] == [s.forms for s in read]
    assert arrays.heads is not None
    assert (arrays.heads + 1).tolist() == [head for sentence in read for head in sentence.heads]
    for name, attribute in (("upos", "upos"), ("deprel", "deprels")):
        column = arrays.labels[name]
        assert column.vocabulary.decode(column.ids) == [x for s in read for x in getattr(s, attribute)]
    lemmas = read_arrays(path, "conllu", words="lemma")
    assert lemmas.vocabulary.decode(lemmas[0]) == ["ir", "nosotros", "_"]
    assert lemmas.heads is None


def test_arrays_need_heads_only_when_asked(make):
    path = make(tree("_", "_"))
    assert read_arrays(path, "conllu").n_tokens == 2
    with pytest.raises(InputError, match=r":1: no head \(parse the text first"):
        read_arrays(path, "conllu", heads=True)
    for name in ("head", "pos", 1):
        with pytest.raises(OptionError, match=r"no column .* in CoNLL-U: use form, lemma, upos"):
            read_arrays(path, "conllu", labels=[name])


def test_writer_refuses_what_it_could_not_read_back(tmp_path):
    path = tmp_path / "a.conllu"
    for bad in (Sentence(["a\tb"]), Sentence(["a\nb"]), Sentence(["a"], comments=["# a\nb"])):
        with pytest.raises(InputError, match="sentence 1 has a tab or line end"):
            write_conllu(path, [bad])
    with pytest.raises(InputError, match="sentence 1 has a comment without #"):
        write_conllu(path, [Sentence(["a"], comments=["text = a"])])
    with pytest.raises(InputError, match="sentence 2 has columns of unequal length"):
        write_conllu(path, [Sentence(["a"]), Sentence(["a", "b"], heads=[0])])
    assert not list(tmp_path.iterdir())


def test_white_space_between_sentences_is_an_error_or_skipped(make):
    row = "\t".join(["1", "x", *"_" * 8])
    path = make(f"{row}\n\n{row}\n \n{row}\n\n{row}\n")
    with pytest.raises(InputError, match=r"file.txt:4: white space on a blank line"):
        list(read_conllu(path))
    report = ReadReport()
    assert len(list(read_conllu(path, on_error="skip", report=report))) == 4
    assert report.skipped == 1
