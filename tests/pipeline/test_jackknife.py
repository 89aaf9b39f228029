"""Jack-knifing: nothing is tagged by a model that has seen it, and the order stays."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spinney.pipeline.jackknife import divided, jackknifed


@given(st.integers(2, 60), st.integers(2, 12))
def test_no_model_has_seen_what_it_tags(n, parts):
    things = list(range(n))
    trained = []

    def train(some):
        trained.append(some)
        return set(some)

    found = jackknifed(things, train, lambda model, some: [(thing, model) for thing in some], parts)
    assert [thing for thing, _ in found] == things
    assert all(model == set(things) - seen_by(things, thing, parts) for thing, model in found)
    assert all(thing not in model for thing, model in found)
    assert len(trained) == min(parts, n)


def seen_by(things, thing, parts):
    begin, end = next(bounds for bounds in divided(len(things), parts) if bounds[0] <= thing < bounds[1])
    return set(things[begin:end])


@given(st.integers(1, 1000), st.integers(1, 50))
def test_parts_are_even_and_complete(n, parts):
    bounds = divided(n, parts)
    sizes = [end - begin for begin, end in bounds]
    assert sum(sizes) == n
    assert max(sizes) - min(sizes) <= 1
    assert bounds[0][0] == 0
    assert all(a[1] == b[0] for a, b in pairwise(bounds))


def test_it_is_told_how_far_it_is():
    done = []
    jackknifed("abcdef", list, lambda model, some: some, 3, done.append)
    assert done == [1, 2, 3]


@pytest.mark.parametrize(("things", "parts"), [("ab", 1), ("a", 2), ("", 2)])
def test_too_little(things, parts):
    with pytest.raises(ValueError, match="two"):
        jackknifed(things, list, lambda model, some: some, parts)


def test_an_output_for_each():
    with pytest.raises(ValueError, match="outputs"):
        jackknifed("abcd", list, lambda model, some: some[1:])
