"""The stages of a run: how long each takes, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, float], None]  # called with a stage's name and the share of it that is done


@contextmanager
def stage(
    timings: dict[str, float], name: str, progress: Progress | None
) -> Iterator[Callable[[float], None]]:
    """Time one stage and report its progress; give a function that reports the share done."""

    def tick(share: float) -> None:
        if progress is not None:
            progress(name, share)

    tick(0.0)
    begin = time.perf_counter()
    yield tick
    timings[name] = time.perf_counter() - begin
    tick(1.0)
