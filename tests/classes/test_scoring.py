"""Word classes against human judgements: which words of a vocabulary stand for those of a data set."""

import pytest

from spinney.classes import fit
from spinney.classes.plots import plot
from spinney.errors import InputError
from spinney.views import Note

TEXT = [
    ["the|DET", f"{noun}|NOUN", f"{verb}|VERB", f"{other}|NOUN"]
    for noun in ("fan", "dog", "walk")
    for verb in ("buy", "sell", "walk")
    for other in ("ticket", "bone")
] * 3


@pytest.fixture(scope="module")
def model():
    return fit(TEXT, method="hmm", classes=3, passes=1, threads=1)


def _found(model, **settings):
    return {view.key: view.data() for view in model.evaluate(None, **settings) if view.key}


def test_categories_are_of_one_part_of_speech(model, tmp_path):
    """The most frequent "walk" is a verb here, "fan" is no verb at all; the set decides."""
    verbs, nouns = tmp_path / "verbs.csv", tmp_path / "nouns.csv"
    verbs.write_text("word,category\nbuy,trade\nsell,trade\nwalk,move\nfan,move\n")
    nouns.write_text("word,category\nfan,person\ndog,animal\nwalk,move\nticket,thing\nbuy,thing\n")
    found = _found(model, categories=(str(verbs), str(nouns)))["categories"]
    assert (found[str(verbs)]["pos"], found[str(verbs)]["missing"]) == ("verb", ["fan"])
    assert (found[str(nouns)]["pos"], found[str(nouns)]["missing"]) == ("noun", ["buy"])
    any_one = _found(model, categories=(str(nouns),), pos="any")["categories"][str(nouns)]
    assert (any_one["pos"], any_one["missing"]) == (None, [])
    as_verbs = _found(model, categories=(str(nouns),), pos="verb")["categories"][str(nouns)]
    assert as_verbs["missing"] == ["fan", "dog", "ticket"]


def test_second_subjects_are_dropped_unless_asked_for(model, tmp_path):
    """ELLDIS has each comparison of Grefenstette and Sadrzadeh with two second subjects; unknown ones do no harm."""
    file = tmp_path / "elldis.txt"
    rows = ["participant\tsent1\tsent2\tscore"]
    for other in ("dog", "stranger"):
        for verb, score in (("sell", 5), ("walk", 2)):
            rows.append(
                f"p\tfan buy ticket and {other} does too\tfan {verb} ticket and {other} does too\t{score}"
            )
    file.write_text("\n".join(rows) + "\n")
    for keep, items, n in ((False, 2, 2), (True, 4, 2)):
        found = _found(model, composition=(str(file),), second_subjects=keep)["composition"][str(file)]
        assert found["second"] == "bare"
        assert (found["t-mult"]["items"], found["t-mult"]["n"]) == (items, n)


def test_a_word_is_found_by_its_part_of_speech(model):
    """As what it is most often (the order of the vocabulary), and what else it is said."""
    vocabulary = model.vocabulary
    first, second = sorted(("walk|NOUN", "walk|VERB"), key=vocabulary.words.index)
    views = model.neighbours("Walk", top=1)
    assert views[0].data()["word"] == first
    assert [view.text for view in views if isinstance(view, Note)] == [f"Walk is also known as {second}"]
    shown = {view.key: view.data() for view in model.views(word="ticket") if view.key}
    assert shown["word"]["word"] == "ticket|NOUN"
    assert not [view for view in model.views(word="ticket") if isinstance(view, Note)]
    with pytest.raises(InputError, match="'tickle' is not among .*did you mean ticket"):
        model.neighbours("tickle")


def test_a_map_finds_words_by_their_part_of_speech(model, tmp_path):
    plot(model, str(tmp_path / "map.tsv"), words=("fan", "sell", "Bone"))
    places = (tmp_path / "map.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in places] == ["fan|NOUN", "sell|VERB", "bone|NOUN"]
