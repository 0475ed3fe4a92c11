"""Cell suppression as a last resort: k look-alikes by equal labels, coverage, and less loss."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.engine.hiding import hide_cells
from shoal.recipe import Recipe
from shoal.recode.odd_cells import odd_rows
from shoal.recode.publish import publish
from shoal.table.columns import numbered


def recipe(method="mondrian", share=0.5, k=2, **changes):
    sections = {
        "columns": {"age": {"role": "quasi"}, "city": {"role": "quasi"}},
        "privacy": {"k": k, "suppress_cells": share, **changes.pop("privacy", {})},
        "method": {"name": method},
    }
    return Recipe.from_dict(sections | changes)


def encoded(**columns):
    return shoal.encode(pl.DataFrame(columns), quasi=list(columns))


def labels_of(table, given):
    """Labels for the encoded rows, given in the order of the input."""
    return np.array(given, np.int32)[table.order]


def published(table, hiding, asked):
    return publish(table, hiding.labels, asked, hidden=hiding.hidden)


def test_odd_rows_of_two_classes_hide_their_age_by_hand():
    # Each class has one age far from the others. Without both, the classes are [20, 21] and [30, 31].
    table = encoded(age=[20, 21, 99, 30, 31, 95], city=["a"] * 6)
    labels = labels_of(table, [0, 0, 0, 1, 1, 1])
    asked = recipe(k=2)
    hiding = hide_cells(table, labels, asked)
    found = published(table, hiding, asked)
    rows = Counter(found.classes.rows()[label] for label in found.labels)
    assert rows == {("[20, 21]", "a"): 2, ("[30, 31]", "a"): 2, ("*", "a"): 2}
    assert found.suppressed_cells == {"age": 2}


@pytest.mark.parametrize(
    ("ages", "share"),
    [
        ([20, 21, 99, 30, 31, 32], 0.5),  # one odd row has no other to look like
        ([20, 21, 99, 30, 31, 95], 0.1),  # too few rows may lack a cell
        ([20, 40, 60, 80, 90, 99], 0.5),  # nothing is odd, everything is far apart
    ],
)
def test_cells_stay_where_hiding_them_does_not_help(ages, share):
    table = encoded(age=ages, city=["a"] * 6)
    labels = labels_of(table, [0, 0, 0, 1, 1, 1])
    hiding = hide_cells(table, labels, recipe(share=share, k=2))
    assert hiding.labels.tolist() == labels.tolist()
    assert not hiding.hidden.any()


def test_rows_are_chosen_by_what_each_saves():
    # Class 0 saves 3 * 79 / 80 - 2 * 1 / 80 - 1, class 1 saves 3 * 69 / 80 - 2 * 1 / 80 - 1.
    table = encoded(age=[20, 21, 99, 30, 31, 99, 100])
    labels = labels_of(table, [0, 0, 0, 1, 1, 1, -1])
    odd = odd_rows(table, labels, 2, 1)
    assert [int(table.order[row]) for row in odd.rows] == [2]
    assert odd_rows(table, labels, 3, 5).rows.size == 0  # no class may fall below k


TABLES = st.lists(
    st.tuples(st.integers(20, 60) | st.just(500), st.sampled_from("abc")), min_size=12, max_size=40
)


def test_rows_that_are_left_out_hide_as_few_columns_as_possible_by_hand():
    # The two 70s agree in their age; the three from c agree in their city; nobody is like the last row.
    ages, cities = [20, 20, 70, 70, 31, 52, 63, 99], ["a", "a", "b", "d", "c", "c", "c", "e"]
    table = encoded(age=ages, city=cities)
    asked = recipe(k=2, share=1.0)
    hiding = hide_cells(table, labels_of(table, [0, 0, -1, -1, -1, -1, -1, -1]), asked)
    found = published(table, hiding, asked)
    rows = Counter(found.classes.rows()[label] for label in found.labels if label >= 0)
    assert rows == {("20", "a"): 2, ("70", "*"): 2, ("*", "c"): 3}
    assert (found.labels < 0).sum() == 1


@given(TABLES, st.integers(2, 4), st.sampled_from([0.1, 0.3, 1.0]), st.integers(0, 8))
def test_every_class_has_k_rows_and_covers_them(rows, k, share, n_left_out):
    table = encoded(age=[age for age, _ in rows], city=[city for _, city in rows])
    asked = recipe(k=k, share=share)
    labels = np.arange(table.n_rows, dtype=np.int32) // (k + 2)
    labels[labels == labels[-1]] = max(0, labels[-1] - 1)
    sizes = Counter(labels.tolist())
    left_out = [label for label in sorted(sizes)[:-1] if sizes[label] <= n_left_out][:1]
    labels = numbered(np.where(np.isin(labels, left_out), -1, labels))
    hiding = hide_cells(table, labels, asked)
    found = published(table, hiding, asked)
    assert min(Counter(found.labels[found.labels >= 0].tolist()).values()) >= k
    hiding_rows = sum(hiding.hidden[label].any() for label in hiding.labels if label >= 0)
    assert hiding_rows <= share * table.n_rows
    for row, label in zip(table.order, found.labels, strict=True):
        if label < 0:
            continue
        age, city = rows[row]
        shown_age, shown_city = found.classes.row(int(label))
        if shown_age != "*":
            ends = [int(end) for end in shown_age.strip("[]").split(", ")]
            assert ends[0] <= age <= ends[-1]
        assert shown_city == "*" or city in shown_city.strip("{}").split(", ")


def outlying():
    """A table in which ten rows of one level would be left out."""
    random = np.random.default_rng(2)
    age = np.append(random.integers(20, 60, 190), random.integers(500, 1000, 10))
    return pl.DataFrame({"age": age, "city": random.choice(["a", "b"], 200)})


def test_rows_that_a_method_leaves_out_are_released_without_cells(tmp_path):
    raw = outlying()
    raw.write_csv(tmp_path / "raw.csv")
    before = shoal.anonymize(raw, recipe("incognito", 0, 5, privacy={"max_suppressed": 0.1}), bound=False)
    asked = recipe("incognito", 0.1, 5, privacy={"max_suppressed": 0.1})
    after = shoal.anonymize(raw, asked, bound=False)
    assert before.suppressed > 0
    assert after.suppressed == 0
    assert after.loss.il < before.loss.il
    stars = sum(entry["rows"] for entry in after.protection)
    assert stars == sum((after.table[name] == "*").sum() for name in raw.columns)
    after.write(tmp_path / "out.csv")
    verdict = shoal.verify(tmp_path / "out.csv", asked, original=tmp_path / "raw.csv")
    assert verdict.holds
    assert verdict.k >= 5


def test_goals_still_hold():
    random = np.random.default_rng(1)
    raw = outlying().with_columns(pl.Series("ill", random.choice(["flu", "gout", "none"], 200)))
    goal = {"type": "l-diversity", "column": "ill", "l": 3}
    asked = recipe(
        "c-means", 0.2, 5, privacy={"goal": [goal]},
        columns={"age": {"role": "quasi"}, "city": {"role": "quasi"}, "ill": {"role": "sensitive"}},
    )  # fmt: skip
    release = shoal.anonymize(raw, asked, bound=False)
    assert all(found.holds for found in release.goals)


def test_rows_with_missing_values_that_are_to_be_suppressed_stay_out():
    raw = outlying().with_columns(
        pl.when(pl.int_range(pl.len()) < 6).then(None).otherwise(pl.col("city")).alias("city")
    )
    privacy = {"max_suppressed": 0.1, "missing": "suppress"}
    release = shoal.anonymize(raw, recipe("mondrian", 1.0, 3, privacy=privacy), bound=False)
    assert release.suppressed == 6
