from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, OptionError
from spinney.evaluate.conll18 import METRICS, Score, conll18
from spinney.evaluate.significance import f1_of_counts, paired_bootstrap


def mwt(first: int, last: int, form: str) -> tuple[int, str]:
    return first - 1, f"{first}-{last}\t{form}" + "\t_" * 8


GOLD = Sentence(
    ["The", "old", "dog", "has", "barked", "."],
    lemmas=["the", "old", "dog", "have", "bark", "."],
    upos=["DET", "ADJ", "NOUN", "AUX", "VERB", "PUNCT"],
    xpos=["d", "a", "n", "v", "v", "p"],
    feats=["Definite=Def", "_", "Number=Sing|Typo=Yes", "_", "VerbForm=Part", "_"],
    heads=[3, 3, 5, 5, 0, 5],
    deprels=["det", "amod", "nsubj:pass", "aux", "root", "punct"],
)


def changed(**columns: dict[int, object]) -> Sentence:
    """The sentence with other values at some words, counted from 1."""
    values = {
        name: [columns.get(name, {}).get(i, value) for i, value in enumerate(getattr(GOLD, name), start=1)]
        for name in ("forms", "lemmas", "upos", "xpos", "feats", "heads", "deprels")
    }
    return Sentence(**values)


def correct(system: Sentence) -> dict[str, int]:
    scores = conll18([GOLD], [system])
    return {metric: scores[metric].correct for metric in METRICS}


ALL = dict.fromkeys(METRICS, 6) | {"Sentences": 1} | dict.fromkeys(["CLAS", "MLAS", "BLEX"], 3)


def test_all_right():
    scores = conll18([GOLD, GOLD], [GOLD, GOLD])
    assert {metric: scores[metric].correct for metric in METRICS} == {m: 2 * n for m, n in ALL.items()}
    assert all(scores[m].precision == scores[m].recall == scores[m].f1 == 1 for m in METRICS)
    assert scores["LAS"].accuracy == 1
    assert scores["Words"].accuracy is None


@pytest.mark.parametrize(
    ("columns", "lost"),
    [
        # The verb's tag: its own line of MLAS. The noun's children are as they were.
        ({"upos": {5: "NOUN"}}, {"UPOS": 1, "AllTags": 1, "MLAS": 1}),
        # The article is a function word: the noun above it is wrong in MLAS, and nothing in CLAS.
        ({"upos": {1: "PRON"}}, {"UPOS": 1, "AllTags": 1, "MLAS": 1}),
        ({"xpos": {1: "x"}}, {"XPOS": 1, "AllTags": 1}),
        ({"feats": {3: "Number=Plur"}}, {"UFeats": 1, "AllTags": 1, "MLAS": 1}),
        # Typo and Foo are no universal features.
        ({"feats": {3: "Foo=Bar|Number=Sing"}}, {}),
        ({"lemmas": {3: "dogs"}}, {"Lemmas": 1, "BLEX": 1}),
        ({"lemmas": {1: "a"}}, {"Lemmas": 1}),
        # What stands after the colon does not count.
        ({"deprels": {3: "nsubj"}}, {}),
        ({"deprels": {3: "obj"}}, {"LAS": 1, "CLAS": 1, "MLAS": 1, "BLEX": 1}),
        ({"heads": {2: 5}}, {"UAS": 1, "LAS": 1, "CLAS": 1, "MLAS": 1, "BLEX": 1}),
        # The auxiliary on the noun: the noun has one function word too many, the verb one too few.
        ({"heads": {4: 3}}, {"UAS": 1, "LAS": 1, "MLAS": 2}),
        ({"deprels": {4: "cop"}}, {"LAS": 1, "MLAS": 1}),
        ({"heads": {6: 3}}, {"UAS": 1, "LAS": 1}),
    ],
)
def test_each_annotation_by_hand(columns, lost):
    assert correct(changed(**columns)) == {metric: n - lost.get(metric, 0) for metric, n in ALL.items()}


def test_content_words_of_the_system_are_its_own():
    scores = conll18([GOLD], [changed(deprels={1: "amod", 3: "case"})])
    # The treebank's are old, dog, barked; the system's The, old, barked. Aligned are those of the treebank.
    assert scores["CLAS"] == Score(2, 3, 3, 3)
    assert scores["CLAS"].accuracy == 2 / 3


def test_a_lemma_that_the_treebank_does_not_give_is_right():
    bare = changed(lemmas={3: "_"})
    assert conll18([bare], [GOLD])["Lemmas"].correct == 6
    assert conll18([GOLD], [bare])["Lemmas"].correct == 5


