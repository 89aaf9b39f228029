"""British dictionaries as the study of letters and sounds reads them."""

import json
import zipfile

import pytest
from sokolovska_british import joined, moved, read_dictionary

from spinney.errors import InputError

MISAKI = {
    "aback": "əbˈak",
    "car": "kˈɑː",
    "live": {"DEFAULT": "lˈɪv", "ADJ": "lˈIv"},  # more than one pronunciation
    "Ada": "ˈAdə",
    "it's": "ɪts",
}
WANTED = [("aback", ["ə", "b", "a", "k"]), ("car", ["k", "ɑː"])]


def test_the_dictionary_of_misaki(tmp_path):
    text = json.dumps(MISAKI)
    (tmp_path / "gb_gold.json").write_text(text, "utf-8")
    with zipfile.ZipFile(tmp_path / "misaki.whl", "w") as archive:
        archive.writestr("misaki/data/gb_gold.json", text)
    assert read_dictionary(tmp_path / "gb_gold.json") == WANTED
    assert read_dictionary(tmp_path / "misaki.whl") == WANTED
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(InputError, match=r"gb_gold\.json"):
        read_dictionary(tmp_path / "other.whl")


def test_the_dictionary_britfone(tmp_path):
    path = tmp_path / "britfone.main.csv"
    path.write_text("ABACK, ə b ˈa k\nCAR, k ˈɑː\nCAR(1), k a\nIT'S, ɪ t s\n", "utf-8")
    assert read_dictionary(path) == WANTED


def test_one_sound_for_a_letter():
    assert joined("axe", ["a", "k", "s"]) == ["a", "ks"]
    assert joined("ask", ["a", "s", "k", "s"]) == ["a", "s", "k", "s"]
    assert joined("use", ["j", "uː", "z"]) == ["juː", "z"]
    assert moved("bead", ["b", "_", "iː", "d"]) == ["b", "iː", "_", "d"]
    assert moved("lamb", ["l", "a", "_", "m"]) == ["l", "a", "_", "m"]
