"""What a report shows of a Spark table: the cells of one machine, from counts."""

import numpy as np
import polars as pl
import pytest

from shoal.engine.spark import values
from shoal.recipe import Recipe
from shoal.report.distribution import distribution
from shoal.report.scale import SMALLEST
from shoal.table.codebook import RangeBook
from shoal.table.columns import Line
from shoal.table.encode import encode
from tests.engine.spark.pairs import in_cells, whole
from tests.profiles import slow

pytestmark = slow


def cells(release):
    return {column.name: column.cells for column in release.parts[0].profile.columns}


@pytest.mark.parametrize("make", [whole, in_cells])
def test_the_cells_are_those_of_one_machine(spark, make):
    made = make(spark)
    local, other = cells(made.local), cells(made.spark)
    assert list(other) == list(local)
    for name, expected in local.items():
        found = other[name]
        assert [(cell.label, cell.before) for cell in found] == [(c.label, c.before) for c in expected]
        assert [cell.after for cell in found] == pytest.approx([c.after for c in expected], abs=1e-5)
        assert sum(cell.before for cell in found) == made.spark.released


def test_some_texts_were_too_many_for_the_driver(spark):
    run = in_cells(spark).spark.parts[0].frame.run
    texts = [run.released.select(*names).distinct().count() for names in (["p0", "p1"], ["p4", "p5"])]
    assert min(texts) > 60  # or the test above does not see how workers spread them
    assert in_cells(spark).spark.suppressed > 0


def test_only_released_rows_are_counted():
    table = pl.DataFrame({"q": [1, 1, 2, None, None], "c": ["a", "b", "b", "b", None]})
    columns = {"q": {"role": "quasi"}, "c": {"role": "quasi"}}
    encoded = encode(table, Recipe.from_dict({"columns": columns, "privacy": {"k": 2}}))
    released = np.isin(encoded.order, [0, 1, 3])
    assert values.counted_values(encoded, released, (None, None)) == {"0:1": 2, "0:": 1, "1:0": 1, "1:1": 2}


# --- Bins ---


def encoded_numbers(numbers):
    table = pl.DataFrame({"q": numbers})
    recipe = Recipe.from_dict({"columns": {"q": {"role": "quasi", "kind": "numeric"}}, "privacy": {"k": 2}})
    return encode(table, recipe), recipe.columns["q"]


def binned(numbers, power):
    """The cells of a column before, from its values in bins."""
    encoded, column = encoded_numbers(numbers)
    counted = values.counted_values(encoded, np.ones(encoded.n_rows, dtype=bool), (power,))
    found = {key.partition(":")[2]: n for key, n in counted.items()}
    (quasi,) = encoded.columns
    is_float = quasi.numbers.dtype.kind == "f"
    line = Line(*quasi.ends, decimals=2, whole=not is_float)
    book = RangeBook("q", column.model_copy(update={"kind": "numeric"}), line, is_float)
    rows = values._value_rows(book, found, power)
    return distribution(rows.column, rows.counts, lambda grouping: np.zeros(len(grouping.labels)), rows.width)


def exact(numbers):
    encoded, _ = encoded_numbers(numbers)
    (column,) = encoded.columns
    counts = np.bincount(column.codes, minlength=column.missing + 1)
    return distribution(column, counts, lambda grouping: np.zeros(len(grouping.labels)))


def shown(found):
    return [(cell.label, cell.before) for cell in found]


@pytest.mark.parametrize("power", [-1, 0, 1])
def test_bins_of_fractions_change_no_cell(power):
    numbers = [round(each, 2) for each in np.random.default_rng(1).uniform(-300, 500, 3_000).tolist()]
    numbers += [each / 10 for each in range(-300, 500)]  # many of them at the ends of bins
    assert shown(binned(numbers, power)) == shown(exact(numbers))


@pytest.mark.parametrize("power", [1, 2, 3])
def test_bins_of_whole_numbers_change_no_cell(power):
    numbers = np.random.default_rng(1).integers(-30_000, 70_000, 3_000).tolist() + [None] * 12
    assert shown(binned(numbers, power)) == shown(exact(numbers))


def test_no_cut_is_made_inside_a_bin():
    # Most rows are in one bin: without the limit, cuts every 100 would put all of them on one side.
    numbers = [*np.random.default_rng(1).integers(0, 2_000, 3_000).tolist(), 90_000, 91_000]
    found = binned(numbers, 3)
    below = sum(number < 1_000 for number in numbers)
    assert shown(found) == [("below 999.5", below), ("above 999.5", 3_002 - below)]
    assert all(cell.before >= SMALLEST for cell in found)


def test_a_written_end_begins_a_bin():
    numbers = np.array([0.29, 0.3, 0.7, 28.999, 29.0, -0.3, 1.1, 0.57])
    assert values._bins(numbers, -2).tolist() == [29, 30, 70, 2899, 2900, -30, 110, 57]
    assert values._bins(np.array([-1, 0, 9, 10], np.int64), 1).tolist() == [-1, 0, 0, 1]


def test_bins_are_for_long_lines_of_many_rows():
    column = Recipe.from_dict(
        {"columns": {"q": {"role": "quasi", "kind": "numeric"}}, "privacy": {"k": 2}}
    ).columns["q"]
    wide = RangeBook("q", column, Line(0, 1_000_000), False)
    assert values._may_have_many(wide, 1_000_000)
    assert not values._may_have_many(wide, 20_000)
    assert not values._may_have_many(RangeBook("q", column, Line(0, 19_999), False), 1_000_000)
    assert values._power(wide) == 2
    assert values._power(RangeBook("q", column, Line(0.0, 0.5, 9, False), True)) == -4
    assert values._power(RangeBook("q", column, Line(1e15, 1e15 + 1, 0, False), True)) >= 0
