"""The sections of a recipe, as in TOML."""

from __future__ import annotations

import datetime
from fractions import Fraction
from math import floor
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from shoal.recipe.goals import AnyGoal, Goal, RiskGoal
from shoal.recipe.protection import Code, NoiseForm, PramForm, Secrets
from shoal.recipe.trees import rule_of

Role = Literal["identifier", "subject", "quasi", "sensitive", "keep", "drop"]
Kind = Literal["numeric", "categorical", "ordinal", "date"]
Danger = Literal["unique", "recoverable", "duplicate", "repeated", "dominated", "alike"]
Reason = Annotated[str, Field(max_length=500)]
_NAMES, _REASONS = "list[danger]", "dict[danger]"
EXTENSIONS = (".csv", ".tsv", ".parquet", ".arrow", ".feather")


def _accept_form(given: object) -> str:
    """Distinguish names alone from names with reasons, so that a fault is about the form that was used."""
    return _REASONS if isinstance(given, dict) else _NAMES


Accept = Annotated[
    Annotated[list[Danger], Tag(_NAMES)] | Annotated[dict[Danger, Reason], Tag(_REASONS)],
    Discriminator(_accept_form),
]


class Section(BaseModel):
    """Base of all sections: immutable, and unknown keys are faults."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _day_text(given: Any) -> Any:
    """Return the text of a TOML date, which is written without quotes; anything else as it is."""
    return given.isoformat() if isinstance(given, datetime.date) else given


LONGEST_TEXT = 2000  # characters
AboutText = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]


class About(Section):
    """Why the release was made, by whom, for whom and when: texts that the manifest and the report repeat."""

    purpose: AboutText | None = None
    author: AboutText | None = None
    recipient: AboutText | None = None
    date: Annotated[AboutText | None, BeforeValidator(_day_text)] = None


DayOrder = Literal["D.M.Y", "D/M/Y", "M/D/Y", "D-M-Y"]
DAY_ORDERS: tuple[str, ...] = get_args(DayOrder)


class Input(Section):
    """Where the table is and how to read it."""

    path: str | None = None
    separator: str | None = Field(default=None, pattern=r"^[\t !#-~]$")  # one ASCII character, not a quote
    missing: list[str] = [""]
    header: bool = True
    names: list[str] | None = Field(default=None, min_length=1)
    encoding: str | None = None
    decimal: Literal[".", ","] = "."  # of numbers in text files
    dates: DayOrder | None = None  # of days in text files that are not in ISO form
    table: str | None = Field(
        default=None, min_length=1
    )  # a sheet, a table of a database, a file in an archive
    query: str | None = Field(default=None, min_length=1)  # of a database, in place of a table
    labels: bool | list[str] = True  # or the columns whose value labels replace their codes
    missing_codes: Literal["missing", "values"] = "missing"
    catalog: str | None = None


class Column(Section):
    """The role of a column and, for a quasi column, how its values relate."""

    role: Role
    kind: Kind | None = None
    weight: float = Field(default=1.0, ge=0.001, le=1000, allow_inf_nan=False)
    order: list[str] | None = None
    hierarchy: str | dict[str, Any] | None = None
    grid: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    accept: Accept = []
    top: Code | None = None
    bottom: Code | None = None
    pram: PramForm | None = None
    swap: float | None = Field(default=None, gt=0, le=100)  # window, in percent of the rows
    noise: NoiseForm | None = None
    pseudonym: bool = False
    # A manifest must not show the values of a column: this gives only the number of omitted ones.
    omitted: dict[Literal["order", "hierarchy"], int] = {}

    @property
    def accepted(self) -> dict[str, str]:
        """The accepted dangers and the reason for each, empty where none was given."""
        reasons = self.accept if isinstance(self.accept, dict) else dict.fromkeys(self.accept, "")
        return {name: reason.strip() for name, reason in reasons.items()}

    @property
    def tree(self) -> str | dict[str, Any] | None:
        """The hierarchy, or the rule by which one that has a name is built."""
        return rule_of(self.hierarchy)

    @property
    def lacking(self) -> dict[str, int]:
        """The omitted keys that have not been supplied since, with their numbers of values."""
        return {key: number for key, number in self.omitted.items() if getattr(self, key) is None}


class Privacy(Section):
    """What is guaranteed for every released row."""

    k: int = Field(ge=2)
    missing: Literal["category", "suppress", "error"] = "category"
    max_suppressed: float = Field(default=0.0, ge=0, le=1)
    suppress_cells: float = Field(default=0.0, ge=0, le=1)  # share of rows
    goal: list[AnyGoal] = []

    @property
    def column_goals(self) -> list[Goal]:
        """The goals about sensitive columns, which each class meets or fails."""
        return [goal for goal in self.goal if isinstance(goal, Goal)]

    @property
    def risk_goals(self) -> list[RiskGoal]:
        """The goals about the risk of re-identification."""
        return [goal for goal in self.goal if isinstance(goal, RiskGoal)]

    def may_suppress(self, n_rows: int) -> int:
        """Return how many rows may be suppressed.

        The share is read as a decimal: 0.29 of 100 rows is 29, although 0.29 * 100 is less than 29 in
        floating point.
        """
        return floor(Fraction(repr(self.max_suppressed)) * n_rows)

    def may_lack_cells(self, n_rows: int) -> int:
        """Return how many rows may be published without one of their quasi values."""
        return floor(Fraction(repr(self.suppress_cells)) * n_rows)


class Method(Section):
    """How the classes are found."""

    name: str = "auto"
    seed: int = Field(default=0, ge=0, lt=2**63)
    options: dict[str, Any] = {}


class Output(Section):
    """Where the release goes and what its values look like."""

    path: str | None = None
    table: str | None = Field(default=None, min_length=1)  # of the database that `path` is the address of
    values: Literal["generalize", "microaggregate"] = "generalize"
    views: Literal["whole", "equal", "unequal", "nested"] | list[list[str]] = "whole"
    views_by: Literal["clustering", "projection"] = "clustering"
    aggregate: Literal["mean", "median"] = "mean"
    bounds: Literal["tight", "snapped"] = "tight"
    bounds_as: Literal["text", "columns"] = "text"
    max_set: int = Field(default=20, ge=1)
    spreadsheet_safe: bool = True
    order: Literal["sorted", "shuffled"] = "sorted"
    ledger: str | None = Field(default=None, min_length=1)  # relative to the working directory, like `path`


class Engine(Section):
    """Where the work is done, and in parts of what size."""

    name: Literal["local", "spark"] = "local"
    cell_rows: int | None = Field(default=None, ge=10)
    master: str | None = None
    conf: dict[str, str] = {}


class Sections(Section):
    """The recipe as a pydantic model, with the sections of the TOML file."""

    about: About = About()
    input: Input = Input()
    columns: dict[str, Column] = {}
    privacy: Privacy
    method: Method = Method()
    engine: Engine = Engine()
    output: Output = Output()
    secrets: Secrets = Secrets()
