"""Word classes by the command itself: on a graphics card with exact messages, on the processor with k-best ones.

    python benchmarks/gpu_fits.py OUT --tree parsed/*.conllu.xz --start brown512.paths brown1024.paths
    python benchmarks/gpu_fits.py OUT --text reviews.txt.xz --start brown512.paths

Each file of first classes (``classes fit --method brown``) gives two models, with the same settings but for the
device: ``spinney classes fit --method hmm --device cuda`` and ``--device cpu``. What ``classes eval`` says of them on
the files of ``--similarity`` stands beside. OUT keeps what is done, so a run that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

DEVICES = ("cuda", "cpu")


def main(arguments: list[str]) -> None:
    """Fit and evaluate a model for each file of first classes and each device, and print the table."""
    options = _parser().parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    done = options.out / "fits.json"
    rows: dict[str, Any] = json.loads(done.read_text()) if done.exists() else {}
    for start in options.start:
        for device in options.devices:
            name = f"{'tree' if options.tree else 'chain'}-{Path(start).stem}-{device}"
            if name not in rows:
                rows[name] = _fit_and_evaluate(options, start, device, options.out / f"{name}.spinney")
                done.write_text(json.dumps(rows))
                print(name, json.dumps(rows[name]), flush=True)
    print(_table(rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--text", nargs="+", default=[])
    parser.add_argument("--tree", nargs="+", default=[])
    parser.add_argument("--start", nargs="+", required=True)
    parser.add_argument("--devices", nargs="+", default=DEVICES)
    parser.add_argument("--similarity", nargs="+", default=[])
    parser.add_argument("--batch-tokens", type=int, default=65536)
    parser.add_argument("--passes", type=int, default=5)
    return parser


def _fit_and_evaluate(options: Any, start: str, device: str, model: Path) -> dict[str, Any]:
    command = [
        "classes",
        "fit",
        *options.text,
        *options.tree,
        "--method",
        "hmm",
        "--init",
        start,
        "--lowercase",
    ]
    command += ["--tree"] if options.tree else []
    command += [
        "--device",
        device,
        "--batch-tokens",
        str(options.batch_tokens),
        "--passes",
        str(options.passes),
    ]
    command += ["--cache", str(options.out / ("trees" if options.tree else "chains")), "--model", str(model)]
    began = time.perf_counter()
    facts = _spinney(*command)
    row: dict[str, Any] = {"seconds": time.perf_counter() - began, "bytes": model.stat().st_size}
    row |= {
        key: facts[key] for key in ("tokens", "words", "classes", "log_likelihood", "device", "precision")
    }
    row["seconds_by_pass"] = [one["seconds"] for one in facts["trace"]]
    if options.similarity:
        given = [part for file in options.similarity for part in ("--similarity", file)]
        found = _spinney("classes", "eval", str(model), *given)["similarity"]
        row["similarity"] = {Path(file).stem: [one["spearman"], one["n"]] for file, one in found.items()}
    return row


def _spinney(*words: str) -> dict[str, Any]:
    """What a command says, as JSON."""
    command = [sys.executable, "-m", "spinney", *words, "--json", "--quiet"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}")
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def _table(rows: dict[str, Any]) -> str:
    files = list(next(iter(rows.values())).get("similarity", {}))
    lines = [
        "| model | tokens | nats a token | seconds of a pass | seconds in all | " + " | ".join(files) + " |"
    ]
    lines += ["|---|" + "---:|" * (4 + len(files))]
    for name, row in rows.items():
        by_pass = row["seconds_by_pass"]
        cells = [
            f"{row['tokens']:,}",
            f"{row['log_likelihood']:.3f}",
            f"{sorted(by_pass)[len(by_pass) // 2]:.1f}",
        ]
        cells += [f"{row['seconds']:.0f}"]
        cells += [f"{row['similarity'][file][0]:.3f} ({row['similarity'][file][1]})" for file in files]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
