"""What every clusterer offers, and the table of those that shoal has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError
from shoal.options import KMemberOptions, MondrianOptions, Options
from shoal.table.columns import Encoded

Progress = Callable[[float], None]  # called now and then with the share of the work that is done


@dataclass(frozen=True)
class ClusterResult:
    """A class for each row, in the order of the encoded rows; -1 marks a suppressed row."""

    labels: npt.NDArray[np.int32]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.labels.max(initial=-1)) + 1

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of rows of each class."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_classes)


class Clusterer(Protocol):
    """A method: made with k, a seed and its options, it labels the rows of an encoded table."""

    k: int
    seed: int

    def fit(self, encoded: Encoded, progress: Progress | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows."""
        ...

    def fit_predict(self, encoded: Encoded) -> npt.NDArray[np.int32]:
        """Label the rows, in the order of the input rows."""
        ...


@dataclass(frozen=True)
class MethodInfo:
    """What `shoal methods` tells about a method."""

    name: str
    paper: str
    idea: str
    cost: str
    guarantees: str
    options: type[Options]
    make: Callable[[int, int, Options], Clusterer]


def check_feasible(n_rows: int, k: int) -> None:
    """Refuse a table with fewer rows than k: no class could hold k of them."""
    if n_rows < k:
        raise InfeasibleError(
            "infeasible.rows",
            f"k = {k} is asked for, but only {n_rows} rows can be released.",
            f"lower k to {n_rows} or less, or publish nothing from this table" if n_rows > 1 else "add rows",
        )


def _make_kmember(k: int, seed: int, options: Options) -> Clusterer:
    from shoal.cluster.kmember import KMember

    assert isinstance(options, KMemberOptions)
    return KMember(k, seed=seed, options=options)


def _make_mondrian(k: int, seed: int, options: Options) -> Clusterer:
    from shoal.cluster.mondrian import Mondrian

    assert isinstance(options, MondrianOptions)
    return Mondrian(k, seed=seed, options=options)


METHODS: dict[str, MethodInfo] = {
    "k-member": MethodInfo(
        name="k-member",
        paper="Byun, Kamra, Bertino, Li: Efficient k-Anonymization Using Clustering Techniques. DASFAA 2007.",
        idea="Open a class far from the last one; k - 1 times add the row that widens it least; repeat.",
        cost="O(n^2) time, O(n) memory",
        guarantees="classes of k to 2k - 1 rows; exact greedy choice; same labels for any number of threads",
        options=KMemberOptions,
        make=_make_kmember,
    ),
    "mondrian": MethodInfo(
        name="mondrian",
        paper="LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity. ICDE 2006.",
        idea="Cut the rows at the median of the column where they are widest; repeat in both parts.",
        cost="O(n log n) time, O(n) memory",
        guarantees="classes of at least k rows; no random choice",
        options=MondrianOptions,
        make=_make_mondrian,
    ),
}
AUTO_KMEMBER_ROWS = 100_000  # above this, the square of the rows takes k-member longer than a coffee


def choose(name: str, n_rows: int) -> tuple[MethodInfo, str]:
    """Return the method of that name, and for `auto` the reason for the one that was picked."""
    if name != "auto":
        return METHODS[name], ""
    if n_rows <= AUTO_KMEMBER_ROWS:
        return METHODS["k-member"], f"auto: least loss up to {AUTO_KMEMBER_ROWS:,} rows"
    return METHODS["mondrian"], f"auto: k-member takes too long above {AUTO_KMEMBER_ROWS:,} rows"
