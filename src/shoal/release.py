"""The result: a table that keeps its promises, with the numbers that say so."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import version
from math import floor, isclose, log10
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.dangers import Danger, earlier, warn_of
from shoal.errors import PromiseError, RecipeError
from shoal.measure.bound import Bound, told_bound
from shoal.measure.loss import Loss
from shoal.measure.profile import Profile
from shoal.recipe import Recipe, shareable, shared_digest, to_toml
from shoal.stages import Meanwhile, Progress, stage
from shoal.table import frames
from shoal.table.overwriting import refuse_overwriting, replaces_release
from shoal.table.parts import check_whole
from shoal.table.write import (
    all_or_nothing,
    manifest_path,
    move_into_place,
    report_path,
    sha256,
    temporary,
    write_table,
    write_text,
)
from shoal.verify import Goal, Verdict, verify

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.report.page import Charts

_EARLIER = "danger.earlier"
_VERSIONS = ("shoal", "polars", "numpy", "numba", "duckdb")


@dataclass(frozen=True, repr=False)
class Release:
    """A released table with its guarantees and losses.

    Parameters
    ----------
    frame : polars.DataFrame
        The released rows in canonical order.
    recipe : Recipe
        What was asked for.
    method, reason : str
        The method that ran, and why, when `auto` picked it.
    rows, released, suppressed : int
        Rows in = rows released + rows suppressed.
    classes : int
        Published classes: groups of rows with the same quasi values.
    k : int
        Size of the smallest class; people, where a subject column tells them apart.
    loss, loss_tight : Loss
        Of what was published, and of the classes' own values.
    profile : Profile
        What a report may show of the rows.
    bounding : Meanwhile of Bound or None, optional
        What every release must lose at least, once it is known; None where nobody asked.
    timings : dict of str to float
        Seconds of each stage.
    kind : str
        Of frame that was given: `table` is of the same kind. The frame itself is not kept.
    remarks : tuple of str
        What the method has to say about its run: numbers, no values.
    original : pyarrow.Table or None
        The raw columns, where a release can be verified only beside them.
    further_goals : tuple of Goal
        Every goal besides k, asked and achieved.
    people : pyarrow.Array or None
        The person of each row, where a subject column tells. For the verifier; never written.
    composition : dict, optional
        What this release and earlier ones give away together, as a check of them says.
    dangers : list of Danger
        What is given away although every promise holds. Writing adds what lies beside the file.
    also : tuple of Path
        Manifests of the earlier releases that were checked.
    accepts_composition : bool
        Whether the risk of several tables about the same people is taken.
    reads : mapping of str to Path
        The files that it was made from, by what they are. Nothing is ever written to them.
    kinds : dict of str to dict
        Of each quasi column: its `kind`, and whether that was `found` or stood in the recipe.
    """

    frame: pl.DataFrame
    recipe: Recipe
    method: str
    reason: str
    rows: int
    released: int
    suppressed: int
    classes: int
    k: int
    loss: Loss
    loss_tight: Loss
    profile: Profile
    bounding: Meanwhile[Bound | None] | None = None
    timings: dict[str, float] = field(default_factory=dict)
    kind: str = "polars"
    remarks: tuple[str, ...] = ()
    original: pa.Table | None = None
    further_goals: tuple[Goal, ...] = ()
    people: pa.Array | None = None
    composition: dict[str, Any] | None = None
    dangers: list[Danger] = field(default_factory=list)
    also: tuple[Path, ...] = ()
    accepts_composition: bool = False
    reads: Mapping[str, Path] = field(default_factory=dict)
    kinds: dict[str, dict[str, str | bool]] = field(default_factory=dict)

    @property
    def has_report(self) -> bool:
        """Whether a report can be written: it tells of classes, which boxes of single rows do not make."""
        return self.original is None

    @property
    def bound(self) -> Bound | None:
        """What every release of this table must lose; None where nothing is known about that."""
        return None if self.bounding is None else self.bounding.result()

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Every goal, asked and achieved."""
        asked = self.recipe.privacy.k
        counts = "rows" if self.people is None else "people"
        k = Goal("k-anonymity", None, asked=asked, achieved=self.k, holds=self.k >= asked, counts=counts)
        return (k, *self.further_goals)

    @property
    def table(self) -> Any:
        """The released table, as the kind of frame that was given."""
        return frames.as_kind(self.frame, self.kind)

    def write(
        self,
        path: str | Path | None = None,
        *,
        report: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Path:
        """Write the release and its manifest; verify the file before it gets its name.

        The file appears under its name only after another engine has read it and found every
        promise kept. An earlier release of that name stays in place until then. No file that was
        read is ever replaced.

        Parameters
        ----------
        path : str or Path, optional
            The ending chooses the format. Without it, [output] path of the recipe.
        report : bool, default False
            Also write the HTML report beside it.
        force : bool, default False
            Replace whatever is there; without it, only a release of the same recipe is replaced.
        progress : callable, optional
            Called with the name of a stage and the share of it that is done.
        """
        from shoal.report.page import charts_drawn_meanwhile

        target = Path(path or self.recipe.output.path or "")
        check_whole(target)
        note_earlier(self, target)
        places = [target, manifest_path(target), *([report_path(target)] if report else [])]
        refuse_overwriting(places, self.reads)
        replaces_release(places, places[1], shared_digest(shareable(self.recipe)), force=force)
        with ExitStack() as stack:
            charts = stack.enter_context(charts_drawn_meanwhile(self.profile)) if report else None
            made = [stack.enter_context(temporary(place)) for place in places]
            with stage(self.timings, "write", progress):
                self._write_frame(made[0])
            with stage(self.timings, "verify", progress):
                self.accept(self.verified(made[0]))
            if self.bounding is not None:
                self.bounding.result(progress)
            digest = sha256(made[0])
            manifest = json.dumps(self.manifest(digest), indent=2, ensure_ascii=False)
            write_text(manifest + "\n", made[1])
            if report:
                with stage(self.timings, "report", progress):
                    write_text(self._report_text(target.name, digest, charts), made[2])
            with all_or_nothing(*places):
                for temporary_file, place in zip(made, places, strict=True):
                    move_into_place(temporary_file, place)
        return target

    def report(self, path: str | Path) -> Path:
        """Write the HTML report about this release, one file that needs nothing else."""
        target = Path(path)
        refuse_overwriting([target], self.reads)
        with temporary(target) as file:
            write_text(self._report_text(target.stem, None), file)
            move_into_place(file, target)
        return target

    def _report_text(self, title: str, digest: str | None, charts: Callable[[], Charts] | None = None) -> str:
        """Render the report; losses are rounded as in the manifest."""
        from shoal.cluster.registry import METHODS
        from shoal.report.facts import Facts
        from shoal.report.page import render

        if not self.has_report:
            message = f"There is no report about a release of the method `{self.method}` yet."
            raise RecipeError("recipe.not_available", message, "write the release without a report")
        info = METHODS[self.method]
        options = info.options.model_validate(self.recipe.method.options)
        return render(
            Facts(
                title=title,
                version=version("shoal"),
                rows=self.rows,
                released=self.released,
                suppressed=self.suppressed,
                classes=self.classes,
                k_asked=self.recipe.privacy.k,
                k=self.k,
                goals=[goal.to_dict() for goal in self.goals],
                method=self.method,
                paper=info.paper,
                seed=self.recipe.method.seed,
                options=options.model_dump(),
                loss=all_rounded(self.loss),
                loss_tight=all_rounded(self.loss_tight),
                bound=self.bound,
                profile=self.profile,
                kinds=self.kinds,
                kept=self.recipe.named("keep"),
                recipe=to_toml(shareable(self.recipe)),
                verify_command=f"shoal verify {quote(title)} --recipe RECIPE.toml",
                versions=versions(),
                digest=digest,
                remarks=self.remarks,
                composition=self.composition,
                dangers=told_dangers(self),
                values=self.recipe.output.values,
                bounds=self.recipe.output.bounds,
            ),
            charts() if charts else None,
        )

    def _write_frame(self, path: Path) -> None:
        typed = path.suffix.lower() not in {".csv", ".tsv"}
        frame = self._typed_frame() if typed else self.frame
        write_table(frame, path, spreadsheet_safe=self.recipe.output.spreadsheet_safe)

    def _typed_frame(self) -> pl.DataFrame:
        """Give whole numbers and dates that were read as texts their types, where nothing changes by it."""
        others = self.recipe.named("sensitive", "keep")
        columns = {name: frames.series(self.frame, name) for name in self.frame.columns}
        return pl.DataFrame(
            {name: typed(values) if name in others else values for name, values in columns.items()}
        )

    def verified(self, path: Path) -> Verdict:
        """Let another engine read a file that this release was written to and judge it."""
        return verify(
            path,
            self.recipe,
            rows=self.released,
            manifest=False,
            original=self.original,
            subjects=self.people,
        )

    def accept(self, verdict: Verdict) -> None:
        """Raise unless the verifier found every promise kept and counted what was claimed."""
        broken = [f"{problem.code}: {problem.message}" for problem in verdict.problems]
        for name in ("k", "classes"):
            counted, claimed = getattr(verdict, name), getattr(self, name)
            # Boxes of single rows fit more rows than the k neighbours that they were made for.
            at_least = name == "k" and self.original is not None
            if counted < claimed or (counted > claimed and not at_least):
                broken.append(f"{name} is {counted}, not {claimed} as claimed.")
        if len(verdict.goals) != len(self.goals):
            broken.append(f"{len(verdict.goals)} goals were measured, not {len(self.goals)} as claimed.")
        for counted, claimed in zip(verdict.goals, self.goals, strict=False):
            if not _are_alike(counted, claimed) and self.original is None:
                broken.append(f"{claimed.type} is {counted.achieved}, not {claimed.achieved} as claimed.")
        if broken or not verdict.holds:
            raise PromiseError(
                "promise.broken",
                f"The release does not keep its promises and was deleted. {' '.join(broken)}",
                "this is a fault of shoal: please report it with the recipe, not the data",
            )

    def manifest(self, digest: str) -> dict[str, Any]:
        """Return what may be published beside the release.

        Losses depend on the raw table's ranges, so they are rounded: at full precision they would
        be a digest against which guesses about a cell could be tested.
        """
        shared = shareable(self.recipe)
        return {
            "release": {"sha256": digest, "rows": self.released, "classes": self.classes},
            "recipe": {"sha256": shared_digest(shared), **shared},
            "method": {"name": self.method, "seed": self.recipe.method.seed},
            "suppressed": self.suppressed,
            "kinds": self.kinds,
            "goals": [goal.to_dict() for goal in self.goals],
            "loss": all_rounded(self.loss),
            **told_bound(self.bound),
            **({} if self.composition is None else {"composition": self.composition}),
            "dangers": told_dangers(self),
            "versions": versions(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers that `shoal anonymize --json` prints."""
        return {
            "method": self.method,
            "reason": self.reason,
            "remarks": list(self.remarks),
            "seed": self.recipe.method.seed,
            **told_numbers(self),
            "composition": self.composition,
        }

    def __repr__(self) -> str:
        held = ", ".join(f"{goal.type} {goal.achieved} (asked {goal.asked})" for goal in self.goals)
        return (
            f"Release({self.released} rows in {self.classes} classes, {self.suppressed} suppressed; "
            f"{held}; method {self.method}, GCP {self.loss_tight.gcp:.3g})"
        )

    def _repr_html_(self) -> str:
        """Show guarantees in a notebook, never cells."""
        facts = {
            "rows": f"{self.released:,} released, {self.suppressed:,} suppressed",
            "classes": f"{self.classes:,}",
            **{goal.type: f"{goal.achieved} (asked {goal.asked})" for goal in self.goals},
            "method": f"{self.method}, seed {self.recipe.method.seed}",
            "information loss (GCP)": f"{self.loss_tight.gcp:.1%}",
            "columns": ", ".join(self.frame.columns),
        }
        rows = "".join(
            f'<tr style="text-align: left"><th>{escape(name)}</th><td>{escape(fact)}</td></tr>'
            for name, fact in facts.items()
        )
        return f"<table><caption>shoal release</caption>{rows}</table>"


def told_numbers(release: Any) -> dict[str, Any]:
    """Return the numbers of `shoal anonymize --json` that every kind of release has."""
    return {
        "rows": release.rows,
        "released": release.released,
        "suppressed": release.suppressed,
        "classes": release.classes,
        "seconds": round(sum(release.timings.values()), 4),
        "k": release.k,
        "kinds": release.kinds,
        "goals": [goal.to_dict() for goal in release.goals],
        "loss": release.loss.to_dict(),
        "loss_tight": release.loss_tight.to_dict(),
        **told_bound(release.bound),
        "dangers": [danger.to_dict() for danger in release.dangers],
        "timings": {stage: round(seconds, 4) for stage, seconds in release.timings.items()},
    }


def told_dangers(release: Any) -> list[dict[str, Any]]:
    """Return the dangers of a release itself, for its manifest and report.

    What lies in the folder is not among them: the same release has the same manifest wherever it is.
    """
    return [danger.to_dict() for danger in release.dangers if danger.code != _EARLIER]


def note_earlier(release: Any, target: Path) -> None:
    """Add, and warn of, earlier releases beside the file that are not among those that were checked."""
    extends = getattr(release, "extends", None)
    found = earlier(
        target, release.recipe, release.also, extends=extends, accepted=release.accepts_composition
    )
    release.dangers[:] = [*(danger for danger in release.dangers if danger.code != _EARLIER), *found]
    warn_of(found)


def _are_alike(counted: Goal, claimed: Goal) -> bool:
    """Tell whether two engines found the same, but for the last digits of a float."""
    if counted.achieved is None or claimed.achieved is None:
        return counted.achieved is claimed.achieved
    return isclose(counted.achieved, claimed.achieved, rel_tol=1e-9, abs_tol=1e-9)


def typed(values: pl.Series) -> pl.Series:
    """Return a text column as numbers or dates if every text is the canonical one; else as it is."""
    if values.dtype != pl.String:
        return values
    candidates = [values.cast(pl.Int64, strict=False), values.str.to_date("%Y-%m-%d", strict=False)]
    for typed in candidates:
        if typed.null_count() == values.null_count() and (typed.cast(pl.String) == values).all():
            return typed
    return values


def versions() -> dict[str, str]:
    """Return the versions that had a part in a release."""
    return {name: version(name) for name in _VERSIONS} | {"python": platform.python_version()}


def all_rounded(loss: Loss) -> dict[str, float | int | None]:
    """Round every loss to three digits: at full precision it is a digest of the raw table."""
    return {name: _rounded(value) for name, value in loss.to_dict().items()}


def _rounded(value: float | int | None) -> float | int | None:
    """Round to three significant digits."""
    if not value:
        return value
    digits = 2 - floor(log10(abs(value)))
    return round(value, digits)
