"""Local search as a whole: never worse than its start, and whole classes after every round."""

from fractions import Fraction
from unittest import mock

import numba
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster import KMember, Mondrian
from shoal.cluster.local_search import LocalSearch, rounds
from shoal.cluster.local_search.partition import Partition
from shoal.cluster.registry import choose, chosen_options
from shoal.kernels.local_search import start as kernel
from shoal.recipe import Recipe
from shoal.recipe.options import LocalSearchOptions
from shoal.table.encode import encode
from tests.kernels.test_space import Rows, good_classes, labels_of, mixed_tables, rows_with_goals
from tests.profiles import IS_SLOW, few
from tests.reference import cb
from tests.reference.bound import least_loss
from tests.reference.kmember import NumericColumn, TreeColumn
from tests.reference.local_search import Stepped, Table
from tests.strategies import tables
from tests.test_contract import ORDER, people, threads

QUICK = LocalSearchOptions(effort="quick")
# A small table has several blocks with these.
SMALL_BLOCKS = {"_BLOCK_CLASSES": 3, "BLOCK_ROWS": 1, "_WIDE_ROWS": 1}


def method(rows, options=QUICK, seed=0):
    goals = None if rows.kept is None else rows.kept.goals.kernel
    return LocalSearch(rows.k, seed=seed, options=options, goals=goals)


def classes_of(labels):
    return [np.flatnonzero(labels == number).tolist() for number in range(labels.max() + 1)]


def read_as(columns, loss):
    """The columns as a reading of the loss sees them."""
    if loss != "whd":
        return [cb.read(column, "height" if loss == "il" else "leaves") for column in columns]
    trees = [column for column in columns if not isinstance(column, NumericColumn)]
    numbers = [column for column in columns if isinstance(column, NumericColumn)]
    return numbers + [Stepped(column.values, column.parent, column.weight) for column in trees]


def rounding(rows):
    """How far losses in fixed point may be from the true ones: half a step for each cell, twice."""
    return Fraction(rows.n * rows.d, rows.fixed.unit)


def check_improved(rows, classes, options, seed=0):
    """From good classes on: good classes that lose no more."""
    assert all(is_good(rows, members) for members in classes), "not a start"
    result = method(rows, options, seed).improve(rows.encoded, labels_of(classes, rows.n).astype(np.int32))
    found = classes_of(result.labels)
    assert sorted(row for members in found for row in members) == list(range(rows.n))
    assert all(is_good(rows, members) for members in found)
    table = Table(read_as(rows.columns, options.loss))
    assert table.total(found) <= table.total(classes) + rounding(rows)


def is_good(rows, members):
    return len(members) >= rows.k and (rows.keeping is None or rows.keeping.good(members))


@given(mixed_tables(max_rows=40, max_k=5), st.sampled_from(["il", "ncp", "whd"]), st.data())
def test_any_partition_gets_no_worse_by_the_loss_that_is_asked_for(case, loss, data):
    rows = Rows(case, 256)
    options = LocalSearchOptions(effort="quick", loss=loss)
    check_improved(rows, data.draw(good_classes(rows)), options, data.draw(st.integers(0, 99)))


@given(rows_with_goals(), st.data())
def test_any_partition_gets_no_worse_under_goals(rows, data):
    check_improved(rows, data.draw(good_classes(rows)), QUICK, data.draw(st.integers(0, 99)))


@few()
@given(mixed_tables(max_rows=40, max_k=5), st.sampled_from([Mondrian, KMember]))
def test_the_classes_of_other_methods_get_no_worse(case, other):
    rows = Rows(case, 256)
    check_improved(rows, classes_of(other(rows.k).fit(rows.encoded).labels), QUICK)


def test_the_best_partition_seen_is_returned():
    # Whatever the rounds come to: here they make one class of all rows.
    encoded = encoded_people(40)
    start = Mondrian(5).fit(encoded).labels
    one_class = Partition(np.arange(40), np.array([40]), 1 << 60)
    with mock.patch.object(rounds, "_round", return_value=one_class):
        found = LocalSearch(5).improve(encoded, start).labels
    assert sorted(classes_of(found)) == sorted(classes_of(start))


