from __future__ import annotations

import io
import tarfile
from collections import Counter

import pytest
from methods.semcor import SUPERSENSES, read_semcor, supersense_examples

from spinney.errors import InputError, OptionError

DOCUMENT = """<contextfile concordance=brown>
<context filename=br-a01 paras=yes>
<p pnum=1>
<s snum=1>
<wf cmd=ignore pos=DT>The</wf>
<wf cmd=done rdf=group pos=NNP lemma=group wnsn=1 lexsn=1:03:00:: pn=group>Fulton_County_Grand_Jury</wf>
<wf cmd=done pos=VB lemma=say wnsn=1 lexsn=2:32:00::>said</wf>
<wf cmd=done pos=JJ lemma=such wnsn=0 lexsn=5:00:01:specified:00>such</wf>
<wf cmd=done pos=NN lemma=relief wnsn=1;2 lexsn=1:26:00::;1:11:00::>relief</wf>
<wf cmd=ignore pos=TO>_to</wf>
<wf cmd=done pos=VB lemma=take_place wnsn=1 lexsn=2:30:00::>took_place</wf>
<wf cmd=done rdf= pos=NN ot=notag>65</wf>
<punc>.</punc>
</s>
</p>
</context>
</contextfile>
"""
TEXT = "The Fulton County Grand Jury said such relief to took place 65 ."
WORDS = TEXT.split()


@pytest.fixture
def folder(make):
    make(DOCUMENT, "semcor/brown1/tagfiles/br-a01")
    return make("Not a tag file", "semcor/brown1/tagfiles/README").parents[2]


def packed(path, files):
    with tarfile.open(path, "w:xz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return path


def test_a_sentence(folder):
    [sentence] = read_semcor(folder)
    assert (sentence.document, sentence.number, sentence.words) == ("br-a01", 1, WORDS)
    jury = sentence.tokens[1]
    assert (jury.item, jury.pos, jury.lemma, jury.name) == (
        "Fulton_County_Grand_Jury",
        "NNP",
        "group",
        "group",
    )
    assert [token.supersense for token in sentence.tokens] == [
        None,
        "noun.Tops",
        "verb.communication",
        "adj.all",
        "noun.state",
        None,
        "verb.change",
        None,
        None,
    ]
    assert sentence.tokens[-1].pos is None


def test_examples_are_nouns_and_verbs_in_context(folder):
    examples = list(supersense_examples(read_semcor(folder)))
    assert [(e.words[e.head], e.label, e.pos) for e in examples] == [
        ("Jury", "noun.Tops", "noun"),
        ("said", "verb.communication", "verb"),
        ("relief", "noun.state", "noun"),
        ("took", "verb.change", "verb"),
    ]
    assert all(e.words == WORDS for e in examples)
    assert [" ".join(e.words[e.start : e.stop]) for e in examples][::3] == [
        "Fulton County Grand Jury",
        "took place",
    ]
    # "group" would give away that a group is meant.
    assert [e.lemma for e in examples] == ["fulton_county_grand_jury", "say", "relief", "take_place"]


def test_an_archive_is_its_folder(folder, tmp_path):
    text = DOCUMENT.encode()
    files = {
        "semcor3.0/brown1/tagfiles/br-a01": text,
        "semcor3.0/brownv/tagfiles/br-a02": text,
        "semcor3.0/LICENSE": b"",
    }
    archive = packed(tmp_path / "semcor.tar.xz", files)
    assert list(read_semcor(archive)) == list(read_semcor(folder))
    assert len(list(read_semcor(archive, ["brownv"]))) == 1


def test_lexicographer_files():
    assert len(SUPERSENSES) == 45
    assert Counter(name.partition(".")[0] for name in SUPERSENSES) == {
        "noun": 26,
        "verb": 15,
        "adj": 3,
        "adv": 1,
    }


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("lexsn=2:32:00::", "lexsn=2:99:00::", 7, "'2:99:00::' is not a sense key"),
        ("lexsn=2:32:00::", "lexsn=say", 7, "not a sense key"),
        ("</wf>\n<wf cmd=done pos=JJ", "\n<wf cmd=done pos=JJ", 7, "not SemCor markup"),
        ("<s snum=1>\n", "", 4, "a word outside a sentence"),
        ("</s>\n", "<s snum=2>\n", 14, "a sentence within a sentence"),
        ("</s>\n", "", 17, "has no end"),
    ],
)
def test_errors_say_where(make, old, new, line, what):
    path = make(DOCUMENT.replace(old, new), "brown1/tagfiles/br-a01")
    with pytest.raises(InputError, match=what) as caught:
        list(read_semcor(path.parents[2]))
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_other_errors(make, tmp_path):
    with pytest.raises(OptionError, match="brown1, brown2, brownv, not brown3"):
        next(read_semcor(tmp_path, ["brown3"]))
    with pytest.raises(InputError, match="no files of brown1 or brown2"):
        next(read_semcor(tmp_path))
    with pytest.raises(InputError, match="no such file"):
        next(read_semcor(tmp_path / "nowhere.tar.xz"))
    with pytest.raises(InputError, match="not a tar archive"):
        next(read_semcor(make("text", "semcor.tar")))
    archive = packed(tmp_path / "semcor.tar.xz", {"brown1/tagfiles/br-a01": DOCUMENT.encode()})
    archive.write_bytes(archive.read_bytes()[:200])
    with pytest.raises(InputError, match="ends too early"):
        next(read_semcor(archive))
    bad = make(DOCUMENT.encode().replace(b"relief</", b"reli\xe9f</"), "brown1/tagfiles/br-a01")
    with pytest.raises(InputError, match=r"br-a01:9: not UTF-8"):
        next(read_semcor(bad.parents[2]))


@pytest.mark.slow
def test_published_counts(data):
    """Sentences, words with marks, and senses of all three parts."""
    sentences = n_tokens = n_senses = 0
    labels = set()
    for sentence in read_semcor(data / "semcor" / "semcor3.0.tar.xz", ["brown1", "brown2", "brownv"]):
        senses = [token.supersense for token in sentence.tokens if token.supersense]
        sentences += 1
        n_tokens += len(sentence.tokens)
        n_senses += len(senses)
        labels.update(senses)
    assert (sentences, n_tokens, n_senses) == (11_182 + 8_956 + 17_038, 778_587, 234_136)
    assert labels == set(SUPERSENSES)
