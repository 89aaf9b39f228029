"""Direct lines to workers on this machine: a call takes a fraction of the time that a task of Dask takes.

Dask starts the workers, watches them and starts them again; but from sending one of its tasks to having the result, a
message goes through three event loops. A line is a socket between the driver and a thread of a worker. What is large
goes through shared memory (:mod:`spinney.shared_files`), so messages are short. Where a worker dies, the kernel hangs
up at once, and its calls are made by others.
"""

from __future__ import annotations

import glob
import os
import pickle
import select
import socket
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from spinney.cluster.answering import Answer, Job, Request, Stored, connect
from spinney.cluster.explaining import ATTEMPTS, explained, given_up
from spinney.cluster.messages import Inbox, dumps, framed, pickles, receive
from spinney.cluster.workers import RETURN, wait_for_workers
from spinney.interrupts import uninterrupted
from spinney.parallel import Kept, Pure, arguments_of
from spinney.shared_files import Blocks, Loan, Maps, packed

if TYPE_CHECKING:
    from distributed import Client

    from spinney.cluster.engine import Traffic

#: Calls for each line that are drawn from the shards: one is being made, one waits at the worker so that it never does,
#: and one is still here, for the line that is free first.
_DRAWN = 3
_HELD = 0.25  # share of the memory of a worker that kept data may take, with as much for what is made of them
_LOOK = 0.25  # seconds between two looks for a worker in place of one that died
_MOURNING = 5.0  # seconds in which the scheduler may still tell of a worker that hung up: to call it would take longer
_PATIENCE = 10.0  # seconds for the first words over a line
_SOCKET = "lines"
_numbers = count()


def can_listen(folder: str) -> bool:
    """Whether workers can call a socket in a folder: names of sockets are short, and some systems have none."""
    return hasattr(socket, "AF_UNIX") and hasattr(select, "poll") and len(os.path.join(folder, _SOCKET)) < 100


