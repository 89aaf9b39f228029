"""ELAN files become valid CoNLL-U: tiers in time and below one another, several speakers; a mistake is one line."""

from __future__ import annotations

import json
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spinney.corpus import ReadReport, read_conllu, write_conllu
from spinney.corpus.elan import ElanTiers, read_elan
from spinney.corpus.elan_files import ElanFile
from spinney.corpus.sample_treebank import elan_document, sample_treebank
from spinney.corpus.spelled_out import spelled_out
from spinney.errors import InputError

WORDS = ElanTiers(words="words", upos="pos", lemmas="lemma", glosses="gloss")


def document(tiers, slots=()):
    """An ELAN file: tiers as (name, type, parent, annotations), each (id, value, above, before) or with two slots."""
    lines = ["<ANNOTATION_DOCUMENT>", "<TIME_ORDER>"]
    for name, time in slots:
        told = "" if time is None else f' TIME_VALUE="{time}"'
        lines.append(f'<TIME_SLOT TIME_SLOT_ID="{name}"{told}/>')
    lines.append("</TIME_ORDER>")
    for name, kind, parent, made in tiers:
        above = "" if parent is None else f' PARENT_REF="{parent}"'
        lines.append(f'<TIER TIER_ID="{name}" LINGUISTIC_TYPE_REF="{kind}"{above}>')
        for one, value, first, second in made:
            if str(first).startswith("ts"):
                tag, where = "ALIGNABLE_ANNOTATION", f'TIME_SLOT_REF1="{first}" TIME_SLOT_REF2="{second}"'
            else:
                tag, where = "REF_ANNOTATION", f'ANNOTATION_REF="{first}"'
                where += "" if second is None else f' PREVIOUS_ANNOTATION="{second}"'
            text = f"<ANNOTATION_VALUE>{escape(value)}</ANNOTATION_VALUE>"
            lines.append(f'<ANNOTATION><{tag} ANNOTATION_ID="{one}" {where}>{text}</{tag}></ANNOTATION>')
        lines.append("</TIER>")
    return "\n".join([*lines, "</ANNOTATION_DOCUMENT>", ""])


