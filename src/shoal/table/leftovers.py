"""Temporary files left by killed processes: recognized by name and removed by the next run.

A name is ``.shoal-<machine>-<process>-<start>-<random><extension>``. A file is removed only if it
belongs to this user, was created on this machine, and its process has ended: no process has that id, or
the one that has it started at another time. If this cannot be determined, the file is kept.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path

_NAME = re.compile(r"\.shoal-([0-9a-f]{12})-([0-9]{1,10})-([0-9]{1,20})-[a-z0-9_]{8}(\.[^./]+)?")
_UNKNOWN = "0"  # no process starts at this time


def prefix() -> str:
    """Return the name prefix of this process's temporary files."""
    process = os.getpid()
    return f".shoal-{_machine()}-{process}-{_start(process)}-"


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of processes that have ended."""
    if os.name != "posix":
        return  # elsewhere, signal 0 would end the process instead of only checking that it exists
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = _NAME.fullmatch(entry.name)
            if name and name[1] == _machine() and not _is_running(int(name[2]), name[3]):
                _remove_own(entry)


def _remove_own(entry: os.DirEntry[str]) -> None:
    with suppress(OSError):
        found = entry.stat(follow_symlinks=False)
        if found.st_uid != os.getuid():
            return
        if stat.S_ISREG(found.st_mode):
            os.unlink(entry.path)
        elif stat.S_ISDIR(found.st_mode) and Path(entry.name).suffix:  # a release in a folder
            shutil.rmtree(entry.path, ignore_errors=True)


def _machine() -> str:
    """Return a digest that identifies the process id namespace.

    Folders are shared between hosts, and between containers of a host, which may have the same name.
    """
    parts = [platform.node()]
    for file in ("/etc/machine-id", "/proc/self/ns/pid", "/proc/self/ns/time"):
        with suppress(OSError):
            parts.append(os.readlink(file) if os.path.islink(file) else Path(file).read_text())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _is_running(process: int, start: str) -> bool:
    """Return whether a process may still be running; its id may have been reused since."""
    try:
        os.kill(process, 0)  # checks only that the process exists
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's process, or not a valid id
    return start == _UNKNOWN or _start(process) in (start, _UNKNOWN)


def _start(process: int) -> str:
    """Return the start time of a process in ticks since boot; `_UNKNOWN` if not available."""
    try:
        status = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return _UNKNOWN
    # The second field is the program name in parentheses, which may contain anything; this is the 22nd.
    fields = status.rpartition(b")")[2].split()
    return fields[19].decode() if len(fields) > 19 else _UNKNOWN
