"""Read what is given with a flag: lists of columns, and COLUMN=VALUE."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from shoal.errors import RecipeError

# COLUMN=DANGER or COLUMN=DANGER:REASON; both a column's name and a reason may contain an equals sign.
_ACCEPT = re.compile(r"\s*(.*?\S)\s*=\s*(\w+)\s*(?::\s*(.*?)\s*)?", re.DOTALL)


def names(text: str | None) -> list[str]:
    """Split a list of column names at commas."""
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def accepted(texts: Iterable[str]) -> dict[str, list[str] | dict[str, str]]:
    """Return the dangers that flags accept, by column: names alone, or with reasons if any was given."""
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        parts = _ACCEPT.fullmatch(text)
        if parts is None:
            raise _malformed("accept")
        name, danger, reason = parts.groups()
        found.setdefault(name, {})[danger] = reason or ""
    return {name: dangers if any(dangers.values()) else list(dangers) for name, dangers in found.items()}


def pairs(flag: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Split COLUMN=TEXT."""
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise _malformed(flag)
        yield name.strip(), value.strip()


def _malformed(flag: str) -> RecipeError:
    shown, example = _EXAMPLES[flag]
    return RecipeError("recipe.invalid", f"--{flag} takes {shown}.", f"for example {example}")


def _number(text: str) -> float | str:
    """Parse a number; any other text stays as is, to be reported with all other faults."""
    try:
        return float(text)
    except ValueError:
        return text


def _value(text: str) -> int | float | str:
    """Parse a number, whole if possible; any other text, such as a date, stays as is."""
    try:
        return int(text)
    except ValueError:
        return _number(text)


def _setting(flag: str) -> Callable[[str], Any]:
    """Return a function that reads a number, or an inline table of settings."""

    def read(text: str) -> Any:
        if not text.startswith("{"):
            return _number(text)
        try:
            return tomllib.loads(f"given = {text}")["given"]
        except tomllib.TOMLDecodeError:
            raise _malformed(flag) from None

    return read


def _hierarchy(text: str) -> str | dict[str, Any]:
    """Parse an inline table or a name, or resolve a path relative to the working directory."""
    from shoal.recipe import is_file

    if not text.startswith("{"):
        return str(Path(text).absolute()) if is_file(text) else text
    try:
        table: dict[str, Any] = tomllib.loads(f"hierarchy = {text}")["hierarchy"]
    except tomllib.TOMLDecodeError:
        message = "A hierarchy in braces is not a valid TOML table."
        raise RecipeError(
            "recipe.invalid", message, f"for example --hierarchy {_EXAMPLES['hierarchy'][1]}"
        ) from None
    return table


READ: dict[str, Callable[[str], Any]] = {
    "kind": str,
    "order": names,
    "weight": _number,
    "hierarchy": _hierarchy,
    "top": _value,
    "bottom": _value,
    "pram": _setting("pram"),
    "swap": _number,
    "noise": _setting("noise"),
}
_EXAMPLES = {
    "kind": ("COLUMN=KIND", "zip=categorical"),
    "order": ("COLUMN=LOW,...,HIGH", "size=small,medium,large; the order of rows is --row-order"),
    "weight": ("COLUMN=NUMBER", "age=2"),
    "hierarchy": ("COLUMN=FILE, COLUMN=WORD or COLUMN={...}", "zip=zip_tree.csv or zip='{ prefix = 1 }'"),
    "accept": ("COLUMN=DANGER or COLUMN=DANGER:REASON", "note=unique or note=unique:'a row number'"),
    "top": ("COLUMN=VALUE", "age=90"),
    "bottom": ("COLUMN=VALUE", "age=18"),
    "pram": ("COLUMN=SHARE or COLUMN={...}", "job=0.1 or job='{ change = 0.1, invariant = true }'"),
    "swap": ("COLUMN=PERCENT", "income=5"),
    "noise": ("COLUMN=SHARE or COLUMN={...}", "income=0.1 or income='{ sd = 0.1, correlated = true }'"),
    "about": ("KEY=TEXT", '--about purpose="Study of readmissions" --about date=2026-03-31'),
}
