"""Everything that is compared, by name: local search, the other methods, k-member with swaps."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

from processes import yardstick_file

from shoal.arrays import IntArray
from shoal.bound.lower_bound import lower_bound
from shoal.cluster import METHODS
from shoal.cluster.local_search import schedule
from shoal.measure.loss import loss
from shoal.measure.readings import tight_costs
from shoal.table.columns import Encoded

OWN = "local-search"
EFFORTS = ("quick", "normal", "high")
OURS = tuple(f"{OWN} {effort}" for effort in EFFORTS)
NORMAL = f"{OWN} normal"
SWAPS = "k-member then swaps"
YARDSTICK = "plain k-member loop"
SLOW = ("incognito",)  # asked for by `--also`
OTHERS = tuple(
    name for name, info in METHODS.items() if info.shape.has_classes and name not in (OWN, *SLOW)
)  # every method that puts rows into classes


def labels_of(name: str, encoded: Encoded, k: int, seed: int) -> IntArray:
    """Label the rows by a contender: `local-search quick`, `local-search 5 s`, `mondrian`, ..."""
    if name == SWAPS:
        return _swapped(encoded, labels_of("k-member", encoded, k, seed), k, seed)
    method, _, how = name.partition(" ")
    info = METHODS[method]
    options: dict[str, Any] = {}
    if how:
        options = {"seconds": float(how[:-2])} if how.endswith(" s") else {"effort": how}
    return info.make(k, seed, info.options.model_validate(options)).fit(encoded).labels


def _swapped(encoded: Encoded, labels: IntArray, k: int, seed: int) -> IntArray:
    """Move and swap rows as local search does, as many rounds, and change nothing else."""
    info = METHODS[OWN]
    passes_alone = replace(schedule.EFFORTS["normal"], steps=0.0)
    with mock.patch.dict(schedule.EFFORTS, normal=passes_alone):
        own: Any = info.make(k, seed, info.options.model_validate({"effort": "normal"}))
        return own.improve(encoded, labels).labels  # type: ignore[no-any-return]


def total_il(encoded: Encoded, labels: IntArray, k: int) -> float:
    """Return the Total IL, tight: of classes published as narrowly as possible."""
    il = loss(encoded, labels, tight_costs(encoded, labels), k).il
    assert il is not None
    return il


@cache
def plain_loop() -> Callable[[int], float]:
    """Load the yardstick; what is returned takes k, runs it once on Adult and returns the Total IL."""
    spec = importlib.util.spec_from_file_location("plain_kmember", yardstick_file())
    assert spec is not None
    assert spec.loader is not None
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    data = plain.load()
    plain.kmember(*data, 5000, 0)  # compiles
    return lambda k: float(plain.kmember(*data, k, 7)[1])


def bound_of(encoded: Encoded, k: int) -> dict[str, Any]:
    """Return what no partition can lose less than, and whether that is an estimate from a sample."""
    found = lower_bound(encoded, k)
    return {"il": found.total, "is_estimate": found.is_estimate}
