"""The pattern language: Wapiti's and CRF++'s files as they are, and what is refused."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus.values import _any_values_of, values_of
from spinney.errors import InputError, OptionError
from spinney.structure import WordClasses, WordVectors
from spinney.tagging.columns import Columns
from spinney.tagging.extract import Extractor
from spinney.tagging.patterns import (
    parse_patterns,
    read_patterns,
    shape,
)
from spinney.tagging.presets import PRESETS, kind_of, preset
from spinney.tagging.regex import _PREDICATES, wapiti_regex

# As distributed with CRF++ (example/basenp/template) and, below, in the manner of Wapiti's manual.
CRFPP = """\
# Unigram
U00:%x[-2,0]
U01:%x[-1,0]
U05:%x[-1,0]/%x[0,0]
U20:%x[-2,1]/%x[-1,1]/%x[0,1]

# Bigram
B
"""
WAPITI = """\
*

U:wrd-1 X=%X[ 0,0]      # the word
*:pos=%x[+1,1]
u:suf-3 X=%m[ 0,0,".?.?.?$"]
u:cap?=%t[0,0,"^\\u"]
*:last=%x[@-1,0]
b:%x[0,1]
"""


def seen(template: str, sentence: list[str], structures=None) -> list[list[str]]:
    """The unigram observations of each token of a sentence of ``word`` or ``word/tag/…``."""
    extractor = Extractor(parse_patterns(template), structures)
    unigrams, _ = extractor.learn(Columns.from_sentences([[token.split("/") for token in sentence]]))
    names = extractor.names("u")
    return [
        [names[i] for i in unigrams.ids[unigrams.ptr[t] : unigrams.ptr[t + 1]]] for t in range(len(sentence))
    ]


def test_a_file_of_crfpp(tmp_path):
    path = tmp_path / "template"
    path.write_bytes(CRFPP.replace("\n", "\r\n").encode())
    patterns = read_patterns(path)
    assert [pattern.kind for pattern in patterns] == ["u", "u", "u", "u", "b"]
    assert [pattern.name for pattern in patterns] == ["U00", "U01", "U05", "U20", "B"]
    assert [pattern.line for pattern in patterns] == [2, 3, 4, 5, 8]
    assert patterns[2].literals == ("U05:", "/", "")
    assert patterns[-1].fields == ()
    assert [(f.offset, f.column) for f in patterns[3].fields] == [(-2, 1), (-1, 1), (0, 1)]


def test_a_file_of_wapiti():
    extractor = Extractor(parse_patterns(WAPITI))
    sentence = [("The", "DT"), ("dogs", "NNS")]
    extractor.learn(Columns.from_sentences([sentence]))
    assert extractor.names("u") == [
        "*", "U:wrd-1 X=the", "*:pos=NNS", "U:suf-3 X=The", "U:cap?=true", "*:last=dogs",
        "U:wrd-1 X=dogs", "*:pos=_B+1", "U:suf-3 X=ogs", "U:cap?=false",
    ]  # fmt: skip
    assert extractor.names("b") == ["*", "*:pos=NNS", "*:last=dogs", "B:DT", "*:pos=_B+1", "B:NNS"]


def test_names():
    names = [pattern.name for pattern in parse_patterns(WAPITI + "U\nU:%x[0,0]\nUx=%x[0,0]")]
    wanted = ["*", "U:wrd-1 X", "*:pos", "U:suf-3 X", "U:cap?", "*:last", "B", "U", "U", "Ux="]
    assert names == wanted


def test_beyond_the_sentence():
    assert seen("U:%x[-2,0]/%x[2,0]", ["a", "b"]) == [["U:_B-2/_B+1"], ["U:_B-1/_B+2"]]
    assert seen("U:%lower[-1,0]/%shape[-1,0]/%suffix[-1,0,9]", ["a"]) == [["U:_B-1/_B-1/_B-1"]]
    # Regular expressions see Wapiti's names of these places.
    assert seen('U:%m[-1,0,".*$"]/%m[1,0,".*$"]/%m[7,0,".*$"]', ["a"]) == [["U:_x-1/_x+1/_x+#"]]
    assert seen('U:%t[-1,0,"\\u"]', ["A"]) == [["U:false"]]


def test_absolute_positions():
    sentence = ["a", "b", "c"]
    assert seen("U:%x[@1,0]/%x[@-1,0]/%x[@5,0]/%x[@-5,0]", sentence) == [["U:a/c/_B+2/_B-2"]] * 3
    assert seen("U:%x[@0,0]", ["a"]) == [["U:_B-1"]]  # as Wapiti has it


def test_patterns_with_the_same_text_share_observations():
    assert seen("U:%x[-1,0]\nU:%x[1,0]", ["a", "b", "a"]) == [
        ["U:_B-1", "U:b"], ["U:a", "U:a"], ["U:b", "U:_B+1"],
    ]  # fmt: skip


def test_upper_case_commands_lower_the_result():
    assert seen('U:%X[0,0]/%M[0,0,"\\u+"]/%T[0,0,"\\u"]', ["NATo"]) == [["U:nato/nat/true"]]


def test_own_views():
    classes = WordClasses(["bank", "Paris"], [1, 0], paths=["0010", "11"])
    sentence = ["Bank", "Paris", "x"]
    template = "Uc:%class[0,0,brown]\nUp:%path[0,0,brown,3]\nUs:%suffix[0,0,2]\nUf:%prefix[0,0,2]"
    assert seen(template, sentence, {"brown": classes}) == [
        ["Uc:1", "Up:11", "Us:nk", "Uf:Ba"], ["Uc:0", "Up:001", "Us:is", "Uf:Pa"], [],
    ]  # fmt: skip
    known = WordClasses(["a"], [0], unknown=1)
    assert seen("U:%class[0,0,c]", ["a", "b"], {"c": known}) == [["U:0"], ["U:1"]]


@pytest.mark.parametrize(
    ("word", "wanted"),
    [("Reuters-21578", "Xx-d"), ("NATO", "X"), ("iPhone4", "xXxd"), ("", ""), ("Élan", "Xx"), ("日本", "x")],
)
def test_shapes(word, wanted):
    assert shape(word) == wanted


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        ("a:2|b", [("a", 2.0), ("b", 1.0)]),
        ("-1.5e1", [("", -15.0)]),
        (r"a\:b:3|c\|d", [("a:b", 3.0), ("c|d", 1.0)]),
        (r"a\:b", [("a:b", 1.0)]),
        ("5:1", [("5", 1.0)]),
        ("nan", [("nan", 1.0)]),
        ("|", []),
        ("a||b", [("a", 1.0), ("b", 1.0)]),
        (":2", [("", 2.0)]),
        ("\\", [("\\", 1.0)]),
    ],
)
def test_cells_of_values(cell, wanted):
    assert values_of(cell) == wanted


def values_or_error(values, cell: str):
    try:
        return values(cell)
    except InputError as error:
        return str(error)


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        ["5", "5.", ".5", "+1e3", "1e", ".", "٣", "1_0", " 1", "1\n", "nan", "inf", "1e999", "1e308", ""]
    ),
)
NAMES = st.text("ab:|\\ \n\t5.é", max_size=3)
ITEMS = st.one_of(st.builds("{}:{}".format, NAMES, NUMBERS), NAMES, NUMBERS)


@given(st.one_of(st.lists(ITEMS, max_size=6).map("|".join), st.text("a:|\\1.e+-\n", max_size=12)))
@settings(max_examples=500, deadline=None)
def test_plain_cells_hold_what_any_cells_do(cell):
    assert values_or_error(values_of, cell) == values_or_error(_any_values_of, cell)


@pytest.mark.parametrize("cell", ["a:b", "a:", "a:nan", "a:1e999", "1e999", "a:1_0"])
def test_cells_that_hold_no_values(cell):
    with pytest.raises(InputError, match="not a finite number"):
        values_of(cell)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("X:%x[0,0]", "t:1: pattern 'X:%x[0,0]': a pattern must begin with U, B or *"),
        ("\nU:%x[0]", "t:2: .*no field begins at '%x[0]'.*write it as %x[0,0]"),
        ("U:100%", "no field begins at '%'"),
        ("U:%x[0,-1]", "no field begins"),
        ("U:%x[*1,0]", "no field begins"),
        ("U:%y[0,0]", "there is no %y.*%x %t %m %lower"),
        ('U:%x[0,0,"a"]', "is not a %x"),
        ("U:%t[0,0]", "is not a %t.*%t[0,0,"),
        ('U:%t[0,0,"("]', "bad regular expression '('"),
        ('U:%m[0,0,"*"]', "bad regular expression"),
        ('U:%m[0,0,"a]', "no field begins"),
        ("U:%suffix[0,0]", "is not a %suffix"),
        ("U:%suffix[0,0,0]", "is not a %suffix"),
        ("U:%suffix[0,0,x]", "is not a %suffix"),
        ("U:%path[0,0,brown]", "is not a %path"),
        ("U:%vector[0,0,v]/%value[0,0]/%value[1,0]", "at most two fields of %vector and %value"),
        ("# nothing", "no patterns"),
    ],
)
def test_what_is_refused(template, message):
    pieces = [re.escape(piece) for piece in message.split(".*")]
    with pytest.raises(InputError, match=".*".join(pieces)) as caught:
        parse_patterns(template, "t")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("t:")


def test_structures_are_checked():
    classes, vectors = WordClasses(["a"], [0]), WordVectors(["a"], [[1.0]])
    structures = {"c": classes, "v": vectors}
    for template, message in [
        ("U:%class[0,0,x]", "t:1: there is no structure 'x' (given are: c, v)"),
        ("U:%class[0,0,v]", "'v' is of type WordVectors"),
        ("U:%vector[0,0,c]", "'c' is of type WordClasses"),
        ("U:%path[0,0,c,2]", "have no paths"),
    ]:
        with pytest.raises(InputError, match=re.escape(message)):
            Extractor(parse_patterns(template, "t"), structures)


# ------------------------------------------------------------------------------- regular expressions


def wapiti_match(expression: str, text: str) -> str | None:
    """Wapiti's matcher, from the description in its source: what is matched first, or None."""
    classes = {"a": str.isalpha, "d": str.isdigit, "l": str.islower, "u": str.isupper, "w": str.isalnum}
    classes |= {"s": str.isspace, "p": lambda c: c.isprintable() and not c.isalnum() and not c.isspace()}

    def one(sign: str, rest: str) -> bool:
        if not rest:
            return False
        if len(sign) == 2 and sign[1].lower() in classes:
            return classes[sign[1].lower()](rest[0]) == sign[1].islower()
        return sign == "." or sign[-1] == rest[0]

    def length(expression: str, rest: str) -> int | None:
        if not expression:
            return 0
        if expression == "$":
            return None if rest else 0
        size = 2 if expression[0] == "\\" else 1
        sign, after = expression[:size], expression[size:]
        if after[:1] == "*":  # the rest of the expression first: as few repetitions as will do
            for n in range(len(rest) + 1):
                if (found := length(after[1:], rest[n:])) is not None:
                    return n + found
                if not one(sign, rest[n:]):
                    return None
            return None
        if after[:1] == "?":
            if one(sign, rest) and (found := length(after[1:], rest[1:])) is not None:
                return 1 + found
            return length(after[1:], rest)
        if not one(sign, rest) or (found := length(after, rest[1:])) is None:
            return None
        return 1 + found

    if expression[:1] == "^":
        found = length(expression[1:], text)
        return None if found is None else text[:found]
    for start in range(len(text) + 1):
        if (found := length(expression, text[start:])) is not None:
            return text[start : start + found]
    return None


