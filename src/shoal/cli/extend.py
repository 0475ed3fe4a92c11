"""`shoal extend`: add new rows to an earlier release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting, say
from shoal.cli.flags import Force, Ledger, RecipeOfRelease, Sign
from shoal.cli.summary import record_lines, written_lines


def extend(
    earlier: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="The earlier release; several views: X.csv for X.1.csv.")
    ],
    new: Annotated[
        list[Path],
        typer.Argument(
            metavar="NEW...", help="New rows with the columns of the raw table; and rows held back."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Path of the extended release.")],
    recipe: RecipeOfRelease = None,
    held_back: Annotated[
        Path | None,
        typer.Option(
            "--held-back",
            metavar="FILE",
            help="Where to write the rows that must wait; default: next to NEW, as NEW.held-back.csv.",
        ),
    ] = None,
    ledger: Ledger = None,
    accept_composition: Annotated[
        bool,
        typer.Option("--accept-composition", help="Extend even if the tables together reveal too much."),
    ] = False,
    sign: Sign = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add new rows to a release, in groups of at least k that look alike; what was published stays.

    Rows that are too few, or with which the goals cannot be met, are held back: they are written to a file of
    raw data, to be given again with the next rows. Never add a row twice, or a person who is already in the
    release.

    Without --recipe, the recipe in the manifest next to the release is used.

    Examples:  shoal extend march.csv april-raw.csv --recipe recipe.toml -o april.csv
    shoal extend april.csv may-raw.csv april-raw.held-back.csv --recipe recipe.toml -o may.csv
    """
    with reporting(as_json, quiet):
        from shoal.cli.verify import manifest_of
        from shoal.recipe import Recipe
        from shoal.workflow.extend_files import extend_files

        changes = {"output": {"path": str(output), "ledger": None if ledger is None else str(ledger)}}
        asked = Recipe.load(recipe or manifest_of(earlier), changes=changes)
        with progress_bar(quiet) as progress:
            result = extend_files(
                earlier,
                new,
                asked,
                held_back=held_back,
                accept_composition=accept_composition,
                force=force,
                sign=sign,
                progress=progress,
            )
        if as_json:
            print_json(result)
        elif not quiet:
            say(_summary(result))


def _summary(result: dict[str, Any]) -> str:
    lines = [
        f"released {result['released']:,} rows in {result['classes']:,} classes: {result['earlier']:,} "
        f"earlier, {result['added']:,} new ({result['joined']:,} of them in earlier classes)",
        *written_lines(result),
        *record_lines(result),
    ]
    if result["held_back_file"] is not None:
        rows = "1 row is" if result["held_back"] == 1 else f"{result['held_back']:,} rows are"
        lines.append(f"  {rows} held back (raw data): {result['held_back_file']}")
    return "\n".join(lines)
