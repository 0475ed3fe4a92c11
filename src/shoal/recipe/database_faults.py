"""Faults in what a recipe says about databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import Fault, RecipeError
from shoal.recipe.addresses import is_address, split_name
from shoal.recipe.sections import Input
from shoal.recipe.shape import Shape
from shoal.wording import name_of, setting

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe


def database_faults(recipe: Recipe) -> list[Fault]:
    """Check tables, queries and addresses."""
    faults = _input_faults(recipe.input)
    faults += target_faults(recipe.output.path, recipe.output.table, recipe.shape)
    if recipe.output.ledger is not None and is_address(recipe.output.path):
        message = "A ledger does not take releases in a database."
        hint = f"write the release to a file, or remove {name_of('output', 'ledger')}"
        faults.append(Fault("recipe.not_available", message, hint))
    if recipe.engine.name == "spark" and any(map(is_address, (recipe.input.path, recipe.output.path))):
        message = "The engine `spark` neither reads from a PostgreSQL database nor writes to one."
        hint = "use the engine local, or export the table to Parquet files"
        faults.append(Fault("recipe.not_available", message, hint))
    return faults


def check_input(given: Input) -> None:
    """Refuse what does not fit together about an input outside of a recipe."""
    if faults := _input_faults(given):
        raise RecipeError.from_faults(faults)


def _input_faults(given: Input) -> list[Fault]:
    faults = []
    table, query = name_of("input", "table"), name_of("input", "query")
    if given.query is not None and given.table is not None:
        message = f"{table} and {query} are given, which name two different tables."
        faults.append(Fault("recipe.invalid", message, "give one of them"))
    if given.query is not None and given.path is not None and not is_address(given.path):
        message = f"{query} is given, but the input is a file."
        hint = f"remove it, or give the address of a database: {setting('input', 'path', _EXAMPLE)}"
        faults.append(Fault("recipe.invalid", message, hint))
    if not is_address(given.path):
        return faults
    if given.table is not None and split_name(given.table) is None:
        faults.append(_not_a_table(table))
    for key in ("names", "separator", "encoding"):
        if getattr(given, key) is not None:
            message = f"{name_of('input', key)} is given, but the input is a database, not a text file."
            faults.append(Fault("recipe.invalid", message, "remove it"))
    return faults


def target_faults(path: str | None, table: str | None, shape: Shape) -> list[Fault]:
    """Check where a release goes; the table of a database does not matter if a flag names a file instead."""
    if not is_address(path):
        return []
    faults = []
    if table is None:
        message = "The output is a database, but its table is not named."
        faults.append(Fault("recipe.invalid", message, f"add {setting('output', 'table', 'people_k5')}"))
    elif split_name(table) is None:
        faults.append(_not_a_table(name_of("output", "table")))
    if shape in (Shape.VIEWS, Shape.TWO_TABLES):
        message = f"This version of shoal does not write {shape.value} to a database yet."
        faults.append(Fault("recipe.not_available", message, "write them to files"))
    return faults


_EXAMPLE = "postgresql://host/database"


def _not_a_table(name: str) -> Fault:
    message = f"{name} is not the name of a table."
    hint = 'give table or schema.table, as stored; names with a dot in double quotes: "a.b"'
    return Fault("recipe.invalid", message, hint)
