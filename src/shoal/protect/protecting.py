"""Protect the columns of a table as its recipe asks, and measure what that does to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import FloatArray, LongArray
from shoal.errors import DataError
from shoal.hierarchy.build import number_text
from shoal.protect import moved
from shoal.protect.noise import with_correlated_noise, with_noise
from shoal.protect.pram import randomized, transition
from shoal.protect.pseudonyms import key_id, key_of, pseudonyms
from shoal.protect.randomness import Randomness, canonical_rows
from shoal.protect.rank_swap import drawing, partners, window_of
from shoal.recipe import Column, Pram, Recipe, code_kind
from shoal.table.coding import code_ends
from shoal.table.columns import most_decimals
from shoal.table.encode import line_numbers
from shoal.table.frames import series
from shoal.table.kinds import settle

MOST_CATEGORIES = 50  # of a transition matrix in a manifest
_DECIMALS = 15

Entry = dict[str, Any]


@dataclass(frozen=True, repr=False)  # a repr would show cells
class Protected:
    """A table as it may be clustered and published, and what was done to its columns.

    Parameters
    ----------
    table : polars.DataFrame
        The same rows in the same order.
    entries : tuple of dict
        For each protected column and way of protecting it: `column`, `method`, its settings and measures.
        They may be published.
    """

    table: pl.DataFrame
    entries: tuple[Entry, ...] = ()


def protect(table: pl.DataFrame, recipe: Recipe) -> Protected:
    """Perturb kept columns, code the ends of columns, and replace identifiers by pseudonyms.

    Codes come after noise, which could lead beyond them.
    """
    if not (recipe.coded or recipe.perturbed or recipe.pseudonyms):
        return Protected(table)
    key = key_of(recipe) if recipe.pseudonyms else b""  # a missing key is reported before any work is done
    perturbed = _perturbed(table, recipe)
    coded = code_ends(perturbed, recipe)
    entries = [*_perturbation_entries(table, perturbed, recipe), *_code_entries(perturbed, coded, recipe)]
    columns = {name: coded[name] for name in coded.columns}
    for name in recipe.pseudonyms:
        columns[name] = pseudonyms(table, name, key)
        entries.append({"column": name, "method": "pseudonyms", "key": key_id(key)})
    return Protected(pl.DataFrame(columns), tuple(entries))


def _perturbed(table: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Perturb columns in canonical order of the rows, and return the rows in their own order."""
    if not recipe.perturbed:
        return table
    order, random = canonical_rows(table, recipe), Randomness(recipe.secrets.seed)
    columns = {name: table[name] for name in table.columns}
    for name, how in recipe.perturbed.items():
        column = recipe.columns[name]
        values = series(table, name).gather(order)
        if how == "pram":
            assert column.pram is not None
            columns[name] = _changed(values, name, column.pram, random.of(name))
        elif how == "swap":
            columns[name] = _swapped(values, name, column, random.of(name))
    for names in _noise_groups(recipe):
        given = [series(table, name).gather(order) for name in names]
        for name, values in zip(names, _noisy(given, names, recipe, random.of(*names)), strict=True):
            columns[name] = values
    place = np.argsort(order, kind="stable")
    return pl.DataFrame(
        {n: values.gather(place) if n in recipe.perturbed else values for n, values in columns.items()}
    )


