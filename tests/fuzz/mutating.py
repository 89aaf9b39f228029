"""Good files turned into bad ones: a few changes each, most of them to the structure rather than to single bytes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

import numpy as np

Change = Callable[[random.Random, bytes], bytes]

_NUMBERS = [
    b"0", b"-1", b"1e308", b"-1e308", b"1e999", b"NaN", b"-inf", b"1e-320", b"9" * 19, b"9" * 5000, b"0x10", b"1_0",
    b"2147483648", b"4294967297", b"00", b"-0", b"+5", b"1.5", b".", "\u0663".encode(), "\u00b2".encode(), b"1e5",
]  # fmt: skip
_PIECES = [
    b"\0", b"\r", b"\r\n", b"\n", b"\n\n", b"\t", b" ", b"  ", b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80",
    "\x85".encode(), "\u2028".encode(), "\xa0".encode(), "\u0130".encode(), b"\x1c", b"\x0b", b'"', b"'", b"\\",
    b"(", b")", b"((", b"[", b"]", b"{", b"}", b",", b":", b";", b"#", b"%", b"=", b"-", b"_", b"<s>", b"</s>",
    b"<unk>", b"-DOCSTART-", b"null", b"true", b"[[]]", b"{}", b"\x1b[31m", "e\u0301".encode(),
]  # fmt: skip
_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?")
_TOKEN = re.compile(rb"[^\s]+")
_RARE = 0.004  # of the inputs have a part of a hundred thousand letters, which take long


def mutated(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    """One of the samples with a few changes; now and then as it is, and now and then with something very long."""
    data = rng.choice(samples)
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3, 5))):
        data = rng.choice(_CHANGES)(rng, data)
    if rng.random() < 0.05:
        data = _spliced(rng, data, rng.choice(samples))
    if rng.random() < _RARE:
        data = rng.choice(_LONG)(rng, data)
    return data


def seeded(rng: np.random.Generator) -> random.Random:
    """Random numbers that are fast to draw one at a time."""
    return random.Random(int(rng.integers(1 << 62)))


def _place(rng: random.Random, data: bytes) -> int:
    return rng.randrange(len(data) + 1)


def _flip(rng: random.Random, data: bytes) -> bytes:
    if not data:
        return data
    i = rng.randrange(len(data))
    return data[:i] + bytes([data[i] ^ (1 << rng.randrange(8))]) + data[i + 1 :]


def _byte(rng: random.Random, data: bytes) -> bytes:
    i = _place(rng, data)
    return data[:i] + bytes([rng.randrange(256)]) + data[i + rng.randrange(2) :]


def _insert(rng: random.Random, data: bytes) -> bytes:
    i = _place(rng, data)
    return data[:i] + rng.choice(_PIECES) + data[i:]


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: _place(rng, data)]


def _drop(rng: random.Random, data: bytes) -> bytes:
    i = _place(rng, data)
    return data[:i] + data[i + rng.randrange(1, 20) :]


def _double(rng: random.Random, data: bytes) -> bytes:
    i = _place(rng, data)
    j = min(len(data), i + rng.randrange(1, 40))
    return data[:j] + data[i:j] * rng.choice((1, 1, 1, 7, 300)) + data[j:]


def _spliced(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return data[: _place(rng, data)] + other[_place(rng, other) :]


def _number(rng: random.Random, data: bytes) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return _insert(rng, data)
    match = rng.choice(found)
    return data[: match.start()] + rng.choice(_NUMBERS) + data[match.end() :]


def _swap(rng: random.Random, data: bytes) -> bytes:
    found = list(_TOKEN.finditer(data))
    if len(found) < 2:
        return data
    a, b = sorted(rng.sample(range(len(found)), 2))
    one, two = found[a], found[b]
    middle = data[one.end() : two.start()]
    return data[: one.start()] + two[0] + middle + one[0] + data[two.end() :]


def _token(rng: random.Random, data: bytes) -> bytes:
    """A token goes, or becomes something else."""
    found = list(_TOKEN.finditer(data))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + rng.choice([b"", *_PIECES, *_NUMBERS]) + data[match.end() :]


def _lines(rng: random.Random, data: bytes) -> bytes:
    """A line goes, comes twice, or moves."""
    lines = data.split(b"\n")
    i = rng.randrange(len(lines))
    what = rng.randrange(4)
    if what == 0:
        del lines[i]
    elif what == 1:
        lines.insert(rng.randrange(len(lines) + 1), lines[i])
    elif what == 2:
        lines.insert(rng.randrange(len(lines) + 1), b"")
    else:
        rng.shuffle(lines)
    return b"\n".join(lines)


def _ends(rng: random.Random, data: bytes) -> bytes:
    what = rng.randrange(4)
    if what == 0:
        return b"\xef\xbb\xbf" + data
    if what == 1:
        return data.replace(b"\n", b"\r\n")
    if what == 2:
        return data.replace(b"\n", b"\r")
    return data.rstrip(b"\n")


def _nested(rng: random.Random, data: bytes) -> bytes:
    i, opening = _place(rng, data), rng.choice((b"(", b"[", b"{", b'{"a":', b"(S ", b"((("))
    return data[:i] + opening * rng.choice((3, 60)) + data[i:]


def _long_token(rng: random.Random, data: bytes) -> bytes:
    i = _place(rng, data)
    return (
        data[:i]
        + rng.choice((b"a", b"9", b"\xc3\xa4", b"(", b"[", b"-", b"\\", b"a b ", b"0,")) * 100_000
        + data[i:]
    )


def _many_lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join([rng.choice(lines), *lines] * 100)


_CHANGES: list[Change] = [
    _flip, _byte, _insert, _insert, _cut, _drop, _double, _number, _number, _swap, _token, _token, _lines, _lines,
    _ends, _nested,
]  # fmt: skip
_LONG: list[Change] = [_long_token, _many_lines]


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Bytes of a binary file changed, dropped, cut off or moved; never the file as it is."""
    while True:
        what = rng.choice((_flip, _flip, _flip, _byte, _cut, _drop, _double))
        changed = what(rng, data)
        if changed != data:
            return changed
