"""Compile kernels ahead of time: separate processes run tiny made-up tables through the methods."""

from __future__ import annotations

import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from shoal.errors import PrivacyWarning
from shoal.kernels.needed import BOUND_WITH_GOALS as FORMS_WITH_GOALS
from shoal.kernels.needed import Form, forms_needed

if TYPE_CHECKING:
    from shoal.recipe import Recipe

# Nearby rows share a value, so that classes fail the goals unless a method keeps them, and are repaired.
# Equal rows end up in one class, which then gives up some of them.
_TABLE = {
    "age": [1, 1, 1, 1, 5, 6, 7, 8],
    "sex": ["f", "f", "f", "f", "m", "m", "m", "m"],
    "ill": list("aaaabbbb"),
    "who": [1, 1, 2, 3, 4, 5, 6, 7],
}
_LEVELS = {"all": {"some": ["a"], "others": ["b"]}}
_GOALS = [
    {"type": "l-diversity", "column": "ill", "l": 2},
    {"type": "t-closeness", "distance": "hierarchical", "column": "ill", "t": 0.4},
]
BOUND, BOUND_WITH_GOALS, COMPOSITION = "bound", "bound:goals", "composition"
Counted = Callable[[int, int], None]


def jobs_of(methods: Sequence[str], *, goals: bool = True) -> list[str]:
    """List the jobs of `run_job` that cover everything these methods may need."""
    from shoal.cluster.registry import METHODS

    with_goals = [f"{name}:goals" for name in methods if goals and METHODS[name].shape.has_classes]
    return [*methods, *with_goals, BOUND, *([BOUND_WITH_GOALS, COMPOSITION] if goals else [])]


def jobs_left(
    methods: Sequence[str], recipe: Recipe, *, bound: bool = True, several: bool = False
) -> list[str]:
    """List what still has to be compiled before methods can run a recipe.

    `bound` and `several` say whether the loss is bounded, and whether several tables are checked together.
    """
    from shoal.cluster.registry import METHODS, choose
    from shoal.kernels.compiling.place import place

    if not place().is_kept:  # what another process compiles would be lost
        return []
    keeps_goals = bool(recipe.privacy.column_goals) or recipe.subject is not None
    found = [choose(name, 0)[0].name for name in methods]
    jobs = [f"{name}:goals" if keeps_goals and METHODS[name].shape.has_classes else name for name in found]
    if bound:
        jobs += [BOUND, *([BOUND_WITH_GOALS] if recipe.privacy.column_goals else [])]
    jobs += [COMPOSITION] if several else []
    return _left(jobs)


def _left(jobs: Sequence[str]) -> list[str]:
    """List the jobs that have not been done in this cache."""
    return [job for job in jobs if not _mark(job).exists()]


def compile_ahead(jobs: Sequence[str], counted: Counted | None = None) -> None:
    """Compile what jobs need, unless it is already compiled, and wait for it.

    Parameters
    ----------
    jobs : sequence of str
        As `jobs_of` lists them.
    counted : callable, optional
        Called with the number of kernels that are ready, and of all that have to be compiled.
    """
    with compiled_meanwhile(jobs, counted) as compilers:
        if _left(jobs) and not compilers:
            raise RuntimeError("no process could be started to compile kernels")
        for compiler in compilers:
            if status := compiler.wait():
                raise RuntimeError(f"a process that compiles kernels ended with status {status}")


@contextmanager
def compiled_meanwhile(jobs: Sequence[str], counted: Counted | None = None) -> Iterator[list[_Compiler]]:
    """Let other processes compile while this one continues, and wait for them at the end.

    Two processes share the work, because Numba compiles one function at a time in each. A process that needs
    a kernel that another one is compiling waits for it.
    """
    jobs = _left(jobs)
    total = len(kernels_of(jobs))
    compilers: list[_Compiler] = []
    ready: set[str] = set()
    lock = Lock()

    def note(*names: str) -> None:
        with lock:  # each compiler has a thread of its own that calls this
            ready.update(names)
            if counted is not None and total:
                counted(min(len(ready), total), total)

    long = [job for job in jobs if job.startswith("local-search")]
    others = [job for job in jobs if job not in long]
    shares = [long, others] if long else [others[::2], others[1::2]]
    note()
    try:
        with suppress(OSError):  # where the system allows no other process, this one compiles
            for share in filter(None, shares):
                compilers.append(_Compiler(share, note))
        yield compilers
        for compiler in compilers:
            compiler.wait()
    finally:
        for compiler in compilers:
            compiler.end()


class _Compiler:
    """A process that compiles, and the thread that listens to it."""

    def __init__(self, jobs: Sequence[str], note: Callable[[str], None]) -> None:
        # -P: do not import modules from the working folder.
        command = [sys.executable, "-P", "-m", "shoal.workflow.warming", *jobs]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._thread = Thread(target=self._listen, args=(note,))
        self._thread.start()

    def wait(self) -> int:
        """Wait for the process to end, and return its exit status."""
        self._thread.join()
        return self._process.wait()

    def end(self) -> None:
        """Stop the process if it is still running."""
        self._process.kill()
        self.wait()

    def _listen(self, note: Callable[[str], None]) -> None:
        """Pass on the name of each kernel that is ready."""
        assert self._process.stdout is not None
        with self._process.stdout:
            for line in self._process.stdout:
                note(line.strip())


