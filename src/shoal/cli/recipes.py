"""The recipe of a command: from a file, or from a table and flags; and writing it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OutputError

if TYPE_CHECKING:
    from shoal.recipe import Location, Recipe


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
