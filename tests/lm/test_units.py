"""Models of characters and of pieces of words: how text is divided, scored and joined again."""

import json
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spinney
from spinney.corpus import TokenArrays, sample_sentences, sentence_arrays
from spinney.errors import InputError, ModelFileError, OptionError, SettingError
from spinney.files import write_model
from spinney.lm import recipes
from spinney.lm.model import load_language_model
from spinney.lm.text import size_of
from spinney.lm.units import SPACE, Units, characters, learned_pieces, unit_arrays

pytestmark = pytest.mark.filterwarnings("ignore::spinney.lm.discounts.DiscountWarning")
SENTENCES = [[word.lower() for word in sentence] for sentence in sample_sentences()]


@pytest.fixture(scope="module")
def pieces():
    pytest.importorskip("tokenizers")
    counts = sentence_arrays(SENTENCES).vocabulary
    return learned_pieces(dict(zip(counts.words, counts.counts.tolist())), 150, "<unk>")


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=SPACE), min_size=1)))
def test_characters_can_be_joined_again(words):
    import unicodedata

    units = Units("char", "<unk>")
    assert units.text(units.split(words)) == " ".join(unicodedata.normalize("NFC", word) for word in words)


def test_marks_stay_with_their_letters():
    assert characters("x\u0323\u0302y") == ["x\u0323\u0302", "y"]  # no such letter has a number of its own
    assert characters("\u0301a") == ["\u0301", "a"]


def test_pieces_can_be_joined_again_and_are_those_of_the_library(pieces):
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer.from_str(pieces.tokenizer)
    for sentence in SENTENCES:
        assert pieces.split(sentence) == theirs.encode(" ".join(sentence)).tokens
        assert pieces.text(pieces.split(sentence)) == " ".join(sentence)
    assert any(len(pieces.split([word])) == 1 for word in ("the", "and"))


def test_the_unknown_word_is_not_divided(pieces):
    for units in (Units("char", "<unk>"), pieces):
        assert units.split(["<unk>"]) == [SPACE, "<unk>"]
    assert pieces.split(["\u4e2d"]) == [SPACE, "<unk>"]  # a character that was not seen


@pytest.mark.parametrize("on_disk", [False, True])
def test_arrays_of_units_are_those_of_the_sentences(tmp_path, monkeypatch, on_disk):
    monkeypatch.setattr("spinney.lm.units._STEP", 40)  # in several pieces
    text = sentence_arrays([*SENTENCES, []], unknown="<unk>")
    if on_disk:
        text.save(tmp_path / "arrays")
        text = TokenArrays.load(tmp_path / "arrays")
    units = Units("char", "<unk>")
    found = unit_arrays(text, units, min_count=3)
    wanted = sentence_arrays(map(units.split, [*SENTENCES, []]), min_count=3, unknown="<unk>")
    assert [found.vocabulary.decode(one) for one in found] == [
        wanted.vocabulary.decode(one) for one in wanted
    ]
    assert dict(zip(found.vocabulary.words, found.vocabulary.counts.tolist())) == dict(
        zip(wanted.vocabulary.words, wanted.vocabulary.counts.tolist())
    )
    assert found.ids.dtype == np.int32
    assert found.offsets.dtype == np.int64


def test_pieces_that_only_new_words_have_are_not_unknown(pieces):
    arrays = unit_arrays(sentence_arrays(SENTENCES, unknown="<unk>"), pieces)
    assert set(arrays.vocabulary.words) == {*pieces.pieces, "<unk>"}
    alone = [piece for piece, n in zip(arrays.vocabulary.words, arrays.vocabulary.counts) if not n]
    assert len(alone) > 1  # the unknown one, and those that were always part of larger ones


def test_size_is_that_of_the_file():
    text = sentence_arrays([["a", "rose"], ["is"]], unknown="<unk>")
    n = len("a rose\nis\n")
    for units in (Units(), Units("char", "<unk>")):
        read = text if units.are_words else unit_arrays(text, units)
        assert size_of(read, units) == (3, n, 2)
    assert size_of(sentence_arrays([["a", "b"]], min_count=2, unknown="<unk>"), Units()) is None


@pytest.mark.parametrize("units", ["char", "bpe"])
def test_what_a_model_says_of_text_does_not_depend_on_how_it_is_asked(tmp_path, units):
    if units == "bpe":
        pytest.importorskip("tokenizers")
    more = {"vocab_size": 120} if units == "bpe" else {}
    model = recipes.fit(SENTENCES, units=units, order=4, method="wb", min_count=2, **more)
    path = tmp_path / "m.spinney"
    model.save(path)
    model = spinney.load(path)
    text = [["the", "cat"], ["zebra", "\u4e2d"]]
    facts = model.evaluate(text)[0].data()
    divided = [model.units.split(words) for words in text]
    wanted = sum(float(model.logprob(one).sum()) for one in divided)
    characters = len("the cat\nzebra \u4e2d\n")
    assert facts["log10_probability"] == pytest.approx(wanted / math.log(10))
    assert facts["bits_per_character"] == pytest.approx(-wanted / math.log(2) / characters)
    assert facts["perplexity_per_word"] == pytest.approx(math.exp(-wanted / 6))
    assert facts["unknown"] == 1
    applied = list(model.apply(text).records)
    assert [len(one["log10"]) for one in applied] == [3, 3]
    assert sum(sum(one["log10"]) for one in applied) == pytest.approx(wanted / math.log(10))
    assert applied[0]["log10"][0] == pytest.approx(
        sum(model.logprob(divided[0])[: len(model.units.split(["the"]))]) / math.log(10)
    )
    assert model.facts["units"] == units


