# mypy: ignore-errors
"""The lines of ARPA files: from bytes to numbers, and back."""

from __future__ import annotations

import numpy as np

from spinney.compiling import njit
from spinney.lm._wordtable_kernels import hashed, mixed

_POWERS = 10.0 ** np.arange(23)  # these are exact

#: Why the parser stopped: the text is at its end, a new section begins, or a line is not as lines usually are.
END, SECTION, UNUSUAL = 0, 1, 2


@njit(cache=True, nogil=True)
def is_space(byte):
    """White space, as :func:`spinney.corpus.lines.fields` has it, but for the ends of lines."""
    return byte == 32 or (9 <= byte <= 13 and byte != 10) or 28 <= byte <= 31


@njit(cache=True, nogil=True)
def is_inside(byte):
    """Whether a byte belongs to a field."""
    return byte > 32 or not (byte == 10 or is_space(byte))


@njit(cache=True, nogil=True)
def parsed_number(text, i):
    """The decimal number at a place: its value, where it ends, and whether the value is exact to the last bit.

    It is, if the digits make a whole number below 2^53 that is multiplied with, or divided by, a power of ten below
    10^23: both are exact, and so there is one rounding. Anything else is left to Python.
    """
    negative = text[i] == 45
    if negative or text[i] == 43:
        i += 1
    digits, shift, n = np.int64(0), 0, 0
    point = False
    while 48 <= text[i] <= 57 or (text[i] == 46 and not point):
        if text[i] == 46:
            point = True
        else:
            if n < 18:
                digits = digits * 10 + (text[i] - 48)
            n += 1
            shift -= point
        i += 1
    good = 0 < n <= 18
    if text[i] == 101 or text[i] == 69:
        i += 1
        down = text[i] == 45
        if down or text[i] == 43:
            i += 1
        exponent = 0
        some = False
        while 48 <= text[i] <= 57:
            exponent = min(exponent * 10 + (text[i] - 48), 10_000)
            some = True
            i += 1
        good &= some
        shift += -exponent if down else exponent
    good &= digits < 1 << 53 and -22 <= shift <= 22 and not is_inside(text[i])
    value = 0.0
    if good:
        value = digits / _POWERS[-shift] if shift < 0 else digits * _POWERS[shift]
    return (-value if negative else value), i, good


@njit(cache=True, nogil=True)
def parse_grams(text, i, line, order, with_weight, slots, seed, symbols, logp, backoff, where):
    """The lines of a section from a place on: numbers, and the numbers of words.

    The text ends with the end of a line. Returns how many grams were read, the place and line of the stop, and why.
    """
    n = 0
    last = slots.shape[0] - 1
    while True:
        while i < len(text) and not is_inside(text[i]):  # blank lines, and space before a line
            line += text[i] == 10
            i += 1
        if i >= len(text):
            return n, i, line, END
        if text[i] == 92:
            return n, i, line, SECTION
        first = i
        value, i, good = parsed_number(text, i)
        for k in range(order):
            while is_space(text[i]):
                i += 1
            h = np.uint64(seed)
            begin = i
            while is_inside(text[i]):
                h = hashed(h, text[i])
                i += 1
            key = mixed(h)
            slot = key & last
            while slots[slot, 0] >= 0 and slots[slot, 0] != key:
                slot = (slot + 1) & last
            good &= i > begin and slots[slot, 0] >= 0
            symbols[n, k] = slots[slot, 1]
        while is_space(text[i]):
            i += 1
        weight = 0.0
        if text[i] != 10 and with_weight:
            weight, i, exact = parsed_number(text, i)
            good &= exact
            while is_space(text[i]):
                i += 1
        if not good or text[i] != 10:
            return n, first, line, UNUSUAL
        logp[n], backoff[n], where[n] = value, weight, line
        n += 1


# ------------------------------------------------------------------------------------------------ writing


@njit(cache=True, nogil=True)
def put_digits(digits, count, out, i):
    """Write a whole number with so many digits."""
    for place in range(count - 1, -1, -1):
        out[i + place] = 48 + digits % 10
        digits //= 10
    return i + count


@njit(cache=True, nogil=True)
def rounded(size, exponent, count):
    """A number of the size of 10^exponent, rounded to so many digits: nine of them, and the value."""
    scale = count - 1 - exponent
    digits = np.int64(np.rint(size * 10.0**scale if scale >= 0 else size / 10.0**-scale))
    near = digits / 10.0**scale if scale >= 0 else digits * 10.0**-scale
    return digits * np.int64(10 ** (9 - count)), near


@njit(cache=True, nogil=True)
def put_number(value, out, i):
    """Write a number with nine significant digits.

    One that needs more, but is in single precision, has as few as tell it from its neighbours there.
    """
    if (
        abs(value) < 1e-30
    ):  # no logarithm of a probability in double precision is that near to 0, or to infinity
        out[i] = 48
        return i + 1
    if value < 0:
        out[i] = 45
        i += 1
    size = min(abs(value), 1e30)
    exponent = int(np.floor(np.log10(size)))
    digits, near = rounded(size, exponent, 9)
    single = np.float32(size)
    if abs(near - size) > 4e-16 * size and abs(np.float64(single) - size) <= 4e-16 * size:
        for count in range(6, 9):
            fewer, near = rounded(size, exponent, count)
            if np.float32(near) == single:
                digits = fewer
                break
    while digits >= 1_000_000_000:  # rounded up to the next power of ten
        digits //= 10
        exponent += 1
    while digits < 100_000_000:  # the logarithm was rounded up
        digits *= 10
        exponent -= 1
    count = 9
    while digits % 10 == 0:
        digits //= 10
        count -= 1
    if -4 <= exponent < 0:
        out[i], out[i + 1] = 48, 46
        i = put_digits(0, -exponent - 1, out, i + 2)
        return put_digits(digits, count, out, i)
    if 0 <= exponent < 9:
        whole = min(count, exponent + 1)
        after = np.int64(10 ** (count - whole))
        i = put_digits(digits // after, whole, out, i)
        i = put_digits(0, exponent + 1 - whole, out, i)
        if count > whole:
            out[i] = 46
            i = put_digits(digits % after, count - whole, out, i + 1)
        return i
    after = np.int64(10 ** (count - 1))
    i = put_digits(digits // after, 1, out, i)
    if count > 1:
        out[i] = 46
        i = put_digits(digits % after, count - 1, out, i + 1)
    out[i], out[i + 1] = 101, 45 if exponent < 0 else 43
    return put_digits(abs(exponent), 3 if abs(exponent) > 99 else 2, out, i + 2)


@njit(cache=True, nogil=True)
def put_grams(symbols, logp, backoff, has_weight, utf8, offsets, out):
    """Write lines: log p, the words, and the weight of those that have one. Returns how many bytes they are."""
    i = 0
    for g in range(symbols.shape[0]):
        i = put_number(logp[g], out, i)
        for k in range(symbols.shape[1]):
            out[i] = 9 if k == 0 else 32
            i += 1
            for j in range(offsets[symbols[g, k]], offsets[symbols[g, k] + 1]):
                out[i] = utf8[j]
                i += 1
        if has_weight[g]:
            out[i] = 9
            i = put_number(backoff[g], out, i + 1)
        out[i] = 10
        i += 1
    return i
