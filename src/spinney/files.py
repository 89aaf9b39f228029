"""Model files: one safetensors file holding arrays, lists of strings and a JSON header.

The layout is that of safetensors, so any safetensors reader opens a model: eight bytes of header length, a
JSON header that places every tensor, then the tensors, little-endian, without gaps. Spinney's own facts are
one JSON object under ``__metadata__["spinney"]``: the format version, the kind of model, its header and the
headers of its parts. A list of strings, which may be a vocabulary of millions of words, is front-coded
(:mod:`spinney.front_coding`) in the tensors ``NAME:utf8`` and ``NAME:lengths`` and, where strings share prefixes,
``NAME:shared``.

The header holds its own CRC-32 and that of every tensor, so that a byte that changed anywhere is noticed: the header's
is verified when a file is opened, a tensor's when it is first fetched.

Reading maps the file into memory and executes nothing. Every number in the header is checked before it is
used: a truncated, foreign or hostile file gives a :class:`~spinney.errors.ModelFileError` and nothing worse.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import stat
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spinney.beside import beside
from spinney.errors import InputError, ModelFileError, OptionError, did_you_mean_file
from spinney.front_coding import Coded, Strings, coded, is_sound

#: The version of the format. Files of version 1 have no checksums; up to version 2, every string of a list is whole,
#: with ``NAME:offsets`` in place of lengths, and weights of taggers are in double precision.
FORMAT = 3

# Parsed JSON takes up to thirty times the memory of its text: what is long belongs into tensors.
_HEADER_LIMIT = 8 << 20
_DTYPES = {
    name: np.dtype(code)
    for name, code in {
        "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
        "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1",
    }.items()
}  # fmt: skip
_NAME_OF = {dtype: name for name, dtype in _DTYPES.items()}
# The header begins with its own checksum, which is computed while zeros stand in its place.
_BEGIN, _ZEROS = b'{"__metadata__":{"crc32":"', b"00000000"
_SUM = slice(len(_BEGIN), len(_BEGIN) + len(_ZEROS))
# A sparse matrix has up to this many places however few are filled, and beyond that so many for each of its bytes.
_PLACES, _PLACES_A_BYTE = 1 << 24, 1 << 12
_KIND = re.compile(r"[A-Za-z0-9_]{1,60}(/[A-Za-z0-9_]{1,60})*")
_FOREIGN = {
    b"PK\x03\x04": "a zip archive",
    b"\x80": "a Python pickle",
    b"\x1f\x8b": "gzip data: decompress it first",
    b"\xfd7zXZ": "xz data: decompress it first",
    b"BZh": "bzip2 data: decompress it first",
    b"\x28\xb5\x2f\xfd": "zstd data: decompress it first",
}

_AGAIN = "copy the file again, or fit the model again"
_log = logging.getLogger("spinney")

Array = NDArray[Any]
FilePath = str | os.PathLike[str]
T = TypeVar("T")


class Parts(NamedTuple):
    """What an object stores in a model file: facts that JSON can hold, arrays, and lists of strings."""

    header: Mapping[str, Any]
    tensors: Mapping[str, Array]
    strings: Mapping[str, Sequence[str]]


# ---------------------------------------------------------------------------------------------- writing


def write_model(
    path: FilePath,
    kind: str,
    header: Mapping[str, Any],
    tensors: Mapping[str, Array],
    strings: Mapping[str, Sequence[str]] | None = None,
    parts: Mapping[str, Parts] | None = None,
) -> None:
    """Write a model file, first under a temporary name beside its target and then in its place.

    Parameters
    ----------
    path
        The target; an existing file is replaced only when the new one is complete and on disk.
    kind
        Task and class, such as ``"classify/LinearClassifier"``.
    header
        Facts that JSON can hold: parameters, sizes, metrics. NumPy scalars are stored as numbers.
    tensors
        Arrays of numbers. Those of `csr_tensors` go here too.
    strings
        Lists of strings, of any length.
    parts
        Other objects inside the model, such as the word classes of a tagger, each under its own name:
        what their ``parts()`` gave; read them back with :meth:`ModelFile.part`. A part of the part ``a`` is
        called ``a/b``.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "small.spinney"
    >>> write_model(path, "classify/Toy", {"lam": 0.5}, {"w": np.arange(3.0)}, {"words": ["a", "b", "c"]})
    >>> model = read_model(path, "classify")
    >>> model.kind, model.header, model.tensors["w"].tolist(), list(model.strings["words"])
    ('classify/Toy', {'lam': 0.5}, [0.0, 1.0, 2.0], ['a', 'b', 'c'])
    """
    if not _KIND.fullmatch(kind):
        raise ValueError(f"a kind must be task/class in letters, digits and underscores, not {kind!r}")
    facts: dict[str, Any] = {"format": FORMAT, "kind": kind, "header": dict(header)}
    arrays = _flattened(Parts(header, tensors, strings or {}), "")
    if parts:
        facts["parts"] = {name: dict(part.header) for name, part in parts.items()}
        for name, part in parts.items():
            arrays |= _flattened(part, f"{name}/")
    # Widest first, so that every tensor is aligned; then by name, so that equal models are equal files.
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))

    facts["crc32"] = {name: zlib.crc32(_bytes(array)) for name, array in ordered}
    layout: dict[str, Any] = {"__metadata__": {"crc32": _ZEROS.decode(), "spinney": _strict_json(facts)}}
    end = 0
    for name, array in ordered:
        begin, end = end, end + array.nbytes
        layout[name] = {"dtype": _NAME_OF[array.dtype], "shape": array.shape, "data_offsets": [begin, end]}
    text = json.dumps(layout, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _HEADER_LIMIT:
        raise ValueError(f"a header of {len(text)} bytes, limit {_HEADER_LIMIT}: store long lists as tensors")
    with replacing(path) as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text[: _SUM.start] + header_sum(text) + text[_SUM.stop :])
        for _, array in ordered:
            file.write(_bytes(array))


def header_sum(text: bytes) -> bytes:
    """The checksum of a JSON header, in hexadecimal, whatever stands in its place."""
    return b"%08x" % zlib.crc32(text[: _SUM.start] + _ZEROS + text[_SUM.stop :])


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")


def csr_tensors(name: str, matrix: Any) -> dict[str, Array]:
    """A SciPy sparse matrix as tensors, to be read back with :meth:`ModelFile.csr`.

    Examples
    --------
    >>> from scipy.sparse import eye_array
    >>> list(csr_tensors("m", eye_array(3)))
    ['m.data', 'm.indices', 'm.indptr', 'm.shape']
    """
    csr = matrix.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    tensors = {
        f"{name}.data": csr.data,
        f"{name}.indices": csr.indices,
        f"{name}.indptr": csr.indptr,
        f"{name}.shape": np.array(csr.shape, dtype=np.int64),
    }
    return tensors | room_for(name, math.prod(csr.shape), tensors.values())


def room_for(name: str, places: int, held: Iterable[Array]) -> dict[str, Array]:
    """What a file must hold besides the arrays ``held``, so that a reader may make ``places`` numbers of them.

    See :meth:`ModelFile.check_room`; nothing, unless what is stored is large and nearly empty.

    Examples
    --------
    >>> room_for("w", 1000, []), room_for("w", 1 << 26, [])["w.room"].nbytes
    ({}, 16384)
    """
    lacking = -(-places // _PLACES_A_BYTE) - sum(array.nbytes for array in held)
    return {f"{name}.room": np.zeros(lacking, np.uint8)} if places > _PLACES and lacking > 0 else {}


@contextmanager
def replacing(path: FilePath) -> Iterator[BinaryIO]:
    """A new file beside ``path`` that replaces it when the block ends without an error, and is removed otherwise."""
    target = os.path.realpath(path)  # a link stays a link
    temporary = beside(target)
    try:
        mode = _mode_of(target)
        if mode is not None and not stat.S_ISREG(mode):
            raise InputError("not a regular file, so it cannot be replaced", path=os.fspath(path))
        with open(temporary, "xb", opener=_with_mode(mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", path=os.fspath(path)) from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _mode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _with_mode(mode: int | None) -> Callable[[str, int], int]:
    """Opens a new file with the permissions of the one that it is to replace, from its first byte on."""

    def opener(path: str, flags: int) -> int:
        if mode is None:
            return os.open(path, flags, 0o666)
        descriptor = os.open(path, flags, 0o600)
        os.fchmod(descriptor, stat.S_IMODE(mode))
        return descriptor

    return opener


def _flattened(parts: Parts, prefix: str) -> dict[str, Array]:
    """All of one object's arrays by their names in the file, contiguous and little-endian."""
    arrays = dict(parts.tensors)
    for name, strings in parts.strings.items():
        try:
            encoded = [string.encode() for string in strings]
        except UnicodeEncodeError as error:
            raise InputError(
                f"{error.object!r} is not valid text and cannot be stored in a model file"
            ) from None
        found = coded(encoded)
        arrays[f"{name}:utf8"], arrays[f"{name}:lengths"] = found.rest, found.lengths
        if found.shared is not None:
            arrays[f"{name}:shared"] = found.shared
    flat = {}
    for name, array in arrays.items():
        dtype = array.dtype.newbyteorder("<")
        if dtype not in _NAME_OF:
            raise TypeError(f"tensor {name!r}: {array.dtype} arrays cannot be stored in a model file")
        flat[prefix + name] = np.asarray(array, dtype=dtype, order="C")
    return flat


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__} cannot be stored in the header of a model file")


