"""Expected counts of a text, batch by batch: the E-step of EM on one device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from spinney.inference.gpu.layout import Layout, Sentences
from spinney.inference.gpu.messages import Found, Parameters, Workspace, sum_product
from spinney.inference.gpu.plain import Emissions, Plain, Target
from spinney.inference.gpu.precision import PRECISIONS, products
from spinney.inference.gpu.statistics import DeviceStatistics
from spinney.inference.gpu.streaming import batches

#: Tokens whose counts of words are added up in single precision before they go to the double-precision ones.
_SINGLE = 1 << 22
#: Messages of a batch take at most this many bytes on a card, in about this many rows for each token.
_BYTES, _ROWS = 24 << 30, 5
_MOST, _FEWEST = 1 << 22, 1 << 14


class Expected(NamedTuple):
    """Expected counts, on the device.

    Attributes
    ----------
    words : tensor [V, C]
        In double precision.
    edges : float64 tensor [K, C, C]
    roots : float64 tensor [C]
    log_likelihood : float
    """

    words: torch.Tensor
    edges: torch.Tensor
    roots: torch.Tensor
    log_likelihood: float


class Engine:
    """Exact messages on one device.

    Parameters
    ----------
    device
        As torch names it: ``"cuda"``, ``"cuda:1"``, ``"cpu"``.
    precision
        ``"tf32"``, ``"float32"``, ``"bf16"`` or ``"float64"``.
    fused
        Whether Triton's kernels are used; by default on a card, wherever they work.
    """

    def __init__(self, device: str = "cuda", precision: str = "tf32", fused: bool | None = None) -> None:
        self.device = torch.device(device)
        if self.device.type == "cuda" and self.device.index is None:
            self.device = torch.device("cuda", torch.cuda.current_device())
        self.precision = PRECISIONS[precision]
        self.fused, self.why_plain = fused, ""
        self.steps: Any = Plain(self.precision)
        if fused or (fused is None and self.device.type == "cuda"):
            self._fuse()
        self.space = Workspace(self.device)

    def _fuse(self) -> None:
        """Take the kernels if they compile and agree with plain torch."""
        try:
            from spinney.inference.gpu.fused import Fused, trial

            if self.precision.name == "float64":
                raise ValueError("the kernels have no double precision")
            with self.current():
                trial(self.precision, self.device)
            self.steps = Fused(self.precision)
        except Exception as error:  # whatever a compiler raises; plain torch gives the same results
            if self.fused:
                raise
            self.why_plain = f"{type(error).__name__}: {error}".splitlines()[0]

    def current(self) -> Any:
        """A block in which this is the current card: kernels are launched on that one."""
        return torch.cuda.device(self.device) if self.device.type == "cuda" else nullcontext()

    def clear(self) -> None:
        """Give back the memory that messages took."""
        self.space.clear()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    @property
    def is_fused(self) -> bool:
        """Whether Triton's kernels are in use."""
        return not isinstance(self.steps, Plain)

    def batch_tokens(self, n_classes: int) -> int:
        """How many tokens make a batch: as many as there is room for."""
        if self.device.type != "cuda":
            return 1 << 15
        free, _ = torch.cuda.mem_get_info(self.device)
        row = n_classes * torch.tensor([], dtype=self.precision.stored).element_size()
        return int(min(max(min(_BYTES, 0.4 * free) / (_ROWS * row), _FEWEST), _MOST))

    def parameters(
        self,
        counts: NDArray[Any],
        scale: NDArray[Any],
        floor: float,
        transition: NDArray[Any],
        root: NDArray[Any],
    ) -> Parameters:
        """The parameters (:class:`spinney.inference.hidden.Laws`), on the device."""
        work = self.precision.work
        c, s, t, r = (self.sent(one).to(work) for one in (counts, scale, transition, root))
        return Parameters.of(Emissions(c, s, float(floor)), t, r, self.precision)

    def sent(self, array: NDArray[Any]) -> torch.Tensor:
        """An array, copied to the device."""
        return torch.from_numpy(np.array(array)).to(self.device)

    def expect(
        self,
        text: Iterable[Sentences],
        parameters: Parameters,
        progress: Callable[[int], Any] = lambda tokens: None,
    ) -> Expected:
        """The E-step on a text that comes in parts: its expected counts under one set of parameters."""
        V, C = parameters.emissions.counts.shape
        single = torch.zeros((V, C), dtype=self.precision.work, device=self.device)
        exact = self.precision.work == torch.float64
        double = single if exact else torch.zeros((V, C), dtype=torch.float64, device=self.device)
        total, waiting = None, 0
        for layout, found in self.found(text, parameters, Target(omega=single)):
            total = found if total is None else Found(*(a.add_(b) for a, b in zip(total, found)))
            waiting += len(layout)
            if waiting >= _SINGLE and not exact:
                double += single
                single.zero_()
                waiting = 0
            progress(len(layout))
        if waiting and not exact:
            double += single
        if total is None:
            return Expected(
                double, torch.zeros_like(parameters.transition), torch.zeros_like(parameters.root), 0.0
            )
        edges, value = total.edges(parameters), float(total.log_likelihood)
        return Expected(double, edges, total.roots, value)

    def log_likelihood(self, text: Iterable[Sentences], parameters: Parameters) -> float:
        """Of all words: the messages up are enough for it."""
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for _, found in self.found(text, parameters, Target(), counting=False):
            total += found.log_likelihood
        return float(total)

    def found(
        self, text: Iterable[Sentences], parameters: Parameters, target: Target, counting: bool = True
    ) -> Iterator[tuple[Layout, Found]]:
        """The layout of each batch, with what was found in it; posteriors go to the target."""
        unsound = None
        laid = batches(text, len(parameters.transition), self.device)
        try:
            for layout in laid:
                found = self.run(layout, parameters, target, counting)
                if layout.unsound is not None:
                    unsound = layout.unsound if unsound is None else unsound + layout.unsound
                yield layout, found
        finally:
            laid.close()
        if unsound is not None and int(unsound):
            raise ValueError(f"{int(unsound)} tokens never reach a root: their heads make no tree")

    def run(self, layout: Layout, parameters: Parameters, target: Target, counting: bool = True) -> Found:
        """The messages of one batch."""
        with self.current(), products(self.precision):
            return sum_product(layout, parameters, self.steps, self.space, target, counting)

    def step(
        self, layout: Layout, statistics: DeviceStatistics, smoothing: float, backoff: float
    ) -> tuple[torch.Tensor, Callable[[float], None]]:
        """One batch of online EM: its log-likelihood, and what takes a step of some size towards its counts."""
        parameters = statistics.parameters(smoothing, backoff, self.precision)
        C = len(parameters.root)
        nodes = self.space.rows("nodes", len(layout), C, self.precision.work)
        found = self.run(layout, parameters, Target(nodes=nodes))

        def taken(alpha: float) -> None:
            statistics.step(layout.words, nodes, found, found.edges(parameters), alpha)

        return found.log_likelihood, taken
