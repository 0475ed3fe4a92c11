"""Projects: folders with a recipe, its table, its hierarchies and its releases.

The recipe file is the state. Every change on a page is validated and written to it at once, so closing
the browser loses nothing, and the command line turns the same file into the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, RLock
from typing import Any

from shoal.errors import RecipeError
from shoal.recipe import Input, Recipe, is_address, to_toml
from shoal.table.write import move_into_place, temporary, write_text
from shoal.web.folder import Folder
from shoal.web.inspections import Inspections
from shoal.web.refusals import Refusal, not_found

_PREVIOUS = "previous.toml"
RECIPE, HIERARCHIES, RELEASES, PRIVATE = "recipe.toml", "hierarchies", "releases", ".shoal"
# Starts with a letter or a digit: no dots, slashes or spaces that would make it another path.
_NAME = re.compile(r"[^\W_](?:[\w .()-]{0,62}[\w)-])?")
_ODD = re.compile(r"[^\w ()-]+")

Sections = dict[str, Any]


@dataclass(frozen=True)
class Project:
    """A project.

    Parameters
    ----------
    name : str
        Of its folder, and in addresses.
    folder : Path
        With all links followed.
    served : Folder
        Which nothing may leave.
    lock : RLock
        Held while the recipe is changed.
    """

    name: str
    folder: Path
    served: Folder
    lock: RLock

    @property
    def recipe_file(self) -> Path:
        """The recipe."""
        return self.folder / RECIPE

    @property
    def hierarchies(self) -> Path:
        """The folder of its hierarchies; it may not exist yet."""
        return self.inside(HIERARCHIES)

    @property
    def private(self) -> Path:
        """The folder of what only the page needs, created for its owner alone."""
        place = self.inside(PRIVATE)
        place.mkdir(mode=0o700, exist_ok=True)
        return place

    def text(self) -> str:
        """Return the recipe as it is written."""
        try:
            return self.inside(RECIPE).read_text(encoding="utf-8")
        except (OSError, ValueError):
            message = f"The recipe of the project {self.name} cannot be read."
            raise RecipeError("recipe.unreadable", message, "it must be a file in UTF-8") from None

    def version(self) -> str:
        """Return a digest of the recipe file, by which a page knows whether it is up to date."""
        return hashlib.sha256(self.text().encode()).hexdigest()[:16]

    def sections(self) -> Sections:
        """Return the recipe as nested dictionaries, read but not validated."""
        try:
            return tomllib.loads(self.text())
        except (tomllib.TOMLDecodeError, RecursionError):  # the message would quote the file
            message = f"The recipe of the project {self.name} is not valid TOML."
            hint = "look for a duplicate table or key, or a missing quote"
            raise RecipeError("recipe.unreadable", message, hint) from None

    def recipe(self) -> Recipe:
        """Return the validated recipe; refuse one that names files outside the served folder."""
        return self.checked(self.sections())

    def checked(self, sections: Sections) -> Recipe:
        """Validate sections as the recipe of this project."""
        refuse_databases(sections)
        recipe = Recipe.from_dict(sections, base=self.folder)
        recipe._file = self.recipe_file
        for what, path in recipe.files.items():
            self._confine(what, path)
        if recipe.output.ledger is not None:  # it may be anywhere, and would be written to
            message = "A release made on the page cannot be entered into a ledger."
            hint = "remove ledger from [output], and run shoal anonymize --ledger for that"
            raise RecipeError("recipe.not_available", message, hint)
        return recipe

    def table(self) -> Path:
        """Return the file of the table."""
        return self.table_of(self.sections())

    def table_of(self, sections: Sections) -> Path:
        """Return the file of the table that sections name, even if the rest of them is invalid."""
        refuse_databases(sections)
        given = sections.get("input")
        path = given.get("path") if isinstance(given, dict) else None
        if not isinstance(path, str):
            message = "The recipe does not name a table."
            raise RecipeError("recipe.invalid", message, "add path = ... to [input]")
        return self._confine("the input", self.folder / path)

    def change(self, edit: Callable[[Sections], None], version: str | None = None) -> Recipe:
        """Change the recipe: edit its sections, validate them, and write them; all of it or nothing.

        Parameters
        ----------
        edit : callable
            Changes the sections, as parsed from TOML, in place.
        version : str, optional
            The version that the page showed. If the recipe has changed since, the change is refused.
        """
        with self.lock:
            self.expect(version)
            sections = self.sections()
            edit(sections)
            recipe = self.checked(sections)
            self.write(to_toml(sections))
        return recipe

    def replace_text(self, text: str, version: str | None = None) -> Recipe:
        """Replace the recipe by a TOML text, comments included, once it is validated."""
        try:
            sections = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            hint = "look for a duplicate table or key, or a missing quote"
            raise RecipeError("recipe.unreadable", "The recipe is not valid TOML.", hint) from None
        with self.lock:
            self.expect(version)
            recipe = self.checked(sections)
            self.write(text)
        return recipe

    def expect(self, version: str | None) -> None:
        """Refuse a change of a recipe that is no longer what the page showed."""
        if version is not None and version != self.version():
            message = "The recipe has been changed in another window or by another program."
            raise Refusal(409, "web.changed", message, "reload the page, then repeat the change")

    def write(self, text: str) -> None:
        """Replace the recipe file atomically. The text has been validated."""
        with self.lock, temporary(self.recipe_file) as file:
            write_text(text, file)
            move_into_place(file, self.recipe_file)

    def take_table(self, upload: Path, name: str) -> Recipe:
        """Replace the table by an uploaded file, and keep the rest of the recipe."""
        with self.lock:
            place = self.folder / name
            if place.is_symlink() or place.name in (RECIPE, HIERARCHIES, RELEASES):
                raise Refusal(403, "web.outside", "This name is not free in the project.", "rename the file")
            sections = self.sections()
            sections.setdefault("input", {})["path"] = name
            recipe = self.checked(sections)
            os.replace(upload, place)
            self.write(to_toml(sections))
        return recipe

    def replace_undoably(self, text: str, version: str | None = None) -> None:
        """Replace the recipe, and keep the present one, so that `bring_back` can undo it."""
        with self.lock:
            present = self.text()
            self.replace_text(text, version)
            kept = self.private / _PREVIOUS
            with open(
                os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
            ) as file:
                file.write(present)

    def can_bring_back(self) -> bool:
        """Whether there is a recipe to bring back."""
        return (self.folder / PRIVATE / _PREVIOUS).is_file()

    def bring_back(self) -> None:
        """Exchange the recipe with the one that was kept."""
        with self.lock:
            try:
                text = (self.private / _PREVIOUS).read_text(encoding="utf-8")
            except OSError:
                raise not_found("earlier recipe to bring back") from None
            self.replace_undoably(text)

    def inside(self, *parts: str | Path) -> Path:
        """Return a path below the project's folder with all links followed; refuse one that leads outside."""
        found = self.served.inside(self.folder, *parts)
        if not found.is_relative_to(self.folder):
            raise Refusal(403, "web.outside", "The path leads out of the project.", "choose a file inside it")
        return found

    def _confine(self, what: str, path: Path) -> Path:
        try:
            return self.served.inside(path)
        except Refusal as refusal:
            message = f"{what[0].upper()}{what[1:]} is outside the folder that is served."
            raise Refusal(403, refusal.code, message, refusal.hint) from None


