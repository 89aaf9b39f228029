"""map_reduce: the same sum to the last bit, whatever the threads do."""

from __future__ import annotations

import operator
import os
import threading
import time

import numpy as np
import pytest

from spinney.errors import OptionError
from spinney.parallel import default_threads, map_reduce


def uneven(i: int) -> np.ndarray:
    """Statistics of different magnitudes, whose sum depends on its order; early shards end late."""
    time.sleep(0.002 * (i % 3 == 0))
    return np.random.default_rng(i).standard_normal(50) * 10.0 ** (i % 17)


def test_repeatable_to_the_last_bit():
    expected = uneven(0)
    for i in range(1, 60):
        expected = expected + uneven(i)
    for threads in (1, 2, 3, 8):
        for _ in range(3):
            np.testing.assert_array_equal(map_reduce(uneven, range(60), threads=threads), expected)


def test_order_of_reduction():
    for threads in (1, 4):
        joined = map_reduce(str, range(30), threads=threads)
        assert joined == "".join(map(str, range(30)))


def test_one_thread_is_this_thread():
    here = threading.get_ident()
    assert map_reduce(lambda _: {threading.get_ident()}, range(5), threads=1, reduce=operator.or_) == {here}
    assert here not in map_reduce(lambda _: {threading.get_ident()}, range(5), threads=2, reduce=operator.or_)


@pytest.mark.parametrize("threads", [1, 3])
def test_few_results_wait(threads):
    made = reduced = most = 0
    lock = threading.Lock()

    def make(_: int) -> int:
        nonlocal made
        with lock:
            made += 1
        return 1

    def reduce(a: int, b: int) -> int:
        nonlocal reduced, most
        time.sleep(0.001)
        reduced += 1
        most = max(most, made - reduced)
        return a + b

    assert map_reduce(make, iter(range(100)), threads=threads, reduce=reduce) == 100
    assert most <= 2 * threads + 1


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_propagate_and_stop_the_rest(threads):
    called = []

    def fails(i: int) -> int:
        called.append(i)
        if i >= 3:
            raise RuntimeError(f"shard {i}")
        return i

    with pytest.raises(RuntimeError, match="shard 3"):
        map_reduce(fails, range(1000), threads=threads)
    assert len(called) < 20


def test_in_place_reduction_and_single_shard():
    parts = [np.ones(3) for _ in range(4)]
    total = map_reduce(lambda i: parts[i], range(4), threads=2, reduce=operator.iadd)
    assert total is parts[0]
    assert total.tolist() == [4.0] * 3
    assert map_reduce(abs, [-2], threads=2) == 2


def test_options():
    with pytest.raises(OptionError, match="threads must be a whole number of at least 1, not 0"):
        map_reduce(abs, [1], threads=0)
    with pytest.raises(TypeError, match="empty"):
        map_reduce(abs, [], threads=2)
    assert default_threads() == len(os.sched_getaffinity(0))
    assert map_reduce(abs, [-1, -2]) == 3
