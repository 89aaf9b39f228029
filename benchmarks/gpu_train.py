"""Train a hidden Markov model on a machine that has a card, NumPy and torch, but not Spinney's other requirements.

Three steps, of which the first and the last run where Spinney is installed:

    python3 benchmarks/gpu_train.py prepare ARRAYS CLASSES text.npz [--tree] [--typed N]
    python3 benchmarks/gpu_train.py train text.npz OUT [--em batch|online] [--passes 5] [--precision tf32]
    python3 benchmarks/gpu_train.py model ARRAYS OUT model.spinney

ARRAYS is a folder that ``TokenArrays.save`` wrote, or a text file (one sentence a line; with ``--tree`` CoNLL-U);
CLASSES is a file of word classes to start from (``classes fit --method brown``). ``text.npz`` has the ids in planes of
bytes, which deflate well: some 1.3 bytes a token. OUT gets ``training.json`` and the statistics in files of at most
15 MB: of each row the classes with at least a millionth of it (or more, if that would be too much), as 16 bits for the
class and 16 for the logarithm of its share, which is good to 2·10⁻⁴.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

WORDS, EDGES = 12_000_000, 3_500_000  # entries of words and of edges in all files
EACH = 3_500_000  # entries of one file
STEPS = 2048  # of a halving: how finely logarithms are stored
SMOOTHING, BACKOFF, DELAY = 1e-5, 0.1, 4.0


# -------------------------------------------------------------------------------------------- the text


def prepare(args: Any) -> None:
    """Pack the text, the words' counts and their first classes into one file."""
    from spinney.classes.relations import kind_numbers, kinds_of
    from spinney.structure.reading import word_classes

    arrays = _arrays(args.arrays, args.tree, bool(args.typed))
    vocabulary = arrays.vocabulary
    start = word_classes(args.classes)
    ids = np.asarray(arrays.ids)
    packed: dict[str, Any] = {
        f"ids{byte}": (ids >> (8 * byte)).astype(np.uint8)
        for byte in range(max(1, (len(vocabulary).bit_length() + 7) // 8))
    }
    packed["lengths"] = np.diff(arrays.offsets).astype(np.uint16)
    packed["counts"] = np.bincount(ids, minlength=len(vocabulary))
    packed["classes"] = start.encode(list(vocabulary.words)).astype(np.int32)
    relations = kinds_of(arrays, args.typed)
    if args.tree:
        heads = np.asarray(arrays.heads)
        packed["heads"] = heads.astype(np.int8 if heads.max(initial=0) < 128 else np.int16)
        if len(relations) > 1:
            kinds = kind_numbers(arrays, relations)
            packed["kinds"] = kinds[np.asarray(arrays.labels["deprel"].ids)].astype(np.uint8)
    facts = {"n_classes": start.n_classes, "relations": relations, "typed": args.typed, "tree": args.tree}
    np.savez_compressed(args.text, facts=np.array(json.dumps(facts)), **packed)
    print(f"{len(ids):,} tokens, {len(vocabulary):,} words: {Path(args.text).stat().st_size / 1e6:.1f} MB")


def _arrays(path: str, tree: bool, relations: bool) -> Any:
    from spinney.corpus import TokenArrays, read_arrays

    if Path(path).is_dir():
        return TokenArrays.load(path)
    if tree:
        return read_arrays(path, "conllu", heads=True, labels=["deprel"] if relations else [])
    return read_arrays(path, "lines")


def unpacked(path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and the arrays of a prepared text: ids, offsets, heads, kinds, counts, classes."""
    with np.load(path) as file:
        facts = json.loads(str(file["facts"]))
        found: dict[str, Any] = {"ids": file["ids0"].astype(np.int32), "heads": None, "kinds": None}
        for byte in (1, 2, 3):
            if f"ids{byte}" in file:
                found["ids"] |= file[f"ids{byte}"].astype(np.int32) << (8 * byte)
        found["offsets"] = np.concatenate(([0], np.cumsum(file["lengths"].astype(np.int64))))
        for name in ("heads", "kinds"):
            if name in file:
                found[name] = file[name].astype(np.int32)
        found["counts"], found["classes"] = file["counts"], file["classes"]
    return facts, found


# -------------------------------------------------------------------------------------------- training


def train(args: Any) -> None:
    """EM from the first classes; the statistics go into OUT."""
    import torch

    from spinney.inference.gpu.engine import Engine
    from spinney.inference.gpu.statistics import DeviceStatistics, classes_start
    from spinney.inference.gpu.streaming import pieces

    facts, text = unpacked(args.text)
    C = facts["n_classes"]
    engine = Engine(args.device, args.precision)
    print(
        f"{len(text['ids']):,} tokens, {C} classes, {engine.device}, Triton: {engine.is_fused} {engine.why_plain}"
    )
    edges, roots = _class_edges(text, C, len(facts["relations"]))
    sent = [engine.sent(one) for one in (text["classes"].astype(np.int64), text["counts"], edges, roots)]
    statistics = classes_start(sent[0], sent[1], sent[2], sent[3], engine.precision.work)
    parts = [text[name] for name in ("ids", "offsets", "heads", "kinds")]
    n, trace, steps = len(text["ids"]), [], 0
    for number in range(args.passes + (args.em == "online")):
        began = time.perf_counter()
        if args.em == "online" and number < args.passes:
            value, steps = _online(engine, parts, statistics, args, number, steps)
        else:
            laws = statistics.parameters(SMOOTHING, BACKOFF, engine.precision)
            found = engine.expect(pieces(*parts, tokens=engine.batch_tokens(C)), laws)
            value = found.log_likelihood
            statistics = DeviceStatistics.of(found.words, found.edges, found.roots, engine.precision.work)
        seconds = time.perf_counter() - began
        row = {
            "classes": C,
            "pass": number + 1,
            "log_likelihood": value / n,
            "support": float(C),
            "seconds": seconds,
        }
        trace.append(row)
        print(
            f"pass {number + 1}: {value / n:.5f} nats a token, {seconds:.2f} s, {n / seconds / 1e6:.1f} M tokens/s"
        )
    statistics.fold()
    dead = int((statistics.mass < 1e-5 * statistics.mass.mean()).sum())
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    omega, tau = statistics.omega.cpu().numpy(), statistics.tau.cpu().numpy().reshape(-1, C)
    files = write_rows(out, "omega", omega, WORDS) + write_rows(out, "tau", tau, EDGES)
    name = torch.cuda.get_device_name(engine.device) if engine.device.type == "cuda" else "cpu, by torch"
    training = {
        "trace": trace, "steps": steps, "dead": dead, "em": args.em, "passes": args.passes, "gamma": args.gamma,
        "batch_tokens": args.batch_tokens, "precision": args.precision, "device": name, "files": files,
        "rho": statistics.rho.cpu().tolist(), **facts,
    }  # fmt: skip
    (out / "training.json").write_text(json.dumps(training))
    print(f"{dead} dead classes; wrote {', '.join(files)}")


def _online(
    engine: Any, parts: Any, statistics: Any, args: Any, number: int, steps: int
) -> tuple[float, int]:
    """One pass of online EM over stretches of text in random order."""
    from spinney.inference.gpu.streaming import batches, pieces

    some = list(pieces(*parts, tokens=args.batch_tokens))
    order = np.random.default_rng([args.seed, number]).permutation(len(some))
    if not steps:
        statistics.scaled(len(parts[0]) / len(some))
    total = 0.0
    for layout in batches((some[i] for i in order), len(statistics.tau), engine.device):
        steps += 1
        value, step = engine.step(layout, statistics, SMOOTHING, BACKOFF)
        step(1.0 / (DELAY + steps) ** args.gamma)
        total += float(value)
    return total, steps


def _class_edges(text: dict[str, Any], C: int, K: int) -> tuple[Any, Any]:
    """How often classes meet, and how often each is that of a root."""
    found, offsets, heads = text["classes"][text["ids"]], text["offsets"], text["heads"]
    start = np.repeat(offsets[:-1], np.diff(offsets))
    at = np.arange(len(found))
    father = np.where(at > start, at - 1, -1) if heads is None else np.where(heads >= 0, start + heads, -1)
    kinds = np.zeros(len(found), np.int64) if text["kinds"] is None else text["kinds"]
    above = found[np.maximum(father, 0)]
    known = (father >= 0) & (found >= 0) & (above >= 0)
    edges = np.bincount((kinds[known] * C + found[known]) * C + above[known], minlength=K * C * C)
    roots = np.bincount(found[(father < 0) & (found >= 0)], minlength=C)
    return edges.reshape(K, C, C).astype(np.float64), roots.astype(np.float64)


# ------------------------------------------------------------------------------------------- statistics


def write_rows(folder: Path, name: str, rows: Any, most: int) -> list[str]:
    """Write a matrix of counts, sparse and with short logarithms; returns the names of the files."""
    total = rows.sum(1, dtype=np.float64)
    share = (rows / np.maximum(total, 1e-300)[:, None]).astype(np.float32)
    least = 1e-6
    while np.count_nonzero(share >= least) > most:
        least *= 2
    row, column = np.nonzero(share >= least)
    code = np.round(-STEPS * np.log2(share[row, column])).astype(np.uint16)
    sizes = np.bincount(row, minlength=len(rows))
    names = []
    for part, first in enumerate(range(0, max(len(row), 1), EACH)):
        some = slice(first, first + EACH)
        content = {"columns": column[some].astype(np.uint16), "codes": code[some]}
        if not part:
            content |= {"sizes": sizes.astype(np.uint16), "total": total, "shape": np.array(rows.shape)}
        names.append(f"{name}{part}.npz")
        np.savez_compressed(folder / names[-1], **content)
    return names


def read_rows(folder: Path, name: str) -> Any:
    """The matrix that :func:`write_rows` wrote; every row has its old sum."""
    parts = []
    while (path := folder / f"{name}{len(parts)}.npz").exists():
        with np.load(path) as file:
            parts.append(dict(file))
    columns, codes = (np.concatenate([part[key] for part in parts]) for key in ("columns", "codes"))
    sizes, total = parts[0]["sizes"].astype(np.int64), parts[0]["total"]
    rows = np.zeros(tuple(parts[0]["shape"]))
    rows[np.repeat(np.arange(len(sizes)), sizes), columns] = 2.0 ** (-codes.astype(np.float64) / STEPS)
    return rows * (total / np.maximum(rows.sum(1), 1e-300))[:, None]


def model(args: Any) -> None:
    """Make a model file of what was learned."""
    from spinney.classes import HiddenMarkov
    from spinney.classes.em import Done
    from spinney.classes.learning import Half
    from spinney.classes.statistics import Statistics

    out = Path(args.out)
    training = json.loads((out / "training.json").read_text())
    C, relations = training["n_classes"], training["relations"]
    arrays = _arrays(args.arrays, training["tree"], len(relations) > 1)
    how: dict[str, Any] = {
        "em": training["em"],
        "passes": training["passes"],
        "precision": training["precision"],
    }
    if training["em"] == "online":
        how |= {"gamma": training["gamma"], "batch_tokens": training["batch_tokens"]}
    fitted = HiddenMarkov(C, "tree" if training["tree"] else "chain", typed=training["typed"], **how)
    fitted.vocabulary_, fitted.relations_ = arrays.vocabulary, relations
    omega = read_rows(out, "omega").astype(np.float32)
    tau = read_rows(out, "tau").reshape(len(relations), C, C)
    fitted.statistics_ = Statistics.of(omega, tau, np.array(training["rho"]))
    fitted.gamma_, fitted._half = float(training["gamma"]), Half()
    fitted._done = Done(training["passes"], training["steps"], True)
    fitted.facts = {"reading": {}, "revived": 0, "trace": training["trace"]}
    seconds = sum(row["seconds"] for row in training["trace"])
    fitted._note_facts(fitted._corpus(arrays), None, seconds)
    fitted.facts |= {"device": training["device"], "precision": training["precision"]}
    fitted.save(args.model)
    print(f"{args.model}: {fitted.log_likelihood(arrays.part(0, 2000)) / arrays.part(0, 2000).n_tokens:.4f} "
          "nats a token on the first 2,000 sentences")  # fmt: skip


def main() -> None:
    """Run one of the three steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("prepare")
    verb.set_defaults(run=prepare)
    for name in ("arrays", "classes", "text"):
        verb.add_argument(name)
    verb.add_argument("--tree", action="store_true")
    verb.add_argument("--typed", type=int, default=0)
    verb = verbs.add_parser("train")
    verb.set_defaults(run=train)
    for name in ("text", "out"):
        verb.add_argument(name)
    verb.add_argument("--device", default="cuda")
    verb.add_argument("--precision", default="tf32")
    verb.add_argument("--em", choices=("batch", "online"), default="batch")
    verb.add_argument("--passes", type=int, default=5)
    verb.add_argument("--batch-tokens", type=int, default=65_536)
    verb.add_argument("--gamma", type=float, default=0.6)
    verb.add_argument("--seed", type=int, default=0)
    verb = verbs.add_parser("model")
    verb.set_defaults(run=model)
    for name in ("arrays", "out", "model"):
        verb.add_argument(name)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
