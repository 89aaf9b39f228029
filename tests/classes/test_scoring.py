"""Word classes against human judgements: which words of a vocabulary stand for those of a data set."""

import pytest

from spinney.classes import fit

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
