"""The rules and arcs of trees add up to the probabilities that the parsers themselves compute."""

import numpy as np
import pytest

from spinney.corpus.brackets import Tree
from spinney.corpus.conllu import Sentence
from spinney.parsing import HeadAutomata, Parser
from spinney.parsing.em import tree_log_probabilities
from spinney.parsing.explaining import arc_uses, explaining_grammar, rule_uses
from spinney.parsing.treearrays import TreeArrays
from spinney.views import as_json

TREES = [
    Tree.parse(text)
    for text in (
        "(S (NP (DT the) (NN dog)) (VP (VB barks)))",
        "(S (NP (DT a) (NN cat)) (VP (VB sees) (NP (DT the) (NN dog))))",
        "(S (NP (NN dogs)) (VP (VB bark)))",
        "(S (NP (DT the) (NN cat)) (VP (VB gives) (NP (NN dogs)) (NP (DT a) (NN fish))))",
    )
]


@pytest.mark.parametrize("how", [{"method": "pcfg"}, {"method": "em", "states": 2, "max_iter": 3}])
def test_rules_add_up_to_the_probability_of_the_tree(how):
    parser = Parser(**how).fit(TREES)
    grammar = explaining_grammar(parser)
    assert grammar is parser.grammars_[0]
    for tree in TREES:
        arrays = TreeArrays.of([parser.binarisation.binarise(tree)], grammar.rules.labels)
        uses = rule_uses(parser, tree)
        total = sum(use.logp for use in uses)
        assert np.isfinite(total)
        assert total == pytest.approx(tree_log_probabilities(arrays, grammar)[0])
        assert len(uses) == len(arrays.label) + 1
    found = as_json(parser.explain([["the", "cat", "barks"]]))["explained"]
    assert found[0]["log_probability"] == pytest.approx(sum(use["logp"] for use in found[0]["rules"]))


def test_a_rule_that_the_grammar_lacks_is_impossible():
    parser = Parser("pcfg").fit(TREES)
    assert sum(use.logp for use in rule_uses(parser, Tree.parse("(S (VB bark) (NN dogs))"))) == -np.inf


@pytest.mark.parametrize("method", ["spectral", "em"])
def test_arcs_add_up_to_the_probability_of_the_tree(method):
    made = [
        Sentence(["the", "dog", "barks"], upos=["DET", "NOUN", "VERB"], heads=[2, 3, 0]),
        Sentence(["a", "cat", "sees", "dogs"], upos=["DET", "NOUN", "VERB", "NOUN"], heads=[2, 3, 0, 3]),
        Sentence(["dogs", "bark"], upos=["NOUN", "VERB"], heads=[2, 0]),
    ] * 4
    more = {"max_iter": 3} if method == "em" else {}
    model = HeadAutomata(method, column="upos", **more).fit(made)
    for one in [
        *made[:3],
        Sentence(["x"] * 5, upos=["DET", "NOUN", "VERB", "DET", "NOUN"], heads=[2, 3, 0, 5, 3]),
    ]:
        logs, ends = arc_uses(model, one.upos, one.heads)
        assert sum(logs) + ends == pytest.approx(model.log_probability(one).log_magnitude)
    found = as_json(model.explain(made[:1]))["explained"][0]
    assert [arc["head"] for arc in found["arcs"]] == model.predict(made[:1])[0].tolist()
