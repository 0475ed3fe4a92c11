"""Everything that a report says, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from shoal.bound.lower_bound import Bound
from shoal.recipe import Shape
from shoal.report.profile import Profile


@dataclass(frozen=True, repr=False)  # a repr would show values
class Facts:
    """What is known about a release. The same facts give the same report, byte for byte.

    Parameters
    ----------
    title : str
        Name of the release, without its folder.
    version : str
        Of shoal.
    rows, released, suppressed, classes : int
        Rows in = rows released + rows suppressed.
    k_asked, k : int
        The smallest class that was asked for, and the smallest there is; None where k is not promised.
    goals : sequence of mappings
        Every goal: `type`, `column` (None for k-anonymity), `asked`, `achieved`, `holds`, `variant`,
        `counts`.
    method, paper : str
        The method that ran, and where it is described.
    seed : int or None
        None where it is secret.
    options : mapping of str to value
        Those of the method, defaults included.
    loss, loss_tight : mapping of str to number or None
        Of what was published and of the classes' own values; None where a measure is not defined.
    bound : Bound or None
        What every release must lose at least; None where that was not computed.
    profile : Profile
        The columns, the class sizes and the sensitive columns.
    kinds : mapping of str to mapping
        Of each quasi column: its `kind`, and whether that was `found` or stood in the recipe.
    kept : sequence of str
        Columns that are released as they are and are not sensitive.
    recipe : str
        The recipe as TOML, without folders and without values of columns.
    verify_command : str
        What to type to check the file.
    versions : mapping of str to str
        Of everything that took part.
    digest : str or None
        SHA-256 of the released file; None when the release has not been written.
    remarks : sequence of str
        What the method has to say about its run: numbers, no values.
    composition : mapping or None
        What this and other tables give away together; None when there is none beside it.
    dangers : sequence of mappings
        What is given away although every promise holds: `code`, `columns`, `message`, `accepted`.
    shape : Shape
        What is published.
    values : {"generalize", "microaggregate"}
    bounds : {"tight", "snapped"}
        How quasi values are published.
    """

    title: str
    version: str
    rows: int
    released: int
    suppressed: int
    classes: int
    k_asked: int
    k: int | None
    goals: Sequence[Mapping[str, Any]]
    method: str
    paper: str
    seed: int | None
    options: Mapping[str, Any]
    loss: Mapping[str, float | int | None]
    loss_tight: Mapping[str, float | int | None]
    profile: Profile
    kept: Sequence[str]
    recipe: str
    verify_command: str
    versions: Mapping[str, str]
    digest: str | None = None
    kinds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bound: Bound | None = None
    remarks: Sequence[str] = ()
    composition: Mapping[str, Any] | None = None
    dangers: Sequence[Mapping[str, Any]] = ()
    shape: Shape = Shape.CLASSES
    values: Literal["generalize", "microaggregate"] = "generalize"
    bounds: Literal["tight", "snapped"] = "tight"