# ---------------------------------------------------------------------------------------------- reading


class StoredStrings(Sequence[str]):
    """A list of strings in a file, decoded when it is asked for; one that is not UTF-8 is a `ModelFileError`."""

    def __init__(self, strings: Strings, path: Path) -> None:
        self._strings, self._path = strings, path

    def __len__(self) -> int:
        return len(self._strings)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        with self._decoding():
            return self._strings[index]

    def __iter__(self) -> Iterator[str]:
        with self._decoding():
            yield from self._strings

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:
            raise ModelFileError("damaged: a string is not UTF-8", path=self._path) from None


class Fetched(Mapping[str, T]):
    """Things by name, each of which is checked when it is fetched."""

    def __init__(self, fetch: Mapping[str, Callable[[], T]]) -> None:
        self._fetch = fetch

    def __getitem__(self, name: str) -> T:
        return self._fetch[name]()

    def __contains__(self, name: object) -> bool:
        return name in self._fetch

    def __iter__(self) -> Iterator[str]:
        return iter(self._fetch)

    def __len__(self) -> int:
        return len(self._fetch)

    def below(self, prefix: str) -> Fetched[T]:
        """Those whose names begin with ``prefix``, without it."""
        return Fetched(
            {name[len(prefix) :]: get for name, get in self._fetch.items() if name.startswith(prefix)}
        )


