"""A spaCy pipeline as tokeniser: the tokens are spaCy's, and a model that was fitted with it reads alike."""

import sys

import pytest

import spinney
import spinney.classify
import spinney.lm
from spinney.cli.main import run
from spinney.corpus.tokenisers import spacy_tokens, tokeniser
from spinney.errors import OptionError, SettingError

TEXT = "Mr. Pym can't come (he's ill).\nReally? It's 5km on.\n\nYes"


def test_tokens_and_sentences_are_those_of_spacy():
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    expected = [
        [t.text for t in s if not t.is_space]
        for p in TEXT.split("\n\n")
        for s in nlp(p.replace("\n", " ")).sents
    ]
    assert list(tokeniser("spacy:en")(TEXT)) == expected
    assert expected[2][2:4] == ["5", "km"]  # our own rules keep 5km
    assert spacy_tokens("spacy:en", True, TEXT)[:4] == ["mr.", "pym", "ca", "n't"]
    assert list(tokeniser("spacy:de")("Das geht z.B. so. Ja!")) == [
        ["Das", "geht", "z.B.", "so", "."],
        ["Ja", "!"],
    ]


def test_a_model_reads_as_it_was_fitted(tmp_path, capsys):
    pytest.importorskip("spacy")
    path, model = str(tmp_path / "a.txt"), str(tmp_path / "lm.spinney")
    with open(path, "w") as file:
        file.write(TEXT)
    fit = ["lm", "fit", path, "--format", "prose", "--tokens", "spacy:en", "--order", "2", "--model", model]
    assert run([*fit, "--json"]) == 0
    capsys.readouterr()
    loaded = spinney.load(model)
    assert loaded.facts["reading"]["tokens"] == "spacy:en"
    words = [one["words"] for one in loaded.apply(path, format="prose")]
    assert words == list(tokeniser("spacy:en")(TEXT))
    texts = (["It isn't 5km", "so 6km", "a bore", "dull, a bore"], ["x", "x", "y", "y"])
    spinney.classify.fit(texts, tokens="spacy:en", lam=0.05, features="counts").save(tmp_path / "c.spinney")
    topics = spinney.load(tmp_path / "c.spinney")
    assert {"km", "n't", ","} <= set(topics.features.names)
    assert topics.predict(["7km"]).tolist() == ["x"]


def test_mistakes(tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    path = str(tmp_path / "a.txt")
    with open(path, "w") as file:
        file.write(TEXT)
    with pytest.raises(SettingError, match="tokens is for running text, but the words of lines are separate"):
        spinney.lm.fit(path, order=2, tokens="spacy:en")
    with pytest.raises(SettingError, match="tokens must be spacy:NAME, such as spacy:en, not 'moses'"):
        spinney.lm.fit(path, order=2, format="prose", tokens="moses")
    with pytest.raises(
        OptionError, match="no spaCy pipeline or language is called 'xzz': python -m spacy download xzz"
    ):
        spinney.lm.fit(path, order=2, format="prose", tokens="spacy:xzz")
    with pytest.raises(OptionError, match="called 'xzz'"):
        spinney.classify.fit((["a b", "c d"], ["x", "y"]), tokens="spacy:xzz")
    with pytest.raises(OptionError, match="tokens must be words, all, spaces or spacy:NAME, not 'moses'"):
        spinney.classify.fit((["a b", "c d"], ["x", "y"]), tokens="moses")
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(
        OptionError, match=r"spacy:fr needs the package spaCy: pip install 'spinney\[spacy\]'"
    ):
        tokeniser("spacy:fr")
