"""The risk of re-identification in a released table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.recipe import Recipe
from shoal.risks.report import SUBSET_SIZE, Owner, RiskReport, measure_risk
from shoal.risks.tables import published_columns

if TYPE_CHECKING:
    import pyarrow as pa


def released_risk(
    frame: pl.DataFrame,
    recipe: Recipe,
    people: pa.Array | None,
    kind: str = "polars",
    subset_size: int = SUBSET_SIZE,
) -> RiskReport:
    """Measure the risk of a released table: rows with equal labels form a class.

    `people` is the person of each row, where there is a subject column.
    """
    person = None if people is None else np.unique(people.to_numpy(), return_inverse=True)[1]
    return measure_risk(
        frame,
        published_columns(recipe.quasi, frame.columns),
        recipe.privacy.k,
        owner=Owner(person=None if person is None else person.astype(np.int64)),
        subset_size=subset_size,
        is_release=True,
        kind=kind,
    )
