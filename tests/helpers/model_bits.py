"""What a model file holds but for times and threads, which two runs need not have in common."""

from __future__ import annotations

import json
import struct
from pathlib import Path


def model_bits(model, folder: Path) -> tuple[bytes, object]:
    """The tensors of a model as bytes, and its header."""
    path = folder / "bits.spinney"
    model.save(path)
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    return raw[8 + n :], _without_times(json.loads(raw[8 : 8 + n]))


def _without_times(value):
    if isinstance(value, dict):
        kept = {key: v for key, v in value.items() if "second" not in key and key not in ("threads", "crc32")}
        return {key: _without_times(v) for key, v in kept.items()}
    if isinstance(value, str) and value[:1] in ("{", "["):
        return _without_times(json.loads(value))
    return [_without_times(v) for v in value] if isinstance(value, list) else value