class Lines:
    """Lines to all threads of all workers, and the calls that are under way."""

    def __init__(
        self, client: Client, folder: str, workers: dict[str, dict[str, Any]], traffic: Traffic
    ) -> None:
        self.client, self.folder, self.traffic = client, folder, traffic
        self.blocks = Blocks(folder, 8 + 4 * len(workers), pickles())
        self.maps = Maps()
        self.memory = min(
            (worker["memory"] for worker in workers.values() if worker["memory"]), default=1 << 62
        )
        self.threads = sum(worker["threads"] for worker in workers.values())
        self.pending: deque[_Call] = deque()
        self._stored: dict[str, Stored] = {}
        self._users: dict[str, weakref.WeakSet[Kept[Any]]] = {}
        self._lines: dict[int, _Line] = {}  # by the number of its socket
        self._poll = select.poll()
        self._lost, self._looked = False, 0.0
        self._hung_up_at: dict[str, float] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._path = os.path.join(folder, _SOCKET)
        self._listener.bind(self._path)
        self._listener.listen(1024)
        self._listener.settimeout(_PATIENCE)
        self._open_new()

    def close(self) -> None:
        """Hang up; the workers then forget what they hold."""
        for line in self._lines.values():
            line.channel.close()
        self._lines.clear()
        self._listener.close()

    def each(self, function: Pure[Any], shards: Iterator[Any]) -> Generator[Any, None, None]:
        """The results in the order of the shards, computed a little ahead of the reader."""
        job = _Job(function.function, [self._sent(value) for value in function.shared])
        waiting: deque[_Call] = deque()

        def draw() -> None:
            for shard in islice(shards, max(0, _DRAWN * self.threads - len(waiting))):
                arguments = arguments_of(shard)
                call = _Call(job, [self._sent(value) for value in arguments])
                call.kept = [value for value in arguments if isinstance(value, Kept)]
                waiting.append(call)
                self.traffic.calls += 1
                self.pending.append(call)
                self._hand_out()

        try:
            draw()
            while waiting:
                while not waiting[0].answered:
                    self._listen()
                call = waiting.popleft()
                if call.error is not None:
                    with explained(self.client):
                        raise call.error
                draw()
                yield call.value
                del call  # its value is the reader's alone
        finally:
            for call in waiting:
                call.wanted = False
                if call in self.pending:
                    self.pending.remove(call)
                    self._done(call)
            job.ended = True
            self._release(job)

    # -- values ---------------------------------------------------------------------------------------

    def _sent(self, value: Any) -> Loan | Stored:
        """What stands for a value in a message."""
        if not isinstance(value, Kept):
            loan = self.blocks.put(value)
            self.traffic.sent += _bytes(loan)
            return loan
        users = self._users.setdefault(value.key, weakref.WeakSet())
        if value not in users:
            users.add(value)
            weakref.finalize(value, self._forget, value.key)
        if value.key not in self._stored:
            self._stored[value.key] = Stored(value.key, packed(value.value, self.folder))
            self.traffic.sent += sum(n for _, n in self._stored[value.key].file.places)
        return self._stored[value.key]

    def _forget(self, key: str) -> None:
        """A reference to kept data is gone; if it was the last, so are the data."""
        if any(True for _ in self._users.get(key, ())):
            return
        self._users.pop(key, None)
        stored = self._stored.pop(key, None)
        if stored is not None:
            stored.file.remove()
            for line in self._lines.values():
                line.forgotten.append(key)
                line.seen.discard(key)

    def _done(self, call: _Call) -> None:
        """Nobody reads the arguments of a call any more."""
        for sent in call.own:
            if isinstance(sent, Loan):
                self.blocks.give_back(sent)
        call.kept = []
        call.job.calls -= 1
        self._release(call.job)

    def _release(self, job: _Job) -> None:
        if job.ended and not job.calls:
            for sent in job.shared:
                if isinstance(sent, Loan):
                    self.blocks.give_back(sent)

    # -- lines ----------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        """Send calls to lines that have none; a second one only if enough are left for those that end first."""
        while self.pending:
            most = 1 if len(self.pending) > len(self._lines) else 0
            free = [line for line in self._lines.values() if len(line.calls) <= most]
            if not free:
                return
            call = self.pending.popleft()
            keys = call.keys
            line = min(free, key=lambda line: (len(line.calls), not keys <= line.seen, len(line.seen)))
            line.seen |= keys
            line.calls[call.number] = call
            request = Request(call.number, call.job.pickled, call.own, line.read, line.forgotten)
            line.read, line.forgotten = [], []
            with uninterrupted():
                self._send(line, framed(pickle.dumps(request)))

    def _send(self, line: _Line, message: bytes) -> None:
        """Send a message whole; answers are read meanwhile, or both ends might wait for each other."""
        rest = memoryview(message)
        while len(rest):
            try:
                rest = rest[line.channel.send(rest) :]
            except BlockingIOError:
                ready = select.poll()
                ready.register(line.channel, select.POLLIN | select.POLLOUT)
                ready.poll()
                if not self._read(line):
                    return
            except OSError:
                self._hung_up(line)
                return

    def _listen(self) -> None:
        """Wait for answers, and take them."""
        if self._lost and time.monotonic() - self._looked > _LOOK:
            self._look_for_workers()
            self._hand_out()
        for number, _ in self._poll.poll(1000 * _LOOK if self._lost else None):
            line = self._lines.get(number)
            if line is not None:
                with uninterrupted():
                    self._read(line)
        self._hand_out()

    def _read(self, line: _Line) -> bool:
        """Take what has come over a line; whether it is still open."""
        messages, is_open = line.inbox.read(line.channel)
        for message in messages:
            answer: Answer = pickle.loads(message)
            call = line.calls[answer.number]
            if answer.result is not None:
                if call.wanted:
                    try:
                        call.value = self.maps.value(answer.result, copy=True)
                    except FileNotFoundError:  # another line to the same worker has hung up: so will this one
                        continue
                    self.traffic.received += _bytes(answer.result)
                line.read.append(answer.result)
            del line.calls[answer.number]
            call.answered, call.error = True, answer.error
            self._done(call)
        if not is_open:
            self._hung_up(line)
        return is_open

    def _hung_up(self, line: _Line) -> None:
        """A worker is gone: its calls go to others, before all that were drawn later."""
        number = next((number for number, one in self._lines.items() if one is line), None)
        if number is None:
            return
        del self._lines[number]
        self._poll.unregister(number)
        line.channel.close()
        for path in glob.glob(
            os.path.join(glob.escape(self.folder), "**", f"{line.process}-*"), recursive=True
        ):
            with suppress(OSError):
                os.unlink(path)
        for call in reversed(line.calls.values()):
            call.attempts += 1
            if call.wanted and call.attempts < ATTEMPTS:
                self.pending.appendleft(call)
                continue
            call.answered, call.error = True, given_up("its worker hung up")
            self._done(call)
        self._lost, self._hung_up_at[line.worker] = True, time.monotonic()

    def _look_for_workers(self) -> None:
        """Open lines to workers that have none yet; if no line is left, wait for a worker."""
        with explained(self.client):
            if not self._lines:
                wait_for_workers(self.client, RETURN)
            self._open_new()
        self._lost = len(self._lines) < self.threads
        self._looked = time.monotonic()

    def _open_new(self) -> None:
        """Open lines to all workers that have none."""
        known = {line.worker for line in self._lines.values()}
        for worker, threads in self.client.nthreads().items():
            if worker in known or time.monotonic() - self._hung_up_at.get(worker, -_MOURNING) < _MOURNING:
                continue
            call = connect, self._path, threads, int(_HELD * self.memory)
            opened = self.client.run(*call, workers=[worker], on_error="return")
            if opened.get(worker) == threads:
                for _ in range(threads):
                    self._accept()

    def _accept(self) -> None:
        channel, _ = self._listener.accept()
        channel.settimeout(_PATIENCE)
        hello = receive(channel)
        if hello is not None:
            channel.setblocking(False)
            self._lines[channel.fileno()] = _Line(channel, *pickle.loads(hello))
            self._poll.register(channel, select.POLLIN)


class _Line:
    """A socket to a thread of a worker, and the calls that it was sent."""

    def __init__(self, channel: socket.socket, worker: str, process: int) -> None:
        self.channel, self.worker, self.process = channel, worker, process
        self.inbox = Inbox()
        self.calls: dict[int, _Call] = {}
        self.seen: set[str] = set()
        self.read: list[Loan] = []
        self.forgotten: list[str] = []


class _Job:
    """A pure function with the arguments that all its calls share."""

    def __init__(self, function: Callable[..., Any], shared: list[Loan | Stored]) -> None:
        self.shared = shared
        self.pickled = dumps(Job(next(_numbers), function, shared))
        self.calls, self.ended = 0, False


class _Call:
    """A call under way: its own arguments, and what came of it."""

    def __init__(self, job: _Job, own: list[Loan | Stored]) -> None:
        self.job, self.own, self.number = job, own, next(_numbers)
        self.keys = {one.key for one in own if isinstance(one, Stored)}
        self.attempts, self.wanted, self.answered = 0, True, False
        self.kept: list[Kept[Any]] = []  # which must not be forgotten before
        self.value: Any = None
        self.error: BaseException | None = None
        job.calls += 1


def _bytes(loan: Loan) -> int:
    return sum(n for _, n in loan.places) + len(loan.pickled)
