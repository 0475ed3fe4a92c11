"""Choose one of several tables in a file: a sheet, a table of a database, a file in an archive."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shoal.errors import DataError, TableChoiceError
from shoal.recipe import Input, Location, did_you_mean
from shoal.wording import setting

_SHOWN = 20  # names in one message


def pick(path: Location, names: Sequence[str], given: Input, what: str, hidden: Collection[str] = ()) -> str:
    """Return the chosen table, or the only one; a file with several, or with hidden ones, needs a choice.

    Parameters
    ----------
    path : Path or Address
        The file or database, for messages.
    names : sequence of str
        Its tables, in their order.
    given : Input
        Its `table` is the choice.
    what : str
        What one of them is called, such as ``sheet``.
    hidden : collection of str
        Those that the program which wrote the file does not show.
    """
    if given.table is not None and given.table in names:
        return given.table
    if not names:
        message = f"The input {path} has no {what}s."
        raise DataError("data.empty", message, f"use a file with one {what} or more")
    if given.table is None and len(names) == 1:
        return names[0]
    listed = ", ".join(f"`{name}`{' (hidden)' if name in hidden else ''}" for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    number = f"{len(names)} {what}{'s' if len(names) > 1 else ''}"
    message = f"The input {path} has {number}: {listed}{more}."
    hint = f"choose one: {setting('input', 'table', names[0])}"
    if given.table is not None:
        message = f"The input {path} has no {what} `{given.table}`, but {number}: {listed}{more}."
        hint = did_you_mean(given.table, names) or hint
    raise TableChoiceError(message, hint, names)
