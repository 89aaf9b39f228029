"""Ctrl-C and SIGTERM: never lost, never a ``SystemError``, and held back where arrays must match."""

import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

from spinney import interrupts, progress
from spinney.cli import main
from spinney.compiling import njit
from spinney.parallel import in_order


@pytest.fixture(autouse=True)
def interruptible():
    """Signals as in a terminal: shells start what runs in the background with interrupts ignored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@njit(nogil=True, cache=False)
def _arrays(n, random):
    found = np.zeros(n)
    for i in range(n):
        found[i] = random.random()
    return found, found[:1]


def test_an_interrupt_while_arguments_and_results_are_handed_over_is_an_interrupt():
    """Without the care of `interrupts`, these soon end in ``SystemError``, or in a segmentation fault."""
    random = np.random.default_rng(1)
    _arrays(10, random)
    rng = np.random.default_rng(0)

    def compute():
        with progress.task("computing"):
            threading.Timer(rng.uniform(0, 0.003), os.kill, (os.getpid(), signal.SIGINT)).start()
            while True:
                _arrays(300, random)

    for _ in range(100):
        with pytest.raises(KeyboardInterrupt):
            compute()


def test_an_interrupt_inside_what_c_calls_waits_until_it_has_returned():
    """The compiler calls back into Python, and whatever is raised there is lost."""
    source = "def _raw_object_cache_notify(call):\n    call()\n    done.append(1)"
    done = []
    names = {"done": done}
    exec(compile(source, "/somewhere/llvmlite/binding/executionengine.py", "exec"), names)

    @interrupts.listening()
    def compile_something():
        names["_raw_object_cache_notify"](lambda: signal.raise_signal(signal.SIGINT))
        time.sleep(0.1)  # any call
        done.append(2)

    with pytest.raises(KeyboardInterrupt):
        compile_something()
    assert done == [1]
    assert sys.getprofile() is None


def test_an_interrupt_that_python_can_only_print_is_raised_again(capsys):
    done = []

    @interrupts.listening()
    def compute():
        thing = threading.Event()
        reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
        del thing
        assert reference() is None  # the next call
        done.append(1)

    hook = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        compute()
    assert done == []
    assert sys.getprofile() is None
    assert sys.unraisablehook is hook
    assert capsys.readouterr().err == ""


def test_an_interrupt_never_leaves_a_lock_taken_that_a_thread_needs(monkeypatch):
    """``Condition.__enter__`` is Python: an interrupt may come when it has the lock, and ``with`` does not know yet."""
    enter, entered, moments = threading.Condition.__enter__, [], []

    def interrupted(self):
        found = enter(self)
        if threading.get_ident() == threading.main_thread().ident:
            entered.append(1)
            if len(entered) in moments:
                signal.raise_signal(signal.SIGINT)
        return found

    def work():
        with interrupts.listening():
            return list(in_order(lambda shard: time.sleep(0.001) or shard, range(6), 2))

    monkeypatch.setattr(threading.Condition, "__enter__", interrupted)
    assert work() == list(range(6))
    n_entries = len(entered)
    assert n_entries >= 6
    for moment in range(1, n_entries - 3):  # how many there are depends on which thread is first
        moments[:] = [moment]
        entered.clear()
        with pytest.raises(KeyboardInterrupt):
            work()


def test_an_interrupt_that_became_another_error_is_found(capsys, monkeypatch):
    def fit(arguments, prog_name, standalone_mode):
        raise RuntimeError("error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(main, "command", lambda arguments: fit)
    monkeypatch.setattr(interrupts, "_last", signal.SIGTERM)  # of an earlier command
    assert main.run(["tag", "fit"]) == 130
    assert capsys.readouterr().err == "spinney: interrupted\n"


def test_termination_is_an_interrupt_with_its_own_code():
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    interrupts.listen()
    with pytest.raises(interrupts.Terminated):
        signal.raise_signal(signal.SIGTERM)
    assert interrupts.exit_code() == 143
    interrupts.forget()
    assert interrupts.exit_code() == 130
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert interrupts.exit_code() == 130


def test_a_signal_that_is_ignored_stays_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupts.listen()
    with interrupts.listening(), interrupts.uninterrupted():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_program_keeps_its_own_handler():
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    with progress.task("computing"):
        signal.raise_signal(signal.SIGINT)
    assert heard == [1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_the_end_of_a_block(number):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    interrupts.listen()
    done = []

    @interrupts.uninterrupted()
    def inner():
        signal.raise_signal(number)
        done.append("inner")

    @interrupts.uninterrupted()
    def outer():
        inner()
        done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        outer()
    assert done == ["inner", "outer"]
    with pytest.raises(KeyboardInterrupt):  # and the next one is not held back
        signal.raise_signal(number)


def test_other_threads_hold_nothing_back():
    done = []

    @interrupts.uninterrupted()
    def work():
        done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_during_the_first_imports_is_one_line(number, code):
    script = (
        "import builtins, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "real = builtins.__import__\n"
        "def importing(name, *rest):\n"
        f"    if name == 'click': signal.raise_signal(signal.{number})\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = importing\n"
        "from spinney.__main__ import main\n"
        "sys.argv = ['spinney', '--help']\n"
        "main()\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == code
    assert run.stderr in ("spinney: interrupted\n", "spinney: terminated\n")
    assert run.stdout == ""
