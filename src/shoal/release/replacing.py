"""Give a new folder the name that an earlier one has; a killed process loses neither of them.

A system that can exchange two names does so in one step. Elsewhere the earlier folder is put aside for the
moment between two renames, under a name that no run removes before the earlier folder is back.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextmanager
def replaced(target: Path, made: Path) -> Iterator[None]:
    """Give a folder its name; put an earlier one back if what follows fails."""
    undo = _replace(target, made)
    try:
        yield
    except BaseException:
        undo()
        raise
    shutil.rmtree(_aside(target), ignore_errors=True)


def give_back(target: Path) -> None:
    """Give an earlier folder its name back, if a run was killed before the new one had it."""
    aside = _aside(target)
    if not aside.is_dir():
        return
    if os.path.lexists(target):
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.rename(target)


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; return whether the system can."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    return rename is not None and not rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)


def _replace(target: Path, made: Path) -> Callable[[], object]:
    """Give a folder its name; return what undoes that."""
    if not os.path.lexists(target):
        made.rename(target)
        return partial(target.rename, made)
    if exchange(made, target):
        return partial(exchange, made, target)
    target.rename(_aside(target))
    try:
        made.rename(target)
    except BaseException:
        give_back(target)
        raise
    return partial(_undo, target, made)


def _undo(target: Path, made: Path) -> None:
    target.rename(made)
    give_back(target)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.earlier")
