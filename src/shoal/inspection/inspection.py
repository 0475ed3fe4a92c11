"""The result of an inspection."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from shoal.errors import OutputError, printable
from shoal.inspection.combinations import Combination, Contribution
from shoal.inspection.dependencies import Dependency
from shoal.inspection.draft import draft
from shoal.inspection.hierarchies import Choice
from shoal.recipe import Address, Input, Location, Recipe, file_of_table

_SHOWN = 20
HEADS = ("column", "kind", "distinct", "missing", "unique", "role", "reason")


@dataclass(frozen=True)
class InspectedColumn:
    """What was found out about a column, and what is suggested for it.

    Parameters
    ----------
    name : str
        Of the column.
    kind, kind_reason : str
        numeric, categorical, ordinal or date, and why.
    precision : str, optional
        Of dates: day, month or year.
    distinct, missing : int
        Different values, and rows without a value.
    unique_share : float
        Share of the rows with a value that no other row has.
    meaning : str, optional
        What the column is about, such as "birth date", if name or values say so.
    role, reason : str
        The suggested role, and why.
    drafted : Choice
        Kind and hierarchy in the drafted recipe, and how values would be published.
    frequent : list of str
        Its most frequent values, each in at least ten rows; none of an identifier.
    """

    name: str
    kind: str
    kind_reason: str
    precision: str | None
    distinct: int
    missing: int
    unique_share: float
    meaning: str | None
    role: str
    reason: str
    drafted: Choice = field(repr=False)
    frequent: list[str]

    @property
    def hierarchy(self) -> Any:
        """The suggested hierarchy as in a recipe; None if the column needs none, or none is known."""
        return self.drafted.hierarchy if self.role == "quasi" else None

    def to_dict(self) -> dict[str, Any]:
        """Return the column as in JSON."""
        names = ("name", "kind", "kind_reason", "precision", "distinct", "missing", "unique_share", "meaning",
                 "role", "reason", "hierarchy", "frequent")  # fmt: skip
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Inspection:
    """What is in a table, and a recipe for it.

    Parameters
    ----------
    rows : int
        Of the table.
    columns : list of InspectedColumn
        In the order of the table.
    unique : int
        Rows that are unique on all columns that an outsider might know.
    combinations : list of Combination
        The smallest sets of these columns that single people out, ranked.
    contributions : list of Contribution
        How many rows each of these columns makes unique.
    dependencies : list of Dependency
        Columns that determine others.
    notes : list of str
        How the table was read.
    """

    rows: int
    columns: list[InspectedColumn]
    unique: int
    combinations: list[Combination]
    contributions: list[Contribution]
    dependencies: list[Dependency]
    notes: list[str]
    given: Input = field(repr=False)
    source: Location | None = None

    @property
    def identifiers(self) -> list[str]:
        """The columns that identify people directly."""
        return self.named("identifier", "subject")

    def named(self, *roles: str) -> list[str]:
        """Return the columns for which one of these roles is suggested."""
        return [column.name for column in self.columns if column.role in roles]

    @property
    def recipe(self) -> str:
        """The drafted recipe as TOML, with comments; its paths are relative to the working directory."""
        return self._draft(Path())

    def to_recipe(self) -> Recipe:
        """Return the drafted recipe, for `shoal.anonymize`."""
        return Recipe.from_dict(tomllib.loads(self.recipe))

    def write(self, path: str | Path) -> None:
        """Write the drafted recipe; never overwrite a different file."""
        from shoal.table.write import move_into_place, temporary, write_text

        target = Path(path)
        check_target(target)
        text = self._draft(target.parent)
        if target.exists():
            if target.is_file() and target.read_bytes() == text.encode():
                return
            message = f"{target} exists and has different contents."
            raise OutputError("output.exists", message, "choose another name for the recipe")
        with temporary(target) as file:
            write_text(text, file)
            move_into_place(file, target)

    def _draft(self, folder: Path) -> str:
        people = next((column.distinct for column in self.columns if column.role == "subject"), self.rows)
        path = None if self.source is None else _relative(self.source, folder)
        stem = self.given.table or "release"
        if isinstance(self.source, Path):
            stem = _stem(self.source)
        elif isinstance(self.source, Address):
            stem = file_of_table(stem).name
        output = f"{stem}-anonymous.csv"
        return draft(self.columns, self.given, rows=self.rows, people=people, path=path, output=output)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as in JSON."""
        return {
            "rows": self.rows,
            "columns": [column.to_dict() for column in self.columns],
            "identifiers": self.identifiers,
            "unique": self.unique,
            "combinations": [one.to_dict() for one in self.combinations],
            "contributions": [one.to_dict() for one in self.contributions],
            "dependencies": [one.to_dict() for one in self.dependencies],
            "notes": self.notes,
            "recipe": self.recipe,
        }

    def __repr__(self) -> str:
        lines = [f"Inspection: {self.rows:,} rows, {len(self.columns)} columns"]
        wide = max((len(printable(column.name)) for column in self.columns), default=0)
        for column in self.columns:
            about = f"{column.role:<10}  {column.kind:<11}  {column.reason}"
            lines.append(f"  {printable(column.name):<{wide}}  {about}")
        lines += [f"  {line}" for line in self.found_lines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the inspection in a notebook."""
        head = "".join(f"<th>{name}</th>" for name in HEADS)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self.table()
        )
        found = "".join(f"<li>{escape(line)}</li>" for line in self.found_lines())
        return f"<table><caption>{self.rows:,} rows</caption><tr>{head}</tr>{body}</table><ul>{found}</ul>"

    def table(self) -> list[tuple[str, ...]]:
        """Return one line for each column, as texts, in the order of `HEADS`."""
        return [
            (
                printable(column.name),
                f"{column.kind} ({column.precision})" if column.precision else column.kind,
                f"{column.distinct:,}",
                f"{column.missing:,}",
                f"{column.unique_share:.1%}",
                column.role,
                printable(column.reason),
            )
            for column in self.columns
        ]

    def found_lines(self) -> list[str]:
        """Return what singles people out, and what determines what, in sentences."""
        lines = [f"unique on all columns that others may know: {self.unique:,} of {self.rows:,} rows"]
        lines += [f"singles out: {one}" for one in self.combinations]
        lines += [f"dependency: {one}" for one in shortened(self.dependencies)]
        return [printable(line) for line in lines]


def _stem(source: Path) -> str:
    """Return the name of a table without extensions; of a pattern, that of the folder it starts from."""
    from shoal.table.compressed import inner_name
    from shoal.table.formats import is_several

    if is_several(source) and not source.is_dir():
        return next((part.name for part in source.parents if part.is_dir()), "") or "release"
    return inner_name(source).stem


def _relative(path: Location, folder: Path) -> str:
    if isinstance(path, Address):
        return str(path)  # without a password
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another Windows drive
        return str(path.absolute())


def shortened(dependencies: Sequence[Dependency]) -> list[str]:
    """Return dependencies in words, mutual ones in one direction only, and at most `_SHOWN` of them."""
    found = [str(one) for one in _once(dependencies)]
    more = len(found) - _SHOWN
    return [*found[:_SHOWN], f"and {more:,} more"] if more > 0 else found


def _once(dependencies: Sequence[Dependency]) -> list[Dependency]:
    seen: set[frozenset[str]] = set()
    found = []
    for one in dependencies:
        pair = frozenset((one.source, one.target))
        if pair not in seen:
            found.append(one)
        if one.mutual:
            seen.add(pair)
    return found


def check_target(path: Path) -> None:
    """Refuse a path to which no recipe can be written, before any work is done."""
    if path.suffix.lower() != ".toml":
        message = f"The recipe {path} would not have the extension .toml."
        raise OutputError("output.unwritable", message, "name it recipe.toml, for example")
    if not path.parent.is_dir():
        message = f"The output folder {path.parent} does not exist."
        raise OutputError("output.unwritable", message, "create the folder, or write elsewhere")
