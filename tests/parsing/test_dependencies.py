from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import Tree, read_conllu, write_conllu
from spinney.errors import InputError
from spinney.parsing.cleaning import read_treebank
from spinney.parsing.dependencies import to_dependencies
from spinney.parsing.headrules import COLLINS, HeadRules

# The heads of Yamada and Matsumoto (2003), as Penn2Malt has them: those of NLTK's dependency treebank.
PENN2MALT = """
NP right (POS NN NNP NNPS NNS) NX JJR CD JJ JJS RB QP NP
ADJP right NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP left RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
CONJP left CC RB IN
FRAG left
INTJ right
LST left LS :
NAC right (NN NNS NNP NNPS) NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
PP left IN TO VBG VBN RP FW
PRN right
PRT left RP
QP right $ IN NNS NN JJ RB DT CD NCD QP JJR JJS
RRC left VP NP ADVP ADJP PP
S right TO IN VP S SBAR ADJP UCP NP
SBAR right WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ right SQ S SINV SBARQ FRAG
SINV right VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ right VBZ VBD VBP VB MD VP SQ
UCP left
VP left VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP
WHADJP right CC WRB JJ ADJP
WHADVP left CC WRB
WHNP right WDT WP WP$ WHADJP WHPP WHNP
WHPP left IN TO FW
NX right (POS NN NNP NNPS NNS) NX JJR CD JJ JJS RB QP NP
X right
* right
"""


def relations(text: str) -> list[tuple[str, int, str]]:
    sentence = to_dependencies(Tree.parse(text))
    return list(zip(sentence.forms, sentence.heads, sentence.deprels))


def test_relations_without_function_tags():
    text = """(S (NP (DT the) (JJ old) (NN dog)) (VP (MD will) (VP (VB chase) (PRT (RP down))
              (NP (NP (NNS cats)) (CC and) (NP (NNS birds))) (PP (IN with) (NP (NN joy)))
              (SBAR (IN if) (S (NP (PRP they)) (VP (VBP run) (ADVP (RB very) (RB far))))))) (. .))"""
    assert relations(text) == [
        ("the", 3, "det"),
        ("old", 3, "nmod"),
        ("dog", 4, "sbj"),
        ("will", 0, "root"),
        ("chase", 4, "vc"),
        ("down", 5, "prt"),
        ("cats", 5, "obj"),
        ("and", 7, "cc"),
        ("birds", 7, "conj"),
        ("with", 5, "vmod"),
        ("joy", 10, "pmod"),
        ("if", 5, "vmod"),
        ("they", 14, "sbj"),
        ("run", 12, "sub"),
        ("very", 16, "amod"),
        ("far", 14, "vmod"),
        (".", 4, "punct"),
    ]


def test_function_tags():
    text = """( (S (S-NOM-SBJ (NP-SBJ (-NONE- *)) (VP (VBG walking))) (VP (VBZ is) (NP-PRD-1 (NN fun))
              (PP-LOC-TMP=2 (IN at) (NP (NN night))) (S-HLN (NP (-NONE- *))))))"""
    assert relations(text) == [
        ("walking", 2, "sbj"),
        ("is", 0, "root"),
        ("fun", 2, "prd"),
        ("at", 2, "loc"),
        ("night", 4, "pmod"),
    ]
    assert relations("(S-HLN (-LRB- -LRB-) (NP-TTL (NN tea)) (VP (VB be)))")[:2] == [
        ("-LRB-", 3, "punct"),
        ("tea", 3, "sbj"),
    ]


def test_no_words():
    with pytest.raises(InputError, match="without words"):
        to_dependencies(Tree.parse("(S (-NONE- *))"))


LABEL = st.sampled_from(["S", "NP", "NP-SBJ", "VP", "NN", "VB", "CC", ",", "PP", "SBAR", "-LRB-"])
TREE = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), LABEL, st.sampled_from("ab")),
    lambda inner: st.builds(Tree, LABEL, st.lists(inner, min_size=1, max_size=4)),
    max_leaves=15,
)


@given(TREE, st.sampled_from([COLLINS, HeadRules.leftmost(), HeadRules.rightmost()]))
@settings(deadline=None)
def test_phrases_are_subtrees(tree, rules):
    """One root; and in each phrase exactly one word depends on a word outside, so that the tree is projective."""
    heads = to_dependencies(tree, rules).heads
    assert heads.count(0) == 1
    for _, start, stop in tree.spans():
        outside = [i for i in range(start, stop) if not start < heads[i] <= stop]
        assert len(outside) == 1


@given(st.lists(TREE, max_size=3))
@settings(deadline=None, max_examples=30)
def test_what_is_written_can_be_read(tmp_path_factory, trees):
    path = tmp_path_factory.mktemp("dependencies") / "a.conllu"
    sentences = [to_dependencies(tree) for tree in trees]
    write_conllu(path, sentences)
    assert [sentence.heads for sentence in read_conllu(path)] == [sentence.heads for sentence in sentences]


def test_long_and_deep():
    tree = Tree("NN", word="a")
    for i in range(5_000):
        tree = Tree("NP", [Tree("NN", word="b"), tree] if i % 10 == 0 else [tree])
    assert to_dependencies(tree, HeadRules.rightmost()).heads == [501] * 500 + [0]


@pytest.mark.slow
def test_the_dependency_treebank(tmp_path: Path):
    """Another conversion of the same 94,084 words, with other heads: every single one comes out."""
    folder = os.environ.get("SPINNEY_DATA")
    if not folder:
        pytest.skip("SPINNEY_DATA is not set: no real corpora")
    for name in ("treebank", "dependency_treebank"):
        with zipfile.ZipFile(Path(folder) / "nltk" / f"{name}.zip") as archive:
            archive.extractall(tmp_path)
    (tmp_path / "rules.txt").write_text(PENN2MALT)
    rules = HeadRules.read(tmp_path / "rules.txt")
    trees = read_treebank(tmp_path / "treebank" / "combined", functions=True)
    ours = [
        [(form, tag, head) for form, tag, head in zip(sentence.forms, sentence.xpos, sentence.heads)]
        for sentence in (to_dependencies(tree, rules) for tree in trees)
    ]
    theirs = [
        [(form, tag, int(head)) for form, tag, head in (line.split("\t") for line in stanza.splitlines())]
        for file in sorted((tmp_path / "dependency_treebank").glob("*.dp"))
        for stanza in file.read_text().strip("\n").split("\n\n")
    ]
    assert ours == theirs
