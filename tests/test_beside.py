"""Temporary names tell their writer, and what the dead have left is swept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

from spinney.beside import beside
from spinney.corpus.opening import writing, writing_folder
from spinney.files import replacing, write_model


def _killed_while_writing(folder, code: str) -> list[str]:
    """The names that a process has left that was killed in the midst of ``code``."""
    before = set(os.listdir(folder))
    script = textwrap.dedent(code) + "\n    os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", f"import os\n{script}"], cwd=folder, timeout=60)
    assert done.returncode == -signal.SIGKILL
    return sorted(set(os.listdir(folder)) - before)


def test_a_later_writer_sweeps_what_a_killed_one_left(tmp_path):
    left = _killed_while_writing(
        tmp_path,
        """
        from spinney.files import replacing
        with replacing("m.spinney") as file:
            file.write(b"half")
        """,
    )
    assert len(left) == 1
    assert left[0].startswith(".m.spinney.")
    assert left[0].endswith(".tmp")
    write_model(tmp_path / "other.spinney", "a/B", {}, {})
    assert left[0] in os.listdir(tmp_path)  # of another target
    write_model(tmp_path / "m.spinney", "a/B", {}, {})
    assert sorted(os.listdir(tmp_path)) == ["m.spinney", "other.spinney"]


def test_text_and_folders_are_swept_too(tmp_path):
    code = "from spinney.corpus.opening import {0}\nwith {0}({1}):"
    assert _killed_while_writing(tmp_path, code.format("writing", "'t.txt'"))
    assert _killed_while_writing(tmp_path, code.format("writing_folder", "'f', 'marker'"))
    with writing(tmp_path / "t.txt") as file:
        file.write("whole\n")
    with writing_folder(tmp_path / "f", "marker") as folder:
        open(os.path.join(folder, "marker"), "w").close()
    assert sorted(os.listdir(tmp_path)) == ["f", "t.txt"]


def test_what_belongs_to_the_living_stays(tmp_path):
    target = str(tmp_path / "m")
    with replacing(target) as first:
        first.write(b"first")
        with replacing(target) as second:
            second.write(b"second")
    assert (tmp_path / "m").read_bytes() == b"first"


def test_only_temporary_files_of_this_machine_are_swept(tmp_path):
    target = str(tmp_path / "m")
    name = os.path.basename(beside(target))
    machine = name.split(".")[2].split("-")[0]
    dead = "4194305"  # above the largest number that a process can have
    kept = [
        f".m.{machine}-{dead}-00000000.old",
        f".m.00000000-{dead}-00000000.tmp",
        ".m.0a1b2c3d.tmp",
        ".m.x.tmp",
    ]
    for one in [*kept, f".m.{machine}-{dead}-00000000.tmp"]:
        (tmp_path / one).touch()
    beside(target)
    assert sorted(os.listdir(tmp_path)) == sorted(kept)
