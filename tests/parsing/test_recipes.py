"""What the commands do, in Python: recipes, models that load by kind, and what models give to others."""

import numpy as np
import pytest

import spinney
from spinney.cli.main import run
from spinney.corpus import Tree, write_conllu, write_trees
from spinney.errors import SettingError
from spinney.parsing import HeadAutomata, Parser, fit, to_dependencies
from spinney.parsing.binarising import Binarisation
from spinney.parsing.methods import TrainingTrees, learn
from spinney.settings.parse import Product
from spinney.views import as_json

TREES = [
    Tree.parse(text)
    for text in (
        "(S (NP-SBJ (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .))",
        "(S (NP-SBJ (NNS dogs)) (VP (VBP bark) (ADVP (RB here))) (. .))",
        "(S (NP-SBJ (NP (DT the) (NN dog)) (PP (IN in) (NP (NNS parks)))) (VP (VBD saw) (NP (NNS cats))) (. .))",
    )
] * 4


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bank")
    write_trees(folder / "train.mrg", TREES)
    write_conllu(folder / "train.conllu", [to_dependencies(tree) for tree in TREES])
    return folder


def test_files_and_trees_in_memory_give_the_same(bank):
    how = {"method": "clustering", "states": 2, "rare": 0}
    filed, given = fit(str(bank / "train.mrg"), **how), fit(TREES, **how)
    assert filed.facts["train"] == [str(bank / "train.mrg")]
    assert given.facts["train"] is None
    np.testing.assert_array_equal(filed.grammars_[0].binary, given.grammars_[0].binary)
    assert "NP-SBJ" not in given.rules_.labels  # trees are cleaned, wherever they come from


@pytest.mark.parametrize("method", ["em", "spectral+em", "automata", "automata-bigram"])
def test_a_model_is_made_again_from_its_configuration(bank, tmp_path, method):
    file, path = bank / ("train.conllu" if "automata" in method else "train.mrg"), tmp_path / "m.spinney"
    how = {"column": "xpos"} if "automata" in method else {"states": 2, "max_iter": 3, "rare": 0}
    fit(str(file), method=method, seed=3, **how).save(path)
    model = spinney.load(path)
    assert isinstance(model, HeadAutomata if "automata" in method else Parser)
    (tmp_path / "c.toml").write_text(model.config())
    command = [
        "parse",
        "fit",
        "--config",
        str(tmp_path / "c.toml"),
        "--model",
        str(tmp_path / "again"),
        "--quiet",
    ]
    assert run(command) == 0
    again = spinney.load(tmp_path / "again")
    assert again.settings == model.settings
    for name, tensor in model.contents().tensors.items():
        np.testing.assert_array_equal(tensor, again.contents().tensors[name])


def test_models_do_what_the_verbs_do(bank):
    parser = fit(TREES, method="pcfg", rare=0, dev=TREES[:3])
    assert parser.facts["dev_f1"] == 1.0
    assert as_json(parser.evaluate(TREES))["f1"] == as_json(parser.evaluate(bank / "train.mrg"))["f1"] == 1.0
    [parsed] = parser.apply([["the", "dog", "saw", "cats", "."]])
    assert str(parsed.found).startswith("(S (NP (DT the) (NN dog))")
    assert parser.decoder == "max-rule"
    assert as_json(parser.views(label="NP"))["described"][0]["phrase"] == "NP"
    assert "Labels in words" in parser._repr_html_() or "NP" in parser._repr_html_()
    automata = fit([to_dependencies(tree) for tree in TREES], method="automata", column="xpos")
    [found] = automata.apply([to_dependencies(TREES[0])])
    assert found.found.heads == to_dependencies(TREES[0]).heads


def test_what_a_parser_gives_to_others():
    given = fit(TREES, method="pcfg", rare=0).structures()
    [tree] = given["constituents"]([["the", "dog", "saw", "cats", "."]])
    assert tree.label == "S"
    assert set(given) == {"parser", "constituents"}


def test_a_product_knows_the_settings_of_its_parts():
    settings = Parser("spectral+clustering", polish=2).settings
    assert isinstance(settings, Product)
    assert settings.polish == 2


def test_held_out_trees_choose_the_strengths_of_moments_that_are_left_open(bank):
    dev = str(bank / "train.mrg")
    how = {"method": "spectral", "states": 2, "rare": 0}
    free = fit(TREES, dev=(dev,), **how)
    assert set(free.facts["chosen"]) == {"rule_smoothing", "word_smoothing", "cutoff"}
    trials = free.facts["learning"][0]["trace"]
    assert len(trials) == 7  # three values each, the first of all counted once
    chosen = {**free.facts["chosen"], "score": max(one["score"] for one in trials)}
    assert chosen in trials
    assert "chosen on held-out trees" in free.summary()[0].shown()
    bound = fit(TREES, dev=(dev,), rule_smoothing=5.0, cutoff=0.01, **how)
    assert list(bound.facts["chosen"]) == ["word_smoothing"]
    again = fit(TREES, **how, **free.facts["chosen"])  # the same grammar without held-out trees
    assert again.facts["chosen"] is None
    np.testing.assert_array_equal(again.grammars_[0].lexical, free.grammars_[0].lexical)


