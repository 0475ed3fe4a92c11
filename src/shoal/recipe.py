"""What is asked for: columns, goals, method and output, as TOML or as Python values.

A recipe is checked whole. Every fault is found before the first is reported, each with a hint.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from shoal.errors import Fault, RecipeError
from shoal.options import METHODS, Options

Role = Literal["identifier", "subject", "quasi", "sensitive", "keep", "drop"]
Kind = Literal["numeric", "categorical", "ordinal", "date"]
GOALS = ("l-diversity", "t-closeness", "alpha-k", "beta-likeness", "delta-disclosure")
GRID_HINT = "for example grid = 5 (dates: in days)"
ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".feather")
ANATOMY_GROUP, ANATOMY_COUNT = "group", "count"  # columns that Anatomy adds to its two tables


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Input(_Section):
    """Where the table is and how to read it."""

    path: str | None = None
    separator: str | None = Field(default=None, pattern=r"^[\t !#-~]$")  # one ASCII sign, no quote
    missing: list[str] = [""]
    header: bool = True
    names: list[str] | None = Field(default=None, min_length=1)
    encoding: str | None = None
    table: str | None = None
    query: str | None = None


class Column(_Section):
    """The role of one column and, for a quasi column, how its values relate."""

    role: Role
    kind: Kind | None = None
    weight: float = Field(default=1.0, ge=0.001, le=1000, allow_inf_nan=False)
    order: list[str] | None = None
    hierarchy: str | dict[str, Any] | None = None
    grid: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class Privacy(_Section):
    """What every released row is promised."""

    k: int = Field(ge=2)
    missing: Literal["category", "suppress", "error"] = "category"
    max_suppressed: float = Field(default=0.0, ge=0, le=1)
    goal: list[dict[str, Any]] = []

    def may_suppress(self, n_rows: int) -> int:
        """Return how many rows may be left out.

        The share is the decimal that it is written as: 0.29 of 100 rows are 29, although 0.29 * 100
        is less in floats.
        """
        return floor(Fraction(repr(self.max_suppressed)) * n_rows)


class Method(_Section):
    """How the classes are found."""

    name: str = "auto"
    seed: int = Field(default=0, ge=0, lt=2**63)
    options: dict[str, Any] = {}


class Output(_Section):
    """Where the release goes and what its values look like."""

    path: str | None = None
    values: Literal["generalize", "microaggregate"] = "generalize"
    views: Literal["whole", "equal", "unequal", "nested"] | list[list[str]] = "whole"
    aggregate: Literal["mean", "median"] = "mean"
    bounds: Literal["tight", "snapped"] = "tight"
    bounds_as: Literal["text", "columns"] = "text"
    spreadsheet_safe: bool = True


class _Sections(_Section):
    """The recipe as pydantic sees it: the same sections as the TOML file."""

    input: Input = Input()
    columns: dict[str, Column] = {}
    privacy: Privacy
    method: Method = Method()
    output: Output = Output()


class Recipe(_Sections):
    """Everything that decides a release, except the rows.

    Examples
    --------
    >>> recipe = Recipe.from_roles(quasi=["age", "zip"], sensitive=["disease"], k=5)
    >>> recipe.quasi, recipe.privacy.k, recipe.method.name
    (['age', 'zip'], 5, 'auto')
    """

    default_role: Literal["drop"] | None = None
    _base: Path = PrivateAttr(default=Path())

    @classmethod
    def load(cls, path: str | Path, *, changes: Mapping[str, Any] | None = None) -> Recipe:
        """Read a TOML recipe; paths inside it are relative to its folder.

        `changes` is laid over the file's sections before anything is checked, so that a flag can
        supply what the file leaves out.
        """
        try:
            data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            reason = error.strerror or "no reason given"
            raise RecipeError(
                "recipe.unreadable", f"The recipe {path} cannot be opened: {reason}.", "check the path"
            ) from None
        except (ValueError, RecursionError):  # TOML's and Unicode's errors are ValueErrors
            # tomllib's own text quotes the offending characters, so it is not passed on.
            raise RecipeError(
                "recipe.unreadable",
                f"The recipe {path} is not valid TOML in UTF-8.",
                "look for a table or key that stands twice, or a missing quote",
            ) from None
        return cls.from_dict(data, changes=changes, base=Path(path).parent)

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], *, changes: Mapping[str, Any] | None = None, base: Path = Path()
    ) -> Recipe:
        """Build a recipe from nested dictionaries, as TOML gives them; report all faults at once."""
        sections = _merged(data, changes or {})
        columns = sections.get("columns")
        if isinstance(columns, Mapping) and isinstance(columns.get("default"), str):
            sections["default_role"] = columns["default"]
            sections["columns"] = {name: spec for name, spec in columns.items() if name != "default"}
        try:
            recipe = cls.model_validate(sections)
        except ValidationError as error:
            faults = [_fault(e) for e in error.errors()]
            raise RecipeError.from_faults(faults + cls._other_faults(sections, error)) from None
        if faults := _own_faults(recipe):
            raise RecipeError.from_faults(faults)
        recipe._base = base
        return recipe

    @classmethod
    def _other_faults(cls, sections: Mapping[str, Any], error: ValidationError) -> list[Fault]:
        """Check the sections and columns that pydantic found nothing against, so that all is said at once."""
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
        return [fault for fault in _own_faults(rest) if fault.code != "recipe.no_quasi"]

    @classmethod
    def from_roles(
        cls,
        *,
        quasi: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        identifiers: Iterable[str] = (),
        keep: Iterable[str] = (),
        drop: Iterable[str] = (),
        k: int,
        changes: Mapping[str, Any] | None = None,
    ) -> Recipe:
        """Build a recipe from lists of column names, one list for each role."""
        roles = roles_of(quasi=quasi, sensitive=sensitive, identifier=identifiers, keep=keep, drop=drop)
        columns = {name: {"role": role} for name, role in roles.items()}
        return cls.from_dict({"columns": columns, "privacy": {"k": k}}, changes=changes)

    def named(self, *roles: str) -> list[str]:
        """Return the columns that have one of `roles`, in recipe order."""
        return [name for name, column in self.columns.items() if column.role in roles]

    @property
    def quasi(self) -> list[str]:
        """The quasi-identifying columns, in recipe order."""
        return self.named("quasi")

    @property
    def options(self) -> Options:
        """The method's options, checked and with their defaults."""
        schema = METHODS[self.method.name]
        assert schema is not None  # from_dict has refused such a method
        return schema.model_validate(self.method.options)

    @property
    def label(self) -> str | None:
        """The column that CM counts: the method's `label`, else the first sensitive column."""
        named: str | None = getattr(self.options, "label", None)
        return named or next(iter(self.named("sensitive")), None)

    def resolve(self, path: str) -> Path:
        """Return an input or hierarchy path as seen from the recipe's folder."""
        return self._base / path

    def to_dict(self) -> dict[str, Any]:
        """Return the sections as TOML would hold them, without what was left at its default."""
        data = self.model_dump(exclude_unset=True)
        default = data.pop("default_role", None)
        if default:
            data["columns"] = {"default": default, **data.get("columns", {})}
        return data

    def to_toml(self) -> str:
        """Write the recipe as TOML that `load` reads back."""
        return to_toml(self.to_dict())