@pytest.mark.parametrize("other", [Mondrian, KMember])
def test_the_classes_of_other_methods_get_better(other):
    encoded, k = encoded_people(300), 5
    start = other(k).fit(encoded).labels
    table = table_of(encoded)
    found = LocalSearch(k, options=QUICK).improve(encoded, start).labels
    assert table.total(classes_of(found)) < table.total(classes_of(start))


@given(tables(max_rows=9, max_k=4))
def test_nothing_is_below_the_least_loss_of_all_partitions(case):
    rows = Rows(case, 256)
    found = classes_of(method(rows).fit(rows.encoded).labels)
    assert all(is_good(rows, members) for members in found)
    assert rows.table.total(found) >= least_loss(rows.columns, rows.n, rows.k)


def check_rounds(rows, seed):
    """Search in several small blocks, and look at the partition after every round."""
    real, seen = rounds._round, []

    def audited(*args):
        found = real(*args)
        classes = [members.tolist() for members in np.split(found.rows, found.ends[:-1])]
        assert sorted(found.rows.tolist()) == list(range(rows.n)), "rows got lost"
        assert all(is_good(rows, members) for members in classes)
        assert abs(found.loss - rows.loss(classes)) <= rows.n * rows.d, "not the loss of its classes"
        seen.append(found)
        return found

    with (
        mock.patch.object(rounds, "_round", audited),
        mock.patch.multiple("shoal.cluster.local_search.schedule", **SMALL_BLOCKS),
    ):
        result = method(rows, seed=seed).fit(rows.encoded)
    found = classes_of(result.labels)
    assert all(is_good(rows, members) for members in found)
    if seen:
        assert rows.loss(found) <= min(partition.loss for partition in seen) + rows.n * rows.d


@given(mixed_tables(max_rows=60, max_k=4), st.integers(0, 99))
def test_the_partition_is_whole_after_every_round(case, seed):
    check_rounds(Rows(case, 256), seed)


@given(rows_with_goals(), st.integers(0, 99))
def test_the_partition_is_whole_and_good_after_every_round_under_goals(rows, seed):
    check_rounds(rows, seed)


# Larger tables


def people_recipe(k):
    _, columns = people(4)
    sections = {"columns": columns, "privacy": {"k": k}, "method": {"name": "local-search"}}
    return Recipe.from_dict(sections)


def encoded_people(n_rows):
    return encode(people(n_rows)[0], people_recipe(5))


def table_of(encoded):
    """The columns of `people` as the twins take them."""
    frame = people(encoded.n_rows)[0][encoded.order]
    land = {"World": None, "Asia": "World", "America": "World"}
    land |= {"Iran": "Asia", "India": "Asia", "Peru": "America"}
    flat = {"all": None, "x": "all", "y": "all", "z": "all"}
    columns = [
        NumericColumn(frame["age"].to_list()),
        NumericColumn([Fraction(pay) for pay in frame["pay"]], 2),
        NumericColumn([ORDER.index(school) for school in frame["school"]]),
        NumericColumn([day.toordinal() for day in frame["day"]]),
        TreeColumn(frame["flat"].to_list(), flat),
        TreeColumn(frame["land"].to_list(), land),
    ]
    return Table(columns)


def fitted(encoded, k=5, seed=3, **options):
    return LocalSearch(k, seed=seed, options=LocalSearchOptions(**options)).fit(encoded).labels


def test_two_threads_and_any_order_of_the_rows_give_the_same_labels():
    n_rows = 400 if IS_SLOW else 200
    frame, _ = people(n_rows)
    recipe = people_recipe(5)
    encoded = encode(frame, recipe)
    order = np.random.Generator(np.random.PCG64(1)).permutation(n_rows)
    with mock.patch.multiple("shoal.cluster.local_search.schedule", **SMALL_BLOCKS):
        with threads(1):
            alone = fitted(encoded)
        with threads(2):
            assert numba.get_num_threads() == 2
            together = fitted(encoded)
        elsewhere, otherwise = fitted(encode(frame[order], recipe)), fitted(encoded, seed=4)
    assert together.tolist() == alone.tolist()
    assert elsewhere.tolist() == alone.tolist(), "rows are searched in canonical order"
    assert otherwise.tolist() != alone.tolist(), "the seed chooses nothing"


