"""Tasks for tests of clusters, in a module that worker processes can import."""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from spinney.errors import InputError


def uneven(scale: float, i: int) -> np.ndarray:
    """Statistics whose sum depends on its order."""
    return scale * np.random.default_rng(i).standard_normal(50_000) * 10.0 ** (i % 17)


def slow(i: int) -> np.ndarray:
    time.sleep(0.05)
    return uneven(1.0, i)


def of_kept(kept: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return kept * factor


def first_letter(path: str) -> str:
    with open(path) as file:
        return file.read(1)


def bad_line(i: int) -> None:
    raise InputError("3 columns where line 1 has 4", path="train.txt", line=i, remedy="add the missing label")


def suicide(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
