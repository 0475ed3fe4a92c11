"""Releases that pseudonyms link: anyone who has them knows which rows belong to the same person.

Rows of a person then show one class in each release. An attacker who knows the person's quasi values looks
among the people that are in all of these classes at once, and at least k of them must be.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.errors import InfeasibleError, LinkableReleaseWarning


@dataclass(frozen=True, repr=False)
class Linkable:
    """A table with pseudonyms: for each of its rows, the pseudonym and the number of its class."""

    pseudonyms: pl.Series
    classes: pl.Series


@dataclass(frozen=True)
class Linked:
    """What tables reveal to somebody who links their rows.

    Parameters
    ----------
    tables : int
        How many tables have pseudonyms in common.
    k : int
        The fewest people who are in the same class of every table.
    rows : int
        How many people are with fewer than k.
    """

    tables: int
    k: int
    rows: int

    def to_dict(self) -> dict[str, int]:
        """Return the numbers, all of which can be computed from the published files."""
        return {"tables": self.tables, "k": self.k, "rows": self.rows}


def linked(tables: Sequence[Linkable], k: int) -> Linked | None:
    """Count the people who are in the same classes; None if no two tables have a pseudonym in common.

    Being in one table but not in another distinguishes people too.
    """
    frames = [
        pl.DataFrame({"person": table.pseudonyms.cast(pl.String), "class": table.classes}).drop_nulls(
            "person"
        )
        for table in tables
    ]
    together: pl.DataFrame | None = None
    n_tables = 0
    for at, frame in enumerate(frames):
        others = [other["person"] for number, other in enumerate(frames) if number != at]
        if not any(frame["person"].is_in(other.implode()).any() for other in others):
            continue
        own = frame.rename({"class": str(at)})
        n_tables += 1
        together = own if together is None else together.join(own, on="person", how="full", coalesce=True)
    if together is None:
        return None
    classes = [name for name in together.columns if name != "person"]
    sizes = together.group_by(classes).len()["len"]
    below = sizes.filter(sizes < k).sum()
    return Linked(n_tables, int(sizes.min()), int(below))  # type: ignore[arg-type]


def report_linked(found: Linked | None, k: int, *, accepted: bool) -> dict[str, Any]:
    """Warn that releases can be linked; refuse those that leave fewer than k people, unless accepted."""
    if found is None:
        return {}
    message = (
        f"Pseudonyms link {found.tables} releases: everyone can see which rows belong to the same person. "
        f"The fewest people in the same class of each are {found.k}"
    )
    if found.k < k and not accepted:
        hint = "use another key or no pseudonyms, or accept it with --accept-composition"
        raise InfeasibleError(
            "composition.refused", f"{message}, but k = {k}; {found.rows} people are with fewer.", hint
        )
    warnings.warn(f"{message}.", LinkableReleaseWarning, stacklevel=6)
    return {"linked": found.to_dict()}
