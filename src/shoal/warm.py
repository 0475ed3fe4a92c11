"""Compile kernels ahead: tiny made-up tables go through the methods, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shoal.errors import PrivacyWarning

# Near rows have one value, so that classes fail the goals unless a method keeps them, and are repaired. Equal
# rows come together in one class, which then gives some up.
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
BOUND, COMPOSITION = "bound", "composition"
Ready = Callable[[str], None]


def compile_ahead(methods: Sequence[str], *, goals: bool = True, ready: Ready | None = None) -> None:
    """Compile what these methods need, and the bound of the loss, unless it has been compiled before.

    Two processes share the work, because Numba compiles one function at a time in each.

    Parameters
    ----------
    methods : sequence of str
        Names of methods.
    goals : bool, optional
        Whether privacy goals will be asked for, too.
    ready : callable, optional
        Called with the name of each kernel that is ready, from either of two threads.
    """
    jobs = jobs_of(methods, goals=goals)
    long = [job for job in jobs if job.startswith("local-search")]
    others = [job for job in jobs if job not in long]
    shares = [long, others] if long else [others[::2], others[1::2]]
    with ThreadPoolExecutor(len(shares)) as pool:
        for status in pool.map(lambda share: _run_apart(share, ready), shares):
            if status:
                raise RuntimeError(f"a process that compiles kernels ended with status {status}")


def jobs_of(methods: Sequence[str], *, goals: bool = True) -> list[str]:
    """List what `run_job` has to do for these methods."""
    from shoal.cluster.registry import METHODS

    with_goals = [f"{name}:goals" for name in methods if goals and METHODS[name].has_classes]
    return [*methods, *with_goals, BOUND, *([COMPOSITION] if goals else [])]


def _run_apart(jobs: Sequence[str], ready: Ready | None) -> int:
    """Do jobs in a process of their own; return its exit status."""
    command = [sys.executable, "-m", "shoal.warm", *jobs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if ready is not None:
                ready(line.strip())
    return process.returncode


def run_job(job: str) -> None:
    """Run a tiny table through a method (`name`, or `name:goals`), the bound, or the check beside another."""
    from shoal.anonymize import prepare

    if job == BOUND:
        _bound()
    elif job == COMPOSITION:
        _composition()
    elif job.endswith(":goals"):
        for who in ("drop", "subject"):
            prepare(_table(), _recipe(job.removesuffix(":goals"), who, _GOALS), bound=False)
    else:
        prepare(_table(), _recipe(job), bound=False)


def _composition() -> None:
    """Check a release beside an earlier one."""
    from shoal.anonymize import prepare

    with TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier.csv"
        prepare(_table(), _recipe("mondrian"), bound=False).write(earlier)
        manifest = Path(f"{earlier}.manifest.json")
        recipe = _recipe("mondrian", goals=_GOALS)
        prepare(_table(), recipe, also=[manifest], accept_composition=True, bound=False)


def _bound() -> None:
    """Bound the loss in every form, and read a file."""
    import numpy as np

    from shoal.measure.scans import Scans
    from shoal.recipe import Recipe
    from shoal.table.encode import encode
    from shoal.table.read import read

    recipe = _recipe("mondrian")
    scans = Scans(encode(_table(), recipe), 2)
    near = scans.nearest(scans.order, _say_nothing).astype(np.int32)
    scans.boxes(scans.order, 1 << 40, _say_nothing)
    scans.dragged(scans.order, near, _say_nothing)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text("age\n1\n", encoding="utf-8")
        read(path, Recipe.from_roles(quasi=["age"], k=2).input)


def _say_nothing(share: float) -> None:
    """Take no notice of progress."""


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
    """Do the jobs named, and print which kernels are ready."""
    from shoal.kernels.compiling import listening

    warnings.simplefilter("ignore", PrivacyWarning)
    with listening(lambda name: print(name, flush=True)):
        for job in sys.argv[1:]:
            run_job(job)


if __name__ == "__main__":
    _main()