def to_toml(sections: Mapping[str, Any]) -> str:
    """Write sections as TOML."""
    return tomli_w.dumps(sections)


def roles_of(**named: Iterable[str]) -> dict[str, str]:
    """Turn lists of names by role into a role by name; a name in two lists is a fault."""
    roles: dict[str, str] = {}
    faults = []
    for role, names in named.items():
        for name in [names] if isinstance(names, str) else names:
            if name in roles:
                message = f"Column `{name}` is named both as {roles[name]} and as {role}."
                faults.append(Fault("recipe.doubly_used_column", message, "give each column one role"))
            roles[name] = role
    if faults:
        raise RecipeError.from_faults(faults)
    return roles


def column_faults(recipe: Recipe, present: Sequence[str]) -> list[Fault]:
    """Compare the recipe's columns with those of a table; return all faults."""
    named = [*recipe.columns, *filter(None, [getattr(recipe.options, "label", None)])]
    unknown = [name for name in dict.fromkeys(named) if name not in present]
    if recipe.columns and not set(recipe.columns) & set(present):
        return [_no_column_known(recipe, present)]
    faults = [_unknown(name, present) for name in unknown]
    unnamed = [name for name in present if name not in recipe.columns]
    if unnamed and recipe.default_role is None:
        listed = ", ".join(f"`{name}`" for name in unnamed)
        message = f"{len(unnamed)} of {len(present)} columns have no role: {listed}."
        hint = 'give each a role (drop leaves it out), or set default = "drop" in [columns] (--default drop)'
        faults.append(Fault("recipe.unnamed_column", message, hint))
    return faults


