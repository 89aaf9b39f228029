"""Hidden Markov chains and trees: EM against hmmlearn and its own promises, starts, splits, files."""

from __future__ import annotations

import signal
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from spinney.classes import em
from spinney.classes.expecting import expectations
from spinney.classes.hidden import HiddenMarkov
from spinney.classes.learning import Corpus, Learner
from spinney.classes.relations import class_edges
from spinney.classes.shuffling import batches_of
from spinney.classes.statistics import Statistics, classes_start, random_start, split, uniform_start
from spinney.corpus import Labels, Vocabulary, sentence_arrays
from spinney.errors import InputError, ModelFileError, NotFittedError, OptionError
from spinney.inference.forests import TokenForest
from spinney.structure import WordClasses


def drawn_text(seed=0, sentences=120, tree=False, relations=0):
    """Words of three classes that take turns; in trees, each word hangs on an earlier one."""
    rng = np.random.default_rng(seed)
    T = np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]])
    lines, heads, labels = [], [], []
    for _ in range(sentences):
        n = int(rng.integers(2, 9))
        head = [-1] + [int(rng.integers(0, k)) if tree else k - 1 for k in range(1, n)]
        label = rng.integers(0, max(relations, 1), n)
        classes: list[int] = []
        for k in range(n):
            law = np.ones(3) / 3 if k == 0 else T[:, classes[head[k]]]
            if relations and k and label[k]:
                law = law[::-1]
            classes.append(int(rng.choice(3, p=law)))
        lines.append([f"{'abc'[c]}{rng.integers(0, 4)}" for c in classes])
        heads += head
        labels += label.tolist()
    arrays = sentence_arrays(lines)
    if tree:
        names = Vocabulary(tuple(f"r{i}" for i in range(max(relations, 1))), [1] * max(relations, 1))
        column = Labels(np.array(labels, np.int32), names)
        arrays = replace(arrays, heads=np.array(heads, np.int32), labels={"deprel": column})
    return arrays


def plain(**options):
    return {"dtype": "float64", "smoothing": 0.0, "em": "batch", "threads": 1} | options


@pytest.mark.parametrize(("tree", "typed"), [(False, 0), (True, 0), (True, 2)])
def test_the_likelihood_rises_with_each_pass_of_batch_em(tree, typed):
    text = drawn_text(tree=tree, relations=2)
    model = HiddenMarkov(4, "tree" if tree else "chain", typed=typed, passes=15, **plain(backoff=0.0)).fit(
        text
    )
    trace = [row["log_likelihood"] for row in model.facts["trace"]]
    assert len(trace) == 15
    assert np.all(np.diff(trace) >= -1e-12)
    assert trace[-1] > trace[0] + 0.01
    assert model.log_likelihood(text) / text.n_tokens >= trace[-1] - 1e-12


def test_em_agrees_with_hmmlearn(monkeypatch):
    hmm = pytest.importorskip("hmmlearn.hmm")
    text = drawn_text()
    V, rng = len(text.vocabulary), np.random.default_rng(3)
    begun = random_start(text.vocabulary.counts, 4, 1, rng, np.float64)
    laws = begun.laws(0.0, 0.0, np.float64)
    peer = hmm.CategoricalHMM(4, n_iter=5, tol=-np.inf, init_params="", implementation="scaling")
    peer.startprob_, peer.transmat_ = laws.root.copy(), laws.transition[0].T.copy()
    peer.emissionprob_, peer.n_features = (laws.counts * laws.scale).T.copy(), V
    peer.fit(text.ids[:, None], np.diff(text.offsets))
    model = HiddenMarkov(4, passes=5, **plain())
    monkeypatch.setattr(em, "random_start", lambda *_: Statistics.of(begun.omega, begun.tau, begun.rho))
    model.fit(text)
    ours = [row["log_likelihood"] * text.n_tokens for row in model.facts["trace"]]
    np.testing.assert_allclose(ours, list(peer.monitor_.history), rtol=1e-11)
    np.testing.assert_allclose(model.transition_[0].T, peer.transmat_, atol=1e-10)
    np.testing.assert_allclose(model.emission().T, peer.emissionprob_, atol=1e-10)


