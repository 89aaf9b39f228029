"""Values between processes of one machine, through files that both map."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from spinney import shared_files
from spinney.shared_files import Blocks, Maps, packed, shared_folder


@pytest.fixture
def folder():
    with shared_folder() as made:
        yield made


def test_blocks_are_used_again(folder):
    blocks, maps = Blocks(folder), Maps()
    paths = set()
    for i in range(5):
        value = {"large": np.full(100_000 - i, float(i)), "small": np.arange(3), "text": "x" * 10 * i}
        loan = blocks.put(value)
        value["large"][:] = -1.0  # what was put is a copy
        found, copied = maps.value(loan), maps.value(loan, copy=True)
        for one in (found, copied):
            np.testing.assert_array_equal(one["large"], np.full(100_000 - i, float(i)))
            assert (one["small"].tolist(), one["text"]) == ([0, 1, 2], "x" * 10 * i)
        assert not np.shares_memory(found["large"], copied["large"])
        copied["large"][0] = 7.0  # and may be written to
        assert found["large"][0] == i
        paths.add(loan.path)
        blocks.give_back(loan)
    assert len(paths) == 1


def test_blocks_that_are_lent_are_left_alone(folder):
    blocks, maps = Blocks(folder, spare=1), Maps()
    loans = [blocks.put(np.full(50_000, float(i))) for i in range(4)]
    assert [maps.value(loan)[-1] for loan in loans] == [0.0, 1.0, 2.0, 3.0]
    for loan in loans:
        blocks.give_back(loan)
    assert sum(os.path.exists(loan.path) for loan in loans) == 1


def test_small_values_and_long_pickles(folder):
    blocks, maps = Blocks(folder), Maps()
    loan = blocks.put([1, "two", np.ones(3)])
    assert loan.path == ""
    assert maps.value(loan)[1] == "two"
    words = [f"word {i}" for i in range(10_000)]
    loan = blocks.put(words)
    assert loan.path
    assert len(loan.pickled) < 1000
    assert maps.value(loan, copy=True) == words


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room is not asked for on this system")
def test_memory_that_is_full(folder, monkeypatch):
    real, asked = os.posix_fallocate, []

    def every_other_fails(number: int, offset: int, size: int) -> None:
        asked.append(size)
        if len(asked) % 2:
            raise OSError(errno.ENOSPC, "no space left")
        real(number, offset, size)

    monkeypatch.setattr(os, "posix_fallocate", every_other_fails)
    disk = os.path.join(folder, "disk")
    stored, loan = packed(np.arange(1000), folder), Blocks(folder).put(np.arange(10_000))
    assert os.path.dirname(stored.path) == os.path.dirname(loan.path) == disk
    assert stored.value().sum() == 499_500
    assert Maps().value(loan).sum() == 49_995_000


def test_what_a_killed_process_left_is_removed():
    code = (
        "import os, signal, sys\nfrom spinney.shared_files import shared_folder\n"
        "with shared_folder() as folder:\n"
        "    print(folder, os.path.realpath(folder + '/disk'), flush=True)\n    sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        left = child.stdout.readline().split()
        with shared_folder():
            assert all(map(os.path.isdir, left))  # its process is alive
        child.kill()
    assert all(map(os.path.isdir, left))
    with shared_folder() as own:
        assert not any(map(os.path.exists, left))
        assert os.path.isdir(own)
    assert not os.path.exists(own)
    assert shared_files._PREFIX in own
