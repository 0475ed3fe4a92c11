"""What every clusterer offers, and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from shoal.arrays import IntArray, LongArray
from shoal.errors import InfeasibleError
from shoal.recipe.options import Options
from shoal.stages import Tick
from shoal.table.columns import Encoded

OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass(frozen=True)
class ClusterResult:
    """A class for each row, in the order of the encoded rows; -1 marks a suppressed row.

    `remarks` are sentences about what the method did, with numbers and no values. `levels`, where a
    method recodes whole columns, is the level of its tree at which each column is published. `ring`,
    where each row has a box of its own, is the number of neighbours in its group that it covers.
    """

    labels: IntArray
    remarks: tuple[str, ...] = ()
    levels: tuple[int, ...] | None = None
    ring: int | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.labels.max(initial=-1)) + 1

    @property
    def sizes(self) -> LongArray:
        """The number of rows of each class."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_classes)


class Clusterer(ABC, Generic[OptionsT]):
    """A method: made with k, a seed and its options, it labels the rows of an encoded table.

    Parameters
    ----------
    k : int
        Smallest class size allowed, at least 2.
    seed : int, optional
        Chooses whatever the method draws at random.
    options : Options, optional
        Those of the method; its defaults when left out.
    may_suppress : int, optional
        How many rows the method may leave out; most methods leave out none.
    goals : kernels.goals.Goals, optional
        What every class needs in addition to k rows, for the rows that will be given to `fit`. Methods keep
        it as far as they can while they build; the rest is repaired afterwards.
    """

    options_type: ClassVar[type[Options]]
    keeps_goals: ClassVar[bool] = False  # every class meets the goals, if one class of all rows does

    def __init__(
        self,
        k: int,
        *,
        seed: int = 0,
        options: OptionsT | None = None,
        may_suppress: int = 0,
        goals: Any = None,
    ) -> None:
        self.k = k
        self._goals = goals
        self.seed = seed
        self.options: OptionsT = options if options is not None else self.options_type()  # type: ignore[assignment]
        self.may_suppress = may_suppress

    @abstractmethod
    def fit(self, encoded: Encoded, progress: Tick | None = None) -> ClusterResult:
        """Label the rows, in the order of the encoded rows."""

    def fit_predict(self, encoded: Encoded) -> IntArray:
        """Label the rows, in the order of the input rows."""
        return encoded.in_input_order(self.fit(encoded).labels)

    def goals_and_tally(self) -> tuple[Any, Any]:
        """Return what the kernels need to keep the goals: these and an empty tally, or None and None."""
        from shoal.kernels.goals import empty_tally

        return (None, None) if self._goals is None else (self._goals, empty_tally(self._goals))

    def random(self) -> np.random.Generator:
        """Return the source of the method's random choices, at its start."""
        return np.random.Generator(np.random.PCG64(self.seed))


def check_feasible(n_rows: int, k: int) -> None:
    """Refuse a table with fewer rows than k: no class could hold k of them."""
    if n_rows < k:
        raise InfeasibleError(
            "infeasible.rows",
            f"k = {k} is asked for, but only {n_rows} rows can be released.",
            f"lower k to {n_rows} or less, or publish nothing from this table" if n_rows > 1 else "add rows",
        )
