"""`shoal anonymize`: from a raw table to a verified release."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.anatomy import anatomy_summary
from shoal.cli.bound import NoBound, bound_lines
from shoal.cli.compiling import compiled_meanwhile
from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting, say
from shoal.cli.dangers import accepted_lines
from shoal.cli.goals import Goals, composition_lines, goal_line
from shoal.cli.kinds import kinds_line
from shoal.cli.roles import Accept, Drop, Identifier, Keep, Quasi, Sensitive, given_roles
from shoal.cli.views import Views, ViewsBy, given_views, views_summary
from shoal.errors import Fault, RecipeError
from shoal.stages import Progress

_LATER = "Not in this version."


def anonymize(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RECIPE_OR_FILE", help="A recipe (.toml), or a table with flags for its columns."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Where the release goes; the ending chooses the format."),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="Smallest class size.")] = None,
    method: Annotated[str | None, typer.Option("--method", help="See `shoal methods`.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Same seed, data and version: same bytes.")
    ] = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    identifier: Identifier = None,
    keep: Keep = None,
    drop: Drop = None,
    accept: Accept = None,
    default: Annotated[
        str | None,
        typer.Option("--default", help="Role of unnamed columns: drop.", rich_help_panel="Columns"),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy", metavar="COLUMN=FILE", help="A column's hierarchy.", rich_help_panel="Columns"
        ),
    ] = None,
    no_bound: NoBound = False,
    subject: Annotated[
        str | None,
        typer.Option(
            "--subject",
            help="The column that tells people apart; k counts people.",
            rich_help_panel="Columns",
        ),
    ] = None,
    goal: Goals = None,
    views: Views = None,
    views_by: ViewsBy = None,
    effort: Annotated[
        str | None, typer.Option("--effort", help="How hard local search tries: quick, normal or high.")
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            "--also", metavar="MANIFEST", help="Check beside an earlier release: its X.csv.manifest.json."
        ),
    ] = None,
    accept_composition: Annotated[
        bool,
        typer.Option("--accept-composition", help="Publish although tables together give away too much."),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace what is at OUTPUT, even if it is no release of this recipe."),
    ] = False,
    record: Annotated[str | None, typer.Option("--record", help=_LATER, hidden=True)] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Anonymize a table and write the release, verified, with its manifest beside it.

    Flags override the values of a recipe. A release of the same recipe is replaced; any other file is
    only with --force, and a file that is read never.

    Examples:  shoal anonymize recipe.toml -o out.csv
    shoal anonymize people.csv --quasi age,zip,sex --sensitive disease --identifier name --k 5 -o out.csv
    """
    with reporting(as_json, quiet):
        _refuse_later({"--record": record})
        from shoal.recipe.goals import from_text

        columns = given_roles(quasi, sensitive, identifier, keep, drop, subject, accept)
        for name, file in _hierarchies(hierarchy or []).items():
            columns.setdefault(name, {})["hierarchy"] = file
        changes = {
            "columns": {**columns, "default": default},
            "privacy": {"k": k, "goal": [from_text(text) for text in goal] if goal else None},
            "method": {"name": method, "seed": seed, "options": {"effort": effort}},
            "output": {"path": None if output is None else str(output), **given_views(views, views_by)},
        }
        result = publish(
            _recipe(source, changes),
            quiet,
            also=also or (),
            accept_composition=accept_composition,
            bound=not no_bound,
            force=force,
        )
        if as_json:
            print_json(result)
        elif not quiet:
            say(summary(result))


def publish(
    recipe: Any,
    quiet: bool,
    *,
    also: Iterable[Path] = (),
    accept_composition: bool = False,
    bound: bool = True,
    force: bool = False,
) -> dict[str, Any]:
    """Run a recipe to its end: the release on disk, verified, and the numbers about it."""
    from shoal.report.engine import engine_ahead

    if recipe.output.path is None:
        raise RecipeError("recipe.invalid", "No output is named.", 'use -o FILE, or [output] path = "..."')
    with engine_ahead():
        # Loaded late, while the engine starts.
        from shoal.release.paths import Places
        from shoal.warm import jobs_left

        also = list(also)
        places = Places.of(recipe, Path(recipe.output.path), report=True)
        replaced = _check(places, recipe, also, force=force)
        several = bool(also) or len(places.tables) > 1
        jobs = jobs_left([recipe.method.name], recipe, bound=bound, several=several)
        with progress_bar(quiet) as progress, compiled_meanwhile(jobs, progress, quiet):
            release = _prepare(recipe, also, accept_composition, bound, progress)
            release.write(report=True, force=force, progress=progress)
    return {**_with_files(release.to_dict(), places), "replaced": replaced}