def test_no_annotation_is_like_a_column_of_underscores():
    bare = Sentence(["a", "b"])
    scores = conll18([bare], [bare])
    assert {m for m in METRICS if scores[m].f1 == 1} == set(METRICS[:8])
    assert scores["UAS"] == Score(0, 2, 2, 2)  # without a tree no head is right


def test_sentences_joined():
    a = Sentence(["a", "b"], heads=[0, 1], deprels=["root", "obj"])
    joined = Sentence(["a", "b", "a", "b"], heads=[0, 1, 1, 3], deprels=["root", "obj", "conj", "obj"])
    scores = conll18([a, a], [joined])
    assert scores["Sentences"] == Score(0, 2, 1, None)
    assert scores["Tokens"].f1 == 1
    assert scores["LAS"] == Score(3, 4, 4, 4)
    # By sentence of the treebank: the system's sentence belongs to the first.
    assert scores.counts[:, METRICS.index("Sentences"), :3].tolist() == [[0, 1, 1], [0, 1, 0]]
    assert scores.items_of("LAS").tolist() == [[2, 0, 0], [1, 1, 1]]


def test_tokens_split_and_joined():
    gold = Sentence(["can", "not", "go."], heads=[3, 3, 0], deprels=["aux", "advmod", "root"])
    system = Sentence(["cannot", "go", "."], heads=[2, 0, 2], deprels=["aux", "root", "punct"])
    scores = conll18([gold], [system])
    assert scores["Tokens"] == scores["Words"] == Score(0, 3, 3, None)
    system = Sentence(
        ["can", "not", "go", "."], heads=[3, 3, 0, 3], deprels=["aux", "advmod", "root", "punct"]
    )
    scores = conll18([gold], [system])
    assert scores["Words"] == Score(2, 3, 4, None)
    assert scores["Words"].precision == 2 / 4
    assert scores["Words"].recall == 2 / 3
    assert scores["UAS"] == Score(0, 3, 4, 2)  # their head is not aligned
    assert scores["UPOS"] == Score(2, 3, 4, 2)


def test_multiword_tokens():
    gold = Sentence(
        ["vámo", "nos", "a", "el", "mar"], upos=list("VPADN"), extras=[mwt(1, 2, "vámonos"), mwt(3, 4, "al")]
    )
    # Not split, split with other forms, and split well.
    system = Sentence(["vámonos", "a", "el", "mar"], upos=list("VADN"), extras=[mwt(2, 3, "al")])
    scores = conll18([gold], [system])
    assert scores["Tokens"] == Score(3, 3, 3, None)
    assert scores["Words"] == Score(3, 5, 4, None)
    system = Sentence(["vamos", "NOS", "al", "mar"], upos=list("VPXN"), extras=[mwt(1, 2, "vámonos")])
    scores = conll18([gold], [system])
    assert scores["Words"] == Score(2, 5, 4, None)  # nos, by its form in lower case, and mar
    assert scores["UPOS"] == Score(2, 5, 4, 2)


def test_multiword_tokens_that_cross_tokens():
    gold = Sentence(["a", "b", "cd"], extras=[mwt(1, 2, "ab")])
    system = Sentence(["a", "bc", "d"])
    scores = conll18([gold], [system])
    assert scores["Tokens"].correct == 0
    assert scores["Words"] == Score(1, 3, 3, None)  # a, which lies inside ab
    longer = Sentence(["a", "b", "cd"], extras=[mwt(2, 3, "bcd")])
    assert conll18([gold], [longer])["Words"] == Score(3, 3, 3, None)  # abcd is one stretch


def test_spaces_in_tokens_do_not_count():
    one, other = Sentence(["10 000", "a"]), Sentence(["10\u00a0000", "a"])
    assert conll18([one], [other])["Words"].f1 == 1


def test_empty_nodes_do_not_count():
    gold = Sentence(["a", "b"], extras=[(1, "1.1\tx" + "\t_" * 8)])
    assert conll18([gold], [Sentence(["a", "b"])])["Words"].f1 == 1


