"""`shoal measure`: the risk of a raw table, and the information loss of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting
from shoal.cli.flags import NoBound, SaveRecipe, TightBound, asked_bound
from shoal.cli.recipes import input_path, load_recipe, location, save_recipe
from shoal.cli.summary import bound_lines
from shoal.cli.table_flags import TableFlags, with_table_flags
from shoal.cli.utility import print_utility
from shoal.errors import RecipeError
from shoal.wording import naming_flags


@with_table_flags
def measure(
    original: Annotated[str, typer.Argument(help="The raw table: a file or postgresql://...")],
    recipe: Annotated[
        Path | None, typer.Option("--recipe", help="A recipe or manifest; or use flags for the columns.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="Rows in smaller classes count as at risk.")] = None,
    table: TableFlags = TableFlags(),  # noqa: B008  # expanded by the decorator
    released: Annotated[
        Path | None, typer.Option("--released", help="A release of this table, to measure its loss.")
    ] = None,
    analysis: Annotated[
        list[str] | None,
        typer.Option(
            "--analysis",
            metavar="FORMULA",
            help='With --released: compare an analysis, such as "dead ~ age + bmi"; may be repeated.',
        ),
    ] = None,
    no_bound: NoBound = False,
    tight_bound: TightBound = False,
    save: SaveRecipe = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the risk of the raw table and, with --released, the loss, risk and utility of a release.

    Utility is how much results change: dependence between columns, random counts, and your own analyses.

    Only the released file and the ranges of the raw table are used. The release may come from another
    tool: intervals, masks and suppressed cells of ARX, sdcMicro and anjana are recognized.

    Flags override the values of a recipe.
    """
    with reporting(as_json, quiet), naming_flags(recipe is None):
        from shoal.workflow.measure import measure_tables

        changes = {
            "input": {**table.input(), "path": input_path(location(original))},
            "columns": table.columns(),
            "privacy": {"k": k, **table.privacy()},
        }
        _check(analysis, released)
        loaded = load_recipe(location(original) if recipe is None else recipe, changes)
        if save is not None:
            save_recipe(loaded, save)
        with progress_bar(quiet) as progress:
            numbers = measure_tables(
                loaded,
                released,
                analyses=analysis or (),
                bound=asked_bound(no_bound, tight_bound),
                progress=progress,
            )
        if as_json:
            print_json(numbers)
        elif not quiet:
            _print(numbers)


def _check(analysis: list[str] | None, released: Path | None) -> None:
    if analysis and released is None:
        message = "--analysis compares the raw table with a release, and none is given."
        raise RecipeError("recipe.invalid", message, "add --released FILE")


def _print(numbers: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    columns = ["raw"] + (["released"] if "risk" in numbers else [])
    table = Table(title="risk", title_justify="left")
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    raw, risks = numbers["raw"], [numbers["raw"]["risk"], numbers.get("risk")]
    sizes = [raw, {"k": numbers.get("k"), "classes": numbers.get("classes")}]
    for key in ("k", "classes"):
        table.add_row(key, *(f"{size[key]:,}" for size in sizes[: len(columns)]))
    for key in ("highest", "average"):
        table.add_row(f"{key} risk", *(f"{risk[key]:.2%}" for risk in risks if risk))
    for key in ("unique", "below_k"):
        table.add_row(f"rows {key.replace('_', ' ')}", *(f"{risk[key]:,}" for risk in risks if risk))
    Console().print(table)
    if "loss" in numbers:
        losses = Table(title="loss of the release", title_justify="left", show_header=False)
        for key, value in {**numbers["loss"], **numbers["measures"]}.items():
            losses.add_row(key, "not defined" if value is None else f"{value:,.6g}")
        Console().print(losses)
        print("\n".join([*bound_lines(numbers), *_style_lines(numbers["read_as"])]))
        print_utility(numbers["utility"])


def _style_lines(read_as: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return how labels in the style of another tool were read, one line per column that has any."""
    from shoal.measure.labels import counted

    return [
        f"{name}: read as " + ", ".join(f"{one['style']} ({counted(one['cells'], 'cell')})" for one in styles)
        for name, styles in read_as.items()
    ]
