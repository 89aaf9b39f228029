"""Compiled extraction against patterns expanded token by token, in plain Python."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from spinney.corpus.lines import ReadReport
from spinney.corpus.vocabulary import Numbering
from spinney.errors import InputError, ModelFileError
from spinney.files import Parts, read_model, write_model
from spinney.structure import WordClasses, WordVectors
from spinney.tagging.columns import Columns, read_all, read_column_batches
from spinney.tagging.extract import Extractor
from spinney.tagging.patterns import parse_patterns
from spinney.tagging.presets import PRESETS

CLASSES = WordClasses(["a", "the", "Dog"], [0, 1, 2], paths=["00", "0110", "1"])
DENSE = WordVectors(["a", "dog"], [[1.0, -2.0, 0.5], [3.0, 1.0, 1.0]])
SPARSE = WordVectors(["a", "the"], csr_array([[0.0, 2.5], [1.0, 0.0]]))
STRUCTURES = {"c": CLASSES, "v": DENSE, "s": SPARSE}


def observed(extractor, columns, learn=False):
    """For each token the names of its unigrams and of its bigrams, with values."""
    result = []
    for which, found in zip("ub", extractor.learn(columns) if learn else extractor.observe(columns)):
        assert found.n == (extractor.n_unigrams if which == "u" else extractor.n_bigrams)
        assert (found.ptr.dtype, found.ids.dtype) == (np.int64, np.int32)
        names = extractor.names(which)
        values = np.ones(len(found.ids)) if found.values is None else found.values
        items = [(names[i], value) for i, value in zip(found.ids.tolist(), values.tolist())]
        result.append([items[a:b] for a, b in zip(found.ptr[:-1], found.ptr[1:])])
    return result


# ------------------------------------------------------------- templates expanded by string formatting

words = st.sampled_from(["a", "the", "dog", "Dog", "THE", "x-1", "ab", "_B-1", "true", "日本"])
tags = st.sampled_from(["D", "N", "a"])
sentences = st.lists(st.lists(st.tuples(words, tags), max_size=5), max_size=5)
offset = st.integers(-3, 3)
plain_fields = st.one_of(
    st.tuples(st.sampled_from(["x", "X", "lower"]), offset, st.booleans(), st.integers(0, 1), st.just(())),
    st.tuples(
        st.sampled_from(["prefix", "suffix"]), offset, st.booleans(), st.just(0), st.tuples(st.integers(1, 3))
    ),
    st.tuples(st.just("t"), offset, st.booleans(), st.just(0), st.sampled_from([('"^\\l+$"',), ('"-"',)])),
    st.tuples(st.just("class"), offset, st.booleans(), st.just(0), st.just(("c",))),
    st.tuples(st.just("path"), offset, st.booleans(), st.just(0), st.tuples(st.just("c"), st.integers(0, 3))),
)
valued_fields = st.tuples(
    st.just("vector"), offset, st.booleans(), st.just(0), st.sampled_from([("v",), ("s",)])
)
texts = st.sampled_from(["", "/", "x", ":"])
heads = st.tuples(st.sampled_from("UB*ub"), st.sampled_from(["", "1:", "2:"]))
plain_patterns = st.tuples(heads, st.lists(st.tuples(plain_fields, texts), max_size=3))
valued_patterns = st.tuples(heads, st.tuples(st.tuples(valued_fields, texts)))
templates = st.lists(st.one_of(plain_patterns, plain_patterns, valued_patterns), min_size=1, max_size=6)


def written(template):
    lines = []
    for (kind, name), parts in template:
        line = kind + name
        for (view, at, absolute, column, arguments), text in parts:
            inside = ",".join(map(str, ("@" * absolute + str(at), column, *arguments)))
            line += f"%{view}[{inside}]{text}"
        lines.append(line)
    return "\n".join(lines)


def look(view, arguments, value, distance):
    """What a field makes of a string: a list of name and value, empty where there is nothing to see."""
    if view == "vector":
        vectors = STRUCTURES[arguments[0]]
        row = [w for w in (value, (value or "").lower()) if w in vectors] if distance == 0 else []
        row = vectors[row[0]] if row else []
        return [(f"{arguments[0]}/{i}", x) for i, x in enumerate(row) if x != 0 or arguments[0] == "v"]
    if view == "t":
        if distance:
            value = f"_x{distance:+d}" if abs(distance) < 5 else f"_x{'+' if distance > 0 else '-'}#"
        found = "-" in value if arguments == ('"-"',) else value.isalpha() and value.islower()
        return [(str(found).lower(), 1.0)]
    if distance:
        return [(f"_B{distance:+d}", 1.0)]
    if view in ("class", "path"):
        known = [w for w in (value, value.lower()) if w in CLASSES]
        if not known:
            return []
        class_id = CLASSES[known[0]]
        return [(str(class_id) if view == "class" else CLASSES.paths[class_id][: arguments[1]], 1.0)]
    if view in ("prefix", "suffix"):
        n = arguments[0]
        cut = value[:n] if view == "prefix" else value[len(value) - n :]
        return [(cut, 1.0)] if len(value) >= n else []
    return [(value if view == "x" else value.lower(), 1.0)]


def expanded(template, sentence, t, kinds):
    """Observations of token t, each as (skeleton, its strings), the whole string, and the value."""
    found = []
    for (kind, name), parts in template:
        if kind not in kinds:
            continue
        expansions = [((kind.upper() + name,), kind.upper() + name, 1.0)]
        for (view, at, absolute, column, arguments), text in parts:
            place = t + at if not absolute else at - 1 if at >= 0 else len(sentence) + at
            distance = place if place < 0 else max(0, place - len(sentence) + 1)
            value = sentence[place][column] if distance == 0 else None
            expansions = [
                ((*key, seen, text), string + seen + text, number * x)
                for key, string, number in expansions
                for seen, x in look(view, arguments, value, distance)
            ]
        found += expansions
    return found


def key_of(key):
    """Texts between fields and strings in the fields, apart."""
    return ("\0".join(key[::2]), key[1::2])


@settings(max_examples=150, deadline=None)
@given(templates, sentences, sentences)
def test_equals_plain_expansion(template, train, test):
    extractor = Extractor(parse_patterns(written(template)), STRUCTURES)
    # In two goes, with one growing pool: as good as one.
    pool = Numbering()
    half = len(train) // 2
    goes = [Columns.from_sentences(part, pool) for part in (train[:half], train[half:])]
    learnt = [observed(extractor, columns, learn=True) for columns in goes]
    for w, kinds in enumerate(("Uu*", "Bb*")):
        wanted = [expanded(template, s, t, kinds) for s in train for t in range(len(s))]
        assert learnt[0][w] + learnt[1][w] == [[(string, x) for _, string, x in token] for token in wanted]
        first = dict.fromkeys((key_of(key), string) for token in wanted for key, string, _ in token)
        assert extractor.names("ub"[w]) == [string for _, string in first]
        # New sentences: the same, but for what was never seen.
        wanted = [expanded(template, s, t, kinds) for s in test for t in range(len(s))]
        keys = {key for key, _ in first}
        known = [[(string, x) for key, string, x in token if key_of(key) in keys] for token in wanted]
        assert observed(extractor, Columns.from_sentences(test))[w] == known


@settings(max_examples=40, deadline=None)
@given(templates, sentences, st.randoms())
def test_keep_and_files(tmp_path_factory, template, train, random):
    extractor = Extractor(parse_patterns(written(template), "t.txt"), STRUCTURES)
    columns = Columns.from_sentences(train)
    before = observed(extractor, columns, learn=True)
    masks = [np.array([random.random() < 0.6 for _ in extractor.names(w)], bool) for w in "ub"]
    kept = extractor.keep(*masks)
    for w, mask in zip("ub", masks):
        assert kept.names(w) == [name for name, keep in zip(extractor.names(w), mask) if keep]
        assert kept.pattern_of(w).tolist() == extractor.pattern_of(w)[mask].tolist()
    path = tmp_path_factory.mktemp("model") / "model"
    write_model(path, "tagging/Test", {}, {}, {}, {"extractor": kept.parts()})
    loaded = Extractor.from_parts(read_model(path).part("extractor"))
    for other in (loaded, pickle.loads(pickle.dumps(kept))):
        assert observed(other, columns) == observed(kept, columns)
        assert other.patterns == kept.patterns
    # It goes on learning as if nothing had been dropped.
    assert observed(loaded, columns, learn=True) == before
    assert sorted(loaded.names("u")) == sorted(extractor.names("u"))


def test_keep_drops_strings():
    extractor = Extractor(parse_patterns("U:%x[0,0]\nU:%suffix[0,0,2]"))
    extractor.learn(Columns.from_sentences([[("cat",), ("dog",)]]))
    assert extractor.names("u") == ["U:cat", "U:at", "U:dog", "U:og"]
    kept = extractor.keep(np.array([False, True, False, True]), np.zeros(0, bool))
    assert kept.parts().strings["symbols"] == ["at", "og"]
    unigrams, _ = kept.observe(Columns.from_sentences([[("bog",), ("dog",), ("at",)]]))
    assert unigrams.ids.tolist() == [1, 1, 0, 0]  # the pattern U: makes "U:at" of the word "at", too


# ------------------------------------------------------------------------------------- single cases


def test_unseen_words_have_suffix_shape_and_class():
    template = "U1:%x[0,0]\nU2:%suffix[0,0,2]\nU3:%shape[0,0]\nU4:%class[0,0,c]"
    extractor = Extractor(parse_patterns(template), {"c": WordClasses(["walked", "talked"], [7, 7])})
    extractor.learn(Columns.from_sentences([[("walked",)]]))
    [[token], _] = observed(extractor, Columns.from_sentences([[("talked",)]]))
    assert token == [("U2:ed", 1.0), ("U3:x", 1.0), ("U4:7", 1.0)]


def test_values_in_cells():
    extractor = Extractor(parse_patterns("U1:%value[0,1]\nU2:%x[0,0]\nB:%value[-1,1]"))
    columns = Columns.from_sentences([[("a", "len:5|cap"), ("b", "2.5"), ("c", "|")]])
    assert observed(extractor, columns, learn=True) == [
        [[("U1:len", 5.0), ("U1:cap", 1.0), ("U2:a", 1.0)], [("U1:", 2.5), ("U2:b", 1.0)], [("U2:c", 1.0)]],
        [[], [("B:len", 5.0), ("B:cap", 1.0)], [("B:", 2.5)]],
    ]
    ones = Columns.from_sentences([[("a", "cap"), ("b", "len:1|new:7")]])
    unigrams, bigrams = extractor.observe(ones)
    assert unigrams.values is None
    assert bigrams.values is None
    with pytest.raises(InputError, match="column 1: 'len:many': 'many' is not a finite number"):
        extractor.observe(Columns.from_sentences([[("a", "len:many")]]))


def test_conjunctions_of_values_are_their_products():
    """Every combination of what the fields see is one observation, and its value is the product of theirs."""
    rng = np.random.default_rng(0)
    names, tags = ["len", "cap", "dot"], ["N", "V"]

    def cell():
        chosen = [name for name in names if rng.random() < 0.6]
        return {name: float(rng.integers(1, 5)) for name in chosen}

    sentences = [
        [(tags[rng.integers(2)], cell(), cell()) for _ in range(rng.integers(1, 6))] for _ in range(9)
    ]
    rows = [
        [(tag, *("|".join(f"{k}:{v}" for k, v in one.items()) or "|" for one in cells)) for tag, *cells in s]
        for s in sentences
    ]
    template = "U1:%x[0,0]/%value[0,1]\nU2:%value[0,1]+%value[-1,2]\nU3:%value[0,1]/%x[-1,0]/%value[0,1]\n"
    template += "B:%value[0,2]/%x[0,0]"
    extractor = Extractor(parse_patterns(template))
    unigrams, bigrams = observed(extractor, Columns.from_sentences(rows), learn=True)
    wanted, wanted_pairs = [], []
    for s in sentences:
        for t, (tag, one, two) in enumerate(s):
            before, of_before = (s[t - 1][0], s[t - 1][2]) if t else ("_B-1", {})
            found = [(f"U1:{tag}/{k}", v) for k, v in one.items()]
            found += [(f"U2:{k}+{l}", v * w) for k, v in one.items() for l, w in of_before.items()]
            found += [(f"U3:{k}/{before}/{l}", v * w) for k, v in one.items() for l, w in one.items()]
            wanted.append(found)
            wanted_pairs.append([(f"B:{k}/{tag}", v) for k, v in two.items()])
    assert unigrams == wanted
    assert bigrams == wanted_pairs
    assert sum(map(len, wanted)) > 100


def test_conjunctions_with_vectors():
    vectors = WordVectors(["a", "b"], np.array([[1.0, 2.0], [3.0, 4.0]]))
    extractor = Extractor(
        parse_patterns("U:%vector[0,0,v]/%x[0,1]\nU:%vector[-1,0,v]*%vector[0,0,v]"), {"v": vectors}
    )
    columns = Columns.from_sentences([[("a", "N"), ("b", "V"), ("?", "V")]])
    assert observed(extractor, columns, learn=True)[0] == [
        [("U:v/0/N", 1.0), ("U:v/1/N", 2.0)],
        [("U:v/0/V", 3.0), ("U:v/1/V", 4.0)]
        + [(f"U:v/{i}*v/{j}", x * y) for i, x in enumerate((1.0, 2.0)) for j, y in enumerate((3.0, 4.0))],
        [],
    ]


def test_what_was_unknown_is_known_once_learnt():
    extractor = Extractor(parse_patterns("U:%x[0,0]"))
    old, new = (
        Columns.from_sentences([[(word,)]], pool) for pool in [Numbering()] for word in ("old", "new")
    )
    extractor.learn(old)
    assert len(extractor.observe(new)[0].ids) == 0
    extractor.learn(new)
    assert extractor.observe(new)[0].ids.tolist() == [1]


def test_a_growing_pool_and_a_new_one():
    extractor = Extractor(parse_patterns("U:%lower[0,0]"))
    extractor.learn(Columns.from_sentences([[("a",), ("b",), ("c",)]]))
    pool = Numbering()
    for word, number in [("C", [2]), ("zz", []), ("B", [1]), ("C", [2])]:
        assert extractor.observe(Columns.from_sentences([[(word,)]], pool))[0].ids.tolist() == number
    for word, number in [("A", [0]), ("C", [2])]:
        assert extractor.observe(Columns.from_sentences([[(word,)]]))[0].ids.tolist() == number


def test_nothing_to_see():
    for template in (PRESETS["chunk"], "B", "U:%vector[0,0,v]\nU:%value[0,1]"):
        extractor = Extractor(parse_patterns(template), STRUCTURES)
        for none in ([], [[], []]):
            for found in extractor.learn(Columns.from_sentences(none)) + extractor.observe(
                Columns.from_sentences(none)
            ):
                assert (found.n_tokens, len(found.ids), found.n) == (0, 0, 0)
        assert extractor.names("u") == extractor.names("b") == []


def test_a_long_sentence():
    n = 100_000
    extractor = Extractor(parse_patterns("U:%x[-1,0]/%x[1,0]\nU:%x[@-1,0]\nB"))
    columns = Columns.from_sentences([[(str(t % 10),) for t in range(n)], [("x",)]])
    unigrams, bigrams = extractor.learn(columns)
    assert (
        extractor.n_unigrams == 10 + 2 + 1 + 2
    )  # ten neighbourhoods, two at the ends; "9"; the other sentence
    assert np.array_equal(unigrams.ptr, 2 * np.arange(n + 2))
    assert np.array_equal(bigrams.ids, np.zeros(n + 1))
    names = extractor.names("u")
    assert [names[i] for i in unigrams.ids[-4:]] == ["U:8/_B+1", "U:9", "U:_B-1/_B+1", "U:x"]
    assert [names[i] for i in unigrams.ids[100_000:100_002]] == ["U:9/1", "U:9"]


def test_too_few_columns():
    extractor = Extractor(parse_patterns("U1:%x[0,0]\n\nU05:%x[0,3]", "templates.txt"))
    assert extractor.required_columns == 4
    message = r"pattern U05 \(templates.txt:3\) needs column 3, but the data have 2 columns"
    with pytest.raises(InputError, match=message):
        extractor.learn(Columns.from_sentences([[("a", "b")]]))


def test_damaged_files(tmp_path):
    extractor = Extractor(parse_patterns("U1:%x[0,0]\nB:%x[0,0]/%x[1,0]"), STRUCTURES)
    extractor.learn(Columns.from_sentences([[("a",), ("b",)]]))
    header, tensors, strings = extractor.parts()

    def loaded(header=header, tensors=tensors, strings=strings):
        write_model(tmp_path / "m", "tagging/T", {}, {}, {}, {"e": Parts(header, tensors, strings)})
        return Extractor.from_parts(read_model(tmp_path / "m").part("e"))

    assert loaded().names("b") == ["B:a/b", "B:b/_B+1"]
    for other in (
        [[0, 0, 0], [0, 1, -1]],
        [[1, 0, -1]],
        [[0, 9, -1]],
        [[0, -2, -1]],
        [[0, 0, -1]] * 2,
        [[0, 0]],
        [[5, 0, -1]],
    ):
        with pytest.raises(ModelFileError, match="damaged"):
            loaded(tensors=tensors | {"observations.u": np.array(other, np.int32)})
    for name, value in [("structures", {"c": 1}), ("lines", [1]), ("paths", None)]:
        with pytest.raises(ModelFileError, match="damaged"):
            loaded(header | {name: value})
    for name, value in [("patterns", ["U1:%x[0,0]", "#"]), ("patterns", ["U1:%x[0,0]", 'B:%t[0,0,"("]'])]:
        with pytest.raises(ModelFileError, match="damaged"):
            loaded(strings=strings | {name: value})
    twice = loaded(strings=strings | {"symbols": ["a"] * len(strings["symbols"])})
    with pytest.raises(ModelFileError, match="twice"):  # strings are decoded when they are needed
        twice.names("u")


# ------------------------------------------------------------------------------------------- reading


def test_column_files(tmp_path, monkeypatch):
    path = tmp_path / "data.txt"
    path.write_bytes(b"-DOCSTART- -X-\r\n\r\nHe PRP\r\nran\t VBD \r\n\r\n\r\nStop  VB")
    columns = read_all(path)
    assert (columns.offsets.tolist(), columns.width, columns.symbols.flags.c_contiguous) == (
        [0, 2, 3],
        2,
        True,
    )
    assert (columns.strings(0), columns.strings(1)) == (["He", "ran", "Stop"], ["PRP", "VBD", "VB"])
    twice = read_all([path, path], width=2)
    assert (twice.offsets.tolist(), len(twice.pool)) == ([0, 2, 3, 5, 6], 6)
    with open(path) as file:
        monkeypatch.setattr("sys.stdin", file)
        assert sum(len(batch) for batch in read_column_batches("-", Numbering())) == 2


def test_column_files_of_another_width(tmp_path):
    two, three, ragged = tmp_path / "two", tmp_path / "three", tmp_path / "ragged"
    two.write_text("a b\n")
    three.write_text("\n\na b c\n")
    ragged.write_text("a b\n\na b c\nd e f\n\nc d\n")
    with pytest.raises(InputError, match=r"three:3: 3 columns where 2 are wanted \("):
        read_all([two, three])
    with pytest.raises(InputError, match=r"ragged:3: 3 columns where the lines before have 2"):
        read_all(ragged)
    report = ReadReport()
    assert len(read_all(ragged, on_error="skip", report=report)) == 2
    assert (report.read, report.skipped) == (2, 1)
    assert read_all([]).n_tokens == 0
    two.write_text("\n\n")
    assert (len(read_all(two)), read_all(two, width=3).width) == (0, 3)
    with pytest.raises(InputError, match="token 1 is"):
        Columns.from_sentences([[("a", "b"), ("c",)]])


@pytest.fixture(scope="module")
def conll2000(tmp_path_factory):
    if "SPINNEY_DATA" not in os.environ:
        pytest.skip("SPINNEY_DATA is not set: the real corpora are not here")
    folder = tmp_path_factory.mktemp("conll2000")
    with zipfile.ZipFile(Path(os.environ["SPINNEY_DATA"]) / "nltk" / "conll2000.zip") as archive:
        archive.extractall(folder)
    return folder / "conll2000"


@pytest.mark.slow
def test_conll2000(conll2000):
    columns = read_all(conll2000 / "train.txt")
    extractor = Extractor(parse_patterns(PRESETS["chunk"]))
    unigrams, _ = extractor.learn(columns)
    assert (columns.n_tokens, extractor.n_unigrams, extractor.n_bigrams) == (211_727, 338_551, 1)
    assert len(set(extractor.names("u"))) == 338_551
    assert np.array_equal(extractor.observe(columns)[0].ids, unigrams.ids)
    # A batch at a time, with a pool that grows.
    pieces = [
        extractor.observe(batch)[0].ids for batch in read_column_batches(conll2000 / "train.txt", Numbering())
    ]
    assert np.array_equal(np.concatenate(pieces), unigrams.ids)
    # Unseen words of the test file: no less is seen of them than parts of speech.
    unigrams, _ = extractor.observe(read_all(conll2000 / "test.txt"))
    assert np.diff(unigrams.ptr).min() >= 9


def test_a_pool_that_is_restarted(tmp_path):
    path = tmp_path / "many.txt"
    rows = [[(f"w{i}", "x")] for i in range(200_000)]
    path.write_text("".join(f"{word} {tag}\n\n" for [(word, tag)] in rows))
    batches = list(read_column_batches(path, Numbering(), pool_limit=50_000))
    assert max(len(batch.pool) for batch in batches) < 150_000
    assert len({id(batch.pool) for batch in batches}) > 1
    assert [word for batch in batches for word in batch.strings(0)] == [word for [(word, _)] in rows]
    extractor = Extractor(parse_patterns("U:%x[0,0]"))
    extractor.learn(Columns.from_sentences(rows[::1000]))
    found = [extractor.observe(batch)[0].ids for batch in batches]
    assert np.concatenate(found).tolist() == list(range(200))


def test_label_bigrams_outlive_keep():
    """The pattern B has no fields, so its record holds no symbol at all."""
    for template in ("U:%x[0,0]\nB", "U:%x[0,0]/%x[1,0]\nB:%x[0,0]\nB", "B"):
        extractor = Extractor(parse_patterns(template))
        columns = Columns.from_sentences([[("a",), ("b",)], [("c",)]])
        extractor.learn(columns)
        names = extractor.names("b")
        wanted = np.array([name == "B" for name in names])
        kept = extractor.keep(np.zeros(extractor.n_unigrams, bool), wanted)
        assert kept.names("b") == ["B"]
        kept = kept.keep(np.zeros(0, bool), np.ones(1, bool))
        _, bigrams = kept.observe(columns)
        assert bigrams.ptr.tolist() == [0, 1, 2, 3]
        assert bigrams.ids.tolist() == [0, 0, 0]
