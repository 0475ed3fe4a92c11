"""Working folders of verifications that were killed: the next verification removes them.

The folder's name shows whose it is: ``shoal-verify-<place>-<process>-<birth>-<random>``. Only this user's
folders are considered, and only those of a process that ran on this host and has ended.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from hashlib import blake2b
from pathlib import Path
from tempfile import gettempdir

_TITLE = "shoal-verify-"
_FOLDER = re.compile(_TITLE + "([0-9a-f]{16})-([0-9]+)-([0-9]+)-.+")


def title() -> str:
    """Return the prefix of the names of this process's working folders."""
    return f"{_TITLE}{_place()}-{os.getpid()}-{_birth(os.getpid())}-"


def clear_leftovers() -> None:
    """Remove the folders of ended processes from the system's temporary folder."""
    if os.name != "posix":
        return  # on other systems, testing whether a process is alive may kill it
    try:
        names = os.listdir(gettempdir())
    except OSError:
        return
    place = _place()
    for name in names:
        found = _FOLDER.fullmatch(name)
        if found and found[1] == place and _is_gone(int(found[2]), int(found[3])):
            _remove_own(Path(gettempdir(), name))


def _remove_own(folder: Path) -> None:
    try:
        is_own = folder.lstat().st_uid == os.getuid()
    except OSError:
        return
    if is_own and folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)


def _is_gone(process: int, birth: int) -> bool:
    """Return whether a process has certainly ended: its id is free, or belongs to a younger process."""
    try:
        os.kill(process, 0)  # only tests, sends no signal
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    now = _birth(process)
    return birth > 0 and now > 0 and birth != now


def _birth(process: int) -> int:
    """Return the clock tick at which a process started; 0 where it is unknown."""
    try:
        line = Path("/proc", str(process), "stat").read_bytes()
        return int(line[line.rindex(b")") + 1 :].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def _place() -> str:
    """Return a short digest of the host and its process namespace: containers have their own."""
    parts = [socket.gethostname()]
    for kind in ("pid", "time"):
        try:
            parts.append(os.readlink(f"/proc/self/ns/{kind}"))
        except OSError:
            parts.append("")
    return blake2b("/".join(parts).encode(), digest_size=8).hexdigest()