def refuse_databases(sections: Sections) -> None:
    """Refuse the address of a database, which is outside of the folder."""
    for section in ("input", "output"):
        given = sections.get(section)
        path = given.get("path") if isinstance(given, dict) else None
        if isinstance(path, str) and is_address(path):
            message = f"The {section} is a database, which is outside the folder that is served."
            hint = "run the recipe on the command line, or export the table into the folder"
            raise Refusal(403, "web.outside", message, hint)


class Projects:
    """All projects below the served folder."""

    def __init__(self, served: Folder, demo_rows: int = 10_000) -> None:
        self.served = served
        self._demo_rows = demo_rows
        self.inspections = Inspections()
        self._locks: dict[Path, RLock] = {}
        self._lock = Lock()

    def all(self) -> list[Project]:
        """List the projects by name."""
        try:
            entries = sorted(os.scandir(self.served.path), key=lambda entry: entry.name.casefold())
        except OSError:
            return []
        found = []
        for entry in entries:
            try:
                found.append(self.get(entry.name))
            except Refusal:
                continue
        return found

    def get(self, name: str) -> Project:
        """Return a project by name."""
        if not _NAME.fullmatch(name):
            raise not_found("project with this name")
        try:
            folder = self.served.inside(name)
        except Refusal:
            raise not_found("project with this name") from None
        if not (folder / RECIPE).is_file() or folder == self.served.path:
            raise not_found("project with this name")
        return self._project(name, folder)

    def open_table(self, path: str, name: str | None = None, table: str | None = None) -> Project:
        """Make a project for a file in the folder, or one of its sheets. The file stays where it is."""
        file = self.served.inside(path)
        if not file.is_file():
            raise not_found("such file in the folder")
        with self._made(name or file.stem) as project:
            self._draft(project, file, table)
        return project

    def take_upload(self, upload: Path, file_name: str, table: str | None = None) -> Project:
        """Make a project of an uploaded file, which is moved into it."""
        with self._made(Path(file_name).stem) as project:
            file = project.folder / file_name
            os.replace(upload, file)
            self._draft(project, file, table)
        return project

    def demo(self) -> Project:
        """Make the demo project, or return it if it exists."""
        from shoal.datasets import write_hospital

        with self._lock_of(self.served.path / "demo"):
            try:
                return self.get("demo")
            except Refusal:
                pass
            with self._made("demo") as project:
                drafted = write_hospital(project.folder, self._demo_rows)
                recipe = Recipe.load(drafted)
                project.hierarchies.mkdir()
                for file in project.folder.glob("hospital_*.csv"):
                    file.rename(project.hierarchies / file.name)
                sections = recipe.to_dict()
                for column in sections["columns"].values():
                    if isinstance(column.get("hierarchy"), str):
                        column["hierarchy"] = f"{HIERARCHIES}/{column['hierarchy']}"
                project.checked(sections)
                project.write(to_toml(sections))
                drafted.unlink()
        return project

    def _draft(self, project: Project, file: Path, table: str | None) -> None:
        """Inspect a table and write the recipe that is suggested for it."""
        given = None if table is None else Input(table=table)
        self.inspections.of(file, given).write(project.recipe_file)

    @contextmanager
    def _made(self, wanted: str) -> Iterator[Project]:
        """Make the folder of a project; remove it again if it cannot be filled."""
        name, folder = self._new_folder(wanted)
        try:
            yield self._project(name, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _new_folder(self, wanted: str) -> tuple[str, Path]:
        """Make a folder with a name that no other has."""
        name = _ODD.sub(" ", wanted).strip(" _-")[:48].strip() or "project"
        if not _NAME.fullmatch(name):
            name = "project"
        for number in range(1, 10_000):
            numbered = name if number == 1 else f"{name}-{number}"
            folder = self.served.path / numbered
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                continue
            except OSError as error:
                message = f"The folder of the project cannot be made: {error.strerror or 'unknown reason'}."
                raise Refusal(500, "web.unwritable", message, "check free space and permissions") from None
            return numbered, folder
        raise Refusal(409, "web.exists", "There are too many projects with this name.", "choose another name")

    def _project(self, name: str, folder: Path) -> Project:
        return Project(name, folder, self.served, self._lock_of(folder))

    def _lock_of(self, folder: Path) -> RLock:
        with self._lock:
            return self._locks.setdefault(folder, RLock())