def _no_column_known(recipe: Recipe, present: Sequence[str]) -> Fault:
    """Say that nothing fits. The header is not shown: where there is none, it is somebody's row."""
    listed = ", ".join(f"`{name}`" for name in recipe.columns)
    message = f"None of the recipe's columns ({listed}) is among the {len(present)} columns of the table."
    close = [did_you_mean(name, present) for name in recipe.columns]
    hint = "if the table has no header line, set header = false and names in [input]"
    return Fault("recipe.unknown_column", message, " ".join([*filter(None, close), hint]))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "did you mean `x`?" for the closest of `known`, or an empty text."""
    known = list(known)
    folded = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"did you mean `{folded[close[0]]}`?" if close else ""


def _unknown(name: str, present: Sequence[str]) -> Fault:
    listed = ", ".join(present)
    hint = " ".join(filter(None, [did_you_mean(name, present), f"columns present: {listed}"]))
    return Fault("recipe.unknown_column", f"Column `{name}` is in the recipe but not in the table.", hint)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay `over` on `base`, section by section; a value that is None changes nothing."""
    merged = dict(base)
    for key, given in over.items():
        if given is None:
            continue
        below = merged.get(key)
        if isinstance(given, Mapping) and (below is None or isinstance(below, Mapping)):
            merged[key] = _merged(below or {}, given)
        elif not isinstance(given, Mapping):
            merged[key] = given
    return merged


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _fault(error: Any) -> Fault:
    """Put one of pydantic's findings into our words, without the offending value."""
    place = ".".join(str(part) for part in error["loc"] if not _is_union_tag(part))
    if error["type"] == "extra_forbidden":
        *above, key = [str(part) for part in error["loc"]]
        where = f" in [{'.'.join(above)}]" if above else ""
        hint = did_you_mean(key, _keys_at(above)) or "see the recipe reference for the keys"
        return Fault("recipe.invalid", f"Unknown key `{key}`{where} of the recipe.", hint)
    if error["type"] == "missing":
        flag = ", or use --k" if place == "privacy.k" else ""
        return Fault("recipe.invalid", f"`{place}` is missing from the recipe.", f"add `{place}`{flag}")
    what = error["msg"].removeprefix("Input should be ").rstrip(".")
    return Fault("recipe.invalid", f"`{place}` in the recipe should be {what}.", "correct the value")


def _is_union_tag(part: object) -> bool:
    return isinstance(part, str) and (
        part in {"str", "list[list[str]]"} or part.startswith(("dict[", "literal["))
    )


def _keys_at(above: Sequence[str]) -> list[str]:
    """List the keys that a section of the recipe may have."""
    models: dict[str, type[BaseModel]] = {
        "input": Input, "privacy": Privacy, "method": Method, "output": Output,
    }  # fmt: skip
    if not above:
        return list(_Sections.model_fields)
    model = Column if above[0] == "columns" else models.get(above[0])
    return list(model.model_fields) if model else []


def _own_faults(recipe: Recipe) -> list[Fault]:
    """Check what the types alone cannot say."""
    faults = []
    if not recipe.quasi and recipe.default_role is None and not recipe.columns:
        faults.append(Fault("recipe.no_quasi", "The recipe names no columns.", "give every column a role"))
    elif not recipe.quasi:
        hint = "name the columns that an outsider may know about a person"
        faults.append(Fault("recipe.no_quasi", "No column has the role quasi.", hint))
    for name, column in recipe.columns.items():
        faults += _column_own_faults(name, column)
    faults += _output_faults(recipe)
    faults += _method_faults(recipe.method)
    faults += _anatomy_faults(recipe) if recipe.method.name == "anatomy" else []
    faults += _input_faults(recipe.input)
    faults += _unavailable(recipe)
    return faults


def _column_own_faults(name: str, column: Column) -> list[Fault]:
    faults = []
    if column.kind == "ordinal" and not column.order:
        message = f"Column `{name}` is ordinal but has no order."
        faults.append(
            Fault("recipe.invalid", message, 'list its values from low to high: order = ["...", "..."]')
        )
    if column.order and column.kind != "ordinal":
        message = f"Column `{name}` has an order but is not of kind ordinal."
        faults.append(Fault("recipe.invalid", message, 'add kind = "ordinal"'))
    if column.order and len(set(column.order)) < len(column.order):
        twice = len(column.order) - len(set(column.order))
        message = f"The order of column `{name}` lists {twice} values twice."
        faults.append(Fault("recipe.invalid", message, "list each value once"))
    return faults


