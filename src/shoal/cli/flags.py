"""Flags that several commands take, and the recipe that they make.

Typer reads the parameters of a function. A command names one parameter of the type `TableFlags`, and
`with_table_flags` replaces it with one parameter for each flag, so that all commands take the same flags.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from shoal.errors import OutputError, RecipeError

if TYPE_CHECKING:
    from shoal.recipe import Recipe

_COLUMNS, _ROWS, _INPUT, _VIEWS = (
    "Columns",
    "Missing values and suppressed rows",
    "Reading the table",
    "Views",
)
_VIEW_WORDS = ("whole", "equal", "unequal", "nested")


def _columns(flag: str, text: str, metavar: str = "A,B") -> Any:
    return typer.Option(flag, help=text, rich_help_panel=_COLUMNS, metavar=metavar)


def _rows(flag: str, text: str, metavar: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=_ROWS, metavar=metavar)


def _input(flag: str, text: str, metavar: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=_INPUT, metavar=metavar)


@dataclass(frozen=True)
class TableFlags:
    """What flags say about a table: the role of each column, how its values relate, and missing values."""

    quasi: Annotated[str | None, _columns("--quasi", "Columns that an outsider may know about a person.")] = (
        None
    )
    sensitive: Annotated[str | None, _columns("--sensitive", "Columns to protect; released as they are.")] = (
        None
    )
    identifier: Annotated[str | None, _columns("--identifier", "Columns that name a person; left out.")] = (
        None
    )
    subject: Annotated[
        str | None, _columns("--subject", "The column that tells people apart; k counts people.", "COLUMN")
    ] = None
    keep: Annotated[str | None, _columns("--keep", "Other columns to release as they are.")] = None
    drop: Annotated[str | None, _columns("--drop", "Other columns to leave out.")] = None
    default: Annotated[str | None, _columns("--default", "Role of all other columns: drop.", "drop")] = None
    kind: Annotated[
        list[str] | None,
        _columns("--kind", "numeric, categorical, ordinal or date; found if not given.", "COLUMN=KIND"),
    ] = None
    order: Annotated[
        list[str] | None,
        _columns("--order", "The values of an ordinal column, from low to high.", "COLUMN=LOW,...,HIGH"),
    ] = None
    weight: Annotated[
        list[str] | None,
        _columns("--weight", "How much the loss of this column counts; 1 if not given.", "COLUMN=NUMBER"),
    ] = None
    hierarchy: Annotated[
        list[str] | None,
        _columns(
            "--hierarchy",
            'A file, or a table as a recipe has it: zip="{ prefix = 1 }".',
            "COLUMN=FILE|{...}",
        ),
    ] = None
    accept: Annotated[
        list[str] | None,
        _columns("--accept", "Accept a danger of a column, for example note=unique.", "COLUMN=DANGER"),
    ] = None
    missing: Annotated[
        str | None,
        _rows(
            "--missing",
            "Rows that miss a quasi value: category (missing is a value like any other), suppress or error.",
            "WORD",
        ),
    ] = None
    max_suppressed: Annotated[
        float | None,
        _rows("--max-suppressed", "The largest share of rows that may be left out: 0.02.", "SHARE"),
    ] = None
    missing_values: Annotated[
        str | None, _input("--missing-values", "Texts that mean missing, besides the empty one.", "NA,?")
    ] = None
    names: Annotated[
        str | None, _input("--names", "Column names of a table without a header line.", "A,B")
    ] = None
    separator: Annotated[str | None, _input("--separator", "Between cells; found if not given.", ";")] = None
    encoding: Annotated[str | None, _input("--encoding", "If it is not UTF-8: latin-1.", "NAME")] = None

    def is_empty(self) -> bool:
        """Return whether no flag is given."""
        return all(getattr(self, field.name) is None for field in fields(self))

    def columns(self) -> dict[str, Any]:
        """Return the [columns] section that the flags make."""
        from shoal.recipe import roles_of

        lists = {role: names(getattr(self, role)) for role in _LISTED}
        roles = roles_of(**lists, subject=[self.subject] if self.subject else [])
        section: dict[str, Any] = {name: {"role": role} for name, role in roles.items()}
        for flag, read in _READ.items():
            for name, text in _pairs(flag, getattr(self, flag) or []):
                section.setdefault(name, {})[flag] = read(text)
        for name, danger in _pairs("accept", self.accept or [], at_last=True):
            section.setdefault(name, {}).setdefault("accept", []).append(danger)
        return {**section, "default": self.default}

    def privacy(self) -> dict[str, Any]:
        """Return the keys of the [privacy] section that the flags make."""
        return {"missing": self.missing, "max_suppressed": self.max_suppressed}

    def input(self) -> dict[str, Any]:
        """Return the keys of the [input] section that the flags make."""
        return {
            "missing": ["", *names(self.missing_values)] if self.missing_values else None,
            "names": names(self.names) or None,
            "header": False if self.names else None,
            "separator": "\t" if self.separator == "\\t" else self.separator,
            "encoding": self.encoding,
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


Goals = Annotated[
    list[str] | None,
    typer.Option("--goal", metavar="GOAL", help='Besides k, for example "l-diversity column=disease l=3".'),
]
NoBound = Annotated[
    bool, typer.Option("--no-bound", help="Skip the lower bound of the loss: it saves a few seconds.")
]
SaveRecipe = Annotated[
    Path | None,
    typer.Option("--save-recipe", metavar="FILE", help="Also write what the flags say as a recipe (.toml)."),
]
Views = Annotated[
    str | None,
    typer.Option(
        "--views",
        metavar="WORD|A,B;A,C",
        help="Several tables from one: equal, unequal, nested, or the quasi columns of each; whole for one.",
        rich_help_panel=_VIEWS,
    ),
]
ViewsBy = Annotated[
    str | None,
    typer.Option(
        "--views-by",
        metavar="WORD",
        help="How views are made: clustering (each by itself) or projection (of one clustering).",
        rich_help_panel=_VIEWS,
    ),
]


def read_goals(goals: Iterable[str] | None) -> list[dict[str, Any]] | None:
    """Return the goals that flags state; None without flags, which leaves a recipe's goals as they are."""
    from shoal.recipe.goals import from_text

    return [from_text(text) for text in goals] if goals else None


