"""Protection of single columns beyond classes: codes at the ends, perturbation, pseudonyms.

The schemas and what they exclude are here; `protect/` does the work.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from shoal.errors import Fault
from shoal.recipe.shape import Shape
from shoal.wording import name_of, setting

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe
    from shoal.recipe.sections import Column

_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?", re.ASCII)
_CODED, _PERTURBED = ("quasi", "sensitive", "keep"), ("keep",)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Pram(_Strict):
    """Post-randomization: each cell is changed with a known probability.

    A changed cell gets any other category with the same probability or, if `invariant`, one drawn from the
    column's own distribution, so that the expected counts stay the same.
    """

    change: float = Field(gt=0, le=1)
    invariant: bool = False

    @property
    def share(self) -> Fraction:
        """The probability of a change as it is written: 0.1 is one tenth."""
        return Fraction(repr(self.change))


class Noise(_Strict):
    """Normal noise; `sd` is a share of the column's standard deviation.

    Correlated noise has the covariances of all columns that get it, so that their correlations stay.
    """

    sd: float = Field(gt=0, le=10)
    correlated: bool = False


def _as_pram(given: Any) -> Any:
    """Read a number as the probability of a change."""
    return {"change": float(given)} if type(given) in (int, float) else given


def _as_noise(given: Any) -> Any:
    """Read a number as the standard deviation."""
    return {"sd": float(given)} if type(given) in (int, float) else given


def _as_text(given: Any) -> Any:
    """Return the text of a TOML date, which is written without quotes."""
    return given.isoformat() if isinstance(given, datetime.date) else given


Code = Annotated[int | float | str, BeforeValidator(_as_text)]
PramForm = Annotated[Pram, BeforeValidator(_as_pram)]
NoiseForm = Annotated[Noise, BeforeValidator(_as_noise)]


class Secrets(_Strict):
    """What must not be published: no manifest, report or log shows anything of this section."""

    seed: int | None = Field(default=None, ge=0, lt=2**63)
    key_file: str | None = Field(default=None, min_length=1)
    key_env: str | None = Field(default=None, min_length=1)


def perturbation(column: Column) -> str | None:
    """Return how the cells of a column are perturbed: "pram", "swap" or "noise"; None if they are not."""
    return next((key for key in ("pram", "swap", "noise") if getattr(column, key) is not None), None)


def code_kind(column: Column) -> str:
    """Return the kind that the codes of a column imply, if the recipe leaves it open."""
    if column.kind is not None:
        return column.kind
    given = column.top if column.top is not None else column.bottom
    return "date" if isinstance(given, str) else "numeric"


def protection_faults(recipe: Recipe) -> list[Fault]:
    """Check what the schemas cannot express."""
    faults: list[Fault] = []
    for name, column in recipe.columns.items():
        faults += _code_faults(recipe, name, column)
        faults += _perturbation_faults(name, column)
        faults += _pseudonym_faults(recipe, name, column)
    faults += _correlation_faults(recipe)
    faults += _secret_faults(recipe)
    faults += _cell_faults(recipe)
    faults += _spark_faults(recipe)
    return faults


def _invalid(message: str, hint: str) -> Fault:
    return Fault("recipe.invalid", message, hint)


def _role_fault(name: str, column: Column, key: str, roles: tuple[str, ...]) -> Iterator[Fault]:
    if column.role not in roles:
        message = f"Column `{name}` has the role {column.role}, for which `{key}` has no effect."
        yield _invalid(message, f"give it the role {' or '.join(roles)}, or remove `{key}`")


def _code_faults(recipe: Recipe, name: str, column: Column) -> Iterator[Fault]:
    """Check top and bottom codes: on a line, in order, and visible in the published forms."""
    given = {key: code for key in ("bottom", "top") if (code := getattr(column, key)) is not None}
    if not given:
        return
    keys = " and ".join(f"`{key}`" for key in given)
    yield from _role_fault(name, column, next(iter(given)), _CODED)
    if column.hierarchy is not None or "hierarchy" in column.lacking:
        message = f"Column `{name}` has a hierarchy, so {keys} cannot be used."
        yield _invalid(message, "group the values at the ends in the hierarchy, or remove one of the two")
    kind = code_kind(column)
    places = {key: _place(column, kind, code) for key, code in given.items()}
    if kind == "categorical" or None in places.values():
        wanted = {
            "numeric": "a number", "date": "a date such as 1950-12-31, 1950-12 or 1950",
            "ordinal": "a value of its order", "categorical": "used with numbers, dates and ordered values",
        }  # fmt: skip
        yield _invalid(f"{keys} of column `{name}` should be {wanted[kind]}.", "correct the value")
    elif len(places) == 2 and not _is_between(places["bottom"], places["top"]):
        message = f"`bottom` of column `{name}` must be below `top`, and as precise."
        yield _invalid(message, "correct one of them")
    if column.role == "quasi" and recipe.output.bounds == "snapped":
        message = f"Snapped bounds of column `{name}` would lie beyond its codes."
        yield _invalid(message, f'set bounds = "tight", or remove {keys}')


def _place(column: Column, kind: str, code: float | str) -> Any:
    """Return what can be compared: a number, a position, or a date as its parts; None if it does not fit."""
    if kind == "numeric":
        return code if not isinstance(code, str) and abs(code) < float("inf") else None
    if kind == "ordinal":
        order = column.order or []
        if "order" in column.lacking:
            return 0 if code == column.bottom else 1
        return order.index(code) if code in order else None
    if kind != "date" or not _DATE.fullmatch(str(code)):
        return None
    parts = tuple(map(int, str(code).split("-")))
    try:
        datetime.date(*(*parts, 1, 1)[:3])
    except ValueError:
        return None
    return parts


def _is_between(bottom: Any, top: Any) -> bool:
    return bool(bottom < top and (not isinstance(top, tuple) or len(bottom) == len(top)))


def _perturbation_faults(name: str, column: Column) -> Iterator[Fault]:
    given = [key for key in ("pram", "swap", "noise") if getattr(column, key) is not None]
    if not given:
        return
    yield from _role_fault(name, column, given[0], _PERTURBED)
    if len(given) > 1:
        listed = " and ".join(f"`{key}`" for key in given)
        yield _invalid(f"Column `{name}` has {listed}.", "perturb a column in one way")


def _correlation_faults(recipe: Recipe) -> Iterator[Fault]:
    found = {name: column.noise for name, column in recipe.columns.items() if column.noise is not None}
    correlated = {name: noise for name, noise in found.items() if noise.correlated}
    if len(correlated) == 1:
        message = f"Column `{next(iter(correlated))}` is the only one with correlated noise."
        yield _invalid(message, "give at least two columns correlated noise, or none")
    elif len({noise.sd for noise in correlated.values()}) > 1:
        listed = ", ".join(f"`{name}`" for name in correlated)
        message = f"Columns with correlated noise have different `sd`: {listed}."
        yield _invalid(message, "give all of them the same")


def _pseudonym_faults(recipe: Recipe, name: str, column: Column) -> Iterator[Fault]:
    """Refuse pseudonyms where they would undo what else is promised."""
    if not column.pseudonym:
        return
    yield from _role_fault(name, column, "pseudonym", ("identifier",))
    why = ""
    if recipe.shape is Shape.VIEWS:
        why = "they would link the rows of all views, which are protected only while nobody can"
    elif recipe.shape is Shape.BOXES:
        why = "the other values of a row belong to another person, by a secret shift"
    elif recipe.shape is Shape.TWO_TABLES:
        why = "quasi values are published unchanged, so they would give everybody's pseudonym away"
    elif recipe.named("subject"):
        why = "people with several rows could be followed through all classes"
    if why:
        hint = "remove `pseudonym`, or publish one table of classes with one row per person"
        yield _invalid(f"Column `{name}` cannot have pseudonyms: {why}.", hint)


def _secret_faults(recipe: Recipe) -> Iterator[Fault]:
    """Refuse secrets that have no effect: somebody relies on them."""
    secrets, columns = recipe.secrets, recipe.columns.values()
    if secrets.key_file and secrets.key_env:
        message = f"{name_of('secrets', 'key_file')} and {name_of('secrets', 'key_env')} are both given."
        yield _invalid(message, "keep the key in one place")
    if (secrets.key_file or secrets.key_env) and not any(column.pseudonym for column in columns):
        hint = "add pseudonym = true to an identifier, or remove the key"
        yield _invalid("A key for pseudonyms is given, but no column has them.", hint)
    if secrets.seed is not None and not any(map(perturbation, columns)):
        message = f"{name_of('secrets', 'seed')} is given, but no column is perturbed."
        yield _invalid(message, f"remove it; the seed of the method is {setting('method', 'seed', '1')}")


def _cell_faults(recipe: Recipe) -> Iterator[Fault]:
    if not recipe.privacy.suppress_cells:
        return
    why = ""
    if recipe.shape is not Shape.CLASSES:
        why = "releases in one table of classes"
    elif recipe.output.values == "microaggregate":
        why = "generalized values, not for typical ones"
    elif recipe.engine.cell_rows is not None:
        why = "tables that are clustered as a whole"
    if why:
        message = f"{name_of('privacy', 'suppress_cells')} is for {why}."
        yield _invalid(message, "remove it, or change the other setting")


def _spark_faults(recipe: Recipe) -> Iterator[Fault]:
    if recipe.engine.name != "spark":
        return
    used = [
        f"`{key}` (column `{name}`)"
        for name, column in recipe.columns.items()
        for key in ("top", "bottom", "pram", "swap", "noise", "pseudonym")
        if getattr(column, key) not in (None, False)
    ]
    used += ["`suppress_cells`"] if recipe.privacy.suppress_cells else []
    if used:
        message = f"The engine `spark` does not support {', '.join(used)}."
        hint = "use the engine local, or protect these columns before"
        yield Fault("recipe.not_available", message, hint)
