from __future__ import annotations

import pytest

from spinney.corpus.conllu import Sentence
from spinney.corpus.surface import SurfaceToken, surface_tokens
from spinney.errors import InputError


def test_tokens_between_words_and_empty_nodes():
    blanks = "\t_" * 7
    sentence = Sentence(
        ["a", "b", "c", "d"],
        misc=["_", "_", "_", "SpaceAfter=No"],
        extras=[(1, f"2-3\tbc{blanks}\tX=Y"), (2, f"2.1\tnone{blanks}\t_")],
    )
    assert surface_tokens(sentence) == [
        SurfaceToken("a", "_", 0, 1, False),
        SurfaceToken("bc", "X=Y", 1, 3, True),
        SurfaceToken("d", "SpaceAfter=No", 3, 4, False),
    ]


@pytest.mark.parametrize("extras", [[(0, "1-2"), (1, "2-3")], [(0, "1-4")], [(1, "2-1")]])
def test_out_of_place(extras):
    lines = [(before, f"{numbers}\tx" + "\t_" * 8) for before, numbers in extras]
    with pytest.raises(InputError, match="out of place or overlaps"):
        surface_tokens(Sentence(["a", "b", "c"], extras=lines))
