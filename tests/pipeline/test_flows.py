"""Pipelines in other hands: parsers of plain text for other models, spaCy, and pages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spinney.classes.recipes import fit as fit_classes
from spinney.corpus import Sentence
from spinney.corpus.conllu import read_conllu
from spinney.corpus.parsers import tree_parser
from spinney.corpus.sample_treebank import sample_raw
from spinney.corpus.surface import original_text
from spinney.errors import InputError, OptionError
from spinney.pipeline import Pipeline, fit
from spinney.pipeline.whole_tokens import collapsed, whole_tokens
from spinney.tagging.morphology import MorphTagger

TEXT = "  Nas osu.  Vanira kelak\nlanamit!\n\nKe miru selemi. "


@pytest.fixture(scope="module")
def text(files):
    """Plain text, one sentence per line, and documents of two classes."""
    pipeline = Pipeline.load(files / "whole.spinney")
    lines = [" ".join(one.forms) for one in pipeline.segment([sample_raw(40, 9)])]
    (files / "text.txt").write_text("\n".join(lines) + "\n")
    for i in range(0, 24, 2):
        place = files / "documents" / ("past" if "mi" in lines[i] else "present") / f"{i}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{lines[i]}\n")
    return files


# ------------------------------------------------------------------------------- a parser for other models


def test_trees_for_word_classes(text, facts, spinney, tmp_path):
    how = ("--tree", "--classes", 3, "--threads", 1)
    parser = text / "whole.spinney"
    one = facts(
        "classes", "fit", text / "text.txt", *how, "--parser", parser, "--model", tmp_path / "one.spinney"
    )
    assert one["structure"] == "tree"
    _, conllu, _ = spinney("pipeline", "apply", parser, text / "text.txt", "--format", "lines", "--quiet")
    (tmp_path / "text.conllu").write_text(conllu)
    two = facts("classes", "fit", tmp_path / "text.conllu", *how, "--model", tmp_path / "two.spinney")
    assert two["tokens"] == one["tokens"]
    classes = [
        facts("classes", "inspect", tmp_path / f"{name}.spinney")["classes"] for name in ("one", "two")
    ]
    assert classes[0] == classes[1]


def test_lemmas_and_tags_as_words(text, facts, tmp_path):
    how = ("--words", "lemma+upos", "--classes", 3, "--parser", text / "whole.spinney")
    facts("classes", "fit", text / "text.txt", *how, "--model", tmp_path / "c.spinney")
    found = facts("classes", "neighbours", tmp_path / "c.spinney", "miru|NOUN")
    assert all("|" in row["word"] for row in found["neighbours"])


def test_phrases_as_groups_of_words(text, facts, tmp_path):
    how = ("--groups", "parse", "--features", "counts", "--lam", 0.1, "--min-count", 1)
    parser = ("--parser", text / "whole.spinney")
    facts("classify", "fit", text / "documents", *how, *parser, "--model", tmp_path / "g.spinney")
    found = facts("classify", "inspect", tmp_path / "g.spinney")
    names = [group["name"] for group in found["groups"]["selected"]] + [
        group["name"] for group in found["groups"]["removed"]
    ]
    assert {name.split(": ")[1] for name in names} & {"root", "nsubj", "obj", "obl"}
    kept = ("--keep", "nsubj")
    facts("classify", "fit", text / "documents", *how, *kept, *parser, "--model", tmp_path / "k.spinney")


def test_a_pipeline_without_a_parser_parses_nothing(text, spinney, tmp_path):
    for command in (
        ("classes", "fit", text / "text.txt", "--tree", "--classes", 3),
        ("classify", "fit", text / "documents", "--groups", "parse", "--features", "counts"),
    ):
        code, _, err = spinney(*command, "--parser", text / "flat.spinney", "--model", tmp_path / "m.spinney")
        assert code == 2
        assert "pars" in err
        assert err.count("\n") == 1
    with pytest.raises(InputError, match="a pipeline with a parser"):
        tree_parser(str(text / "flat.spinney"))


def test_classes_of_raw_text_are_a_structure(files, facts, tmp_path):
    (tmp_path / "raw.txt").write_text(sample_raw(60, 4))
    model = tmp_path / "m.spinney"
    fitted = ("--raw", tmp_path / "raw.txt", "--classes", 8, "--jackknife", 1)
    told = facts("pipeline", "fit", files / "flat.conllu", *fitted, "--model", model)
    assert told["raw_tokens"] > 200
    classes = Pipeline.load(model).structures()["classes"]
    assert "miru" in classes


def test_vectors_of_raw_text_are_features_of_tagger_and_parser(files, tmp_path):
    (tmp_path / "raw.txt").write_text(sample_raw(60, 4))
    how = {"raw": (str(tmp_path / "raw.txt"),), "dimensions": 5, "jackknife": 1, "limit": 30}
    model = fit(str(files / "train.conllu"), **how)
    model.save(tmp_path / "m.spinney")
    loaded = Pipeline.load(tmp_path / "m.spinney")
    assert loaded.tags.observer.vectors["vector"].dimension == 5
    assert len(loaded.trees.classes["vector"].paths[0]) == 5
    assert any("vector:" in name for name in loaded.tags.observer.number)
    assert "h.vector:" in loaded.trees.templates
    words = [replace(one, heads=[], deprels=[]) for one in read_conllu(files / "test.conllu")]
    assert [one.heads for one in loaded.annotate(words)] == [one.heads for one in model.annotate(words)]


def test_raw_text_that_does_harm_is_left_out(files, tmp_path, monkeypatch, facts, spinney):
    (tmp_path / "raw.txt").write_text(sample_raw(60, 4))
    how = (files / "train.conllu", "--raw", tmp_path / "raw.txt", "--dev", files / "test.conllu")
    how = (*how, "--jackknife", 1, "--limit", 30, "--lam", 0.5, "--model", tmp_path / "m.spinney")
    told = facts("pipeline", "fit", *how)
    assert told["raw_text"] == "helps on dev"
    accuracy = MorphTagger.accuracy
    monkeypatch.setattr(
        MorphTagger, "accuracy", lambda self, dev: accuracy(self, dev) - 0.5 * bool(self.observer.classes)
    )
    code, out, err = spinney("pipeline", "fit", *how)
    assert code == 0
    assert "left out: dev is tagged better without it" in " ".join(out.split())
    assert "raw text is left out" in " ".join(err.split())
    assert "classes" not in Pipeline.load(tmp_path / "m.spinney").structures()


def test_classes_and_vectors_of_ones_own(files, tmp_path, facts, spinney):
    text = [one.forms for one in read_conllu(files / "train.conllu")]
    classes = fit_classes(text, classes=6, lowercase=True).word_classes()
    classes.write_paths(tmp_path / "paths.txt")
    how = (files / "train.conllu", "--limit", 30, "--jackknife", 1, "--lam", 0.5)
    own = ("--word-classes", f"brown={tmp_path / 'paths.txt'}")
    facts("pipeline", "fit", *how, *own, "--model", tmp_path / "m.spinney")
    model = Pipeline.load(tmp_path / "m.spinney")
    assert list(model.tags.observer.classes) == list(model.trees.classes) == ["brown"]
    assert "h.brown:4" in model.trees.templates
    code, _, err = spinney("pipeline", "fit", *how, "--word-classes", tmp_path / "paths.txt")
    assert code == 2
    assert "--word-classes must be NAME=FILE" in " ".join(err.split())


def test_the_number_of_classes_goes_by_the_text(files, tmp_path):
    (tmp_path / "raw.txt").write_text(sample_raw(60, 4))
    settings = {"raw": (str(tmp_path / "raw.txt"),), "jackknife": 1}
    few = fit(str(files / "flat.conllu"), **settings)
    assert few.structures()["classes"].n_classes <= 32


# ---------------------------------------------------------------------------------------------- spaCy


@pytest.fixture(scope="module")
def nlp(files):
    pytest.importorskip("spacy")
    from spinney.spacy_components import language

    return language(files / "whole.spinney")


def test_spacy_says_what_the_pipeline_says(files, nlp):
    doc = nlp(TEXT)
    assert doc.text == TEXT
    found = Pipeline.load(files / "whole.spinney")(TEXT)
    sentences = [[token for token in sentence if not token.is_space] for sentence in doc.sents]
    assert len(sentences) == len(found) == 3
    for tokens, one in zip(sentences[1:], found[1:]):
        assert [token.text for token in tokens] == one.forms
        assert [token.pos_ for token in tokens] == one.upos
        assert [str(token.morph) or "_" for token in tokens] == one.feats
        assert [token.lemma_ for token in tokens] == one.lemmas
        place = {token.i: i for i, token in enumerate(tokens, start=1)}
        assert [0 if t.head == t else place[t.head.i] for t in tokens] == one.heads
        assert [token.dep_.lower() for token in tokens] == one.deprels


def test_contractions_stay_one_token(nlp):
    nas = nlp("Nas osu.")[0]
    assert (nas.text, nas._.words) == ("Nas", ["Na", "es"])
    assert [row["upos"] for row in nas._.annotations] == ["PRON", "AUX"]
    assert (nas.pos_, nas.lemma_, nas.head.text, nas.dep_) == ("PRON", "na", "osu", "nsubj")


def test_nothing_white_space_and_many_texts(nlp):
    assert (len(nlp("")), nlp(" \n").text) == (0, " \n")
    texts = ["Nas osu.", "Ke miru selemi.", ""]
    assert [[t.dep_ for t in doc] for doc in nlp.pipe(texts)] == [[t.dep_ for t in nlp(one)] for one in texts]


def test_a_saved_language_needs_no_other_file(files, nlp, tmp_path):
    import shutil

    import spacy

    from spinney.spacy_components import language

    shutil.copy(files / "whole.spinney", tmp_path / "m.spinney")
    own = language(tmp_path / "m.spinney", "tr")
    own.to_disk(tmp_path / "saved")
    (tmp_path / "m.spinney").unlink()
    again = spacy.load(tmp_path / "saved")
    assert again.lang == "tr"
    assert [(t.text, t.pos_, t.dep_) for t in again(TEXT)] == [(t.text, t.pos_, t.dep_) for t in nlp(TEXT)]


def test_mistakes_of_spacy_pipelines(files, tmp_path):
    spacy = pytest.importorskip("spacy")
    from spinney.spacy_components import language

    with pytest.raises(InputError, match="no such file"):
        language(tmp_path / "nothing.spinney")
    with pytest.raises(OptionError, match="knows no language 'mt'"):
        language(files / "whole.spinney", "mt")
    blank = spacy.blank("xx")
    blank.add_pipe("spinney_pipeline", config={"model": str(files / "whole.spinney")})
    with pytest.raises(InputError, match="no sentences are marked"):
        blank("Nas osu.")
    blank.add_pipe("sentencizer", first=True)
    assert [token.pos_ for token in blank("Ke miru selemi .")] == ["DET", "NOUN", "VERB", "PUNCT"]


def test_a_pipeline_without_a_parser_in_spacy(files):
    pytest.importorskip("spacy")
    from spinney.spacy_components import language

    doc = language(files / "flat.spinney")("Nas osu. Ke miru selemi.")
    assert len(list(doc.sents)) == 2
    assert [token.pos_ for token in doc][-4:] == ["DET", "NOUN", "VERB", "PUNCT"]
    assert not doc.has_annotation("DEP")


def test_whole_tokens_spell_the_text(files):
    pipeline = Pipeline.load(files / "whole.spinney")
    for text in (TEXT, "\n\nNas  osu .\t\tKe\u00a0miru", "x"):
        sentences = list(pipeline.segment([text]))
        assert original_text(sentences).strip() == text.strip()
        assert (
            "".join(one.text + " " * one.spaced for one in whole_tokens(sentences)).rstrip() == text.rstrip()
        )


def test_collapsed_trees_are_trees():
    """The words of one token may be above and below another: the token is where its highest word is."""
    line = "1-2\tab" + "\t_" * 8
    one = Sentence(["a", "b", "c"], heads=[3, 0, 2], deprels=["x", "root", "y"], extras=[(0, line)])
    assert [(token.word, token.head) for token in collapsed(one)] == [(1, 0), (2, 1)]
