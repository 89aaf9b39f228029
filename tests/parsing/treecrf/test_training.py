"""Training of tree CRFs: all solvers find one optimum, penalties do what they say, and interrupts lose nothing."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from made_up_treebank import treebank
from tree_crfs import problem

from spinney.corpus.conllu import Sentence
from spinney.errors import InputError, OptionError, SettingError
from spinney.optim import L2, ElasticNet, solve
from spinney.optim.solve import ConvergenceWarning, EmptyModelWarning
from spinney.parsing.treecrf import TreeParser, training
from spinney.parsing.treecrf.parser import compact
from spinney.parsing.treecrf.problem import Problem, strengths
from spinney.parsing.treecrf.training import adagrad, passive_aggressive
from spinney.settings.parse import TreeCrf
from spinney.structure import WordClasses

BANK, NEW = treebank(40, 1), treebank(30, 7)


# -------------------------------------------------------------------------------------------- solvers


@pytest.mark.parametrize(("l1", "l2"), [(0.3, 0.5), (0.0, 2.0)])
@pytest.mark.parametrize("projective", [True, False])
def test_adagrad_comes_to_the_optimum(projective, l1, l2, monkeypatch):
    """Its distance from what exact solvers find is inverse to the number of passes: where that leads is the optimum."""
    monkeypatch.setattr(training, "STEP", 3.0)
    loss, *_ = problem(BANK[:12], projective=projective, second=projective)
    penalty = ElasticNet(l1, l2)
    exact = solve(loss, penalty, "owlqn", tol=1e-7, max_iter=2000)
    other = solve(loss, penalty, "fista", tol=1e-7, max_iter=5000)
    assert exact.converged
    assert other.objective == pytest.approx(exact.objective, rel=1e-6)
    assert exact.violation < 1e-2

    def objective(passes):
        w = adagrad(loss, l1=l1, l2=l2, passes=passes)
        return loss.value_and_grad(w)[0] + penalty.value(w)

    far, near = objective(100), objective(200)
    assert exact.objective < near < far < 1.0005 * exact.objective
    assert (far - exact.objective) / (near - exact.objective) == pytest.approx(2, rel=0.2)
    assert 2 * near - far == pytest.approx(exact.objective, rel=5e-5)


def test_adagrad_then_an_exact_solver_is_as_exact_as_that():
    loss, *_ = problem(BANK[:12])
    ridge = L2(2.0)
    first = adagrad(loss, l1=0.0, l2=2.0, passes=5)
    found = solve(loss, ridge, "lbfgs", tol=1e-8, max_iter=2000, w0=first)
    plain = solve(loss, ridge, "lbfgs", tol=1e-8, max_iter=2000)
    assert found.n_iter < plain.n_iter
    assert found.objective == pytest.approx(plain.objective, rel=1e-8)


@pytest.mark.parametrize(
    ("how", "solver"),
    [({}, "owlqn"), ({"penalty": "l2"}, "lbfgs"), ({"penalty": "l2", "solver": "lbfgs"}, "lbfgs"),
     ({"solver": "fista"}, "fista"), ({"solver": "owlqn", "order": 1, "trees": "all"}, "owlqn")],
)  # fmt: skip
def test_solvers_reach_one_objective_and_prove_it(how, solver):
    found = TreeParser.train(BANK[:15], tol=1e-4, max_iter=2000, lam=1.0, threads=1, **how).facts
    assert found["solver"] == solver
    assert found["converged"]
    assert found["gap"] <= 1e-4
    other = {"penalty": "l2"} if "penalty" in how else {}
    other |= {name: how[name] for name in ("order", "trees") if name in how}
    again = TreeParser.train(
        BANK[:15], tol=1e-4, max_iter=5000, lam=1.0, threads=1, **other, solver="fista"
    ).facts
    assert found["objective"] == pytest.approx(again["objective"], rel=2e-4)


def test_passes_that_suffice_are_not_followed_by_a_solver():
    parser = TreeParser.train(BANK[:15], passes=200, tol=0.05)
    assert (parser.facts["solver"], parser.facts["converged"]) == ("adagrad", True)


def test_few_weights_that_come_back_to_zero_on_their_way(monkeypatch):
    """All places are taken when more were noted than there are weights: none keeps an old gradient."""
    monkeypatch.setattr(training, "STEP", 3.0)
    text = "prune: m.upos\narc: direction\nlabel: direction\nsibling: gap"
    loss, *_ = problem(BANK[:10], text=text)
    assert loss.n_params < 40
    touched = np.arange(loss.n_params)
    assert training._noted(touched, 3).tolist() == [0, 1, 2]
    assert training._noted(touched, len(touched)).tolist() == touched.tolist()
    penalty = ElasticNet(0.1, 0.5)
    exact = solve(loss, penalty, "owlqn", tol=1e-6, max_iter=300)
    w = adagrad(loss, l1=0.1, l2=0.5, passes=60)
    assert loss.value_and_grad(w)[0] + penalty.value(w) == pytest.approx(exact.objective, rel=1e-3)


def _hinge(loss, w):
    g, touched = np.zeros(loss.n_params), np.empty(loss.n_params, np.int64)
    total, gradient = 0.0, np.zeros(loss.n_params)
    for sentence in range(loss.n):
        value, _ = training._violation(loss, w, sentence, g, touched)
        total += value
        gradient += g
        g[:] = 0.0
    return total, gradient


@pytest.mark.parametrize("projective", [True, False])
def test_the_hinge_loss_and_its_subgradient(projective):
    """It is 0 or more, convex, and falls along its subgradient as that says."""
    loss, *_ = problem(BANK[:8], projective=projective, second=projective)
    rng = np.random.default_rng(0)
    w = rng.normal(scale=0.2, size=loss.n_params)
    value, gradient = _hinge(loss, w)
    assert value > 0.0
    direction = rng.normal(size=len(w))
    ahead, behind = (_hinge(loss, w + sign * 1e-6 * direction)[0] for sign in (1, -1))
    assert float(gradient @ direction) == pytest.approx((ahead - behind) / 2e-6, rel=1e-4)
    for _ in range(20):
        other = rng.normal(size=len(w))
        assert _hinge(loss, other)[0] >= value + gradient @ (other - w) - 1e-9


@pytest.mark.parametrize("how", [{}, {"order": 1}, {"order": 1, "trees": "all"}])
def test_passive_aggressive_steps_learn_a_treebank_by_heart(how):
    bank = (
        BANK if not how else [one for one in BANK if "ADP" not in one.upos]
    )  # which need the word before the article
    parser = TreeParser.train(bank, solver="pa", passes=40, threads=1, **how)
    found = parser.parse(bank, decoding="best")
    assert [one.heads for one in found] == [one.heads for one in bank]
    assert [one.deprels for one in found] == [one.deprels for one in bank]
    assert parser.facts["penalty"] == "no penalty"
    assert parser.facts["gap"] is None


def test_passive_aggressive_hinge_falls():
    loss = Problem.of(BANK, TreeCrf(threads=1)).loss
    told = []
    passive_aggressive(loss, 10, after_pass=lambda number, w, mean: told.append((number, mean)))
    assert [number for number, _ in told] == list(range(1, 11))
    assert told[-1][1] < 0.3 * told[0][1]


def test_a_pass_may_end_the_training():
    loss, *_ = problem(BANK[:10])
    for run in (
        lambda after: adagrad(loss, passes=9, after_pass=after),
        lambda after: passive_aggressive(loss, 9, 0, after),
    ):
        told = []
        run(lambda number, w, mean: told.append(number) or number == 3)  # noqa: B023
        assert told == [1, 2, 3]


# ------------------------------------------------------------------------------------------- penalties


def test_penalties_leave_as_many_weights_as_they_say():
    active = {}
    for name in ("l1", "l2", "elasticnet", "none", "group:template"):
        how = {} if name == "none" else {"lam": 2.0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            parser = TreeParser.train(BANK[:20], penalty=name, threads=1, **how)
        active[name] = parser.facts["active"]
        assert parser.score(BANK[:20]) > 0.9, name
        assert parser.facts["active"] == len(parser.w) == np.count_nonzero(parser.w)
    assert active["l1"] < active["elasticnet"] * 2
    assert max(active["l1"], active["elasticnet"]) < min(active["l2"], active["none"]) / 3


def test_groups_are_templates():
    """A template is kept or dropped as a whole."""
    s = TreeCrf(penalty="group:template", lam=12.0, max_iter=3000, tol=1e-4, threads=1)
    stated = Problem.of(BANK, s)
    groups = stated.penalty(12.0)
    assert "groups, λ = 12" in groups.describe()
    parser, solution = TreeParser._solved(stated, 12.0)
    known, sizes = stated.known, stated.known.sizes
    arcs, relations, siblings = np.split(solution.w, [sizes.arcs, sizes.arcs + sizes.relations])
    width = np.diff(known.relations.row)
    dropped = 0
    for kind, w, of in (
        ("arc", arcs, known.templates["arc"]),
        ("label", relations, np.repeat(known.templates["label"], width)),
        ("sibling", siblings, known.templates["sibling"]),
    ):
        for number in np.unique(of):
            own = w[of == number]
            assert np.all(own == 0.0) or np.mean(own != 0.0) > 0.5, (kind, number)
            dropped += bool(np.all(own == 0.0))
    assert dropped > 20
    assert 0 < parser.facts["active"] < loss_size(stated)


def loss_size(stated):
    return stated.loss.n_params


def test_a_strength_that_leaves_nothing_is_said():
    with pytest.warns(EmptyModelWarning, match="lower lam"):
        parser = TreeParser.train(BANK[:5], lam=1e4)
    assert parser.facts["active"] == 0
    assert all(one.heads for one in parser.parse(NEW[:3]))  # and still gives trees


def test_a_solver_that_stops_early_is_said():
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        TreeParser.train(BANK, penalty="l1", solver="owlqn", max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TreeParser.train(BANK, solver="adagrad")  # a number of passes, as asked


def test_strengths():
    s = TreeCrf()
    assert strengths(s, None) == (0.5,)
    assert strengths(s, BANK) == (0.25, 0.5, 1.0)
    assert strengths(s.replace(lam=7.0), BANK) == (7.0,)
    assert strengths(s.replace(penalty="none"), BANK) == (0.0,)
    assert strengths(s.replace(solver="pa"), BANK) == (0.0,)
    assert strengths(s.replace(penalty="group:template"), BANK) == (1 / 3, 1.0, 3.0)


def test_the_strength_is_chosen_on_held_out_trees():
    parser = TreeParser.train(BANK, dev=NEW, solver="adagrad")
    tried = parser.facts["tried"]
    assert [row["lam"] for row in tried] == [0.25, 0.5, 1.0]
    best = max(tried, key=lambda row: row["las"])
    assert parser.score(NEW) == best["las"]
    assert f"λ = {best['lam']:g}," in parser.facts["penalty"]


def test_weights_that_are_zero_are_left_out():
    s = TreeCrf(solver="adagrad", threads=1)
    stated = Problem.of(BANK, s)
    w = np.random.default_rng(0).normal(size=stated.loss.n_params)
    w[np.random.default_rng(1).random(len(w)) < 0.6] = 0.0
    known, left = compact(stated.known, w)
    assert len(left) == np.count_nonzero(w) == known.sizes.total
    assert np.all(np.diff(known.relations.row) > 0)
    whole = TreeParser(stated.text, stated.relations, stated.known, w, stated.pruner)
    small = TreeParser(stated.text, stated.relations, known, left, stated.pruner)
    for one, two in zip(whole.probable(NEW), small.probable(NEW)):
        assert one[0] == two[0]
        np.testing.assert_allclose(one[1:], two[1:], rtol=1e-12)


# ----------------------------------------------------------------------------------------- what is learned


def test_second_order_and_all_trees():
    crossing = treebank(60, 2, crossing=True)
    two = TreeParser.train(crossing)
    assert two.facts["order"] == 2
    assert two.facts["nonprojective"] > 5
    every = TreeParser.train(crossing, order=1, trees="all")
    assert (every.facts["order"], every.facts["nonprojective"]) == (1, 0)
    new = treebank(30, 8, crossing=True)
    assert every.score(new) > two.score(new)
    found = [one for one, gold in zip(every.parse(new), new) if "alone" in gold.forms]
    assert all(one.heads[one.forms.index("alone")] < one.heads.index(0) + 1 for one in found)


def test_word_classes_help_with_unknown_words():
    """Words that were never seen are of known classes, by which alone prepositions are told apart."""

    def tagged(one):
        return replace(one, upos=["X"] * len(one), xpos=[], feats=[], lemmas=[])

    train, new = [tagged(one) for one in BANK], [tagged(one) for one in NEW]
    new = [replace(one, forms=[form + "q" for form in one.forms]) for one in new]
    tags = {form: tag for one in BANK + NEW for form, tag in zip(one.forms, one.upos)}
    number = {tag: i for i, tag in enumerate(sorted(set(tags.values())))}
    words = [*tags, *(form + "q" for form in tags)]
    classes = WordClasses(
        words, [number[tag] for tag in tags.values()] * 2, paths=[f"{i:03b}" for i in range(len(number))]
    )
    without = TreeParser.train(train)
    seen = TreeParser.train(train, classes=[{"brown": classes}])
    assert seen.score(new) > without.score(new) + 0.2
    assert any("brown" in text for _, _, text, _ in seen.strongest)


def test_the_seed_and_nothing_else_decides():
    one, two = (TreeParser.train(BANK, solver="adagrad", seed=3, threads=threads) for threads in (1, 2))
    assert one.w.tobytes() == two.w.tobytes()
    assert one.w.tobytes() != TreeParser.train(BANK, solver="adagrad", seed=4).w.tobytes()


@pytest.mark.parametrize(
    ("threshold", "given", "rich"), [(41, None, False), (40, None, True), (1, False, False)]
)
def test_large_treebanks_get_more_templates(monkeypatch, threshold, given, rich):
    monkeypatch.setattr("spinney.parsing.treecrf.problem.RICH_FROM", threshold)
    found = Problem.of(BANK, TreeCrf(rich=given))
    assert ("between.lower h.lower" in found.text) == rich


def test_facts():
    facts = TreeParser.train(BANK).facts
    assert {"method", "sentences", "tokens", "parameters", "active", "objective", "gap", "violation"} <= set(
        facts
    )
    assert facts["sentences"] == len(BANK)
    assert facts["tokens"] == sum(map(len, BANK))
    assert facts["relations"] == len({name for one in BANK for name in one.deprels})


# ------------------------------------------------------------------------------------------ interrupts


def _interrupting(monkeypatch, name, at):
    """Raise an interrupt when a function of training is called for the time ``at``."""
    calls = []
    target = getattr(training, name) if hasattr(training, name) else getattr(training.TreeLoss, name)

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return target(*args, **kwargs)

    where = training if hasattr(training, name) else training.TreeLoss
    monkeypatch.setattr(where, name, interrupted)


def test_an_interrupt_keeps_what_passes_have_learned(monkeypatch):
    _interrupting(monkeypatch, "add", 25)  # ten batches a pass: in the third
    parser = TreeParser.train(BANK, solver="adagrad")
    assert parser.facts["interrupted"]
    assert parser.facts["iterations"] == 2
    monkeypatch.undo()
    assert parser.w.tobytes() == TreeParser.train(BANK, solver="adagrad", passes=2).w.tobytes()


def test_an_interrupt_before_anything_was_learned_goes_up(monkeypatch):
    _interrupting(monkeypatch, "add", 5)
    with pytest.raises(KeyboardInterrupt):
        TreeParser.train(BANK, solver="adagrad")


def test_an_interrupt_of_the_exact_solver(monkeypatch):
    solved = training.solve

    def stopped(loss, penalty, solver, **how):
        return replace(
            solved(loss, penalty, solver, **how | {"max_iter": 1}), interrupted=True, converged=False
        )

    monkeypatch.setattr(training, "solve", stopped)
    parser = TreeParser.train(BANK)
    assert parser.facts["interrupted"]
    assert parser.score(BANK) > 0.9


def test_an_interrupt_of_the_certificate(monkeypatch):
    _interrupting(monkeypatch, "value_and_grad", 1)
    parser = TreeParser.train(BANK, solver="pa")
    assert parser.facts["interrupted"]
    assert np.isnan(parser.facts["objective"])
    assert parser.score(BANK) > 0.9


def test_an_interrupt_while_strengths_are_tried(monkeypatch):
    scored, calls = TreeParser.score, []

    def interrupted(self, sentences):
        calls.append(self)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return scored(self, sentences)

    monkeypatch.setattr(TreeParser, "score", interrupted)
    parser = TreeParser.train(BANK, dev=NEW, solver="adagrad")
    assert parser is calls[0]
    assert parser.facts["interrupted"]
    calls.append(None)
    _interrupting(monkeypatch, "_certified", 2)
    monkeypatch.setattr(TreeParser, "score", scored)
    assert TreeParser.train(BANK, dev=NEW, solver="adagrad").facts["interrupted"]


# ------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("heads", [[2, 1, 0], [0, 0, 1], [3, 3, 3], [0, 1], [], [0, 1, 9], [0, 1, -1]])
def test_heads_that_are_no_tree(heads):
    bad = Sentence(["a", "b", "c"], upos=["X"] * 3, heads=heads, deprels=["d"] * 3)
    with pytest.raises(InputError, match="the heads of sentence 2 are not a tree with one root"):
        TreeParser.train([BANK[0], bad])


def test_nothing_to_learn_from():
    for bank in ([], [Sentence([])]):
        with pytest.raises(InputError, match="no words to learn from"):
            TreeParser.train(bank)


def test_empty_sentences_and_sentences_of_one_word():
    bank = [Sentence([]), Sentence(["Stop"], upos=["VERB"], heads=[0], deprels=["root"])]
    with pytest.warns(EmptyModelWarning):
        parser = TreeParser.train(bank)
    assert parser.facts["sentences"] == 1
    assert [one.heads for one in parser.parse([Sentence([]), Sentence(["Go"], upos=["VERB"])])] == [[], [0]]


def test_trees_without_tags():
    bare = [replace(one, upos=[]) for one in BANK]
    with pytest.raises(InputError, match=r"no tags in the column upos \(the tags are in xpos"):
        TreeParser.train(bare)
    with pytest.raises(InputError, match=r"no tags in the column upos \(tag the text first\)"):
        TreeParser.train([replace(one, xpos=["_"] * len(one)) for one in bare])


def test_templates_that_need_no_tags(make):
    lines = (
        "prune: h.xpos m.xpos distance\narc: h.xpos m.xpos direction\narc: m.lower\nlabel: m.xpos direction\n"
    )
    parser = TreeParser.train([replace(one, upos=[]) for one in BANK], templates=str(make(lines)))
    assert parser.score(NEW) > 0.8
    assert parser.facts["order"] == 1
    assert not parser.needs_tags


def test_trees_without_relations():
    parser = TreeParser.train([replace(one, deprels=[]) for one in BANK])
    assert parser.relations == ["_"]
    assert parser.parse(BANK[:1])[0].heads == BANK[0].heads


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({"trees": "all"}, "trees all needs order 1"),
        ({"solver": "pa", "lam": 1.0}, "lam has no effect with solver pa"),
        ({"solver": "pa", "tol": 1.0}, "tol has no effect with solver pa"),
        ({"solver": "pa", "rough": 0.3}, "rough has no effect with solver pa"),
        ({"templates": "mine.templates", "rich": True}, "rich has no effect with templates"),
        ({"rough": 1.0}, "rough must be"),
        ({"penalty": "none", "lam": 1.0}, "lam has no effect with penalty none"),
        ({"penalty": "l1", "l2": 1.0}, "l2 has no effect with penalty l1"),
        ({"classes": ["brown"]}, "classes must be NAME=FILE"),
        ({"solver": "sgd"}, "solver must be"),
    ],
)
def test_settings_that_do_not_go_together(how, what):
    with pytest.raises(SettingError, match=what):
        TreeParser.train(BANK[:2], **how)


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({"solver": "lbfgs"}, "lbfgs"),
        ({"solver": "owlqn", "penalty": "group:template"}, "owlqn"),
        (
            {"solver": "adagrad", "penalty": "group:template"},
            "adagrad needs an elastic-net penalty: use fista",
        ),
        ({"penalty": "group:shape"}, "template"),
        ({"penalty": "elastcnet"}, "did you mean elasticnet"),
        ({"penalty": "tree"}, "tree"),
    ],
)
def test_solvers_and_penalties_that_do_not_go_together(how, what):
    with pytest.raises(OptionError, match=what) as caught:
        TreeParser.train(BANK[:2], **how)
    assert "\n" not in str(caught.value)
