"""Phrases: made-up files in the layouts of the published sets, composition by relation by hand, deviance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, ttest_ind

from spinney.errors import InputError, OptionError
from spinney.evaluate import (
    Clause,
    ClausePair,
    JudgedPhrase,
    Phrase,
    PhrasePair,
    compose,
    composition_correlation,
    deviance_scores,
    read_comparisons,
    read_deviance,
    read_phrase_pairs,
    similarity,
)
from spinney.structure import WordVectors

RNG = np.random.default_rng(5)
WORDS = ["new|ADJ", "old|ADJ", "law|NOUN", "tax|NOUN", "use|VERB", "use|NOUN", "pay|VERB", "man|NOUN"]
ROWS = RNG.dirichlet(np.ones(3), len(WORDS))
VECTORS = WordVectors(WORDS, ROWS)
RELATIONS = ("nsubj", "obj", "amod", "compound")
OWN = {name: RNG.dirichlet(np.ones(3), 3).T for name in RELATIONS}


def row(word):
    return ROWS[WORDS.index(word)]


def test_mitchell_and_lapata(tmp_path):
    path = tmp_path / "ml.txt"
    lines = [
        "participant type version w1 w2 w3 w4 score",
        "p1 adjectivenouns 1 new law old tax 5",
        "p2 adjectivenouns 2 new law old tax 2",
        "p1 compoundnouns 1 tax law law use 3",
        "p1 verbobjects 1 tax pay law use 7",
    ]
    expected = [
        PhrasePair(Phrase("adjective-noun", "law", "new"), Phrase("adjective-noun", "tax", "old"), 3.5, 2),
        PhrasePair(Phrase("noun-noun", "law", "tax"), Phrase("noun-noun", "use", "law"), 3.0, 1),
        PhrasePair(Phrase("verb-object", "pay", "tax"), Phrase("verb-object", "use", "law"), 7.0, 1),
    ]
    for kept in (lines, lines[1:]):  # with a header and without
        path.write_text("\n".join(kept) + "\n\n")
        assert read_phrase_pairs(path) == expected
        assert read_comparisons(path) == expected


def test_grefenstette_and_sadrzadeh(tmp_path):
    path = tmp_path / "gs.txt"
    path.write_text(
        "participant verb subject object landmark input hilo\n"
        "p1 use man law pay 6 HIGH\np2 use man law pay 3 HIGH\np1 pay man tax use 1 LOW\n"
    )
    use, pay = Clause("man", "use", "law"), Clause("man", "pay", "tax")
    assert read_comparisons(path) == [
        ClausePair(use, use._replace(verb="pay"), 4.5, 2),
        ClausePair(pay, pay._replace(verb="use"), 1.0, 1),
    ]


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_phrase_pairs, "p1 adjectivenouns 1 new law old 5\n", ":1: 7 columns where person, kind"),
        (read_phrase_pairs, "p1 adverbs 1 new law old tax 5\n", ":1: 'adverbs' is not a kind of phrase"),
        (read_phrase_pairs, "a b\np1 verbobjects 1 a b c d x\n", ":2: 'x' is not a number"),
        (read_comparisons, "p verb subject object landmark input\n1 2 3\n", ":2: 3 columns where the first"),
        (read_comparisons, "p verb subject object landmark\n1 2 3 4 5\n", ":1: no column 'input'"),
        (read_deviance, "new law acceptable\nold man odd\n", ":2: a line needs an adjective, a noun"),
        (read_deviance, "new acceptable\n", ":1: a line needs an adjective, a noun"),
    ],
)
def test_bad_lines(tmp_path, reader, text, message):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        reader(path)


def test_empty_files_have_nothing(tmp_path):
    path = tmp_path / "empty.txt"
    path.write_text("\n")
    assert read_comparisons(path) == read_phrase_pairs(path) == read_deviance(path) == []


@pytest.mark.parametrize("operator", ["baseline", "add", "mult", "t-add", "t-mult"])
def test_each_relation_moves_by_its_own_transitions(operator):
    """Words by their part of speech, relations by theirs, and the dependents of all three kinds of phrases."""
    phrases = [
        PhrasePair(Phrase("adjective-noun", "law", "new"), Phrase("adjective-noun", "tax", "old"), 1.0),
        PhrasePair(Phrase("noun-noun", "law", "tax"), Phrase("noun-noun", "use", "man"), 4.0),
        PhrasePair(Phrase("verb-object", "use", "law"), Phrase("verb-object", "pay", "man"), 2.0),
    ]
    parts = [
        ("amod", ("law|NOUN", "new|ADJ"), ("tax|NOUN", "old|ADJ")),
        ("compound", ("law|NOUN", "tax|NOUN"), ("use|NOUN", "man|NOUN")),
        ("obj", ("use|VERB", "law|NOUN"), ("pay|VERB", "man|NOUN")),
    ]

    def by_hand(relation, head, dependent):
        u, v = row(head), row(dependent)
        moved = np.array([sum(OWN[relation][i, j] * v[i] for i in range(3)) for j in range(3)])
        p = {"baseline": u, "add": u + v, "mult": u * v, "t-add": u + moved, "t-mult": u * moved}[operator]
        return p / p.sum()

    sides = [np.array([by_hand(part[0], *part[side]) for part in parts]) for side in (1, 2)]
    expected = pearsonr(similarity(*sides, "hellinger"), [1.0, 4.0, 2.0]).statistic
    found = composition_correlation(VECTORS, phrases, OWN, operator)
    assert found["pearson"] == pytest.approx(expected, abs=1e-12)
    assert found["n"] == 3


def test_clauses_have_subjects_and_objects_of_their_own():
    pairs = [
        ClausePair(Clause("man", "use", "law"), Clause("law", "pay", "tax"), 1.0),
        ClausePair(Clause("tax", "pay", "law"), Clause("man", "pay", "tax"), 2.0),
        ClausePair(Clause("man", "pay", "man"), Clause("law", "use", "tax"), 5.0),
    ]
    stacked = np.stack([OWN["nsubj"], OWN["obj"]])
    sides = [[], []]
    for pair in pairs:
        for side, clause in zip(sides, pair):
            nouns = row(f"{clause.subject}|NOUN"), row(f"{clause.object}|NOUN")
            side.append(compose(row(f"{clause.verb}|VERB"), [nouns[0]], [nouns[1]], T=stacked))
            moved = OWN["nsubj"].T @ nouns[0] * (OWN["obj"].T @ nouns[1]) * row(f"{clause.verb}|VERB")
            np.testing.assert_allclose(side[-1], moved / moved.sum(), atol=1e-15)
    expected = pearsonr(similarity(*map(np.array, sides), "hellinger"), [1.0, 2.0, 5.0]).statistic
    assert composition_correlation(VECTORS, pairs, OWN)["pearson"] == pytest.approx(expected, abs=1e-12)
    with pytest.raises(OptionError, match="no transitions of 'obj'"):
        composition_correlation(VECTORS, pairs, {"nsubj": OWN["nsubj"]})
    with pytest.raises(OptionError, match="transitions of 2 relations for 1 dependents"):
        compose(ROWS[0], [ROWS[1]], T=stacked)


@pytest.mark.parametrize("structure", ["tree", "chain"])
def test_deviance_of_a_set(tmp_path, structure):
    path = tmp_path / "an.txt"
    path.write_text(
        "adjective noun class\nnew law acceptable\nold\tman\tacceptable\nnew-j_tax-n deviant\n"
        "old_law deviant\nold tax deviant\ngreen idea deviant\n"
    )
    phrases = read_deviance(path)
    assert phrases[2] == JudgedPhrase("new", "tax", True)
    T = OWN["amod"]

    def plausible(adjective, noun):
        v, u = row(f"{adjective}|ADJ"), row(f"{noun}|NOUN")
        return v @ T @ u if structure == "tree" else u @ T @ v

    good = [plausible("new", "law"), plausible("old", "man")]
    bad = [plausible("new", "tax"), plausible("old", "law"), plausible("old", "tax")]
    expected = ttest_ind(bad, good, equal_var=False)
    found = deviance_scores(VECTORS, phrases, T, structure)
    assert found["t"] == pytest.approx(expected.statistic, abs=1e-12)
    assert found["p"] == pytest.approx(expected.pvalue, abs=1e-12)
    assert (found["n_deviant"], found["n_acceptable"], found["phrases"]) == (3, 2, 6)
    assert found["coverage"] == pytest.approx(5 / 6)
    with pytest.raises(InputError, match="1 deviant and 1 acceptable phrases have vectors"):
        deviance_scores(VECTORS, phrases[1:3], T, structure)
