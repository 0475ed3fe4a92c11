"""Temporary files that a killed process left behind: found by their names, removed by the next run.

A name is ``.shoal-<machine>-<process>-<start>-<random><ending>``. A file is removed only if it is a
file of this user, was made on this machine, and its process is gone: no process has that number, or
one that started at another time. Where that cannot be told, the file stays.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import stat
from contextlib import suppress
from pathlib import Path

_NAME = re.compile(r"\.shoal-([0-9a-f]{12})-([0-9]{1,10})-([0-9]{1,20})-[a-z0-9_]{8}(\.[^./]+)?")
_UNKNOWN = "0"  # no process starts at that time


def prefix() -> str:
    """Return how the names of this process's temporary files begin."""
    process = os.getpid()
    return f".shoal-{_machine()}-{process}-{_start(process)}-"


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of processes that are gone."""
    if os.name != "posix":
        return  # elsewhere a signal that only asks whether a process lives would end it
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = _NAME.fullmatch(entry.name)
            if name and name[1] == _machine() and not _is_running(int(name[2]), name[3]):
                _remove_own(entry)


def _remove_own(entry: os.DirEntry[str]) -> None:
    with suppress(OSError):
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid():
            os.unlink(entry.path)


def _machine() -> str:
    """Return a digest of what tells one numbering of processes from another.

    Folders are shared between hosts, and between containers of one host, which may go by one name.
    """
    parts = [platform.node()]
    for file in ("/etc/machine-id", "/proc/self/ns/pid", "/proc/self/ns/time"):
        with suppress(OSError):
            parts.append(os.readlink(file) if os.path.islink(file) else Path(file).read_text())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _is_running(process: int, start: str) -> bool:
    """Say whether a process may still run; another one may have got its number since."""
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # somebody else's, or no number that can be asked about
    return start == _UNKNOWN or _start(process) in (start, _UNKNOWN)


def _start(process: int) -> str:
    """Return when a process started, in ticks since the system did; `_UNKNOWN` where nobody says."""
    try:
        told = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return _UNKNOWN
    # The second field is the program's name in parentheses, and may hold anything; this is the 22nd.
    fields = told.rpartition(b")")[2].split()
    return fields[19].decode() if len(fields) > 19 else _UNKNOWN
