"""EM whose messages a graphics card passes: the same statistics as a processor finds, by torch.

A pass of batch EM sends the parameters to the card and fetches the counts. In online EM the counts stay on the card
from step to step, and come back when the pass ends or is interrupted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from spinney.classes.learning import NO_BATCH, Corpus, Half, Learner, Pass, Trees
from spinney.classes.statistics import DEAD, Statistics
from spinney.corpus import TokenArrays
from spinney.errors import OptionError
from spinney.inference.hidden import Laws
from spinney.interrupts import uninterrupted
from spinney.progress import Task, log

if TYPE_CHECKING:
    from spinney.inference.gpu.engine import Engine
    from spinney.inference.gpu.statistics import DeviceStatistics

_INSTALL = "pip install 'spinney[gpu]'"
#: Files that a machine with a card of NVIDIA has; looking for them is faster than importing torch.
_DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")


def chosen_device(device: str, exact: bool) -> str | None:
    """The name by which torch knows the device that passes messages; None for the processor without torch.

    Parameters
    ----------
    device
        ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"cuda:1"``; ``"torch:cpu"`` is the processor through torch, for tests.
    exact
        Whether messages are to be exact; a card knows no others.

    Examples
    --------
    >>> chosen_device("cpu", exact=True) is None
    True
    """
    if device == "cpu" or (device == "auto" and not exact):
        return None
    if not exact:
        raise OptionError(
            "on a card messages are exact: leave out k_best and epsilon, or choose the device cpu"
        )
    if device == "torch:cpu":
        _check_torch(device)
        return "cpu"
    if device == "auto":
        if find_spec("torch") is None or not has_driver():
            return None
        return "cuda" if _cards() else None
    _check_torch(device)
    cards = _cards()
    if not cards:
        raise OptionError(
            f"the device {device} needs a graphics card, and torch finds none: choose the device cpu"
        )
    number = int(device.partition(":")[2] or 0)
    if number >= cards:
        raise OptionError(
            f"there is no device {device}: torch finds {cards} card{'s' * (cards > 1)}, numbered from 0"
        )
    return device


def has_driver() -> bool:
    """Whether this machine looks as if it had a card."""
    return any(os.path.exists(path) for path in _DRIVERS)


def cards() -> list[str]:
    """The names of the cards that torch finds; none where torch is not installed."""
    if find_spec("torch") is None or not has_driver():
        return []
    import torch

    return [torch.cuda.get_device_name(i) for i in range(_cards())]


def _check_torch(device: str) -> None:
    if find_spec("torch") is None:
        raise OptionError(f"the device {device} needs the package torch: {_INSTALL}")


def _cards() -> int:
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


@cache
def engine(device: str, precision: str) -> Engine:
    """What passes messages on a device; it is kept, with its compiled kernels."""
    from spinney.inference.gpu.engine import Engine

    made = Engine(device, precision)
    if made.why_plain:
        log.warning("Triton's kernels cannot be used, so plain torch is, which is slower: %s", made.why_plain)
    return made


def device_name(device: str) -> str:
    """What people call a device."""
    import torch

    place = torch.device(device)
    return torch.cuda.get_device_name(place) if place.type == "cuda" else "cpu, by torch"


@dataclass(frozen=True)
class CardLearner(Learner):
    """EM with exact messages on a device of torch."""

    engine: Engine = field(kw_only=True)

    def batch_pass(self, corpus: Corpus, statistics: Statistics, work: Task) -> tuple[Statistics, Pass]:
        """One iteration of EM: the expected counts of the whole text under one set of parameters."""
        parameters = self.engine.parameters(*self.laws(statistics))
        found = self.engine.expect(self._text(corpus, statistics.n_classes), parameters, work.update)
        mass = found.words.sum(0).cpu().numpy()
        omega = (
            found.words.to(self.engine.precision.work)
            .cpu()
            .numpy()
            .astype(statistics.omega.dtype, copy=False)
        )
        new = Statistics(omega, mass, found.edges.cpu().numpy(), found.roots.cpu().numpy())
        return new, Pass(found.log_likelihood, float(statistics.n_classes), 0)

    def online_pass(
        self,
        corpus: Corpus,
        statistics: Statistics,
        batches: Sequence[Sequence[TokenArrays]],
        alpha: Callable[[int], float],
        steps: int,
        rng: Callable[[int], np.random.Generator],
        work: Task,
        watch: Callable[[int, Half], None],
        half: Half = NO_BATCH,
    ) -> Pass:
        """Online EM over batches of pieces, as :meth:`Learner.online_pass`."""
        from spinney.inference.gpu.streaming import batches as laid_out

        kept, C = self._sent(statistics), statistics.n_classes
        text = (_joined([corpus.trees(piece) for piece in batch]) for batch in batches[half.batches :])
        layouts = laid_out(text, len(statistics.tau), self.engine.device)
        try:
            for t, layout in enumerate(layouts, steps + 1):
                began = time.perf_counter()
                value, step = self.engine.step(layout, kept, self.smoothing, self.backoff)
                found, revived = float(value), 0
                edges = len(layout) - layout.n_roots
                with uninterrupted():
                    step(alpha(t))
                    if bool((kept.mass < DEAD * kept.mass.mean()).any()):
                        self._fetch(kept, statistics)
                        revived = statistics.revive(rng(t), self.noise)
                        kept = self._sent(statistics)
                    half = Half(
                        half.batches + 1,
                        half.log_likelihood + found,
                        half.kept + 2.0 * edges * C,
                        half.sent + 2 * edges,
                        half.revived + revived,
                        half.seconds + time.perf_counter() - began,
                    )
                    watch(t, half)
                work.update(len(layout))
        finally:
            with uninterrupted():
                layouts.close()
                self._fetch(kept, statistics)
        return half.result()

    def log_likelihood(self, corpus: Corpus, laws: Laws) -> float:
        """Of all words."""
        return self.engine.log_likelihood(self._text(corpus, laws.n_classes), self.engine.parameters(*laws))

    def _text(self, corpus: Corpus, n_classes: int) -> Iterator[Any]:
        from spinney.inference.gpu.layout import Sentences

        pieces = corpus.pieces(self.engine.batch_tokens(n_classes))
        return (Sentences(*corpus.trees(piece)) for piece in pieces)

    def _sent(self, s: Statistics) -> DeviceStatistics:
        from spinney.inference.gpu.statistics import DeviceStatistics

        omega, mass, tau, rho = (self.engine.sent(one) for one in (s.omega, s.mass, s.tau, s.rho))
        return DeviceStatistics(omega.to(self.engine.precision.work), mass, tau, rho, s.gain)

    def _fetch(self, kept: DeviceStatistics, s: Statistics) -> None:
        """Bring the counts back, into the arrays that the model has."""
        for own, other in ((s.omega, kept.omega), (s.mass, kept.mass), (s.tau, kept.tau), (s.rho, kept.rho)):
            own[...] = other.cpu().numpy()
        s.gain = kept.gain


def _joined(parts: Sequence[Trees]) -> Any:
    """Several pieces of a text as one batch."""
    from spinney.inference.gpu.layout import Sentences

    starts = np.cumsum([0] + [len(part.ids) for part in parts])
    offsets = np.concatenate([[0], *(part.offsets[1:] + start for part, start in zip(parts, starts))])
    first = parts[0]
    return Sentences(
        np.concatenate([part.ids for part in parts]),
        offsets,
        None
        if first.heads is None
        else np.concatenate([part.heads for part in parts if part.heads is not None]),
        None
        if first.kinds is None
        else np.concatenate([part.kinds for part in parts if part.kinds is not None]),
    )
