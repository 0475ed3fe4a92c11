"""Later rows in the boxes of a release: against the definition, and never fewer than k alike."""

import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import RecipeError
from shoal.table import forms
from shoal.workflow.frozen import HELD_BACK, FrozenBoxes
from tests.reference import boxes as reference

SEXES = ["f", "m", "x"]


def table_of(rows):
    return pl.DataFrame(rows, schema={"age": pl.Int64, "sex": pl.String}, orient="row")


def frozen(table, k, method="mondrian"):
    release = shoal.anonymize(table, quasi=["age", "sex"], k=k, bound=False, method=method)
    return FrozenBoxes.of(release, table)


people = st.tuples(st.integers(0, 30), st.sampled_from(SEXES))
training = st.lists(people, min_size=6, max_size=40)
later = st.lists(st.tuples(st.integers(-3, 33), st.sampled_from([*SEXES, "new"])), min_size=1, max_size=30)


@given(training, later, st.integers(2, 4))
def test_places_are_those_of_the_definition(rows, new, k):
    boxes = frozen(table_of(rows), k)
    ages = [age for age, _ in rows]
    spans = [Fraction(max(1, max(ages) - min(ages))), None]
    place = [reference.narrowest(row, boxes.texts.rows(), spans) for row in new]
    shown = reference.grouped(place, boxes.parent.tolist(), k)
    assert boxes.place(table_of(new)).tolist() == [HELD_BACK if box is None else box for box in shown]


diseased = st.tuples(st.integers(0, 30), st.sampled_from("aaaab"))


@given(st.lists(diseased, min_size=2, max_size=30), st.lists(diseased, min_size=1, max_size=30))
def test_places_with_a_goal_are_those_of_the_definition(rows, new):
    rows = [*rows, (14, "a"), (15, "b")]
    schema = {"age": pl.Int64, "disease": pl.String}
    table, later_table = (pl.DataFrame(given, schema=schema, orient="row") for given in (rows, new))
    release = shoal.anonymize(
        table, quasi=["age"], sensitive=["disease"], k=2, bound=False, method="mondrian",
        goals=["l-diversity column=disease l=2"],
    )  # fmt: skip
    boxes = FrozenBoxes.of(release, table)
    ages = [age for age, _ in rows]
    spans = [Fraction(max(1, max(ages) - min(ages)))]
    place = [reference.narrowest((age,), boxes.texts.rows(), spans) for age, _ in new]

    def is_diverse(inside):
        return len({new[row][1] for row in inside}) >= 2

    shown = reference.grouped(place, boxes.parent.tolist(), 2, is_diverse)
    assert boxes.place(later_table).tolist() == [HELD_BACK if box is None else box for box in shown]


@given(training, st.integers(2, 4))
def test_a_box_covers_its_parts_and_the_rows_of_its_classes(rows, k):
    boxes = frozen(table_of(rows), k)
    texts, parent = boxes.texts.rows(), boxes.parent
    assert texts[0] == (forms.LOST, forms.LOST)
    for row in set(rows):
        holding = [all(map(reference.contains, box, row)) for box in texts]
        assert all(holding[parent[at]] for at in range(1, len(texts)) if holding[at])
        assert sum(holding) > 1


def test_unions_of_three_classes_worked_by_hand():
    ages, sexes = [1, 2, 11, 12, 51, 52], ["f", "f", "m", "f", "m", "x"]
    boxes = frozen(pl.DataFrame({"age": ages, "sex": sexes}), 2, method="local-search")
    assert set(boxes.texts.rows()[:2]) == {("*", "*"), ("[1, 52]", "{f, m, x}")}
    assert set(boxes.texts.rows()[-3:]) >= {("[11, 12]", "{f, m}"), ("[51, 52]", "{m, x}")}
    assert ("[1, 2]", "f") in boxes.texts.rows()
    assert boxes.names == ("age", "sex=f", "sex=m", "sex=x")
    assert boxes.values[0].tolist() == [(1.5 + 11.5 + 51.5) / 3, 1.5 / 3, 1 / 3, 0.5 / 3]
    # Two rows of one class stay there; one each of two classes is shown by the union around them.
    assert boxes.texts.rows()[boxes.place(table_of([(1, "f"), (2, "f")]))[0]] == ("[1, 2]", "f")
    alone = boxes.place(table_of([(1, "f"), (12, "m")]))
    assert alone[0] == alone[1] > HELD_BACK
    assert boxes.place(table_of([(1, "f")])).tolist() == [HELD_BACK]


