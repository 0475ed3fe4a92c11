"""The contents of a report as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from shoal.bound.result import Bound
from shoal.recipe import Shape
from shoal.report.findings import Findings
from shoal.report.profile import Profile


@dataclass(frozen=True, repr=False)  # a repr would show values
class Facts:
    """The facts about a release. The same facts produce the same report, byte for byte.

    Parameters
    ----------
    title : str
        Name of the release, without its folder.
    version : str
        Version of shoal.
    rows, released, suppressed, classes : int
        Rows in = rows released + rows suppressed.
    k_asked, k : int
        The required and the actual smallest class size; None if k is not promised.
    goals : sequence of mappings
        Every goal: `type`, `column` (None for k-anonymity), `asked`, `achieved`, `holds`, `variant`,
        `counts`.
    method, paper : str
        The method, and the paper that describes it.
    seed : int or None
        None if it is secret.
    options : mapping of str to value
        Options of the method, including defaults.
    loss, loss_tight : mapping of str to number or None
        Loss of the published values and of the tight ranges of the classes; None if not defined.
    bound : Bound or None
        Lower bound of the loss of any release; None if not computed.
    bound_gap : float or None
        By which share the loss is above the least possible one at most; None if not known.
    profile : Profile
        The columns, the class sizes and the sensitive columns.
    kinds : mapping of str to mapping
        For each quasi column, its `kind`, and whether it was `found` (detected) or given in the recipe.
    kept : sequence of str
        Columns that are released unchanged and are not sensitive.
    recipe : str
        The recipe as TOML, without folders and without values of columns.
    commands : sequence of pairs of str
        What can be repeated and checked, and the command that does it.
    versions : mapping of str to str
        Versions of all software involved.
    about : mapping of str to str
        What the recipe says about the release: purpose, author, recipient, date.
    in_database : bool
        Whether the release is a table of a database.
    digest : str or None
        SHA-256 of the released file; None if the release has not been written.
    files : int
        Of a release that is a folder, the number of its files; otherwise 0.
    engines : str
        What verified the release.
    remarks : sequence of str
        The method's remarks about its run: numbers, no values.
    composition : mapping or None
        What this and other tables reveal together; None if there are no others.
    dangers : sequence of mappings
        What is revealed although every promise holds: `code`, `columns`, `message`, `accepted`,
        `reason`.
    protection : sequence of mappings
        What was done to single columns, and how far it moved them.
    findings : Findings
        Risk, attacks, utility and the cost of k.
    shape : Shape
        Shape of the release.
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
    commands: Sequence[tuple[str, str]]
    versions: Mapping[str, str]
    about: Mapping[str, str] = field(default_factory=dict)
    digest: str | None = None
    in_database: bool = False
    files: int = 0
    engines: str = "DuckDB"
    kinds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bound: Bound | None = None
    bound_gap: float | None = None
    remarks: Sequence[str] = ()
    composition: Mapping[str, Any] | None = None
    dangers: Sequence[Mapping[str, Any]] = ()
    protection: Sequence[Mapping[str, Any]] = ()
    findings: Findings = field(default_factory=Findings)
    shape: Shape = Shape.CLASSES
    values: Literal["generalize", "microaggregate"] = "generalize"
    bounds: Literal["tight", "snapped"] = "tight"
