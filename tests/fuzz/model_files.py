"""Model files of every kind, damaged in two ways.

Bytes are changed, cut, doubled or swapped in the raw file: it must be refused, or do exactly what the whole file does.
And values, shapes, facts, settings and strings are changed with their checksums put right, as nobody but an attacker
would: the model must work, or be refused in one line.
"""

from __future__ import annotations

import copy
import json
import warnings
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from running import Attempt, Harness, SilentChange
from tiny_models import MODELS, write_data

import spinney
from spinney.errors import SpinneyError
from spinney.files import _DTYPES, _NAME_OF, _SUM, _ZEROS, header_sum
from spinney.front_coding import Coded, Strings, coded, is_sound
from spinney.views import as_json

Arrays = dict[str, np.ndarray]
Rng = np.random.Generator


# ------------------------------------------------------------------------------------- what a model says


def said(model: Any, verb: str, data: str) -> str:
    """What a model says, or how it declines."""
    try:
        if verb == "apply":
            applied = model.apply(data)
            return applied.header + "".join(applied.text(record) for record in applied)
        if verb == "structures":
            return str({role: getattr(found, "facts", "") for role, found in model.structures().items()})
        if verb == "predict":
            return _predicted(model)
        if verb == "html":
            return model._repr_html_()[:5]
        views = model.evaluate(data) if verb == "evaluate" else getattr(model, verb)()
        return json.dumps(_timeless(as_json(views)), sort_keys=True)
    except SpinneyError as error:
        if "\n" in str(error):
            raise
        return str(error)


def _timeless(value: Any) -> Any:
    """Without what took how long."""
    if isinstance(value, dict):
        return {
            key: _timeless(inner) for key, inner in value.items() if not key.endswith(("seconds", "_second"))
        }
    return [_timeless(inner) for inner in value] if isinstance(value, list) else value


def _predicted(model: Any) -> str:
    """What estimators and structures do that have no data in files."""
    if model.kind == "trend/TimeSeriesTextModel":
        V, F = model.coef_.shape[1:]
        return str(model.losses(np.ones((1, V)), np.ones((1, F))))
    if model.kind.startswith("trend/TimeSeries"):
        return str(model.predict(np.ones((1, model.coef_.shape[1]))))
    if hasattr(model, "neighbours") and hasattr(model, "words"):
        return str([model.neighbours(word, 3) for word in model.words[:2]])
    if callable(getattr(model, "encode", None)):
        return str(model.encode(["the", "dog", "nothing"]))
    if hasattr(model, "to_newick"):
        return f"{model.to_newick()} {model.paths()}"
    return str(model.merged().overlap_counts) if hasattr(model, "merged") else ""


VERBS = ("views", "report_views", "apply", "evaluate", "summary", "structures", "predict", "html")


# ------------------------------------------------------------------------------------------ raw damage


def damaged_bytes(rng: Rng, good: bytes) -> bytes:
    """The bytes of a file with something wrong."""
    data = bytearray(good)
    a, b = sorted(rng.integers(0, len(data), 2).tolist())
    match rng.integers(0, 8):
        case 0 | 1:  # one bit
            data[a] ^= 1 << rng.integers(0, 8)
        case 2:  # a few bytes
            for at in rng.integers(0, len(data), rng.integers(1, 6)).tolist():
                data[at] = rng.integers(0, 256)
        case 3:
            del data[a:b]
        case 4:
            data[b:b] = data[a : a + rng.integers(1, 64)]
        case 5:  # a piece takes the place of another
            size = int(rng.integers(1, 1 + min(len(data) - b, 256)))
            data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]
        case 6:
            data[a : a + 8] = rng.choice([b"\0" * 8, b"\xff" * 8, b"99999999", b"        "])
        case _:
            del data[a if rng.integers(0, 2) else b :]
    return bytes(data)


# ------------------------------------------------------------------------------- damage with right checksums


def unpacked(good: bytes) -> tuple[dict[str, Any], Arrays]:
    """The facts and the arrays of a file."""
    length = int.from_bytes(good[:8], "little")
    layout = json.loads(good[8 : 8 + length])
    facts = json.loads(layout.pop("__metadata__")["spinney"])
    arrays = {}
    for name, info in layout.items():
        begin, end = (8 + length + offset for offset in info["data_offsets"])
        arrays[name] = np.frombuffer(good[begin:end], _DTYPES[info["dtype"]]).reshape(info["shape"])
    return facts, arrays


