"""``python -m benchmarks NAME [NAME …]``, or ``all``."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    "linear",
    "groups",
    "structured",
    "prox",
    "crf",
    "brown",
    "hmm",
    "embed",
    "embed_coding",
    "embed_hmm",
    "embed_topics",
    "lm",
    "parsing",
)


def main(arguments: list[str]) -> None:
    """Run the named benchmarks."""
    names = list(NAMES) if arguments == ["all"] else arguments
    if not names or not set(names) <= set(NAMES):
        sys.exit(f"usage: python -m benchmarks NAME …, with NAME one of {', '.join(NAMES)}, or all")
    for name in names:
        importlib.import_module(f"benchmarks.{name}").main()


main(sys.argv[1:])
