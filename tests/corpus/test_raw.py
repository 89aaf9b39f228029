from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus import (
    ReadReport,
    read_arrays,
    read_prose,
    read_tokenized,
    split_sentences,
    tokenize,
    tokenized_sentences,
)
from spinney.errors import InputError


def test_one_sentence_a_line(make):
    report = ReadReport()
    path = make("a  b\tc\r\n\n \t\nd\x85e\xa0f\u3000g h\n")
    assert list(read_tokenized(path, report=report)) == [["a", "b", "c"], ["d\x85e\xa0f\u3000g", "h"]]
    assert report == ReadReport(read=2)


def test_bad_lines(make):
    path = make(b"a b\nc \xff\nd\n\x00\ne\n")
    with pytest.raises(InputError, match=r":4: NUL"):
        list(read_tokenized(path))
    report = ReadReport()
    assert list(read_tokenized(path, on_error="skip", report=report)) == [["a", "b"], ["d"], ["e"]]
    assert (report.read, report.skipped) == (3, 2)
    assert ":2: not UTF-8" in report.errors[0]


def test_lines_as_arrays(make):
    path = make("the cat\nthe dog sat\n")
    arrays = read_arrays(path, "lines")
    assert arrays.vocabulary.words == ("the", "cat", "dog", "sat")
    assert arrays.ids.tolist() == [0, 1, 0, 2, 3]
    prose = read_arrays(make("The cat.\nIt sat."), "prose")
    assert [prose.vocabulary.decode(sentence) for sentence in prose] == [
        ["The", "cat", "."],
        ["It", "sat", "."],
    ]


def test_prose_paragraphs(make):
    path = make("A heading\n\nOne sentence over\ntwo lines. Another\none.\n  \nA new paragraph\n")
    assert [" ".join(sentence) for sentence in read_prose(path)] == [
        "A heading",
        "One sentence over two lines .",
        "Another one .",
        "A new paragraph",
    ]


def test_prose_skips_bad_paragraphs(make):
    path = make(b"Good one.\n\nB\xe4d one.\n\nGood two. Three.\n")
    with pytest.raises(InputError, match=r":3: not UTF-8"):
        list(read_prose(path))
    report = ReadReport()
    assert len(list(read_prose(path, on_error="skip", report=report))) == 3
    assert (report.read, report.skipped) == (3, 1)


@pytest.mark.parametrize(
    "sentences",
    [
        ["Mr. Smith went to St. Louis.", "He stayed."],
        ["It costs $3.50 a piece.", "Why?", "Because!"],
        ["They met at 5 p.m. on Sunday.", "She left at 6 p.m.", "He stayed."],
        ["J. R. R. Tolkien wrote it.", "So did C. S. Lewis."],
        ["He said no.", "Then see No. 5 on p. 7."],
        ['"Stop!" he cried.', '"I will not."', "She went."],
        ["The U.S. Senate met (in the Capitol).", "It voted."],
        ["Use tools, e.g. Python, i.e. code.", "See Fig. 3 etc."],
        ["Wait... what?", "Yes.", "No…", "Well!"],
        ["Apple Inc. said so.", "The shares of Apple Inc. rose."],
        ["Она пришла.", "Он ушёл.", "¿Qué?", "«Oui.»", "Ça va."],
        ["今日は晴れです。", "明日は？", "雨！"],
        ["Tokenized text .", "Goes here ."],
        ["It works with a version 3.11 and example.com today.", "Good."],
    ],
)
def test_sentences(sentences):
    joined = "".join(sentences) if "。" in sentences[0] else " ".join(sentences)
    assert split_sentences(joined) == sentences


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I can't; won't DON'T.", "I ca n't ; wo n't DO N'T ."),
        ("It’s Jane's and they'll've", "It ’s Jane 's and they 'll 've"),
        ("rock'n'roll o'clock l'homme", "rock'n'roll o'clock l'homme"),
        ("well-known state-of-the-art --- a-b", "well-known state-of-the-art --- a-b"),
        ("$3,000.50 12:30 1/2 21st 1990s 50%", "$ 3,000.50 12:30 1/2 21st 1990s 50 %"),
        ("(see http://a.org/b?c=d, www.x.com).", "( see http://a.org/b?c=d , www.x.com ) ."),
        ("mail jane.doe+x@mail.co.uk!", "mail jane.doe+x@mail.co.uk !"),
        ("@user loves #nlp ... really?!", "@user loves #nlp ... really ?!"),
        ("The U.S. and e.g. Mr. X etc.", "The U.S. and e.g. Mr. X etc ."),
        ("हिन्दी में लिखा", "हिन्दी में लिखा"),
        ("Größe über naïve façade", "Größe über naïve façade"),
        ("cafe\u0301s", "cafe\u0301s"),
        ("a,b;c“d”", "a , b ; c “ d ”"),
    ],
)
def test_tokens(text, tokens):
    assert tokenize(text) == tokens.split()


PROSE = st.text(
    st.sampled_from("aB.1,'’t n!?-@:/\n\u0301é。。\"(") | st.characters(exclude_categories=["Cs"])
)


@given(PROSE)
def test_nothing_is_lost_but_white_space(text):
    squeezed = "".join(text.split())
    assert "".join("".join(split_sentences(text)).split()) == squeezed
    assert "".join("".join(tokenize(text)).split()) == squeezed
    assert all(sentence.strip() for sentence in split_sentences(text))
    assert all(tokens for tokens in tokenized_sentences(text))


@pytest.mark.parametrize(
    "nasty", ["a", "+", "a.b", "-'", "www.", ".", "( ", "1,", "a'", ". ", "n't", "@", "\n", "é'"]
)
def test_no_input_takes_forever(nasty):
    # Quadratic rules would take minutes on these.
    text = nasty * (200_000 // len(nasty)) + "x"
    assert sum(map(len, (token for tokens in tokenized_sentences(text) for token in tokens))) > 0