@pytest.fixture
def eaf(tmp_path):
    """Writes a document, and gives its path."""

    def write(text, name="story.eaf"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


SLOTS = [("ts1", 0), ("ts2", None), ("ts3", None), ("ts4", 900), ("ts5", 1000), ("ts6", 2000)]
UTTERANCES = [("a1", "Miru, sele!", "ts1", "ts4"), ("a2", "pelu", "ts5", "ts6")]


# ------------------------------------------------------------------------------------------ what is read


def test_a_treebank_comes_back_from_elan(eaf, tmp_path):
    treebank = [one for one in sample_treebank(30) if not one.extras]
    path = eaf(elan_document(treebank, ("A", "B")))
    report = ReadReport()
    found = list(read_elan(path, WORDS, report=report))
    assert report.read == len(treebank)
    for own, truth in zip(found, treebank, strict=True):
        assert (own.forms, own.upos, own.lemmas, own.misc) == (
            truth.forms,
            truth.upos,
            truth.lemmas,
            truth.misc,
        )
        assert own.comments[-1] == truth.comments[-1]  # the text
    assert {comment for one in found for comment in one.comments if "speaker" in comment} == {
        "# speaker = A",
        "# speaker = B",
    }
    write_conllu(tmp_path / "o.conllu", found)
    assert list(map(str, read_conllu(tmp_path / "o.conllu"))) == list(map(str, found))


@pytest.mark.parametrize("words", ["words", "words@*", "words@A"])
def test_tiers_by_type_by_pattern_and_by_name(eaf, words):
    path = eaf(elan_document(sample_treebank(4), ("A", "B")))
    found = list(read_elan(path, ElanTiers(words=words, upos="pos@*")))
    assert len([one for one in found if one.upos]) == (2 if words == "words@A" else 4)


def test_words_in_time_with_slots_that_have_none(eaf):
    words = [("b2", "sele", "ts3", "ts4"), ("b1", "miru", "ts1", "ts2"), ("b3", "pelu", "ts5", "ts6")]
    path = eaf(document([("u", "u", None, UTTERANCES), ("w", "w", "u", words)], SLOTS))
    found = list(read_elan(path, ElanTiers(words="w")))
    assert [one.forms for one in found] == [["Miru", ",", "sele", "!"], ["pelu"]]
    assert found[0].misc == ["SpaceAfter=No", "_", "SpaceAfter=No", "_"]
    assert found[0].comments[-1] == "# text = Miru, sele!"


def test_the_order_is_that_of_previous_annotations(eaf):
    words = [("b3", "c", "a1", "b2"), ("b1", "a", "a1", None), ("b2", "b", "a1", "b1")]
    path = eaf(document([("u", "u", None, [("a1", "", "ts1", "ts4")]), ("w", "w", "u", words)], SLOTS))
    (one,) = read_elan(path, ElanTiers(words="w"))
    assert one.forms == ["a", "b", "c"]


def test_a_reference_tier_above_the_text(eaf):
    """Numbers in time, below them the text, below it words: a common template."""
    tiers = [
        ("ref", "ref", None, [("a1", "001", "ts1", "ts4"), ("a2", "002", "ts5", "ts6")]),
        ("tx", "tx", "ref", [("b2", "pelu", "a2", None), ("b1", "miru sele", "a1", None)]),
        (
            "mot",
            "mot",
            "tx",
            [("c1", "miru", "b1", None), ("c2", "sele", "b1", "c1"), ("c3", "pelu", "b2", None)],
        ),
    ]
    found = list(read_elan(eaf(document(tiers, SLOTS)), ElanTiers(words="mot")))
    assert [one.forms for one in found] == [["miru", "sele"], ["pelu"]]
    assert "# time = 0-900" in found[0].comments
    assert [
        one.forms for one in read_elan(eaf(document(tiers, SLOTS)), ElanTiers(words="mot", sentences="ref"))
    ] == [
        ["miru", "sele"],
        ["pelu"],
    ]


def test_glosses_of_morphemes_are_joined_and_lemmas_are_not(eaf):
    tiers = [
        ("u", "u", None, [("a1", "miruk", "ts1", "ts4")]),
        ("w", "w", "u", [("b1", "miruk", "a1", None)]),
        ("m", "m", "w", [("c1", "miru", "b1", None), ("c2", "k", "b1", "c1")]),
        ("g", "g", "m", [("d1", "dog|hound", "c1", None), ("d2", "ACC", "c2", None)]),
    ]
    path = eaf(document(tiers, SLOTS))
    (one,) = read_elan(path, ElanTiers(words="w", glosses="g", xpos="m"))
    assert (one.misc, one.xpos) == (["Gloss=dog\\phound-ACC"], ["miru-k"])
    with pytest.raises(InputError, match="has 2 annotations of lemma: miru, k"):
        list(read_elan(path, ElanTiers(words="w", lemmas="m")))


def test_tags_beside_words_go_by_their_order(eaf):
    tags = [("c1", "NOUN", "a1", None), ("c2", "proper noun", "a1", "c1"), ("c3", "X", "a2", None)]
    words = [("b1", "miru", "a1", None), ("b2", "sele", "a1", "b1"), ("b3", "pelu", "a2", None)]
    tiers = [("u", "u", None, UTTERANCES), ("w", "w", "u", words), ("p", "p", "u", tags)]
    found = list(read_elan(eaf(document(tiers, SLOTS)), ElanTiers(words="w", upos="p", xpos="p")))
    assert found[0].upos == ["NOUN", "PUNCT", "proper_noun", "PUNCT"]
    assert found[0].xpos == ["NOUN", "_", "proper_noun", "_"]
    tiers[2] = ("p", "p", "u", tags[1:])
    path = eaf(document(tiers, SLOTS))
    with pytest.raises(
        InputError, match=r"2 words but 1 annotations of upos in the annotation a1 \('Miru, sele!', tier u\)"
    ):
        list(read_elan(path, ElanTiers(words="w", upos="p")))
    report = ReadReport()
    assert [
        one.forms for one in read_elan(path, ElanTiers(words="w", upos="p"), on_error="skip", report=report)
    ] == [["pelu"]]
    assert (report.read, report.skipped) == (1, 1)


def test_utterances_alone_are_split_by_rules(eaf):
    path = eaf(document([("u", "u", None, UTTERANCES)], SLOTS))
    found = list(read_elan(path, ElanTiers(sentences="u")))
    assert [one.forms for one in found] == [["Miru", ",", "sele", "!"], ["pelu"]]
    assert found[0].upos == []


def test_words_that_the_utterance_does_not_spell(eaf):
    words = [("b1", "mi-ru", "a1", None), ("b2", "", "a1", "b1"), ("b3", "two words", "a2", None)]
    path = eaf(document([("u", "u", None, UTTERANCES), ("w", "w", "u", words)], SLOTS))
    found = list(read_elan(path, ElanTiers(words="w")))
    assert [one.forms for one in found] == [["mi-ru"], ["two words"]]
    assert found[0].comments[-1] == "# text = mi-ru"


def test_empty_utterances_are_counted(eaf):
    report = ReadReport()
    path = eaf(document([("u", "u", None, UTTERANCES), ("w", "w", "u", [("b1", "pelu", "a2", None)])], SLOTS))
    assert len(list(read_elan(path, ElanTiers(words="w"), report=report))) == 1
    assert report.empty == 1


def test_utterances_without_marks_are_paragraphs(eaf):
    spoken = [("a1", "miru sele", "ts1", "ts4"), ("a2", "pelu", "ts5", "ts6")]
    found = list(read_elan(eaf(document([("u", "u", None, spoken)], SLOTS)), ElanTiers(sentences="u")))
    assert all("# newpar" in one.comments for one in found)
    marked = [("a1", "Miru sele.", "ts1", "ts4"), ("a2", "Pelu.", "ts5", "ts6")]
    found = list(read_elan(eaf(document([("u", "u", None, marked)], SLOTS)), ElanTiers(sentences="u")))
    assert not any("# newpar" in one.comments for one in found)


def test_right_to_left_compressed_and_utf_16(eaf, tmp_path):
    import gzip

    spoken = [("a1", "ئۇ كەلدى؟", "ts1", "ts4")]
    text = document([("u", "u", None, spoken)], SLOTS)
    for path, how in (
        (eaf(text), {}),
        (eaf(gzip.compress(text.encode()), "a.eaf.gz"), {}),
        (eaf(text.encode("utf-16"), "b.eaf"), {"encoding": "utf-16"}),
        (eaf('<?xml version="1.0" encoding="UTF-8"?>\n' + text, "c.eaf"), {}),
    ):
        (one,) = read_elan(path, ElanTiers(sentences="u"), **how)
        assert one.forms == ["ئۇ", "كەلدى", "؟"]
    assert one.comments[1] == "# sent_id = c-1"


# ---------------------------------------------------------------------------------------------- mistakes

GOOD = [("u", "u", None, UTTERANCES), ("w", "w", "u", [("b1", "miru", "a1", None)])]
BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>\n<ANNOTATION_DOCUMENT>&b;</ANNOTATION_DOCUMENT>'
)


