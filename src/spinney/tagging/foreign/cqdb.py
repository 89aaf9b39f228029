"""CQDB, CRFsuite's constant database of strings that are numbered from 0.

After a header come 256 references to hash tables, the records (number, length, string with a final NUL), the hash
tables, and for each number the place of its record. All places count from the start of the database.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

_HEADER = struct.Struct("<4s5I")  # name, size, flags, byte order, number and place of the records by number
_RECORD = struct.Struct("<iI")
_BYTE_ORDER = 0x62445371
_TABLES = 256
_MASK = 0xFFFFFFFF


def unpacked_strings(data: bytes, start: int, n: int) -> list[str]:
    """The ``n`` strings of the database at ``start``, in the order of their numbers; ValueError says what is wrong."""
    if start + _HEADER.size > len(data):
        raise ValueError("damaged: a dictionary is beyond the end")
    name, size, _, order, known, at = _HEADER.unpack_from(data, start)
    end = start + size
    if name != b"CQDB" or order != _BYTE_ORDER or end > len(data):
        raise ValueError("damaged: a dictionary is beyond the end, or is none")
    if n > known or start + at + 4 * known > end:
        raise ValueError("damaged: a dictionary has fewer names than the model needs")
    found = []
    room = size  # each record has its own bytes, so that no file holds more text than it has
    for place in np.frombuffer(data, "<u4", n, start + at).tolist():
        if start + place + _RECORD.size > end:
            raise ValueError("damaged: a name is beyond the end of its dictionary")
        _, length = _RECORD.unpack_from(data, start + place)
        first = start + place + _RECORD.size
        room -= _RECORD.size + length
        if not length or first + length > end or room < 0:
            raise ValueError("damaged: a name is beyond the end of its dictionary")
        found.append(data[first : first + length - 1].decode())
    return found


def packed_strings(strings: Sequence[str]) -> bytes:
    """A database of distinct strings."""
    tables: list[list[tuple[int, int]]] = [[] for _ in range(_TABLES)]
    records, places = bytearray(), []
    start = _HEADER.size + 8 * _TABLES
    for number, text in enumerate(strings):
        key = text.encode() + b"\0"
        hashed = jenkins(key)
        places.append(start + len(records))
        tables[hashed % _TABLES].append((hashed, places[-1]))
        records += _RECORD.pack(number, len(key)) + key
    body, references = bytearray(), bytearray()
    for table in tables:
        slots = _slots(table)
        references += struct.pack("<2I", start + len(records) + len(body) if slots else 0, len(slots))
        for slot in slots:
            body += struct.pack("<2I", *slot)
    at = start + len(records) + len(body)
    by_number = np.array(places, "<u4").tobytes()
    size = at + len(by_number)
    header = _HEADER.pack(b"CQDB", size, 0, _BYTE_ORDER, len(places), at)
    return bytes(header + references + records + body + by_number)


def _slots(table: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """A hash table with twice the room that it needs, in which the next free slot is taken; (0, 0) is empty."""
    n = 2 * len(table)
    slots = [(0, 0)] * n
    for hashed, place in table:
        k = (hashed >> 8) % n
        while slots[k][1]:
            k = (k + 1) % n
        slots[k] = hashed, place
    return slots


def jenkins(key: bytes) -> int:
    """Bob Jenkins's hash function ``hashlittle`` of lookup3 (2006), with the initial value 0.

    Examples
    --------
    >>> hex(jenkins(b"Four score and seven years ago"))
    '0x17770551'
    """
    a = b = c = (0xDEADBEEF + len(key)) & _MASK
    while len(key) > 12:
        x, y, z = struct.unpack_from("<3I", key)
        a, b, c = _mixed(a + x & _MASK, b + y & _MASK, c + z & _MASK)
        key = key[12:]
    if not key:
        return c
    x, y, z = struct.unpack("<3I", key.ljust(12, b"\0"))
    return _last(a + x & _MASK, b + y & _MASK, c + z & _MASK)


def _turned(x: int, k: int) -> int:
    return (x << k | x >> (32 - k)) & _MASK


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    for k1, k2, k3 in ((4, 6, 8), (16, 19, 4)):
        a = (a - c & _MASK) ^ _turned(c, k1)
        c = c + b & _MASK
        b = (b - a & _MASK) ^ _turned(a, k2)
        a = a + c & _MASK
        c = (c - b & _MASK) ^ _turned(b, k3)
        b = b + a & _MASK
    return a, b, c


def _last(a: int, b: int, c: int) -> int:
    c = (c ^ b) - _turned(b, 14) & _MASK
    a = (a ^ c) - _turned(c, 11) & _MASK
    b = (b ^ a) - _turned(a, 25) & _MASK
    c = (c ^ b) - _turned(b, 16) & _MASK
    a = (a ^ c) - _turned(c, 4) & _MASK
    b = (b ^ a) - _turned(a, 14) & _MASK
    return (c ^ b) - _turned(b, 24) & _MASK
