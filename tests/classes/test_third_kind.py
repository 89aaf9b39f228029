"""A new kind of word classes touches three places: a module of its own, the methods, and the kinds of models."""

import json
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

import spinney
from spinney.classes import WordClassModel
from spinney.cli.main import run
from spinney.kinds import KINDS
from spinney.model import Contents
from spinney.settings import Common
from spinney.settings.classes import FIT, Words
from spinney.structure import WordClasses
from spinney.structure.reading import word_classes

# ------------------------------------------------------------------------ the first place: a module


@dataclass(frozen=True, kw_only=True)
class LastLetter(Words, Common):
    """Classes of words that end alike."""

    recipe = "spinney_last_letter:fit_last_letter"
    method: Annotated[Literal["last-letter"], "How classes are learned."] = "last-letter"
    letters: Annotated[int, "Number of letters at the end that count."] = 1


class LetterClasses(WordClassModel):
    """Words that end alike are of one class."""

    kind = "classes/LetterClasses"

    def __init__(self, classes, facts):
        self.classes, self.facts = classes, facts

    def word_classes(self):
        return self.classes

    def contents(self):
        return Contents({"facts": self.facts}, {}, parts={"classes": self.classes.parts()})

    @classmethod
    def from_file(cls, file):
        return cls(WordClasses.from_parts(file.part("classes")), file.fact("facts", dict))


def fit_last_letter(arrays, s, reading, origin=None):
    """Learn from text; that is not hard."""
    words = arrays.vocabulary.words
    endings = sorted({word[-s.letters :] for word in words})
    ids = [endings.index(word[-s.letters :]) for word in words]
    facts = {
        "method": "last-letter",
        "words": len(words),
        "classes": len(endings),
        "reading": reading.facts(),
    }
    return LetterClasses(WordClasses(words, ids, counts=arrays.vocabulary.counts), facts)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(sys.modules, "spinney_last_letter", sys.modules[__name__])
    monkeypatch.setitem(FIT, "last-letter", LastLetter)  # the second place
    monkeypatch.setitem(KINDS, LetterClasses.kind, "spinney_last_letter:LetterClasses")  # the third


TEXT = [["the", "dogs", "bark"], ["a", "cats", "purr"], ["the", "tree", "bark"]]


def test_in_python(tmp_path):
    model = spinney.classes.fit(TEXT, method="last-letter")
    assert model.word_classes()["dogs"] == model.word_classes()["cats"]
    model.save(tmp_path / "m")
    again = spinney.load(tmp_path / "m")
    assert isinstance(again, LetterClasses)
    assert again.settings == LastLetter()
    assert again.word_classes().ids.tolist() == model.word_classes().ids.tolist()
    assert [record["class"] for record in again.apply([["cats", "bark", "zzz"]])] == [
        [str(again.classes["cats"]), str(again.classes["bark"]), "_"]
    ]
    assert again.views()
    assert again.report_views([["dogs"]])
    assert word_classes(str(tmp_path / "m"))["tree"] == again.classes["the"]


def test_by_command(tmp_path, capsys):
    text, model = tmp_path / "text.txt", str(tmp_path / "m")
    text.write_text("".join(" ".join(words) + "\n" for words in TEXT))
    fit = ["classes", "fit", str(text), "--method", "last-letter", "--letters", "2", "--model", model]
    assert run([*fit, "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == 8
    assert run(["classes", "inspect", model, "--word", "dogs"]) == 0
    assert "dogs" in capsys.readouterr().out
    assert run(["classes", "neighbours", model, "bark", "--top", "1", "--json"]) == 0
    assert run(["classes", "fit", str(text), "--method", "brown", "--letters", "2", "--model", model]) == 2
    assert "--letters is a setting of the method last-letter" in capsys.readouterr().err
    assert run(["classes", "fit", "--method", "last-letter", "--help"]) == 0
    assert "--letters" in capsys.readouterr().out


def test_a_tagger_takes_its_classes(tmp_path):
    model = str(tmp_path / "m")
    spinney.classes.fit(TEXT, method="last-letter").save(model)
    (tmp_path / "train").write_text("dogs N\nbark V\n\ncats N\npurr V\n\n")
    (tmp_path / "patterns").write_text("U:%class[0,0,ends]\n")
    fit = ["tag", "fit", str(tmp_path / "train"), "--patterns", str(tmp_path / "patterns"), "--lam", "0.01"]
    assert run([*fit, "--classes", f"ends={model}", "--model", str(tmp_path / "t"), "--quiet"]) == 0
