"""Maps of words and trees for pages: any words, any vectors, always the same."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from spinney.report import outline as outlines
from spinney.report.maps import word_map
from spinney.report.outline import DRAWN, outline
from spinney.structure import WordVectors
from spinney.structure.maps import COMPARED, label, map_points, word_places
from spinney.views import Node, Point, grown

HOSTILE = '</script><img src=x onerror="alert(1)">'
STRANGE = [HOSTILE, "\u0301\u0300", "שלום", "مرحبا", " ", "", "a\u202eb", "x" * 500, "\x00", "😀"]


class Read(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.values, self.text = [], {}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.values.update(attrs)

    def handle_data(self, data):
        self.text.append(data)


def test_strange_words_stay_words():
    rng = np.random.default_rng(0)
    vectors = WordVectors(STRANGE, rng.normal(size=(len(STRANGE), 5)))
    drawn = word_map(map_points(vectors, STRANGE, notes=STRANGE), caption=HOSTILE)
    read = Read(drawn)
    assert "img" not in read.tags
    assert read.tags.count("circle") == read.tags.count("text") == len(STRANGE)
    data = json.loads(read.values["data-map"])
    assert data["words"][2:4] == STRANGE[2:4]
    assert data["notes"][0] == HOSTILE
    assert "nan" not in json.dumps(data).lower()
    assert len(drawn) < 20_000


def test_labels_can_be_seen():
    assert label("\u0301\u0300") == "◌\u0301\u0300"
    assert label("\t") == label("") == "␣"
    assert len(label("x" * 500)) == 24


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((0, 3)),
        np.zeros((1, 3)),
        np.ones((2, 3)),
        np.ones((40, 3)),  # all alike
        np.eye(2)[np.arange(30) % 2],  # in two places, two numbers each
        np.arange(30.0)[:, None],  # one number each
        np.repeat(np.eye(5), 8, axis=0),  # in five places
        np.random.default_rng(0).normal(size=(60, 2)),
        np.random.default_rng(0).normal(size=(60, 30)) * 1e-200,
    ],
)
def test_places_are_in_the_map_and_apart(rows):
    places = word_places(rows)
    assert places.shape == (len(rows), 2)
    assert np.isfinite(places).all()
    assert places.min(initial=0.0) >= 0
    assert places.max(initial=1.0) <= 1
    assert np.array_equal(places, word_places(rows))
    if len(rows) > 12 and rows.std() > 1e-9:
        assert len(np.unique(places.round(4), axis=0)) == len(rows)


def test_similar_words_stand_together():
    rng = np.random.default_rng(0)
    centres = 5 * rng.normal(size=(4, 10))
    kinds = np.arange(80) % 4
    places = word_places(centres[kinds] + 0.3 * rng.normal(size=(80, 10)))
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(80)
    assert np.mean(kinds[apart.argmin(axis=1)] == kinds) > 0.95


def test_neighbours_of_many_words_are_frequent_ones():
    words = [f"w{i}" for i in range(COMPARED + 50)]
    angle = np.linspace(0, 3, len(words))
    vectors = WordVectors(words, np.column_stack([np.cos(angle), np.sin(angle)]))
    last = map_points(vectors, [words[-1], words[0]])[0]
    assert [word for word, _ in last.near][:2] == [f"w{COMPARED - 1}", f"w{COMPARED - 2}"]


def test_a_vector_of_zeros_has_a_place():
    for metric in ("cosine", "hellinger"):
        vectors = WordVectors(["a", "b", "c"], [[0.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
        for point in map_points(vectors, ["a", "b", "c"], metric=metric):
            assert np.isfinite([point.x, point.y, *(s for _, s in point.near)]).all()
    assert word_map([]).count("<circle") == 0
    assert map_points(vectors, []) == []


def test_numbers_of_a_map_are_short():
    drawn = word_map([Point("a", 1 / 3, 2 / 3, near=[("b", 1 / 3)])])
    assert re.search(r"\d\.\d{5}", drawn) is None


# ---------------------------------------------------------------------------------------------- trees


def chain(depth):
    """A tree that has one leaf at each level: leaves are 0 … depth, inner nodes follow."""
    inner = [depth + 1 + i for i in range(depth)]
    parent = [inner[min(i, depth - 1)] for i in range(depth + 1)] + [-1, *inner[:-1]]
    return grown(parent, [Node(f"leaf {i}") for i in range(depth + 1)], range(len(parent)))


def test_deep_trees_are_drawn_without_end():
    (root,) = chain(5000)
    assert root.size == 5001
    drawn = outline([root])
    assert drawn.count("<details") == outlines._DEEP
    assert drawn.count("<ul>") == drawn.count("</ul>")
    assert len(drawn) < 20_000


def test_wide_trees_are_cut():
    parent = [10_000] * 10_000 + [-1]
    drawn = outline(grown(parent, [Node(f"leaf {i}") for i in range(10_000)], range(10_001)))
    assert drawn.count('class="leaf"') == DRAWN
    assert f"… {10_000 - DRAWN:,} more" in drawn


def test_large_branches_are_drawn_first():
    n = 4096
    parent, row = [], list(range(n))
    nodes = n
    while len(row) > 1:
        pairs = [nodes + i // 2 for i in range(len(row))]
        parent += pairs
        row = sorted(set(pairs))
        nodes += len(row)
    parent.append(-1)
    drawn = outline(grown(parent, [Node(str(i)) for i in range(n)], range(len(parent))))
    assert drawn.count("<li") <= DRAWN + 10
    assert "4,096 leaves" in drawn


def test_hostile_leaves_stay_text():
    drawn = outline(grown([2, 2, -1], [Node(HOSTILE, HOSTILE), Node("b")], range(3)), leaves=HOSTILE)
    assert "img" not in Read(drawn).tags
    assert outline([]).count("<li") == 0
