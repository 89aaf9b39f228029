"""Log-linear models: optima that several solvers agree on, probabilities that sum to one, files that are safe."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spinney.corpus import Vocabulary, sentence_arrays
from spinney.errors import ModelFileError, OptionError
from spinney.files import read_model, write_model
from spinney.lm.hierarchical import decisions, fit_hierarchical
from spinney.lm.loglinear import fit_loglinear, fit_loglinear_path, starting_scores
from spinney.lm.model import load_language_model
from spinney.lm.stream import stream_of
from spinney.lm.suffixloss import SuffixTrieLoss, word_scale
from spinney.lm.suffixtrie import suffix_trie
from spinney.lm.triepenalty import trie_penalty, trie_spec
from spinney.lm.wordtree import fitting, huffman_tree, tree_of_classes
from spinney.optim import ElasticNet, GroupL2, PenaltySpec, TreeL2, solve
from spinney.structure import ClassTree, Groups, WordClasses

# Few of these fits are run to their end.
pytestmark = pytest.mark.filterwarnings("ignore::spinney.optim.ConvergenceWarning")

SENTENCES = [
    ["the", "cat", "sat", "on", "the", "mat"],
    ["the", "dog", "sat", "on", "the", "log"],
    ["a", "cat", "and", "a", "dog", "sat"],
    ["the", "cat", "saw", "the", "dog", "on", "the", "mat"],
]
RANDOM = st.lists(st.lists(st.sampled_from("abc"), max_size=5), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def text():
    return sentence_arrays(SENTENCES, unknown="<unk>")


def random_histories(model, n=20, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        words = rng.integers(-1, len(model.vocabulary), rng.integers(0, 7)).astype(np.int32)
        yield words
        yield np.concatenate(([model.start], words)).astype(np.int32)


PENALTIES = [
    ("tree-l2", 1.1),
    ("tree-l2", 1.0),
    ("tree-linf", 1.0),
    ("tree-linf", 0.8),
    ("l1", 1.0),
    ("l2", 0.5),
]


@pytest.mark.parametrize(("penalty", "alpha"), PENALTIES)
@pytest.mark.parametrize("order", [1, 3, None])
def test_probabilities_sum_to_one_and_agree(text, penalty, alpha, order):
    model = fit_loglinear(text, order, penalty=penalty, alpha=alpha, lam=0.2, max_iter=60)
    for history in random_histories(model):
        assert model.distribution(history).sum() == pytest.approx(1.0, abs=1e-12)
    stream = model.stream([*SENTENCES, ["the", "zebra", "cat"]])
    logs = model.event_logprobs(stream)
    for log, i in zip(logs, stream.events.tolist()):
        before = stream.ids[i - stream.room[i] : i]
        assert log == pytest.approx(np.log(model.distribution(before)[stream.ids[i]]), abs=1e-12)


@pytest.mark.parametrize(("penalty", "alpha"), PENALTIES)
def test_solvers_agree(text, penalty, alpha):
    """Our solver, and plain FISTA of the optimisation core: the same objective, from different starts."""
    options = {"order": 3, "penalty": penalty, "alpha": alpha, "lam": 0.3, "collapse": False}
    ours = fit_loglinear(text, **options, tol=1e-9, max_iter=5000)
    zero = fit_loglinear(text, **options, tol=1e-9, max_iter=5000, start="zero")
    plain = fit_loglinear(text, **options, solver="fista", tol=1e-9, max_iter=20000)
    assert ours.facts["objective"] == pytest.approx(plain.facts["objective"], rel=1e-9)
    assert ours.facts["objective"] == pytest.approx(zero.facts["objective"], rel=1e-9)


def test_any_penalty_of_the_core(text):
    """Named penalties are the same as those made by hand; others work as well."""
    options = {"order": 3, "alpha": 1.0, "tol": 1e-9, "max_iter": 20000, "collapse": False}
    by_name = fit_loglinear(text, penalty="tree-l2", lam=0.3, **options)
    by_hand = fit_loglinear(text, penalty=lambda trie: TreeL2(0.3, trie.up), **options)
    assert by_hand.facts["objective"] == pytest.approx(by_name.facts["objective"], rel=1e-9)
    elastic = fit_loglinear(text, penalty=lambda trie: ElasticNet(0.3, l2=0.1), **options)

    def words(trie):
        members = [np.flatnonzero(trie.symbol == v).tolist() for v in np.unique(trie.symbol)]
        return GroupL2(0.3, Groups.from_lists(members, trie.n_grams))

    grouped = fit_loglinear(text, penalty=words, **options)
    for model in (elastic, grouped):
        assert model.facts["converged"]
        assert model.distribution(model.history(["the"], start=True)).sum() == pytest.approx(1.0)
    with pytest.raises(OptionError, match="no prox in a metric"):
        fit_loglinear(text, penalty=words, solver="words")
    by_words = fit_loglinear(text, penalty=lambda trie: TreeL2(0.3, trie.up), solver="words", **options)
    assert by_words.facts["objective"] == pytest.approx(by_name.facts["objective"], rel=1e-9)
    same = fit_loglinear(text, penalty=PenaltySpec("elasticnet", 0.3, l2=0.1), **options)
    assert same.facts["objective"] == pytest.approx(elastic.facts["objective"], rel=1e-9)


@pytest.mark.parametrize("penalty", ["tree-l2", "l1"])
def test_laws_of_feature_values_differ_only_beyond_one_word(text, penalty):
    options = {"penalty": penalty, "lam": 0.2, "tol": 1e-9, "max_iter": 20000}
    same_for_bigrams = {"power": 1 + 0.5 * np.log(2), "linear": 1 + 0.5 * np.log(2), "log": 1.5}
    found = [fit_loglinear(text, 2, alpha=a, law=law, **options) for law, a in same_for_bigrams.items()]
    assert len({round(model.facts["objective"], 6) for model in found}) == 1
    trigrams = [fit_loglinear(text, 3, alpha=a, law=law, **options) for law, a in same_for_bigrams.items()]
    assert len({round(model.facts["objective"], 4) for model in trigrams}) == 3
    assert trigrams[1].facts["law"] == "linear"


def test_a_law_whose_values_fall_to_zero_is_refused(text):
    with pytest.raises(
        OptionError, match=r"alpha = 0\.5 is too far from 1: with the law linear, contexts of up to 2"
    ):
        fit_loglinear(text, 3, alpha=0.5, law="linear")
    with pytest.raises(OptionError, match="law must be"):
        fit_loglinear(text, 3, law="cubic")


def test_what_a_trie_cannot_offer_is_refused_before_any_work(text):
    with pytest.raises(
        OptionError, match="the penalty overlap needs groups, which a log-linear language model"
    ):
        fit_loglinear(text, 3, penalty="overlap")
    with pytest.raises(OptionError, match="there is no penalty 'l7'"):
        fit_loglinear(text, 3, penalty="l7")
    with pytest.raises(OptionError, match="group_factor must be 1"):
        fit_loglinear(text, 3, penalty="l0", group_factor=1.2)
    with pytest.raises(OptionError, match="needs the whole trie"):
        fit_loglinear(text, 3, penalty="l1", alpha=1.0, solver="fista", collapse=True)


def test_sage_comes_close(text):
    options = {"order": 2, "penalty": "tree-l2", "alpha": 1.0, "lam": 0.3}
    exact = fit_loglinear(text, **options, tol=1e-9, max_iter=5000)
    noisy = fit_loglinear(text, **options, solver="sage", max_iter=300, batch=8, tol=1e-6, seed=0)
    assert noisy.facts["objective"] == pytest.approx(exact.facts["objective"], rel=0.02)


@pytest.mark.parametrize("penalty", ["l1", "l2", "tree-linf"])
@settings(max_examples=15, deadline=None)
@given(sentences=RANDOM)
def test_collapsing_changes_nothing(penalty, sentences):
    """Contexts that come together keep one weight under these penalties (Nelakanti 2014, Prop. 1).

    If they begin with one: ℓ1 and ℓT∞ are not strictly convex, so that from another start the same objective may be
    reached with other weights.
    """
    text = sentence_arrays(sentences, unknown="<unk>")
    options = {"order": None, "penalty": penalty, "alpha": 1.0, "lam": 0.3, "tol": 1e-9, "max_iter": 8000}
    options["start"] = "zero"
    one, all_ = (fit_loglinear(text, collapse=yes, **options) for yes in (True, False))
    assert one.facts["parameters"] <= all_.facts["parameters"]
    assert one.facts["objective"] == pytest.approx(all_.facts["objective"], rel=1e-8, abs=1e-8)
    for history in random_histories(one, 5):
        assert np.allclose(one.distribution(history), all_.distribution(history), atol=1e-6)


def test_tree_l2_and_weighted_features_cannot_be_collapsed(text):
    for options in ({"penalty": "tree-l2", "alpha": 1.0}, {"penalty": "l1", "alpha": 0.7}):
        with pytest.raises(OptionError, match="share a weight"):
            fit_loglinear(text, 3, collapse=True, **options)


def test_training_starts_from_kneser_ney(text):
    """The scores that training begins with are those of a back-off model: each context keeps back what it discounts."""
    trie = suffix_trie(stream_of(text), len(text.vocabulary), 2)
    loss = SuffixTrieLoss(trie, np.ones(trie.n_grams))
    found = loss.normalise(starting_scores(trie))
    p = found.e / found.Z[trie.context]
    # By hand, of the words after "the": bigrams with absolute discounts and Kneser-Ney's counts for the lower order.
    the = text.vocabulary["the"]
    u = int(np.flatnonzero((trie.depth == 1) & (trie.older == the))[0])
    grams = slice(trie.gram_ptr[u], trie.gram_ptr[u + 1])
    assert p[grams].sum() < 1
    lower = p[trie.up[grams]]
    kept_back = (1 - p[grams].sum()) / (1 - lower.sum())
    assert np.all(p[grams] > kept_back * lower)
    assert np.all(starting_scores(trie) >= 0)


def test_a_path_is_chosen_on_held_out_text(text):
    held_out = sentence_arrays([["the", "cat", "sat"], ["a", "dog"]], vocabulary=text.vocabulary)
    model, table = fit_loglinear_path(
        text, held_out, 2, lams=(0.1, 1.0, 3.0), alphas=(1.0, 1.2), max_iter=100
    )
    best = min(table, key=lambda row: row["perplexity"])
    assert (model.facts["lam"], model.facts["alpha"]) == (best["lam"], best["alpha"])
    assert model.perplexity(held_out).perplexity == pytest.approx(best["perplexity"])


def test_a_strong_penalty_leaves_nothing_and_a_weak_one_the_counts(text):
    nothing = fit_loglinear(text, 3, lam=1e4, max_iter=500)
    assert nothing.n_parameters == 0
    assert np.allclose(nothing.distribution(nothing.history(["the"], start=False)), 1 / nothing.n_outcomes)
    free = fit_loglinear(text, 2, penalty="none", lam=0.0, max_iter=3000, tol=1e-6)
    p = dict(free.next_words(["sat"], 3))
    assert p["on"] == pytest.approx(2 / 3, abs=0.01)  # sat on, sat on, sat </s>
    assert p["</s>"] == pytest.approx(1 / 3, abs=0.01)


def test_prox_of_the_metric_is_the_prox_of_scaled_groups(text):
    """min ½Σ D(u − v)² + tλΩ(u), u ≥ 0: checked against small perturbations."""
    trie = suffix_trie(stream_of(text), len(text.vocabulary), 2)
    loss = SuffixTrieLoss(trie, np.ones(trie.n_grams))
    scale = word_scale(loss)
    rng = np.random.default_rng(0)
    for name in ("tree-l2", "tree-linf", "l1", "l2"):
        penalty = trie_penalty(trie_spec(name, 0.7), trie, np.ones(trie.n_grams))
        v = rng.normal(size=trie.n_grams)
        u = v.copy()
        penalty.prox_in_metric(scale)(u, 2.0)

        def objective(u, v=v, penalty=penalty):
            return 0.5 * scale @ (u - v) ** 2 + 2.0 * penalty.value(u)

        for _ in range(200):
            other = np.maximum(
                u + rng.normal(size=len(u)) * rng.choice([1e-1, 1e-3]) * (rng.random(len(u)) < 0.1), 0
            )
            assert objective(other) >= objective(u) - 1e-12


def test_the_certificate_is_zero_at_the_optimum_only(text):
    trie = suffix_trie(stream_of(text), len(text.vocabulary), 2)
    loss = SuffixTrieLoss(trie, np.ones(trie.n_grams))
    scale = word_scale(loss)
    penalty = trie_penalty(trie_spec("tree-l2", 0.3), trie, np.ones(trie.n_grams))
    solution = solve(loss, penalty, "fista", metric=scale, check_every=10, tol=1e-8, max_iter=5000)
    assert solution.converged
    residual = penalty.residual(solution.w, loss.value_and_grad(solution.w)[1])
    assert np.abs(residual).max() < 1e-6
    elsewhere = solution.w + 0.1
    assert np.abs(penalty.residual(elsewhere, loss.value_and_grad(elsewhere)[1])).max() > 1e-2


# -- hierarchical softmax -----------------------------------------------------------------------------------------


def test_decisions_multiply_to_one(text):
    model = fit_hierarchical(text, 3, lam=0.1, max_iter=60)
    for history in random_histories(model):
        assert model.distribution(history).sum() == pytest.approx(1.0, abs=1e-12)
    stream = model.stream([*SENTENCES, ["the", "zebra", "cat"]])
    for log, i in zip(model.event_logprobs(stream), stream.events.tolist()):
        before = stream.ids[i - stream.room[i] : i]
        assert log == pytest.approx(np.log(model.distribution(before)[stream.ids[i]]), abs=1e-12)


def test_a_tree_with_one_inner_node_is_the_flat_model(text):
    names = [*text.vocabulary.words, "</s>"]
    flat = ClassTree(names, [len(names)] * len(names) + [-1])
    options = {"lam": 0.2, "alpha": 1.0, "tol": 1e-9, "max_iter": 5000}
    one = fit_hierarchical(text, 3, tree=flat, **options)
    other = fit_loglinear(text, 3, **options)
    assert one.facts["objective"] == pytest.approx(other.facts["objective"], rel=1e-10)
    history = other.history(["on", "the"], start=False)
    assert np.allclose(one.distribution(history), other.distribution(history), atol=1e-5)


def test_a_tree_of_classes_holds_every_word_once(text):
    classes = WordClasses(["the", "a", "cat", "dog"], [0, 0, 1, 1], paths=["0", "1"])
    tree = tree_of_classes(classes, text.vocabulary, len(text))
    assert tree.names == [*text.vocabulary.words, "</s>"]
    assert set(tree.paths().arity.tolist()) == {2}
    flat = tree_of_classes(WordClasses(["the", "a", "cat"], [0, 0, 1]), text.vocabulary, len(text))
    assert flat.names == tree.names
    with pytest.raises(OptionError, match="no word"):
        tree_of_classes(WordClasses(["zebra"], [0]), text.vocabulary, 1)


def test_a_tree_must_have_the_words(text):
    tree = huffman_tree(text.vocabulary, 4)
    again = fitting(ClassTree.from_newick(tree.to_newick()), text.vocabulary)
    assert again.names == tree.names
    assert np.array_equal(again.depths, tree.depths)
    with pytest.raises(OptionError, match="no leaf"):
        fitting(huffman_tree(Vocabulary.from_tokens(["the"]), 1), text.vocabulary)
    with pytest.raises(OptionError, match="not a word of the text"):
        fitting(tree, Vocabulary.from_tokens(["the"]))


def test_decisions_follow_the_codes(text):
    tree = huffman_tree(text.vocabulary, 4)
    of, _, branch = decisions(tree, np.array([3, 0, 3], np.int32))
    codes = tree.paths()
    ways = [branch[of == i].tolist() for i in range(3)]
    assert ways[0] == ways[2] == codes.branches[codes.ptr[3] : codes.ptr[4]].tolist()
    assert ways[1] == codes.branches[codes.ptr[0] : codes.ptr[1]].tolist()


# -- small and odd text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit", [fit_loglinear, fit_hierarchical])
@pytest.mark.parametrize("sentences", [[["a"]], [[]], [["a", "a", "a"]], [["a"], ["b"]]])
def test_tiny_text(fit, sentences):
    model = fit(sentence_arrays(sentences, unknown="<unk>"), 9, max_iter=50)
    assert model.distribution(model.history([], start=True)).sum() == pytest.approx(1.0)
    assert np.isfinite(model.perplexity([["a", "z"]]).perplexity)


def test_a_closed_vocabulary_skips_what_it_lacks():
    model = fit_loglinear(sentence_arrays(SENTENCES), 2, max_iter=50)
    known, other = model.perplexity([["the", "cat"]]), model.perplexity([["the", "cat", "zebra"]])
    assert (known.skipped, other.skipped, other.unknown) == (0, 1, 1)
    assert model.logprob(["zebra"])[0] == -np.inf


def test_the_conventions_of_perplexity(text):
    model = fit_loglinear(text, 2, max_iter=50)
    sentences = [["the", "zebra"], ["a", "cat"]]
    logs = [model.logprob(sentence) for sentence in sentences]
    every = model.perplexity(sentences)
    assert every.scored == 6
    assert every.log_likelihood == pytest.approx(sum(log.sum() for log in logs))
    assert model.perplexity(sentences, ends=False).scored == 4
    bare = model.perplexity(sentences, ends=False, unknown=False)
    assert (bare.scored, bare.skipped) == (3, 1)
    assert bare.log_likelihood == pytest.approx(logs[0][0] + logs[1][:2].sum())
    assert model.score(sentences[0]) == pytest.approx(logs[0].sum() / np.log(10))


def test_samples_are_sentences_of_the_model(text):
    model = fit_loglinear(text, 3, max_iter=50, lam=0.1)
    drawn = model.sample(20, random_state=1)
    assert drawn == model.sample(20, random_state=1)
    assert {word for sentence in drawn for word in sentence} <= set(text.vocabulary.words)
    assert all(sentence[:2] == ["the", "cat"] for sentence in model.sample(3, context=["the", "cat"]))


# -- files --------------------------------------------------------------------------------------------------------

FITS = {
    "flat": lambda text: fit_loglinear(text, 3, max_iter=30),
    "collapsed": lambda text: fit_loglinear(text, None, penalty="tree-linf", alpha=1.0, max_iter=30),
    "hierarchical": lambda text: fit_hierarchical(text, 3, max_iter=30),
}


@pytest.mark.parametrize("name", FITS)
def test_files_keep_the_model(text, name, tmp_path):
    model = FITS[name](text)
    model.save(tmp_path / "m")
    again = load_language_model(tmp_path / "m")
    stream = model.stream(SENTENCES)
    assert np.array_equal(again.event_logprobs(stream), model.event_logprobs(stream))
    assert again.facts == model.facts
    assert again.vocabulary == model.vocabulary


@pytest.mark.parametrize("name", FITS)
def test_damaged_arrays_are_refused(text, name, tmp_path):
    """Whatever one number of a tensor is changed to, a file is refused or the model still gives probabilities."""
    FITS[name](text).save(tmp_path / "m")
    file = read_model(tmp_path / "m")
    rng = np.random.default_rng(0)
    for tensor in sorted(file.tensors):
        if ":" in tensor or not file.tensors[tensor].size:
            continue
        for value in (-7, 3, 10**6):
            tensors = {key: array.copy() for key, array in file.tensors.items() if ":" not in key}
            array = tensors[tensor]
            array[rng.integers(array.size)] = np.array(value).astype(array.dtype)
            strings = {key: list(words) for key, words in file.strings.items()}
            write_model(tmp_path / "bad", file.kind, file.header, tensors, strings)
            try:
                model = load_language_model(tmp_path / "bad")
            except ModelFileError:
                continue
            assert np.all(model.event_logprobs(model.stream(SENTENCES)) <= 1e-9)
