"""`shoal.inspect`: what is in a table, what singles people out, and a recipe for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shoal.errors import RecipeError
from shoal.inspection.combinations import find_combinations
from shoal.inspection.dependencies import find_dependencies
from shoal.inspection.headers import meanings
from shoal.inspection.hierarchies import Choice, choose
from shoal.inspection.inspection import InspectedColumn, Inspection
from shoal.inspection.kinds import find_kind
from shoal.inspection.meaning import find_meaning
from shoal.inspection.profile import profile
from shoal.inspection.roles import IDENTIFYING, Known, Suggestion, suggest_roles
from shoal.inspection.source import Source, load
from shoal.recipe import Input, located
from shoal.stages import Progress, stage
from shoal.table.frames import series

_NO_CHOICE = Choice(None, None, "")


def inspect(
    data: Any,
    *,
    missing: Iterable[str] = (),
    names: Iterable[str] | None = None,
    header: bool | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    table: str | None = None,
    query: str | None = None,
    labels: bool | list[str] = True,
    progress: Progress | None = None,
) -> Inspection:
    """Look at a table: kinds, identifiers, what singles people out, and a recipe to start from.

    No value that occurs in fewer than ten rows is in the result.

    Parameters
    ----------
    data : str, Path, or pandas, Polars or Arrow frame
        The table, its file in any format that shoal reads, or the address of a PostgreSQL database.
    missing : iterable of str, optional
        Texts that mean missing, besides the empty one and the usual marks, which are found.
    names : iterable of str, optional
        Column names of a text file without a header line.
    header : bool, optional
        Whether a text file has a header line; by default this is detected.
    separator, encoding : str, optional
        Of a text file; by default the separator is detected, and the encoding is UTF-8.
    table : str, optional
        The sheet of a workbook, or the table of a database, if there are several.
    query : str, optional
        A query of a PostgreSQL database, in place of a table.
    labels : bool or list of str, default True
        Whether value labels replace the codes of SPSS, Stata and SAS files, or in which columns.
    progress : callable, optional
        Called with the name of a stage and the fraction that is done.

    Returns
    -------
    Inspection
        With `columns`, `combinations`, `dependencies`, and `recipe`, a TOML text.

    Examples
    --------
    >>> import shoal
    >>> from shoal.datasets import hospital
    >>> found = shoal.inspect(hospital(2000))
    >>> found.identifiers, found.named("quasi")
    (['name', 'patient'], ['birth_date', 'sex', 'postcode', 'profession'])
    """
    if header and names is not None:
        message = "The input has a header, but column names are given too."
        raise RecipeError("recipe.invalid", message, "give names only for a table without a header line")
    timings: dict[str, float] = {}
    with stage(timings, "read", progress):
        given = _input(missing, names, separator, encoding)
        given = given.model_copy(update={"table": table, "query": query, "labels": labels})
        place = located(data) if isinstance(data, (str, Path)) else None
        source = load(data if place is None else place, given, header)
    with stage(timings, "count", progress):
        columns = [_known(name, source) for name in source.names if name not in source.unusable]
    with stage(timings, "measure", progress):
        dependencies = find_dependencies([one.profile for one in columns if not _identifies(one)])
        roles = suggest_roles(columns, dependencies)
        knowable = [one.profile for one in columns if roles[one.profile.name].is_knowable]
        singled = find_combinations([one for one in knowable if one.distinct > 1])
    known = {one.profile.name: one for one in columns}
    return Inspection(
        rows=source.table.height,
        columns=[_inspected(name, known, roles) for name in source.names],
        unique=singled.unique,
        combinations=singled.combinations,
        contributions=singled.contributions,
        dependencies=dependencies,
        notes=_notes(source),
        given=source.given,
        source=place,
    )


def _input(
    missing: Iterable[str], names: Iterable[str] | None, separator: str | None, encoding: str | None
) -> Input:
    listed = None if names is None else list(names)
    try:
        return Input(
            missing=list(dict.fromkeys(["", *missing])), names=listed, header=listed is None,
            separator=separator, encoding=encoding,
        )  # fmt: skip
    except ValueError:  # pydantic's message would quote what was given
        message = "The separator is not one character other than a quote, or the list of names is empty."
        raise RecipeError("recipe.invalid", message, "for example separator=';'") from None


def _known(name: str, source: Source) -> Known:
    said = meanings(name)
    found = profile(name, series(source.table, name))
    kind = find_kind(found, said)
    return Known(found, kind, find_meaning(found, kind, said))


def _identifies(one: Known) -> bool:
    return one.meaning.what in IDENTIFYING


def _inspected(name: str, known: Mapping[str, Known], roles: Mapping[str, Suggestion]) -> InspectedColumn:
    if name not in known:
        reason = "its data type, or the mix of types in it, cannot be released"
        return InspectedColumn(
            name, "categorical", reason, None, 0, 0, 0.0, None, "drop", reason, _NO_CHOICE, []
        )
    one, suggested = known[name], roles[name]
    n_quasi = sum(each.role == "quasi" for each in roles.values())
    found = one.profile
    return InspectedColumn(
        name=name,
        kind=one.kind.kind,
        kind_reason=one.kind.reason,
        precision=one.kind.precision,
        distinct=found.distinct,
        missing=found.missing,
        unique_share=found.unique_share,
        meaning=one.meaning.what,
        role=suggested.role,
        reason=suggested.reason,
        drafted=choose(found, one.kind, n_quasi) if suggested.role == "quasi" else _NO_CHOICE,
        frequent=[] if suggested.role in ("identifier", "subject") else found.frequent(),
    )


def _notes(source: Source) -> list[str]:
    notes = []
    if source.header_found is False:
        notes.append(
            "The first line looks like data, so the columns are called column_1, column_2 and so on."
        )
    marks = [f"`{mark}`" for mark in source.given.missing if mark]
    if marks:
        notes.append(f"These texts count as missing: {', '.join(marks)}.")
    if source.unusable:
        notes.append(
            f"These columns cannot be released: {', '.join(f'`{name}`' for name in source.unusable)}."
        )
    return notes
