"""Pseudonyms of a release: in their form, one for each row, and no identifier of the original among them."""

from __future__ import annotations

from shoal.recipe import Recipe
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session
from shoal.verifier.reading.value import bare
from shoal.verifier.verdict import Problem, count

_CODE = "verify.pseudonym"
_FORM = "[0-9a-f]{64}"


def pseudonym_problems(
    session: Session, loaded: Loaded, original: Loaded | None, recipe: Recipe
) -> list[Problem]:
    """Check every column of pseudonyms; that a key was used cannot be seen without it."""
    problems = []
    for name in filter(loaded.has_once, recipe.pseudonyms):
        cell = bare(loaded.column(name), marked=loaded.marked)
        query = (
            f"SELECT count(*) FILTER (NOT regexp_full_match(cell, '{_FORM}')), "
            "count(*) - count(DISTINCT cell) "
            f"FROM (SELECT {cell} AS cell FROM {loaded.table}) WHERE cell <> ''"
        )
        wrong, repeated = session.row(query)
        if wrong:
            message = f"Column `{name}` has {count(wrong, 'cell')} that are no pseudonyms."
            problems.append(Problem(_CODE, message))
        if repeated:
            rows = count(repeated, "row")
            message = f"Column `{name}` repeats pseudonyms in {rows}: rows of one person can be linked."
            problems.append(Problem(_CODE, message))
        if original is not None and original.has_once(name):
            problems += _in_clear(session, loaded, original, name)
    return problems


def _in_clear(session: Session, loaded: Loaded, original: Loaded, name: str) -> list[Problem]:
    cell = bare(loaded.column(name), marked=loaded.marked)
    raw = bare(original.column(name), marked=False)
    (found,) = session.row(
        f"SELECT count(*) FROM {loaded.table} WHERE {cell} <> '' AND {cell} IN (SELECT {raw} FROM "
        f"{original.table} WHERE {raw} IS NOT NULL)"
    )
    if not found:
        return []
    return [Problem(_CODE, f"Column `{name}` has {count(found, 'identifier')} of the original in clear.")]
