"""The recipe: reading, validating and writing it."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import PrivateAttr, ValidationError

from shoal.errors import Fault, RecipeError
from shoal.recipe.addresses import Address, Location, is_address, without_password
from shoal.recipe.faults import own_faults, schema_fault
from shoal.recipe.goals import KMap
from shoal.recipe.options import METHODS, Options, shape_of
from shoal.recipe.protection import perturbation
from shoal.recipe.sections import Input, Sections
from shoal.recipe.shape import Shape
from shoal.recipe.trees import induced_file, is_file, is_induced

MANIFEST_SUFFIX = ".manifest.json"


class Recipe(Sections):
    """Everything that determines a release, except the rows.

    Examples
    --------
    >>> recipe = Recipe.from_roles(quasi=["age", "zip"], sensitive=["disease"], k=5)
    >>> recipe.quasi, recipe.privacy.k, recipe.method.name
    (['age', 'zip'], 5, 'auto')
    """

    default_role: Literal["drop"] | None = None
    _base: Path = PrivateAttr(default=Path())
    _file: Path | None = PrivateAttr(default=None)
    _induced: dict[str, str | dict[str, Any]] = PrivateAttr(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path, *, changes: Mapping[str, Any] | None = None) -> Recipe:
        """Read a TOML recipe, or the recipe in a manifest; its paths are relative to its folder.

        `changes` override the file's sections before validation, so that a flag can supply what the file
        omits.
        """
        is_manifest = str(path).endswith(MANIFEST_SUFFIX)
        try:
            text = Path(path).read_text(encoding="utf-8")
            data = _recipe_in(text) if is_manifest else tomllib.loads(text)
        except OSError as error:
            reason = error.strerror or "unknown reason"
            raise RecipeError(
                "recipe.unreadable", f"The recipe {path} cannot be opened: {reason}.", "check the path"
            ) from None
        except (ValueError, RecursionError):  # TOML, JSON and Unicode errors are ValueErrors
            if is_manifest:
                message = f"The manifest {path} does not contain a recipe."
                raise RecipeError("recipe.unreadable", message, "use a manifest that shoal wrote") from None
            # tomllib's message quotes the offending characters, so it is not shown.
            raise RecipeError(
                "recipe.unreadable",
                f"The recipe {path} is not valid UTF-8 TOML.",
                "look for a duplicate table or key, or a missing quote",
            ) from None
        recipe = cls.from_dict(data, changes=changes, base=Path(path).parent)
        recipe._file = Path(path).absolute()
        return recipe

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], *, changes: Mapping[str, Any] | None = None, base: Path = Path()
    ) -> Recipe:
        """Build a recipe from nested dictionaries, as parsed from TOML; report all faults at once."""
        sections = _merged(data, changes or {})
        columns = sections.get("columns")
        if isinstance(columns, Mapping) and isinstance(columns.get("default"), str):
            sections["default_role"] = columns["default"]
            sections["columns"] = {name: spec for name, spec in columns.items() if name != "default"}
        try:
            recipe = cls.model_validate(sections)
        except ValidationError as error:
            faults = [schema_fault(e) for e in error.errors()]
            raise RecipeError.from_faults(faults + cls._other_faults(sections, error)) from None
        if faults := own_faults(recipe):
            raise RecipeError.from_faults(faults)
        recipe._base = base
        return recipe

    def changed(self, changes: Mapping[str, Any]) -> Recipe:
        """Return a copy with some values overridden, validated again; None overrides nothing."""
        recipe = Recipe.from_dict(self.to_dict(), changes=changes, base=self._base)
        recipe._file = self._file
        return recipe

    @classmethod
    def _other_faults(cls, sections: Mapping[str, Any], error: ValidationError) -> list[Fault]:
        """Check the sections and columns that passed pydantic, so that all faults are reported at once."""
        sound = {**sections, "columns": dict(_table(sections.get("columns")))}
        for found in error.errors():
            place = [str(part) for part in found["loc"]]
            if place[0] == "columns" and len(place) > 1:
                sound["columns"].pop(place[1], None)
            else:
                sound.pop(place[0], None)
        try:
            rest = cls.model_validate({"privacy": {"k": 2}, **sound})
        except ValidationError:
            return []
        return [fault for fault in own_faults(rest) if fault.code != "recipe.no_quasi"]

    @classmethod
    def from_roles(
        cls,
        *,
        quasi: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        identifiers: Iterable[str] = (),
        keep: Iterable[str] = (),
        drop: Iterable[str] = (),
        subject: Iterable[str] = (),
        k: int,
        changes: Mapping[str, Any] | None = None,
    ) -> Recipe:
        """Build a recipe from lists of column names, one list for each role."""
        roles = roles_of(
            quasi=quasi, sensitive=sensitive, identifier=identifiers, keep=keep, drop=drop, subject=subject
        )
        columns = {name: {"role": role} for name, role in roles.items()}
        return cls.from_dict({"columns": columns, "privacy": {"k": k}}, changes=changes)

    def __repr__(self) -> str:
        return f"Recipe({'; '.join(f'{name}: {what}' for name, what in self._facts().items())})"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        """Show the recipe in a notebook."""
        rows = "".join(
            f'<tr style="text-align: left"><th>{escape(name)}</th><td>{escape(what)}</td></tr>'
            for name, what in self._facts().items()
        )
        return f"<table><caption>shoal recipe</caption>{rows}</table>"

    def _facts(self) -> dict[str, str]:
        """Return the main facts as strings: columns by role, k, goals, method."""
        roles = ("quasi", "sensitive", "identifier", "keep", "drop", "subject")
        columns = {role: ", ".join(self.named(role)) for role in roles if self.named(role)}
        goals = {"goals": ", ".join(goal.type for goal in self.privacy.goal)} if self.privacy.goal else {}
        return {**columns, "k": str(self.privacy.k), **goals, "method": self.method.name}

    def named(self, *roles: str) -> list[str]:
        """Return the columns that have one of `roles`, in recipe order."""
        return [name for name, column in self.columns.items() if column.role in roles]

    @property
    def quasi(self) -> list[str]:
        """The quasi-identifying columns, in recipe order."""
        return self.named("quasi")

    @property
    def pseudonyms(self) -> list[str]:
        """The identifiers that are released as pseudonyms, in recipe order."""
        return [name for name in self.named("identifier") if self.columns[name].pseudonym]

    @property
    def coded(self) -> list[str]:
        """The columns with a top or bottom code, in recipe order."""
        columns = self.columns.items()
        return [name for name, column in columns if column.top is not None or column.bottom is not None]

    @property
    def perturbed(self) -> dict[str, str]:
        """How each perturbed column is perturbed: by "pram", "swap" or "noise"."""
        found = {name: perturbation(column) for name, column in self.columns.items()}
        return {name: how for name, how in found.items() if how is not None}

    @property
    def unchanged(self) -> list[str]:
        """The sensitive and kept columns whose cells are released as they are, or coded at the ends."""
        return [name for name in self.named("sensitive", "keep") if name not in self.perturbed]

    @property
    def subject(self) -> str | None:
        """The column that identifies people, if one person may have several rows."""
        return next(iter(self.named("subject")), None)

    @property
    def views(self) -> list[list[str]]:
        """The quasi columns of each published table; a single list of all of them for the whole table."""
        names = self.quasi
        match self.output.views:
            case "whole":
                return [names]
            case "equal":
                return [[name] for name in names]
            case "unequal":
                return [names[:1], *([names[0], name] for name in names[1:])]
            case "nested":
                return [names[: size + 1] for size in range(len(names))]
            case listed:
                return listed

    @property
    def options(self) -> Options:
        """The method's options, validated and with defaults."""
        return METHODS[self.method.name].model_validate(self.method.options)

    @property
    def shape(self) -> Shape:
        """The shape of the release: several views, or what the method declares."""
        return shape_of(self.method.name) if self.output.views == "whole" else Shape.VIEWS

    @property
    def label(self) -> str | None:
        """The column that CM counts: the method's `label`, else the first sensitive column."""
        named: str | None = getattr(self.options, "label", None)
        return named or next(iter(self.named("sensitive")), None)

    @property
    def source(self) -> Location | None:
        """Where the input is: a file, or a database; None if the recipe names none."""
        path = self.input.path
        if path is None:
            return None
        return Address(path) if is_address(path) else self.resolve(path)

    def resolve(self, path: str) -> Path:
        """Resolve an input or hierarchy path relative to the recipe's folder."""
        return self._base / path

    @property
    def reading(self) -> Input:
        """How to read the input, with the path of its catalog resolved."""
        catalog = self.input.catalog
        return (
            self.input.model_copy(update={"catalog": str(self.resolve(catalog))}) if catalog else self.input
        )

    def moved_to(self, folder: Path) -> Recipe:
        """Return the recipe with its paths relative to another folder, and without passwords."""
        data = self.to_dict()
        for section in ("input", "output"):
            if is_address(path := data.get(section, {}).get("path")):
                data[section]["path"] = without_password(path)
        if self.input.path is not None and not is_address(self.input.path):
            data["input"]["path"] = self._relative_to(folder, self.input.path)
        if self.input.catalog is not None:
            data["input"]["catalog"] = self._relative_to(folder, self.input.catalog)
        if self.secrets.key_file is not None:
            data["secrets"]["key_file"] = self._relative_to(folder, self.secrets.key_file)
        for name, column in self.columns.items():
            if isinstance(column.hierarchy, str) and is_file(column.hierarchy):
                data["columns"][name]["hierarchy"] = self._relative_to(folder, column.hierarchy)
        for at, goal in enumerate(self.privacy.goal):
            if isinstance(goal, KMap):
                data["privacy"]["goal"][at]["population"] = self._relative_to(folder, goal.population)
        return Recipe.from_dict(data, base=folder)

    def _relative_to(self, folder: Path, path: str) -> str:
        try:
            return Path(os.path.relpath(self.resolve(path), folder)).as_posix()
        except ValueError:  # on another Windows drive
            return str(self.resolve(path).absolute())

    @property
    def files(self) -> dict[str, Path]:
        """The recipe file and the files that it names, by description; these are never overwritten."""
        named = {"the recipe": self._file} if self._file else {}
        if self.input.path is not None and not is_address(self.input.path):
            named["the input"] = self.resolve(self.input.path).absolute()
        if self.input.catalog is not None:
            named["the catalog of value labels"] = self.resolve(self.input.catalog).absolute()
        if self.secrets.key_file is not None:
            named["the key of the pseudonyms"] = self.resolve(self.secrets.key_file).absolute()
        for name, column in self.columns.items():
            if isinstance(column.hierarchy, str) and is_file(column.hierarchy):
                named[f"the hierarchy of column `{name}`"] = self.resolve(column.hierarchy).absolute()
        for number, goal in enumerate(self.privacy.goal, 1):
            if isinstance(goal, KMap):
                named[f"the population of goal {number}"] = self.resolve(goal.population).absolute()
        return named

    @property
    def induced(self) -> dict[str, str | dict[str, Any]]:
        """What was asked for each column whose hierarchy is, or was, induced from the table."""
        asked = {
            name: column.hierarchy
            for name, column in self.columns.items()
            if column.hierarchy is not None and is_induced(column.hierarchy)
        }
        return {**self._induced, **asked}

    def with_induced(self, trees: Mapping[str, dict[str, Any]]) -> Recipe:
        """Return the recipe with the trees that were induced; what it shares still asks for them."""
        columns = {
            name: column.model_copy(update={"hierarchy": trees[name]}) if name in trees else column
            for name, column in self.columns.items()
        }
        found = self.model_copy(update={"columns": columns})
        found._induced = self.induced
        return found

    def beside(self, release: str | Path) -> Recipe:
        """Return the recipe with the induced hierarchies that were written next to a release."""
        columns = dict(self.columns)
        for name, column in self.columns.items():
            if is_induced(column.hierarchy):
                file = str(induced_file(Path(release).absolute(), name))
                columns[name] = column.model_copy(update={"hierarchy": file})
        return self.model_copy(update={"columns": columns})

    def to_dict(self) -> dict[str, Any]:
        """Return the sections as in TOML, without values that were not set."""
        data = self.model_dump(exclude_unset=True)
        default = data.pop("default_role", None)
        if default:
            data["columns"] = {"default": default, **data.get("columns", {})}
        for section in ("about", "engine", "secrets"):
            if not data.get(section):  # flags that were not given leave an empty section
                data.pop(section, None)
        return data

    def to_toml(self) -> str:
        """Return the recipe as TOML that `load` can read."""
        return to_toml(self.to_dict())