def test_held_out_trees_choose_the_number_of_states_of_each_label(bank, monkeypatch):
    monkeypatch.setattr("spinney.parsing.methods._LABELS", 2)
    held_out, how = (str(bank / "train.mrg"),), {"method": "spectral", "rare": 0}
    strengths = {"rule_smoothing": 10.0, "word_smoothing": 2.0, "cutoff": 1e-6}
    parser = fit(TREES, dev=held_out, states="auto", **how, **strengths)
    chosen, trials = parser.facts["chosen"], parser.facts["learning"][0]["trace"]
    assert set(chosen) <= {"states", "states of NP", "states of NN"}
    assert len(trials) == 3 + 2 * 2  # all labels, then two of them twice as many or half as many
    assert parser.facts["dev_f1"] == max(trial["score"] for trial in trials)
    n_states = dict(zip(parser.rules_.labels, parser.grammars_[0].layout.n_states.tolist()))
    for label, n in n_states.items():
        assert n <= chosen.get(f"states of {label}", chosen["states"])
    with pytest.raises(SettingError, match="states auto chooses on held-out trees"):
        fit(TREES, states="auto", **how)
    with pytest.raises(SettingError, match="states"):
        fit(TREES, dev=held_out, states="auto", method="clustering")


def test_each_label_has_the_number_of_states_that_a_judge_prefers():
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 40, (600, 3)).tolist()
    trees = [Tree.parse(f"(S (P{p} (N w{n}) (V w{v})))") for p, n, v in drawn]
    training = TrainingTrees.of(trees, Binarisation(), rare=0)
    noun, verb = map(training.rules.labels.index, "NV")

    def judge(grammar):
        return -abs(int(grammar.layout.n_states[noun]) - 32) - abs(int(grammar.layout.n_states[verb]) - 8)

    settings = Parser("spectral", states="auto", rule_smoothing=1.0, word_smoothing=1.0).settings
    grammar, facts = learn(training, "spectral", settings, judge=judge)
    assert grammar.layout.n_states[[noun, verb]].tolist() == [32, 8]
    assert facts["chosen"] == {"states": 16.0, "cutoff": 1e-6, "states of N": 32.0, "states of V": 8.0}


def test_em_after_moments(bank):
    how = {"method": "spectral", "states": 2, "rare": 0}
    moments, polished = fit(TREES, **how), fit(TREES, polish=3, **how)
    assert moments.grammars_[0].signed
    assert not polished.grammars_[0].signed
    assert polished.facts["learning"][0]["iterations"] == 3
    judged = fit(TREES, dev=(str(bank / "train.mrg"),), polish=5, **how)
    steps = [row["f1"] for row in judged.facts["learning"][0]["trace"] if "step" in row]
    assert len(steps) == 2  # the moments themselves, and EM
    assert judged.facts["dev_f1"] == max(steps)
    assert judged.grammars_[0].signed == (steps[0] >= steps[1])


def test_held_out_trees_choose_the_shrinkage_of_head_automata(bank):
    file = str(bank / "train.conllu")
    how = {"method": "automata", "column": "xpos", "states": 2}
    free = fit(file, dev=(file,), **how)
    assert set(free.facts["chosen"]) == {"shrinkage", "cutoff"}
    assert free.facts["dev_uas"] == max(one["score"] for one in free.facts["trials"])
    assert "chosen on held-out trees" in free.summary()[0].shown()
    assert "chosen" not in fit(file, **how).facts
    assert "chosen" not in fit(file, dev=(file,), shrinkage=10.0, cutoff=0.05, **how).facts


def test_held_out_trees_may_prefer_clusters_without_em(bank):
    parser = fit(TREES, dev=(str(bank / "train.mrg"),), method="clustering", states=2, rare=0)
    (learning,) = parser.facts["learning"]
    assert [row["step"] for row in learning["trace"]] == [0, 5]
    best = max(row["f1"] for row in learning["trace"])
    assert parser.facts["dev_f1"] == best
    assert learning["iterations"] == next(row["step"] for row in learning["trace"] if row["f1"] == best)
    alone = fit(TREES, method="clustering", states=2, rare=0)  # too few trees for EM
    assert "iterations" not in alone.facts["learning"][0]
    assert fit(TREES, method="clustering", states=2, rare=0, polish=2).facts["learning"][0]["iterations"] == 2
