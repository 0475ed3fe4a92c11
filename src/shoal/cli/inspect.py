"""`shoal inspect`: what is in a table, what singles people out, and a recipe to start from."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.console import Json, Quiet, print_json, progress_bar, reporting, say
from shoal.cli.flag_values import names as split
from shoal.cli.recipes import location
from shoal.wording import naming_flags

if TYPE_CHECKING:
    from shoal.inspection import Inspection

_INPUT = "Reading the table"


def inspect(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A table: text, Parquet, Excel, SPSS, a database, postgresql://... and so on"
        ),
    ],
    write: Annotated[
        Path | None, typer.Option("--write", metavar="RECIPE", help="Write the drafted recipe here (.toml).")
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing-values",
            metavar="NA,?",
            help="Texts that mean missing, besides the usual marks, which are found.",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line holds column names; default: detected.",
            rich_help_panel=_INPUT,
            show_default=False,
        ),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(
            "--names",
            metavar="A,B",
            help="Column names of a table without a header line.",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator", metavar=";", help="Cell separator; default: detected.", rich_help_panel=_INPUT
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="NAME",
            help="If not UTF-8, for example latin-1.",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="The sheet of a workbook, or the table of a database.",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            metavar="SELECT",
            help="A query of a PostgreSQL database, in place of a table.",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels/--no-labels",
            help="SPSS, Stata, SAS: labels in place of codes.",
            rich_help_panel=_INPUT,
        ),
    ] = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find out what is in a table: kinds, identifiers, what singles people out; and draft a recipe.

    Values that occur in fewer than 10 rows are never shown. Every suggestion comes with its reason; the
    recipe runs as it is, but you know the table better.

    Example:  shoal inspect people.csv --write people.toml
    """
    with reporting(as_json, quiet), naming_flags():
        from shoal.inspection.inspecting import inspect as look
        from shoal.inspection.inspection import check_target
        from shoal.table.overwriting import refuse_overwriting

        if write is not None:
            place = location(file)
            refuse_overwriting([write], {"the table": place} if isinstance(place, Path) else {})
            check_target(write)
        with progress_bar(quiet) as progress:
            found = look(
                file,
                missing=split(missing),
                names=split(names) or None,
                header=header,
                separator="\t" if separator == "\\t" else separator,
                encoding=encoding,
                table=table,
                query=query,
                labels=labels,
                progress=progress,
            )
        if write is not None:
            found.write(write)
        if as_json:
            print_json({**found.to_dict(), "output": None if write is None else str(write)})
        elif not quiet:
            _print(found, write)


def _print(found: Inspection, written: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from shoal.inspection.inspection import HEADS

    *heads, _ = HEADS
    console = Console()
    table = Table(title=f"{found.rows:,} rows, {len(found.columns)} columns", title_justify="left")
    for head in heads:
        is_number = head in ("distinct", "missing", "unique")
        table.add_column(head, justify="right" if is_number else "left", overflow="fold")
    for row in found.table():
        table.add_row(*map(Text, row[:-1]))
    console.print(table)
    for note in found.notes:
        say(note, sys.stderr)
    for title, lines in _sections(found):
        say(f"\n{title}")
        for line in lines:
            say(fill(line, max(40, console.width), initial_indent="  ", subsequent_indent="    "))
    if written is None:
        say("\nNothing was written. To get a recipe with these roles and reasons, add --write RECIPE.toml")
    else:
        say(f"\nwritten: {written}\nRead its comments, change what you know better, then run:\n")
        say(f"  shoal anonymize {written}")


def _sections(found: Inspection) -> list[tuple[str, list[str]]]:
    """Return what is printed below the table: titles with their lines."""
    from shoal.inspection.inspection import shortened

    columns = [f"{one.name}: {one.role} - {one.reason}" for one in found.columns]
    parts = [
        f"{one.column}: {one.alone:,} by itself, {one.adds:,} more in addition to the others"
        for one in found.contributions
    ]
    unique = f"{found.unique:,} of {found.rows:,} rows ({found.unique / found.rows:.1%})"
    sections = [
        ("Suggested roles:", columns),
        (f"Unique on all columns that others may know: {unique}. What each column contributes:", parts),
        ("The smallest sets of columns that single people out:", [str(one) for one in found.combinations]),
        ("Columns that determine others:", shortened(found.dependencies)),
    ]
    return [(title, lines) for title, lines in sections if lines]