def kernels_of(jobs: Sequence[str]) -> set[str]:
    """Return the names of the kernels that jobs need."""
    return {form.entry for job in jobs for form in _forms(job)}


def _forms(job: str) -> list[Form]:
    """List the kernels of a job."""
    if job == COMPOSITION:
        return []
    if job == BOUND:
        return forms_needed("anatomy")
    if job == BOUND_WITH_GOALS:
        return FORMS_WITH_GOALS
    method, _, goals = job.partition(":")
    return forms_needed(method, goals=bool(goals), bound=False, from_file=False)


def _mark(job: str) -> Path:
    """Return the file that marks a job as compiled."""
    from shoal.kernels.compiling.place import cache_folder

    return cache_folder() / f"{job.replace(':', '-with-')}.done"


def run_job(job: str) -> None:
    """Run a tiny table through a method (`name` or `name:goals`), the bound, or a check of two releases."""
    from shoal.workflow.prepare import prepare

    if job == BOUND:
        _bound()
    elif job == BOUND_WITH_GOALS:
        _bound_with_goals()
    elif job == COMPOSITION:
        _composition()
    elif job.endswith(":goals"):
        for who in ("drop", "subject"):
            prepare(_table(), _recipe(job.removesuffix(":goals"), who, _GOALS), bound=False)
    else:
        prepare(_table(), _recipe(job), bound=False)


def _composition() -> None:
    """Check a release together with an earlier one."""
    from shoal.workflow.prepare import prepare

    with TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier.csv"
        prepare(_table(), _recipe("mondrian"), bound=False).write(earlier)
        manifest = Path(f"{earlier}.manifest.json")
        recipe = _recipe("mondrian", goals=_GOALS)
        prepare(_table(), recipe, also=[manifest], accept_composition=True, bound=False)


def _bound() -> None:
    """Bound the loss in every form, and read a file."""
    import numpy as np

    from shoal.bound.prices import PLANS, feasible_prices
    from shoal.bound.scans import Scans
    from shoal.bound.separation import Separation
    from shoal.recipe import Recipe
    from shoal.table.encode import encode
    from shoal.table.read import read

    recipe = _recipe("mondrian")
    scans = Scans(encode(_table(), recipe), 2)
    near = scans.nearest(scans.order, _ignore_progress).astype(np.int32)
    scans.boxes(scans.order, 1 << 40, _ignore_progress)
    scans.dragged(scans.order, near, _ignore_progress)
    nothing = np.zeros(scans.m, np.int64)
    scans.excess(scans.order, nothing, 1 << 40, _ignore_progress)
    scans.patient_excess(scans.order, nothing, 1 << 40, _ignore_progress)
    scans.glances(scans.order, nothing, _ignore_progress)
    feasible_prices(Separation(scans.fixed, scans.size, 2), PLANS["normal"], _ignore_progress)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text("age\n1\n", encoding="utf-8")
        read(path, Recipe.from_roles(quasi=["age"], k=2).input)


def _bound_with_goals() -> None:
    """Bound the loss with a goal."""
    import numpy as np

    from shoal.bound.goal_prices import goal_limits, with_goals
    from shoal.bound.prices import PLANS
    from shoal.bound.scans import Scans
    from shoal.table.encode import encode

    recipe = _recipe("mondrian", goals=_GOALS[:1])
    encoded = encode(_table(), recipe)
    scans, goals = Scans(encoded, 2), goal_limits(encoded, recipe, 0)
    nothing, plan = np.zeros(scans.m, np.int64), PLANS["normal"]
    with_goals(scans, encoded.tuple_of_row, nothing, nothing, goals, plan, 0, 0.0, _ignore_progress)


def _ignore_progress(share: float) -> None:
    """Ignore progress."""


def _table() -> Any:
    import polars as pl

    return pl.DataFrame(_TABLE)


def _recipe(method: str, who: str = "drop", goals: Sequence[dict[str, Any]] = ()) -> Any:
    from shoal.recipe import Recipe

    changes = {
        "columns": {"who": {"role": who}, **({"ill": {"hierarchy": _LEVELS}} if goals else {})},
        "privacy": {"goal": list(goals)},
        "method": {"name": method},
    }
    return Recipe.from_roles(quasi=["age", "sex"], sensitive=["ill"], k=2, changes=changes)


def _main() -> None:
    """Do the jobs given on the command line, and print which kernels are ready."""
    from shoal.kernels.compiling import listening

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this one
    warnings.simplefilter("ignore", PrivacyWarning)
    with listening(lambda name: print(name, flush=True)):
        for job in sys.argv[1:]:
            run_job(job)
            with suppress(OSError):  # a full disk only costs time
                _mark(job).touch()


if __name__ == "__main__":
    _main()
