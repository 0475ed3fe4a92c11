"""The releases of a project: `releases/1`, `releases/2` and so on, each a folder that never changes again.

A folder holds the release, its manifest and its dossier, the recipe with which it was made, and copies of the
hierarchies that the recipe names, so that later changes of a hierarchy do not change what a release was.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.recipe import MANIFEST_SUFFIX, Recipe, is_file, to_toml
from shoal.table.write import sha256
from shoal.web.projects import HIERARCHIES, RECIPE, RELEASES, Project, refuse_databases
from shoal.web.refusals import Refusal, not_found

_UNFINISHED = ".run-"
_REPORT = ".report.html"


@dataclass(frozen=True)
class Made:
    """A release of a project."""

    project: Project
    number: int
    folder: Path

    @property
    def manifest(self) -> Path:
        """The file of its manifest."""
        found = sorted(self.folder.glob(f"*{MANIFEST_SUFFIX}"))
        if not found:
            raise not_found(f"manifest of release {self.number}")
        return self.project.inside(found[0])

    @property
    def target(self) -> Path:
        """The name that its tables share; usually the table itself."""
        return Path(str(self.manifest).removesuffix(MANIFEST_SUFFIX))

    @property
    def tables(self) -> list[Path]:
        """The released tables: one, or several views."""
        from shoal.table.siblings import listed_tables, part_paths

        target = self.target
        names = [target] if target.exists() else [*part_paths(target), *listed_tables(target)]
        return [self.project.inside(file) for file in names if file.exists()]

    @property
    def reports(self) -> list[Path]:
        """The dossiers: one, or one for each view."""
        return [self.project.inside(file) for file in sorted(self.folder.glob(f"*{_REPORT}"))]

    @property
    def trees(self) -> list[Path]:
        """The copies of its hierarchies."""
        return [self.project.inside(file) for file in sorted((self.folder / HIERARCHIES).glob("*"))]

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says."""
        try:
            found = json.loads(self.manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict):
            raise not_found(f"readable manifest of release {self.number}")
        return found

    def summary(self) -> dict[str, Any]:
        """Return the few numbers by which releases are compared, as the manifest says them.

        The highest risk is that of the most exposed person, 1 / k. The average risk is the number of classes
        divided by that of rows: the share of people found by guessing among those who look alike.
        """
        facts = self.facts()
        release, recipe = _table(facts.get("release")), _table(facts.get("recipe"))
        goals = [goal for goal in facts.get("goals") or [] if isinstance(goal, dict)]
        k = next((goal.get("achieved") for goal in goals if goal.get("type") == "k-anonymity"), None)
        loss, rows, classes = _table(facts.get("loss")), release.get("rows"), release.get("classes")
        return {
            "number": self.number,
            "name": self.target.name,
            "k": _table(recipe.get("privacy")).get("k"),
            "achieved": k,
            "goals": goals,
            "holds": all(goal.get("holds") for goal in goals),
            "method": _table(facts.get("method")).get("name"),
            "rows": rows,
            "suppressed": facts.get("suppressed"),
            "classes": classes,
            "loss": loss.get("il"),
            "gcp": loss.get("gcp"),
            "bound": facts.get("bound"),
            "highest_risk": 1 / k if k else None,
            "average_risk": classes / rows if k and classes and rows else None,
            "dangers": len([danger for danger in facts.get("dangers") or [] if not danger.get("accepted")]),
            "composition": facts.get("composition"),
        }

    def recipe(self) -> Recipe:
        """Return the recipe with which it was made; its paths are relative to its folder."""
        recipe = Recipe.load(self.project.inside(self.folder / RECIPE))
        refuse_databases(recipe.to_dict())
        for file in recipe.files.values():
            self.project.served.inside(file)
        return recipe

    def portable_recipe(self) -> str:
        """Return its recipe with absolute paths: it can be saved anywhere on this machine."""
        return to_toml(_with_paths(self.recipe(), lambda path: str(path.resolve())))


