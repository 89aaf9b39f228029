"""The ``spinney`` command, and ``python -m spinney``: ready for Ctrl-C before anything else is imported."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` itself imports enumerations first
import gc
import os
import sys

TYPE_CHECKING = False  # see spinney/__init__.py
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> None:
    """Run the command line, and exit with its code."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        if handler in (signal.default_int_handler, signal.SIG_DFL):  # not where it is ignored
            signal.signal(number, _leave)
    gc.set_threshold(
        100_000
    )  # imports make much and leave nothing behind: looking for it takes a tenth of the start
    from spinney.cli.main import main as run

    for number, handler in before.items():
        signal.signal(number, handler)
    run()


def _leave(number: int, _: object) -> NoReturn:
    """End at once: nothing has begun, so there is nothing to save, and an import cannot be left half way."""
    if sys.stderr is not None:
        what = b"interrupted" if number == signal.SIGINT else b"terminated"
        os.write(sys.stderr.fileno(), b"spinney: " + what + b"\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
