"""Threads that run kernels side by side, and stop when they are asked to."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Workers:
    """As many threads as Numba would use. Each has a tally of its own, in which kernels count.

    Parameters
    ----------
    goals : kernels.goals.Goals or None
        What the tallies count; without goals there are none.
    """

    def __init__(self, goals: Any) -> None:
        from shoal.kernels import n_threads
        from shoal.kernels.goals import empty_tally

        self.n_threads = n_threads()
        self._tallies: SimpleQueue[Any] = SimpleQueue()
        for _ in range(self.n_threads):
            self._tallies.put(None if goals is None else empty_tally(goals))

    def run(self, tasks: Iterable[Callable[[Any], T]]) -> Generator[tuple[int, T], None, None]:
        """Run tasks, each with a tally; give their numbers and results as they finish.

        Closing the iterator early drops the tasks that have not begun.
        """
        from shoal.kernels.threads import thread_pool

        with thread_pool(self.n_threads) as pool:
            numbers: dict[Future[T], int] = {}
            waiting = iter(tasks)
            given = 0
            while True:
                for task in waiting:
                    numbers[pool.submit(self._with_tally, task)] = given
                    given += 1
                    if len(numbers) > 2 * self.n_threads:  # the rest can still be dropped
                        break
                if not numbers:
                    return
                done, _ = wait(numbers, return_when=FIRST_COMPLETED)
                for future in done:
                    yield numbers.pop(future), future.result()

    def _with_tally(self, task: Callable[[Any], T]) -> T:
        tally = self._tallies.get()
        try:
            return task(tally)
        finally:
            self._tallies.put(tally)