def packed(facts: dict[str, Any], arrays: Arrays) -> bytes:
    """A file with right checksums, whatever is in it."""
    arrays = {name: np.ascontiguousarray(array) if array.ndim else array for name, array in arrays.items()}
    order = sorted(arrays, key=lambda name: -arrays[name].itemsize)
    facts = {**facts, "crc32": {name: zlib.crc32(arrays[name].tobytes()) for name in order}}
    layout: dict[str, Any] = {"__metadata__": {"crc32": _ZEROS.decode(), "spinney": json.dumps(facts)}}
    end = 0
    for name in order:
        array = arrays[name]
        begin, end = end, end + array.nbytes
        layout[name] = {"dtype": _NAME_OF[array.dtype], "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(layout, separators=(",", ":")).encode()
    text = text[: _SUM.start] + header_sum(text) + text[_SUM.stop :]
    return len(text).to_bytes(8, "little") + text + b"".join(arrays[name].tobytes() for name in order)


_ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 2**31 - 1, 2**31, 2**53, 2**63, -(2**63), 10**30, 0.5, -0.5, 1e308, -1e308,
    1e-320, float("nan"), float("inf"), "", "x", "é\n\0", "a" * 100_000, "1", "nan", [], [1, 2], ["x"], [[]], {},
    {"a": 1}, {"": None}, [None] * 1000, [[1.0], [2.0]], "__import__('os')", "../../x", "lm/CacheModel", "(a+)+$",
]  # fmt: skip
_NUMBERS = [
    0, 1, -1, 2, 127, 255, 2**15, 2**31 - 1, -(2**31), 2**62, -(2**62), 0.5, 1e-300, 1e300, -1e300,
    np.nan, np.inf, -np.inf,
]  # fmt: skip


def _deep() -> Any:
    value: Any = 1
    for _ in range(200):
        value = [value]
    return value


def damage_facts(rng: Rng, facts: dict[str, Any]) -> None:
    """Change something somewhere in the nested facts."""
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, inner in items:
            places.append((value, key))
            walk(inner)

    walk({key: facts[key] for key in ("header", "parts", "kind") if key in facts})
    holder, key = places[rng.integers(1, len(places))] if len(places) > 1 else (facts, "kind")
    old = holder[key]
    match rng.integers(0, 8):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(old, int | float) and not isinstance(old, bool):
            holder[key] = [old + 1, old - 1, -old, old * 1000, old / 2, float(old), str(old)][
                rng.integers(0, 7)
            ]
        case 2 if isinstance(old, list) and old:
            holder[key] = copy.deepcopy(
                [old[:-1], old * 2, old[::-1], [*old, None], [old]][rng.integers(0, 5)]
            )
        case 3:
            holder[key] = _deep()
        case 4:
            other, place = places[rng.integers(0, len(places))]
            holder[key] = copy.deepcopy(other.get(place) if isinstance(other, dict) else other[place])
        case _:
            holder[key] = copy.deepcopy(_ODD[rng.integers(0, len(_ODD))])


def damage_array(rng: Rng, arrays: Arrays) -> None:
    """Change values, shape or type of an array, or exchange two."""
    names = [name for name in arrays if not name.endswith(":utf8")]
    if not names:
        damage_strings(rng, arrays)
        return
    name = names[rng.integers(0, len(names))]
    array = arrays[name].copy()
    flat = array.reshape(-1)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        match rng.integers(0, 12):
            case 0 | 1 | 2 if flat.size:  # some values
                for at in rng.integers(0, flat.size, rng.integers(1, 4)):
                    flat[at] = _cast(_NUMBERS[rng.integers(0, len(_NUMBERS))], array.dtype)
            case 3 if flat.size:
                flat[:] = _cast(_NUMBERS[rng.integers(0, len(_NUMBERS))], array.dtype)
            case 4:
                array = rng.permutation(flat).reshape(array.shape)
            case 5 if flat.size:
                flat += _cast(rng.choice([1, -1, 2]), array.dtype)
            case 6 if flat.size:
                array = (array * rng.choice([-1, 2, 1000])).astype(array.dtype)
            case 7 if array.ndim:  # fewer or more
                array = (
                    array[: rng.integers(0, len(array) + 1)]
                    if rng.integers(0, 2)
                    else np.concatenate([array, array])
                )
            case 8:
                array = [array[None], flat, array.T, array.reshape(-1, 1), array[..., None]][
                    rng.integers(0, 5)
                ]
            case 9:
                array = array.astype(rng.choice(["<f8", "<f4", "<i8", "<i4", "<u1"]))
            case 10:
                other = names[rng.integers(0, len(names))]
                array, arrays[other] = arrays[other], array
            case _:
                del arrays[name]
                return
    arrays[name] = array


