"""The risk of re-identification in a released table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.risks.report import SUBSET_SIZE, Owner, RiskReport, measure_risk, risk_of_sizes
from shoal.risks.tables import published_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.release.distributed import Distributed
    from shoal.release.parts import Part


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


def distributed_risk(part: Part, rows: Distributed) -> RiskReport:
    """Measure the risk of a release that Spark holds, as far as it follows from the sizes of its classes."""
    pairs = part.profile.class_sizes if part.profile is not None and part.recipe.subject is None else ()
    sizes = np.repeat(*np.array(pairs, np.int64).reshape(-1, 2).T)
    if sizes.sum() != rows.height:  # sizes count rows, and very many different ones are not listed
        message = "The risk of this release is not known: Spark holds its rows"
        why = ", and its classes are counted in rows, not people" if part.recipe.subject is not None else ""
        raise RecipeError("recipe.not_available", f"{message}{why}.", "use `shoal.risk` on a part of it")
    return risk_of_sizes(sizes, part.recipe.privacy.k)