@pytest.mark.parametrize(
    ("text", "tiers", "says"),
    [
        ("<ANNOTATION_DOCUMENT><TIER", WORDS, r"story.eaf:1: not XML: unclosed token \(open the file in ELAN"),
        ("no XML", WORDS, "story.eaf:1: not XML: syntax error"),
        ("", WORDS, "story.eaf:1: not XML: no element found"),
        ("<html></html>", WORDS, r"not a file of ELAN: it begins with <html> \(give .eaf files\)"),
        (BOMB, WORDS, "a document type"),
        ("<ANNOTATION_DOCUMENT>&b;</ANNOTATION_DOCUMENT>", WORDS, "not XML: undefined entity"),
        (b"<ANNOTATION_DOCUMENT>\n\xff</ANNOTATION_DOCUMENT>", WORDS, "story.eaf:2: not UTF-8"),
        ("<ANNOTATION_DOCUMENT/>", WORDS, r"no tier or type of tiers is called 'words' \(the file has no tiers\)"),
        ("<ANNOTATION_DOCUMENT><TIER/></ANNOTATION_DOCUMENT>", WORDS, "<TIER> has no TIER_ID"),
        (document(GOOD, SLOTS), ElanTiers(words="word"), r"called 'word' \(.*its tiers .*: u \(2\), w \(1\)\)"),
        (document(GOOD, SLOTS), ElanTiers(), "it is not said which tier has words"),
        (document(GOOD, SLOTS), ElanTiers(sentences="u", upos="w"), "no tier of words is named"),
        (document(GOOD, SLOTS), ElanTiers(words="u"), r"the tier u is below no other.*name the tier of utterances"),
        (document(GOOD, SLOTS), ElanTiers(words="w", feats="w"), "'miru' is not features"),
        (document(GOOD, [("ts1", "soon")]), ElanTiers(words="w"), "the time slot ts1 has the time 'soon'"),
        (document(GOOD, SLOTS[:3]), ElanTiers(words="w"), "is at the time slot 'ts4', which is not there"),
        (document([GOOD[0], GOOD[0]], SLOTS), ElanTiers(sentences="u"), "two tiers are called 'u'"),
        (document([GOOD[0], ("w", "w", "u", UTTERANCES)], SLOTS), ElanTiers(words="w"), "two annotations are called"),
        (document(GOOD[1:], SLOTS), ElanTiers(words="w"), "the tier w is below 'u', which is not there"),
        (document([("u", "u", "w", []), ("w", "w", "u", [])]), ElanTiers(words="w"), "is above itself"),
    ],
)  # fmt: skip
def test_every_mistake_is_one_line(eaf, text, tiers, says):
    path = eaf(text)
    with pytest.raises(InputError, match=says) as found:
        list(read_elan(path, tiers))
    assert "\n" not in str(found.value)
    assert str(found.value).startswith(str(path))
    report = ReadReport()
    assert list(read_elan(path, tiers, on_error="skip", report=report)) == []
    assert report.skipped >= 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            [("b1", "miru", "a9", None)],
            r"\('miru', tier w\) refers to 'a9', which is no annotation of the tier u",
        ),
        ([("b1", "miru", "b1", None)], "refers to 'b1'"),
        ([("b1", "miru", "ts6", "ts6")], None),
        ([("b1", "miru", "ts9", "ts9")], "time slot 'ts9'"),
    ],
)
def test_annotations_without_a_place(eaf, words, says):
    sound = ("b9", "pelu", "a2", None)
    path = eaf(document([GOOD[0], ("w", "w", "u", [*words, sound])], SLOTS))
    report = ReadReport()
    kept = [one.forms for one in read_elan(path, ElanTiers(words="w"), on_error="skip", report=report)]
    if says is None:
        assert kept == [["miru", "pelu"]] or kept == [["pelu", "miru"]]
        return
    assert kept == [["pelu"]]
    assert report.skipped == 1
    with pytest.raises(InputError, match=says):
        list(read_elan(path, ElanTiers(words="w")))


