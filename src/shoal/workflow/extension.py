"""An earlier release with new rows added, and the check that the new rows keep every promise alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import pyarrow as pa

from shoal.bound.result import NO_BOUND
from shoal.errors import PromiseError
from shoal.recipe import Recipe, Shape
from shoal.release.manifest import Digest
from shoal.release.release import Release
from shoal.verifier import promised_views, verify_table

_UNKNOWN = {"suppressed", "loss", "dangers", *NO_BOUND}  # of the earlier rows, and so of all


@dataclass(frozen=True, repr=False, kw_only=True)
class Extension(Release):
    """An earlier release with new rows added: a release like any other, and what became of the new rows.

    `rows`, `released` and `suppressed` are as in any release: `released` counts the rows of the
    whole table, earlier and new; `suppressed` counts the new rows that lack a quasi value and are
    left out because the recipe says so. What the earlier release left out is unknown and not
    counted. Rows that are held back are in none of these.

    The loss of the earlier rows cannot be computed without their raw values, so `loss` and
    `loss_tight` have only `dm` and `c_avg`, for the rows released; everything else is None.
    `profile` is empty, and there is no report.

    Parameters
    ----------
    earlier : int
        Rows of the earlier release. All of them are in this one, unchanged.
    added : int
        New rows released: `released` = `earlier` + `added`.
    joined : int
        How many of them are in a class that the earlier release already has; in several views, in the view
        where these are fewest.
    new_classes : int
        Classes that the earlier release does not have; in several views, those of all views.
    held_back : pandas, Polars or Arrow frame
        The new rows that cannot be released yet, because they are too few or too much alike, as they were
        given. They are raw data: keep them with the raw table, and pass them in again with the next rows.
    added_tables : tuple of tuples of pyarrow.Table and pyarrow.Array or None
        For each view the rows added, and the people of these rows: for the verifier, never written.
    """

    earlier: int
    added: int
    joined: int
    new_classes: int
    held_back: Any
    added_tables: tuple[tuple[pa.Table, pa.Array | None], ...] = ()

    def manifest(self, *digests: Digest) -> dict[str, Any]:
        """Return what may be published with the release: no losses, and not how many rows are held back."""
        known = super().manifest(*digests)
        digests_then = (
            {"files": dict(self.extends)} if isinstance(self.extends, Mapping) else {"sha256": self.extends}
        )
        views = [{key: view[key] for key in view if key not in _UNKNOWN} for view in known.get("views", [])]
        return {
            "extends": {**digests_then, "rows": self.earlier},
            **{key: known[key] for key in known if key not in _UNKNOWN},
            **({"views": views} if views else {}),
        }

    def verify(self) -> None:
        """Let another engine recompute every promise: of the whole table, and of the rows added alone."""
        super().verify()
        self.verify_added()

    def verify_added(self) -> None:
        """Raise unless the rows added, which comparing both releases reveals, keep every promise."""
        for at, recipe in enumerate(promised_tables(self.recipe) if self.added else ()):
            table, people = self.added_tables[at]
            verdict = verify_table(table, _unordered(recipe), rows=self.added, subjects=people)
            # Whether a column singles rows out depends on all rows, not on the new ones.
            problems = [problem for problem in verdict.problems if problem.code != "verify.unique"]
            if problems or not all(goal.holds for goal in verdict.goals):
                broken = " ".join(f"{problem.code}: {problem.message}" for problem in problems)
                message = (
                    f"The new rows by themselves do not keep the promises; nothing was released. {broken}"
                )
                raise PromiseError("promise.broken", message, "this is a bug in shoal: please report it")

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        counts = {name: getattr(self, name) for name in ("earlier", "added", "joined", "new_classes")}
        return {**super().to_dict(), **counts, "held_back": len(self.held_back)}

    def __repr__(self) -> str:
        held = ", ".join(f"{goal.type} {goal.achieved} (asked {goal.asked})" for goal in self.goals)
        return (
            f"Extension({self.released} rows in {self.classes} classes: {self.earlier} earlier, "
            f"{self.added} added; {len(self.held_back)} held back; {held})"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def promised_tables(recipe: Recipe) -> list[Recipe]:
    """Return what is promised for each table, as the verifier sees it."""
    return promised_views(recipe) if recipe.shape is Shape.VIEWS else [recipe]


def _unordered(recipe: Recipe) -> Recipe:
    """Return a recipe that asks for no order of its rows: they are not written by themselves."""
    return recipe.model_copy(update={"output": recipe.output.model_copy(update={"order": "sorted"})})