def test_a_tree_and_missing_values_in_unions():
    postcodes = ["10115", "10117", "10245", "10247", "80331", None]
    table = pl.DataFrame({"zip": postcodes, "age": [1, 1, 2, 2, 3, 3]})
    release = shoal.anonymize(
        table, quasi=["zip", "age"], k=2, hierarchies={"zip": {"prefix": 1}}, bound=False
    )
    boxes = FrozenBoxes.of(release, table)
    texts = boxes.texts["zip"].to_list()
    assert {"1011*", "1024*"} < set(texts)
    for at, text in enumerate(texts[2:], 2):
        parts = {texts[inner] for inner in range(len(texts)) if boxes.parent[inner] == at}
        assert text == ("*" if "*" in parts else "10***") or not parts


def test_order_of_rows_and_other_rows_far_away_change_no_place():
    random = np.random.default_rng(0)
    rows = [
        (int(age), SEXES[sex])
        for age, sex in zip(random.integers(0, 40, 60), random.integers(0, 3, 60), strict=True)
    ]
    boxes, new = frozen(table_of(rows), 3), rows[:40]
    place = boxes.place(table_of(new))
    assert boxes.place(table_of(new[::-1])).tolist() == place[::-1].tolist()
    # A row far away must not make another box the narrowest for the others; it may join those at the root.
    with_another = boxes.place(table_of([*new, (10**6, "f")]))[:40]
    assert with_another[place > 0].tolist() == place[place > 0].tolist()
    assert set(with_another[place <= 0].tolist()) <= {0, HELD_BACK}


def test_goals_hold_in_what_is_placed_and_released():
    random = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "age": random.integers(0, 50, 200),
            "disease": random.choice(["a", "b", "c"], 200, p=[0.8, 0.15, 0.05]),
        }
    )
    release = shoal.anonymize(
        table, quasi=["age"], sensitive=["disease"], k=3, bound=False, method="mondrian",
        goals=["l-diversity column=disease l=2"],
    )  # fmt: skip
    boxes = FrozenBoxes.of(release, table)
    new = pl.DataFrame(
        {"age": random.integers(0, 50, 60), "disease": random.choice(["a", "b"], 60, p=[0.9, 0.1])}
    )
    place = boxes.place(new)
    shown = {box: set() for box in place.tolist()}
    for box, disease in zip(place.tolist(), new["disease"], strict=True):
        shown[box].add(disease)
    assert all(len(values) > 1 for box, values in shown.items() if box != HELD_BACK)
    # Without the column nothing but k is left to ask for, and more rows stay in narrow boxes.
    plain = boxes.without("disease").place(new.select("age"))
    assert min(Counter(plain[plain >= 0].tolist()).values()) >= 3
    assert len(set(plain.tolist())) > len(set(place.tolist()))
    released = boxes.release(new)
    assert released.height == (place >= 0).sum()
    by_class = released.group_by("age").agg(pl.len(), pl.col("disease").n_unique().alias("kinds"))
    assert by_class["len"].min() >= 3
    assert by_class["kinds"].min() >= 2


def test_a_few_later_rows_keep_the_kinds_of_the_first_table():
    table = pl.DataFrame({"code": ["7", "8", "x", "y"] * 3, "age": [1, 2, 3, 4] * 3})
    release = shoal.anonymize(table, quasi=["code", "age"], k=3, bound=False)
    boxes = FrozenBoxes.of(release, table)
    # These look like numbers, and without a value like nothing at all.
    place = boxes.place(pl.DataFrame({"code": ["7"] * 3, "age": [None] * 3}))
    assert boxes.texts["code"][int(place[0])] == "*"
    assert len(set(place.tolist())) == 1


def test_nothing_but_what_was_published_is_kept():
    ages, markers = [1, 2, 3, 11, 12, 13], [f"illness-{at % 2}" for at in range(6)]
    table = pl.DataFrame({"age": ages, "disease": markers})
    release = shoal.anonymize(table, quasi=["age"], sensitive=["disease"], k=3, bound=False)
    boxes = pickle.loads(pickle.dumps(FrozenBoxes.of(release, table)))
    assert b"illness" not in pickle.dumps(boxes)
    assert {end for text in boxes.texts["age"] for end in text.strip("[]").split(", ")} == {
        "*",
        "1",
        "3",
        "11",
        "13",
    }


@pytest.mark.parametrize(
    "changes",
    [{"method": "nh"}, {"method": "anatomy", "options": {"l": 2}}, {"goals": ["average-risk threshold=0.5"]}],
)
def test_releases_without_boxes_are_refused(changes):
    table = pl.DataFrame({"age": list(range(12)), "disease": ["a", "b", "c"] * 4})
    release = shoal.anonymize(table, quasi=["age"], sensitive=["disease"], k=3, bound=False, **changes)
    with pytest.raises(RecipeError) as caught:
        FrozenBoxes.of(release, table)
    assert caught.value.code == "recipe.not_available"