def test_a_word_outside_of_all_utterances(eaf):
    slots = [*SLOTS, ("ts7", 5000), ("ts8", 6000)]
    path = eaf(document([GOOD[0], ("w", "w", "u", [("b1", "miru", "ts7", "ts8")])], slots))
    with pytest.raises(
        InputError, match=r"lies in no annotation of the tier u \(move it or delete it in ELAN\)"
    ):
        list(read_elan(path, ElanTiers(words="w")))


def test_words_that_come_after_themselves(eaf):
    words = [("b1", "a", "a1", "b2"), ("b2", "b", "a1", "b1")]
    path = eaf(document([GOOD[0], ("w", "w", "u", words)], SLOTS))
    with pytest.raises(InputError, match="comes after itself"):
        list(read_elan(path, ElanTiers(words="w")))


def test_features_must_be_features(eaf):
    tiers = [*GOOD, ("f", "f", "w", [("c1", "Number=Plur | Case=Acc", "b1", None)])]
    (one,) = read_elan(eaf(document(tiers, SLOTS)), ElanTiers(words="w", feats="f"))
    assert one.feats[0] == "Case=Acc|Number=Plur"
    tiers[2] = ("f", "f", "w", [("c1", "ACC.PL", "b1", None)])
    with pytest.raises(InputError, match=r"'ACC.PL' is not features such as"):
        list(read_elan(eaf(document(tiers, SLOTS)), ElanTiers(words="w", feats="f")))


def test_very_many_tiers_below_one_another(eaf):
    tiers = [(f"t{i}", "t", f"t{i - 1}" if i else None, []) for i in range(2000)]
    with pytest.raises(InputError, match="above too many others"):
        list(read_elan(eaf(document(tiers)), ElanTiers(words="t1999")))


