"""The hierarchies of a project: the current one of a column, and how it is replaced, undone and redone.

The recipe and the files in `hierarchies/` are the state. Earlier versions are in `.shoal/trees/`.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.hierarchy.history import OUTSIDE, History, Version, write_private
from shoal.hierarchy.suggest import Plan
from shoal.hierarchy.writing import EXTENSIONS
from shoal.recipe import Recipe
from shoal.recipe.codes import CODES
from shoal.recipe.trees import INDUCE, is_file
from shoal.web.counted import Counted
from shoal.web.projects import HIERARCHIES, Project, Sections
from shoal.web.refusals import Refusal, not_found
from shoal.workflow.column_tree import Builder, ColumnTree, built, edited, imported, kind_for

MOST_VALUES = 100_000  # of a column whose tree is drawn

_UNSAFE = re.compile(r"[^\w-]+")


def column_key(name: str) -> str:
    """Return a short name for a column, for addresses and folders; column names may contain anything."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def described(hierarchy: Any) -> str:
    """Say in a few words what a hierarchy in a recipe is."""
    if hierarchy is None:
        return "none"
    if isinstance(hierarchy, str):
        if hierarchy in CODES:
            return f"the known structure of {CODES[hierarchy]}"
        return "induced from the table" if hierarchy == INDUCE else f"the file {Path(hierarchy).name}"
    builder = next(iter(hierarchy), "")
    levels = hierarchy.get(builder)
    if builder == "prefix" and isinstance(levels, int):
        return str(Plan("prefix", (levels,)))
    if builder == "intervals" and isinstance(levels, list):
        return str(Plan("intervals", tuple(levels)))
    if builder == "dates" and isinstance(levels, list):
        return str(Plan("dates", tuple(levels)))
    if builder == INDUCE and isinstance(levels, list):
        return f"induced from the table, by {', '.join(map(str, levels))}"
    return "a tree in the recipe"


