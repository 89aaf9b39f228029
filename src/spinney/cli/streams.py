"""Standard input, output and error, made fit for use whatever the program was started with."""

from __future__ import annotations

import errno
import os
import sys
from io import TextIOWrapper

from spinney.errors import InputError


def prepare() -> None:
    """Write UTF-8 to standard output in every locale, and survive streams that are closed.

    Words must arrive as they are, so no locale may turn them into question marks. The name of a file may hold bytes
    that are no text; they are shown as escapes, which JSON understands too.
    """
    _occupy_closed()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def _occupy_closed() -> None:
    """Open what is closed, so that no model file gets the number of standard output or error.

    What is written to a closed standard output fails, as it should; what is said on a closed standard error is lost.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        if number == 1:
            os.close(1)
            os.open(os.devnull, os.O_RDONLY)
    os.close(number)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8")  # noqa: SIM115


def flush() -> None:
    """Write what standard output still holds, while an error can be told."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(error) from None


def of_output(error: BaseException) -> bool:
    """Whether an error is that of a standard stream that cannot be written, since files name themselves in theirs."""
    known = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
    return isinstance(error, OSError) and error.filename is None and error.errno in known


def unwritable(error: BaseException) -> InputError:
    """The error for output that did not arrive, after which nothing more is written to standard output."""
    abandon()
    what = getattr(error, "strerror", None) or error
    return InputError(f"cannot be written: {what}", path="standard output")


def abandon() -> None:
    """Write nothing more to standard output: what waits in its buffer would fail again when Python ends."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
