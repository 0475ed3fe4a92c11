"""Flags shared by several commands, and the recipe built from them.

Typer reads the parameters of a function. A command declares one parameter of type `TableFlags`, and
`with_table_flags` replaces it with one parameter for each flag, so that all commands take the same flags.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from shoal.cli.completing import complete_column, complete_columns, complete_goal, complete_pair
from shoal.errors import OutputError, RecipeError

if TYPE_CHECKING:
    from shoal.recipe import Location, Recipe

_COLUMNS, _ROWS, _INPUT, _VIEWS, _PROTECTION = (
    "Columns",
    "Missing values and suppressed rows",
    "Reading the table",
    "Views",
    "Protection of single columns",
)
# COLUMN=DANGER or COLUMN=DANGER:REASON; both a column's name and a reason may contain an equals sign.
_ACCEPT = re.compile(r"\s*(.*?\S)\s*=\s*(\w+)\s*(?::\s*(.*?)\s*)?", re.DOTALL)
_VIEW_WORDS = ("whole", "equal", "unequal", "nested")


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
        for flag, read in _READ.items():
            for name, text in _pairs(flag, getattr(self, flag) or []):
                section.setdefault(name, {})[flag] = read(text)
        for name in names(self.pseudonym):
            section.setdefault(name, {})["pseudonym"] = True
        for name, accepted in _accepted(self.accept or []).items():
            section.setdefault(name, {})["accept"] = accepted
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


RecipeOfRelease = Annotated[
    Path | None, typer.Option("--recipe", help="The recipe of the release, or a manifest.")
]
KOfRelease = Annotated[int | None, typer.Option("--k", help="Smallest class size; overrides the recipe's.")]
JUnit = Annotated[Path | None, typer.Option("--junit", help="Also write a JUnit XML file.")]
Goals = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        metavar="GOAL",
        help='Besides k, for example "l-diversity column=disease l=3".',
        autocompletion=complete_goal,
    ),
]
TightBound = Annotated[
    bool, typer.Option("--tight-bound", help="Take a minute or two for a higher lower bound of the loss.")
]
NoBound = Annotated[
    bool, typer.Option("--no-bound", help="Skip the lower bound of the loss, to save a few seconds.")
]
SaveRecipe = Annotated[
    Path | None,
    typer.Option("--save-recipe", metavar="FILE", help="Also write the flags as a recipe (.toml)."),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Where Spark runs: local[4], spark://host:7077.",
        rich_help_panel="Engine",
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf", metavar="KEY=VALUE", help="A setting of Spark; may be repeated.", rich_help_panel="Engine"
    ),
]
About = Annotated[
    list[str] | None,
    typer.Option(
        "--about",
        metavar="KEY=TEXT",
        help="For manifest and report: purpose, author, recipient or date; may be repeated.",
    ),
]
RowOrder = Annotated[
    str | None,
    typer.Option(
        "--row-order", metavar="WORD", help="Order of the released rows: sorted, or shuffled by the seed."
    ),
]
Ledger = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="Check together with all releases in this ledger, and enter this one; created if missing.",
    ),
]
Sign = Annotated[
    Path | None, typer.Option("--sign", metavar="KEY", help="Sign the manifest with this private key (PEM).")
]
Views = Annotated[
    str | None,
    typer.Option(
        "--views",
        metavar="WORD|A,B;A,C",
        help="Publish several tables: equal, unequal, nested, or the quasi columns of each; whole for one.",
        rich_help_panel=_VIEWS,
    ),
]
ViewsBy = Annotated[
    str | None,
    typer.Option(
        "--views-by",
        metavar="WORD",
        help="How views are built: clustering (each separately) or projection (of one clustering).",
        rich_help_panel=_VIEWS,
    ),
]


def read_goals(goals: Iterable[str] | None) -> list[dict[str, Any]] | None:
    """Return the goals given by flags; None without such flags, which keeps the goals of a recipe."""
    from shoal.recipe.goals import from_text

    if not goals:
        return None
    found = [from_text(text) for text in goals]
    for goal in found:
        if isinstance(goal.get("population"), str):  # relative to the working directory
            goal["population"] = str(Path(goal["population"]).absolute())
    return found


def read_conf(conf: Iterable[str] | None) -> dict[str, str] | None:
    """Return the settings of Spark that flags state; None without flags."""
    pairs = [setting.partition("=") for setting in conf or []]
    if not all(key and equals for key, equals, _ in pairs):
        raise RecipeError("recipe.invalid", "--conf takes KEY=VALUE.", "--conf spark.executor.memory=4g")
    return {key: value for key, _, value in pairs} or None


def read_about(about: Iterable[str] | None) -> dict[str, str]:
    """Return the [about] section specified by flags."""
    return dict(_pairs("about", about or []))


def read_views(views: str | None, views_by: str | None = None) -> dict[str, Any]:
    """Return the keys of the [output] section specified by the flags for views."""
    if views == "whole" and views_by is None:
        return {"views": views, "views_by": "clustering"}  # the recipe's views_by would not apply
    if views is None or views in _VIEW_WORDS:
        return {"views": views, "views_by": views_by}
    if "," not in views and ";" not in views:
        message = "--views takes a keyword, or columns separated by commas and views separated by semicolons."
        hint = f'keywords: {", ".join(_VIEW_WORDS)}; columns: --views "age,sex;age,zip"'
        raise RecipeError("recipe.invalid", message, hint)
    lists = [[name.strip() for name in view.split(",")] for view in views.split(";")]
    return {"views": [[] if names == [""] else names for names in lists], "views_by": views_by}


def location(text: str) -> Location:
    """Return where a table is: a file, or a database. Typer's own paths would merge an address's slashes."""
    from shoal.recipe import located

    return located(text)


def is_recipe(source: Location) -> bool:
    """Return whether a file is a recipe or a manifest, which contains one; otherwise it is a table."""
    from shoal.recipe import MANIFEST_SUFFIX, Address

    if isinstance(source, Address):
        return False
    return source.suffix.lower() == ".toml" or source.name.endswith(MANIFEST_SUFFIX)


def input_path(source: Location) -> str:
    """Return what [input] path says about a table: an absolute path, or an address."""
    from shoal.recipe import Address

    return source.dsn if isinstance(source, Address) else str(source.absolute())


def load_recipe(source: Location, changes: dict[str, Any]) -> Recipe:
    """Load a recipe and override it with the flags, or build one for a table from the flags."""
    from shoal.recipe import Recipe

    if isinstance(source, Path) and is_recipe(source):
        return Recipe.load(source, changes=changes)
    return Recipe.from_dict({"input": {"path": input_path(source)}}, changes=changes)


def save_recipe(recipe: Recipe, path: Path) -> None:
    """Write a recipe as TOML, with paths relative to its folder; never overwrite a different file."""
    from shoal.table.overwriting import refuse_overwriting
    from shoal.table.write import move_into_place, temporary, write_text

    refuse_overwriting([path], recipe.files)
    text = recipe.moved_to(path.parent).to_toml()
    if path.exists():
        if path.is_file() and path.read_bytes() == text.encode():
            return
        message = f"{path} exists and has different contents."
        raise OutputError("output.exists", message, "choose another name for --save-recipe")
    with temporary(path) as file:
        write_text(text, file)
        move_into_place(file, path)


def asked_bound(no_bound: bool, tight_bound: bool) -> bool | Literal["tight"]:
    """Return whether the loss is bounded, and how."""
    return False if no_bound else "tight" if tight_bound else True


def names(text: str | None) -> list[str]:
    """Split a list of column names at commas."""
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _accepted(texts: Iterable[str]) -> dict[str, list[str] | dict[str, str]]:
    """Return the dangers that flags accept, by column: names alone, or with reasons if any was given."""
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        parts = _ACCEPT.fullmatch(text)
        if parts is None:
            raise _malformed("accept")
        name, danger, reason = parts.groups()
        found.setdefault(name, {})[danger] = reason or ""
    return {name: dangers if any(dangers.values()) else list(dangers) for name, dangers in found.items()}


def _pairs(flag: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Split COLUMN=TEXT."""
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise _malformed(flag)
        yield name.strip(), value.strip()


