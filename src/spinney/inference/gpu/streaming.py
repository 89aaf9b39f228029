"""Batches that are laid out while the one before is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from spinney.inference.gpu.layout import Layout, Sentences, laid_out

_AHEAD = 2  # batches that wait for the card


def pieces(
    ids: NDArray[Any],
    offsets: NDArray[Any],
    heads: NDArray[Any] | None = None,
    kinds: Any = None,
    *,
    tokens: int,
) -> Iterator[Sentences]:
    """A text in parts of consecutive sentences, about ``tokens`` each; nothing is read before its part is asked for.

    Examples
    --------
    >>> text = np.arange(6, dtype=np.int32), np.array([0, 2, 4, 6])
    >>> [part.ids.tolist() for part in pieces(*text, tokens=4)]
    [[0, 1, 2, 3], [4, 5]]
    """
    first, last = 0, len(offsets) - 1
    while first < last:
        goal = int(offsets[first]) + tokens
        end = int(np.searchsorted(offsets, goal, side="right")) - 1
        end = min(max(end, first + 1), last)
        a, b = int(offsets[first]), int(offsets[end])
        if b > a:
            yield Sentences(
                ids[a:b],
                np.asarray(offsets[first : end + 1], np.int64) - a,
                None if heads is None else heads[a:b],
                None if kinds is None else kinds[a:b],
            )
        first = end


def batches(sentences: Iterable[Sentences], n_kinds: int, device: torch.device) -> Generator[Layout]:
    """The layouts of batches of sentences; for a card they are made by a thread, on a stream of its own."""
    if device.type != "cuda":
        for some in sentences:
            yield laid_out(some, n_kinds, device)
        return
    ready: queue.Queue[Any] = queue.Queue(_AHEAD)
    stop = threading.Event()
    thread = threading.Thread(target=_lay_out, args=(sentences, n_kinds, device, ready, stop), daemon=True)
    thread.start()
    main = torch.cuda.current_stream(device)
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            layout, laid = item
            main.wait_event(laid)
            for tensor in layout.tensors():
                tensor.record_stream(main)  # so that its memory is not given away while it is used here
            yield layout
    finally:
        stop.set()
        while thread.is_alive():
            try:
                ready.get(timeout=0.05)
            except queue.Empty:
                continue
        thread.join()


def _lay_out(
    sentences: Iterable[Sentences], n_kinds: int, device: torch.device, ready: queue.Queue[Any], stop: Any
) -> None:
    try:
        cuda: Any = torch.cuda
        cuda.set_device(device)
        stream = cuda.Stream(device)
        with cuda.stream(stream):
            for some in sentences:
                if stop.is_set():
                    return
                layout = laid_out(some, n_kinds, device)
                laid = cuda.Event()
                laid.record(stream)
                ready.put((layout, laid))
    except BaseException as error:  # raised again where the batches are wanted
        ready.put(error)
    finally:
        if not stop.is_set():
            ready.put(None)
