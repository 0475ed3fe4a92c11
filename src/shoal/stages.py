"""The stages of a run: how long each takes, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Tick(Protocol):
    """Called now and then with the share of a stage that is done, and what there is to tell."""

    def __call__(self, share: float, told: str = "", /) -> None:
        """Take note."""


class Progress(Protocol):
    """Called now and then with a stage's name, the share of it that is done, and what there is to tell."""

    def __call__(self, stage: str, share: float, told: str = "", /) -> None:
        """Take note."""


class Meanwhile(Generic[T]):
    """A stage that runs in a thread while others go on, until somebody needs its result.

    Parameters
    ----------
    timings : dict of str to float
        Gets the seconds that were spent on waiting for it.
    name : str
        Of the stage.
    compute : callable
        Called with a function that takes the share done.
    """

    def __init__(self, timings: dict[str, float], name: str, compute: Callable[[Tick], T]) -> None:
        self._timings, self._name = timings, name
        self._done: SimpleQueue[tuple[float, str] | None] = SimpleQueue()
        self._future: Future[T] = Future()
        Thread(target=self._run, args=(compute,), name=name).start()

    def result(self, progress: Progress | None = None) -> T:
        """Wait for the result, and report progress meanwhile."""
        if self._name not in self._timings:
            with stage(self._timings, self._name, progress) as tick:
                while (done := self._done.get()) is not None:
                    tick(*done)
        return self._future.result()

    def _run(self, compute: Callable[[Tick], T]) -> None:
        try:
            self._future.set_result(compute(lambda share, told="": self._done.put((share, told))))
        except BaseException as error:  # for the one who waits
            self._future.set_exception(error)
        self._done.put(None)


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
