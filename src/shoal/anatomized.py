"""The result of Anatomy: two tables that keep their promises, with the numbers that say so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from shoal.dangers import Danger
from shoal.errors import PromiseError, RecipeError
from shoal.measure.loss import Loss
from shoal.recipe import Recipe, shareable, shared_digest
from shoal.recode.anatomy import Parts
from shoal.release import note_earlier, told_dangers, told_numbers, typed, versions
from shoal.stages import Progress, stage
from shoal.table import frames
from shoal.table.overwriting import refuse_overwriting, replaces_release
from shoal.table.parts import check_parts, part_paths
from shoal.table.write import (
    all_or_nothing,
    manifest_path,
    move_into_place,
    sha256,
    temporary,
    write_table,
    write_text,
)
from shoal.verify import Goal, Verdict, verify_part_files, verify_part_tables

# Quasi values are published as they are. What is lost is their link to the sensitive ones, and no
# measure of generalization says how much that is: 0 would look like the best of all releases.
NO_LOSS = Loss(il=None, gcp=None, distortion_ratio=None, dm=None, c_avg=None, cm=None)


class Tables(NamedTuple):
    """The two tables, as the kind of frame that was given."""

    quasi: Any
    sensitive: Any


@dataclass(frozen=True, repr=False)
class Anatomized:
    """Two released tables, joined by a group, with their guarantee.

    Parameters
    ----------
    parts : Parts
        Both tables in canonical order, as Polars frames.
    recipe : Recipe
        What was asked for.
    rows, released, suppressed : int
        Rows in = rows released + rows suppressed.
    seed : int or None
        The seed that was given; None when the groups were drawn from the system's own randomness.
    timings : dict of str to float
        Seconds of each stage.
    kind : str
        Of frame that was given: `tables` are of the same kind.
    dangers : list of Danger
        What is given away although the promise holds.
    accepts_composition : bool
        Whether the risk of several tables about the same people is taken.
    reads : mapping of str to Path
        The files that it was made from, by what they are. Nothing is ever written to them.
    kinds : dict of str to dict
        Of each quasi column: its `kind`, and whether that was `found` or stood in the recipe.
    """

    parts: Parts
    recipe: Recipe
    rows: int
    released: int
    suppressed: int
    seed: int | None = None
    timings: dict[str, float] = field(default_factory=dict)
    kind: str = "polars"
    dangers: list[Danger] = field(default_factory=list)
    accepts_composition: bool = False
    reads: Mapping[str, Path] = field(default_factory=dict)
    kinds: dict[str, dict[str, str | bool]] = field(default_factory=dict)

    method = "anatomy"
    also = ()  # what two tables and others give away together is not checked
    k = None  # rows are not published alike
    has_report = False  # the report tells of classes and generalized values, and there are none
    loss = loss_tight = NO_LOSS
    bound = None  # of what boxes lose, and there are none

    @property
    def classes(self) -> int:
        """The number of groups."""
        return self.parts.groups

    @property
    def goals(self) -> tuple[Goal, ...]:
        """What every group is promised: at least l values, none with a share above 1 / l."""
        options: Any = self.recipe.options
        achieved = self.parts.diversity
        (column,) = self.recipe.named("sensitive")
        return (Goal("l-diversity", column, options.l, achieved, achieved >= options.l),)

    @property
    def tables(self) -> Tables:
        """The released tables, `quasi` and `sensitive`, as the kind of frame that was given."""
        return Tables(
            frames.as_kind(self.parts.quasi, self.kind), frames.as_kind(self.parts.sensitive, self.kind)
        )

    def write(
        self,
        path: str | Path | None = None,
        *,
        report: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Path:
        """Write both tables and their manifest; verify the files before they get their names.

        For X.csv the files are X.quasi.csv, X.sensitive.csv and X.csv.manifest.json: all or none.

        Parameters
        ----------
        path : str or Path, optional
            The name that the files share; the ending chooses the format. Without it, [output] path.
        report : bool, default False
            There is no report about this method yet.
        force : bool, default False
            Replace whatever is there; without it, only a release of the same recipe is replaced.
        progress : callable, optional
            Called with the name of a stage and the share of it that is done.
        """
        if report:
            message = "There is no report about a release of the method `anatomy` yet."
            raise RecipeError("recipe.not_available", message, "write the release without a report")
        target = Path(path or self.recipe.output.path or "")
        check_parts(target)
        note_earlier(self, target)
        places = [*part_paths(target), manifest_path(target)]
        refuse_overwriting(places, self.reads)
        replaces_release(places, places[-1], shared_digest(shareable(self.recipe)), force=force)
        with ExitStack() as stack:
            made = [stack.enter_context(temporary(place)) for place in places]
            with stage(self.timings, "write", progress):
                self._write_part(self.parts.quasi, made[0])
                self._write_part(self.parts.sensitive, made[1])
            with stage(self.timings, "verify", progress):
                self.accept(verify_part_files(made[0], made[1], self.recipe, rows=self.released))
            manifest = self.manifest(sha256(made[0]), sha256(made[1]))
            write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", made[2])
            with all_or_nothing(*places):
                for temporary_file, place in zip(made, places, strict=True):
                    move_into_place(temporary_file, place)
        return target

    def _write_part(self, table: pl.DataFrame, path: Path) -> None:
        if path.suffix.lower() not in {".csv", ".tsv"}:
            others = self.recipe.named("sensitive", "keep")
            columns = {name: frames.series(table, name) for name in table.columns}
            table = pl.DataFrame({n: typed(c) if n in others else c for n, c in columns.items()})
        write_table(table, path, spreadsheet_safe=self.recipe.output.spreadsheet_safe)

    def check(self) -> None:
        """Verify the tables in memory."""
        quasi, sensitive = self.parts.quasi.to_arrow(), self.parts.sensitive.to_arrow()
        self.accept(verify_part_tables(quasi, sensitive, self.recipe, rows=self.released))

    def accept(self, verdict: Verdict) -> None:
        """Raise unless the verifier found every promise kept and counted what was claimed."""
        broken = [f"{problem.code}: {problem.message}" for problem in verdict.problems]
        if verdict.classes != self.classes:
            broken.append(f"There are {verdict.classes} groups, not {self.classes} as claimed.")
        if verdict.goals != self.goals:
            broken.append("The goals are not met as claimed.")
        if broken or not verdict.holds:
            raise PromiseError(
                "promise.broken",
                f"The release does not keep its promises and was deleted. {' '.join(broken)}",
                "this is a fault of shoal: please report it with the recipe, not the data",
            )

    def manifest(self, quasi_digest: str, sensitive_digest: str) -> dict[str, Any]:
        """Return what may be published beside the release: no seed, from which the groups follow."""
        shared = shareable(self.recipe)
        return {
            "release": {
                "files": {"quasi": quasi_digest, "sensitive": sensitive_digest},
                "rows": self.released,
                "classes": self.classes,
            },
            "recipe": {"sha256": shared_digest(shared), **shared},
            "method": {"name": self.method, "seed": None},
            "suppressed": self.suppressed,
            "kinds": self.kinds,
            "goals": [goal.to_dict() for goal in self.goals],
            "loss": self.loss.to_dict(),
            "dangers": told_dangers(self),
            "versions": versions(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers that `shoal anonymize --json` prints."""
        return {
            "method": self.method,
            "reason": "",
            "remarks": [],
            "seed": self.seed,
            **told_numbers(self),
        }

    def __repr__(self) -> str:
        held = ", ".join(f"{goal.type} {goal.achieved} (asked {goal.asked})" for goal in self.goals)
        return (
            f"Anatomized({self.released} rows in {self.classes} groups, {self.suppressed} suppressed; {held})"
        )

    def _repr_html_(self) -> str:
        """Show the guarantee in a notebook, never cells."""
        return f"<p>{escape(repr(self))}</p>"
