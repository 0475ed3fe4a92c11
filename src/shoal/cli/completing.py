"""What the shell proposes on Tab: methods, goals, and the columns of the table that is named before."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import typer

# Names come from a file that somebody else may have written, and the shell puts them on the command line: no
# space, quote or dollar sign may get there. Commas separate names.
_PLAIN = re.compile(r"[\w.+-]+")


def complete_method(incomplete: str) -> list[str]:
    """Propose methods."""
    from shoal.recipe.options import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


def complete_methods(incomplete: str) -> list[str]:
    """Propose methods for a list that is separated by commas."""
    return _in_list(["all", *complete_method("")], incomplete)


def complete_goal(ctx: typer.Context, incomplete: str) -> list[str]:
    """Propose the types of goals, then their keys, and columns for the key `column`."""
    from shoal.recipe.goals import KEYS_OF

    written, space, last = incomplete.rpartition(" ")
    if not space:
        return [name for name in KEYS_OF if name.startswith(incomplete)]
    key, equals, _ = last.partition("=")
    if key == "column" and equals:
        return [f"{written} column={name}" for name in _columns(ctx)]
    used = {part.partition("=")[0] for part in written.split()[1:]}
    return [f"{written} {name}=" for name in KEYS_OF.get(written.split()[0], ()) if name not in used]


def complete_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Propose the columns of the table, for a list that is separated by commas."""
    return _in_list(_columns(ctx), incomplete)


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Propose a column of the table."""
    return [name for name in _columns(ctx) if name.startswith(incomplete)]


def complete_pair(ctx: typer.Context, incomplete: str) -> list[str]:
    """Propose the columns of the table, for COLUMN=VALUE."""
    return [f"{name}=" for name in complete_column(ctx, incomplete)]


def _in_list(names: Iterable[str], incomplete: str) -> list[str]:
    """Propose names for the last place of a list, without those that it already has."""
    before, comma, last = incomplete.rpartition(",")
    used = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in used]


def _columns(ctx: typer.Context) -> list[str]:
    """Return the names in the header of the first table on the command line; none if it cannot be read."""
    # Click stops parsing at the flag that has no value yet: what stands before it is left in `args`.
    given = [Path(word) for word in (*ctx.args, *ctx.params.values()) if isinstance(word, (str, Path))]
    try:
        path = next(path for path in given if path.is_file())
        return [name for name in _header(path) if _PLAIN.fullmatch(name)]
    except Exception:  # whatever is wrong, Tab must print nothing but proposals
        return []


def _header(path: Path) -> list[str]:
    """Read the column names of a table, or of the table that a recipe names."""
    import polars as pl

    from shoal.cli.recipes import is_recipe
    from shoal.recipe import Input, Recipe
    from shoal.table.formats import is_text
    from shoal.table.read import first_records

    given = Input()
    if is_recipe(path):
        recipe = Recipe.load(path)
        path, given = recipe.resolve(recipe.input.path or ""), recipe.reading
    if given.names is not None:
        return given.names
    if path.suffix.lower() == ".parquet":
        return list(pl.read_parquet_schema(path))
    if path.suffix.lower() in (".arrow", ".feather"):
        return list(pl.read_ipc_schema(path))
    return first_records(path, given)[0] if is_text(path) else []