@dataclass
class _Tensor:
    """A tensor in the mapped file, whose bytes are compared with their checksum once."""

    name: str
    data: NDArray[np.uint8]
    view: Array
    crc32: int | None
    path: Path

    def __call__(self) -> Array:
        if self.crc32 is not None:
            if zlib.crc32(self.data.data) != self.crc32:
                _damaged(self.path, f"the checksum of tensor {_short(self.name)} does not match", _AGAIN)
            self.crc32 = None
        # Ours are aligned; what another program wrote may not be, and kernels assume it.
        if not self.view.flags.aligned:
            self.view = self.view.copy()
        return self.view


@dataclass(frozen=True)
class ModelFile:
    """An open model file. Tensors are read-only views of the mapped file; strings are decoded on demand.

    The methods check the presence, the type, the checksum and the range of what they fetch, so that a class that
    rebuilds itself from a file need not.
    """

    path: Path
    kind: str
    header: dict[str, Any]
    tensors: Mapping[str, Array]
    strings: Mapping[str, StoredStrings]
    format_version: int
    part_headers: dict[str, dict[str, Any]]

    def error(self, what: str) -> ModelFileError:
        """An error that names this file."""
        return ModelFileError(what, path=self.path)

    @contextmanager
    def checked(self, *others: type[Exception]) -> Iterator[None]:
        """Report an `OptionError` inside the block, or one of the ``others``, as damage to this file."""
        try:
            yield
        except Exception as error:
            if not isinstance(error, (OptionError, *others)):
                raise
            raise self.error(f"damaged: {error}") from None

    def settings(self, names: Collection[str], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the model was made with: the fact ``settings``, which must have exactly these names.

        Those in ``before`` are newer than some files: it says what they were before there was a choice.
        """
        found = {**(before or {}), **self.fact("settings", dict)}
        if set(found) != set(names):
            raise self.error(
                "damaged, or written by an older version: its settings are not those of its kind of model; fit it again"
            )
        return found

    def fact(self, key: str, type_: type[T]) -> T:
        """The value of ``key`` in the header; it must be of that type (an int passes for a float)."""
        value = self.header.get(key)
        if type_ is float and type(value) is int:
            value = float(value) if abs(value) < 1 << 1000 else None
        if not isinstance(value, type_) or (type(value) is bool and type_ is not bool):
            raise self.error(f"damaged: the header has no {type_.__name__} called {key!r}")
        return value

    def tensor(
        self,
        name: str,
        dtype: DTypeLike | None = None,
        ndim: int = 1,
        *,
        low: float | None = None,
        high: float | None = None,
    ) -> Array:
        """The tensor ``name``; it must have that dtype (None: any), number of dimensions, and range.

        None of its numbers is NaN, below ``low`` or above ``high``; infinite ones are allowed only by such a bound,
        as in ``low=-np.inf`` for logarithms of probabilities that may be 0.
        """
        array = self.tensors.get(name)
        if array is None or array.ndim != ndim or (dtype is not None and array.dtype != np.dtype(dtype)):
            wanted = "" if dtype is None else f"{np.dtype(dtype)} "
            raise self.error(f"damaged: no {wanted}tensor {name!r} with {ndim} dimension{'s' * (ndim != 1)}")
        self._check_range(name, array, low, high)
        return array

    def _check_range(self, name: str, array: Array, low: float | None, high: float | None) -> None:
        if array.dtype.kind == "f":
            limits = np.finfo(array.dtype)
            low, high = (
                float(limits.min) if low is None else low,
                float(limits.max) if high is None else high,
            )
        if not array.size or (low is None and high is None):
            return
        # NaN is smaller and larger than nothing, and NumPy's minimum is NaN if any number is.
        if (low is not None and not array.min() >= low) or (high is not None and not array.max() <= high):
            what = "not finite, or out of range" if array.dtype.kind == "f" else "out of range"
            raise self.error(f"damaged: some numbers of {name!r} are {what}")

    def offsets(self, name: str, size: int) -> Array:
        """The int64 tensor ``name``, which must go from 0 to ``size`` and never back."""
        array = self.tensor(name, np.int64)
        if not _is_partition_of(array, size):
            raise self.error(f"damaged: {name!r} does not divide {size} things")
        return array

    def check_room(self, name: str, places: int, held: Iterable[Array]) -> None:
        """Refuse to make an array of so many ``places`` out of much smaller arrays ``held`` in the file.

        A small file must not claim a large memory: above 2²⁴ numbers, a byte of the file is needed for every 4,096.
        The writer adds what :func:`room_for` gives.
        """
        room = self.tensors.get(f"{name}.room")
        bytes_held = sum(array.nbytes for array in (*held, *([] if room is None else [room])))
        if places > max(_PLACES, _PLACES_A_BYTE * bytes_held):
            raise self.error(
                f"damaged: {name!r} claims {places} numbers, but the file holds {bytes_held} bytes of it"
            )

    def texts(self, name: str) -> list[str]:
        """The list of strings ``name``, decoded."""
        if name not in self.strings:
            raise self.error(f"damaged: no list of strings {name!r}")
        return list(self.strings[name])

    def csr(self, name: str, *, low: float | None = None, high: float | None = None) -> Any:
        """The sparse matrix that `csr_tensors` stored as ``name``, a ``scipy.sparse.csr_array``.

        Its numbers are checked as those of :meth:`tensor`, and its shape is limited by its size in the file, so that it
        can be made dense without a look.
        """
        from scipy.sparse import csr_array

        data = self.tensor(f"{name}.data", low=low, high=high)
        indices, indptr = self.tensor(f"{name}.indices"), self.tensor(f"{name}.indptr")
        shape = self.tensor(f"{name}.shape", np.int64).tolist()
        # SciPy's kernels trust these arrays without looking.
        if (
            len(shape) == 2
            and shape[1] >= 0
            and indices.dtype == indptr.dtype
            and indices.dtype in (np.int32, np.int64)
            and len(indptr) == shape[0] + 1
            and len(data) == len(indices)
            and _is_partition_of(indptr, len(indices))
            and indices.min(initial=0) >= 0
            and (not len(indices) or indices.max() < shape[1])
        ):
            self.check_room(name, math.prod(shape), [data, indices, indptr, self.tensor(f"{name}.shape")])
            matrix = csr_array((data, indices, indptr), shape=tuple(shape))
            if matrix.has_canonical_format:
                return matrix
        raise self.error(f"damaged: {name!r} is not a sparse matrix")

    def part(self, name: str) -> ModelFile:
        """What was written as the part ``name``, as if it were a file of its own."""
        if name not in self.part_headers:
            raise self.error(f"damaged: no part {name!r}")
        prefix = f"{name}/"
        return ModelFile(
            self.path,
            self.kind,
            self.part_headers[name],
            _below(self.tensors, prefix),
            _below(self.strings, prefix),
            self.format_version,
            {key[len(prefix) :]: value for key, value in self.part_headers.items() if key.startswith(prefix)},
        )


def _below(things: Mapping[str, T], prefix: str) -> Mapping[str, T]:
    if isinstance(things, Fetched):
        return things.below(prefix)
    return {name[len(prefix) :]: thing for name, thing in things.items() if name.startswith(prefix)}


def read_model(path: FilePath, kind: str | None = None) -> ModelFile:
    """Open a model file.

    Parameters
    ----------
    path
        The file.
    kind
        What the model must be: a task (``"classify"``), or a task and class (``"structure/Groups"``).

    Raises
    ------
    ModelFileError
        If the file is missing, truncated, foreign, damaged, of another kind, or written by a newer version.
    """
    path = Path(path)
    raw = _mapped(path)
    text = _header_text(path, raw)
    layout = _json_object(path, text)
    metadata = layout.pop("__metadata__", None)
    facts_text = metadata.get("spinney") if isinstance(metadata, dict) else None
    if not isinstance(facts_text, str):
        raise ModelFileError("a safetensors file, but not a Spinney model", path=path)
    facts = _json_object(path, facts_text)
    version = facts.get("format")
    if type(version) is not int or not 1 <= version < 1_000_000:
        _damaged(path, "the header has no format version")
    if version > FORMAT:
        what = f"written by a newer Spinney (format {version}; this one reads up to {FORMAT}): upgrade"
        raise ModelFileError(what, path=path)
    found, header, parts = facts.get("kind"), facts.get("header"), facts.get("parts", {})
    if not isinstance(found, str) or not _KIND.fullmatch(found):
        _damaged(path, "the header has no kind of model")
    if found.startswith("temporal/"):  # what the package `trend` was once called
        found = found.replace("temporal/", "trend/", 1)
    if kind is not None and found != kind and not found.startswith(f"{kind}/"):
        raise ModelFileError(_wrong_kind(found, kind), path=path)
    if not isinstance(header, dict) or not isinstance(parts, dict):
        _damaged(path, "the header is not an object")
    if not all(isinstance(part, dict) for part in parts.values()):
        _damaged(path, "the header of a part is not an object")
    tensors = _tensors(path, layout, raw, 8 + len(text), _checksums(path, text, metadata, facts, version))
    strings = _string_lists(path, tensors)
    return ModelFile(path, found, header, Fetched(tensors), Fetched(strings), version, parts)


def _checksums(
    path: Path, text: bytes, metadata: dict[str, Any], facts: dict[str, Any], version: int
) -> dict[str, Any] | None:
    """The checksums of the tensors, after that of the header was verified; None for a file that has none."""
    if version == 1 and "crc32" not in metadata:
        again = "written without checksums by an earlier version; save it again to add them"
        _log.info("%s: %s", path, again)
        return None
    if not text.startswith(_BEGIN) or text[_SUM] != header_sum(text):
        _damaged(path, "the checksum of the header does not match", _AGAIN)
    sums = facts.get("crc32")
    if not isinstance(sums, dict) or not all(type(value) is int for value in sums.values()):
        _damaged(path, "the tensors have no checksums")
    return sums


def _mapped(path: Path) -> NDArray[np.uint8]:
    """The whole file as read-only bytes, mapped, never read."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise ModelFileError("no such file", path=path, remedy=did_you_mean_file(path)) from None
    except OSError as error:
        raise ModelFileError(f"cannot be read: {error.strerror or error}", path=path) from None
    except ValueError:  # a NUL in the name
        raise ModelFileError("not a file name", path=repr(str(path))) from None
    if stat.S_ISDIR(status.st_mode):
        raise ModelFileError("a folder, not a model file", path=path)
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
        raise ModelFileError("not a regular file, so not a model file", path=path)
    if status.st_size == 0:
        raise ModelFileError("an empty file, not a model", path=path)
    try:
        return np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    except OSError as error:
        raise ModelFileError(f"cannot be read: {error.strerror or error}", path=path) from None


def _header_text(path: Path, raw: NDArray[np.uint8]) -> bytes:
    start = raw[:16].tobytes()
    length = int.from_bytes(start[:8], "little")
    if len(start) < 8 or length > _HEADER_LIMIT or (len(start) > 8 and start[8:9] != b"{"):
        for magic, what in _FOREIGN.items():
            if start.startswith(magic):
                raise ModelFileError(f"not a Spinney model but {what}", path=path)
        remedy = "fit a model and save it"
        raise ModelFileError("not a Spinney model", path=path, remedy=remedy)
    if length > len(raw) - 8:
        _truncated(path, len(raw), 8 + length)
    return raw[8 : 8 + length].tobytes()


def _strict_json(facts: dict[str, Any]) -> str:
    """JSON that every program reads: NaN and infinity, which JSON does not have, become null."""
    text = json.dumps(facts, default=_plain)
    return json.dumps(json.loads(text, parse_constant=_no_number), allow_nan=False)


def _no_number(name: str) -> None:
    """What NaN and infinity become."""


def _finite(text: str) -> float | None:
    """A number; None for one that is too large to be finite."""
    number = float(text)
    return number if math.isfinite(number) else None


def _json_object(path: Path, text: str | bytes) -> dict[str, Any]:
    """Strict JSON: UTF-8, an object at the top, no key twice; NaN and infinity are read as null."""
    try:
        value = json.loads(
            text if isinstance(text, str) else text.decode(),
            object_pairs_hook=_unique,
            parse_constant=_no_number,
            parse_float=_finite,
        )
    except (ValueError, RecursionError):
        _damaged(path, "the header is not JSON")
    if not isinstance(value, dict):
        _damaged(path, "the header is not an object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key appears twice")
    return value


def _tensors(
    path: Path,
    layout: dict[str, Any],
    raw: NDArray[np.uint8],
    start: int,
    checksums: dict[str, Any] | None,
) -> dict[str, _Tensor]:
    """Each tensor as a view of the mapped bytes; the header must place them without gap or overlap."""
    if checksums is not None and set(checksums) != set(layout):
        _damaged(path, "some tensors have no checksum")
    data = raw[start:]
    placed = []
    for name, info in layout.items():
        match info:
            case {"dtype": str(code), "shape": list(shape), "data_offsets": [begin, end]} if code in _DTYPES:
                dtype = _DTYPES[code]
            case _:
                _damaged(path, f"no dtype, shape or place for tensor {_short(name)}")
        if not all(type(number) is int and 0 <= number < 1 << 62 for number in (*shape, begin, end)):
            _damaged(path, f"shape or place of tensor {_short(name)} out of range")
        if len(shape) > 32 or math.prod(shape) * dtype.itemsize != end - begin:
            _damaged(path, f"the shape of tensor {_short(name)} does not fit its place")
        placed.append((begin, end, name, dtype, shape))
    placed.sort(key=lambda place: place[:2])
    tensors, filled = {}, 0
    for begin, end, name, *_ in placed:
        if begin != filled:
            _damaged(path, f"a gap or an overlap before tensor {_short(name)}")
        filled = end
    if filled > len(data):
        _truncated(path, len(raw), start + filled)
    if filled < len(data):
        _damaged(path, f"{len(data) - filled} bytes after the last tensor")
    for begin, end, name, dtype, shape in placed:
        try:
            view = data[begin:end].view(dtype).reshape(shape)
        except ValueError:  # no elements, yet more of them along one axis than NumPy can count
            _damaged(path, f"shape or place of tensor {_short(name)} out of range")
        tensors[name] = _Tensor(
            name, data[begin:end], view, None if checksums is None else checksums[name], path
        )
    return tensors


def _string_lists(path: Path, tensors: dict[str, _Tensor]) -> dict[str, Callable[[], StoredStrings]]:
    """Take the tensors that hold strings out of ``tensors`` and give what makes lists of them."""
    lists: dict[str, Callable[[], StoredStrings]] = {}
    for key in [key for key in tensors if key.endswith(":utf8")]:
        name = key.removesuffix(":utf8")
        rest, offsets, lengths, shared = (
            tensors.pop(f"{name}:{what}", None) for what in ("utf8", "offsets", "lengths", "shared")
        )
        assert rest is not None
        if offsets is None:
            lists[name] = partial(_front_coded, path, name, rest, lengths, shared)
        else:
            lists[name] = partial(_string_list, path, name, rest, offsets)
    return lists


def _front_coded(
    path: Path, name: str, rest: _Tensor, lengths: _Tensor | None, shared: _Tensor | None
) -> StoredStrings:
    found = None if lengths is None else Coded(rest(), lengths(), None if shared is None else shared())
    if found is None or not is_sound(found):
        _damaged(path, f"{_short(name)} is not a list of strings")
    return StoredStrings(Strings.of(found), path)


def _string_list(path: Path, name: str, utf8: _Tensor, offsets: _Tensor) -> StoredStrings:
    """A list of the formats 1 and 2."""
    if (
        offsets.view.dtype != np.int64
        or utf8.view.dtype != np.uint8
        or (utf8.view.ndim, offsets.view.ndim) != (1, 1)
        or not _is_partition_of(offsets(), len(utf8.view))
    ):
        _damaged(path, f"{_short(name)} is not a list of strings")
    return StoredStrings(Strings(utf8(), offsets()), path)


def _is_partition_of(offsets: Array, size: int) -> bool:
    """Whether ``offsets`` go from 0 to ``size`` and never back."""
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != size:
        return False
    return bool(np.all(offsets[1:] >= offsets[:-1]))


def _wrong_kind(found: str, wanted: str) -> str:
    if "/" in wanted:
        return f"{_a(found)} model where {_a(wanted)} is needed"
    task = found.partition("/")[0]
    return f"{_a(task)} model where {_a(wanted)} model is needed"


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' or noun.startswith('lm') else 'a'} {noun}"


def _short(name: str) -> str:
    return repr(name if len(name) <= 40 else name[:40] + "…")


def _truncated(path: Path, has: int, needs: int) -> NoReturn:
    raise ModelFileError(f"truncated: {has} bytes where its header announces {needs}", path=path)


def _damaged(path: Path, what: str, remedy: str | None = None) -> NoReturn:
    raise ModelFileError(f"damaged: {what}", path=path, remedy=remedy)