def _recipe_in(manifest: str) -> dict[str, Any]:
    """Return the recipe in a manifest; raise ValueError if there is none."""
    found = json.loads(manifest)
    recipe = found.get("recipe") if isinstance(found, dict) else None
    if not isinstance(recipe, dict):
        raise ValueError
    return {key: section for key, section in recipe.items() if key != "sha256"}


def to_toml(sections: Mapping[str, Any]) -> str:
    """Format sections as TOML."""
    return tomli_w.dumps(sections)


def roles_of(**named: Iterable[str]) -> dict[str, str]:
    """Return the role of each name, from lists of names by role; a name in two lists is a fault."""
    roles: dict[str, str] = {}
    faults = []
    for role, names in named.items():
        for name in [names] if isinstance(names, str) else names:
            if name in roles:
                message = f"Column `{name}` has two roles: {roles[name]} and {role}."
                faults.append(Fault("recipe.doubly_used_column", message, "give each column one role"))
            roles[name] = role
    if faults:
        raise RecipeError.from_faults(faults)
    return roles


def _merged(base: Mapping[str, Any], over: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Merge `over` into `base`, section by section; None overrides nothing."""
    merged = dict(base)
    for key, given in over.items():
        if given is None:
            continue
        below = merged.get(key)
        is_value = depth == _IN_COLUMN and key in _TABLES
        if is_value or not isinstance(given, Mapping):
            merged[key] = given
        elif below is None or isinstance(below, Mapping):
            merged[key] = _merged(below or {}, given, depth + 1)
    return merged


_IN_COLUMN = 2  # depth of a column's keys: columns, name, key
_TABLES = (
    "hierarchy",
    "accept",
    "pram",
    "noise",
)  # keys of a column whose value may be a table, and is replaced as one


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
