"""How messages refer to settings: by recipe key, or by flag if the user gave flags."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_asked_by_flags: ContextVar[bool] = ContextVar("asked_by_flags", default=False)

# Recipe settings that have a flag. Column settings take COLUMN=VALUE.
_FLAGS = {
    "about.purpose": "--about purpose",
    "about.author": "--about author",
    "about.recipient": "--about recipient",
    "about.date": "--about date",
    "input.separator": "--separator",
    "input.encoding": "--encoding",
    "input.decimal": "--decimal",
    "input.dates": "--dates",
    "input.names": "--names",
    "input.table": "--table",
    "input.query": "--query",
    "input.labels": "--labels",
    "input.missing": "--missing-values",
    "columns.default": "--default",
    "privacy.k": "--k",
    "privacy.goal": "--goal",
    "privacy.missing": "--missing",
    "privacy.max_suppressed": "--max-suppressed",
    "privacy.suppress_cells": "--suppress-cells",
    "secrets.key_file": "--key-file",
    "secrets.key_env": "--key-env",
    "method.name": "--method",
    "method.seed": "--seed",
    "method.options.effort": "--effort",
    "engine.name": "--engine",
    "engine.cell_rows": "--cell-rows",
    "engine.master": "--master",
    "engine.conf": "--conf",
    "output.path": "--output",
    "output.table": "--output-table",
    "output.order": "--row-order",
    "output.views": "--views",
    "output.views_by": "--views-by",
}
_COLUMN_FLAGS = (
    "kind", "order", "weight", "hierarchy", "accept", "top", "bottom", "pram", "swap", "noise", "pseudonym",
)  # fmt: skip


@contextmanager
def naming_flags(asked_by_flags: bool = True) -> Iterator[None]:
    """Make messages name flags instead of recipe keys."""
    token = _asked_by_flags.set(asked_by_flags)
    try:
        yield
    finally:
        _asked_by_flags.reset(token)


def setting(section: str, key: str, value: str) -> str:
    """Return the text that sets a setting to a value.

    Parameters
    ----------
    section : str
        For example ``"privacy"``, or ``"columns.age"`` for a column.
    key : str
        The setting.
    value : str
        As given to a flag: without quotes, several values separated by commas.

    Examples
    --------
    >>> setting("columns.zip", "kind", "categorical")
    'kind = "categorical" in [columns.zip]'
    >>> with naming_flags():
    ...     setting("columns.zip", "kind", "categorical")
    '--kind zip=categorical'
    """
    flag = _flag(section, key)
    if flag is None:
        return f"{key} = {_toml(section, key, value)} in [{_header(section)}]"
    column = section.removeprefix("columns.")
    return f"{flag} {column}={value}" if section != column else f"{flag} {value}"


def accept_setting(column: str, reasons: Mapping[str, str]) -> str:
    """Return the text that accepts dangers of a column, each with its reason.

    Examples
    --------
    >>> accept_setting("zip", {"unique": "published anyway"})
    'accept = { unique = "published anyway" } in [columns.zip]'
    >>> with naming_flags():
    ...     accept_setting("zip", {"unique": "published anyway"})
    "--accept 'zip=unique:published anyway'"
    """
    if _flag(f"columns.{column}", "accept") is None:
        table = ", ".join(f"{name} = {_quoted(reason)}" for name, reason in reasons.items())
        return f"accept = {{ {table} }} in [{_header(f'columns.{column}')}]"
    texts = [
        f"{column}={name}:{reason}" if reason else f"{column}={name}" for name, reason in reasons.items()
    ]
    return " ".join(f"--accept {shlex.quote(text)}" for text in texts)


def name_of(section: str, key: str) -> str:
    """Return the name of a setting in backticks: its recipe key or its flag.

    Examples
    --------
    >>> name_of("privacy", "max_suppressed")
    '`privacy.max_suppressed`'
    >>> with naming_flags():
    ...     name_of("columns.age", "weight")
    '`--weight` of column `age`'
    """
    flag = _flag(section, key)
    if flag is None:
        return f"`{section}.{key}`"
    column = section.removeprefix("columns.")
    return f"`{flag}` of column `{column}`" if section != column else f"`{flag}`"


def no_header(names: str) -> str:
    """Return the settings for reading a table without a header line."""
    if _asked_by_flags.get():
        return setting("input", "names", names)
    return f"header = false and {setting('input', 'names', names)}"


def in_recipe() -> str:
    """Return " in the recipe", or nothing if the user gave flags."""
    return "" if _asked_by_flags.get() else " in the recipe"


def _flag(section: str, key: str) -> str | None:
    """Return the flag of a setting, or None if it has none or the user gave a recipe."""
    if not _asked_by_flags.get():
        return None
    if section.startswith("columns."):
        return f"--{key}" if key in _COLUMN_FLAGS else None
    return _FLAGS.get(f"{section}.{key}")


def _header(section: str) -> str:
    """Format the name of a section as TOML; that of a column may need quotes."""
    column = section.removeprefix("columns.")
    is_plain = section == column or re.fullmatch(r"[A-Za-z0-9_-]+", column)
    return section if is_plain else f"columns.{_quoted(column)}"


def _quoted(text: str) -> str:
    """Format a text as TOML, whose strings are like those of JSON."""
    return json.dumps(text, ensure_ascii=False)


def _toml(section: str, key: str, value: str) -> str:
    """Format a value as TOML."""
    if key in ("order", "names") or (section, key) == ("input", "missing"):
        listed = ", ".join(f'"{part}"' for part in value.split(","))
        return f"[{listed}]"
    is_text = key not in ("k", "seed", "weight", "max_suppressed", "cell_rows") and not value.startswith("{")
    return f'"{value}"' if is_text else value
