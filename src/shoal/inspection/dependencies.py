"""Columns that determine others: from one value the other follows, always or nearly always."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from shoal.arrays import LongArray
from shoal.inspection.profile import Profile

_TIMES_SURER = 10  # a rule is wrong at most a tenth as often as always guessing the most frequent value
_COVERED = 0.5  # share of the rows whose value occurs at least twice: others prove nothing
_DENSE = 8  # pairs of values per row that are counted in one array; with more, it would be mostly empty
_WORK = 60_000_000  # rows times pairs of columns that are counted; with more, a part of the rows


@dataclass(frozen=True)
class Dependency:
    """One column that determines another.

    Parameters
    ----------
    source, target : str
        From the value of the source that of the target follows.
    share : float
        How often the most frequent target of the other rows with the same source is right.
    exact : bool
        Whether there is no exception.
    mutual : bool
        Whether the target determines the source as well.
    """

    source: str
    target: str
    share: float
    exact: bool
    mutual: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the dependency as in JSON."""
        return {"source": self.source, "target": self.target, "share": self.share, "exact": self.exact,
                "mutual": self.mutual}  # fmt: skip

    def __str__(self) -> str:
        often = "" if self.exact else f" in {self.share:.1%} of the rows"
        back = ", and the other way round" if self.mutual else ""
        return f"{self.source} determines {self.target}{often}{back}"


class Joint(NamedTuple):
    """How often each pair of values of two columns occurs; 0 is missing."""

    one: LongArray
    other: LongArray
    counts: LongArray


def find_dependencies(profiles: list[Profile]) -> list[Dependency]:
    """Return which columns determine others; one with a value for nearly each row says nothing."""
    useful = [one for one in profiles if one.distinct > 1 and _repeats(one)]
    rows = _rows(profiles, len(useful))
    shares: dict[tuple[str, str], tuple[float, bool]] = {}
    for one, other in combinations(useful, 2):
        joint = joint_counts(one, other, rows)
        for source, target, counted in ((one, other, joint), (other, one, _turned(joint))):
            found = _rule(counted)
            if found is not None:
                shares[source.name, target.name] = found
    return [
        Dependency(source, target, share, exact, (target, source) in shares)
        for (source, target), (share, exact) in shares.items()
    ]


def joint_counts(one: Profile, other: Profile, rows: LongArray | slice) -> Joint:
    """Count how often each pair of values occurs in some rows."""
    width = other.distinct + 1
    keys = one.codes[rows] * width + other.codes[rows]
    if (one.distinct + 1) * width <= _DENSE * len(keys):
        counts = np.bincount(keys)
        found = np.flatnonzero(counts)
        counts = counts[found]
    else:
        table = pl.DataFrame({"key": keys}).group_by("key").len()
        found, counts = table["key"].to_numpy(), table["len"].to_numpy().astype(np.int64)
    return Joint(found // width, found % width, counts)


def _turned(joint: Joint) -> Joint:
    return Joint(joint.other, joint.one, joint.counts)


def _repeats(profile: Profile) -> bool:
    return bool(profile.counts[profile.counts > 1].sum() >= _COVERED * profile.rows)


def _rows(profiles: list[Profile], n_useful: int) -> LongArray | slice:
    """Return the rows that are counted: all, or in a wide table those of every so many in order of values."""
    n_rows = profiles[0].rows if profiles else 0
    pairs = n_useful * (n_useful - 1) // 2
    step = -(-n_rows * pairs // _WORK) if n_rows else 1
    if step <= 1:
        return slice(None)
    # The choice must not depend on the order of the input, so rows are chosen by what is in them.
    mixed = np.zeros(n_rows, np.uint64)
    for profile in profiles:
        hashes = profile.texts.hash(seed=1).to_numpy()
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + np.append(np.uint64(0), hashes)[profile.codes]
    return np.flatnonzero((mixed >> np.uint64(7)) % np.uint64(step) == 0)


def _rule(joint: Joint) -> tuple[float, bool] | None:
    """Return how often the target follows from the source, and whether always; None if it does not.

    A row is predicted from the other rows with the same source, so that a value which occurs once predicts
    nothing: its target is right if it is still the most frequent one without that row.
    """
    present = (joint.one > 0) & (joint.other > 0)
    source, target, counts = joint.one[present], joint.other[present], joint.counts[present]
    if not len(counts):
        return None
    total, most, second = _two_largest(source, counts)
    covered = int(total[total > 1].sum())
    if covered < _COVERED * counts.sum():
        return None
    right = int(most[most - 1 > second].sum())
    share = right / covered
    frequent = np.bincount(target, counts).max() / counts.sum()
    if 1 - share > (1 - frequent) / _TIMES_SURER or share <= frequent:
        return None
    return share, bool((second == 0).all())


def _two_largest(groups: LongArray, counts: LongArray) -> tuple[LongArray, LongArray, LongArray]:
    """Return the sum, the largest and the second largest count of each group."""
    n_groups = int(groups.max()) + 1
    total = np.bincount(groups, counts, minlength=n_groups).astype(np.int64)
    order = np.lexsort((counts, groups))
    last = np.append(groups[order][1:] != groups[order][:-1], True)
    ends = np.flatnonzero(last)
    most, second = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    most[groups[order][ends]] = counts[order][ends]
    has_two = (ends > 0) & (groups[order][ends - 1] == groups[order][ends])
    second[groups[order][ends[has_two]]] = counts[order][ends[has_two] - 1]
    return total, most, second
