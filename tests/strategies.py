"""Generated tables: mixed kinds, duplicates, constant columns, missing values, uneven trees, weights."""

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

import polars as pl
from hypothesis import strategies as st

from shoal.recipe import Recipe
from tests.reference import kmember as reference

# Ranges and heights up to 12 and these weights are exact in shoal's fixed-point costs, so that
# kernel and twin see the same ties.
WIDTHS = [0, 1, 3, 12]
WEIGHTS = [Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3), Fraction(1, 3)]


@dataclass(frozen=True)
class Case:
    """A raw table, the recipe for it, and its quasi columns as the twin takes them."""

    table: pl.DataFrame
    recipe: Recipe
    columns: list

    def twin_columns(self, order):
        """The twin's columns with the rows in the order given."""
        return [_reordered(column, order) for column in self.columns]


def _reordered(column, order):
    values = [column.values[at] for at in order]
    if isinstance(column, reference.TreeColumn):
        return reference.TreeColumn(values, column.parent, column.weight)
    return reference.NumericColumn(values, column.weight)


@st.composite
def parents(draw, max_nodes=9):
    """A random tree, uneven more often than not: node -> parent, the root -> None."""
    n_nodes = draw(st.integers(1, max_nodes))
    above = {"n0": None}
    for node in range(1, n_nodes):
        above[f"n{node}"] = f"n{draw(st.integers(0, node - 1))}"
    return above


def nested(parent, node="n0"):
    """The same tree as nested dictionaries."""
    return {child: nested(parent, child) for child, above in parent.items() if above == node}


def leaves(parent):
    """The nodes that are nobody's parent."""
    return [node for node in parent if node not in parent.values()]


def _cells(draw, values, n_rows, may_miss):
    cell = st.sampled_from(values)
    return draw(st.lists(st.none() | cell if may_miss else cell, min_size=n_rows, max_size=n_rows))


def _day(number):
    """A day around the end of a leap February."""
    return date(2024, 2, 24) + timedelta(days=number)


def _each(function, values):
    """The function's results, missing where values are."""
    return [None if value is None else function(value) for value in values]


def _numeric(draw, n_rows, may_miss, weight):
    values = _cells(draw, range(draw(st.sampled_from(WIDTHS)) + 1), n_rows, may_miss)
    return pl.Series(values, dtype=pl.Int64), {"kind": "numeric"}, reference.NumericColumn(values, weight)


def _ordinal(draw, n_rows, may_miss, weight):
    """Texts whose order is not that of the alphabet; some may occur in no row."""
    order = draw(st.permutations([f"o{at}" for at in range(draw(st.sampled_from(WIDTHS)) + 1)]))
    values = _cells(draw, range(len(order)), n_rows, may_miss)
    texts = pl.Series(_each(order.__getitem__, values), dtype=pl.String)
    return texts, {"kind": "ordinal", "order": order}, reference.NumericColumn(values, weight)


def _date(draw, n_rows, may_miss, weight):
    values = _cells(draw, range(draw(st.sampled_from(WIDTHS)) + 1), n_rows, may_miss)
    days = pl.Series(_each(_day, values), dtype=pl.Date)
    return days, {"kind": "date"}, reference.NumericColumn(values, weight)


def _flat(draw, n_rows, may_miss, weight):
    """Categories without a hierarchy: any two different ones lose everything."""
    names = [f"c{at}" for at in range(draw(st.integers(1, 5)))]
    values = _cells(draw, names, n_rows, may_miss)
    twin = reference.TreeColumn(values, {"any": None, **dict.fromkeys(names, "any")}, weight)
    return pl.Series(values, dtype=pl.String), {"kind": "categorical"}, twin


def _tree(draw, n_rows, may_miss, weight):
    parent = draw(parents())
    values = _cells(draw, leaves(parent), n_rows, may_miss)
    spec = {"kind": "categorical", "hierarchy": {"n0": nested(parent)}}
    return pl.Series(values, dtype=pl.String), spec, reference.TreeColumn(values, parent, weight)


def _tree_over_range(draw, n_rows, may_miss, weight):
    """Numbers, ordered texts or dates with a hierarchy, which makes a tree of them."""
    kind, dtype, value_of = draw(
        st.sampled_from([("numeric", pl.Int64, int), ("ordinal", pl.String, str), ("date", pl.Date, _day)])
    )
    named = draw(parents(max_nodes=6))
    texts = {leaf: str(value_of(at)) for at, leaf in enumerate(leaves(named))}
    parent = {texts.get(node, node): above for node, above in named.items()}
    root = next(iter(parent))
    cells = _cells(draw, range(len(texts)), n_rows, may_miss)
    values = _each(list(texts.values()).__getitem__, cells)
    spec = {"kind": kind, "hierarchy": {root: nested(parent, root)}}
    if kind == "ordinal":
        spec["order"] = list(texts.values())
    series = pl.Series(_each(value_of, cells), dtype=dtype)
    return series, spec, reference.TreeColumn(values, parent, weight)


TREES = (_tree,)
RANGES_AND_TREES = (_numeric, _tree)
EVERY_KIND = (_numeric, _ordinal, _date, _flat, _tree, _tree_over_range)


@st.composite
def tables(draw, max_rows=60, max_k=6, method="k-member", kinds=RANGES_AND_TREES):
    """A table of k to `max_rows` rows with 1 to 4 quasi columns of these kinds and a label."""
    k = draw(st.integers(2, max_k))
    n_rows = draw(st.integers(k, max_rows))
    data, columns, specs = {}, [], {}
    for at in range(draw(st.integers(1, 4))):
        weight, may_miss = draw(st.sampled_from(WEIGHTS)), draw(st.booleans())
        make = draw(st.sampled_from(kinds))
        data[f"q{at}"], spec, twin = make(draw, n_rows, may_miss, weight)
        columns.append(twin)
        specs[f"q{at}"] = {"role": "quasi", "weight": float(weight), **spec}
    data["label"] = pl.Series(_cells(draw, ["a", "b", "c"], n_rows, draw(st.booleans())), dtype=pl.String)
    specs["label"] = {"role": "sensitive"}
    recipe = Recipe.from_dict(
        {
            "columns": specs,
            "privacy": {"k": k},
            "method": {"name": method, "seed": draw(st.integers(0, 99))},
        }
    )
    return Case(pl.DataFrame(data), recipe, columns)
