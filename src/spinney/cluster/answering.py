"""The worker's end of a line: calls come in, are made one after the other, and are answered."""

from __future__ import annotations

import os
import pickle
import socket
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any, NamedTuple

from spinney.cluster.messages import dumps, pickles, receive, send
from spinney.cluster.working import called, opening
from spinney.shared_files import Blocks, Loan, Maps, Packed


class Stored(NamedTuple):
    """Kept data in a file: their name, and where they are."""

    key: str
    file: Packed


class Job(NamedTuple):
    """What calls have in common: a number of its own, the function and its shared arguments."""

    number: int
    function: Callable[..., Any]
    shared: list[Loan | Stored]


class Request(NamedTuple):
    """A call, and what the driver no longer needs: blocks of earlier answers, and kept data."""

    number: int
    job: bytes
    own: list[Loan | Stored]
    read: list[Loan]
    forgotten: list[str]


class Answer(NamedTuple):
    """What came of a call: the result, or the error that it raised."""

    number: int
    result: Loan | None
    error: BaseException | None


class Held:
    """Kept data that were read from their files; those that were not used for long make room for others.

    What a worker may hold is limited, or its nanny would end it. Their files are with the driver: what was given up is
    read again.

    Examples
    --------
    >>> from spinney.shared_files import packed, shared_folder
    >>> with shared_folder() as folder:
    ...     held = Held(room=100)
    ...     values = [held.value(Stored(key, packed(bytearray(key * 60, "utf-8"), folder))) for key in "abab"]
    >>> len(values[3]), list(held.values)
    (60, ['b'])
    """

    def __init__(self, room: int) -> None:
        self.room, self.values = room, OrderedDict[str, tuple[Any, int]]()

    def value(self, stored: Stored) -> Any:
        """The data of that name."""
        if stored.key not in self.values:
            size = sum(n for _, n in stored.file.places) + len(stored.file.pickled)
            while self.values and size + sum(n for _, n in self.values.values()) > self.room:
                self.values.popitem(last=False)
            self.values[stored.key] = stored.file.value(), size
        self.values.move_to_end(stored.key)
        return self.values[stored.key][0]

    def forget(self, key: str) -> None:
        """Nobody will ask for it again."""
        self.values.pop(key, None)


def connect(path: str, lines: int, room: int, dask_worker: Any = None) -> int:
    """Open lines to the driver that listens there, each with a thread that answers; for ``Client.run``."""
    for _ in range(lines):
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        channel.connect(path)
        send(channel, dumps((str(dask_worker.address), os.getpid())))
        arguments = channel, os.path.dirname(path), room // lines
        answering = copy_context()
        with suppress(ImportError):  # so that a task can ask for its worker, as a task of Dask can
            from distributed.worker import _worker_cvar

            answering.run(_worker_cvar.set, dask_worker)
        threading.Thread(
            target=answering.run, args=(_answer_all, *arguments), name="spinney-line", daemon=True
        ).start()
    return lines


def _answer_all(channel: socket.socket, folder: str, room: int) -> None:
    """Answer until the driver hangs up, or is no more."""
    with channel:
        end = _End(folder, room)
        while (message := receive(channel)) is not None:
            answer = end.answer(pickle.loads(message))
            try:
                send(channel, dumps(answer))
            except OSError:
                return


class _End:
    """What the end of a line remembers between calls."""

    def __init__(self, folder: str, room: int) -> None:
        self.blocks, self.maps, self.held = Blocks(folder, 4, pickles()), Maps(), Held(room)
        self.job: tuple[bytes, Callable[..., Any], list[Any]] | None = None

    def answer(self, request: Request) -> Answer:
        for loan in request.read:
            self.blocks.give_back(loan)
        for key in request.forgotten:
            self.held.forget(key)
        try:
            with opening():
                function, shared = self._opened(request.job)
                own = [self._value(one) for one in request.own]
            return Answer(request.number, self.blocks.put(called(function, [*shared, *own])), None)
        except BaseException as error:  # whatever it is, it is the driver's
            return Answer(request.number, None, _portable(error))

    def _opened(self, pickled: bytes) -> tuple[Callable[..., Any], list[Any]]:
        """The function and the shared arguments; calls of one job follow each other."""
        if self.job is None or self.job[0] != pickled:
            self.job = None
            job: Job = pickle.loads(pickled)
            self.job = pickled, job.function, [self._value(one) for one in job.shared]
        return self.job[1], self.job[2]

    def _value(self, sent: Loan | Stored) -> Any:
        return self.held.value(sent) if isinstance(sent, Stored) else self.maps.value(sent)


def _portable(error: BaseException) -> BaseException:
    """An error that can be sent, with the lines of code that it came through."""
    try:
        pickle.loads(dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note("".join(traceback.format_exception(error)))
    return error
