"""Compile the kernels that a run needs while it reads the table, and show progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from shoal.stages import Progress


@contextmanager
def compiling_in_background(jobs: Sequence[str], progress: Progress | None, quiet: bool) -> Iterator[None]:
    """Compile in other processes, showing a progress bar, or one line without a terminal."""
    from shoal.kernels.compiling.place import place
    from shoal.workflow.warming import compiled_meanwhile as compiled

    if place().complaint and not quiet:
        print(place().complaint, file=sys.stderr)
    elif jobs and not quiet and progress is None:
        print("compiling for this machine; later runs will start without this delay", file=sys.stderr)
    with compiled(jobs, counted(progress)):
        yield


def counted(progress: Progress | None) -> Callable[[int, int], None] | None:
    """Return a function that shows how many kernels have been compiled."""
    if progress is None:
        return None
    return lambda done, total: progress("compile", done / total, f"{done} of {total}")