def test_classes_are_found():
    text = drawn_text(sentences=600)
    model = HiddenMarkov(3, em="batch", passes=60, start=2, split_passes=20, random_state=2).fit(text)
    classes = model.word_classes()
    found = [{classes[f"{name}{i}"] for i in range(4)} for name in "abc"]
    assert all(len(one) == 1 for one in found)
    assert len(set.union(*found)) == 3
    a, b = classes["a0"], classes["b0"]
    assert model.transition_[0][a, b] > 0.6  # T[child, parent]: an a comes after a b
    assert model.word_vectors().neighbours("a0", 3, metric="cosine")[0][0][0] == "a"


def test_a_typed_tree_learns_that_relations_differ():
    text, held_out = drawn_text(1, 900, True, 2), drawn_text(2, 300, True, 2)
    held_out = replace(held_out, ids=text.vocabulary.encode([held_out.vocabulary.words[i] for i in held_out.ids]),
                       vocabulary=text.vocabulary)  # fmt: skip
    words = text.vocabulary.words
    start = WordClasses(words, ["abc".index(word[0]) for word in words])
    values = {}
    for typed in (0, 1, {"r1": "turned"}):
        model = HiddenMarkov(3, "tree", typed=typed, em="batch", passes=15).fit(
            text, init=start, dev=held_out
        )
        values[str(typed)] = model.facts["dev_log_likelihood"]
    assert values["1"] > values["0"] + 0.05
    assert values["{'r1': 'turned'}"] > values["0"] + 0.05
    assert list(model.relations_) == ["other", "turned"]


def test_a_typed_tree_backs_off_to_the_shared_matrix():
    text = drawn_text(1, 200, True, 2)
    model = HiddenMarkov(3, "tree", typed=1, passes=3, **plain(backoff=1e9)).fit(text)
    np.testing.assert_allclose(model.transition_[0], model.transition_[1], atol=1e-6)
    np.testing.assert_allclose(model.transition_[0], model.shared_transition_, atol=1e-6)


def test_online_em_with_steps_of_one_is_batch_em():
    text = drawn_text()
    batch = HiddenMarkov(4, passes=3, **plain()).fit(text)
    options = {"em": "online", "finish": False, "batch_tokens": 10**9, "gamma": 1e-15, "delay": 1.0}
    online = HiddenMarkov(4, passes=3, **plain(**options)).fit(text)
    np.testing.assert_allclose(online.transition_, batch.transition_, atol=1e-9)
    np.testing.assert_allclose(online.emission(), batch.emission(), atol=1e-9)


