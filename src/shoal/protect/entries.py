"""Describe what was done to a column and measure how far it moved, for manifest, JSON and report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import FloatArray, LongArray
from shoal.errors import DataError
from shoal.protect import moved
from shoal.protect.cells import cell_codes, on_line
from shoal.protect.pram import transition
from shoal.recipe import Column, Pram, Recipe, code_kind
from shoal.table.frames import series

MOST_CATEGORIES = 50  # of a transition matrix in a manifest

Entry = dict[str, Any]


def perturbation_entries(before: pl.DataFrame, after: pl.DataFrame, recipe: Recipe) -> list[Entry]:
    """Describe and measure every perturbed column."""
    numbers = {
        name: pair
        for name in recipe.named("sensitive", "keep")
        if (pair := _pair(before, after, name, recipe.columns[name])) is not None
    }
    old = {name: pair[0] for name, pair in numbers.items()}
    new = {name: pair[1] for name, pair in numbers.items()}
    entries = []
    for name, how in recipe.perturbed.items():
        column = recipe.columns[name]
        codes = _common_codes(before[name], after[name])
        entry: Entry = {"column": name, **_SETTINGS[how](column), "changed": moved.share_changed(*codes)}
        if how == "pram":
            assert column.pram is not None
            entry |= _pram_measures(before, after, name, column.pram, codes)
        elif name in numbers:
            entry |= moved.moved_numbers(old[name], new[name])
            entry |= {
                "correlations": moved.moved_correlation(name, old, new),
                "linked_before": moved.linked(old[name], old[name]),
                "linked": moved.linked(old[name], new[name]),
            }
        entries.append(entry)
    return entries


def _noise_settings(column: Column) -> Entry:
    assert column.noise is not None
    return {"method": "noise", "sd": column.noise.sd, "correlated": column.noise.correlated}


def _pram_settings(column: Column) -> Entry:
    assert column.pram is not None
    return {"method": "pram", "change": column.pram.change, "invariant": column.pram.invariant}


_SETTINGS: dict[str, Callable[[Column], Entry]] = {
    "pram": _pram_settings,
    "swap": lambda column: {"method": "rank swapping", "window": column.swap},
    "noise": _noise_settings,
}


def _pair(
    before: pl.DataFrame, after: pl.DataFrame, name: str, column: Column
) -> tuple[FloatArray, FloatArray] | None:
    """Return a column before and after as numbers; None if it has no numbers."""
    try:
        return tuple(on_line(series(table, name), name, column, "swap") for table in (before, after))  # type: ignore[return-value]
    except DataError:
        return None


def _common_codes(before: pl.Series, after: pl.Series) -> tuple[LongArray, LongArray]:
    common = before.dtype if before.dtype == after.dtype else pl.Float64  # see `protecting._written`
    both = pl.concat([values.alias("").cast(common) for values in (before, after)])
    codes, _ = cell_codes(both)
    return codes[: len(before)], codes[len(before) :]


def _pram_measures(
    before: pl.DataFrame, after: pl.DataFrame, name: str, pram: Pram, codes: tuple[LongArray, LongArray]
) -> Entry:
    """Return how counts moved, and the matrix; a category that nobody has any longer is not named.

    The matrix of the invariant form has the raw distribution in it, which released counts estimate.
    """
    size = int(codes[0].max()) + 1
    measured: Entry = {"categories": size, "moved": moved.moved_counts(*codes, size)}
    if pram.invariant or size > MOST_CATEGORIES:
        return measured
    cells = cell_codes(series(before, name))[1].cast(pl.String).to_list()
    matrix = [[round(float(p), 12) for p in row] for row in transition([1] * size, pram)]
    return {**measured, "names": _names_in(series(after, name), cells), "matrix": matrix}


def with_released_names(entries: Sequence[Entry], released: pl.DataFrame) -> tuple[Entry, ...]:
    """Leave out the names of categories that are in no released row, only in suppressed ones."""
    return tuple(
        {**entry, "names": _names_in(series(released, entry["column"]), entry["names"])}
        if "names" in entry and entry["column"] in released.columns
        else entry
        for entry in entries
    )


def _names_in(released: pl.Series, names: Sequence[str | None]) -> list[str | None]:
    present = set(released.cast(pl.String).to_list())
    return [name if name in present else None for name in names]


def code_entries(before: pl.DataFrame, after: pl.DataFrame, recipe: Recipe) -> list[Entry]:
    """Say how many cells each code replaced; of fewer than ten cells nothing more is said."""
    entries = []
    for name in recipe.coded:
        column = recipe.columns[name]
        given = {key: getattr(column, key) for key in ("bottom", "top")}
        entry: Entry = {"column": name, "method": "coding", **given}
        known = column.model_copy(update={"kind": code_kind(column)})
        old, new = (on_line(series(table, name), name, known, "swap") for table in (before, after))
        present = ~np.isnan(old)
        beyond = {"bottom": present & (new > old), "top": present & (new < old)}
        for key in given:
            entry[f"{key}_coded"] = _share(beyond[key], present)
        is_shown = all(not marks.any() or marks.sum() >= moved.FEW for marks in beyond.values())
        entries.append(
            entry | (moved.moved_numbers(old, new) if is_shown and known.kind == "numeric" else {})
        )
    return entries


def _share(marks: npt.NDArray[np.bool_], present: npt.NDArray[np.bool_]) -> float | None:
    """Return a share of the cells; None if it stands for fewer than ten, but not for none."""
    number = int(marks.sum())
    return None if 0 < number < moved.FEW else moved.rounded(number / max(1, int(present.sum())))
