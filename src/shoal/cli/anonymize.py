"""`shoal anonymize`: from a raw table to a verified release."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
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
from shoal.cli.views import Views, ViewsBy, given_views, view_places, views_summary
from shoal.errors import Fault, RecipeError
from shoal.stages import Progress

_LATER = "Not in this version."
WITHOUT_REPORT = ("anatomy", "nh")


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
        from shoal.goals import from_text

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
    from shoal.warm import jobs_left

    if recipe.output.path is None:
        raise RecipeError("recipe.invalid", "No output is named.", 'use -o FILE, or [output] path = "..."')
    has_report = recipe.method.name not in WITHOUT_REPORT
    with engine_ahead() if has_report else nullcontext():
        also = list(also)
        replaced = _check_place(recipe, also, force=force)
        several = bool(also) or recipe.output.views != "whole"
        jobs = jobs_left([recipe.method.name], recipe, bound=bound, several=several)
        with progress_bar(quiet) as progress, compiled_meanwhile(jobs, progress, quiet):
            release = _prepare(recipe, also, accept_composition, bound, progress)
            path = release.write(report=has_report, force=force, progress=progress)
    return _result(release, path, has_report, replaced)


def _prepare(
    recipe: Any, also: list[Path], accept_composition: bool, bound: bool, progress: Progress | None
) -> Any:
    from shoal.anonymize import prepare  # late: what is compiled or started meanwhile has begun by now

    return prepare(
        None, recipe, also=also, accept_composition=accept_composition, bound=bound, progress=progress
    )


def _result(release: Any, path: Path, has_report: bool, replaced: bool) -> dict[str, Any]:
    """Return the numbers about a release, and where everything is."""
    from shoal.table.write import manifest_path, report_path

    paths = {
        "output": str(path),
        "manifest": str(manifest_path(path)),
        "report": str(report_path(path)) if has_report else None,
    }
    outputs = _outputs(release.recipe, path)
    parts = {} if len(outputs) == 1 else {"files": [str(file) for file in outputs]}
    result = {**release.to_dict(), **paths, **parts, "replaced": replaced}
    return view_places(result, path) if "views" in result else result


def _check_place(recipe: Any, also: Iterable[Path], *, force: bool) -> bool:
    """Refuse an output that may not be written, before any work is done; say whether one is replaced."""
    from shoal.measure.earlier import earlier_files
    from shoal.recipe import shareable, shared_digest
    from shoal.table.overwriting import refuse_overwriting, replaces_release
    from shoal.table.parts import check_parts, check_views, check_whole, stale_views
    from shoal.table.write import manifest_path, report_path

    path = Path(recipe.output.path)
    tables = _outputs(recipe, path)
    stale: list[Path] = []
    if recipe.method.name == "anatomy":
        check_parts(path)
    elif recipe.output.views != "whole":
        check_views(path, len(tables))
        stale = stale_views(path, len(tables))
    else:
        check_whole(path)
    manifest = manifest_path(path)
    reports = [] if recipe.method.name in WITHOUT_REPORT else map(report_path, tables)
    places = [*tables, manifest, *reports]
    refuse_overwriting([*places, *stale], recipe.files | earlier_files(also))
    return replaces_release(places, manifest, shared_digest(shareable(recipe)), force=force)


def _outputs(recipe: Any, path: Path) -> list[Path]:
    """List the tables that are written."""
    from shoal.table.parts import part_paths, view_paths

    if recipe.output.views != "whole":
        return view_paths(path, len(recipe.views))
    return list(part_paths(path)) if recipe.method.name == "anatomy" else [path]


def summary(result: dict[str, Any]) -> str:
    """Say in a few lines what was released and what holds, and whether it took the place of something."""
    lines = [_summary(result)] + (["  replaced: what lay there before"] if result["replaced"] else [])
    return "\n".join(lines)


def _summary(result: dict[str, Any]) -> str:
    if result["method"] == "anatomy":
        return anatomy_summary(result)
    if "views" in result:
        return views_summary(result)
    gcp = result["loss"]["gcp"] if result["loss"]["gcp"] is not None else result["loss_tight"]["gcp"]
    has_classes = result["loss"]["dm"] is not None
    made = f"in {result['classes']:,} classes" if has_classes else "with a box for each"
    how = "verified on the written file" + ("" if has_classes else " beside the original")
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
        f"  report:   {result['report'] or 'none for this method'}",
    ]
    return "\n".join(lines)


def _recipe(source: Path, changes: dict[str, Any]) -> Any:
    from shoal.recipe import Recipe

    if source.suffix.lower() == ".toml":
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
