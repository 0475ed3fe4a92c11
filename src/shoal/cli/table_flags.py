"""The flags that describe a table, the same for all commands.

Typer reads the parameters of a function. A command declares one parameter of type `TableFlags`, and
`with_table_flags` replaces it with one parameter for each flag.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from shoal.cli.completing import complete_column, complete_columns, complete_pair
from shoal.cli.flag_values import READ, accepted, names, pairs

_COLUMNS, _ROWS, _INPUT, _PROTECTION = (
    "Columns",
    "Missing values and suppressed rows",
    "Reading the table",
    "Protection of single columns",
)
# What Tab proposes, by what a flag takes: a list of columns, one, or one with a value.
_COMPLETE = {"A,B": complete_columns, "COLUMN": complete_column}


def _columns(flag: str, text: str, metavar: str = "A,B") -> Any:
    complete = complete_pair if metavar.startswith("COLUMN=") else _COMPLETE.get(metavar)
    return typer.Option(flag, help=text, rich_help_panel=_COLUMNS, metavar=metavar, autocompletion=complete)


def _rows(flag: str, text: str, metavar: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=_ROWS, metavar=metavar)


def _protection(flag: str, text: str, metavar: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=_PROTECTION, metavar=metavar)


def _input(flag: str, text: str, metavar: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=_INPUT, metavar=metavar)


@dataclass(frozen=True)
class TableFlags:
    """The flags that describe a table: column roles, how values relate, and missing values."""

    quasi: Annotated[str | None, _columns("--quasi", "Columns that an outsider may know about a person.")] = (
        None
    )
    sensitive: Annotated[str | None, _columns("--sensitive", "Columns to protect; released unchanged.")] = (
        None
    )
    identifier: Annotated[
        str | None, _columns("--identifier", "Columns that name a person; not released.")
    ] = None
    subject: Annotated[
        str | None, _columns("--subject", "The column that identifies people; k counts people.", "COLUMN")
    ] = None
    keep: Annotated[str | None, _columns("--keep", "Other columns to release unchanged.")] = None
    drop: Annotated[str | None, _columns("--drop", "Other columns to omit.")] = None
    default: Annotated[str | None, _columns("--default", "Role of all other columns: drop.", "drop")] = None
    kind: Annotated[
        list[str] | None,
        _columns("--kind", "numeric, categorical, ordinal or date; default: detected.", "COLUMN=KIND"),
    ] = None
    order: Annotated[
        list[str] | None,
        _columns("--order", "The values of an ordinal column, from low to high.", "COLUMN=LOW,...,HIGH"),
    ] = None
    weight: Annotated[
        list[str] | None,
        _columns("--weight", "Weight of the column's loss; default: 1.", "COLUMN=NUMBER"),
    ] = None
    hierarchy: Annotated[
        list[str] | None,
        _columns(
            "--hierarchy",
            'A file; induce; postcode, icd10, nuts, isco or age; or as in a recipe: zip="{ prefix = 1 }".',
            "COLUMN=FILE|WORD|{...}",
        ),
    ] = None
    accept: Annotated[
        list[str] | None,
        _columns(
            "--accept",
            'Accept a danger of a column: note=unique, or with a reason note=unique:"a row number".',
            "COLUMN=DANGER[:REASON]",
        ),
    ] = None
    top: Annotated[
        list[str] | None,
        _protection("--top", "Publish higher values as this one, which then means: or more.", "COLUMN=VALUE"),
    ] = None
    bottom: Annotated[
        list[str] | None,
        _protection("--bottom", "Publish lower values as this one: or less.", "COLUMN=VALUE"),
    ] = None
    pram: Annotated[
        list[str] | None,
        _protection("--pram", "Change this share of a kept column's categories at random.", "COLUMN=SHARE"),
    ] = None
    swap: Annotated[
        list[str] | None,
        _protection(
            "--swap", "Swap a kept column's values within this percentage of ranks.", "COLUMN=PERCENT"
        ),
    ] = None
    noise: Annotated[
        list[str] | None,
        _protection(
            "--noise", "Add noise to a kept column: its standard deviation, as a share.", "COLUMN=SHARE"
        ),
    ] = None
    pseudonym: Annotated[
        str | None, _protection("--pseudonym", "Identifiers to release as keyed pseudonyms.", "A,B")
    ] = None
    missing: Annotated[
        str | None,
        _rows(
            "--missing",
            "Rows with a missing quasi value: category (missing is an ordinary value), suppress or error.",
            "WORD",
        ),
    ] = None
    max_suppressed: Annotated[
        float | None,
        _rows("--max-suppressed", "Share of rows that may be suppressed, for example 0.02.", "SHARE"),
    ] = None
    suppress_cells: Annotated[
        float | None,
        _rows("--suppress-cells", "Share of rows in which one quasi cell may become *.", "SHARE"),
    ] = None
    missing_values: Annotated[
        str | None, _input("--missing-values", "Texts that mean missing, besides the empty one.", "NA,?")
    ] = None
    names: Annotated[
        str | None, _input("--names", "Column names of a table without a header line.", "A,B")
    ] = None
    separator: Annotated[str | None, _input("--separator", "Cell separator; default: detected.", ";")] = None
    encoding: Annotated[str | None, _input("--encoding", "If not UTF-8, for example latin-1.", "NAME")] = None
    decimal: Annotated[
        str | None, _input("--decimal", "If numbers of a text file have a decimal comma: ','", "MARK")
    ] = None
    dates: Annotated[
        str | None, _input("--dates", "How a text file writes days, if not YYYY-MM-DD.", "D.M.Y")
    ] = None
    table: Annotated[
        str | None, _input("--table", "The sheet of a workbook, or the table of a database.", "NAME")
    ] = None
    query: Annotated[
        str | None, _input("--query", "A query of a PostgreSQL database, in place of a table.", "SELECT")
    ] = None
    labels: Annotated[
        bool | None,
        typer.Option(
            "--labels/--no-labels",
            help="SPSS, Stata, SAS: labels in place of codes; default: labels.",
            rich_help_panel=_INPUT,
            show_default=False,
        ),
    ] = None

    def is_empty(self) -> bool:
        """Return whether no flag is given."""
        return all(getattr(self, field.name) is None for field in fields(self))

    def columns(self) -> dict[str, Any]:
        """Return the [columns] section specified by the flags."""
        from shoal.recipe import roles_of

        lists = {role: names(getattr(self, role)) for role in _LISTED}
        roles = roles_of(**lists, subject=[self.subject] if self.subject else [])
        section: dict[str, Any] = {name: {"role": role} for name, role in roles.items()}
        for flag, read in READ.items():
            for name, text in pairs(flag, getattr(self, flag) or []):
                section.setdefault(name, {})[flag] = read(text)
        for name in names(self.pseudonym):
            section.setdefault(name, {})["pseudonym"] = True
        for name, dangers in accepted(self.accept or []).items():
            section.setdefault(name, {})["accept"] = dangers
        return {**section, "default": self.default}

    def privacy(self) -> dict[str, Any]:
        """Return the keys of the [privacy] section specified by the flags."""
        return {
            "missing": self.missing,
            "max_suppressed": self.max_suppressed,
            "suppress_cells": self.suppress_cells,
        }

    def input(self) -> dict[str, Any]:
        """Return the keys of the [input] section specified by the flags."""
        return {
            "missing": ["", *names(self.missing_values)] if self.missing_values else None,
            "names": names(self.names) or None,
            "header": False if self.names else None,
            "separator": "\t" if self.separator == "\\t" else self.separator,
            "encoding": self.encoding,
            "decimal": self.decimal,
            "dates": self.dates,
            "table": self.table,
            "query": self.query,
            "labels": self.labels,
        }


_LISTED = ("quasi", "sensitive", "identifier", "keep", "drop")


def with_table_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter of type `TableFlags` with one parameter for each flag."""
    own = inspect.signature(command, eval_str=True).parameters
    hints = get_type_hints(TableFlags, include_extras=True)
    flags = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hints[field.name]
        )
        for field in fields(TableFlags)
    ]
    (place,) = [name for name, parameter in own.items() if parameter.annotation is TableFlags]

    @wraps(command)
    def run(**given: Any) -> None:
        chosen = TableFlags(**{flag.name: given.pop(flag.name) for flag in flags})
        command(**given, **{place: chosen})

    expanded: list[inspect.Parameter] = []
    for name, parameter in own.items():
        expanded += flags if name == place else [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    run.__signature__ = inspect.Signature(expanded)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in expanded}
    return run