FRAGMENTS = [
    "<ANNOTATION_DOCUMENT>", "</ANNOTATION_DOCUMENT>", "<TIME_ORDER>", '<TIME_SLOT TIME_SLOT_ID="ts1"/>', "</TIER>",
    '<TIER TIER_ID="u">', '<TIER TIER_ID="w" PARENT_REF="u">', "<ANNOTATION_VALUE>", "a b", "</ANNOTATION_VALUE>",
    '<REF_ANNOTATION ANNOTATION_ID="b" ANNOTATION_REF="a">', "</REF_ANNOTATION>", "</ALIGNABLE_ANNOTATION>",
    '<ALIGNABLE_ANNOTATION ANNOTATION_ID="a" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts1">', "&", "<!DOCTYPE a>",
    "<![CDATA[x", "]]>", "\n", "\x00", "é",
]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(pieces=st.lists(st.sampled_from(FRAGMENTS), max_size=30))
def test_whatever_the_bytes(tmp_path, pieces):
    path = tmp_path / "a.eaf"
    path.write_text("<ANNOTATION_DOCUMENT>" + "".join(pieces) + "</ANNOTATION_DOCUMENT>")
    report = ReadReport()
    kept = list(read_elan(path, ElanTiers(words="w"), on_error="skip", report=report))
    try:
        assert list(read_elan(path, ElanTiers(words="w"))) == kept
        assert report.skipped == 0
    except InputError as error:
        assert report.skipped
        assert "\n" not in str(error)  # noqa: PT017


# --------------------------------------------------------------------------------- words in their text


@given(
    words=st.lists(st.text("abç", min_size=1, max_size=3), min_size=1, max_size=6),
    marks=st.lists(st.sampled_from(["", " ", ", ", "...", " «", "»! "]), min_size=7, max_size=7),
)
def test_pieces_spell_the_text(words, marks):
    text = "".join(mark + word for mark, word in zip(marks, words)) + marks[-1]
    pieces = spelled_out(words, text)
    if pieces is not None:  # ab may be a and b
        assert [piece.form for piece in pieces if piece.word is not None] == words
        again = "".join(piece.form + " " * piece.spaced for piece in pieces)
        assert again.rstrip() == " ".join(text.split())
    else:
        assert any(mark.strip() == "" for mark in marks[1:-1])


def test_unaligned_slots_lie_between_their_neighbours(eaf):
    path = eaf(document([("u", "u", None, [("a1", "x", "ts2", "ts3")])], SLOTS))
    file = ElanFile.read(path)
    assert file.span(file.tiers["u"].annotations[0]) == (300.0, 600.0)


# -------------------------------------------------------------------------------------- the command line


def test_import_from_the_command_line(eaf, tmp_path, capsys):
    from spinney.cli.main import run

    eaf(elan_document(sample_treebank(6)), "one.eaf")
    (tmp_path / "more").mkdir()
    eaf(elan_document(sample_treebank(3, 2), ("A", "B")), "more/one.eaf")
    (tmp_path / "notes.txt").write_text("not an annotation")
    out = tmp_path / "all.conllu"
    tiers = ["--words", "words", "--upos", "pos", "--lemmas", "lemma", "--glosses", "gloss"]
    assert run(["pipeline", "import", str(tmp_path), *tiers, "-o", str(out), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["files"], facts["sentences"], facts["skipped"]) == (2, 9, 0)
    assert facts["tagged"] == facts["tokens"]
    names = [line for line in out.read_text().splitlines() if line.startswith("# sent_id")]
    assert len(set(names)) == len(names) == 9
    assert run(["pipeline", "import", str(tmp_path / "one.eaf"), *tiers]) == 0
    assert capsys.readouterr().out.startswith("# newdoc id = one\n")
    assert run(["pipeline", "import", str(tmp_path / "one.eaf"), "-o", str(out)]) == 2
    told = capsys.readouterr().err
    assert "words@A (" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--columns", "form,upos"],
            "--columns is not for ELAN files: name their tiers (--words, --upos and others)",
        ),
        (["--format", "columns", "--words", "w"], "--words is a tier of ELAN files, and none is given"),
        (["--format", "columns"], "--columns is missing: name the columns of"),
        (["--words", "words", "--json"], "name a file as --output"),
    ],
)
def test_options_that_do_not_fit(eaf, capsys, options, says):
    from spinney.cli.main import run

    path = eaf(elan_document(sample_treebank(2)))
    assert run(["pipeline", "import", str(path), *options]) == 2
    assert says in capsys.readouterr().err
