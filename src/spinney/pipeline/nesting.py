"""Models inside the file of another model."""

from __future__ import annotations

from spinney.files import Parts
from spinney.model import Contents


def nested(name: str, contents: Contents) -> dict[str, Parts]:
    """What a model keeps in its file, as the part ``name`` of another file; ``file.part(name)`` gives it back.

    Examples
    --------
    >>> inner = Contents({"lam": 1}, {}, {}, {"words": Parts({}, {}, {"list": ["a"]})})
    >>> list(nested("tagger", inner))
    ['tagger', 'tagger/words']
    """
    header, tensors, strings, parts = contents
    return {name: Parts(header, tensors, strings)} | {
        f"{name}/{inner}": part for inner, part in parts.items()
    }
