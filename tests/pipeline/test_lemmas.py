"""The lemmatiser: edit scripts reproduce every pair, words that were seen have their lemmas, files, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.corpus.conllu import Sentence
from spinney.errors import ModelFileError
from spinney.files import read_model, write_model
from spinney.pipeline.edit_scripts import apply_script, in_words, read, script_of, written
from spinney.pipeline.lemmas import Lemmatiser, composed, observations

VERBS = ["walk", "talk", "jump", "look", "bark", "play", "ask", "call", "turn", "start"]
NOUNS = ["dog", "cat", "house", "tree", "river", "stone", "bird", "song", "Anna", "hill"]
TEXT = [
    Sentence(
        [noun + "s", verb + "ed", "the", noun],
        [noun, verb, "the", noun],
        ["NOUN", "VERB", "DET", "NOUN"],
        feats=["Number=Plur", "Tense=Past", "_", "Number=Sing"],
    )
    for noun, verb in zip(NOUNS, VERBS)
]
PLURAL, PAST = ("NOUN", "_", "Number=Plur"), ("VERB", "_", "Tense=Past")


@pytest.fixture(scope="module")
def lemmatiser():
    return Lemmatiser.train(TEXT)


# ------------------------------------------------------------------------------------------ scripts


@given(st.text(), st.text())
def test_every_pair_is_reproduced(form, lemma):
    assert apply_script(script_of(form, lemma), form) == lemma


@given(st.text("abAB", max_size=12), st.text("abAB", max_size=12))
def test_every_pair_of_similar_strings_is_reproduced(form, lemma):
    script = script_of(form, lemma)
    assert apply_script(script, form) == lemma
    assert read(written(script)) == script
    assert in_words(script)


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")), st.text())
def test_scripts_apply_to_any_word_or_to_none(form, lemma, other):
    script = read(written(script_of(form, lemma)))
    assert apply_script(script, form) == lemma
    result = apply_script(script, other)
    assert result is None or isinstance(result, str)


@pytest.mark.parametrize(
    ("form", "lemma", "other", "its_lemma"),
    [
        ("walked", "walk", "Talked", "talk"),
        ("gelaufen", "laufen", "gefahren", "fahren"),
        ("házakban", "ház", "falakban", "fal"),
        ("LONDON", "London", "PARIS", "Paris"),
        ("Londons", "London", "Berlins", "Berlin"),
        ("sprang", "spring", "klang", "kling"),
        ("kitobni", "kitob", "daftarni", "daftar"),
    ],
)
def test_scripts_carry_over(form, lemma, other, its_lemma):
    assert apply_script(script_of(form, lemma), other) == its_lemma


def test_very_long_words():
    form = "ab" * 5000
    assert apply_script(script_of(form, form + "c"), form) == form + "c"
    assert script_of(form, form)[1] == (0, 0, None, None)


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "3", "[]", '["x", null]', '["lower"]', '["lower", [1]]', '["lower", [-1, 0, null, null]]',
        '["lower", ["a", 1]]', '["lower", [0, 1, null, 5]]', '{"lower": null}', '[["lower"], null]',
        '["lower", ' + "[0, 0, null, " * 500 + "null" + "]" * 500 + "]", "[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_script(text):
    with pytest.raises(ValueError, match="not an edit script"):
        read(text)


# ------------------------------------------------------------------------------------------ lemmas


def test_words_that_were_seen_have_their_lemmas(lemmatiser):
    tags = [list(zip(s.upos, ["_"] * 4, s.feats)) for s in TEXT]
    assert lemmatiser.lemmas([s.forms for s in TEXT], tags) == [s.lemmas for s in TEXT]


def test_words_that_were_not_seen(lemmatiser):
    found = lemmatiser.lemmas([["clouds", "Opened", "Annas"]], [[PLURAL, PAST, PLURAL]])
    assert found == [["cloud", "open", "Anna"]]


def test_the_same_word_with_other_tags():
    """Tags that were seen decide; else the UPOS; and every pair of the training text is reproduced where it can be."""
    text = [Sentence(["saw", "saw", "saw"], ["see", "saw", "saw"], ["VERB", "NOUN", "NOUN"])] * 3
    model = Lemmatiser.train(text)
    tags = [("VERB", "_", "_"), ("NOUN", "_", "_"), ("NOUN", "_", "Number=Sing")]
    assert model.lemmas([["saw"] * 3], [tags]) == [["see", "saw", "saw"]]


def test_no_lemmas():
    model = Lemmatiser.train([Sentence(["a", "b"], ["_", "_"], ["X", "Y"]), Sentence(["c"])])
    assert not model.has_lemmas
    assert model.lemmas([["a", "z"], []], [[("X", "_", "_")] * 2, []]) == [["_", "_"], []]
    assert model.views()


def test_odd_words(lemmatiser):
    words = ["", " ", "10 000", "کتاب", "👩‍👩‍👧", "A" * 1000, "İİ", "-"]
    found = lemmatiser.lemmas([words], [[("X", "_", "_")] * len(words)])
    assert all(isinstance(lemma, str) for lemma in found[0])
    model = Lemmatiser.train([Sentence(words, words[::-1], ["X"] * len(words))] * 2)
    assert model.lemmas([words], [[("X", "_", "_")] * len(words)]) == [words[::-1]]


def test_predicted_tags_in_training():
    """A lemmatiser that was trained with certain tags knows its words by these."""
    tags = [[("X", "_", "_")] * len(s) for s in TEXT]
    model = Lemmatiser.train(TEXT, tags)
    assert model.lemmas([TEXT[0].forms], tags[:1]) == [TEXT[0].lemmas]
    with pytest.raises(ValueError, match="shorter"):
        Lemmatiser.train(TEXT, tags[1:])


def test_it_is_sparse_and_deterministic(lemmatiser):
    again = Lemmatiser.train(TEXT)
    np.testing.assert_array_equal(again.weights.w, lemmatiser.weights.w)
    assert len(Lemmatiser.train(TEXT, l1=3.0).weights.w) < len(again.weights.w)


# ------------------------------------------------------------------------------------------ files


def _written(path, parts):
    write_model(path, "pipeline/Pipeline", {}, {}, {}, {"lemmas": parts})
    return Lemmatiser.from_file(read_model(path).part("lemmas"))


def test_round_trip(lemmatiser, tmp_path):
    again = _written(tmp_path / "m", lemmatiser.contents())
    assert again.lexicon == lemmatiser.lexicon
    assert again.scripts == lemmatiser.scripts
    words = [["clouds", "opened", "Dogs", "zzz"]]
    tags = [[PLURAL, PAST, PLURAL, ("X", "_", "_")]]
    assert again.lemmas(words, tags) == lemmatiser.lemmas(words, tags)
    assert again.facts == lemmatiser.facts
    empty = _written(tmp_path / "m", Lemmatiser.train([]).contents())
    assert empty.lemmas([["a"]], [[("X", "_", "_")]]) == [["_"]]


def test_damaged_files_are_refused(lemmatiser, tmp_path):
    header, tensors, strings = lemmatiser.contents()
    wrong = [(tensors, {**strings, name: list(texts)[:-1]}) for name, texts in strings.items()]
    wrong += [({**tensors, name: array[:-1]}, strings) for name, array in tensors.items()]
    wrong += [
        ({**tensors, name: np.full_like(array, 200)}, strings)
        for name, array in tensors.items()
        if array.dtype.kind != "f"
    ]
    wrong += [
        ({**tensors, name: array.astype(np.float32)}, strings)
        for name, array in tensors.items()
        if "." in name
    ]
    wrong += [
        ({**tensors, "weights": np.full_like(tensors["weights"], np.inf)}, strings),
        (tensors, {**strings, "scripts": ["x"] * len(strings["scripts"])}),
        ({}, strings),
    ]
    for of_tensors, of_strings in wrong:
        with pytest.raises(ModelFileError, match="damaged"):
            _written(tmp_path / "bad", type(lemmatiser.contents())(header, of_tensors, of_strings))


# ------------------------------------------------------------------------------------------ views


def test_views_are_in_words(lemmatiser):
    table = lemmatiser.views()[0]
    assert "…ed → …" in {row[0] for row in table.rows}


def test_parts_of_scripts():
    labels = composed([script_of("walked", "walk"), script_of("Dogs", "Dog"), script_of("a", "b")])
    assert len(labels) == 3
    assert "case keep" in labels.parts


def test_observations_are_distinct():
    seen = observations(("aaaa", "X", "A=1|B=2"))
    assert len(set(seen)) == len(seen)


def test_words_without_a_lemma_teach_nothing():
    text = [*TEXT, Sentence(["xyzed", "_"], ["_", "_"], ["VERB", "PUNCT"])]
    model = Lemmatiser.train(text)
    assert model.lemmas([["xyzed", "_"]], [[PAST, ("PUNCT", "_", "_")]]) == [["xyz", "_"]]