def _codes(values: pl.Series) -> tuple[LongArray, pl.Series]:
    """Number the different cells by their texts, -1 for missing; also returns a cell of each."""
    texts = values.cast(pl.String)
    codes = (texts.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy().copy()
    first = np.unique(codes, return_index=True)[1][int((codes < 0).any()) :]
    return codes, values.gather(first)


def _changed(values: pl.Series, name: str, pram: Pram, random: np.random.Generator) -> pl.Series:
    codes, cells = _codes(values)
    if len(cells) < 2:
        message = f"Column `{name}` has {len(cells)} categories: there is nothing to change them to."
        raise DataError("data.perturb", message, "remove `pram`")
    present = codes >= 0
    codes[present] = randomized(codes[present], _counts(codes), pram, random)
    return _cells_of(cells, codes)


def _counts(codes: LongArray) -> list[int]:
    counts: list[int] = np.bincount(codes[codes >= 0]).tolist()
    return counts


def _cells_of(cells: pl.Series, codes: LongArray) -> pl.Series:
    """Return the cells that codes stand for; -1 is missing."""
    return cells.gather(pl.Series(codes).set(pl.Series(codes < 0), None))


def _swapped(values: pl.Series, name: str, column: Column, random: np.random.Generator) -> pl.Series:
    numbers = _on_line(values, name, column, "swap")
    present = np.flatnonzero(~np.isnan(numbers))
    by_rank = present[np.argsort(numbers[present], kind="stable")]
    window = window_of(len(by_rank), column.swap or 0)
    source = np.arange(len(values))
    source[by_rank] = by_rank[partners(len(by_rank), window, drawing(random))]
    return values.gather(source)


def _on_line(values: pl.Series, name: str, column: Column, key: str) -> FloatArray:
    """Return the values as numbers, nan for missing; categories have none."""
    kind, canonical = settle(values, column)
    if kind == "categorical" or (kind != "numeric" and key == "noise"):
        wanted = "numbers" if key == "noise" else "numbers, dates or ordered values"
        message = f"Column `{name}` is {kind}, but `{key}` is for {wanted}."
        raise DataError("data.perturb", message, f"use `pram` for categories, or correct the kind of `{name}`")
    return line_numbers(canonical, kind, column).cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _noise_groups(recipe: Recipe) -> list[list[str]]:
    """List the columns whose noise is drawn together: correlated ones, and every other column alone."""
    noise = {name: column.noise for name, column in recipe.columns.items() if column.noise is not None}
    together = [name for name, how in noise.items() if how.correlated]
    return [[name] for name in noise if name not in together] + ([together] if together else [])


def _noisy(
    given: Sequence[pl.Series], names: Sequence[str], recipe: Recipe, random: np.random.Generator
) -> list[pl.Series]:
    """Add noise to columns, and write them as precisely as they were."""
    columns = [recipe.columns[name] for name in names]
    numbers = [_on_line(*each, "noise") for each in zip(given, names, columns, strict=True)]
    noise = columns[0].noise
    assert noise is not None
    if noise.correlated:
        noisy = with_correlated_noise(numbers, noise.sd, random)
    else:
        noisy = [with_noise(numbers[0], noise.sd, random)]
    return [_written(values, old, new) for values, old, new in zip(given, numbers, noisy, strict=True)]


def _written(values: pl.Series, before: FloatArray, after: FloatArray) -> pl.Series:
    """Return numbers in the data type of a column, with no more decimals than it has."""
    known = np.unique(before[~np.isnan(before)])
    whole = bool((known == np.rint(known)).all())
    decimals = 0 if whole else most_decimals(known)
    rounded = np.round(after, decimals) + 0.0 if decimals <= _DECIMALS else after
    found = pl.Series(rounded).fill_nan(None)
    if values.dtype.is_integer() or (whole and values.dtype == pl.String):
        found = found.cast(pl.Int64)
    if values.dtype == pl.String:
        texts = [None if number is None else number_text(number) for number in found.to_list()]
        return pl.Series(texts, dtype=pl.String)
    return found.cast(values.dtype)


def _perturbation_entries(before: pl.DataFrame, after: pl.DataFrame, recipe: Recipe) -> list[Entry]:
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
        return tuple(_on_line(series(table, name), name, column, "swap") for table in (before, after))  # type: ignore[return-value]
    except DataError:
        return None


def _common_codes(before: pl.Series, after: pl.Series) -> tuple[LongArray, LongArray]:
    both = pl.concat([before.alias(""), after.alias("")])
    codes, _ = _codes(both)
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
    cells = _codes(series(before, name))[1].cast(pl.String).to_list()
    left = set(series(after, name).cast(pl.String).to_list())
    matrix = [[round(float(p), 12) for p in row] for row in transition([1] * size, pram)]
    return {**measured, "names": [cell if cell in left else None for cell in cells], "matrix": matrix}


def _code_entries(before: pl.DataFrame, after: pl.DataFrame, recipe: Recipe) -> list[Entry]:
    """Say how many cells each code replaced; of fewer than ten cells nothing more is said."""
    entries = []
    for name in recipe.coded:
        column = recipe.columns[name]
        given = {key: getattr(column, key) for key in ("bottom", "top")}
        entry: Entry = {"column": name, "method": "coding", **given}
        known = column.model_copy(update={"kind": code_kind(column)})
        old, new = (_on_line(series(table, name), name, known, "swap") for table in (before, after))
        present = ~np.isnan(old)
        beyond = {"bottom": present & (new > old), "top": present & (new < old)}
        for key in given:
            entry[f"{key}_coded"] = _share(beyond[key], present)
        is_shown = all(not marks.any() or marks.sum() >= moved.FEW for marks in beyond.values())
        entries.append(entry | (moved.moved_numbers(old, new) if is_shown and known.kind == "numeric" else {}))
    return entries


def _share(marks: npt.NDArray[np.bool_], present: npt.NDArray[np.bool_]) -> float | None:
    """Return a share of the cells; None if it stands for fewer than ten, but not for none."""
    number = int(marks.sum())
    return None if 0 < number < moved.FEW else moved.rounded(number / max(1, int(present.sum())))