signs = st.sampled_from(["a", "B", "1", ".", "-", *(f"\\{c}" for c in "adlpsuwADLPSUW.-*")])
expressions = st.builds(
    lambda start, parts, end: start + "".join(sign + often for sign, often in parts) + end,
    st.sampled_from(["", "^"]),
    st.lists(st.tuples(signs, st.sampled_from(["", "", "*", "?"])), min_size=1, max_size=5),
    st.sampled_from(["", "$"]),
)


@given(expressions, st.text("abAB12.- *_", max_size=8))
@settings(deadline=None)
def test_regular_expressions_match_as_in_wapiti(expression, text):
    assert wapiti_regex(expression).find(text) == wapiti_match(expression, text)


def test_more_than_wapiti():
    assert wapiti_regex(r"[\u\d]+").find("xABC12y") == "ABC12"
    assert wapiti_regex(r"^[^\p]*$").find("naïve")
    assert wapiti_regex(r"(\l|\d){2,}").find("Xab3") == "ab3"
    assert wapiti_regex(r"[]*]+").find("a*]") == "*]"
    assert wapiti_regex(r"\"").find('"')
    assert not wapiti_regex(r"\a").find("1_½")
    assert wapiti_regex(r"\A").find("é_") == "_"


@cache
def characters(letter):
    """The inside of a set with all characters of Wapiti's class ``letter``, one code after the other."""
    holds, wanted = _PREDICATES[letter.lower()], letter.islower()
    ranges, start = [], None
    for code in range(0x110001):
        inside = code < 0x110000 and holds(chr(code)) == wanted
        if inside and start is None:
            start = code
        elif not inside and start is not None:
            ranges.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = None
    return "".join(ranges)