@dataclass(frozen=True)
class Desk:
    """The hierarchy of one column of a project, to look at and to change.

    Parameters
    ----------
    project : Project
    recipe : Recipe
        As it was read for this request.
    name : str
        Of the column.
    counted : Counted
        What is known about the columns.
    """

    project: Project
    recipe: Recipe
    name: str
    counted: Counted

    @classmethod
    def open(cls, project: Project, key: str, counted: Counted) -> Desk:
        """Open the column with a key, as made by `column_key`."""
        recipe = project.recipe()
        for name in recipe.columns:
            if column_key(name) == key:
                return cls(project, recipe, name, counted)
        raise not_found("such column in the recipe")

    @property
    def table(self) -> Path:
        """The file of the table."""
        return self.project.table()

    @property
    def history(self) -> History:
        """The versions of the hierarchy."""
        return History(self.project.private / "trees" / column_key(self.name))

    def current(self) -> Version:
        """Return the version that the recipe and the file on disk are."""
        column = self.recipe.columns[self.name]
        content = None
        if isinstance(column.hierarchy, str) and is_file(column.hierarchy):
            with suppress(OSError):  # a missing file is reported when the tree is read
                content = self.project.served.inside(self.recipe.resolve(column.hierarchy)).read_bytes()
        return Version(column.hierarchy, column.kind, content)

    def column(self) -> ColumnTree:
        """Return the hierarchy and the values of the column."""
        now = self.current()
        before = self.history.current
        is_data = before is not None and before.key == now.key and before.is_data
        return self.counted.tree(self.recipe, self.table, self.name, now.content, is_data)

    def values(self, builder: Builder = "none", levels: Any = ()) -> ColumnTree:
        """Return the column without a tree, with values of the kind that a builder needs."""
        found = self.counted.values(self.recipe, self.table, self.name, kind_for(builder, levels))
        return ColumnTree(self.name, found, None)

    def natural_kind(self) -> str:
        """Return the kind that the values have by themselves."""
        return self.counted.natural_kind(self.recipe, self.table, self.name)

    def build(self, builder: Builder, levels: list[Any]) -> Desk:
        """Build another hierarchy."""
        return self.replaced(built(self.values(builder, levels), builder, levels, self._file(".csv")))

    def edit(self, column: ColumnTree, tree: Any, note: str) -> Desk:
        """Replace the tree by an edited one."""
        given = column_file(self.recipe, self.name)
        extension = Path(given).suffix.lower() if given else ".csv"
        return self.replaced(edited(column, tree, note, self._file(extension)))

    def take(self, content: bytes, extension: str, *, complete: bool) -> Desk:
        """Replace the tree by the content of a file."""
        file = self._file(extension)
        column = self.values()
        return self.replaced(imported(column, content, extension, file, complete=complete))

    def undo(self) -> Desk:
        """Go back to the version before."""
        return self._go(back=True)

    def redo(self) -> Desk:
        """Go forward again."""
        return self._go(back=False)

    def replaced(self, version: Version) -> Desk:
        """Write a version to the recipe and to its file, and record it."""
        with self.project.lock:
            history = self._synced()
            desk = self._written(version)
            history.record(version)
        return desk

    def _go(self, *, back: bool) -> Desk:
        with self.project.lock:
            history = self._synced()
            version = history.undo() if back else history.redo()
            if version is None:
                what = "undo" if back else "redo"
                raise Refusal(409, "web.nothing", f"There is nothing to {what}.")
            try:
                return self._written(version)
            except BaseException:
                history.redo() if back else history.undo()
                raise

    def _synced(self) -> History:
        """Return the history with the current version as its last, even if another program made it."""
        history, now = self.history, self.current()
        before = history.current
        if before is None or before.key != now.key:
            history.record(Version(now.hierarchy, now.kind, now.content, note=OUTSIDE))
        return history

    def _written(self, version: Version) -> Desk:
        """Write the file, then the recipe; if the recipe is refused, the file is as before."""
        if version.content is None:
            return self._with_recipe(version)
        place = self.project.served.inside(self.recipe.resolve(version.hierarchy))
        before = place.read_bytes() if place.is_file() else None
        if before == version.content:
            return self._with_recipe(version)
        if not place.is_relative_to(self.project.inside(HIERARCHIES)):
            message = f"The file {place.name} has been changed since, and is not in the project."
            raise Refusal(409, "web.changed", message, "import it, or change the recipe")
        write_private(place, version.content)
        try:
            return self._with_recipe(version)
        except BaseException:
            if before is None:
                place.unlink(missing_ok=True)
            else:
                write_private(place, before)
            raise

    def _with_recipe(self, version: Version) -> Desk:
        def edit(sections: Sections) -> None:
            column = sections["columns"][self.name]
            for key, value in (("hierarchy", version.hierarchy), ("kind", version.kind)):
                column.pop(key, None)
                if value is not None:
                    column[key] = value

        # What a recipe can say may still not fit the values: the tree is built before anything is written.
        sections = self.project.sections()
        edit(sections)
        recipe = self.project.checked(sections)
        n_values = len(self.counted.values(recipe, self.table, self.name).values)
        if version.content is None and version.hierarchy is not None and n_values <= MOST_VALUES:
            self.counted.tree(recipe, self.table, self.name, None, is_data=True)
        return Desk(self.project, self.project.change(edit), self.name, self.counted)

    def _file(self, extension: str) -> str:
        """Return the path of the file that the page writes for the column.

        Files that somebody else made are not overwritten, nor those of other columns.
        """
        extension = extension if extension in EXTENSIONS else ".csv"
        used = {column_file(self.recipe, other) for other in self.recipe.columns if other != self.name}
        own = self.history.made
        stem = _UNSAFE.sub("-", self.name).strip("-")[:60] or "column"
        for number in range(1, 10_000):
            file = f"{HIERARCHIES}/{stem if number == 1 else f'{stem}-{number}'}{extension}"
            is_free = not (self.project.folder / file).exists() or file in own
            if is_free and file not in used:
                return file
        raise Refusal(409, "web.exists", "There are too many hierarchy files.", "remove some of them")


def column_file(recipe: Recipe, name: str) -> str | None:
    """Return the hierarchy file of a column, as the recipe names it."""
    hierarchy = recipe.columns[name].hierarchy
    return hierarchy if isinstance(hierarchy, str) and is_file(hierarchy) else None