def _malformed(flag: str) -> RecipeError:
    shown, example = _EXAMPLES[flag]
    return RecipeError("recipe.invalid", f"--{flag} takes {shown}.", f"for example {example}")


def _number(text: str) -> float | str:
    """Parse a number; any other text stays as is, to be reported with all other faults."""
    try:
        return float(text)
    except ValueError:
        return text


def _value(text: str) -> int | float | str:
    """Parse a number, whole if possible; any other text, such as a date, stays as is."""
    try:
        return int(text)
    except ValueError:
        return _number(text)


def _setting(flag: str) -> Callable[[str], Any]:
    """Return a function that reads a number, or an inline table of settings."""

    def read(text: str) -> Any:
        if not text.startswith("{"):
            return _number(text)
        try:
            return tomllib.loads(f"given = {text}")["given"]
        except tomllib.TOMLDecodeError:
            raise _malformed(flag) from None

    return read


def _hierarchy(text: str) -> str | dict[str, Any]:
    """Parse an inline table or a name, or resolve a path relative to the working directory."""
    from shoal.recipe import is_file

    if not text.startswith("{"):
        return str(Path(text).absolute()) if is_file(text) else text
    try:
        table: dict[str, Any] = tomllib.loads(f"hierarchy = {text}")["hierarchy"]
    except tomllib.TOMLDecodeError:
        message = "A hierarchy in braces is not a valid TOML table."
        raise RecipeError(
            "recipe.invalid", message, f"for example --hierarchy {_EXAMPLES['hierarchy'][1]}"
        ) from None
    return table


_READ: dict[str, Callable[[str], Any]] = {
    "kind": str,
    "order": names,
    "weight": _number,
    "hierarchy": _hierarchy,
    "top": _value,
    "bottom": _value,
    "pram": _setting("pram"),
    "swap": _number,
    "noise": _setting("noise"),
}
_EXAMPLES = {
    "kind": ("COLUMN=KIND", "zip=categorical"),
    "order": ("COLUMN=LOW,...,HIGH", "size=small,medium,large; the order of rows is --row-order"),
    "weight": ("COLUMN=NUMBER", "age=2"),
    "hierarchy": ("COLUMN=FILE, COLUMN=WORD or COLUMN={...}", "zip=zip_tree.csv or zip='{ prefix = 1 }'"),
    "accept": ("COLUMN=DANGER or COLUMN=DANGER:REASON", "note=unique or note=unique:'a row number'"),
    "top": ("COLUMN=VALUE", "age=90"),
    "bottom": ("COLUMN=VALUE", "age=18"),
    "pram": ("COLUMN=SHARE or COLUMN={...}", "job=0.1 or job='{ change = 0.1, invariant = true }'"),
    "swap": ("COLUMN=PERCENT", "income=5"),
    "noise": ("COLUMN=SHARE or COLUMN={...}", "income=0.1 or income='{ sd = 0.1, correlated = true }'"),
    "about": ("KEY=TEXT", '--about purpose="Study of readmissions" --about date=2026-03-31'),
}
