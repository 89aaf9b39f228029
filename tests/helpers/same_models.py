"""Whether two models are the same to the last bit."""

from __future__ import annotations

import json
import struct
from pathlib import Path

_RUN = ("threads", "checkpoint", "resume", "crc32")


def same_model(one, other, folder: Path) -> bool:
    """Whether two models have the same tensors and the same facts but for times and how the fit was run."""
    return model_bits(one, folder) == model_bits(other, folder)


def model_bits(model, folder: Path) -> tuple[bytes, object]:
    """The tensors of a model as bytes, and its header without times and how the fit was run."""
    path = folder / "bits.spinney"
    model.save(path)
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    return raw[8 + n :], _without_times(json.loads(raw[8 : 8 + n]))


def _without_times(value):
    if isinstance(value, dict):
        kept = {key: v for key, v in value.items() if "second" not in key and key not in _RUN}
        return {key: _without_times(v) for key, v in kept.items()}
    if isinstance(value, str) and value[:1] in ("{", "["):
        return _without_times(json.loads(value))
    return [_without_times(v) for v in value] if isinstance(value, list) else value
