"""Schemas of the privacy goals beyond k.

They are next to the method options so that a recipe can be validated without loading any measuring
code. Each goal is defined where it is measured, in `privacy/`.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

COUNTED = ("distinct", "frequency", "recursive")  # variants whose l counts values, so it is an integer


class _Goal(BaseModel):
    """Base of all goals: one sensitive column, or several whose combinations count as values.

    A schema also declares whether its number is better the higher it is, and whether it compares a class
    with the whole release, which one class of all rows always passes.
    """

    more_is_better: ClassVar[bool] = False
    compares: ClassVar[bool] = False
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    column: str | list[str] = Field(min_length=1)

    @property
    def columns(self) -> tuple[str, ...]:
        """The sensitive columns: one, or several that are counted jointly."""
        return (self.column,) if isinstance(self.column, str) else tuple(self.column)

    @property
    def form(self) -> str | None:
        """The variant or distance; None if the type has only one."""
        found: str | None = getattr(self, "variant", getattr(self, "distance", None))
        return found

    @property
    def needs_kind(self) -> bool:
        """Whether the goal depends on how far apart values are, not only on which are equal."""
        return getattr(self, "distance", "equal") != "equal"

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the goal that have a value."""
        return {key: value for key, value in self.model_dump().items() if value is not None}


class LDiversity(_Goal):
    """At least l well-represented values: distinct, by frequency, by entropy, or recursive (c, l)."""

    more_is_better = True
    type: Literal["l-diversity"]
    variant: Literal["distinct", "frequency", "entropy", "recursive"] = "distinct"
    l: int | float = Field(ge=1, le=1e9, allow_inf_nan=False)  # noqa: E741 - the name in the literature
    c: float | None = Field(default=None, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _fits_variant(self) -> LDiversity:
        if self.variant in COUNTED and self.l != int(self.l):
            raise ValueError("l should be a whole number for this variant")
        if (self.c is None) == (self.variant == "recursive"):
            needed = (
                "the variant recursive needs c" if self.c is None else "only the variant recursive takes c"
            )
            raise ValueError(needed)
        return self

    @property
    def asked(self) -> int | float:
        """The threshold."""
        return int(self.l) if self.variant in COUNTED else self.l


class TCloseness(_Goal):
    """The earth mover's distance to the whole release is at most t."""

    compares = True
    type: Literal["t-closeness"]
    t: float = Field(ge=0, le=1)
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"

    @property
    def asked(self) -> float:
        """The threshold."""
        return self.t


class AlphaK(_Goal):
    """No value has a share above alpha."""

    type: Literal["alpha-k"]
    alpha: float = Field(gt=0, le=1)

    @property
    def asked(self) -> float:
        """The threshold."""
        return self.alpha


class BetaLikeness(_Goal):
    """No value's share grows by more than beta times its share in the whole release."""

    compares = True
    type: Literal["beta-likeness"]
    variant: Literal["basic", "enhanced"] = "basic"
    beta: float = Field(gt=0, allow_inf_nan=False)

    @property
    def asked(self) -> float:
        """The threshold."""
        return self.beta


class DeltaDisclosure(_Goal):
    """The logarithm of each value's share over its share in the whole release stays within delta."""

    compares = True
    type: Literal["delta-disclosure"]
    delta: float = Field(gt=0, allow_inf_nan=False)

    @property
    def asked(self) -> float:
        """The threshold."""
        return self.delta


class ValueRange(_Goal):
    """The largest number of a class is at least e above its smallest."""

    more_is_better = True
    type: Literal["range"]
    e: float = Field(gt=0, allow_inf_nan=False)

    @property
    def needs_kind(self) -> bool:
        """Numbers are subtracted."""
        return True

    @property
    def asked(self) -> float:
        """The threshold."""
        return self.e


class _RiskGoal(BaseModel):
    """Base of the goals about the risk of re-identification, which no sensitive column matters for."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    column: ClassVar[None] = None
    columns: ClassVar[tuple[str, ...]] = ()
    form: ClassVar[None] = None

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the goal."""
        return self.model_dump()


class KMap(_RiskGoal):
    """Every class matches at least k people of a population: of a table with one row for each."""

    type: Literal["k-map"]
    k: int = Field(ge=2)
    population: str = Field(min_length=1)

    @property
    def asked(self) -> int:
        """The threshold."""
        return self.k


class AverageRisk(_RiskGoal):
    """The average risk of all rows, classes / rows, is at most a threshold."""

    type: Literal["average-risk"]
    threshold: float = Field(gt=0, le=1)

    @property
    def asked(self) -> float:
        """The threshold."""
        return self.threshold


Goal = LDiversity | TCloseness | AlphaK | BetaLikeness | DeltaDisclosure | ValueRange
RiskGoal = KMap | AverageRisk
AnyGoal = Annotated[Goal | RiskGoal, Field(discriminator="type")]
_SCHEMAS = get_args(Goal) + get_args(RiskGoal)
TYPES = tuple(get_args(schema.model_fields["type"].annotation)[0] for schema in _SCHEMAS)
KEYS_OF = {  # by type, in the order in which people write them
    kind: tuple(key for key in schema.model_fields if key != "type")
    for kind, schema in zip(TYPES, _SCHEMAS, strict=True)
}
_KEYS = {key for schema in _SCHEMAS for key in schema.model_fields if key != "type"}
_WORDS = {"type", "column", "variant", "distance", "population"}  # all other keys are numbers


def from_text(text: str) -> dict[str, Any]:
    """Parse the value of a goal flag: `l-diversity column=x l=3`; joint columns are written `x+y`.

    Examples
    --------
    >>> from_text("l-diversity column=disease l=3")
    {'type': 'l-diversity', 'column': 'disease', 'l': 3}
    """
    kind, *pairs = text.split(" ")
    given: dict[str, Any] = {"type": kind}
    key = None
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if equals and name in _KEYS:
            key = name
            given[key] = value
        elif key is not None:
            given[key] += f" {pair}"  # a column name may contain spaces
        elif pair:
            given[pair] = True  # rejected later, with the name of the key
    return {name: _typed(name, value) for name, value in given.items()}


def _typed(name: str, value: Any) -> Any:
    """Parse numbers; any other text stays as is, to be reported with all other faults."""
    if name == "column" and isinstance(value, str):
        value = value.strip()
        return value.split("+") if "+" in value else value
    if name not in _KEYS - _WORDS:
        return value.strip() if isinstance(value, str) else value
    for kind in (int, float):
        try:
            return kind(value)
        except (TypeError, ValueError):
            continue
    return value
