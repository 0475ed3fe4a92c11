"""`shoal risk`: how likely the people in a table are to be re-identified."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting, say
from shoal.cli.flags import SaveRecipe
from shoal.cli.recipes import input_path, is_recipe, location, save_recipe
from shoal.cli.risk_tables import print_risk
from shoal.cli.table_flags import TableFlags, with_table_flags
from shoal.wording import naming_flags

if TYPE_CHECKING:
    from shoal.recipe import Location, Recipe
    from shoal.risks.report import RiskReport

_POPULATION = "Population"


@with_table_flags
def risk(
    file: Annotated[
        str, typer.Argument(help="The table, raw or released: a file, or postgresql://... for a raw one.")
    ],
    recipe: Annotated[
        Path | None, typer.Option("--recipe", help="A recipe or manifest; or use flags for the columns.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", help="Rows in smaller classes count as at risk; default: 5.")
    ] = None,
    table: TableFlags = TableFlags(),  # noqa: B008  # expanded by the decorator
    released: Annotated[
        Path | None, typer.Option("--released", help="A release of this table, to show the risk after it.")
    ] = None,
    subset_size: Annotated[
        int, typer.Option("--subset-size", help="Measure every subset of up to so many quasi columns.")
    ] = 3,
    population: Annotated[
        Path | None,
        typer.Option(
            "--population",
            help="The people from whom those in the table were drawn, with the same quasi columns.",
            rich_help_panel=_POPULATION,
        ),
    ] = None,
    sampling_fraction: Annotated[
        float | None,
        typer.Option(
            "--sampling-fraction",
            metavar="SHARE",
            help="The share of the population that is in the table, for example 0.05.",
            rich_help_panel=_POPULATION,
        ),
    ] = None,
    sampling_weight: Annotated[
        str | None,
        typer.Option(
            "--sampling-weight",
            metavar="COLUMN",
            help="How many people of the population each row stands for.",
            rich_help_panel=_POPULATION,
        ),
    ] = None,
    household: Annotated[
        str | None,
        typer.Option(
            "--household",
            metavar="COLUMN",
            help="The column that identifies households.",
            rich_help_panel=_POPULATION,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="For the intervals of estimates.")] = 0,
    per_person: Annotated[
        Path | None,
        typer.Option("--per-person", metavar="FILE", help="Write the risk of each person: not to be shared."),
    ] = None,
    save: SaveRecipe = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how likely the people in a table are to be re-identified, before or after a release.

    Rows with equal quasi values form a class, whatever the values are. Columns other than the quasi columns
    need no role. Without a recipe and flags, the manifest next to a release is used.

    Flags override the values of a recipe.
    """
    with reporting(as_json, quiet), naming_flags(recipe is None):
        from shoal.workflow.risk import table_risk

        place = location(file)
        asked = _recipe(place, recipe, k, table)
        if save is not None:
            save_recipe(asked, save)
        if per_person is not None:
            _check_output(per_person, asked, [place, released, population])
        settings: dict[str, Any] = {
            "population": population,
            "sampling_fraction": sampling_fraction,
            "sampling_weight": sampling_weight,
            "household": household,
            "subset_size": subset_size,
            "seed": seed,
        }
        with progress_bar(quiet) as progress:
            found = table_risk(
                place, asked, is_release=_manifest_of(place) is not None, progress=progress, **settings
            )
            after = None
            if released is not None:
                kept = {
                    key: settings[key] for key in ("population", "sampling_fraction", "subset_size", "seed")
                }
                after = table_risk(released, asked, is_release=True, progress=progress, **kept)
        if per_person is not None:
            _write(found, per_person)
            if not quiet:
                say(f"wrote {per_person}: the risk of each person, not to be shared", sys.stderr)
        if as_json:
            print_json({**found.to_dict(), "released": None if after is None else after.to_dict()})
        elif not quiet:
            print_risk(found, after)


def _recipe(file: Location, recipe: Path | None, k: int | None, table: TableFlags) -> Recipe:
    from shoal.errors import RecipeError
    from shoal.recipe import Recipe
    from shoal.risks.report import DEFAULT_K

    if is_recipe(file):
        message = f"{file} is a recipe, not a table."
        raise RecipeError("recipe.invalid", message, f"name the table: shoal risk TABLE --recipe {file}")
    if recipe is None and table.is_empty() and k is None:
        recipe = _manifest_of(file)
    changes = {
        "input": {**table.input(), "path": input_path(file)},
        "columns": table.columns(),
        "privacy": {"k": k, **table.privacy()},
    }
    if recipe is not None:
        return Recipe.load(recipe, changes=changes)
    return Recipe.from_dict({"privacy": {"k": DEFAULT_K}}, changes=changes)


def _manifest_of(file: Location) -> Path | None:
    """Return the manifest next to a release, if there is one."""
    from shoal.table.write import manifest_path

    manifest = manifest_path(file) if isinstance(file, Path) and file.name else None
    return manifest if manifest is not None and manifest.is_file() else None


def _check_output(path: Path, recipe: Recipe, reads: Sequence[Location | None]) -> None:
    """Refuse a file that cannot be written or is read, before any work is done."""
    from shoal.table.overwriting import refuse_overwriting
    from shoal.table.write import check_target

    check_target(path)
    named = {f"the file {read}": read for read in reads if isinstance(read, Path)}
    refuse_overwriting([path], recipe.files | named)


def _write(found: RiskReport, path: Path) -> None:
    from shoal.table.write import move_into_place, temporary, write_table

    with temporary(path) as file:
        write_table(found.per_person, file)
        move_into_place(file, path)
