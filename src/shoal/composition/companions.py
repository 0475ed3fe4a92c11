"""What a release reveals together with its own views and with what was published before."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from shoal.composition.check import Composition, check
from shoal.composition.earlier import earlier_recipe, linkable_earlier, load_earlier
from shoal.composition.linked import Linkable, linked, report_linked
from shoal.composition.together import JointGoal
from shoal.composition.view import View, refuse_unavailable
from shoal.errors import PerturbedAgainWarning, RecipeError
from shoal.privacy.goalset import holds_on
from shoal.privacy.value_range import holds_for_texts
from shoal.recipe import Column, Recipe, is_induced
from shoal.recipe.goals import Goal, ValueRange
from shoal.recode.publish import Published
from shoal.table import frames
from shoal.table.columns import Encoded
from shoal.table.encode import encode


@dataclass(frozen=True)
class Companions:
    """Tables about the same people: the views of this release, and earlier releases.

    Parameters
    ----------
    recipe : Recipe
        What is asked for now.
    also : tuple of Path
        Manifests of earlier releases.
    accepted : bool
        Whether the risk is accepted: then the check is made and reported, but refuses nothing.
    """

    recipe: Recipe
    also: tuple[Path, ...] = ()
    accepted: bool = False
    views: list[View] = field(default_factory=list)
    own: list[Linkable] = field(default_factory=list)

    @classmethod
    def of(cls, recipe: Recipe, also: Iterable[str | Path], *, accepted: bool) -> Companions:
        """Return the companions of a release; refuse at once what could not be checked."""
        companions = cls(recipe, tuple(Path(path) for path in also), accepted)
        if companions.are_several and not accepted:
            refuse_unavailable(recipe)
        return companions

    @property
    def are_several(self) -> bool:
        """Whether there is anything to check."""
        return bool(self.also) or len(self.recipe.views) > 1

    @property
    def are_projections(self) -> bool:
        """Whether all views show one clustering and nothing else was published."""
        return self.recipe.output.views_by == "projection" and not self.also

    def known_before(self) -> set[str]:
        """Name the quasi columns of the earlier releases."""
        return {name for path in self.also for name in earlier_recipe(path).quasi}

    def note(self, table: pl.DataFrame, encoded: Encoded, published: Published, recipe: Recipe) -> None:
        """Record what one view publishes."""
        if self.are_several:
            shown = recipe.unchanged
            labels, classes, names = published.labels, published.classes, published.names
            self.views.append(View.ours(table, encoded, labels, classes, names, shown))
            inside = labels >= 0
            for name in recipe.pseudonyms:
                of_row = frames.series(table, name).gather(encoded.order[inside])
                self.own.append(Linkable(of_row, pl.Series(labels[inside])))

    def _known(self, table: pl.DataFrame) -> Recipe:
        """Return a recipe whose quasi columns are all those that an attacker is assumed to know.

        These are the quasi columns of this and of the earlier releases, if the table has them: what an
        earlier release assumed to be known is still known, even if it is left out now.
        """
        columns = dict(self.recipe.columns)
        for path in self.also:
            then = earlier_recipe(path)
            for name in then.quasi:
                now = columns.get(name)
                if name in table.columns and (now is None or now.role != "quasi"):
                    columns[name] = _as_quasi(then.columns[name], now)
        return self.recipe.model_copy(update={"columns": columns})

    def check(self, table: pl.DataFrame) -> dict[str, Any] | None:
        """Check all tables together; raise when they reveal too much and that has not been accepted.

        Returns what may be published of the result, or None when there is one table.
        """
        if not self.are_several:
            return None
        known = self._known(table)
        try:
            refuse_unavailable(self.recipe)
            self._refuse_other_codes()
            earlier = [view for path in self.also for view in load_earlier(path, known)]
        except RecipeError:
            if not self.accepted:
                raise
            return None  # accepted unchecked
        pseudonyms = [*self.own, *(each for path in self.also for each in linkable_earlier(path))]
        k = self.recipe.privacy.k
        by_pseudonym = report_linked(linked(pseudonyms, k), k, accepted=self.accepted)
        again = self._perturbed_again()
        # What remains possible in projections need not be a union of classes, but reveals no more than those.
        goals = [] if self.are_projections else _goals(self.recipe.privacy.column_goals)
        found = check(encode(table, known), table, [*self.views, *earlier], self.recipe.privacy.k, goals)
        if not self.accepted:
            found.raise_if_refused()
        earlier_rows = _earlier(found, len(earlier))
        return {
            **found.to_dict(),
            **by_pseudonym,
            **({"perturbed": again} if again else {}),
            "earlier": earlier_rows,
            "accepted": self.accepted,
        }

    def _perturbed_again(self) -> list[str]:
        """Warn of columns that several releases have, and that one of them has perturbed."""
        released = [(self.recipe, set(self.recipe.named("sensitive", "keep")))] if self.views else []
        released += [(then, set(then.named("sensitive", "keep"))) for then in map(earlier_recipe, self.also)]
        perturbed = dict.fromkeys(name for recipe, _ in released for name in recipe.perturbed)
        again = [name for name in perturbed if sum(name in names for _, names in released) > 1]
        if again:
            listed = ", ".join(f"`{name}`" for name in again)
            message = (
                f"Several of these releases have {listed}, perturbed in at least one of them: what is known "
                "about a person in one narrows down the value in another, and noise can be averaged."
            )
            warnings.warn(message, PerturbedAgainWarning, stacklevel=5)
        return again

    def _refuse_other_codes(self) -> None:
        """Refuse an earlier release with other codes at the ends: its boxes contain other values."""
        for path in self.also:
            then = earlier_recipe(path)
            other = [
                f"`{name}`"
                for name in then.quasi
                if name in self.recipe.columns
                and _codes(then.columns[name]) != _codes(self.recipe.columns[name])
            ]
            if other:
                message = f"The earlier release {path} has other top or bottom codes of {', '.join(other)}."
                hint = "use the same codes: what both releases reveal together cannot be checked otherwise"
                raise RecipeError("recipe.not_available", message, hint)


def _codes(column: Column) -> tuple[Any, Any]:
    return column.bottom, column.top


def _as_quasi(then: Column, now: Column | None) -> Column:
    """Describe a column as the earlier recipe does, except for what the current one overrides."""
    own = {} if now is None else now.model_dump(exclude_none=True, exclude_unset=True)
    described: dict[str, Any] = {key: own[key] for key in ("kind", "order", "hierarchy") if key in own}
    if is_induced(described.get("hierarchy")):  # not from this table, where it has another role
        del described["hierarchy"]
    omitted = {key: number for key, number in then.omitted.items() if key not in described}
    return then.model_copy(update=described | {"role": "quasi", "omitted": omitted})


def _earlier(found: Composition, number: int) -> list[int]:
    """Return, for each earlier table, how many of our rows are or may be in it, rounded to tens."""
    return [round(count, -1) for count in found.overlap[len(found.overlap) - number :]] if number else []


def _goals(asked: Sequence[Goal]) -> list[JointGoal]:
    """Return the goals that the remaining values must meet: those that compare nothing with the release."""
    return [
        JointGoal(f"{goal.type} of {', '.join(goal.columns)}", goal.columns, _tester(goal))
        for goal in asked
        if not goal.compares
    ]


def _tester(goal: Goal) -> Any:
    def holds(multiset: Mapping[tuple[Any, ...], int]) -> bool:
        if isinstance(goal, ValueRange):
            return holds_for_texts(goal, [text for (text,) in multiset if text is not None])
        return holds_on(goal, [count for value, count in multiset.items() if None not in value])

    return holds
