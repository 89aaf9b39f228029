"""spaCy's corpora, binary and JSON Lines: what is read is what spaCy says, and bad files are one-line errors."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

import spinney.classes
import spinney.classify
import spinney.lm
import spinney.tagging
from spinney import views
from spinney.cli.main import run
from spinney.corpus import ReadReport, spacy_files
from spinney.corpus.spacy_files import spacy_documents, spacy_sentences, spacy_tagged, spacy_trees
from spinney.corpus.spacy_jsonl import spacy_jsonl_documents, spacy_jsonl_tagged
from spinney.errors import InputError, SettingError
from spinney.formats import guess_format

WORDS = ["Ada", "King", "slept", ".", "She", "left", "New", "York", "in", "May", "."]
STARTS = [True, *[False] * 3, True, *[False] * 6]
POS = ["PROPN", "PROPN", "VERB", "PUNCT", "PRON", "VERB", "PROPN", "PROPN", "ADP", "PROPN", "PUNCT"]
TAGS = ["NNP", "NNP", "VBD", ".", "PRP", "VBD", "NNP", "NNP", "IN", "NNP", "."]
NER = ["B-PER", "I-PER", "O", "O", "O", "O", "B-LOC", "I-LOC", "O", "B-DATE", "O"]
HEADS = [1, 2, 2, 2, 5, 5, 7, 5, 5, 8, 5]
DEPS = ["compound", "nsubj", "ROOT", "punct", "nsubj", "ROOT", "compound", "dobj", "prep", "pobj", "punct"]


@pytest.fixture
def full(tmp_path):
    """A file with every annotation, and the documents that spaCy itself reads from it."""
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    doc = spacy.tokens.Doc(
        nlp.vocab,
        words=WORDS,
        pos=POS,
        tags=TAGS,
        heads=HEADS,
        deps=DEPS,
        ents=NER,
        lemmas=[w.lower() for w in WORDS],
    )
    doc.cats = {"life": 1.0, "death": 0.0}
    other = nlp("It's a\n\n 5km walk.")
    other.set_ents([], default="outside")
    other.cats = {"life": 0.0, "death": 1.0}
    path = tmp_path / "full.spacy"
    spacy.tokens.DocBin(docs=[doc, other], store_user_data=True).to_disk(path)
    return str(path), list(spacy.tokens.DocBin().from_disk(path).get_docs(nlp.vocab))


def _sentences(doc):
    return doc.sents if doc.has_annotation("SENT_START") else [doc]


def test_what_spacy_wrote(full):
    path, docs = full
    assert guess_format(path) == "spacy"
    texts = [(doc.text.rstrip(" "), max(doc.cats, key=doc.cats.get)) for doc in docs]
    assert [(one.text, one.label) for one in spacy_documents(path)] == texts
    sentences = [[t for t in sent if not t.is_space] for doc in docs for sent in _sentences(doc)]
    assert list(spacy_sentences(path)) == [[t.text for t in sent] for sent in sentences]
    labels = {
        "ner": lambda t: t.ent_iob_ if t.ent_iob_ == "O" else f"{t.ent_iob_}-{t.ent_type_}",
        "tag": lambda t: t.tag_,
        "pos": lambda t: t.pos_,
    }
    report = ReadReport()
    for label, of in labels.items():
        found = list(spacy_tagged(path, label=label, on_error="skip", report=report))
        kept = sentences if label == "ner" else sentences[:2]
        assert found == [[(t.text, of(t)) for t in sent] for sent in kept]
    assert report.skipped == 2  # the second document has neither tags nor parts of speech
    for sentence, tokens in zip(list(spacy_trees(path))[:2], sentences):
        first = tokens[0].i
        assert sentence.heads == [0 if t.head.i == t.i else t.head.i - first + 1 for t in tokens]
        assert sentence.deprels == ["root" if t.dep_ == "ROOT" else t.dep_ for t in tokens]
        assert sentence.lemmas == [t.lemma_ for t in tokens]


def test_every_task_reads_it(full, tmp_path, capsys):
    path, _ = full
    assert spinney.lm.fit(path, order=2).facts["sentences"] == 3
    words = spinney.lm.fit(path, order=2, words="lemma+upos").vocabulary.words
    assert {"slept|VERB", "new|PROPN"} <= set(words)
    assert spinney.classify.fit(path, lam=0.1).outputs == ["death", "life"]
    with pytest.raises(InputError, match=r"full.spacy: a sentence without heads \(parse the text first\)"):
        spinney.classes.fit(path, classes=2, tree=True)
    tagger = spinney.tagging.fit(path, format="spacy", lam=0.1)
    assert set(tagger.labels_) == set(NER)
    assert views.as_json(tagger.evaluate(path, format="spacy"))["phrases"] == 3
    assert next(iter(tagger.apply(path, format="spacy")))["columns"] == [WORDS[:4]]
    model = str(tmp_path / "pos.spinney")
    fit = ["tag", "fit", path, "--format", "spacy", "--label", "pos", "--on-error", "skip", "--model", model]
    assert run([*fit, "--lam", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == len(set(POS))


def test_trees_of_spacy(tmp_path):
    spacy = pytest.importorskip("spacy")
    doc = spacy.tokens.Doc(spacy.blank("en").vocab, words=WORDS, heads=HEADS, deps=DEPS)
    path = tmp_path / "a.spacy"
    spacy.tokens.DocBin(attrs=["HEAD", "DEP"], docs=[doc] * 4).to_disk(path)  # without marks of sentences
    assert [len(sentence) for sentence in spacy_trees(path)] == [4, 7] * 4
    model = spinney.classes.fit(str(path), classes=3, tree=True)
    assert model.facts["sentences"] == 8
    assert len(list(model.apply(str(path)))) == 8


def _rewritten(path, **changes):
    from srsly import msgpack

    parts = msgpack.unpackb(zlib.decompress(Path(path).read_bytes()), raw=False, strict_map_key=False)
    parts |= {name: change(parts[name]) for name, change in changes.items()}
    with open(path, "wb") as file:
        file.write(zlib.compress(msgpack.packb(parts, use_bin_type=True)))


def _with_column(column, value):
    """Set an attribute of the first token: the distances of heads, say."""

    def change(tokens):
        array = np.frombuffer(tokens, np.uint64).copy()
        array[column] = np.uint64(value)
        return array.tobytes()

    return change


@pytest.mark.parametrize(
    "changes",
    [
        {"tokens": lambda b: b[:-8]},
        {"lengths": lambda b: np.array([5, 100], "<i4").tobytes()},
        {"lengths": lambda b: np.array([-1, len(WORDS) + 8], "<i4").tobytes()},
        {"spaces": lambda b: b"\7" * len(b)},
        {"attrs": lambda a: []},
        {"attrs": lambda a: ["x"] * len(a)},
        {"strings": lambda s: [1]},
        {"cats": lambda c: c[:1]},
    ],
    ids=",".join,
)
def test_damaged_files(full, changes):
    path, _ = full
    _rewritten(path, **changes)
    with pytest.raises(InputError, match=r"full.spacy: not a corpus of spaCy, or damaged"):
        list(spacy_sentences(path))


def test_damaged_documents_are_skipped(full):
    from spacy.attrs import HEAD, ORTH

    path, _ = full
    for attribute, value, says in (
        (HEAD, 2**40, "a head that is no token"),
        (ORTH, 12345, "no string has the number"),
    ):
        good = Path(path).read_bytes()
        from srsly import msgpack

        attrs = msgpack.unpackb(zlib.decompress(good), raw=False, strict_map_key=False)["attrs"]
        _rewritten(path, tokens=_with_column(attrs.index(attribute), value))
        with pytest.raises(InputError, match=f"full.spacy: document 1: {says}"):
            list(spacy_sentences(path))
        report = ReadReport()
        assert len(list(spacy_sentences(path, on_error="skip", report=report))) == 1
        assert report.skipped == 1
        with open(path, "wb") as file:
            file.write(good)


def test_other_files(tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    path = tmp_path / "a.spacy"
    for data in (
        b"",
        b"hello",
        zlib.compress(b"\xc1"),
        zlib.compress(b"\x93\x01\x02\x03"),
        zlib.compress(b"x")[:-2],
    ):
        path.write_bytes(data)
        with pytest.raises(InputError, match="not a corpus of spaCy"):
            list(spacy_sentences(path))
    monkeypatch.setattr(spacy_files, "FREE", 1000)
    path.write_bytes(zlib.compress(bytes(1 << 20)))
    with pytest.raises(InputError, match=r"more than .* when it is unpacked .*SPINNEY_MAX_EXPANSION"):
        list(spacy_sentences(path))


def test_more_than_one_category(tmp_path):
    spacy = pytest.importorskip("spacy")
    doc = spacy.blank("en")("It works.")
    doc.cats = {"a": 1.0, "b": 1.0}
    path = tmp_path / "a.spacy"
    spacy.tokens.DocBin(docs=[doc]).to_disk(path)
    with pytest.raises(InputError, match=r"a.spacy: document 1: more than one category: a, b"):
        list(spacy_documents(path))
    doc.cats = {}
    spacy.tokens.DocBin(docs=[doc]).to_disk(path)
    with pytest.raises(InputError, match=r"a.spacy: document 1 has no category"):
        spinney.classify.fit(str(path))


# ------------------------------------------------------------------------------------------------ JSON Lines


def _lines(path, *rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def test_spans_become_labels(tmp_path):
    text = "Ada King slept.  She left New York. Mr. Pym stayed!"
    spans = [{"start": 0, "end": 8, "label": "PER"}, {"start": 26, "end": 34, "label": "LOC"}]
    rows = [
        {"text": text, "spans": spans},
        {"text": text, "entities": [[26, 34, "LOC"], [0, 8, "PER"]]},
        {"text": "Not wanted", "spans": [], "answer": "reject"},
        {"text": "No names here.", "spans": []},
        {
            "text": "NewYork",
            "tokens": [{"start": 0, "end": 3}, {"start": 3, "end": 7}],
            "spans": [[3, 7, "X"]],
        },
        {"text": "Who is J. Smith? Bob", "spans": [[7, 20, "ODD"]]},  # no sentence ends inside of an entity
    ]
    found = list(spacy_jsonl_tagged(_lines(tmp_path / "a.jsonl", *rows)))
    assert found[:3] == found[3:6]
    assert found[0] == [("Ada", "B-PER"), ("King", "I-PER"), ("slept", "O"), (".", "O")]
    assert [label for _, label in found[1]] == ["O", "O", "B-LOC", "I-LOC", "O"]
    assert found[6:8] == [
        [(word, "O") for word in ("No", "names", "here", ".")],
        [("New", "O"), ("York", "B-X")],
    ]
    assert [label for _, label in found[8]] == ["O", "O", "B-ODD", "I-ODD", "I-ODD", "I-ODD", "I-ODD"]


def test_the_labels_are_those_of_spacy(tmp_path):
    """spaCy's own conversion of offsets, over the same tokens."""
    spacy = pytest.importorskip("spacy")
    text = "Ada King slept in New York City on May 5."
    spans = [(0, 8, "PER"), (18, 31, "LOC"), (35, 40, "DATE")]
    [found] = spacy_jsonl_tagged(_lines(tmp_path / "a.jsonl", {"text": text, "entities": spans}))
    doc = spacy.tokens.Doc(
        spacy.blank("en").vocab, words=[w for w, _ in found], spaces=[True] * 9 + [False] * 2
    )
    assert doc.text == text
    biluo = spacy.training.offsets_to_biluo_tags(doc, spans)
    assert [label for _, label in found] == [tag.replace("U-", "B-").replace("L-", "I-") for tag in biluo]


