"""The memory of this machine, or of the container that this process is in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")  # lines such as 0::/a/b, and 4:memory:/a/b of the older form


def machine_bytes() -> int:
    """Return the memory that this process and those it starts can have."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([there, *_limits(_OWN, _GROUPS)])


def _limits(own: Path, groups: Path) -> Iterator[int]:
    """Yield the limits of the groups that Linux has this process in: its own, and those around it."""
    try:
        lines = own.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):  # not Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            top, name = groups, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = groups / "memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the path may be that outside of it: then the group at the top is its own.
        for group in [(place := PurePosixPath(path)), *place.parents]:
            try:
                text = (top / group.relative_to("/") / name).read_text(encoding="ascii").strip()
            except (OSError, ValueError):
                continue
            if text.isdigit():  # otherwise max
                yield int(text)
