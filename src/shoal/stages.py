"""The stages of a run: how long each takes, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Tick(Protocol):
    """Called now and then with the share of a stage that is done, and what there is to tell."""

    def __call__(self, share: float, told: str = "", /) -> None:
        """Take note."""


class Progress(Protocol):
    """Called now and then with a stage's name, the share of it that is done, and what there is to tell."""

    def __call__(self, stage: str, share: float, told: str = "", /) -> None:
        """Take note."""


@contextmanager
def stage(timings: dict[str, float], name: str, progress: Progress | None) -> Iterator[Tick]:
    """Time one stage and report its progress; give a function that reports the share done."""

    def tick(share: float, told: str = "") -> None:
        if progress is not None:
            progress(name, share, told)

    tick(0.0)
    begin = time.perf_counter()
    yield tick
    timings[name] = time.perf_counter() - begin
    tick(1.0)