def test_categories_become_labels(tmp_path):
    rows = [
        {"text": "a", "label": "x"},
        {"text": "b", "cats": {"x": 0.2, "y": 0.8}},
        {"text": "c", "accept": ["y"], "options": []},
        {"text": "d"},
    ]
    path = _lines(tmp_path / "a.jsonl", *rows)
    assert [(one.text, one.label) for one in spacy_jsonl_documents(path)] == [
        ("a", "x"),
        ("b", "y"),
        ("c", "y"),
        ("d", None),
    ]
    with pytest.raises(InputError, match="document 4 has no category"):
        spinney.classify.fit(path, format="spacy-jsonl")
    model = spinney.classify.fit(path, format="spacy-jsonl", on_error="skip", lam=0.1, tokens="all")
    assert (model.outputs, model.facts["skipped"]) == (["x", "y"], 1)
    assert spinney.lm.fit(path, format="spacy-jsonl", order=2).facts["sentences"] == 4


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{", "not JSON"),
        ('["a"]', "not a JSON object with a text"),
        ({"text": "Ada slept"}, "no spans"),
        (
            {"text": "Ada slept", "spans": [[0, 2, "X"]]},
            r"from 0 to 2 begins or ends inside of a token .*'Ada'",
        ),
        ({"text": "Ada slept", "spans": [[0, 20, "X"]]}, "is not a span of the text .it has 9 characters"),
        ({"text": "Ada slept", "spans": [[0, 3]]}, "is not a span"),
        ({"text": "Ada slept", "spans": [[0, 3, "X"], [0, 9, "Y"]]}, "overlaps the one before"),
        (
            {"text": "Ada slept", "spans": [], "tokens": [{"start": 5, "end": 99}]},
            "is not a token of the text",
        ),
        ({"text": "a", "spans": [], "cats": {"x": 1, "y": 1}}, "more than one category: x, y"),
    ],
)
def test_bad_lines(tmp_path, row, says):
    path = _lines(tmp_path / "a.jsonl", {"text": "fine", "spans": []}, row)
    with pytest.raises(InputError, match=rf"a\.jsonl:2: .*{says}"):
        list(spacy_jsonl_tagged(path))
    report = ReadReport()
    assert list(spacy_jsonl_tagged(path, on_error="skip", report=report)) == [[("fine", "O")]]
    assert report.skipped == 1


def test_labels_that_are_not_there(tmp_path):
    path = _lines(tmp_path / "a.jsonl", {"text": "fine", "spans": []})
    with pytest.raises(SettingError, match="label must be ner in the format spacy-jsonl, not 'pos'"):
        spinney.tagging.fit(path, format="spacy-jsonl", label="pos")
    with pytest.raises(
        SettingError, match="label is for files of spaCy and for data frames, not for columns"
    ):
        spinney.tagging.fit(path, label="pos", preset="pos")
