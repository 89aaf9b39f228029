"""Messages between a driver and the workers of its machine: a length, and a pickle of that many bytes."""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Callable
from typing import Any

_HEAD = struct.Struct("<Q")
_PART = 1 << 18


def framed(message: bytes) -> bytes:
    """A message with its length before it."""
    return _HEAD.pack(len(message)) + message


def send(channel: socket.socket, message: bytes) -> None:
    """Send a message whole."""
    channel.sendall(framed(message))


def receive(channel: socket.socket) -> bytes | None:
    """The next message; ``None`` where there will be none any more."""
    head = _exactly(channel, _HEAD.size)
    return None if head is None else _exactly(channel, *_HEAD.unpack(head))


def _exactly(channel: socket.socket, n: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < n:
        try:
            part = channel.recv(n - len(parts))
        except OSError:
            return None
        if not part:
            return None
        parts += part
    return bytes(parts)


class Inbox:
    """What has come over a channel that does not block, in whole messages.

    Examples
    --------
    >>> ours, theirs = socket.socketpair()
    >>> ours.setblocking(False)
    >>> send(theirs, b"one")
    >>> Inbox().read(ours)
    ([b'one'], True)
    >>> theirs.close()
    >>> Inbox().read(ours)
    ([], False)
    """

    def __init__(self) -> None:
        self._bytes = bytearray()

    def read(self, channel: socket.socket) -> tuple[list[bytes], bool]:
        """The messages that are complete now, and whether there may be more."""
        is_open = True
        while is_open:
            try:
                part = channel.recv(_PART)
            except BlockingIOError:
                break
            except OSError:
                part = b""
            self._bytes += part
            is_open = bool(part)
        found, at = [], 0
        while len(self._bytes) >= at + _HEAD.size:
            (n,) = _HEAD.unpack_from(self._bytes, at)
            if len(self._bytes) < at + _HEAD.size + n:
                break
            found.append(bytes(self._bytes[at + _HEAD.size : at + _HEAD.size + n]))
            at += _HEAD.size + n
        del self._bytes[:at]
        return found, is_open


def pickles() -> tuple[Callable[..., bytes], ...]:
    """How values are pickled: plainly, or as Dask does it with what is of a script."""
    import cloudpickle

    return pickle.dumps, cloudpickle.dumps


def dumps(value: Any, buffer_callback: Callable[..., Any] | None = None) -> bytes:
    """A pickle as Dask makes it: of functions of a script, too."""
    from distributed.protocol.pickle import dumps

    return bytes(dumps(value, buffer_callback=buffer_callback))
