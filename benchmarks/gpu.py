"""Exact E-steps on a graphics card: ceilings, speeds, parity, and a billion tokens.

It needs NumPy and torch only (Triton for the fused kernels), none of Spinney's other requirements:

    python3 benchmarks/gpu.py --check --ceilings --table --parity --billion --out results

Each flag is one part, so that the parts can be run in several sessions. Text is made on the fly: words by Zipf's law
over 50,000, sentences of 22 tokens on average, written as memory-mapped files of int32. Every time is from those files
to the finished statistics. ``--device cpu --quick`` tries the script without a card.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from spinney.inference.gpu.engine import Engine
from spinney.inference.gpu.layout import Sentences
from spinney.inference.gpu.messages import Parameters
from spinney.inference.gpu.precision import PRECISIONS, in_float32, products
from spinney.inference.gpu.statistics import DeviceStatistics
from spinney.inference.gpu.streaming import pieces

WORDS, MEAN = 50_000, 22
#: Million tokens a second to reach with one H200: classes, precision, chain (trees: half of it).
GOALS = {(128, "tf32"): 82, (512, "tf32"): 36, (1024, "tf32"): 17, (2048, "bf16"): 11}
ROWS = 5  # of C numbers that cannot but be written or read for each token: u and v, u for posteriors, both for edges


class Text(NamedTuple):
    """A text in memory-mapped files."""

    ids: Any
    offsets: Any
    heads: Any

    def parts(self, tokens: int, tree: bool) -> Any:
        """Its sentences, about ``tokens`` at a time."""
        return pieces(self.ids, self.offsets, self.heads if tree else None, tokens=tokens)


def made(folder: Path, tokens: int, name: str, trees: bool = True, block: int = 4_000_000) -> Text:
    """Text of about ``tokens`` tokens: a block of random sentences, then the same block with its words exchanged."""
    rng = np.random.default_rng(5)
    n = min(tokens, block)
    lengths = np.clip(np.round(rng.gamma(2.0, MEAN / 2.0, max(1, n // MEAN))), 1, 120).astype(np.int64)
    chances = 1.0 / np.arange(1, WORDS + 1)
    ends = np.cumsum(chances / chances.sum())
    ids = np.minimum(np.searchsorted(ends, rng.random(int(lengths.sum()))), WORDS - 1).astype(np.int32)
    local = np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    heads = np.where(local > 0, (rng.random(len(ids)) * local).astype(np.int32), -1).astype(np.int32)
    copies = max(1, tokens // len(ids))
    total, sentences = copies * len(ids), copies * len(lengths)
    made_ids = _mapped(folder / f"{name}-ids.npy", np.int32, total)
    made_heads = _mapped(folder / f"{name}-heads.npy", np.int32, total if trees else 1)
    offsets = _mapped(folder / f"{name}-offsets.npy", np.int64, sentences + 1)
    offsets[0] = 0
    within = np.cumsum(lengths)
    for copy in range(copies):
        here = slice(copy * len(ids), (copy + 1) * len(ids))
        # Rare words change from copy to copy, frequent ones stay: the counts keep their law.
        shift = np.arange(WORDS, dtype=np.int32)
        shift[1000:] = np.roll(shift[1000:], 17 * copy)
        made_ids[here] = shift[ids]
        if trees:
            made_heads[here] = heads
        offsets[copy * len(lengths) + 1 : (copy + 1) * len(lengths) + 1] = within + copy * len(ids)
    return Text(made_ids, offsets, made_heads if trees else None)


def _mapped(path: Path, kind: Any, n: int) -> Any:
    return np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(n,))


def start(C: int, device: torch.device, work: torch.dtype) -> DeviceStatistics:
    """Statistics like those of a model in training: words have a few likely classes, classes a few followers."""
    gen = torch.Generator(device).manual_seed(7)
    draw: Any = {"generator": gen, "device": device, "dtype": torch.float32}
    counts = 1e6 / torch.arange(1, WORDS + 1, device=device, dtype=torch.float32)
    omega = torch.rand((WORDS, C), **draw).pow_(8) * counts[:, None]
    tau = torch.rand((1, C, C), **draw).pow_(6).double()
    rho = torch.rand(C, **draw).double()
    return DeviceStatistics.of(omega, tau * (omega.sum().double() / tau.sum()), rho, work)


def parameters(engine: Engine, statistics: DeviceStatistics) -> Parameters:
    """The M-step with the default smoothing."""
    return statistics.parameters(1e-5, 0.0, engine.precision)


# ------------------------------------------------------------------------------------------------ the parts


def check(device: str) -> dict[str, Any]:
    """Whether Triton's kernels work and agree with plain torch, for many numbers of classes."""
    found: dict[str, Any] = {}
    for name in ("tf32", "float32", "bf16"):
        engine = Engine(device, name)
        found[name] = "fused" if engine.is_fused else f"plain torch: {engine.why_plain}"
        print(f"check {name}: {found[name]}")
        if not engine.is_fused:
            continue
        plain = Engine(device, name, fused=False)
        for C in (24, 128, 300, 512, 1024, 2048):
            for tree in (False, True):
                text = _random_text(3000, tree)
                laws = parameters(engine, start(C, engine.device, engine.precision.work))
                a, b = (e.expect([text], laws) for e in (engine, plain))
                worst = max(_difference(x, y) for x, y in zip(a[:3], b[:3]))
                same = abs(a.log_likelihood - b.log_likelihood) / len(text.ids)
                print(
                    f"  C={C:5} {'tree ' if tree else 'chain'} statistics {worst:.1e}, nats a token {same:.1e}"
                )
                found[f"{name} {C} {'tree' if tree else 'chain'}"] = [worst, same]
    return found