def backtracking(expression):
    """What Python's own expressions, which backtrack, make of Wapiti's: all models were once made with these."""
    classes = {c: f"[{characters(c)}]" for c in "awlupAWLUP"}
    part = re.compile(r"(\[\^?\]?(?:\\.|[^\]\\])*\])|(\*)(?![?+])|\\.|.", re.DOTALL)

    def translated(found):
        inside = 1 if found[1] else 0
        own = re.compile(r"\\([aAwWlLuUpP])|\\.", re.DOTALL)
        cut = slice(1, -1) if inside else slice(None)
        return "*?" if found[2] else own.sub(lambda one: classes[one[1]][cut] if one[1] else one[0], found[0])

    return re.compile(part.sub(translated, expression), re.DOTALL)


atoms = [
    *"aB1.-é", r"\.", *(rf"\{c}" for c in "adlpsuwADLPSUW"), "[ab]", r"[^a\d]", r"[\u\s]", "[]a]", "[^]a]", "[a-z]",
    "[a[:]",
    "(a|ab)", r"(\l|\d)", "(?:a|)", "(?i:é)", "(b*)", r"\x41", r"\t", "{", r"\Z", r"[\b]", r"\"",
]  # fmt: skip
repeats = ["", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{,2}", "{0,}", "{2,}?"]
any_expression = st.builds(
    lambda start, parts, end: start + "".join(atom + often for atom, often in parts) + end,
    st.sampled_from(["", "^"]),
    st.lists(st.tuples(st.sampled_from(atoms), st.sampled_from(repeats)), min_size=1, max_size=4),
    st.sampled_from(["", "$", "(?=-)", "|a"]),
)


@given(
    any_expression,
    st.lists(st.text('aabbAB12.-* _éßİıſK٣½ǅ\u00a0\tx{},:[]"', max_size=8), min_size=1, max_size=5),
)
@settings(deadline=None, max_examples=100)
@pytest.mark.filterwarnings("ignore:Possible nested set")
def test_linear_matching_is_that_of_python(expression, texts):
    try:
        old = backtracking(expression)
    except re.error:
        with pytest.raises(re.error):
            wapiti_regex(expression)
        return
    for text in texts:
        found = old.search(text)
        assert wapiti_regex(expression).find(text) == (found[0] if found else None)


def test_presets_see_what_they_saw():
    used = {
        field.look.argument for text in PRESETS.values() for p in parse_patterns(text) for field in p.fields
    }
    used = {expression for expression in used if expression and not expression.isidentifier()}
    assert r"^[^-/.]{2,}(?=-)" in used
    words = [
        "",
        "A.",
        "U.S.",
        "1999",
        "3,000.5",
        "x-ray",
        "Coca-Cola",
        "--",
        "É",
        "naïve-é",
        "_x-1",
        "٣٤",
        "a/b-c",
        "ABC",
    ]
    for expression in used:
        for word in words:
            found = backtracking(expression).search(word)
            assert wapiti_regex(expression).find(word) == (found[0] if found else None), (expression, word)


@pytest.mark.parametrize("expression", ["(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*a){12}$", "(?:a?){30}a{30}$"])
def test_no_expression_runs_for_ever(expression):
    assert wapiti_regex(expression).find("a" * 20_000 + "!") is None


@pytest.mark.parametrize(
    "expression", [r"(a)\1", "(?=a)b", "(?<!a)b", "(?<=a)b", "a++", "(?>a)", r"\ba", "a{2000}", "a|b(?=c)"]
)
def test_what_needs_backtracking_is_refused(expression, tmp_path):
    path = tmp_path / "p.tpl"
    path.write_text(f'U0:%x[0,0]\nU1:%t[0,0,"{expression}"]\n')
    with pytest.raises(InputError) as caught:
        read_patterns(path)
    assert str(caught.value).startswith(f"{path}:2: pattern ")
    assert repr(expression) in str(caught.value)
    assert "cannot be matched in linear time" in str(caught.value)


# ------------------------------------------------------------------------------------------- presets


def test_presets():
    widths = {"chunk": 2, "ner": 3, "pos": 1, "g2p": 1}
    for name, text in PRESETS.items():
        assert Extractor(parse_patterns(text)).required_columns == widths[name]
    assert [p.kind for p in parse_patterns(PRESETS["chunk"])] == ["u"] * 19 + ["b"]
    with pytest.raises(OptionError, match="must be chunk, ner, pos or g2p"):
        preset("chunks")


def test_presets_with_structures():
    structures = {
        "brown": WordClasses(["dog"], [0], paths=["0101"]),
        "flat": WordClasses(["dog"], [0]),
        "cca": WordVectors(["dog"], [[1.0, 2.0]]),
    }
    text = preset("chunk", {name: kind_of(structure) for name, structure in structures.items()})
    extractor = Extractor(parse_patterns(text), structures)
    assert len(extractor.patterns) == 20 + 3 * 5 + 3 + 1
    extractor.learn(Columns.from_sentences([[("dog", "NN")]]))
    assert "U-brown-path4+0:0101" in extractor.names("u")
    assert "U-cca:cca/1" in extractor.names("u")
    assert len({p.name for p in extractor.patterns}) == len(extractor.patterns)