def test_errors():
    with pytest.raises(
        InputError, match=r"from character 4 on .* sentence 2 of the treebank: 'd' there, 'x' in"
    ):
        conll18([Sentence(["ab"]), Sentence(["c", "d"])], [Sentence(["abcx"])])
    with pytest.raises(InputError, match="'nothing' there"):
        conll18([Sentence(["ab"])], [Sentence(["ab", "c"])])
    with pytest.raises(InputError, match="sentence 1 of the system has a token without characters"):
        conll18([Sentence(["a"])], [Sentence(["a", "\u00a0"])])
    with pytest.raises(InputError, match="overlaps another"):
        conll18([Sentence(["a"])], [Sentence(["a", "b", "c"], extras=[mwt(1, 2, "a"), mwt(2, 3, "b")])])
    with pytest.raises(InputError, match="has a head that is not one of its words"):
        conll18([Sentence(["a"])], [Sentence(["a"], heads=[2])])
    with pytest.raises(OptionError, match="did you mean LAS"):
        conll18([GOLD], [GOLD])["Las"]


def test_nothing_at_all():
    scores = conll18([], [])
    assert all(scores[metric].f1 == 0 for metric in METRICS)
    assert scores.as_dict()["LAS"] == {"precision": 0, "recall": 0, "f1": 0, "accuracy": 0}


def test_bootstrap_takes_the_counts():
    wrong = changed(heads={1: 2})
    one, other = conll18([GOLD] * 4, [wrong] * 4), conll18([GOLD] * 4, [GOLD] * 4)
    result = paired_bootstrap(one.items_of("UAS"), other.items_of("UAS"), f1_of_counts, resamples=50)
    assert (result.baseline, result.system) == (5 / 6, 1)


# ----------------------------------------------------------------------------- any two ways to split the same text


@st.composite
def splits(draw: st.DrawFn, text: str) -> list[Sentence]:
    """Sentences of the text: any tokens, some of several words, with any tree."""
    sentences: list[Sentence] = []
    at = 0
    while at < len(text):
        forms: list[str] = []
        extras = []
        for _ in range(draw(st.integers(1, 5))):
            token = text[at : at + draw(st.integers(1, 3))]
            if not token:
                break
            at += len(token)
            n = draw(st.sampled_from([0, 0, 1, 2, 3]))
            if n:
                extras.append(mwt(len(forms) + 1, len(forms) + n, token))
            forms += [draw(st.sampled_from([token, token[0], token.upper(), "b"])) for _ in range(n)] or [
                token
            ]
        n = len(forms)
        order = draw(st.permutations(range(1, n + 1)))
        heads = [0] * n
        for i in range(1, n):
            heads[order[i] - 1] = order[draw(st.integers(0, i - 1))]
        columns = {
            name: [draw(st.sampled_from(values)) for _ in forms]
            for name, values in {
                "lemmas": ["_", "a", "b"],
                "upos": ["N", "V"],
                "xpos": ["n", "v"],
                "feats": ["_", "Case=Nom|Foo=1", "Case=Nom", "Number=Sing|Case=Nom", "Case=Nom|Number=Sing"],
                "deprels": ["nsubj", "nmod:poss", "case", "aux:pass", "punct", "mark"],
            }.items()
        }
        sentences.append(Sentence(forms, heads=heads, extras=extras, **columns))
    return sentences


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_text(data):
    text = data.draw(st.text("abB", min_size=1, max_size=20))
    gold, system = data.draw(splits(text)), data.draw(splits(text))
    same = conll18(gold, gold)
    content = same["CLAS"].gold
    assert all(same[metric].f1 == (content > 0 if metric in METRICS[-3:] else 1) for metric in METRICS)
    scores, back = conll18(gold, system), conll18(system, gold)
    for metric in METRICS:
        score = scores[metric]
        assert 0 <= score.correct <= min(score.gold, score.system)
        assert score.aligned is None or score.correct <= score.aligned <= scores["Words"].correct
        assert (score.gold, score.system) == (back[metric].system, back[metric].gold)
    assert (
        scores["Tokens"].correct == back["Tokens"].correct
    )  # the task's alignment of words is not symmetric
    assert np.all(scores.counts >= 0)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_against_the_official_script(data):
    """Some releases of Stanza have the task's own script (Apache licence); it is called where it is installed."""
    official = pytest.importorskip("stanza.utils.conll18_ud_eval")
    text = data.draw(st.text("abB", min_size=1, max_size=30))
    sides = data.draw(splits(text)), data.draw(splits(text))
    theirs = official.evaluate(
        *(
            official.load_conllu(io.StringIO("".join(f"{sentence}\n\n" for sentence in side)))
            for side in sides
        )
    )
    ours = conll18(*sides)
    for metric in METRICS:
        due = theirs[metric]
        aligned = None if metric in METRICS[:3] else due.aligned_total
        assert ours[metric] == Score(due.correct, due.gold_total, due.system_total, aligned)