def _random_text(sentences: int, tree: bool) -> Sentences:
    with tempfile.TemporaryDirectory() as folder:
        text = made(Path(folder), sentences * MEAN, "small")
        heads = np.array(text.heads) if tree else None
        return Sentences(np.array(text.ids), np.array(text.offsets), heads)


def _difference(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm())


def ceilings(device: torch.device, sizes: Any) -> dict[str, float]:
    """The bandwidth of copies, and operations of matrix products, measured on random numbers."""
    found: dict[str, float] = {}
    size = 1 << (28 if device.type == "cuda" else 22)
    found["copy TB/s"] = _copying(size, device)
    for name in ("tf32", "bf16"):
        for C in sizes:
            with products(PRECISIONS[name]):
                found[f"{name} TFLOP/s {C}"] = _multiplying(C, PRECISIONS[name], device)
    for name, value in found.items():
        print(f"ceiling {name:20} {value:8.2f}")
    return found


def _multiplying(C: int, precision: Any, device: torch.device) -> float:
    """The best rate over the products that are used: messages of many or few nodes, and edges in stretches."""
    best = 0.0
    T = torch.rand((C, C), device=device).to(precision.stored)
    for n in (1 << 14, 1 << 16, 1 << 18) if device.type == "cuda" else (1 << 10,):
        u, v = (torch.rand((n, C), device=device).to(precision.stored) for _ in range(2))
        out = torch.empty_like(u)
        for work in (
            lambda: torch.mm(u, T, out=out),  # noqa: B023
            lambda: in_float32(u.view(-1, 1024, C).transpose(1, 2), v.view(-1, 1024, C)),  # noqa: B023
            lambda: in_float32(u.view(1, n, C).transpose(1, 2), v.view(1, n, C)),  # noqa: B023
        ):
            best = max(
                best, 2e-12 * n * C * C / _median(work, device, repeat=10 if device.type == "cuda" else 1)
            )
    return best


def _copying(size: int, device: torch.device) -> float:
    a, b = torch.rand(size, device=device), torch.empty(size, device=device)
    return 8e-12 * size / _median(lambda: b.copy_(a), device)


