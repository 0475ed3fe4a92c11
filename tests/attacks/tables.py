"""Small tables for the tests of attacks."""

from __future__ import annotations

import polars as pl

import shoal
from shoal.recipe import Recipe


def frame(header: str, *rows: str) -> pl.DataFrame:
    """A frame of texts: cells separated by bars, so that labels may contain commas."""
    names = header.split("|")
    cells = [[cell or None for cell in row.split("|")] for row in rows]
    return pl.DataFrame({name: [row[at] for row in cells] for at, name in enumerate(names)})


def recipe(k=2, goals=(), method=None, output=None, missing=None, **columns) -> Recipe:
    """A recipe whose columns are roles, or tables with more keys."""
    sections = {
        "columns": {n: {"role": c} if isinstance(c, str) else c for n, c in columns.items()},
        "privacy": {"k": k, "goal": list(goals)} | ({"missing": missing} if missing else {}),
        "method": {"name": method or "auto"},
        "output": output or {},
    }
    return Recipe.from_dict(sections)


def attacked(original, released, asked, **more):
    return shoal.attack(original, released, asked, **more)


def result(found, attack, *columns):
    """The only result of an attack, on these columns if given."""
    results = [r for r in found if r.attack == attack and (not columns or r.columns == columns)]
    assert len(results) == 1, [(r.attack, r.columns) for r in found]
    return results[0]


def findings(found, finding):
    return {r.attack for r in found if r.finding == finding}