def _prepare(
    recipe: Any, also: list[Path], accept_composition: bool, bound: bool, progress: Progress | None
) -> Any:
    from shoal.workflow.prepare import prepare  # late: what is compiled or started meanwhile has begun by now

    return prepare(
        None, recipe, also=also, accept_composition=accept_composition, bound=bound, progress=progress
    )


def _with_files(result: dict[str, Any], places: Any) -> dict[str, Any]:
    """Add where everything is."""
    reports = [str(report) for report in places.reports]
    tables = [str(table) for table in places.tables]
    files = {
        "output": str(places.target),
        "manifest": str(places.manifest),
        "report": reports if "views" in result else reports[0],
        **({"files": tables} if len(tables) > 1 else {}),
    }
    if "views" not in result:
        return {**result, **files}
    views = [
        {"output": table, "report": report, **view}
        for table, report, view in zip(tables, reports, result["views"], strict=True)
    ]
    return {**result, **files, "views": views}


def _check(places: Any, recipe: Any, also: Iterable[Path], *, force: bool) -> bool:
    """Refuse an output that may not be written, before any work is done; say whether one is replaced."""
    from shoal.measure.earlier import earlier_files
    from shoal.recipe import shareable, shared_digest
    from shoal.table.overwriting import refuse_overwriting, replaces_release

    places.check()
    refuse_overwriting([*places.all, *places.stale()], recipe.files | earlier_files(also))
    return replaces_release(places.all, places.manifest, shared_digest(shareable(recipe)), force=force)


def summary(result: dict[str, Any]) -> str:
    """Say in a few lines what was released and what holds, and whether it took the place of something."""
    lines = [_summary(result)] + (["  replaced: what lay there before"] if result["replaced"] else [])
    return "\n".join(lines)


def _summary(result: dict[str, Any]) -> str:
    from shoal.recipe import Shape
    from shoal.recipe.options import METHODS

    shape = METHODS[result["method"]].shape
    if shape is Shape.TWO_TABLES:
        return anatomy_summary(result)
    if "views" in result:
        return views_summary(result)
    gcp = result["loss"]["gcp"] if result["loss"]["gcp"] is not None else result["loss_tight"]["gcp"]
    made = f"in {result['classes']:,} classes" if shape.has_classes else "with a box for each"
    how = "verified on the written file" + (" against the original" if shape.needs_original else "")
    lines = [
        f"released {result['released']:,} of {result['rows']:,} rows {made} "
        f"({result['suppressed']:,} suppressed), {result['seconds']:.1f} s",
        f"  method {result['method']}" + (f" ({result['reason']})" if result["reason"] else ""),
    ]
    lines += [f"  {remark}" for remark in result["remarks"]]
    lines += [f"  {kinds_line(result['kinds'])}"]
    lines += [f"  {goal_line(goal)} - {how}" for goal in result["goals"]]
    lines += [f"  {line}" for line in composition_lines(result["composition"])]
    lines += accepted_lines(result)
    lines += [
        f"  information loss: {gcp:.1%} (GCP; 0 % is the raw table, 100 % is nothing left)",
        *(f"  {line}" for line in bound_lines(result)),
        f"  release:  {result['output']}",
        f"  manifest: {result['manifest']}",
        f"  report:   {result['report']}",
    ]
    return "\n".join(lines)


def _recipe(source: Path, changes: dict[str, Any]) -> Any:
    from shoal.recipe import MANIFEST_ENDING, Recipe

    if source.suffix.lower() == ".toml" or source.name.endswith(MANIFEST_ENDING):
        return Recipe.load(source, changes=changes)
    return Recipe.from_dict({"input": {"path": str(source.absolute())}}, changes=changes)


def _hierarchies(given: list[str]) -> dict[str, str]:
    """Split COLUMN=FILE; the file is relative to the working directory, as all flags are."""
    split = {}
    for text in given:
        name, equals, file = text.partition("=")
        if not equals or not file:
            raise RecipeError(
                "recipe.invalid", "--hierarchy takes COLUMN=FILE.", "for example zip=zip_tree.csv"
            )
        split[name.strip()] = str(Path(file).absolute())
    return split


def _refuse_later(flags: dict[str, Any]) -> None:
    """Refuse what the contract names and this version does not have, instead of ignoring it."""
    faults = [
        Fault("recipe.not_available", f"This version of shoal does not have {flag} yet.", "leave it out")
        for flag, value in flags.items()
        if value
    ]
    if faults:
        raise RecipeError.from_faults(faults)