def _median(work: Any, device: torch.device, times: int = 9, repeat: int = 1) -> float:
    taken = []
    for _ in range(times + 2):
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        began = time.perf_counter()
        for _ in range(repeat):
            work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        taken.append((time.perf_counter() - began) / repeat)
    return sorted(taken[2:])[times // 2]


def table(device: str, folder: Path, roof: dict[str, float], sizes: Any, args: Any) -> list[dict[str, Any]]:
    """Million tokens a second for chains and trees, beside what the ceilings allow."""
    rows = []
    text = made(folder, args.tokens, "table")
    for C in sizes:
        for name in ("tf32", "bf16"):
            engine = Engine(device, name, fused=False if args.plain else None)
            tokens = args.batch or engine.batch_tokens(C)
            laws = parameters(engine, start(C, engine.device, engine.precision.work))
            used = _first(text, max(3 * tokens, int(args.tokens * min(1.0, 256 / C))))
            for tree in (False, True):
                engine.expect(
                    _first(text, tokens).parts(tokens, tree), laws
                )  # compiles, and finds its memory
                engine.expect(used.parts(tokens, tree), laws)
                began = time.perf_counter()
                engine.expect(used.parts(tokens, tree), laws)
                speed = 1e-6 * len(used.ids) / (time.perf_counter() - began)
                row = {
                    "classes": C, "precision": name, "structure": "tree" if tree else "chain", "Mtokens/s": speed,
                    "bound": _bound(roof, C, name, tree), "goal": _goal(C, name, tree), "batch": tokens,
                    "tokens": len(used.ids), "fused": engine.is_fused,
                }  # fmt: skip
                rows.append(row)
                goal = f"goal {row['goal']}" if row["goal"] else ""
                print(
                    f"C={C:5} {name:5} {row['structure']:5} {speed:8.1f} M tokens/s   "
                    f"at most {row['bound']:6.0f}   {goal}",
                    flush=True,
                )
            del laws, engine
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
    return rows


def _first(text: Text, tokens: int) -> Text:
    end = max(1, int(np.searchsorted(text.offsets, min(tokens, len(text.ids)), side="right")) - 1)
    last = int(text.offsets[end])
    return Text(text.ids[:last], text.offsets[: end + 1], None if text.heads is None else text.heads[:last])


def _goal(C: int, name: str, tree: bool) -> float | None:
    goal = GOALS.get((C, name))
    return goal if goal is None or not tree else goal / 2


def _bound(roof: dict[str, float], C: int, name: str, tree: bool) -> float:
    """Million tokens a second at most, by the operations that are needed and by the bytes that must move."""
    operations = (8.0 if tree and name == "tf32" else 6.0) * C * C
    moved = ROWS * C * (2 if name == "bf16" else 4)
    rate, bandwidth = roof.get(f"{name} TFLOP/s {C}"), roof["copy TB/s"]
    return 1e-6 / max(operations / (1e12 * rate) if rate else 0.0, moved / (1e12 * bandwidth))


def parity(device: str, folder: Path, sizes: Any, tokens: int, passes: int = 3) -> list[dict[str, Any]]:
    """Statistics against double precision, and EM of three passes from one start in both."""
    text = made(folder, tokens, "parity")
    rows = []
    for C in sizes:
        exact = Engine(device, "float64")
        for tree in (False, True):
            reference = _train(exact, text, C, tree, passes)
            for name in ("float32", "tf32", "bf16"):
                engine = Engine(device, name)
                found = _train(engine, text, C, tree, passes)
                last = [_held(exact, text, tree, one.statistics) for one in (found, reference)]
                row = {
                    "classes": C, "structure": "tree" if tree else "chain", "precision": name,
                    "words": _difference(found.first[0], reference.first[0]),
                    "edges": _difference(found.first[1], reference.first[1]),
                    "roots": _difference(found.first[2], reference.first[2]),
                    "nats/token": abs(found.values[0] - reference.values[0]) / len(text.ids),
                    f"nats/token after {passes} passes": abs(last[0] - last[1]) / len(text.ids),
                }  # fmt: skip
                rows.append(row)
                numbers = [value for value in row.values() if isinstance(value, float)]
                print(
                    f"parity C={C} {row['structure']} {name}:",
                    *(f"{value:.1e}" for value in numbers),
                    flush=True,
                )
    return rows


class Trained(NamedTuple):
    """What some passes of EM found: the counts of the first, all log-likelihoods, and the last statistics."""

    first: Any
    values: list[float]
    statistics: DeviceStatistics


def _train(engine: Engine, text: Text, C: int, tree: bool, passes: int) -> Trained:
    statistics = start(C, engine.device, engine.precision.work)
    tokens, values, first = engine.batch_tokens(C) // 2, [], None
    for _ in range(passes):
        found = engine.expect(text.parts(tokens, tree), parameters(engine, statistics))
        first = found if first is None else first
        values.append(found.log_likelihood)
        statistics = DeviceStatistics.of(found.words, found.edges, found.roots, engine.precision.work)
    return Trained(first, values, statistics)


def _held(exact: Engine, text: Text, tree: bool, s: DeviceStatistics) -> float:
    """The log-likelihood of the text under statistics, in double precision."""
    same = DeviceStatistics(s.omega.double(), s.mass, s.tau, s.rho, s.gain)
    laws = parameters(exact, same)
    return exact.log_likelihood(text.parts(exact.batch_tokens(len(s.rho)) // 2, tree), laws)


def billion(device: str, folder: Path, C: int, tokens: int, tree: bool, name: str) -> dict[str, Any]:
    """One exact pass over very many tokens, from their file to the statistics in the memory of the host."""
    began = time.perf_counter()
    text = made(folder, tokens, "billion", trees=tree)
    print(f"{len(text.ids):,} tokens written in {time.perf_counter() - began:.0f} s", flush=True)
    engine = Engine(device, name)
    statistics = start(C, engine.device, engine.precision.work)
    each = engine.batch_tokens(C)
    engine.expect(_first(text, each).parts(each, tree), parameters(engine, statistics))  # compiles
    began = time.perf_counter()
    found = engine.expect(text.parts(each, tree), parameters(engine, statistics))
    words = found.words.cpu().numpy()
    seconds = time.perf_counter() - began
    counted = float(words.sum())
    row = {
        "classes": C, "structure": "tree" if tree else "chain", "precision": name, "tokens": len(text.ids),
        "seconds": seconds, "Mtokens/s": 1e-6 * len(text.ids) / seconds, "counted": counted,
        "edges": float(found.edges.sum()), "roots": float(found.roots.sum()),
        "log-likelihood per token": found.log_likelihood / len(text.ids),
    }  # fmt: skip
    print("billion:", json.dumps(row), flush=True)
    return row


def profile(device: str, folder: Path, C: int, name: str, tree: bool) -> None:
    """Where the time of one batch goes, by kernel."""
    engine = Engine(device, name)
    tokens = engine.batch_tokens(C)
    text = made(folder, tokens, "profile")
    laws = parameters(engine, start(C, engine.device, engine.precision.work))
    for _ in range(2):
        engine.expect(text.parts(tokens, tree), laws)
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if engine.device.type == "cuda":
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=kinds) as seen:
        engine.expect(text.parts(tokens, tree), laws)
    sort = "cuda_time_total" if engine.device.type == "cuda" else "cpu_time_total"
    print(f"C={C} {name} {'tree' if tree else 'chain'}, {tokens:,} tokens")
    print(seen.key_averages().table(sort_by=sort, row_limit=18, max_name_column_width=60))


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare Triton's kernels with plain torch")
    parser.add_argument("--ceilings", action="store_true", help="bandwidth and matrix products")
    parser.add_argument("--table", action="store_true", help="million tokens a second")
    parser.add_argument("--parity", action="store_true", help="statistics against double precision")
    parser.add_argument("--billion", action="store_true", help="one pass over very many tokens")
    parser.add_argument("--profile", action="store_true", help="the time of each kernel in one batch")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--classes", type=int, nargs="*", default=[128, 512, 1024, 2048])
    parser.add_argument("--parity-classes", type=int, nargs="*", default=[128, 512])
    parser.add_argument(
        "--tokens", type=int, default=48_000_000, help="tokens of the table at 128 and 256 classes"
    )
    parser.add_argument("--parity-tokens", type=int, default=2_000_000)
    parser.add_argument("--billion-tokens", type=int, default=1_000_000_000)
    parser.add_argument("--batch", type=int, help="tokens of a batch (default: by memory)")
    parser.add_argument("--tree", action="store_true", help="billion, profile: trees")
    parser.add_argument("--precision", default="tf32", help="billion, profile")
    parser.add_argument("--plain", action="store_true", help="table: no Triton")
    parser.add_argument("--quick", action="store_true", help="very little text, to try the script")
    parser.add_argument("--out", help="folder for gpu.json")
    args = parser.parse_args()
    if args.quick:
        args.tokens, args.parity_tokens, args.billion_tokens = 60_000, 20_000, 100_000
        args.classes, args.parity_classes = [32], [32]
    device = torch.device(args.device)
    found: dict[str, Any] = {"torch": torch.__version__, "device": str(device)}
    if device.type == "cuda":
        found["device"] = torch.cuda.get_device_name(device)
    print(found, flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if args.check:
            found["check"] = check(args.device)
        roof = ceilings(device, args.classes) if args.ceilings or args.table else {}
        found["ceilings"] = roof
        if args.table:
            found["table"] = table(args.device, folder, roof, args.classes, args)
        if args.parity:
            found["parity"] = parity(args.device, folder, args.parity_classes, args.parity_tokens)
        if args.profile:
            for C in args.classes:
                profile(args.device, folder, C, args.precision, args.tree)
        if args.billion:
            C = 32 if args.quick else 512
            found["billion"] = billion(args.device, folder, C, args.billion_tokens, args.tree, args.precision)
    if args.out:
        target = Path(args.out)
        target.mkdir(parents=True, exist_ok=True)
        (target / "gpu.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
