"""Model files: they come back as they went in, and no file, however bad, does worse than one clear error."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import stat
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from spinney.errors import InputError, ModelFileError
from spinney.files import FORMAT, Parts, csr_tensors, read_model, replacing, write_model

DTYPES = [np.float64, np.float32, np.float16, *(f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8))]
FACTS = json.dumps({"format": 1, "kind": "tag/Tagger", "header": {}})

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
plain_names = st.text("abcdefgh_ é", min_size=1, max_size=5)
texts = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.spinney"


def write_small(path: Path) -> Path:
    """A file with a bit of everything."""
    matrix = sp.random(4, 5, density=0.4, format="csr", random_state=0)
    tensors = {"w": np.arange(6.0).reshape(2, 3), "ids": np.arange(3, dtype=np.int32)} | csr_tensors(
        "m", matrix
    )
    part = Parts({"n": 3}, {"w": np.ones(2)}, {"words": ["x", "y"]})
    write_model(path, "tag/Tagger", {"lam": 0.5}, tensors, {"words": ["a", "", "né"]}, {"inner": part})
    return path


@pytest.fixture
def small(path: Path) -> Path:
    return write_small(path)


def exercise(path: Path) -> None:
    """Read everything that a file holds."""
    model = read_model(path)
    for array in model.tensors.values():
        assert not array.flags.writeable or array.base is None
        array.sum()
    for strings in model.strings.values():
        assert all(isinstance(string, str) for string in strings)
    for name in [name.removesuffix(".indptr") for name in model.tensors if name.endswith(".indptr")]:
        matrix = model.csr(name)
        assert matrix.shape[1] > 100 or (matrix @ np.zeros(matrix.shape[1])).shape == matrix.shape[:1]
    for name in model.part_headers:
        model.part(name)


def survives(path: Path) -> str | None:
    """The message, if reading gives an error: it must be ours, and one line."""
    try:
        exercise(path)
    except ModelFileError as error:
        caught = error
    else:
        return None
    assert str(caught).startswith(f"{path}: ")
    assert "\n" not in str(caught)
    return caught.what


def craft(path: Path, layout: object, data: bytes = b"", length: int | None = None) -> Path:
    """A file with any header at all."""
    text = layout if isinstance(layout, bytes) else json.dumps(layout).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def crafted_tensor(path: Path, data: bytes = b"", facts: str = FACTS, **info: object) -> str | None:
    return survives(craft(path, {"__metadata__": {"spinney": facts}, "t": info}, data))


# -- what goes in comes out -------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    st.dictionaries(st.text(), json_values, max_size=3),
    st.dictionaries(plain_names, arrays, max_size=4),
    st.dictionaries(plain_names.map("s".__add__), st.lists(texts, max_size=5), max_size=2),
)
def test_round_trip(path, header, tensors, strings):
    write_model(path, "tag/Tagger", header, tensors, strings, {"p": Parts(header, tensors, strings)})
    model = read_model(path, "tag")
    for one in (model, model.part("p")):
        assert (one.kind, one.format_version, one.header) == ("tag/Tagger", FORMAT, header)
        for name, array in tensors.items():
            assert one.tensors[name].dtype == array.dtype
            np.testing.assert_array_equal(one.tensors[name], array)
        assert {name: list(one.strings[name]) for name in strings} == strings
    peers = load_file(path)  # the safetensors library agrees
    for name, array in tensors.items():
        np.testing.assert_array_equal(peers[name], array)


def test_the_safetensors_library_opens_it(small):
    with safe_open(small, framework="np") as file:
        assert json.loads(file.metadata()["spinney"])["kind"] == "tag/Tagger"
        np.testing.assert_array_equal(file.get_tensor("w"), np.arange(6.0).reshape(2, 3))
        assert file.get_tensor("words:utf8").tobytes() == "ané".encode()


def test_equal_models_are_equal_files(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    write_model(first, "a/B", {"x": 1}, {"u": np.ones(3), "v": np.ones(2, dtype=np.int8)})
    write_model(second, "a/B", {"x": 1}, {"v": np.ones(2, dtype=np.int8), "u": np.ones(3)})
    assert first.read_bytes() == second.read_bytes()


def test_tensors_are_mapped_aligned_and_read_only(path):
    write_model(
        path, "a/B", {}, {"x": np.ones(3, dtype=np.int8), "y": np.ones(5), "z": np.ones(1, dtype=np.int16)}
    )
    for array in read_model(path).tensors.values():
        assert array.flags.aligned
        assert not array.flags.writeable
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        assert type(base.base).__name__ == "mmap"


def test_any_array_layout_can_be_written(path):
    grid = np.arange(12.0).reshape(3, 4)
    write_model(path, "a/B", {}, {"t": grid.T, "s": grid[::2, ::-1], "b": grid.astype(">f8")})
    found = read_model(path).tensors
    np.testing.assert_array_equal(found["t"], grid.T)
    np.testing.assert_array_equal(found["s"], grid[::2, ::-1])
    np.testing.assert_array_equal(found["b"], grid)


def test_strings_are_a_sequence(path):
    words = [f"wört{i}" for i in range(70_000)]
    write_model(path, "a/B", {}, {}, {"words": words})
    found = read_model(path).strings["words"]
    assert (len(found), found[0], found[-1], found[69_999]) == (70_000, words[0], words[-1], words[-1])
    assert list(found) == words
    assert found[3:6] == words[3:6]
    with pytest.raises(IndexError):
        found[70_000]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sparse_round_trip(path, dtype):
    matrix = sp.csr_array(
        (np.array([3, 1, 2], dtype=dtype), [2, 0, 2], [0, 2, 2, 3]), shape=(3, 4)
    )  # unsorted
    write_model(path, "a/B", {}, csr_tensors("m", matrix) | csr_tensors("none", sp.csr_array((0, 2))))
    model = read_model(path)
    assert model.csr("m").dtype == dtype
    np.testing.assert_array_equal(model.csr("m").toarray(), matrix.toarray())
    assert model.csr("none").shape == (0, 2)


def test_numpy_scalars_and_nan_in_the_header(path):
    write_model(path, "a/B", {"n": np.int64(3), "f": np.float32(0.5), "inf": float("inf")}, {})
    assert read_model(path).header == {"n": 3, "f": 0.5, "inf": None}  # JSON has no infinity
    assert b"Infinity" not in path.read_bytes()


def test_what_cannot_be_written_is_refused(path):
    with pytest.raises(TypeError, match="a set cannot be stored in the header"):
        write_model(path, "a/B", {"x": {1}}, {})
    with pytest.raises(TypeError, match=r"tensor 'x': bool arrays cannot be stored"):
        write_model(path, "a/B", {}, {"x": np.ones(2, dtype=bool)})
    with pytest.raises(InputError, match=r"'\\ud800' is not valid text"):
        write_model(path, "a/B", {}, {}, {"words": ["ok", "\ud800"]})
    with pytest.raises(ValueError, match="a kind must be task/class"):
        write_model(path, "a b", {}, {})
    with pytest.raises(ValueError, match="store long lists as tensors"):
        write_model(path, "a/B", {"x": "y" * (8 << 20)}, {})
    assert list(path.parent.iterdir()) == []


def test_fetching_checks_presence_and_type(small):
    model = read_model(small)
    assert model.fact("lam", float) == 0.5
    assert model.part("inner").fact("n", float) == 3.0
    assert model.part("inner").texts("words") == ["x", "y"]
    assert model.tensor("w", np.float64, ndim=2).shape == (2, 3)
    for wrong, what in [
        (lambda: model.fact("lam", int), "damaged: the header has no int called 'lam'"),
        (lambda: model.fact("nothing", str), "damaged: the header has no str called 'nothing'"),
        (lambda: model.tensor("w"), "damaged: no tensor 'w' with 1 dimension"),
        (lambda: model.tensor("w", np.int8, 2), "damaged: no int8 tensor 'w' with 2 dimensions"),
        (lambda: model.tensor("nothing"), "damaged: no tensor 'nothing' with 1 dimension"),
        (lambda: model.texts("nothing"), "damaged: no list of strings 'nothing'"),
        (lambda: model.part("nothing"), "damaged: no part 'nothing'"),
    ]:
        with pytest.raises(ModelFileError) as caught:
            wrong()
        assert str(caught.value) == f"{small}: {what}"


# -- writing is all or nothing ----------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file(small):
    before = small.read_bytes()

    def interrupted() -> None:
        with replacing(small) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert small.read_bytes() == before
    assert list(small.parent.iterdir()) == [small]


def test_a_new_file_has_the_usual_permissions_and_a_link_stays_a_link(small, tmp_path):
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(small.stat().st_mode) == 0o666 & ~umask
    link = tmp_path / "link"
    link.symlink_to(small)
    write_model(link, "a/B", {}, {})
    assert link.is_symlink()
    assert read_model(small).kind == "a/B"


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="not a regular file, so it cannot be replaced"):
        write_model(tmp_path, "a/B", {}, {})
    with pytest.raises(InputError, match="not a regular file"):
        write_model("/dev/null", "a/B", {}, {})
    with pytest.raises(InputError, match="nowhere/x: cannot be written: No such file or directory"):
        write_model(tmp_path / "nowhere" / "x", "a/B", {}, {})


# -- one clear error --------------------------------------------------------------------------------------


def test_wrong_kind(small):
    for kind, what in [
        ("classify", "a tag model where a classify model is needed"),
        ("lm", "a tag model where an lm model is needed"),
        ("tag/Other", "a tag/Tagger model where a tag/Other is needed"),
        ("ta", "a tag model where a ta model is needed"),
    ]:
        with pytest.raises(ModelFileError) as caught:
            read_model(small, kind)
        assert str(caught.value) == f"{small}: {what}"
    assert read_model(small, "tag").kind == read_model(small, "tag/Tagger").kind == "tag/Tagger"


def test_newer_format(path):
    facts = json.dumps({"format": FORMAT + 1, "kind": {"who": "knows"}})
    assert survives(craft(path, {"__metadata__": {"spinney": facts}, "t": "who knows"})) == (
        f"written by a newer Spinney (format {FORMAT + 1}; this one reads up to {FORMAT}): upgrade"
    )


def test_foreign_files(path, tmp_path):
    nothing = "not a Spinney model"

    def message(data: bytes) -> str | None:
        path.write_bytes(data)
        return survives(path)

    assert message(b"") == "an empty file, not a model"
    assert message(b"abc") == nothing
    assert message(b"Call me Ishmael. Some years ago") == nothing
    assert message(bytes(100)) == nothing
    assert message(pickle.dumps({"a": 1})) == "not a Spinney model but a Python pickle"
    assert message(gzip.compress(b"model" * 9)) == "not a Spinney model but gzip data: decompress it first"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model", "x")
    assert survives(path) == "not a Spinney model but a zip archive"
    save_file({"x": np.ones(3)}, path)
    assert survives(path) == "a safetensors file, but not a Spinney model"
    assert survives(tmp_path) == "a folder, not a model file"
    assert survives(tmp_path / "nowhere") == "no such file"
    os.mkfifo(tmp_path / "pipe")
    assert survives(tmp_path / "pipe") == "not a regular file, so not a model file"
    with pytest.raises(ModelFileError, match="not a file name"):
        read_model("a\0b")


def test_truncation_says_so(small):
    size = small.stat().st_size
    data = small.read_bytes()
    small.write_bytes(data[:-1])
    assert "truncated: " in survives(small)
    small.write_bytes(data[:100])
    assert (
        survives(small)
        == f"truncated: 100 bytes where its header announces {8 + int.from_bytes(data[:8], 'little')}"
    )
    small.write_bytes(data + b"x")
    assert survives(small) == "damaged: 1 bytes after the last tensor"
    assert size == len(data)


def test_hostile_headers(path):
    def header(text: bytes, length: int | None = None) -> str | None:
        return survives(craft(path, text, length=length))

    not_json, not_object = "damaged: the header is not JSON", "damaged: the header is not an object"
    assert header(b"{}", length=2**63) == "not a Spinney model"
    assert header(b"{}", length=2**22) == f"truncated: 10 bytes where its header announces {2**22 + 8}"
    assert header(b'{"a":' * 200_000 + b"1" + b"}" * 200_000) == not_json
    assert header(b'{"a": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}") == not_json
    assert header(b'{"a":1,"a":2}') == not_json
    assert header(b'{"a":' + b"9" * 100_000 + b"}") == not_json
    assert header(b'{"a":"\xff"}') == not_json
    assert header(b"{}") == "a safetensors file, but not a Spinney model"
    assert header(b'{"__metadata__": []}') == "a safetensors file, but not a Spinney model"
    for facts, what in [
        ("[]", not_object),
        ("{", not_json),
        ("[" * 100_000, not_json),
        ('{"format":1,"format":1}', not_json),
        ("{}", "damaged: the header has no format version"),
        ('{"format":0}', "damaged: the header has no format version"),
        ('{"format":true}', "damaged: the header has no format version"),
        ('{"format":1e300}', "damaged: the header has no format version"),
        ('{"format":' + "9" * 4000 + "}", "damaged: the header has no format version"),
        ('{"format":1}', "damaged: the header has no kind of model"),
        ('{"format":1,"kind":"a\\nb"}', "damaged: the header has no kind of model"),
        ('{"format":1,"kind":"a"}', not_object),
        ('{"format":1,"kind":"a","header":{},"parts":[]}', not_object),
        (
            '{"format":1,"kind":"a","header":{},"parts":{"x":1}}',
            "damaged: the header of a part is not an object",
        ),
    ]:
        assert survives(craft(path, {"__metadata__": {"spinney": facts}})) == what


def test_hostile_tensors(path):
    data = bytes(16)
    out_of_range = "damaged: shape or place of tensor 't' out of range"
    unfit = "damaged: the shape of tensor 't' does not fit its place"
    incomplete = "damaged: no dtype, shape or place for tensor 't'"
    rest, gap = "damaged: 16 bytes after the last tensor", "damaged: a gap or an overlap before tensor 't'"
    for info, what in [
        ({}, incomplete),
        ({"dtype": "F64", "shape": [2]}, incomplete),
        ({"dtype": "OBJ", "shape": [2], "data_offsets": [0, 16]}, incomplete),
        ({"dtype": "BOOL", "shape": [16], "data_offsets": [0, 16]}, incomplete),
        ({"dtype": ["F64"], "shape": [2], "data_offsets": [0, 16]}, incomplete),
        ({"dtype": "F64", "shape": 2, "data_offsets": [0, 16]}, incomplete),
        ({"dtype": "F64", "shape": [2], "data_offsets": [0, 8, 16]}, incomplete),
        ({"dtype": "F64", "shape": [-2], "data_offsets": [0, 16]}, out_of_range),
        ({"dtype": "F64", "shape": [2.0], "data_offsets": [0, 16]}, out_of_range),
        ({"dtype": "F64", "shape": [True, 2], "data_offsets": [0, 16]}, out_of_range),
        ({"dtype": "F64", "shape": [2], "data_offsets": [-16, 0]}, out_of_range),
        ({"dtype": "F64", "shape": [0, 2**80], "data_offsets": [0, 0]}, out_of_range),
        ({"dtype": "F64", "shape": [0, 2**61, 2**61], "data_offsets": [0, 0]}, rest),
        ({"dtype": "F64", "shape": [3], "data_offsets": [0, 16]}, unfit),
        ({"dtype": "F64", "shape": [2**61], "data_offsets": [0, 16]}, unfit),
        ({"dtype": "F64", "shape": [2**32, 2**32], "data_offsets": [0, 0]}, unfit),
        ({"dtype": "F64", "shape": [2], "data_offsets": [16, 0]}, unfit),
        ({"dtype": "F64", "shape": [1] * 33, "data_offsets": [0, 8]}, unfit),
        ({"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}, gap),
    ]:  # fmt: skip
        assert crafted_tensor(path, data, **info) == what, info
    assert (
        crafted_tensor(path, b"", dtype="F64", shape=[0, 2**61, 2**61], data_offsets=[0, 0]) == out_of_range
    )
    message = crafted_tensor(path, data, dtype="F64", shape=[2**40], data_offsets=[0, 2**43])
    has = path.stat().st_size
    assert message == f"truncated: {has} bytes where its header announces {has - 16 + 2**43}"
    one = {"dtype": "U8", "shape": [9], "data_offsets": [0, 9]}
    two = {"dtype": "U8", "shape": [9], "data_offsets": [7, 16]}
    layout = {"__metadata__": {"spinney": FACTS}, "a" * 99 + "\n": two, "b": one}
    assert survives(craft(path, layout, data)) == f"damaged: a gap or an overlap before tensor '{'a' * 40}…'"


def test_a_file_of_another_program_may_be_unaligned(path):
    layout = {
        "__metadata__": {"spinney": FACTS},
        "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "b": {"dtype": "F64", "shape": [2], "data_offsets": [1, 17]},
    }
    craft(path, layout, b"\x07" + np.array([1.5, 2.5]).tobytes())
    array = read_model(path).tensors["b"]
    assert array.tolist() == [1.5, 2.5]
    assert array.flags.aligned


@pytest.mark.parametrize(
    ("utf8", "offsets"),
    [
        (b"abc", [0, 2, 1, 3]),
        (b"abc", [0, 2]),
        (b"abc", [1, 3]),
        (b"abc", [-1, 3]),
        (b"abc", []),
        (b"abc", [0, 2**62, 3]),
        ("é".encode(), [0, 1, 2]),
        (b"\xff\xfe", [0, 2]),
    ],
)
def test_hostile_strings(path, utf8, offsets):
    tensors = {"s:utf8": np.frombuffer(utf8, np.uint8), "s:offsets": np.array(offsets, dtype=np.int64)}
    write_model(path, "a/B", {}, tensors)
    assert survives(path) in ("damaged: 's' is not a list of strings", "damaged: a string is not UTF-8")


@pytest.mark.parametrize(
    "change",
    [
        {"indices": [0, 5, 1]},
        {"indices": [0, -1, 1]},
        {"indices": [1, 0, 1]},
        {"indices": [0, 1]},
        {"indptr": [0, 3, 2, 3]},
        {"indptr": [0, 2, 2, 4]},
        {"indptr": [0, 3]},
        {"shape": [3, 1]},
        {"shape": [3, -4]},
        {"shape": [-1, 4]},
        {"shape": [3]},
    ],
)
def test_hostile_sparse_matrices(path, change):
    good = {"data": [1.0, 2.0, 3.0], "indices": [0, 1, 1], "indptr": [0, 2, 2, 3], "shape": [3, 4]}
    dtypes = {"data": np.float64, "indices": np.int32, "indptr": np.int32, "shape": np.int64}
    tensors = {f"m.{key}": np.array(value, dtype=dtypes[key]) for key, value in (good | change).items()}
    write_model(path, "a/B", {}, tensors)
    assert survives(path) == "damaged: 'm' is not a sparse matrix"


def test_a_promise_of_much_takes_little_memory(path):
    read_model(craft(path, {"__metadata__": {"spinney": FACTS}}))
    tracemalloc.start()
    for length in (2**22, 2**40, 2**63):
        survives(craft(path, b"{}", length=length))
    crafted_tensor(path, dtype="F64", shape=[2**40], data_offsets=[0, 2**43])
    crafted_tensor(path, dtype="F64", shape=[2**40, 0], data_offsets=[0, 0])
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


# -- fuzzing ----------------------------------------------------------------------------------------------

fuzz = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)


@pytest.fixture(scope="module")
def sample() -> bytes:
    """The bytes of a small model, once for all examples."""
    with tempfile.TemporaryDirectory() as folder:
        return write_small(Path(folder) / "m").read_bytes()


@fuzz
@given(st.data())
def test_truncated_anywhere(path, sample, data):
    path.write_bytes(sample[: data.draw(st.integers(0, len(sample) - 1))])
    assert survives(path) is not None


@fuzz
@given(st.data())
def test_bits_flipped_anywhere(path, sample, data):
    changed = bytearray(sample)
    end = data.draw(st.sampled_from([8, 200, len(sample)]))  # the beginning matters most
    for bit in data.draw(st.lists(st.integers(0, 8 * min(end, len(sample)) - 1), min_size=1, max_size=5)):
        changed[bit // 8] ^= 1 << bit % 8
    path.write_bytes(changed)
    survives(path)


@fuzz
@given(st.integers(0, 2**64 - 1) | st.integers(0, 3000))
def test_any_header_length(path, sample, length):
    path.write_bytes(length.to_bytes(8, "little") + sample[8:])
    survives(path)


@fuzz
@given(st.binary(max_size=200))
def test_any_bytes(path, data):
    path.write_bytes(data)
    assert survives(path) is not None


numbers = st.sampled_from(
    [0, 1, 2, 8, 16, -1, 2**31, 2**32, 2**62, 2**63, 2**64, 2**200, 1.5, True, None, "8"]
)


@fuzz
@given(st.data())
def test_any_change_of_the_header(path, sample, data):
    length = int.from_bytes(sample[:8], "little")
    layout = json.loads(sample[8 : 8 + length])
    facts = json.loads(layout["__metadata__"]["spinney"])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from([layout, facts, *layout.values()]))
        if not isinstance(place, dict):
            continue
        key = data.draw(st.sampled_from([*place, "new"]))
        action = data.draw(st.sampled_from(["remove", "any", "numbers", "other"]))
        if action == "remove":
            place.pop(key, None)
        elif action == "any":
            place[key] = data.draw(json_values)
        elif action == "numbers":
            place[key] = data.draw(st.lists(numbers, max_size=4))
        else:
            place[key] = data.draw(st.sampled_from(list(place.values()) or [None]))
    if isinstance(layout.get("__metadata__"), dict) and data.draw(st.booleans()):
        layout["__metadata__"]["spinney"] = json.dumps(facts)
    survives(craft(path, layout, sample[8 + length :]))


@fuzz
@given(
    st.sampled_from(["F64", "I8", "U16"]),
    st.lists(st.integers(0, 4) | numbers, max_size=4),
    st.lists(st.integers(0, 64) | numbers, min_size=2, max_size=2),
    st.integers(0, 64),
)
def test_any_shape_and_place(path, dtype, shape, place, size):
    message = crafted_tensor(path, bytes(size), dtype=dtype, shape=shape, data_offsets=place)
    itemsize = {"F64": 8, "I8": 1, "U16": 2}[dtype]
    right = all(type(n) is int and n >= 0 for n in [*shape, *place]) and place == [0, size]
    right = right and np.prod([1, *shape], dtype=object) * itemsize == size
    if message is None:
        assert right
    elif right:
        assert 0 in shape  # nothing, but too much of it along one axis


# -- checksums --------------------------------------------------------------------------------------------


def test_every_changed_byte_is_noticed(path, sample):
    for at in range(len(sample)):
        changed = bytearray(sample)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        assert survives(path) is not None, at


def test_a_tensor_is_verified_when_it_is_first_fetched(small):
    data = bytearray(small.read_bytes())
    data[data.index(np.arange(6.0).tobytes()) + 6] ^= 1
    small.write_bytes(data)
    model = read_model(small)
    assert model.texts("words") == ["a", "", "né"]
    assert "w" in model.tensors
    for fetch in (
        lambda: model.tensor("w", ndim=2),
        lambda: model.tensors["w"],
        lambda: list(model.tensors.values()),
    ):
        with pytest.raises(ModelFileError) as caught:
            fetch()
        assert str(caught.value) == (
            f"{small}: damaged: the checksum of tensor 'w' does not match (copy the file again, or fit the model again)"
        )


@pytest.mark.parametrize(
    "name", ["m.data", "m.indices", "inner/w", "words:utf8", "words:lengths", "inner/words:utf8"]
)
def test_no_way_of_access_escapes_the_checksum(small, name):
    data = bytearray(small.read_bytes())
    length = int.from_bytes(data[:8], "little")
    begin, _ = json.loads(data[8 : 8 + length])[name]["data_offsets"]
    data[8 + length + begin] ^= 1
    small.write_bytes(data)
    model = read_model(small)
    with pytest.raises(ModelFileError, match=f"the checksum of tensor '{name}' does not match"):
        (
            model.csr("m"),
            model.part("inner").tensor("w"),
            model.texts("words"),
            model.part("inner").texts("words"),
        )


def test_a_file_without_checksums_is_read_with_one_notice(path, caplog):
    layout = {
        "__metadata__": {"spinney": FACTS},
        "b": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]},
    }
    craft(path, layout, np.array([1.5, 2.5]).tobytes())
    with caplog.at_level("INFO", logger="spinney"):
        assert read_model(path).tensor("b").tolist() == [1.5, 2.5]
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{path}: written without checksums by an earlier version; save it again to add them"
    )


def test_a_newer_file_cannot_do_without_checksums(path):
    facts = json.dumps({"format": 2, "kind": "a/B", "header": {}})
    assert survives(craft(path, {"__metadata__": {"spinney": facts}})) == (
        "damaged: the checksum of the header does not match"
    )


# -- values and sizes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_must_be_finite(path, bad):
    write_model(path, "a/B", {}, {"w": np.array([1.0, bad]), **csr_tensors("m", sp.csr_array([[bad]]))})
    model = read_model(path)
    for fetch in (lambda: model.tensor("w"), lambda: model.csr("m")):
        with pytest.raises(ModelFileError, match="are not finite, or out of range"):
            fetch()


def test_ranges(path):
    write_model(
        path,
        "a/B",
        {},
        {"p": np.array([-np.inf, -1.0, 0.0]), "n": np.array([0, 3], np.int32), "e": np.empty(0)},
    )
    model = read_model(path)
    assert len(model.tensor("p", low=-np.inf, high=0)) == 3
    assert len(model.tensor("n", np.int32, low=0, high=3)) == 2
    assert len(model.tensor("e", low=0, high=1)) == 0
    for name, low, high in [("p", -5, 0), ("p", -np.inf, -0.5), ("n", 1, None), ("n", None, 2)]:
        with pytest.raises(ModelFileError, match="out of range"):
            model.tensor(name, low=low, high=high)


def test_offsets_divide(path):
    write_model(
        path,
        "a/B",
        {},
        {"good": np.array([0, 2, 2, 5]), "back": np.array([0, 3, 2, 5]), "none": np.empty(0, np.int64)},
    )
    model = read_model(path)
    assert model.offsets("good", 5).tolist() == [0, 2, 2, 5]
    for name, size in [("good", 4), ("back", 5), ("none", 0)]:
        with pytest.raises(ModelFileError, match="does not divide"):
            model.offsets(name, size)


def test_numbers_too_large_for_json_are_none(path):
    facts = json.dumps({"format": 1, "kind": "a/B", "header": {"x": 0}}).replace('"x": 0', '"x": 1e999')
    model = read_model(craft(path, {"__metadata__": {"spinney": facts}}))
    with pytest.raises(ModelFileError, match="no float called 'x'"):
        model.fact("x", float)


def test_a_small_file_cannot_claim_a_large_matrix(path):
    tensors = {
        "m.data": np.empty(0),
        "m.indices": np.empty(0, np.int32),
        "m.indptr": np.zeros(2, np.int32),
        "m.shape": np.array([1, 2**31 - 1], np.int64),
    }
    write_model(path, "a/B", {}, tensors)
    assert survives(path) == "damaged: 'm' claims 2147483647 numbers, but the file holds 24 bytes of it"


def test_what_is_large_and_nearly_empty_brings_its_room(path):
    wide = sp.csr_array(([1.0], ([0], [3])), shape=(2, 1 << 25))
    write_model(path, "a/B", {}, csr_tensors("m", wide))
    assert read_model(path).csr("m").shape == (2, 1 << 25)
    assert path.stat().st_size < 20_000


# -- names and permissions --------------------------------------------------------------------------------


def test_the_mode_of_what_is_replaced_is_kept(small):
    for mode in (0o600, 0o640, 0o444):
        small.chmod(mode)
        write_model(small, "a/B", {}, {})
        assert stat.S_IMODE(small.stat().st_mode) == mode


def test_nobody_else_sees_a_private_model_while_it_is_written(small):
    small.chmod(0o600)
    with replacing(small) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


@pytest.mark.parametrize("name", ["a" * 255, "é" * 127, "字" * 85])
def test_long_names(tmp_path, name):
    write_model(tmp_path / name, "a/B", {}, {})
    assert read_model(tmp_path / name).kind == "a/B"
    with pytest.raises(InputError, match="file name too long"):
        write_model(tmp_path / (name + "xx"), "a/B", {}, {})
    assert [one.name for one in tmp_path.iterdir()] == [name]
