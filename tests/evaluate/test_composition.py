"""Composition: operators by hand, both structures, correlation against SciPy, the real sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import pearsonr, spearmanr, ttest_ind

from spinney.errors import InputError, OptionError
from spinney.evaluate import (
    Clause,
    ClausePair,
    compose,
    composition_correlation,
    deviance,
    deviance_test,
    head_space,
    read_composition,
    similarity,
    transitive,
)
from spinney.structure import WordVectors

RNG = np.random.default_rng(11)
T = RNG.dirichlet(np.ones(4), 4).T  # T[child, parent]: columns are distributions
U, V, W = RNG.dirichlet(np.ones(4), (3, 5))
OPERATORS = ["baseline", "add", "mult", "t-add", "t-mult"]


def by_hand(u, subject, object_, operator, structure):
    """One verb with a subject and an object, an entry at a time."""
    moved_subject, moved_object = np.zeros(4), np.zeros(4)
    for child in range(4):
        for parent in range(4):
            moved_object[parent] += T[child, parent] * object_[child]
            if structure == "tree":
                moved_subject[parent] += T[child, parent] * subject[child]
            else:  # the subject is the earlier, so the column
                moved_subject[child] += T[child, parent] * subject[parent]
    p = {
        "baseline": u,
        "add": u + subject + object_,
        "mult": u * subject * object_,
        "t-add": u + moved_subject + moved_object,
        "t-mult": u * moved_subject * moved_object,
    }[operator]
    return p / p.sum()


@pytest.mark.parametrize("structure", ["tree", "chain"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_by_hand(operator, structure):
    expected = np.array([by_hand(u, v, w, operator, structure) for u, v, w in zip(U, V, W)])
    found = compose(U, [V], [W], T=T, operator=operator, structure=structure)
    np.testing.assert_allclose(found, expected, atol=1e-15)
    single = compose(U[0], [V[0]], [W[0]], T=T, operator=operator, structure=structure)
    assert single.shape == (4,)
    np.testing.assert_allclose(single, expected[0], atol=1e-15)


def test_the_product_is_a_posterior():
    # In a tree, u * Tᵀv is the distribution of the head's class given evidence u on it and v on its child.
    evidence = np.array(
        [[T[child, parent] * U[0, parent] * V[0, child] for child in range(4)] for parent in range(4)]
    )
    np.testing.assert_allclose(compose(U[0], [V[0]], T=T), evidence.sum(axis=1) / evidence.sum(), atol=1e-15)


def test_zero_and_tiny_products():
    assert compose([1.0, 0.0], [[0.0, 1.0]], operator="mult").tolist() == [0, 0]
    tiny = compose([1e-60, 3e-60], [[1e-60, 1e-60]], operator="mult")
    np.testing.assert_allclose(tiny, [0.25, 0.75])
    assert compose([[1.0, 3.0]]).tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize("structure", ["tree", "chain"])
def test_deviance_by_hand(structure):
    noun, adjective = U[0], V[0]
    expected = sum(
        adjective[i] * T[i, j] * noun[j] if structure == "tree" else noun[i] * T[i, j] * adjective[j]
        for i in range(4)
        for j in range(4)
    )
    assert deviance(noun, adjective, T, structure) == pytest.approx(expected, abs=1e-15)
    np.testing.assert_allclose(deviance(U, V, T, structure)[0], expected)
    assert deviance(U, V, T, structure).shape == (5,)


def test_welch():
    deviant, acceptable = RNG.normal(0, 1, 20), RNG.normal(1, 2, 30)
    found = deviance_test(deviant, acceptable)
    difference = np.mean(deviant) - np.mean(acceptable)
    a, b = np.var(deviant, ddof=1) / 20, np.var(acceptable, ddof=1) / 30
    assert found["t"] == pytest.approx(difference / math.sqrt(a + b))
    assert found["df"] == pytest.approx((a + b) ** 2 / (a**2 / 19 + b**2 / 29))
    assert found["p"] == pytest.approx(ttest_ind(deviant, acceptable, equal_var=False).pvalue)
    assert found["t"] < 0


def test_what_is_refused():
    with pytest.raises(OptionError, match=r"operator must be baseline, .*, not 'max'"):
        compose(U, operator="max")
    with pytest.raises(OptionError, match="'t-add' and 't-mult' need transitions: give T"):
        compose(U, [V])
    with pytest.raises(OptionError, match="structure must be 'tree' or 'chain', not 'star'"):
        head_space(T, "star")
    with pytest.raises(OptionError, match="the transitions must be a square matrix"):
        head_space(T[:3])
    with pytest.raises(OptionError, match="transitions between 3 classes, but vectors of 4 numbers"):
        compose(U, [V], T=T[:3, :3])
    with pytest.raises(OptionError, match="heads and dependents must be equally many vectors"):
        compose(U, [V[0]], T=T)
    with pytest.raises(OptionError, match="nouns and adjectives must be equally many vectors"):
        deviance(U, V[0], T)
    with pytest.raises(OptionError, match="second must be 'composed' or 'bare', not 'none'"):
        composition_correlation(WordVectors(["a"], [[1.0]]), [], second="none")


def made(n: int) -> tuple[WordVectors, list[ClausePair], np.ndarray]:
    rng = np.random.default_rng(4)
    matrix = rng.dirichlet(np.ones(4), 30)
    nouns, verbs = [f"n{i}" for i in range(20)], [f"v{i}" for i in range(10)]
    comparisons = []
    for _ in range(n):
        a, b, c, d, e = rng.integers(0, 20, 5).tolist()
        v, w = rng.integers(0, 10, 2).tolist()
        first = Clause(f"n{a}", f"v{v}", f"n{b}", f"n{e}")
        comparisons.append(ClausePair(first, Clause(f"n{c}", f"v{w}", f"n{d}", f"n{e}"), float(rng.random())))
    return (
        WordVectors([f"{w}|NOUN" for w in nouns] + [f"{w}|VERB" for w in verbs], matrix),
        comparisons,
        matrix,
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("second", ["composed", "bare"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_correlation_against_scipy(operator, second, sparse):
    vectors, comparisons, _ = made(25)
    if sparse:
        vectors = WordVectors(vectors.words, sp.csr_array(vectors.matrix))
    comparisons = transitive(comparisons)
    unknown = ClausePair(Clause("n0", "v0", "n1"), Clause("n0", "fly", "n1"), 3.0)
    found = composition_correlation(vectors, [*comparisons, unknown], T, operator, "chain", second=second)

    def composed(clause, operator):
        roles = (clause.verb + "|VERB", clause.subject + "|NOUN", clause.object + "|NOUN")
        return by_hand(*(vectors[key] for key in roles), operator, "chain")

    first = np.array([composed(c.first, operator) for c in comparisons])
    last = np.array(
        [composed(c.second, operator if second == "composed" else "baseline") for c in comparisons]
    )
    ours, human = similarity(first, last), [c.score for c in comparisons]
    assert found["pearson"] == pytest.approx(pearsonr(ours, human).statistic)
    assert found["spearman"] == pytest.approx(spearmanr(ours, human).statistic)
    assert (found["n"], found["items"], found["coverage"]) == (25, 26, 25 / 26)


def test_the_other_subject_counts():
    vectors, comparisons, matrix = made(12)
    found = composition_correlation(vectors, comparisons, operator="add", measure="cosine")

    def composed(clause):
        return sum(matrix[int(word[1:]) + (20 if word[0] == "v" else 0)] for word in clause)

    first, last = (np.array([composed(c[side]) for c in comparisons]) for side in (0, 1))
    ours = (first * last).sum(axis=1) / np.linalg.norm(first, axis=1) / np.linalg.norm(last, axis=1)
    assert found["pearson"] == pytest.approx(pearsonr(ours, [c.score for c in comparisons]).statistic)


def test_no_comparison_has_all_its_words():
    vectors = WordVectors(["a"], [[1.0, 2.0]])
    clause = Clause("a", "b", "c")
    found = composition_correlation(vectors, [ClausePair(clause, clause, 1.0)], operator="add")
    assert (found["n"], found["items"], found["coverage"]) == (0, 1, 0.0)
    assert math.isnan(found["pearson"])
    assert composition_correlation(vectors, [], operator="add")["coverage"] == 0.0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "p\ta b c and d does too\ta b c and d does\t3",
            ":2: 'a b c and d does' is not a sentence of the form",
        ),
        ("p\ta b c and d does too\ta b c and d does too\tx", ":2: 'x' is not a number"),
        ("p\ta b c and d does too\t3", ":2: 3 columns where the first line has 4"),
    ],
)
def test_bad_files(tmp_path, line, message):
    path = tmp_path / "ell.txt"
    path.write_text(f"participant\tsent1\tsent2\tscore\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_composition(path)
    assert str(caught.value).startswith(f"{path}{message}")


@pytest.mark.parametrize(
    ("name", "judgements", "pairs", "clauses"),
    # the second numbers of pairs are those of Grefenstette & Sadrzadeh 2011 and Kartsaklis & Sadrzadeh 2013
    [("ELLDIS", 9167, 398, 199), ("ELLSIM", 9842, 432, 108)],
)
def test_real_sets(data, name, judgements, pairs, clauses):
    path = data / "composition" / f"{name}.txt.xz"
    comparisons = read_composition(path, second_subjects=True)
    assert (len(comparisons), sum(c.raters for c in comparisons)) == (pairs, judgements)
    plain = read_composition(path)
    assert plain == transitive(comparisons)
    assert (len(plain), sum(c.raters for c in plain)) == (clauses, judgements)
    assert all(1 <= c.score <= 7 for c in plain)
    total = sum(c.score * c.raters for c in comparisons)
    assert sum(c.score * c.raters for c in plain) == pytest.approx(total)
    if name == "ELLDIS":
        assert all(c.first._replace(verb=c.second.verb) == c.second for c in comparisons)
    words = sorted({word for c in plain for clause in c[:2] for word in clause if word})
    vectors = WordVectors(words, np.random.default_rng(0).dirichlet(np.ones(4), len(words)))
    found = composition_correlation(vectors, plain, T, second="bare")
    assert (found["n"], found["coverage"]) == (clauses, 1.0)
