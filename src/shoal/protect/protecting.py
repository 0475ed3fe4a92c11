"""Protect the columns of a table as its recipe asks, and measure what that does to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, LongArray
from shoal.errors import DataError
from shoal.hierarchy.build import number_text
from shoal.protect.cells import cell_codes, on_line
from shoal.protect.entries import Entry, code_entries, perturbation_entries
from shoal.protect.noise import with_correlated_noise, with_noise
from shoal.protect.pram import randomized
from shoal.protect.pseudonyms import key_id, key_of, pseudonyms
from shoal.protect.randomness import Randomness, canonical_rows
from shoal.protect.rank_swap import drawing, partners, window_of
from shoal.recipe import Column, Pram, Recipe
from shoal.table.coding import code_ends
from shoal.table.columns import most_decimals
from shoal.table.frames import series

_DECIMALS = 15


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
    entries = [*perturbation_entries(table, perturbed, recipe), *code_entries(perturbed, coded, recipe)]
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


def _changed(values: pl.Series, name: str, pram: Pram, random: np.random.Generator) -> pl.Series:
    codes, cells = cell_codes(values)
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
    numbers = on_line(values, name, column, "swap")
    present = np.flatnonzero(~np.isnan(numbers))
    by_rank = present[np.argsort(numbers[present], kind="stable")]
    window = window_of(len(by_rank), column.swap or 0)
    source = np.arange(len(values))
    source[by_rank] = by_rank[partners(len(by_rank), window, drawing(random))]
    return values.gather(source)


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
    numbers = [on_line(*each, "noise") for each in zip(given, names, columns, strict=True)]
    noise = columns[0].noise
    assert noise is not None
    if noise.correlated:
        noisy = with_correlated_noise(numbers, noise.sd, random)
    else:
        noisy = [with_noise(numbers[0], noise.sd, random)]
    return [_written(values, old, new) for values, old, new in zip(given, numbers, noisy, strict=True)]


def _written(values: pl.Series, before: FloatArray, after: FloatArray) -> pl.Series:
    """Return numbers in the data type of a column, with no more decimals than it has."""
    if values.dtype == pl.Float32:  # as a longer float it would have more decimals than are meant
        before = values.cast(pl.String).cast(pl.Float64).fill_null(float("nan")).to_numpy()
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
    typed = found.cast(values.dtype, strict=False)
    # Noise may lead out of a small type, such as below zero in one without a sign.
    return typed if typed.null_count() == found.null_count() else found
