"""Temporary names beside a file that is being written, which tell the process that writes.

A process that is killed leaves its temporary file behind. The next one that writes the same target removes it: the
name has the number of the process and of the machine it ran on, so that only what belongs to the dead is swept.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import zlib
from contextlib import suppress

from spinney.errors import InputError

_LONGEST_NAME = 255  # bytes, in nearly all file systems
_LONGEST = 180  # bytes of the target's name in that of a temporary file
_WRITER = re.compile(r"\.([0-9a-f]{8})-(\d{1,10})-[0-9a-f]{8}\.tmp")


def beside(target: str, suffix: str = "tmp") -> str:
    """A new name in the folder of ``target``; temporary files of dead writers of the same target are removed.

    Only names with the suffix ``tmp`` are ever removed by a later writer.

    Examples
    --------
    >>> import tempfile
    >>> target = os.path.join(tempfile.mkdtemp(), "m.spinney")
    >>> os.path.basename(beside(target)).startswith(".m.spinney.")
    True
    """
    folder, name = os.path.split(target)
    if len(os.fsencode(name)) > _LONGEST_NAME:
        raise InputError("file name too long", path=target)  # now, and not when all is written
    start = f".{os.fsdecode(os.fsencode(name)[:_LONGEST])}"
    _sweep(folder or ".", start)
    return os.path.join(folder, f"{start}.{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.{suffix}")


def _sweep(folder: str, start: str) -> None:
    """Remove what dead processes of this machine were writing."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            writer = _WRITER.fullmatch(entry.name, len(start)) if entry.name.startswith(start) else None
            if writer is None or writer[1] != _machine() or not _is_dead(int(writer[2])):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(entry.path)


def _is_dead(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _machine() -> str:
    """Where numbers of processes mean the same: this host, and within it this container."""
    namespace = ""
    with suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
    return f"{zlib.crc32(f'{socket.gethostname()} {namespace}'.encode(errors='replace')):08x}"
