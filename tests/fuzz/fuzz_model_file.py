"""Coverage-guided fuzzing of the reader of model files (``pip install 'spinney[fuzz]'``).

    python tests/fuzz/fuzz_model_file.py -max_total_time=120 [CORPUS_FOLDER]

Whatever the bytes, reading must give a model that can be used or a ``ModelFileError`` of one line. The first
byte of an input chooses what the rest is: a whole file, the JSON header of one, Spinney's facts inside that
header, or numbers that lay out one tensor.
"""

from __future__ import annotations

import gc
import json
import os
import struct
import sys
import tempfile
from types import FunctionType

import numpy as np
import scipy.sparse as sp

from spinney.errors import ModelFileError
from spinney.files import csr_tensors, read_model, write_model
from spinney.structure import ClassTree, Groups, WordClasses, WordVectors

FACTS = json.dumps({"format": 1, "kind": "structure/Groups", "header": {"n_features": 3}})
PATH = os.path.join(tempfile.mkdtemp(), "fuzzed.spinney")


def with_header(text: bytes, data: bytes) -> bytes:
    """A file with a right length of header."""
    return len(text).to_bytes(8, "little") + text + data


def as_file(data: bytes) -> bytes:
    """The file that an input of the fuzzer stands for."""
    if not data:
        return data
    mode, rest = data[0] % 4, data[1:]
    if mode == 0:
        return rest
    head, _, tail = rest.partition(b"\0\0")
    if mode == 1:
        return with_header(head, tail)
    if mode == 2:
        layout = {"__metadata__": {"spinney": head.decode("utf-8", "replace")}}
        return with_header(json.dumps(layout).encode(), tail)
    numbers = struct.unpack(f"<{len(rest) // 16 * 2}q", rest[: len(rest) // 16 * 16])
    tensor = {"dtype": "I64", "shape": numbers[2:], "data_offsets": numbers[:2]}
    layout = {"__metadata__": {"spinney": FACTS}, "members": tensor}
    return with_header(json.dumps(layout).encode(), rest)


def read(path: str) -> None:
    """Read all that a file holds, and try to make each structure of it."""
    model = read_model(path)
    for strings in model.strings.values():
        list(strings)
    for array in model.tensors.values():
        array.sum()
    for name in model.tensors:
        if name.endswith(".indptr"):
            model.csr(name.removesuffix(".indptr"))
    for kind in (ClassTree, Groups, WordClasses, WordVectors):
        for part in (model, *map(model.part, model.part_headers)):
            try:
                kind.from_parts(part)
            except ModelFileError as error:
                one_line(error)


def one_line(error: ModelFileError) -> None:
    """Complain of an error that a person could not read."""
    if "\n" in str(error):
        raise AssertionError(f"not one line: {error}")


def one_input(data: bytes) -> None:
    """What the fuzzer calls."""
    with open(PATH, "wb") as file:
        file.write(as_file(data))
    try:
        read(PATH)
    except ModelFileError as error:
        one_line(error)


def seeds() -> list[bytes]:
    """Good files to start from, one a mode."""
    tree = ClassTree.balanced(["a", "b", "c"])
    groups = Groups.from_lists([[0, 1], [2]], n_features=3, names=["x", "y"])
    classes = WordClasses(["a", "b"], [0, 1], paths=["0", "1"], counts=[3, 4])
    vectors = WordVectors(["a", "b"], np.eye(2))
    found = []
    for structure in (tree, groups, classes, vectors):
        structure.save(PATH)
        with open(PATH, "rb") as file:
            data = file.read()
        length = int.from_bytes(data[:8], "little")
        found += [b"\0" + data, b"\1" + data[8 : 8 + length] + b"\0\0" + data[8 + length :]]
    write_model(PATH, "a/B", {}, csr_tensors("matrix", sp.eye_array(3)), {}, {"tree": tree.parts()})
    with open(PATH, "rb") as file:
        found.append(b"\0" + file.read())
    found.append(b"\2" + FACTS.encode())
    found.append(b"\3" + struct.pack("<4q", 0, 32, 2, 2))
    return found


def main() -> None:
    """Fuzz until the time is up or something breaks."""
    import atheris

    for function in gc.get_objects():
        if isinstance(function, FunctionType) and str(function.__module__).startswith("spinney."):
            atheris.instrument_func(function)
    folder = tempfile.mkdtemp()
    for i, seed in enumerate(seeds()):
        with open(os.path.join(folder, f"seed{i}"), "wb") as file:
            file.write(seed)
    atheris.Setup([*sys.argv, folder], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
