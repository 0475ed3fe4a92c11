"""Numbers and days of a raw text file as people write them, which a release has in the usual form."""

from __future__ import annotations

from shoal.recipe import Input
from shoal.verifier.reading.session import Session, column

_COMMA = "[-+]?([0-9]+|[0-9]{1,3}([.][0-9]{3})+)(,[0-9]+)?"
_TIME = "([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?"


def read_conventions(session: Session, table: str, width: int, given: Input) -> None:
    """Rewrite every cell that is such a number or day, unless it means missing."""
    for cell in map(column, range(width)):
        if given.decimal == ",":
            _update(session, table, cell, _COMMA, f"translate(trim({cell}), ',.', '.')", given)
        if given.dates is not None:
            pattern = _day_pattern(given.dates)
            _update(session, table, cell, pattern, _iso_day(cell, pattern, given.dates), given)


def _day_pattern(order: str) -> str:
    parts = ["([0-9]{4})" if letter == "Y" else "([0-9]{1,2})" for letter in order[::2]]
    return f"[{order[1]}]".join(parts) + _TIME


def _iso_day(cell: str, pattern: str, order: str) -> str:
    """Return the SQL of a day as YYYY-MM-DD, with its time if it has one."""
    parts = [f"regexp_extract(trim({cell}), '{pattern}', {group})" for group in range(1, 5)]
    year, month, day = (parts[order[::2].index(letter)] for letter in "YMD")
    return f"{year} || '-' || lpad({month}, 2, '0') || '-' || lpad({day}, 2, '0') || {parts[3]}"


def _update(session: Session, table: str, cell: str, pattern: str, becomes: str, given: Input) -> None:
    session.rows(
        f"UPDATE {table} SET {cell} = {becomes} WHERE regexp_full_match(trim({cell}), '{pattern}') "
        f"AND NOT list_contains(?, trim({cell}))",
        [given.missing],
    )
