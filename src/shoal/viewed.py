"""The result of several views: tables that keep their promises, with the numbers that say so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from shoal.dangers import Danger
from shoal.errors import PromiseError
from shoal.measure.bound import NO_BOUND, Bound, told_bound, total_bound
from shoal.measure.loss import Loss
from shoal.recipe import Recipe, shareable, shared_digest
from shoal.release import Release, all_rounded, note_earlier, told_dangers, told_numbers, versions
from shoal.stages import Progress, stage
from shoal.table.overwriting import refuse_overwriting, replaces_release
from shoal.table.parts import check_views, stale_views, view_paths, view_titles
from shoal.table.write import (
    all_or_nothing,
    manifest_path,
    move_into_place,
    report_path,
    sha256,
    temporary,
    write_text,
)
from shoal.verify import Goal, Verdict, promised_views, verify, verify_table, worst_goals


@dataclass(frozen=True, repr=False)
class ViewsRelease:
    """Several released tables about the same people, each with its guarantees and losses.

    Parameters
    ----------
    views : tuple of Release
        One for each view, in the order of the recipe.
    recipe : Recipe
        What was asked for, of all views together.
    rows : int
        Rows of the table; `released` counts those of the view that has fewest, `suppressed` the others.
    timings : dict of str to float
        Seconds of each stage, all views together.
    kind : str
        Of frame that was given: `tables` are of the same kind.
    remarks : tuple of str
        What there is to say about the run: numbers, no values.
    composition : dict, optional
        What somebody who has all views can find out, as a check of them together says; None where
        nobody has checked. Set it before the release is written.
    dangers : list of Danger
        What the views give away although every promise holds.
    reads : mapping of str to Path
        The files that it was made from, by what they are. Nothing is ever written to them.
    """

    views: tuple[Release, ...]
    recipe: Recipe
    rows: int
    timings: dict[str, float] = field(default_factory=dict)
    kind: str = "polars"
    remarks: tuple[str, ...] = ()
    composition: dict[str, Any] | None = None
    dangers: list[Danger] = field(default_factory=list)
    reads: Mapping[str, Path] = field(default_factory=dict)

    has_report = True

    @property
    def also(self) -> tuple[Path, ...]:
        """Manifests of the earlier releases that were checked."""
        return self.views[0].also

    @property
    def accepts_composition(self) -> bool:
        """Whether the risk of several tables about the same people is taken."""
        return self.views[0].accepts_composition

    @property
    def method(self) -> str:
        """The method that ran."""
        return self.views[0].method

    @property
    def reason(self) -> str:
        """Why that method ran, when `auto` picked it."""
        return self.views[0].reason

    @property
    def released(self) -> int:
        """Rows of the view that has fewest."""
        return min(view.released for view in self.views)

    @property
    def suppressed(self) -> int:
        """Rows that this view has left out: no view leaves out more."""
        return self.rows - self.released

    @property
    def classes(self) -> int:
        """Classes of all views together."""
        return sum(view.classes for view in self.views)

    @property
    def k(self) -> int:
        """Size of the smallest class of any view."""
        return min(view.k for view in self.views)

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Every goal, asked and achieved by the view that achieves least."""
        return worst_goals([view.goals for view in self.views])

    @property
    def loss(self) -> Loss:
        """Of what was published: IL summed over the views, GCP as a share of all that they could lose."""
        return self._summed([view.loss.il for view in self.views])

    @property
    def loss_tight(self) -> Loss:
        """Of the classes' own values, summed likewise."""
        return self._summed([view.loss_tight.il for view in self.views])

    @property
    def bound(self) -> Bound | None:
        """What the views must lose at least, together."""
        return total_bound([view.bound for view in self.views])

    @property
    def kinds(self) -> dict[str, dict[str, str | bool]]:
        """Of each quasi column: its `kind`, and whether that was `found` or stood in the recipe."""
        of_views = {name: kind for view in self.views for name, kind in view.kinds.items()}
        return {name: of_views[name] for name in self.recipe.quasi}

    @property
    def tables(self) -> tuple[Any, ...]:
        """The released tables, as the kind of frame that was given."""
        return tuple(view.table for view in self.views)

    def _summed(self, losses: list[float | None]) -> Loss:
        """Sum IL. The other measures compare a table with itself and have no sum over tables."""
        known = [il for il in losses if il is not None]
        il = sum(known) if len(known) == len(losses) else None
        weights = sum(view.recipe.columns[name].weight for view in self.views for name in view.recipe.quasi)
        gcp = None if il is None else il / (self.rows * weights)
        return Loss(il=il, gcp=gcp, distortion_ratio=None, dm=None, c_avg=None, cm=None)

    def write(
        self,
        path: str | Path | None = None,
        *,
        report: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Path:
        """Write all views and their manifest; verify every file before any gets its name.

        For X.csv the files are X.1.csv, X.2.csv and so on, and X.csv.manifest.json: all or none. Views
        of an earlier release of that name that had more of them are removed.

        Parameters
        ----------
        path : str or Path, optional
            The name that the files share; the ending chooses the format. Without it, [output] path.
        report : bool, default False
            Also write an HTML report about each view beside it: X.1.csv.report.html and so on.
        force : bool, default False
            Replace whatever is there; without it, only a release of the same recipe is replaced.
        progress : callable, optional
            Called with the name of a stage and the share of it that is done.
        """
        target = Path(path or self.recipe.output.path or "")
        number = len(self.views)
        check_views(target, number)
        note_earlier(self, target)
        files = view_paths(target, number)
        reports = [report_path(file) for file in files] if report else []
        places = [*files, manifest_path(target), *reports]
        refuse_overwriting([*places, *stale_views(target, number)], self.reads)
        replaces_release(places, places[number], shared_digest(shareable(self.recipe)), force=force)
        with ExitStack() as stack:
            made = [stack.enter_context(temporary(place)) for place in places]
            with stage(self.timings, "write", progress) as tick:
                for at, view in enumerate(self.views):
                    view._write_frame(made[at])
                    tick((at + 1) / number)
            with stage(self.timings, "verify", progress) as tick:
                for at, asked in enumerate(promised_views(self.recipe)):
                    rows, people = self.views[at].released, self.views[at].people
                    self._accept(at, verify(made[at], asked, rows=rows, manifest=False, subjects=people))
                    tick((at + 1) / number)
            digests = [sha256(file) for file in made[:number]]
            text = json.dumps(self.manifest(digests), indent=2, ensure_ascii=False) + "\n"
            write_text(text, made[number])
            if report:
                with stage(self.timings, "report", progress) as tick:
                    for at, view in enumerate(self.views):
                        page = view._report_text(files[at].name, digests[at])
                        write_text(page, made[number + 1 + at])
                        tick((at + 1) / number)
            stale = stale_views(target, number)
            with all_or_nothing(*places, *stale):
                for temporary_file, place in zip(made, places, strict=True):
                    move_into_place(temporary_file, place)
                for file in stale:
                    file.unlink()
        return target

    def check(self) -> None:
        """Verify the tables in memory."""
        for at, asked in enumerate(promised_views(self.recipe)):
            view = self.views[at]
            table, rows, people = view.frame.to_arrow(), view.released, view.people
            self._accept(at, verify_table(table, asked, rows=rows, subjects=people))

    def _accept(self, at: int, verdict: Verdict) -> None:
        """Raise unless the verifier found every promise of a view kept; say which view it is."""
        try:
            self.views[at].accept(verdict)
        except PromiseError as error:
            fault = error.code, f"View {at + 1}: {error.message}", error.hint
        else:
            return
        raise PromiseError(*fault)

    def manifest(self, digests: list[str]) -> dict[str, Any]:
        """Return what may be published beside the views; losses are rounded, as for one table."""
        shared = shareable(self.recipe)
        of_views = [view.manifest(digest) for view, digest in zip(self.views, digests, strict=True)]
        titles = view_titles(len(self.views))
        return {
            "release": {
                "files": dict(zip(titles, digests, strict=True)),
                "rows": self.released,
                "classes": self.classes,
            },
            "recipe": {"sha256": shared_digest(shared), **shared},
            "method": {"name": self.method, "seed": self.recipe.method.seed},
            "suppressed": self.suppressed,
            "kinds": self.kinds,
            "goals": [goal.to_dict() for goal in self.goals],
            "loss": all_rounded(self.loss),
            **told_bound(self.bound),
            "views": [
                {
                    "columns": view.frame.columns,
                    **told["release"],
                    **{key: told[key] for key in ("suppressed", "goals", "loss", *NO_BOUND)},
                }
                for view, told in zip(self.views, of_views, strict=True)
            ],
            "composition": self.composition,
            "dangers": told_dangers(self),
            "versions": versions(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers that `shoal anonymize --json` prints."""
        keys = ("released", "suppressed", "classes", "k", "goals", "loss", "loss_tight", *NO_BOUND)
        of_views = [view.to_dict() for view in self.views]
        return {
            "method": self.method,
            "reason": self.reason,
            "remarks": list(self.remarks),
            "seed": self.recipe.method.seed,
            **told_numbers(self),
            "views_by": self.recipe.output.views_by,
            "views": [
                {"columns": view.frame.columns, **{key: told[key] for key in keys}}
                for view, told in zip(self.views, of_views, strict=True)
            ],
            "composition": self.composition,
        }

    def __repr__(self) -> str:
        held = ", ".join(f"{goal.type} {goal.achieved} (asked {goal.asked})" for goal in self.goals)
        return (
            f"ViewsRelease({len(self.views)} views of {self.rows} rows in {self.classes} classes, at most "
            f"{self.suppressed} suppressed in one; {held}; method {self.method})"
        )

    def _repr_html_(self) -> str:
        """Show the guarantees in a notebook, never cells."""
        views = "".join(view._repr_html_() for view in self.views)
        return f"<p>{escape(repr(self))}</p>{views}"
