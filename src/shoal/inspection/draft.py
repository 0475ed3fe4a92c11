"""The draft of a recipe: TOML with a comment for everything that was decided."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import printable
from shoal.hierarchy.nested import quoted
from shoal.recipe import Input

if TYPE_CHECKING:
    from shoal.inspection.inspection import InspectedColumn

K = 5


def draft(
    columns: Sequence[InspectedColumn], given: Input, *, rows: int, people: int, path: str | None, output: str
) -> str:
    """Write a recipe that `shoal anonymize` runs as it is.

    Parameters
    ----------
    columns : sequence of InspectedColumn
        With their suggested roles, kinds and hierarchies.
    given : Input
        How the table was read.
    rows, people : int
        Rows of the table, and people in it: the same without a subject.
    path : str, optional
        Of the table, relative to the recipe.
    output : str
        Path of the release.
    """
    lines = [
        f"# Drafted by `shoal inspect` from {rows:,} rows and {len(columns)} columns: suggestions, no more.",
        "# Read the reasons, change what you know better, and run: shoal anonymize RECIPE",
        "",
        *_input_lines(given, path),
    ]
    for column in columns:
        lines += [*_column_lines(column), ""]
    lines += ["[privacy]", f"k = {max(2, min(K, people))}  # every released row looks like k - 1 others"]
    lines += _goal_lines([column.name for column in columns if column.role == "sensitive"])
    lines += ["", "[output]", f"path = {quoted(output)}"]
    return "\n".join(lines) + "\n"


def _input_lines(given: Input, path: str | None) -> list[str]:
    lines = [] if path is None else [f"path = {quoted(path)}"]
    if given.table is not None:
        lines.append(f"table = {quoted(given.table)}")
    if given.query is not None:
        lines.append(f"query = {quoted(given.query)}")
    if given.labels is not True:
        lines.append(f"labels = {_list(given.labels) if given.labels else 'false'}")
    if given.separator is not None:
        lines.append(f"separator = {quoted(given.separator)}")
    if given.encoding is not None:
        lines.append(f"encoding = {quoted(given.encoding)}")
    if given.decimal != ".":
        lines.append(f"decimal = {quoted(given.decimal)}  # published with a point")
    if given.dates is not None:
        lines.append(f"dates = {quoted(given.dates)}  # published as YYYY-MM-DD")
    if given.names is not None:
        lines += ["header = false", f"names = {_list(given.names)}"]
    if given.missing != [""]:
        lines.append(f"missing = {_list(given.missing)}  # texts that mean missing")
    return ["[input]", *lines, ""] if lines else []


def _column_lines(column: InspectedColumn) -> list[str]:
    lines = [f"[columns.{_key(column.name)}]", f"role = {quoted(column.role)}  # {_comment(column.reason)}"]
    if column.role == "quasi":
        if column.drafted.kind is not None:
            lines.append(f"kind = {quoted(column.drafted.kind)}  # {_comment(column.kind_reason)}")
        if column.drafted.hierarchy is not None:
            lines.append(f"hierarchy = {_value(column.drafted.hierarchy)}  # {_comment(column.drafted.note)}")
        else:
            lines.append(f"# no hierarchy: {_comment(column.drafted.note)}")
    if column.frequent:
        lines.append(f"# frequent: {_comment(', '.join(column.frequent))}")
    return lines


def _goal_lines(sensitive: Sequence[str]) -> list[str]:
    if not sensitive:
        return []
    lines = ["", "# With k alone, all rows of a class may share one sensitive value. A goal prevents that:"]
    for name in sensitive:
        lines += [
            "# [[privacy.goal]]",
            '# type = "l-diversity"',
            f"# column = {_comment(quoted(name))}",
            "# l = 2",
        ]
    return lines


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, texts))}]"


def _value(value: Any) -> str:
    """Write a hierarchy: a word, or a table of builders."""
    if isinstance(value, dict):
        inner = ", ".join(f"{key} = {_value(part)}" for key, part in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return quoted(value) if isinstance(value, str) else str(value)


def _comment(text: str) -> str:
    return printable(text)