@pytest.mark.parametrize("seconds", [0.01, 0.2])
def test_a_limit_in_seconds_leaves_a_whole_partition_no_worse_than_the_start(seconds):
    encoded, k = encoded_people(400), 4
    start = Mondrian(k).fit(encoded).labels
    limited = LocalSearch(k, options=LocalSearchOptions(seconds=seconds))
    with mock.patch.multiple("shoal.cluster.local_search.schedule", **SMALL_BLOCKS):  # some are dropped
        made, improved = limited.fit(encoded).labels, limited.improve(encoded, start).labels
    for labels in (made, improved):
        assert len(labels) == 400
        assert np.bincount(labels).min() >= k
    table = table_of(encoded)
    assert table.total(classes_of(improved)) <= table.total(classes_of(start)) + Fraction(1, 10**4)


@pytest.mark.parametrize(("values", "tried"), [(400, 1), (2, 2)])
def test_cuts_are_rolled_out_unless_growth_loses_less_everywhere(monkeypatch, values, tried):
    """Pairs of near numbers are found by growth; where many rows are equal, cuts lose as little."""
    random = np.random.Generator(np.random.PCG64(3))
    encoded = encode(
        pl.DataFrame({name: random.integers(0, values, 400) for name in "abc"}),
        Recipe.from_roles(quasi=["a", "b", "c"], k=2),
    )
    asked, plain = [], kernel.start_cell
    monkeypatch.setattr(kernel, "start_cell", lambda *given: asked.append(given[4]) or plain(*given))
    LocalSearch(2, options=QUICK).fit(encoded)
    probes, cells = asked[:-1], asked[-1:]  # so small a table is one cell
    assert set(probes) == {2}
    assert cells == [tried]


def test_more_effort_loses_less():
    encoded = encoded_people(300)
    table = table_of(encoded)
    quick, normal, high = (
        table.total(classes_of(fitted(encoded, effort=effort))) for effort in ("quick", "normal", "high")
    )
    assert high <= quick
    assert normal < table.total(classes_of(Mondrian(5).fit(encoded).labels))


@pytest.mark.parametrize("loss", ["ncp", "whd"])
def test_each_loss_is_made_small_by_whoever_minimises_it(loss):
    # One uneven tree: two leaves near to each other and many others, so that heights and leaves disagree.
    tree = {"top": {"left": {"low": ["a", "b"]}, "right": ["c", "d", "e", "f"]}}
    parent = {"top": None, "left": "top", "low": "left", "right": "top"}
    parent |= {"a": "low", "b": "low", "c": "right", "d": "right", "e": "right", "f": "right"}
    random = np.random.Generator(np.random.PCG64(2))
    frame = pl.DataFrame({"t": random.choice(list("abcdef"), 60), "n": random.integers(0, 30, 60)})
    columns = {"t": {"role": "quasi", "hierarchy": tree}, "n": {"role": "quasi"}}
    encoded = encode(frame, Recipe.from_dict({"columns": columns, "privacy": {"k": 6}}))
    frame = frame[encoded.order]
    plain = [NumericColumn(frame["n"].to_list()), TreeColumn(frame["t"].to_list(), parent)]
    table = Table(read_as(plain, loss))
    own = table.total(classes_of(fitted(encoded, k=6, loss=loss)))
    assert own < table.total(classes_of(fitted(encoded, k=6, loss="il")))


def test_a_quick_search_of_adult8_loses_little(adult8):
    # 16,400 was asked for before the method was written; exact k-member has 21,106.
    changes = {"method": {"name": "local-search", "seed": 1, "options": {"effort": "quick"}}}
    release = shoal.anonymize(Recipe.load(adult8, changes=changes), bound=False)
    assert release.loss.il <= 16_400


def test_auto_searches_with_less_effort_where_there_are_many_rows():
    _, why_small = choose("auto", 2_000_000)
    large, why_large = choose("auto", 2_000_001)
    assert large.name == "local-search"
    assert "quick" not in why_small
    assert "quick effort above 2,000,000 rows" in why_large
    assert chosen_options("auto", {}, 2_000_000) == {}
    assert chosen_options("auto", {}, 2_000_001) == {"effort": "quick"}
    assert chosen_options("auto", {"seconds": 9}, 2_000_001) == {"seconds": 9}
    assert choose("k-member", 10**9)[1] == ""