def _cast(value: float, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return value
    limits = np.iinfo(dtype)
    return 0 if np.isnan(value) else int(min(max(value, limits.min), limits.max))


def damage_strings(rng: Rng, arrays: Arrays) -> None:
    """Change a list of strings."""
    names = [name.removesuffix(":utf8") for name in arrays if name.endswith(":utf8")]
    if not names:
        return
    name = names[rng.integers(0, len(names))]
    before = [arrays.pop(f"{name}:{what}", None) for what in ("utf8", "lengths", "shared")]
    if before[1] is None or not is_sound(Coded(*before)):  # it was damaged already
        return
    found = [text.encode() for text in Strings.of(Coded(*before))]
    odd = [
        b"",
        b"x",
        b"\0",
        "é".encode(),
        b"\xff",
        b"a" * 10_000,
        b" ",
        b"\n",
        b"1e400",
        b"NaT",
        b"(a+)+$",
        b"<s>",
        b"</s>",
    ]
    odd += [
        b'U:%m[0,0,"(a+)+$"]',
        b'U:%t[0,0,"(?=x)"]',
        b"U:%x[0,9]",
        b"U:%x[-99,0]",
        b"%",
        b"B",
        b"U:%class[0,0,q]",
    ]
    at = int(rng.integers(0, max(1, len(found))))
    match rng.integers(0, 6):
        case 0 if found:
            found[at] = odd[rng.integers(0, len(odd))]
        case 1 if found:
            found[at] = found[rng.integers(0, len(found))]
        case 2:
            found = [found[i] for i in rng.permutation(len(found))]
        case 3:
            found = found[:at]
        case 4:
            found.append(odd[rng.integers(0, len(odd))])
        case _:
            found = []
    after = coded(found)
    arrays |= {f"{name}:utf8": after.rest, f"{name}:lengths": after.lengths}
    if after.shared is not None:
        arrays[f"{name}:shared"] = after.shared


# ------------------------------------------------------------------------------------------- harnesses


def prepare(kind: str, folder: Path) -> Attempt:
    """Fit a tiny model, and keep what it says."""
    warnings.simplefilter("ignore")
    make, suffix = MODELS[kind]
    write_data(folder)
    path, data = folder / "good.spinney", str(folder / f"few{suffix or '.txt'}")
    make(folder).save(path)
    good = path.read_bytes()
    model = spinney.load(path)
    reference = {verb: said(model, verb, data) for verb in VERBS}
    path.write_bytes(packed(*unpacked(good)))  # what is put together here must be as good
    assert {verb: said(spinney.load(path), verb, data) for verb in VERBS} == reference
    return partial(_attempt, good, reference, folder / "bad.spinney", data)


def prepare_all(folder: Path) -> Attempt:
    """A model of every kind, in one process."""
    attempts = []
    for number, kind in enumerate(MODELS):
        place = folder / str(number)
        place.mkdir()
        attempts.append(prepare(kind, place))
    return lambda rng: attempts[rng.integers(0, len(attempts))](rng)


def _attempt(good: bytes, reference: dict[str, str], bad: Path, data: str, rng: Rng) -> None:
    if rng.integers(0, 2):
        bad.write_bytes(damaged_bytes(rng, good))
        model = spinney.load(bad)
        for verb, before in reference.items():
            after = said(model, verb, data)
            if after != before:
                raise SilentChange(f"{verb}: {before[:300]}\nbecame {after[:300]}")
        return
    facts, arrays = unpacked(good)
    for _ in range(rng.integers(1, 4)):
        kinds: list[Callable[[], None]] = [
            lambda: damage_facts(rng, facts),
            lambda: damage_array(rng, arrays),
            lambda: damage_strings(rng, arrays),
        ]
        kinds[rng.choice(3, p=[0.4, 0.45, 0.15])]()
    bad.write_bytes(packed(facts, arrays))
    model = spinney.load(bad)
    for verb in rng.choice(VERBS, 3, replace=False):
        said(model, str(verb), data)


#: All kinds by turns, for a test of a few seconds, and each by itself.
HARNESSES = [
    Harness("model/any", prepare_all),
    *(Harness(f"model/{kind}", partial(prepare, kind)) for kind in MODELS),
]
