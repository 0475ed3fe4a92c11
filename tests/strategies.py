"""Generated tables: mixed kinds, duplicates, constant columns, missing values, uneven trees, weights."""

from dataclasses import dataclass
from fractions import Fraction

import polars as pl
from hypothesis import strategies as st

from shoal.recipe import Recipe
from tests.reference import kmember as reference

# Ranges and heights up to 12 and these weights are exact in shoal's fixed-point costs, so that
# kernel and twin see the same ties.
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


@st.composite
def tables(draw, max_rows=60, max_k=6, method="k-member", numeric=True):
    """A table of k to `max_rows` rows with 1 to 4 quasi columns and a label; with `numeric` or trees only."""
    k = draw(st.integers(2, max_k))
    n_rows = draw(st.integers(k, max_rows))
    data, columns, specs = {}, [], {}
    for at in range(draw(st.integers(1, 4))):
        name, weight = f"q{at}", draw(st.sampled_from(WEIGHTS))
        may_miss = draw(st.booleans())
        spec = {"role": "quasi", "weight": float(weight)}
        if numeric and draw(st.booleans()):
            highest = draw(st.sampled_from([0, 1, 3, 12]))
            values = _cells(draw, range(highest + 1), n_rows, may_miss)
            spec["kind"] = "numeric"
            columns.append(reference.NumericColumn(values, weight))
            data[name] = pl.Series(values, dtype=pl.Int64)
        else:
            parent = draw(parents())
            values = _cells(draw, leaves(parent), n_rows, may_miss)
            spec |= {"kind": "categorical", "hierarchy": {"n0": nested(parent)}}
            columns.append(reference.TreeColumn(values, parent, weight))
            data[name] = pl.Series(values, dtype=pl.String)
        specs[name] = spec
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