def test_lazy_scaling_is_the_recursion():
    text, rng = drawn_text(), np.random.default_rng(0)
    model = HiddenMarkov(3, passes=1, **plain(em="online", finish=False, batch_tokens=60)).fit(text)
    learner, corpus = model._learner, Corpus(text)
    lazy = random_start(text.vocabulary.counts, 3, 1, rng, np.float64)
    omega, tau, rho = lazy.omega.copy(), lazy.tau.copy(), lazy.rho.copy()
    for t, piece in enumerate(text.shards(9), 1):
        found = list(expectations(learner.messages, corpus, [[piece]], learner.laws(lazy), 1))
        alpha = 1 / (4 + t) ** 0.6
        words, beliefs = found[0]
        new = np.zeros_like(omega)
        np.add.at(new, words, beliefs.nodes)
        omega = (1 - alpha) * omega + alpha * new
        tau = (1 - alpha) * tau + alpha * beliefs.edges
        rho = (1 - alpha) * rho + alpha * beliefs.roots
        lazy.step(found, alpha)
    np.testing.assert_allclose(lazy.gain * lazy.omega, omega, rtol=1e-12)
    np.testing.assert_allclose(lazy.gain * lazy.mass, omega.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(lazy.tau, tau, rtol=1e-12)
    np.testing.assert_allclose(lazy.rho, rho, rtol=1e-12)
    laws = lazy.laws(0.0, 0.0, np.float64)
    before = laws.counts * laws.scale
    lazy.fold()
    laws = lazy.laws(0.0, 0.0, np.float64)
    np.testing.assert_allclose(laws.counts * laws.scale, before, rtol=1e-12)


def test_a_start_weighs_as_much_as_a_batch():
    text = drawn_text()
    statistics = random_start(text.vocabulary.counts, 3, 1, np.random.default_rng(0), np.float32).scaled(50.0)
    assert statistics.mass.sum() == pytest.approx(50.0, rel=1e-5)
    assert statistics.omega.sum() == pytest.approx(50.0, rel=1e-5)


@pytest.mark.parametrize("wanted", [8, 6, 5])
def test_a_split_without_noise_changes_nothing(wanted):
    text = drawn_text(tree=True, relations=2)
    model = HiddenMarkov(4, "tree", typed=1, passes=4, **plain(backoff=0.0)).fit(text)
    halves = split(model.statistics_, wanted, np.random.default_rng(0), 0.0)
    assert halves.n_classes == wanted
    assert halves.omega.flags.c_contiguous
    assert halves.tau.flags.c_contiguous
    before = model.log_likelihood(text)
    model.statistics_ = halves
    assert model.log_likelihood(text) == pytest.approx(before, rel=1e-12)


def test_splits_lead_to_the_size_that_was_asked_for():
    model = HiddenMarkov(6, start=2, passes=1, batch_tokens=100, threads=1).fit(drawn_text())
    assert [row["classes"] for row in model.facts["trace"]] == [2, 4, 6, 6]
    assert model.word_classes().n_classes == 6


def test_classes_start_puts_every_word_where_it_was():
    text = drawn_text(tree=True)
    words = text.vocabulary.words
    classes = np.array(["abc".index(word[0]) for word in words], np.int32)
    classes[-1] = -1
    edges, roots = class_edges(Corpus(text, True), classes, 3, 1)
    known = sum(c >= 0 for c in classes[text.ids])
    assert edges.sum() + roots.sum() <= known
    forest = TokenForest.from_heads(text.offsets, text.heads)
    expected = np.zeros((3, 3))
    for k in range(len(forest)):
        c, f = classes[text.ids[forest.tokens[k]]], forest.parents[k]
        if f >= 0 and c >= 0 and (above := classes[text.ids[forest.tokens[f]]]) >= 0:
            expected[c, above] += 1
    np.testing.assert_array_equal(edges[0], expected)
    start = classes_start(classes, text.vocabulary.counts, edges, roots, np.random.default_rng(0), np.float64)
    assert start.omega[:-1].argmax(axis=1).tolist() == classes[:-1].tolist()
    assert np.all(start.omega > 0)
    assert np.all(start.tau > 0)
    assert start.omega[-1].sum() == pytest.approx(text.vocabulary.counts[-1], rel=0.5)


def test_dead_classes_come_back():
    text = drawn_text()
    statistics = random_start(text.vocabulary.counts, 3, 1, np.random.default_rng(0), np.float64)
    total = statistics.omega.sum(axis=1)
    statistics.omega[:, 1] = 0.0
    statistics.mass[1] = 0.0
    rest = statistics.omega.sum(axis=1)
    assert statistics.revive(np.random.default_rng(1), 0.0) == 1
    np.testing.assert_allclose(statistics.omega.sum(axis=1), rest)
    assert np.all(rest < total)
    np.testing.assert_allclose(statistics.mass, statistics.omega.sum(axis=0))
    assert statistics.mass.min() > 0.2 * statistics.mass.max()
    assert statistics.revive(np.random.default_rng(1), 0.0) == 0


@pytest.mark.parametrize("options", [{"k_best": 2}, {"epsilon": 0.05}, {"k_best": 3, "epsilon": 0.05}])
def test_sparse_messages_learn_nearly_as_well(options):
    text = drawn_text(sentences=400)
    common = {"batch_tokens": 300, "passes": 6, "start": 4, "random_state": 1}
    exact = HiddenMarkov(8, k_best="none", **common).fit(text)
    sparse = HiddenMarkov(8, **common, **options).fit(text)
    assert sparse.log_likelihood(text) > 1.02 * exact.log_likelihood(text)
    kept = [row["support"] for row in sparse.facts["trace"]]
    assert max(kept) <= options.get("k_best", 8)
    assert kept[-1] < options.get("k_best", 8) or "epsilon" not in options


def test_nothing_depends_on_the_number_of_threads():
    text = drawn_text()
    one, two = (HiddenMarkov(4, passes=2, batch_tokens=200, threads=n).fit(text) for n in (1, 2))
    assert np.array_equal(one.statistics_.omega, two.statistics_.omega)
    assert np.array_equal(one.statistics_.tau, two.statistics_.tau)


class Stopping(HiddenMarkov):
    """Is interrupted when it has saved itself so many times."""

    saves = 0

    def save(self, path):
        super().save(path)
        self.saves += 1
        if self.saves == self.stop_after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("method", ["online", "batch"])
@pytest.mark.parametrize("saves", [1, 2, 4, 6, 7])
def test_going_on_from_a_checkpoint_is_as_if_never_stopped(tmp_path, method, saves):
    """Stopped while splitting, between passes, or before the last pass of batch EM."""
    text = drawn_text()
    options = {
        "em": method,
        "passes": 3,
        "start": 2,
        "split_passes": 2,
        "threads": 1,
    } | ({"batch_tokens": 100} if method == "online" else {})
    whole = HiddenMarkov(6, **options).fit(text, checkpoint=tmp_path / "whole.spinney")
    stopped = Stopping(6, **options)
    stopped.stop_after = saves
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(text, checkpoint=tmp_path / "half.spinney")
    rest = HiddenMarkov(6, **options).fit(text, init=HiddenMarkov.load(tmp_path / "half.spinney"))
    without_times = [[{**row, "seconds": 0} for row in one.facts["trace"]] for one in (rest, whole)]
    assert without_times[0] == without_times[1]
    assert rest.facts["passes"] == whole.facts["passes"]
    for model in (rest, HiddenMarkov.load(tmp_path / "whole.spinney")):
        assert np.array_equal(model.statistics_.omega, whole.statistics_.omega)
        assert np.array_equal(model.statistics_.tau, whole.statistics_.tau)


def test_going_on_keeps_the_step_size_that_was_found(tmp_path):
    text = drawn_text()
    options = {"gamma": "search", "passes": 3, "batch_tokens": 50, "finish": False}
    stopped = Stopping(3, **options)
    stopped.stop_after = 1
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(text, checkpoint=tmp_path / "half.spinney")
    rest = HiddenMarkov(3, **options).fit(text, init=HiddenMarkov.load(tmp_path / "half.spinney"))
    assert rest.gamma_ == stopped.gamma_
    assert rest.facts["gammas"] == stopped.facts["gammas"]


def test_a_finished_model_can_make_more_passes():
    text = drawn_text()
    first = HiddenMarkov(4, passes=2, batch_tokens=100).fit(text)
    more = HiddenMarkov(4, passes=3, batch_tokens=100).fit(text, init=first)
    assert len(more.facts["trace"]) == 4
    assert more.log_likelihood(text) > first.log_likelihood(text)


def test_a_smaller_model_is_a_start():
    text = drawn_text()
    small = HiddenMarkov(3, passes=3, batch_tokens=100).fit(text)
    large = HiddenMarkov(6, passes=3, batch_tokens=100).fit(text, init=small)
    assert [row["classes"] for row in large.facts["trace"]] == [3, 6, 6, 6, 6]
    with pytest.raises(OptionError, match="3 classes, more than 2"):
        HiddenMarkov(2).fit(text, init=small)
    heads = np.concatenate([np.arange(-1, n - 1) for n in np.diff(text.offsets)]).astype(np.int32)
    with pytest.raises(OptionError, match="is a chain, but this one is a tree"):
        HiddenMarkov(3, "tree").fit(replace(text, heads=heads), init=small)
    with pytest.raises(OptionError, match="another vocabulary"):
        HiddenMarkov(3).fit(sentence_arrays([["x", "y", "z"]]), init=small)


def test_what_is_saved_is_read_back(tmp_path):
    text = drawn_text(tree=True, relations=2)
    model = HiddenMarkov(4, "tree", typed={"r1": "x"}, passes=2, batch_tokens=100).fit(text, dev=text)
    model.save(tmp_path / "model.spinney")
    again = HiddenMarkov.load(tmp_path / "model.spinney")
    assert again.relations_ == model.relations_
    assert again.facts == model.facts
    assert again.vocabulary_ == model.vocabulary_
    assert again.log_likelihood(text) == model.log_likelihood(text)
    np.testing.assert_array_equal(again.predict(text), model.predict(text))
    np.testing.assert_array_equal(again.posteriors(text), model.posteriors(text))
    (tmp_path / "cut.spinney").write_bytes((tmp_path / "model.spinney").read_bytes()[:-9])
    with pytest.raises(ModelFileError):
        HiddenMarkov.load(tmp_path / "cut.spinney")


def test_posteriors_and_viterbi_are_in_the_order_of_the_tokens():
    text = drawn_text(tree=True)
    words = text.vocabulary.words
    start = WordClasses(words, ["abc".index(word[0]) for word in words])
    model = HiddenMarkov(3, "tree", em="batch", passes=3).fit(text, init=start)
    truth = np.array(["abc".index(words[i][0]) for i in text.ids])
    assert (model.posteriors(text).argmax(axis=1) == truth).mean() > 0.99
    assert (model.predict(text) == truth).mean() > 0.99


def test_a_search_for_gamma_reports_what_it_found():
    model = HiddenMarkov(3, gamma="search", passes=1, batch_tokens=50).fit(drawn_text())
    assert set(model.facts["gammas"]) == {"0.5", "0.6", "0.7", "0.8", "0.9", "1.0"}
    best = max(model.facts["gammas"], key=model.facts["gammas"].__getitem__)
    assert model.facts["gamma"] == float(best)


def test_early_stopping():
    text = drawn_text()
    model = HiddenMarkov(3, em="batch", passes=500, patience=2).fit(text, dev=drawn_dev(text))
    assert model.facts["stopped_early"]
    assert len(model.facts["trace"]) < 500


def drawn_dev(text):
    other = drawn_text(seed=9)
    words = [other.vocabulary.words[i] for i in other.ids]
    return replace(other, ids=text.vocabulary.encode(words), vocabulary=text.vocabulary)


def test_an_interrupted_fit_keeps_what_it_learnt(monkeypatch):
    text = drawn_text()
    model = HiddenMarkov(3, passes=50, batch_tokens=100, threads=1)
    calls = iter(range(30))

    def interrupting(statistics, *rest, step=Statistics.step):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        step(statistics, *rest)

    monkeypatch.setattr(Statistics, "step", interrupting)
    with pytest.raises(KeyboardInterrupt):
        model.fit(text)
    assert model.facts["tokens"] == text.n_tokens
    assert np.isfinite(model.log_likelihood(text))


@pytest.mark.parametrize("steps", [1, 13, 30, 41])
@pytest.mark.parametrize("more", [{}, {"start": 2}, {"gamma": "search", "delay": 1e-300}])
def test_going_on_within_a_pass_is_as_if_never_stopped(tmp_path, monkeypatch, steps, more):
    """An interrupt after any number of batches, and one in the middle of a change, which it then awaits."""
    text, path = drawn_text(), tmp_path / "half.spinney"
    options = {"passes": 8, "batch_tokens": 100, "threads": 1, "random_state": 3, **more}
    whole = HiddenMarkov(6, **options).fit(text, dev=text)
    revive, made = Statistics.revive, iter(range(steps))

    def interrupting(*given):
        if next(made, None) is None:
            signal.raise_signal(signal.SIGINT)
        return revive(*given)

    monkeypatch.setattr(Statistics, "revive", interrupting)
    stopped = HiddenMarkov(6, **options)
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # in the background, interrupts are ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            stopped.fit(text, dev=text)
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    stopped.save(path)
    rest = HiddenMarkov(6, **options).fit(text, dev=text, init=HiddenMarkov.load(path))
    for name in ("omega", "mass", "tau", "rho", "gain"):
        assert np.array_equal(getattr(rest.statistics_, name), getattr(whole.statistics_, name)), name
    traces = [[{**row, "seconds": 0} for row in one.facts["trace"]] for one in (rest, whole)]
    assert traces[0] == traces[1]
    assert rest.facts["gamma"] == whole.facts["gamma"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_classes": 500}, "500 classes for 12 words"),
        ({"n_classes": 1}, "at least 2"),
        ({"n_classes": 3.0}, "whole number"),
        ({"structure": "tree"}, "needs heads"),
        ({"structure": "lattice"}, "structure must be"),
        ({"typed": 2}, "the edges of a chain"),
        ({"structure": "tree", "typed": -1}, "typed must be"),
        ({"start": 9}, "start must be from 2 to 3"),
        ({"gamma": 2.0}, "gamma must be"),
        ({"gamma": "x"}, "gamma must be"),
        ({"delay": 0.0}, "delay must be"),
        ({"k_best": 0}, "k_best must be"),
        ({"k_best": 2.5}, "k_best must be"),
        ({"smoothing": 1.0}, "smoothing must be"),
        ({"noise": 5.0}, "noise must be"),
        ({"backoff": -1.0}, "backoff must be"),
        ({"epsilon": 1.0}, "epsilon must be"),
        ({"dtype": "float16"}, "dtype must be"),
        ({"threads": -1}, "threads must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        HiddenMarkov(**({"n_classes": 3} | options)).fit(drawn_text())


def test_a_typed_model_needs_relations():
    text = replace(drawn_text(tree=True), labels={})
    with pytest.raises(OptionError, match="relations"):
        HiddenMarkov(3, "tree", typed=2).fit(text)


def test_text_of_another_vocabulary_is_refused():
    model = HiddenMarkov(3, passes=1).fit(drawn_text())
    with pytest.raises(OptionError, match="another vocabulary"):
        model.log_likelihood(sentence_arrays([["x", "y"]]))


@pytest.mark.parametrize(
    "damage",
    [
        lambda m: m.statistics_.tau.fill(np.nan),
        lambda m: m.statistics_.omega.fill(-1.0),
        lambda m: m.statistics_.mass.fill(9e9),
        lambda m: object.__setattr__(m.how, "smoothing", 5.0),
        lambda m: setattr(m, "n_classes", "x"),
        lambda m: object.__setattr__(m.how, "dtype", "float16"),
        lambda m: setattr(m, "facts", {}),
        lambda m: setattr(m, "relations_", {"other": 5}),
        lambda m: setattr(m, "relations_", {"other": [], "more": []}),
        lambda m: setattr(m, "_done", m._done._replace(steps=-1)),
        lambda m: setattr(m, "gamma_", "x"),
        lambda m: setattr(m, "statistics_", Statistics.zeros(12, 0, 1, np.float32)),
    ],
)
def test_damaged_models_are_refused(tmp_path, damage, monkeypatch):
    monkeypatch.setattr("spinney.model._refuse_nan", lambda *_: None)  # which would not save it
    model = HiddenMarkov(3, passes=1).fit(drawn_text())
    damage(model)
    model.save(tmp_path / "damaged.spinney")
    with pytest.raises(ModelFileError, match="damaged"):
        HiddenMarkov.load(tmp_path / "damaged.spinney")


def test_a_model_that_has_learnt_nothing_says_so():
    with pytest.raises(NotFittedError):
        HiddenMarkov(3).predict(drawn_text())
    with pytest.raises(NotFittedError):
        HiddenMarkov(3).fit(drawn_text(), init=HiddenMarkov(3))


def test_no_text_gives_no_classes():
    text = drawn_text()
    model = HiddenMarkov(3, passes=1).fit(text)
    nothing = text.part(0, 0)
    assert model.predict(nothing).shape == (0,)
    assert model.posteriors(nothing).shape == (0, 3)
    assert model.log_likelihood(nothing) == 0.0
    with pytest.raises(InputError, match="held-out"):
        model.fit(text, dev=nothing)


def test_classes_to_begin_with_must_know_some_words():
    with pytest.raises(OptionError, match="no word of the text"):
        HiddenMarkov(3).fit(drawn_text(), init=WordClasses(["foo"], [0], n_classes=3))


def test_classes_without_words_part():
    text = drawn_text()
    words = text.vocabulary.words
    start = WordClasses(words, [0] * len(words), n_classes=3)
    model = HiddenMarkov(3, em="batch", passes=10).fit(text, init=start)
    emission = model.emission()
    assert np.abs(emission[:, 1] - emission[:, 2]).max() > 1e-6


def test_the_sentence_of_a_cycle_is_named():
    text = drawn_text(tree=True, sentences=30)
    heads = text.heads.copy()
    first = text.offsets[20]
    heads[first : first + 2] = [1, 0]
    with pytest.raises(OptionError, match="sentence 21, word 1"):
        HiddenMarkov(3, "tree").fit(replace(text, heads=heads))


def test_another_kind_of_edges_is_not_taken_over():
    text = drawn_text(tree=True, relations=2)
    plain_tree = HiddenMarkov(3, "tree", passes=1).fit(text)
    with pytest.raises(OptionError, match="typed=0, but this one 2"):
        HiddenMarkov(3, "tree", typed=2).fit(text, init=plain_tree)


def test_matrix_products_have_their_threads_back():
    from threading import Thread

    from threadpoolctl import threadpool_info

    text = drawn_text()
    model = HiddenMarkov(3, passes=1).fit(text)
    before = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
    threads = [Thread(target=model.posteriors, args=(text,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"] == before


def test_the_uniform_start_is_that_of_the_thesis():
    """All counts from U[0, 1], whatever the frequencies of words; the same seed gives the same start."""
    counts = np.array([1000, 1, 1, 1] * 500)
    first, again = (uniform_start(counts, 3, 2, np.random.default_rng(4), np.float64) for _ in range(2))
    assert np.array_equal(first.omega, again.omega)
    assert 0 <= first.omega.min() < 0.01 < 0.99 < first.omega.max() <= 1
    np.testing.assert_allclose(first.omega.mean(axis=0), 0.5, atol=0.03)
    np.testing.assert_allclose(first.omega[::4].mean(), 0.5, atol=0.03)
    np.testing.assert_allclose(first.tau.sum(), first.omega.sum())
    text = drawn_text()
    how = {"em": "batch", "passes": 2, "random_state": 3, "threads": 1}
    starts = {init: HiddenMarkov(3, **how).fit(text, init=init) for init in ("random", "uniform")}
    plain = HiddenMarkov(3, **how).fit(text)
    assert np.array_equal(starts["random"].statistics_.omega, plain.statistics_.omega)
    assert not np.array_equal(starts["uniform"].statistics_.omega, plain.statistics_.omega)
    with pytest.raises(OptionError, match="init must be random or uniform, not 'brown'"):
        HiddenMarkov(3).fit(text, init="brown")


class Scripted(HiddenMarkov):
    """Keeps its statistics after each pass, and can be stopped."""

    stop_after = 0

    def save(self, path):
        super().save(path)
        self.seen = [*getattr(self, "seen", []), self.statistics_.copy()]
        if len(self.seen) == self.stop_after:
            raise KeyboardInterrupt


def scripted_values(monkeypatch, values):
    """What held-out text is worth after each pass."""
    script = iter(values)
    monkeypatch.setattr(Learner, "log_likelihood", lambda *_: float(next(script)))


@pytest.mark.parametrize("method", ["online", "batch"])
@pytest.mark.parametrize(
    ("values", "best"),
    [([1, 4, 3, 2, 0], 2), ([5, 4, 3, 2], 1), ([1, 2, 3, 4, 5, 6], 6), ([1, 3, 2, 5, 4, 4], 4)],
)
def test_patience_goes_back_to_the_best_pass(tmp_path, monkeypatch, method, values, best):
    """Whether patience ended training or the passes did."""
    text = drawn_text()
    dev = drawn_dev(text)
    how = {"em": method, "passes": 6, "patience": 3, "threads": 1}
    how |= {"batch_tokens": 100, "finish": False} if method == "online" else {}
    scripted_values(monkeypatch, values)
    model = Scripted(3, **how).fit(text, dev=dev, checkpoint=tmp_path / "c.spinney")
    expected = model.seen[best - 1]
    assert np.array_equal(model.statistics_.omega, expected.omega)
    assert np.array_equal(model.statistics_.tau, expected.tau)
    assert model.facts["best_pass"] == best
    assert model.facts["dev_log_likelihood"] == values[best - 1] / dev.n_tokens
    assert model.facts["log_likelihood"] == model.facts["trace"][best - 1]["log_likelihood"]
    kept = HiddenMarkov.load(tmp_path / "c.spinney")
    assert np.array_equal(kept.statistics_.omega, expected.omega)
    assert kept._best is None


@pytest.mark.parametrize(("last", "kept"), [(9, True), (3.5, False)])
def test_a_final_pass_that_harms_is_left_out(tmp_path, monkeypatch, last, kept):
    text, values = drawn_text(), [1, 4, 3, 2, last]
    how = {"passes": 6, "patience": 2, "threads": 1, "batch_tokens": 100}
    dev = drawn_dev(text)
    scripted_values(monkeypatch, values)
    model = Scripted(3, **how).fit(text, dev=dev, checkpoint=tmp_path / "c.spinney")
    assert model.facts["best_pass"] == 2
    assert model.facts["dev_log_likelihood"] == (last if kept else 4) / dev.n_tokens
    assert np.array_equal(model.statistics_.omega, model.seen[1].omega) is not kept
    trace = model.facts["trace"]
    assert (len(trace), model.facts["log_likelihood"]) == (5, trace[-1 if kept else 1]["log_likelihood"])


@pytest.mark.parametrize("finish", [False, True])
@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_the_best_pass_survives_an_interruption(tmp_path, monkeypatch, finish, stop):
    """The checkpoint has the best pass as long as a later one was worse; the end has the same bits."""
    text, values = drawn_text(), [1, 4, 3, 2, 9]
    how = {"passes": 6, "patience": 2, "threads": 1, "batch_tokens": 100, "finish": finish}
    scripted_values(monkeypatch, values)
    whole = HiddenMarkov(3, **how).fit(text, dev=drawn_dev(text))
    scripted_values(monkeypatch, values)
    stopped = Scripted(3, **how)
    stopped.stop_after = stop
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(text, dev=drawn_dev(text), checkpoint=tmp_path / "c.spinney")
    kept = HiddenMarkov.load(tmp_path / "c.spinney")
    assert (kept._best is not None) == (stop in (3, 4))
    scripted_values(monkeypatch, values[stop:])
    rest = HiddenMarkov(3, **how).fit(text, dev=drawn_dev(text), init=kept)
    assert whole.facts["best_pass"] == rest.facts["best_pass"] == 2
    assert np.array_equal(whole.statistics_.omega, rest.statistics_.omega)
    assert np.array_equal(whole.statistics_.tau, rest.statistics_.tau)
    assert whole.facts["dev_log_likelihood"] == rest.facts["dev_log_likelihood"]


@pytest.mark.parametrize("tree", [False, True])
def test_sentences_in_random_order(tree):
    """Every sentence once a pass, with its own heads and relations, in an order that seed and pass decide."""
    text = drawn_text(tree=tree, sentences=60)
    corpus = Corpus(text, tree)
    batches = batches_of(corpus, 40, np.random.default_rng(1), "sentences")
    sizes = [sum(piece.n_tokens for piece in batch) for batch in batches]
    assert len(batches) == max(1, round(text.n_tokens / 40)) == len(sizes)
    assert max(sizes) - min(sizes) <= 2 * np.diff(text.offsets).max()

    def told(arrays):
        ends = arrays.offsets.tolist()
        columns = [
            arrays.ids,
            *([arrays.heads] if tree else []),
            *(one.ids for one in arrays.labels.values()),
        ]
        return [tuple(tuple(c[a:b].tolist()) for c in columns) for a, b in pairwise(ends)]

    drawn = [one for batch in batches for piece in batch for one in told(piece)]
    assert sorted(drawn) == sorted(told(text))
    assert drawn != told(text)
    later = batches[2:]
    assert [told(piece) for batch in later for piece in batch] == [
        told(piece) for i in range(2, len(batches)) for piece in batches[i]
    ]


def test_shuffled_sentences_have_the_same_bits_on_any_threads(tmp_path):
    text = drawn_text()
    how = {"passes": 2, "batch_tokens": 100, "shuffle": "sentences"}
    one, four = (HiddenMarkov(4, threads=n, **how).fit(text) for n in (1, 4))
    assert np.array_equal(one.statistics_.omega, four.statistics_.omega)
    assert np.array_equal(one.statistics_.tau, four.statistics_.tau)
    pieces = HiddenMarkov(4, threads=1, **how | {"shuffle": "pieces"}).fit(text)
    assert not np.array_equal(one.statistics_.omega, pieces.statistics_.omega)
    stopped = Stopping(4, threads=1, **how)
    stopped.stop_after = 1
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(text, checkpoint=tmp_path / "half.spinney")
    rest = HiddenMarkov(4, threads=1, **how).fit(text, init=HiddenMarkov.load(tmp_path / "half.spinney"))
    assert np.array_equal(one.statistics_.omega, rest.statistics_.omega)
