"""`shoal anonymize`: create a verified release from a raw table."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from shoal.cli.compiling import compiling_in_background
from shoal.cli.completing import complete_method
from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting, say
from shoal.cli.flags import (
    About,
    Conf,
    Force,
    Goals,
    Ledger,
    Master,
    NoBound,
    RowOrder,
    SaveRecipe,
    Sign,
    TightBound,
    Views,
    ViewsBy,
    asked_bound,
    read_about,
    read_conf,
    read_goals,
    read_views,
)
from shoal.cli.recipes import is_recipe, load_recipe, location, save_recipe
from shoal.cli.summary import summary
from shoal.cli.table_flags import TableFlags, with_table_flags
from shoal.errors import Fault, RecipeError
from shoal.wording import naming_flags

_UNSUPPORTED = "Not in this version."
_ENGINE = "Engine"


@with_table_flags
def anonymize(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE_OR_FILE",
            help="A recipe (.toml), or a table with flags for its columns: a file or postgresql://...",
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="PATH",
            help="Path of the release; the extension determines the format. Or postgresql://...",
        ),
    ] = None,
    output_table: Annotated[
        str | None, typer.Option("--output-table", metavar="NAME", help="The table of a database as output.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="Smallest class size.")] = None,
    method: Annotated[
        str | None, typer.Option("--method", help="See `shoal methods`.", autocompletion=complete_method)
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Same seed, data and version: same bytes.")
    ] = None,
    table: TableFlags = TableFlags(),  # noqa: B008  # expanded by the decorator
    no_bound: NoBound = False,
    tight_bound: TightBound = False,
    goal: Goals = None,
    views: Views = None,
    views_by: ViewsBy = None,
    row_order: RowOrder = None,
    about: About = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            metavar="FILE",
            help="The key of the pseudonyms, at least 32 bytes.",
            rich_help_panel="Protection of single columns",
        ),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            "--key-env",
            metavar="NAME",
            help="The environment variable that has the key instead.",
            rich_help_panel="Protection of single columns",
        ),
    ] = None,
    effort: Annotated[
        str | None, typer.Option("--effort", help="Effort of local search: quick, normal or high.")
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            "--also", metavar="MANIFEST", help="Check together with the earlier release of this manifest."
        ),
    ] = None,
    accept_composition: Annotated[
        bool,
        typer.Option("--accept-composition", help="Publish even if the tables together reveal too much."),
    ] = False,
    ledger: Ledger = None,
    sign: Sign = None,
    analysis: Annotated[
        list[str] | None,
        typer.Option(
            "--analysis",
            metavar="FORMULA",
            help='Compare an analysis in the report, such as "dead ~ age + bmi"; may be repeated.',
        ),
    ] = None,
    force: Force = False,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine", metavar="WORD", help="Where to run: local or spark.", rich_help_panel=_ENGINE
        ),
    ] = None,
    cell_rows: Annotated[
        int | None,
        typer.Option(
            "--cell-rows", help="Cluster in cells of at most this many rows.", rich_help_panel=_ENGINE
        ),
    ] = None,
    master: Master = None,
    conf: Conf = None,
    save: SaveRecipe = None,
    record: Annotated[str | None, typer.Option("--record", help=_UNSUPPORTED, hidden=True)] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Anonymize a table and write the verified release with its manifest and report.

    Flags override the values of a recipe. A release of the same recipe is replaced; any other file only
    with --force; a file that is read, never.

    Examples:  shoal anonymize recipe.toml -o out.csv
    shoal anonymize people.csv --quasi age,zip,sex --sensitive disease --identifier name --k 5 -o out.csv
    """
    with reporting(as_json, quiet), naming_flags(not is_recipe(location(source))):
        _refuse_unsupported({"--record": record})
        changes = {
            "about": read_about(about),
            "input": table.input(),
            "columns": table.columns(),
            "privacy": {"k": k, "goal": read_goals(goal), **table.privacy()},
            "method": {"name": method, "seed": seed, "options": {"effort": effort}},
            "engine": {"name": engine, "cell_rows": cell_rows, "master": master, "conf": read_conf(conf)},
            "output": {
                "path": output,
                "table": output_table,
                "order": row_order,
                "ledger": None if ledger is None else str(ledger),
                **read_views(views, views_by),
            },
            "secrets": {
                "key_file": None if key_file is None else str(key_file.absolute()),
                "key_env": key_env,
            },
        }
        recipe = load_recipe(location(source), changes)
        _refuse_table(output_table, recipe)
        if save is not None:
            save_recipe(recipe, save)
        result = publish(
            recipe,
            quiet,
            also=also or (),
            accept_composition=accept_composition,
            bound=asked_bound(no_bound, tight_bound),
            analyses=analysis or (),
            force=force,
            sign=sign,
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
    bound: bool | Literal["tight"] = True,
    analyses: Sequence[str] = (),
    force: bool = False,
    sign: Path | None = None,
) -> dict[str, Any]:
    """Run a recipe, write the verified release, and return its numbers, with a progress bar."""
    from shoal.workflow.publish import publish as run

    if recipe.output.path is None:
        raise RecipeError("recipe.invalid", "No output file is given.", "add -o FILE")
    if recipe.engine.name == "spark":
        import logging

        logging.disable(logging.ERROR)  # PySpark's gateway logs every interruption as an error of its own
    with progress_bar(quiet) as progress:
        return run(
            recipe,
            also=also,
            accept_composition=accept_composition,
            bound=bound,
            analyses=analyses,
            force=force,
            sign=sign,
            progress=progress,
            show_plan=None if quiet else partial(say, file=sys.stderr),
            compiling=partial(compiling_in_background, quiet=quiet),
        )


def _refuse_table(table: str | None, recipe: Any) -> None:
    """Refuse a table that a flag names for a release in a file."""
    from shoal.recipe import is_address

    if table is not None and not is_address(recipe.output.path):
        message = "`--output-table` is given, but the output is not a database."
        raise RecipeError("recipe.invalid", message, "remove it, or add -o postgresql://host/database")


def _refuse_unsupported(flags: dict[str, Any]) -> None:
    """Refuse documented flags that this version does not support, instead of ignoring them."""
    faults = [
        Fault("recipe.not_available", f"This version of shoal does not support {flag} yet.", "remove it")
        for flag, value in flags.items()
        if value
    ]
    if faults:
        raise RecipeError.from_faults(faults)