class Releases:
    """The releases of a project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.folder = project.folder / RELEASES

    def all(self) -> list[Made]:
        """List the releases, the oldest first."""
        try:
            names = [entry.name for entry in os.scandir(self.folder) if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        numbers = sorted(int(name) for name in names if name.isascii() and name.isdigit())
        return [Made(self._project, number, self.folder / str(number)) for number in numbers]

    def get(self, number: int) -> Made:
        """Return a release by number."""
        for made in self.all():
            if made.number == number:
                return made
        raise not_found(f"release {number} in this project")

    def add(self, folder: Path) -> int:
        """Give a finished run its number; from now on it is a release."""
        with self._project.lock:
            number = max((made.number for made in self.all()), default=0) + 1
            os.rename(folder, self.folder / str(number))
        return number

    def remove_unfinished(self) -> None:
        """Remove what runs left that did not end."""
        for folder in self.folder.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def restore(self, number: int, version: str | None = None) -> None:
        """Make the recipe of a release the recipe of the project again.

        A hierarchy that has changed since is not overwritten: that of the release gets another name.
        """
        made = self.get(number)
        project = self._project
        with project.lock:
            project.expect(version)
            kept = {file: self._restored(file, number) for file in made.trees}
            sections = _with_paths(made.recipe(), lambda path: kept.get(path) or _relative(path, project))
            project.replace_undoably(to_toml(sections))

    def _restored(self, file: Path, number: int) -> str:
        """Copy the hierarchy of a release into the project; return its path there."""
        folder = self._project.hierarchies
        folder.mkdir(exist_ok=True)
        for name in (file.name, f"{file.stem}-release-{number}{file.suffix}"):
            place = folder / name
            if not place.exists():
                shutil.copyfile(file, place)
            if sha256(place) == sha256(file):
                return f"{HIERARCHIES}/{name}"
        raise Refusal(
            409,
            "web.exists",
            f"The hierarchy {file.name} of release {number} has been changed twice.",
            f"rename one of the files in the folder {HIERARCHIES}",
        )


def prepared(project: Project) -> Path:
    """Make the folder of a run, with the recipe as it is now and copies of its hierarchies."""
    recipe = project.recipe()
    parent = project.folder / RELEASES
    parent.mkdir(exist_ok=True, mode=0o700)
    if not project.inside(RELEASES).is_dir():
        raise Refusal(403, "web.outside", "The folder of the releases is not a folder.", "remove it")
    folder = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=parent))
    try:
        (folder / HIERARCHIES).mkdir()

        def moved(path: Path) -> str:
            # A population may be large, and is not edited here.
            return os.path.relpath(path, folder)

        sections = _with_paths(recipe, moved, lambda path: _copied(path, folder))
        name = Path(recipe.output.path or f"{project.name}-anonymous.csv").name
        sections.setdefault("output", {})["path"] = name
        (folder / RECIPE).write_text(to_toml(sections), encoding="utf-8")
        Recipe.load(folder / RECIPE)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _copied(path: Path, folder: Path) -> str:
    """Copy a hierarchy into the folder of a run; return its path there."""
    place = folder / HIERARCHIES / path.name
    number = 1
    while place.exists():
        number += 1
        place = place.with_name(f"{path.stem}-{number}{path.suffix}")
    try:
        shutil.copyfile(path, place)
    except OSError:
        return os.path.relpath(path, folder)  # reading it will say what is wrong
    return f"{HIERARCHIES}/{place.name}"


def _relative(path: Path, project: Project) -> str:
    return Path(os.path.relpath(path, project.folder)).as_posix()


def _with_paths(
    recipe: Recipe, other: Callable[[Path], str], hierarchy: Callable[[Path], str] | None = None
) -> dict[str, Any]:
    """Return the sections of a recipe with its paths replaced."""
    sections = recipe.to_dict()
    if recipe.input.path is not None:
        sections["input"]["path"] = other(recipe.resolve(recipe.input.path))
    for name, column in recipe.columns.items():
        if isinstance(column.hierarchy, str) and is_file(column.hierarchy):
            path = recipe.resolve(column.hierarchy)
            sections["columns"][name]["hierarchy"] = (hierarchy or other)(path)
    for goal in sections.get("privacy", {}).get("goal", []):
        if "population" in goal:
            goal["population"] = other(recipe.resolve(goal["population"]))
    return sections


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
