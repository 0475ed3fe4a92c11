"""The result: tables that keep their promises, with the numbers that show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.bound.result import Bound, bound_fields
from shoal.dangers import Danger
from shoal.errors import RecipeError
from shoal.measure.loss import Loss
from shoal.recipe import Address, Recipe, Shape, located
from shoal.release.acceptance import accept
from shoal.release.distributed import Distributed
from shoal.release.ledger import Ledger
from shoal.release.manifest import Digest, manifest
from shoal.release.parts import Numbers, Part, Tables
from shoal.release.risk import distributed_risk, released_risk
from shoal.release.writing import write_release, write_reports
from shoal.risks.report import RiskReport
from shoal.stages import Progress, Tick
from shoal.table import frames
from shoal.table.coding import code_ends
from shoal.table.encode import encode
from shoal.table.given import table_of
from shoal.utility.measured import Utility, measure_utility
from shoal.verifier import (
    MeasuredGoal,
    Verdict,
    promised_views,
    verify,
    verify_part_files,
    verify_part_tables,
    verify_table,
)


@dataclass(frozen=True, repr=False)
class Release:
    """Released tables with their guarantees and losses: one table, Anatomy's two, or several views.

    Parameters
    ----------
    parts : tuple of Part
        The tables.
    recipe : Recipe
        What was asked for.
    numbers : Numbers
        The guarantees and losses of all tables together.
    rows : int
        Rows of the raw table.
    method, reason : str
        The method that ran, and why `auto` picked it if it did.
    seed : int or None
        The seed that was given; None when Anatomy drew its groups with the system's own randomness.
    timings : dict of str to float
        Seconds of each stage.
    kind : str
        The kind of frame that was given: `table` is of the same kind. The frame itself is not kept.
    remarks : tuple of str
        Remarks about the run: numbers, no values.
    composition : dict, optional
        The result of the check together with other tables about the same people; None without a check.
    dangers : list of Danger
        What is revealed although every promise holds.
    also : tuple of Path
        Manifests of the earlier releases that were checked.
    accepts_composition : bool
        Whether the risk of several tables about the same people is accepted.
    reads : mapping of str to Path
        The files that it was made from, by description. Nothing is ever written to them.
    kinds : dict of str to dict
        For each quasi column: its `kind`, and whether it was `found` or given in the recipe.
    extends : str or mapping of str to str, optional
        The digest of the earlier release that this one extends; those of its views by title.
    extended : Path, optional
        Its file.
    ledger : Ledger, optional
        The ledger that this release was checked against, as it was then; `write` enters the release into it.
    protection : tuple of dict
        What was done to single columns, and how far it moved them.
    """

    parts: tuple[Part, ...]
    recipe: Recipe
    numbers: Numbers
    rows: int
    method: str
    reason: str = ""
    seed: int | None = None
    timings: dict[str, float] = field(default_factory=dict)
    kind: str = "polars"
    remarks: tuple[str, ...] = ()
    composition: dict[str, Any] | None = None
    dangers: list[Danger] = field(default_factory=list)
    also: tuple[Path, ...] = ()
    accepts_composition: bool = False
    reads: Mapping[str, Path] = field(default_factory=dict)
    kinds: dict[str, dict[str, str | bool]] = field(default_factory=dict)

    extends: str | Mapping[str, str] | None = None
    extended: Path | None = None
    ledger: Ledger | None = None
    protection: tuple[dict[str, Any], ...] = ()

    @property
    def shape(self) -> Shape:
        """What is published."""
        return self.recipe.shape

    @property
    def frame(self) -> pl.DataFrame:
        """The released rows of the only table, as a Polars frame."""
        if len(self.parts) > 1:
            raise AttributeError(f"This release has {len(self.parts)} tables: use `tables`.")
        frame = self.parts[0].frame
        if isinstance(frame, Distributed):
            raise AttributeError("Spark holds this release: use `table`, or write it.")
        return frame

    @property
    def table(self) -> Any:
        """The released table, as the kind of frame that was given."""
        return self.tables[0] if len(self.parts) == 1 else frames.as_kind(self.frame, self.kind)

    @property
    def tables(self) -> Tables:
        """All released tables, as the kind of frame that was given."""
        return Tables(
            part.frame.frame()
            if isinstance(part.frame, Distributed)
            else frames.as_kind(part.frame, self.kind)
            for part in self.parts
        )

    @property
    def labels(self) -> npt.NDArray[np.int32]:
        """The class of each row of the raw table, in its order; -1 for a suppressed row.

        They are for the owner of the raw table and are never written: anyone who has them can undo the
        release.
        """
        if isinstance(self.parts[0].frame, Distributed):
            raise AttributeError("Spark holds this release: its rows have no labels.")
        labels = self.parts[0].labels
        if labels is None or len(self.parts) > 1:
            raise AttributeError(f"This release has no labels: it has {self.shape.value}.")
        return labels

    @property
    def released(self) -> int:
        """Rows released; for several views, those of the view with the fewest."""
        return self.numbers.released

    @property
    def suppressed(self) -> int:
        """Rows left out: rows in = rows released + rows suppressed."""
        return self.numbers.suppressed

    @property
    def classes(self) -> int:
        """The number of classes, or of groups where there are no classes."""
        return self.numbers.classes

    @property
    def k(self) -> int | None:
        """Size of the smallest class; None where k is not promised."""
        return self.numbers.k

    @property
    def goals(self) -> tuple[MeasuredGoal, ...]:
        """Every goal, asked and achieved."""
        return self.numbers.goals

    @property
    def loss(self) -> Loss:
        """The loss of the published values."""
        return self.numbers.loss

    @property
    def loss_tight(self) -> Loss:
        """The loss of the classes' own values."""
        return self.numbers.loss_tight

    @property
    def risk(self) -> RiskReport:
        """The risk of re-identification in the released table: rows with equal labels form a class.

        Where Spark holds the rows, it is what follows from the sizes of the classes; the rest is an error.
        """
        if isinstance(self.parts[0].frame, Distributed):
            return distributed_risk(self.parts[0], self.parts[0].frame)
        if len(self.parts) > 1 or not self.shape.has_classes:
            message = f"This release has {self.shape.value}, no classes of one table"
            raise AttributeError(f"{message}: use `shoal.risk` on one of its `tables`.")
        (part,) = self.parts
        return released_risk(self.frame, part.recipe, part.people, self.kind)

    @property
    def bound(self) -> Bound | None:
        """The lower bound of the loss of any release of these rows; None where it is unknown."""
        return self.numbers.bound

    def write(
        self,
        path: str | Path | None = None,
        *,
        table: str | None = None,
        report: bool = False,
        analysis: str | Sequence[str] = (),
        force: bool = False,
        sign: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Path:
        """Write the release and its manifest; verify every file before any gets its name.

        The files appear under their names, all or none, only after another engine has read them and found
        that every promise holds. An earlier release with that name stays in place until then. No file that
        was read is ever replaced.

        Anatomy's tables are X.quasi.csv and X.sensitive.csv, several views are X.1.csv, X.2.csv and so on.

        Parameters
        ----------
        path : str or Path, optional
            The ending chooses the format. Without it, [output] path of the recipe. The address of a
            PostgreSQL database, `postgresql://...`, needs `table`; the files go to the working directory.
        table : str, optional
            The table of a database: `table` or `schema.table`. Without it, [output] table of the recipe.
        report : bool, default False
            Also write the HTML report: X.csv.report.html, or one for each view.
        analysis : str or sequence of str, optional
            Formulas such as `"dead ~ age + bmi"` for the report, as in `utility`.
        force : bool, default False
            Replace whatever is there; without it, only a release of the same recipe is replaced.
        sign : str or Path, optional
            A private key (Ed25519, PEM) to sign the manifest with: X.csv.manifest.json.sig.
        progress : callable, optional
            Called with the name of a stage and the fraction that is done.
        """
        formulas = _formulas(analysis)
        key = None if sign is None else Path(sign)
        if isinstance(self.parts[0].frame, Distributed):
            from shoal.release.folder import write_folder

            if formulas:
                message = "Analyses cannot be compared for a table that Spark holds."
                raise RecipeError("recipe.not_available", message, "leave the analysis out")
            return write_folder(
                self, self.parts[0].frame, path, report=report, force=force, sign=key, progress=progress
            )
        target = located(path or self.recipe.output.path or "")
        if isinstance(target, Address):
            from shoal.release.database import write_database

            return write_database(
                self,
                target,
                table or self.recipe.output.table,
                report=report,
                analyses=formulas,
                force=force,
                sign=key,
                progress=progress,
            )
        return write_release(
            self, path, report=report, analyses=formulas, force=force, sign=key, progress=progress
        )

    def report(self, path: str | Path, *, analysis: str | Sequence[str] = ()) -> Path:
        """Write the HTML report about this release as one self-contained file.

        Several views have one report each: X.1.html, X.2.html and so on.

        Parameters
        ----------
        path : str or Path
        analysis : str or sequence of str, optional
            Formulas such as `"dead ~ age + bmi"`, whose results are compared, as in `utility`.
        """
        write_reports(self, Path(path), _formulas(analysis))
        return Path(path)

    def utility(self, original: Any = None, *, analysis: str | Sequence[str] = ()) -> Utility:
        """Compare what can be computed from the release with the same computed from the raw table.

        Parameters
        ----------
        original : pandas, Polars or Arrow frame, optional
            The raw table, in any order; without it, the input file of the recipe.
        analysis : str or sequence of str, optional
            Formulas such as `"dead ~ age + bmi"`. They need scikit-learn and statsmodels, which the extra
            `shoal[analysis]` installs.

        Returns
        -------
        Utility
            For the owner of the raw table: `to_json()` gives plain values with four digits.
        """
        if len(self.parts) > 1 or isinstance(self.parts[0].frame, Distributed):
            held = "Spark holds this release" if len(self.parts) == 1 else f"It has {self.shape.value}"
            message = f"The utility of this release cannot be measured. {held}."
            raise RecipeError("recipe.not_available", message, "measure a release in one table in memory")
        table = table_of(original, self.recipe, code=False)
        encoded = encode(code_ends(table, self.recipe), self.recipe)
        return measure_utility(table, encoded, self.frame, self.recipe, _formulas(analysis))

    def close(self) -> None:
        """Let Spark forget the rows that it holds; `table` and `write` would make them again."""
        for part in self.parts:
            if isinstance(part.frame, Distributed):
                part.frame.run.close()

    def verify(self) -> None:
        """Let another engine recompute every promise from the tables in memory; raise if one is broken."""
        tables = [part.frame for part in self.parts]
        if isinstance(tables[0], Distributed):
            from shoal.release.folder import verify_rows

            verify_rows(self, tables[0])
            return
        arrow = [table.to_arrow() for table in tables if not isinstance(table, Distributed)]
        self._accept(arrow, verify_table, verify_part_tables)

    def verify_files(self, files: Sequence[Path], tick: Tick) -> None:
        """Let another engine recompute every promise from files; raise if one is broken."""
        self._accept(files, partial(verify, manifest=False), verify_part_files, tick)

    def _accept(
        self,
        tables: Sequence[Any],
        verify_one: Callable[..., Verdict],
        verify_two: Callable[..., Verdict],
        tick: Tick | None = None,
    ) -> None:
        """Compare the verdicts about tables with the numbers."""
        if self.shape is Shape.TWO_TABLES:
            accept(verify_two(*tables, self.recipe, rows=self.released), self.numbers, self.shape)
            return
        promised = promised_views(self.recipe) if self.shape is Shape.VIEWS else [self.recipe]
        for at, (part, recipe) in enumerate(zip(self.parts, promised, strict=True)):
            known = {"rows": part.numbers.released, "original": part.original, "subjects": part.people}
            accept(verify_one(tables[at], recipe, **known), part.numbers, self.shape, part.title)
            if tick is not None:
                tick((at + 1) / len(tables))

    def manifest(self, *digests: Digest) -> dict[str, Any]:
        """Return what may be published with the release; `digests` are those of its tables."""
        return manifest(self, digests)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers that `shoal anonymize --json` prints."""
        views = {"views_by": self.recipe.output.views_by, "views": [_view(part) for part in self.parts]}
        bound = bound_fields(self.bound, *self.numbers.ils)  # first: the wait for it is part of `timings`
        return {
            "method": self.method,
            "reason": self.reason,
            "remarks": list(self.remarks),
            "seed": self.seed,
            "rows": self.rows,
            **_counts(self.numbers),
            "seconds": round(sum(self.timings.values()), 4),
            "kinds": self.kinds,
            **_measured(self.numbers),
            **bound,
            "dangers": [danger.to_dict() for danger in self.dangers],
            "protection": list(self.protection),
            "timings": {stage: round(seconds, 4) for stage, seconds in self.timings.items()},
            **(views if self.shape is Shape.VIEWS else {}),
            **({} if self.shape is Shape.TWO_TABLES else {"composition": self.composition}),
        }

    def __repr__(self) -> str:
        held = ", ".join(f"{goal.type} {goal.achieved} (asked {goal.asked})" for goal in self.goals)
        views = f"{len(self.parts)} views: " if self.shape is Shape.VIEWS else ""
        gcp = "" if self.loss_tight.gcp is None else f", GCP {self.loss_tight.gcp:.3g}"
        return (
            f"Release({views}{self.released} rows in {self.classes} {self.shape.groups}, {self.suppressed} "
            f"suppressed; {held}; method {self.method}{gcp})"
        )

    def _repr_html_(self) -> str:
        """Show guarantees in a notebook, never cells."""
        facts = {
            "rows": f"{self.released:,} released, {self.suppressed:,} suppressed",
            self.shape.groups: f"{self.classes:,}",
            **{goal.type: f"{goal.achieved} (asked {goal.asked})" for goal in self.goals},
            "method": f"{self.method}, seed {self.seed}",
        }
        if self.loss_tight.gcp is not None:
            facts["information loss (GCP)"] = f"{self.loss_tight.gcp:.1%}"
        for part in self.parts:
            facts[f"columns of {part.title}" if part.title else "columns"] = ", ".join(part.frame.columns)
        rows = "".join(
            f'<tr style="text-align: left"><th>{escape(name)}</th><td>{escape(fact)}</td></tr>'
            for name, fact in facts.items()
        )
        return f"<table><caption>shoal release</caption>{rows}</table>"


def _formulas(analysis: str | Sequence[str]) -> list[str]:
    return [analysis] if isinstance(analysis, str) else list(analysis)


def _view(part: Part) -> dict[str, Any]:
    """Return the numbers of a view."""
    return {
        "columns": part.frame.columns,
        **_counts(part.numbers),
        **_measured(part.numbers),
        **bound_fields(part.numbers.bound, *part.numbers.ils),
    }


def _counts(numbers: Numbers) -> dict[str, Any]:
    return {name: getattr(numbers, name) for name in ("released", "suppressed", "classes", "k")}


def _measured(numbers: Numbers) -> dict[str, Any]:
    return {
        "goals": [goal.to_dict() for goal in numbers.goals],
        "loss": numbers.loss.to_dict(),
        "loss_tight": numbers.loss_tight.to_dict(),
    }
