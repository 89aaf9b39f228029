"""Features of arcs and siblings: the kernels against the same in words, the table of hashes, and class features."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_crfs import odd_sentences

from spinney.corpus.conllu import Sentence
from spinney.errors import SettingError
from spinney.inference.arcs import sibling_parts
from spinney.parsing.treecrf import nodes as nodes_module
from spinney.parsing.treecrf import numbering
from spinney.parsing.treecrf._feature_kernels import BLOCK
from spinney.parsing.treecrf.candidates import every_arc, sibling_places
from spinney.parsing.treecrf.nodes import NodeReader, hashed
from spinney.parsing.treecrf.numbering import Parts, Program, Table, columns_of, kept, learned
from spinney.parsing.treecrf.problem import class_features
from spinney.parsing.treecrf.templates import BETWEEN, COLUMNS, WORD, default_templates, read_templates
from spinney.parsing.treecrf.weighing import Weighed
from spinney.parsing.treecrf.wording import features_in_words
from spinney.structure import WordClasses, WordVectors

CLASSES = {
    "brown": WordClasses(["the", "a", "كلب", "10"], [0, 0, 1, 2], paths=["00", "0110", "1"]),
    "flat": WordClasses(["the", "der Hund"], [1, 0]),
}
#: Every atom, every column, neighbours up to nine words away, prefixes of classes; for arcs and for siblings.
EVERY = "\n".join(
    [
        "prune: h.upos m.upos", "label: direction", "arc: direction", "arc: distance", "arc: agreement",
        *(f"arc: h.{column} m.{column} distance" for column in COLUMNS),
        *(f"arc: h-{k}.lower m+{k}.upos" for k in (1, 2, 9)),
        *(f"arc: h+{k}.form m-{k}.shape" for k in (1, 3)),
        "arc: between.upos h.upos", "arc: between.lemma", "arc: between.brown:2 direction",
        "arc: h.feat m.upos", "arc: m.feat", "arc: agreement h.lower direction",
        "arc: h.brown m.brown:2", "arc: m-1.brown:3 h.flat", "arc: m.flat:4",
        "sibling: gap", "sibling: direction gap s.upos", "sibling: s.form m.form h.form", "sibling: s.feat h.lower",
        "sibling: s-1.lower s+1.upos m-1.xpos", "sibling: agreement s.feats", "sibling: between.upos s.lower gap",
        "sibling: s.brown:2 distance",
    ]
)  # fmt: skip
TEMPLATES = read_templates(EVERY, classes=list(CLASSES))


def _hashes(sentences, kind, parts_of, templates=TEMPLATES):
    """By the kernels: the hashes of the features of each part."""
    own = [one for one in templates if one.kind == kind]
    columns = columns_of(templates)
    nodes = NodeReader(columns, CLASSES).read(sentences)
    parts = parts_of(every_arc(nodes.words))
    features, table, counts = learned(
        parts, nodes, Program.of(own, columns), np.zeros(len(parts.base), np.int8)
    )
    keys = table.keys
    found = [keys[features.ids[a:b]].tolist() for a, b in zip(features.ptr[:-1], features.ptr[1:])]
    np.testing.assert_array_equal(counts[:, 0], np.bincount(features.ids, minlength=table.n))
    return parts, found


def _pairs(arcs):
    return sibling_places(arcs, *sibling_parts(*arcs))


@given(st.lists(odd_sentences(), min_size=1, max_size=2))
def test_kernels_see_what_is_told_in_words(sentences):
    reader = NodeReader([], CLASSES)
    starts = np.cumsum([0] + [len(one) + 1 for one in sentences])
    for kind, parts_of in (("arc", lambda arcs: arcs.parts()), ("sibling", _pairs)):
        own = [one for one in TEMPLATES if one.kind == kind]
        parts, found = _hashes(sentences, kind, parts_of)
        for base, place, keys in zip(parts.base, parts.place.tolist(), found):
            sentence = sentences[int(np.searchsorted(starts, base, side="right")) - 1]
            head, modifier, *other = place
            sibling = max(other[0], 0) if other else None
            told = list(features_in_words(sentence, head, modifier, sibling, own, reader))
            assert keys == [key for key, _ in told]
            assert len({text for _, text in told if "direction" not in text}) > 0


def test_all_default_templates_agree_in_kernels_and_words():
    templates = read_templates(default_templates(["brown"]), classes=["brown"])
    words = ["the", "كلب", "10", "a", "barks"]
    sentence = Sentence(words, words, list("DNMDV"), list("dnmdv"), ["_", "A=b|C=d", "C=e", "A=b", "C=d|E=f"])
    reader = NodeReader([], CLASSES)
    for kind, parts_of in (("arc", lambda arcs: arcs.parts()), ("sibling", _pairs)):
        own = [one for one in templates if one.kind == kind]
        parts, found = _hashes([sentence], kind, parts_of, templates)
        for place, keys in zip(parts.place.tolist(), found):
            sibling = max(place[2], 0) if len(place) > 2 else None
            told = features_in_words(sentence, place[0], place[1], sibling, own, reader)
            assert keys == [key for key, _ in told]


def test_what_has_many_values_is_cut_alike():
    """Two dozen values between words, and 64 attributes or pairs of them."""
    n = 40
    feats = ["|".join(f"A{i}=b" for i in range(100)), *(["A=b|A=c|A=d"] * (n - 1))]
    feats[2] = "|".join(f"A=v{i}" for i in range(30))
    sentence = Sentence([f"w{i}" for i in range(n)], [f"l{i}" for i in range(n)], ["X"] * n, ["X"] * n, feats)
    reader = NodeReader([], CLASSES)
    own = [one for one in TEMPLATES if one.kind == "arc"]
    parts, found = _hashes([sentence], "arc", lambda arcs: arcs.parts())
    for head, modifier in ((1, 40), (40, 1), (3, 4), (3, 1), (0, 40)):
        (at,) = np.flatnonzero((parts.place == (head, modifier)).all(axis=1))
        told = list(features_in_words(sentence, head, modifier, None, own, reader))
        assert found[at] == [key for key, _ in told]
    assert sum("between.lemma" in text for _, text in told) == 24


def test_hashes_are_those_of_files():
    """They are in model files, so they must never change."""
    assert hashed("dog") == 0x9F9C5ED2C1C78439
    sentence = Sentence(["Dogs", "bark"], upos=["NOUN", "VERB"])
    template, *_ = read_templates("arc: h.upos m.lower distance\nlabel: m.upos\nprune: h.upos")
    ((key, _),) = features_in_words(sentence, 2, 1, None, [template], NodeReader([]))
    assert key == 0x2DF8C5AD920239F7


# ------------------------------------------------------------------------------------------ the table


def _many(n):
    """Parts whose features are many: all arcs of n words, with three templates of which two are pairs of words."""
    sentence = Sentence([f"w{i}" for i in range(n)], upos=["X"] * n)
    own = read_templates(
        "arc: h.form m.form\narc: h.form m.form direction\narc: m.form h-1.form\nlabel: m.upos\nprune: m.upos"
    )[:3]
    columns = columns_of(own)
    nodes = NodeReader(columns).read([sentence])
    return every_arc(nodes.words).parts(), nodes, Program.of(own, columns)


def test_the_table_grows_beyond_its_first_size():
    parts, nodes, program = _many(130)
    gold = (np.arange(len(parts.base)) % 3 == 0).astype(np.int8)
    features, table, counts = learned(parts, nodes, program, gold)
    assert table.n > len(Table.empty().slots) // 2
    assert len(table.slots) > len(Table.empty().slots)
    keys = table.keys
    assert len(set(keys.tolist())) == table.n == len(counts)
    part = np.repeat(np.arange(len(gold)), np.diff(features.ptr))
    np.testing.assert_array_equal(counts[:, 0], np.bincount(features.ids, minlength=table.n))
    np.testing.assert_array_equal(counts[:, 1], np.bincount(features.ids, gold[part], table.n).astype(int))
    np.testing.assert_array_equal(np.diff(features.ptr), 3)
    np.testing.assert_array_equal(counts[features.ids, 2], np.tile([0, 1, 2], len(gold)))
    w = np.random.default_rng(0).normal(size=table.n)
    sums = w[features.ids].reshape(-1, 3)
    found = Weighed.of(keys, w).scores(parts, nodes, program)
    np.testing.assert_array_equal(found[:, 0], sums[:, 0] + sums[:, 1] + sums[:, 2])


def test_features_in_several_pieces_are_the_same(monkeypatch):
    parts, nodes, program = _many(30)
    gold = np.ones(len(parts.base), np.int8)
    features, table, counts = learned(parts, nodes, program, gold)
    monkeypatch.setattr(numbering, "_ROOM", 500)
    pieces, other, again = learned(parts, nodes, program, gold)
    for one, two in ((features.ptr, pieces.ptr), (features.ids, pieces.ids), (table.keys, other.keys)):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(counts, again)


@given(st.lists(odd_sentences(), min_size=1, max_size=2), st.integers(0, 9), st.integers(1, 3))
def test_scores_are_sums_of_weights_in_the_order_of_templates(sentences, seed, outcomes):
    """To the bit, with features that have no weight, and with weights for some outcomes only."""
    rng = np.random.default_rng(seed)
    columns = columns_of(TEMPLATES)
    nodes = NodeReader(columns, CLASSES).read(sentences)
    for kind, parts_of in (("arc", lambda arcs: arcs.parts()), ("sibling", _pairs)):
        parts = parts_of(every_arc(nodes.words))
        program = Program.of([one for one in TEMPLATES if one.kind == kind], columns)
        features, table, _ = learned(parts, nodes, program, np.zeros(len(parts.base), np.int8))
        features, old = kept(features, rng.random(table.n) < 0.6)
        has = rng.random((len(old), outcomes)) < 0.7
        w = rng.normal(size=np.count_nonzero(has))
        row = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
        label = np.nonzero(has)[1].astype(np.int32)
        expected = np.zeros((len(parts.base), outcomes))
        for p, (a, b) in enumerate(zip(features.ptr[:-1], features.ptr[1:])):
            for f in features.ids[a:b]:
                for k in range(row[f], row[f + 1]):
                    expected[p, label[k]] += w[k]
        found = Weighed.of(table.keys[old], w, row, label, outcomes).scores(parts, nodes, program)
        np.testing.assert_array_equal(found, expected)


def test_blocks_do_not_change_what_is_seen():
    """Sentences with more parts than a block, and ends of blocks in the middle of a sentence."""
    rng = np.random.default_rng(0)
    words, tags = list("abcdefgh"), list("XYZ")
    sentences = [
        Sentence(
            list(rng.choice(words, n)),
            upos=list(rng.choice(tags, n)),
            feats=list(rng.choice(["_", "A=b"], n)),
        )
        for n in (1, 30, 2, 17)
    ]
    columns = columns_of(TEMPLATES)
    whole = NodeReader(columns, CLASSES).read(sentences)
    program = Program.of([one for one in TEMPLATES if one.kind == "arc"], columns)
    parts = every_arc(whole.words).parts()
    assert np.bincount(np.unique(parts.base, return_inverse=True)[1]).max() > 2 * BLOCK
    _, table, _ = learned(parts, whole, program, np.zeros(len(parts.base), np.int8))
    weighed = Weighed.of(table.keys, rng.normal(size=table.n))
    found = weighed.scores(parts, whole, program)
    one_by_one = [
        weighed.scores(Parts(*(column[p : p + 1] for column in parts)), whole, program)
        for p in range(len(found))
    ]
    np.testing.assert_array_equal(found, np.concatenate(one_by_one))


@given(st.lists(st.integers(1, 2**64 - 1), unique=True, max_size=200))
def test_tables_have_their_keys_in_order(keys):
    keys = np.array(keys, np.uint64)
    np.testing.assert_array_equal(Table.of(keys).keys, keys)


def test_tables_refuse_what_is_no_key():
    assert Table.of(np.array([3, 4, 3], np.uint64)) is None
    assert Table.of(np.array([3, 0], np.uint64)) is None
    assert Table.of(np.empty(0, np.uint64)).n == 0


# ------------------------------------------------------------------------------------- classes, columns


def test_classes_are_looked_up_as_written_then_in_small_letters():
    reader = NodeReader(["brown", "brown:2", "flat"], CLASSES)
    sentence = Sentence(["The", "10", "nothing"])
    assert [reader.seen(sentence, i, "brown") for i in range(3)] == ["00", "1", "<unknown>"]
    assert [reader.seen(Sentence(["كلب"]), 0, column) for column in ("brown", "brown:2")] == ["0110", "01"]
    assert reader.seen(sentence, 0, "flat") == "1"


def test_columns_that_are_missing_are_blank():
    reader = NodeReader(["lemma", "upos", "feats"])
    bare, blank = Sentence(["a", "b"]), Sentence(["a", "b"], ["_"] * 2, ["_"] * 2, ["_"] * 2, ["_"] * 2)
    one, two = reader.read([bare]), reader.read([blank])
    np.testing.assert_array_equal(one.columns, two.columns)
    assert len(one.feat_value) == len(two.feat_value) == 0


def test_columns_that_templates_look_at():
    assert columns_of(TEMPLATES) == sorted(
        {atom.column for one in TEMPLATES for atom in one.atoms if atom.code in (WORD, BETWEEN)}
    )
    assert len(TEMPLATES) == EVERY.count(":") - EVERY.count("brown:") - EVERY.count("flat:")


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (["upos"], "must not be that of a column"),
        (["feat"], "must not be that of a column"),
        (["a b"], "may have letters, digits and hyphens"),
        (["x:4"], "may have letters, digits and hyphens"),
        (["é"], "may have letters, digits and hyphens"),
        (["brown", "brown"], "must not come twice"),
    ],
)
def test_names_of_classes_that_templates_could_not_tell_apart(names, what):
    with pytest.raises(SettingError, match=what):
        class_features([{name: CLASSES["flat"]} for name in names])


def test_vectors_are_classes_by_signs_whose_beginnings_templates_see():
    vectors = WordVectors(["dog", "wolf", "sees"], [[1.0, 0.0], [0.9, 0.2], [0.0, 1.0]])
    found = class_features([{"brown": CLASSES["brown"]}], [{"v": vectors}])
    assert list(found) == ["brown", "v"]
    reader = NodeReader(["v", "v:1"], found)
    dog, wolf, other = (Sentence([form]) for form in ("dog", "wolf", "cat"))
    assert [reader.seen(one, 0, "v:1") for one in (dog, wolf, other)] == ["1", "0", "<unknown>"]
    assert reader.seen(wolf, 0, "v") == "00"
    with pytest.raises(SettingError, match="must not come twice"):
        class_features([{"v": CLASSES["brown"]}], [{"v": vectors}])


def test_a_reader_that_forgets_reads_the_same_on_several_threads(monkeypatch):
    """A parser keeps one reader for all threads, and it remembers only so many words and FEATS."""
    sentences = [Sentence([f"w{i}", f"w{i + 1}"], feats=[f"A=b{i}", "_"]) for i in range(40)] * 5
    columns = ["lower", "feats", "suffix2"]
    expected = [NodeReader(columns).read([one]) for one in sentences]
    monkeypatch.setattr(nodes_module, "_MOST_KNOWN", 3)
    reader = NodeReader(columns)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: reader.read([one]), sentences))
    for one, other in zip(found, expected, strict=True):
        for name in ("words", "columns", "feat_ptr", "feat_attribute", "feat_value"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert max(len(reader._of_form), len(reader._feats)) < 12