def read_views(views: str | None, views_by: str | None = None) -> dict[str, Any]:
    """Return the keys of the [output] section that the flags for views make."""
    if views == "whole" and views_by is None:
        return {"views": views, "views_by": "clustering"}  # a recipe's own would have no meaning
    if views is None or views in _VIEW_WORDS:
        return {"views": views, "views_by": views_by}
    if "," not in views and ";" not in views:
        message = "--views takes one of its words, or columns with commas between them and ; between views."
        hint = f'words: {", ".join(_VIEW_WORDS)}; columns: --views "age,sex;age,zip"'
        raise RecipeError("recipe.invalid", message, hint)
    lists = [[name.strip() for name in view.split(",")] for view in views.split(";")]
    return {"views": [[] if names == [""] else names for names in lists], "views_by": views_by}


def is_recipe(source: Path) -> bool:
    """Return whether a file is a recipe, or a manifest, which holds one; any other is a table."""
    from shoal.recipe import MANIFEST_ENDING

    return source.suffix.lower() == ".toml" or source.name.endswith(MANIFEST_ENDING)


def load_recipe(source: Path, changes: dict[str, Any]) -> Recipe:
    """Load a recipe and lay the flags over it; or make one for a table from flags alone."""
    from shoal.recipe import Recipe

    if is_recipe(source):
        return Recipe.load(source, changes=changes)
    return Recipe.from_dict({"input": {"path": str(source.absolute())}}, changes=changes)


def save_recipe(recipe: Recipe, path: Path) -> None:
    """Write a recipe as TOML, with paths as seen from its folder. A recipe that says something else stays."""
    from shoal.table.overwriting import refuse_overwriting
    from shoal.table.write import move_into_place, temporary, write_text

    refuse_overwriting([path], recipe.files)
    text = recipe.moved_to(path.parent).to_toml()
    if path.exists():
        if path.is_file() and path.read_bytes() == text.encode():
            return
        message = f"{path} exists and says something else."
        raise OutputError("output.exists", message, "choose another name for --save-recipe")
    with temporary(path) as file:
        write_text(text, file)
        move_into_place(file, path)


def names(text: str | None) -> list[str]:
    """Split a list of column names at commas."""
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _pairs(flag: str, texts: Iterable[str], *, at_last: bool = False) -> Iterator[tuple[str, str]]:
    """Split COLUMN=TEXT, at the last sign where the name may contain it and the text cannot."""
    for text in texts:
        name, equals, value = text.rpartition("=") if at_last else text.partition("=")
        if not equals or not name.strip() or not value.strip():
            shown, example = _EXAMPLES[flag]
            raise RecipeError("recipe.invalid", f"--{flag} takes {shown}.", f"for example {example}")
        yield name.strip(), value.strip()


def _number(text: str) -> float | str:
    """Read a number; what is none stays a text, so that it is reported with all other faults."""
    try:
        return float(text)
    except ValueError:
        return text


def _hierarchy(text: str) -> str | dict[str, Any]:
    """Read an inline table, or take a path, relative to the working directory as in all flags."""
    if not text.startswith("{"):
        return str(Path(text).absolute())
    try:
        table: dict[str, Any] = tomllib.loads(f"hierarchy = {text}")["hierarchy"]
    except tomllib.TOMLDecodeError:
        message = "A hierarchy in braces is not a TOML table."
        raise RecipeError(
            "recipe.invalid", message, f"for example --hierarchy {_EXAMPLES['hierarchy'][1]}"
        ) from None
    return table


_READ: dict[str, Callable[[str], Any]] = {
    "kind": str,
    "order": names,
    "weight": _number,
    "hierarchy": _hierarchy,
}
_EXAMPLES = {
    "kind": ("COLUMN=KIND", "zip=categorical"),
    "order": ("COLUMN=LOW,...,HIGH", "size=small,medium,large"),
    "weight": ("COLUMN=NUMBER", "age=2"),
    "hierarchy": ("COLUMN=FILE or COLUMN={...}", "zip=zip_tree.csv or zip='{ prefix = 1 }'"),
    "accept": ("COLUMN=DANGER", "note=unique"),
}