def _output_faults(recipe: Recipe) -> list[Fault]:
    """Check what the shape of the output needs from the columns and the method."""
    faults = []
    if recipe.method.name == "nh" and recipe.output.values == "microaggregate":
        message = "Method `nh` publishes a box for each row, which typical values are not."
        faults.append(Fault("recipe.invalid", message, 'set values = "generalize", or choose another method'))
    for name in recipe.quasi:
        column = recipe.columns[name]
        needs_grid = column.kind in ("numeric", "ordinal", "date") and column.hierarchy is None
        if recipe.output.bounds == "snapped" and needs_grid and column.grid is None:
            message = f"Column `{name}` has no grid for its bounds to snap to."
            faults.append(Fault("recipe.invalid", message, GRID_HINT))
        ends = [end for end in (f"{name}_low", f"{name}_high") if end in recipe.columns]
        if recipe.output.bounds_as == "columns" and ends:
            message = f"Column `{ends[0]}` would be written twice: as itself and as a bound of `{name}`."
            faults.append(Fault("recipe.invalid", message, "rename the column in the input"))
    return faults


def _method_faults(method: Method) -> list[Fault]:
    if method.name not in METHODS:
        hint = did_you_mean(method.name, METHODS) or f"methods: {', '.join(METHODS)}"
        return [Fault("recipe.invalid", "The recipe names a method that shoal does not know.", hint)]
    schema = METHODS[method.name]
    if schema is None:
        return [_not_yet(f"the method `{method.name}`")]
    try:
        schema.model_validate(method.options)
    except ValidationError as error:
        return [_option_fault(method.name, schema, e) for e in error.errors()]
    return []


def _anatomy_faults(recipe: Recipe) -> list[Fault]:
    """Check what two tables joined by a group need, and refuse what they cannot have."""
    faults = []
    sensitive = recipe.named("sensitive")
    if len(sensitive) != 1:
        message = f"Method `anatomy` takes exactly one sensitive column, and the recipe has {len(sensitive)}."
        faults.append(Fault("recipe.invalid", message, "give one column the role sensitive, drop the others"))
    written = {ANATOMY_GROUP: recipe.named("quasi", "sensitive", "keep"), ANATOMY_COUNT: sensitive}
    for name, columns in written.items():
        if name in columns:
            message = f"Column `{name}` would be written twice: method `anatomy` adds one of that name."
            faults.append(Fault("recipe.invalid", message, "rename the column in the input"))
    for key in ("values", "bounds", "bounds_as"):
        if getattr(recipe.output, key) != Output.model_fields[key].default:
            message = f"Method `anatomy` publishes quasi values as they are: `output.{key}` has no meaning."
            faults.append(Fault("recipe.invalid", message, "take it out, or choose another method"))
    return faults


def _option_fault(method: str, schema: type[Options], error: Any) -> Fault:
    key = str(error["loc"][0])
    known = list(schema.model_fields)
    if error["type"] == "extra_forbidden":
        listed = f"options: {', '.join(known)}" if known else "it has no options"
        message = f"Method `{method}` has no option `{key}`."
        return Fault("recipe.option", message, " ".join(filter(None, [listed, did_you_mean(key, known)])))
    what = error["msg"].removeprefix("Input should be ").rstrip(".")
    return Fault(
        "recipe.option", f"Option `{key}` of method `{method}` should be {what}.", "correct the value"
    )


def _input_faults(given: Input) -> list[Fault]:
    faults = []
    if not given.header and given.names is None:
        message = "The input has no header and no names are given."
        faults.append(Fault("recipe.invalid", message, 'add names = ["...", "..."] to [input]'))
    if given.header and given.names is not None:
        message = "The input has a header and names are given too."
        faults.append(Fault("recipe.invalid", message, "set header = false, or take names out"))
    return faults


def _unavailable(recipe: Recipe) -> list[Fault]:
    """List what the contract names and this version cannot do, so that nothing is ignored."""
    faults = []
    for goal in recipe.privacy.goal:
        kind = goal.get("type")
        if kind not in GOALS:
            hint = f"goals: {', '.join(GOALS)}"
            faults.append(Fault("recipe.invalid", "A privacy goal has no known type.", hint))
        else:
            faults.append(_not_yet(f"the privacy goal `{kind}`"))
    faults += [_not_yet(f"the role subject (column `{name}`)") for name in recipe.named("subject")]
    for name, column in recipe.columns.items():
        if column.hierarchy == "induce":
            faults.append(_not_yet(f"an induced hierarchy (column `{name}`)"))
    if recipe.output.views != "whole":
        faults.append(_not_yet("several views of one table"))
    if recipe.input.table or recipe.input.query or _is_address(recipe.input.path):
        faults.append(_not_yet("reading from a database"))
    return faults


def _is_address(path: str | None) -> bool:
    return path is not None and path.startswith(("postgresql://", "postgres://"))


def _not_yet(what: str) -> Fault:
    message = f"This version of shoal does not have {what} yet."
    return Fault("recipe.not_available", message, "take it out of the recipe, or use a later version")
