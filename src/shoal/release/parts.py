"""What a release is made of: its tables, and the numbers about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.bound.result import Bound, total_bound
from shoal.dangers import Danger
from shoal.measure.loss import Loss
from shoal.recipe import Recipe
from shoal.release.distributed import Distributed
from shoal.report.findings import Findings
from shoal.report.profile import Profile
from shoal.stages import BackgroundStage, Progress
from shoal.verifier import MeasuredGoal, worst_goals

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Numbers:
    """The guarantees and losses of one table, or of all tables of a release together.

    Parameters
    ----------
    released, suppressed : int
        Rows; for several views, those of the view with the fewest.
    classes : int
        Classes, or groups where there are no classes.
    k : int or None
        Size of the smallest class, in people where a subject column identifies them; None where k is
        not promised.
    goals : tuple of MeasuredGoal
        Every goal, asked and achieved.
    loss, loss_tight : Loss
        Of the published values, and of the classes' own values.
    bounding : tuple of BackgroundStage
        The lower bounds of the loss, one for each table; empty if they were not asked for.
    """

    released: int
    suppressed: int
    classes: int
    k: int | None
    goals: tuple[MeasuredGoal, ...]
    loss: Loss
    loss_tight: Loss
    bounding: tuple[BackgroundStage[Bound | None], ...] = ()

    @property
    def bound(self) -> Bound | None:
        """The lower bound of the loss of any release of these rows; None where it is unknown."""
        return total_bound([bounding.result() for bounding in self.bounding]) if self.bounding else None

    @property
    def ils(self) -> tuple[float | None, float | None]:
        """Total IL, published and tight: typical values are no boxes, but their classes are."""
        return self.loss.il, self.loss_tight.il

    def wait_for_bound(self, progress: Progress | None) -> None:
        """Wait for the bound, and report progress."""
        for bounding in self.bounding:
            bounding.result(progress)


@dataclass(frozen=True, repr=False)  # a repr would show cells
class Part:
    """A table of a release.

    Parameters
    ----------
    title : str
        What the manifest calls it among several tables; empty for the only one.
    frame : polars.DataFrame or Distributed
        The released rows in canonical order; or rows that Spark holds, in no order.
    recipe : Recipe
        What it promises, as the recipe of a separate table.
    numbers : Numbers
        Of this table; of the whole release where the tables are meaningful only together.
    profile : Profile or None
        What a report may show about the rows; None where this table has no report.
    people : pyarrow.Array or None
        The person of each row, where there is a subject column: for the verifier, never written.
    original : pyarrow.Table or None
        The raw columns, where the promise can be verified only against them: never written.
    labels : ndarray or None
        The class of each row of the raw table, in its order, -1 for a suppressed row: for its owner, never
        written.
    dangers : tuple of Danger
        What this table reveals although every promise holds.
    protection : tuple of dict
        Cells that were suppressed, by column.
    remarks : tuple of str
        The method's remarks about this table: numbers, no values.
    findings : callable or None
        Gathers what a report says about risk, attacks, utility and the cost of k, given formulas to compare;
        None where that is not known.
    """

    title: str
    frame: pl.DataFrame | Distributed
    recipe: Recipe
    numbers: Numbers
    profile: Profile | None = None
    people: pa.Array | None = None
    original: pa.Table | None = None
    labels: npt.NDArray[np.int32] | None = None
    dangers: tuple[Danger, ...] = ()
    protection: tuple[dict[str, Any], ...] = ()
    remarks: tuple[str, ...] = ()
    findings: Callable[[Sequence[str]], Findings] | None = None


class Tables(tuple[Any, ...]):
    """The released tables, in order; those of Anatomy also as `quasi` and `sensitive`."""

    __slots__ = ()

    @property
    def quasi(self) -> Any:
        """Anatomy's table of quasi values."""
        return self[0]

    @property
    def sensitive(self) -> Any:
        """Anatomy's table of sensitive values."""
        return self[1]


def together(parts: Sequence[Part], rows: int) -> Numbers:
    """Return the numbers of several views: IL and classes are summed, for the rest the worst counts."""
    numbers = [part.numbers for part in parts]
    released = min(each.released for each in numbers)
    weight = sum(part.recipe.columns[name].weight for part in parts for name in part.recipe.quasi)
    return Numbers(
        released=released,
        suppressed=rows - released,
        classes=sum(each.classes for each in numbers),
        k=min(each.k or 0 for each in numbers),
        goals=worst_goals([each.goals for each in numbers]),
        loss=_summed([each.loss.il for each in numbers], rows * weight),
        loss_tight=_summed([each.loss_tight.il for each in numbers], rows * weight),
        bounding=tuple(bounding for each in numbers for bounding in each.bounding),
    )


def _summed(losses: Sequence[float | None], most: float) -> Loss:
    """Sum IL. The other measures are relative to one table and cannot be summed."""
    known = [il for il in losses if il is not None]
    il = sum(known) if len(known) == len(losses) else None
    gcp = None if il is None else il / most
    return Loss(il=il, gcp=gcp)
