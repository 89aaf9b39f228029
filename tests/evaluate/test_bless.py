"""BLESS: both protocols against plain loops and scikit-learn, transforms by hand, the real file."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import zscore
from sklearn.metrics import average_precision_score, precision_recall_curve

from spinney.errors import InputError, OptionError
from spinney.evaluate import (
    Related,
    Transform,
    bless_boxes,
    bless_precision_recall,
    cross_pos,
    read_bless,
    similarity,
)
from spinney.structure import WordVectors

RELATIONS = ["coord", "hyper", "mero", "attri", "event", "random"]


def made(sparse: bool = False) -> tuple[WordVectors, list[Related], np.ndarray]:
    rng = np.random.default_rng(7)
    matrix = rng.dirichlet(np.full(6, 0.5), 80)
    vectors = WordVectors([f"w{i}" for i in range(80)], sp.csr_array(matrix) if sparse else matrix)
    pairs = [
        Related(f"w{concept}", f"w{relatum}", RELATIONS[rng.integers(6)])
        for concept in range(8)
        for relatum in rng.choice(np.arange(8, 80), 30, replace=False)
    ]
    return vectors, pairs, matrix


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("measure", ["hellinger", "cosine"])
def test_boxes_against_loops(measure, sparse):
    vectors, pairs, matrix = made(sparse)
    unknown = [Related("w0", "else", "coord"), Related("nobody", "w1", "coord")]
    boxes = bless_boxes(vectors, [*pairs, *unknown], measure)
    assert (boxes["concepts"], boxes["pairs"], boxes["coverage"]) == (8, 242, 240 / 242)
    assert list(boxes["scores"]) == sorted(RELATIONS)
    for concept in range(8):
        best = []
        for relation in sorted(RELATIONS):
            relata = [
                int(p.relatum[1:]) for p in pairs if p.concept == f"w{concept}" and p.relation == relation
            ]
            here = np.tile(matrix[concept], (len(relata), 1))
            best.append(similarity(here, matrix[relata], measure).max())
        found = [boxes["scores"][relation][concept] for relation in sorted(RELATIONS)]
        np.testing.assert_allclose(found, zscore(best), atol=1e-12)
    for relation, scores in boxes["scores"].items():
        np.testing.assert_allclose(boxes["quartiles"][relation], np.percentile(scores, [0, 25, 50, 75, 100]))


def test_ranking_against_scikit_learn():
    vectors, pairs, matrix = made()
    result = bless_precision_recall(vectors, pairs, "bhattacharyya")
    truth = np.array([pair.relation != "random" for pair in pairs])
    scores = np.array([np.sqrt(matrix[int(p.concept[1:])] * matrix[int(p.relatum[1:])]).sum() for p in pairs])
    parts = [slice(30 * i, 30 * i + 30) for i in range(8)]
    averages = [average_precision_score(truth[part], scores[part]) for part in parts]
    assert result["average_precision"] == pytest.approx(np.mean(averages))
    assert result["pooled"]["average_precision"] == pytest.approx(average_precision_score(truth, scores))
    precision, recall, _ = precision_recall_curve(truth, scores)
    np.testing.assert_allclose(result["pooled"]["precision"], precision[::-1])
    np.testing.assert_allclose(result["pooled"]["recall"], recall[::-1])
    interpolated = np.zeros(11)
    for part in parts:
        precision, recall, _ = precision_recall_curve(truth[part], scores[part])
        levels = [
            max(p for p, r in zip(precision, recall) if r > level - 1e-9) for level in np.arange(11) / 10
        ]
        interpolated += np.array(levels) / 8
    np.testing.assert_allclose(result["precision"], interpolated)
    assert (result["concepts"], result["coverage"]) == (8, 1.0)


def test_parts_of_speech_of_random_words():
    words = [
        "cat|NOUN",
        "cat|VERB",
        "big|ADJ",
        "run|VERB",
        "run|NOUN",
        "law|NOUN",
        "rome|PROPN",
        "soon|ADV",
        "plain",
    ]
    vectors = WordVectors(words, np.random.default_rng(0).random((9, 4)))
    pairs = [
        Related("cat", "big", "attri", "ADJ"),
        Related("cat", "run", "event", "VERB"),
        *(Related("cat", word, "random") for word in ["big", "run", "law", "Rome", "soon", "plain"]),
    ]
    boxes = bless_boxes(vectors, pairs)
    assert list(boxes["scores"]) == ["attri", "event", "random", "random-j", "random-n", "random-v"]
    assert boxes["scores"]["event"] == boxes["scores"]["random-v"]  # the same vector, run|VERB


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("structure", ["tree", "chain"])
def test_transforms_by_hand(structure, sparse):
    rng = np.random.default_rng(1)
    T = rng.dirichlet(np.ones(3), 3).T  # columns are distributions
    matrix = rng.dirichlet(np.ones(3), 4)
    vectors = WordVectors(
        ["cat|NOUN", "big|ADJ", "run|VERB", "law|NOUN"], sp.csr_array(matrix) if sparse else matrix
    )
    pairs = [
        Related("cat", "big", "attri", "ADJ"),
        Related("cat", "run", "event", "VERB"),
        Related("cat", "law", "random"),
    ]
    boxes = bless_boxes(vectors, pairs, transform=cross_pos(T, structure))
    cat, big, run, law = matrix
    moved = T.T if structure == "tree" else T
    # Grave 2014: adjectives move to nouns, but nouns to verbs
    by_hand = np.array([hellinger(cat, moved @ big), hellinger(moved @ cat, run), hellinger(cat, law)])
    found = [boxes["scores"][name][0] for name in ("attri", "event", "random-n")]
    np.testing.assert_allclose(found, zscore(-by_hand), atol=1e-12)


def hellinger(p: np.ndarray, q: np.ndarray) -> float:
    return float(((np.sqrt(p / p.sum()) - np.sqrt(q / q.sum())) ** 2).sum())


def test_transforms_help_where_parts_of_speech_share_no_class():
    # two topics; classes 0, 1 are of nouns, 2, 3 of adjectives; an adjective hangs below its noun
    T = np.array([[0.1, 0.1, 0.5, 0.5], [0.1, 0.1, 0.5, 0.5], [0.7, 0.1, 0, 0], [0.1, 0.7, 0, 0]])
    matrix = [[0.9, 0.1, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]]
    vectors = WordVectors(["cat|NOUN", "furry|ADJ", "legal|ADJ"], matrix)
    pairs = [Related("cat", "furry", "attri", "ADJ"), Related("cat", "legal", "random")]
    assert (
        bless_precision_recall(vectors, pairs)["average_precision"] == 0.5
    )  # both have nothing in common with it
    moved = bless_precision_recall(vectors, pairs, transform=cross_pos(T))
    assert moved["average_precision"] == 1.0


def test_concepts_that_say_nothing():
    vectors = WordVectors(["a", "b", "c"], [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    pairs = [Related("a", "b", "coord"), Related("a", "c", "random"), Related("b", "a", "coord")]
    boxes = bless_boxes(vectors, pairs)  # equally far, and one relation alone
    assert (boxes["concepts"], boxes["scores"], boxes["coverage"]) == (0, {}, 1.0)
    with pytest.raises(InputError, match="no concept has vectors for both related and random words"):
        bless_precision_recall(vectors, pairs[2:])


def test_bad_transforms():
    vectors = WordVectors(["a", "b"], np.eye(2))
    pairs = [Related("a", "b", "attri", "ADJ"), Related("a", "b", "random")]
    with pytest.raises(OptionError, match=r"a transform of shape \(3, 3\) cannot be applied to 2 dimensions"):
        bless_boxes(vectors, pairs, transform={"ADJ": Transform(np.eye(3))})
    with pytest.raises(OptionError, match="a transform must be for 'relatum' or 'concept', not for 'noun'"):
        bless_boxes(vectors, pairs, transform={"ADJ": Transform(np.eye(2), "noun")})


def test_original_layout(tmp_path):
    path = tmp_path / "BLESS.txt"
    path.write_text(
        "alligator-n\tamphibian_reptile\tattri\taggressive-j\n"
        "alligator-n\tamphibian_reptile\trandom-v\tfly-v\n"
        "t-shirt-n\tclothing\tcoord\ttank-top-n\n"
    )
    assert read_bless(path) == [
        Related("alligator", "aggressive", "attri", "ADJ"),
        Related("alligator", "fly", "random-v", "VERB"),
        Related("t-shirt", "tank-top", "coord", "NOUN"),
    ]


def test_words_of_another_part_of_speech_are_not_taken():
    """A concept is a noun, an event a verb: what the vocabulary has only as something else has no vector."""
    words = ["saw|NOUN", "cut|VERB", "cut|NOUN", "hammer|VERB", "sharp|ADV", "law|NOUN", "soon|ADV"]
    vectors = WordVectors(words, np.random.default_rng(1).dirichlet(np.ones(3), len(words)))
    pairs = [
        Related("saw", "cut", "event", "VERB"),
        Related("saw", "hammer", "coord", "NOUN"),
        Related("saw", "sharp", "attri", "ADJ"),
        Related("saw", "law", "random"),
        Related("saw", "soon", "random"),
        Related("hammer", "law", "random"),
    ]
    boxes = bless_boxes(vectors, pairs)
    assert list(boxes["scores"]) == ["event", "random-n"]
    assert (boxes["concepts"], boxes["coverage"]) == (1, 2 / 6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": the file is empty"),
        (
            "a-n\tx\tcoord\tb-n\na-n\tcoord\tb-n\n",
            ":2: 3 columns where concept, class, relation and word are needed",
        ),
        ("a-n\tx\tcoord\tb\n", ":1: 'b' does not end in a part of speech (such as -n, -j or -v)"),
        (
            "word1,word2\na,b\n",
            ":1: no column 'relation': the columns are 'word1', 'word2' (columns word1, word2, relation are needed)",
        ),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "bless"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_bless(path)
    assert str(caught.value) == f"{path}{message}"


def test_the_real_file(data):
    pairs = read_bless(data / "word_similarity/vecto/semantic-relation/bless.csv.xz")
    assert len(pairs) == len(set(pairs))
    assert len({pair.concept for pair in pairs}) == 200
    # 26,553 lines, less 240 that repeat one and 3 of no relation
    assert Counter(pair.relation for pair in pairs).total() == 26_310
    assert {(pair.relation, pair.pos) for pair in pairs} == {
        ("attri", "ADJ"),
        ("coord", "NOUN"),
        ("event", "VERB"),
        ("hyper", "NOUN"),
        ("mero", "NOUN"),
        ("random", None),
    }
    words = sorted({word for pair in pairs for word in (pair.concept, pair.relatum)})
    vectors = WordVectors(words, np.random.default_rng(0).dirichlet(np.ones(10), len(words)))
    boxes = bless_boxes(vectors, pairs)
    assert boxes["coverage"] == 1.0
    assert {relation: len(scores) for relation, scores in boxes["scores"].items()} == dict.fromkeys(
        RELATIONS, 200
    )
    ranking = bless_precision_recall(vectors, pairs)
    share = np.mean([pair.relation != "random" for pair in pairs])
    assert ranking["pooled"]["average_precision"] == pytest.approx(
        share, abs=0.02
    )  # vectors that know nothing


def test_the_other_real_file(data):
    pairs = read_bless(data / "word_similarity/vecto/semantic-relation/sn.csv.xz")
    assert len(pairs) == 14_680
    assert {pair.relation for pair in pairs} == {"coord", "random"}
