"""Ctrl-C and SIGTERM, delivered where they do no harm.

Python raises `KeyboardInterrupt` between any two of its instructions. Two places cannot bear that. While Numba turns
the arguments of a kernel into pointers, or its results into arrays, the exception comes back as a ``SystemError``, or
is not noticed and a null pointer is followed: with a random generator as an argument, that is a segmentation fault. And
what is raised inside a function that C calls back, such as that of the compiler's cache, is printed and lost.
:func:`listen` waits until Python is out of there, and raises again what was lost elsewhere (in the callback of a weak
reference, say). SIGTERM, which batch systems send before they kill, ends a fit in the same way. A class that is being
made turns the exception into another one: :func:`caused` finds it.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: Python code that C calls and that must not raise: files of which nothing may, and functions.
_FILES = (
    "numba/core/serialize.py",  # while the results of a kernel become arrays
    "numba/core/typing/typeof.py",  # while the types of its arguments are found
    "ctypes/__init__.py",  # while a random generator becomes an argument: `cast`, whose failure Numba does not notice
)
_FUNCTIONS = ("_raw_object_cache_notify", "_raw_object_cache_getbuffer", "__del__")
_last = signal.SIGINT
_report_unraisable = sys.unraisablehook


class Terminated(KeyboardInterrupt):
    """SIGTERM: an interrupt that did not come from a keyboard."""


def exit_code() -> int:
    """The exit code after an interrupt: 128 and the number of its signal, as shells have it.

    Examples
    --------
    >>> exit_code() in (130, 143)
    True
    """
    return 128 + _last


def forget() -> None:
    """Forget the signals of an earlier command, if this process has run one."""
    global _last
    _last = signal.SIGINT


def listen(*, to_termination: bool = True) -> None:
    """Handle Ctrl-C and SIGTERM from now on; only in the main thread, and not where they are ignored (``nohup``)."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _SIGNALS if to_termination else _SIGNALS[:1]:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)
    _hear_what_was_lost()


def caused(error: BaseException | None) -> bool:
    """Whether an error is an interrupt that something has turned into another error.

    Examples
    --------
    >>> caused(ValueError()), caused(KeyboardInterrupt())
    (False, True)
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def ignore() -> None:
    """Ignore Ctrl-C and SIGTERM from now on: the work is done, and only its exit code is still to be told."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def listening() -> Iterator[None]:
    """Handle Ctrl-C during a piece of work in a program that does not handle it in its own way."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    listen(to_termination=False)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = _report_unraisable


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _last
    _last = signal.Signals(number)
    waiting_for = _outermost_callback(frame)
    if waiting_for is None:
        raise _exception(number)
    _raise_after(waiting_for, number)


def _exception(number: int) -> type[KeyboardInterrupt]:
    return Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _raise_after(waiting_for: FrameType | None, number: int) -> None:
    """Raise the exception of a signal as soon as this function has returned and no other one of its kind is running."""
    before = sys.getprofile()

    def when_safe(frame: FrameType, event: str, _: Any) -> None:
        # The profiler sees every function that is called or left; all but a few of these calls end at once.
        nonlocal waiting_for
        if waiting_for is not None:
            if frame is waiting_for and event == "return":
                waiting_for = None
            return
        waiting_for = _outermost_callback(frame)
        if waiting_for is None:
            sys.setprofile(before)
            raise _exception(number)

    sys.setprofile(when_safe)


def _hear_what_was_lost() -> None:
    """Raise an interrupt again that Python could only print: from a weak reference's callback, for example."""
    global _report_unraisable
    if sys.unraisablehook is not _lost:
        _report_unraisable = sys.unraisablehook
        sys.unraisablehook = _lost


def _lost(what: Any) -> None:
    if not isinstance(what.exc_value, KeyboardInterrupt):
        _report_unraisable(what)
    elif threading.current_thread() is threading.main_thread():
        _raise_after(sys._getframe(), signal.SIGTERM if isinstance(what.exc_value, Terminated) else signal.SIGINT)


def _outermost_callback(frame: FrameType | None) -> FrameType | None:
    """The outermost function on the stack that C has called; None if there is none."""
    found = None
    while frame is not None:
        code = frame.f_code
        if code.co_name in _FUNCTIONS or code.co_filename.endswith(_FILES):
            found = frame
        frame = frame.f_back
    return found


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM until the end of a block, or of a decorated function.

    For changes to several arrays that must match: whoever saves what was learned so far finds all of them
    changed, or none. Only the main thread is interrupted, so elsewhere this does nothing.

    Examples
    --------
    >>> with uninterrupted():
    ...     total = sum(range(10))
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    before = {}
    for number in _SIGNALS:
        if callable(signal.getsignal(number)):  # not where it is ignored, or ends the program without a word
            before[number] = signal.signal(number, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if held:
        handler = before[signal.Signals(held[0][0])]
        if callable(handler):
            handler(held[0][0], None)