def test_words_and_characters_of_a_closed_text_are_compared_by_characters():
    words = recipes.fit(SENTENCES, method="wb", order=2).evaluate(SENTENCES)[0].data()
    letters = recipes.fit(SENTENCES, method="wb", order=8, units="char").evaluate(SENTENCES)[0].data()
    n = sum(len(" ".join(sentence)) + 1 for sentence in SENTENCES)
    for facts in (words, letters):
        assert facts["bits_per_character"] == pytest.approx(-facts["log10_probability"] * math.log2(10) / n)
    unseen = recipes.fit(SENTENCES, method="wb", order=2).evaluate([["zebra"]])[0].data()
    assert unseen["bits_per_character"] is None  # nobody knows what the letters of an unknown word cost


def test_samples_and_contexts_are_text():
    model = recipes.fit(SENTENCES, units="char", order=6)
    (lines,) = recipes.sample(model, number=3, context="the", max_words=4)
    assert all(line.startswith("the") and SPACE not in line for line in lines.lines)
    assert all(len(line.split()) <= 4 for line in lines.lines)
    table = model.views(context="th")[-1]
    assert table.rows[0][0] == "e"


def test_mixtures_keep_the_units(tmp_path):
    for method in ("wb", "mkn"):
        recipes.fit(SENTENCES, units="char", method=method, order=3).save(tmp_path / f"{method}.spinney")
    paths = [str(tmp_path / f"{method}.spinney") for method in ("wb", "mkn")]
    dev = tmp_path / "dev.txt"
    dev.write_text("".join(" ".join(words) + "\n" for words in SENTENCES[:20]))
    mixture = recipes.mix(paths, dev=str(dev))
    mixture.save(tmp_path / "mix.spinney")
    assert load_language_model(tmp_path / "mix.spinney").units == Units("char", "<unk>")
    recipes.fit(SENTENCES, order=2).save(tmp_path / "words.spinney")
    with pytest.raises(InputError, match="cannot be mixed"):
        recipes.mix([paths[0], str(tmp_path / "words.spinney")], dev=str(dev))


def test_an_arpa_file_says_what_its_ngrams_are(tmp_path):
    model = recipes.fit(SENTENCES, units="char", order=2)
    model.save(tmp_path / "m.spinney")
    recipes.export(str(tmp_path / "m.spinney"), str(tmp_path / "m.arpa"))
    first = (tmp_path / "m.arpa").read_text().splitlines()[0]
    assert first == "# n-grams of characters; ▁ is the space before a word"
    assert len(recipes.import_arpa(str(tmp_path / "m.arpa")).logp) == len(model.logp)


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InputError, match=r"pip install 'spinney\[bpe\]'"):
        recipes.fit(SENTENCES, units="bpe")


@pytest.mark.parametrize("text", ["", "[]", '{"model": {"vocab": {"a": "x"}, "merges": []}}', '{"model": 3}'])
def test_a_damaged_tokenizer_is_one_line(text):
    pytest.importorskip("tokenizers")
    with pytest.raises(InputError, match="damaged"):
        Units("bpe", "<unk>", text).split(["a"])


@pytest.mark.parametrize("units", ["letters", "bpe", 3])  # unknown, without its tokenizer, not a text
def test_a_file_with_other_units_is_damaged(tmp_path, units):
    model = recipes.fit(SENTENCES, units="char", order=2, method="wb")
    header, tensors, strings, parts = model.contents()
    write_model(tmp_path / "m.spinney", model.kind, {**header, "units": units}, tensors, strings, parts)
    with pytest.raises(ModelFileError, match="damaged"):
        load_language_model(tmp_path / "m.spinney")


def test_only_pieces_and_merges_of_a_tokenizer_are_used(pieces):
    hostile = json.loads(pieces.tokenizer)
    hostile["pre_tokenizer"] = {
        "type": "Split",
        "pattern": {"Regex": "(a+)+$"},
        "behavior": "Isolated",
        "invert": False,
    }
    assert Units("bpe", "<unk>", json.dumps(hostile)).split(["rose"]) == pieces.split(["rose"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vocab_size": 100}, "vocab_size is the number of pieces"),
        ({"units": "char", "vocabulary": "words.txt"}, "leave out vocabulary"),
        ({"units": "bpe", "closed": True}, "leave out closed"),
        ({"units": "char", "method": "class", "classes": "c.txt"}, "classes are of words"),
    ],
)
def test_settings_that_do_not_go_together(given, message):
    with pytest.raises(SettingError, match=message):
        recipes.fit(SENTENCES, **given)


def test_units_are_checked():
    with pytest.raises(OptionError, match="units must be"):
        Units("letters")
    with pytest.raises(OptionError, match="tokenizer"):
        Units("bpe")
