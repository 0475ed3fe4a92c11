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
from shoal.workflow.frozen import FrozenBoxes
from shoal.workflow.grouping import HELD_BACK
from tests.profiles import examples
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


def spans_of(*columns):
    """The range of each column of numbers, as costs are measured; None for a category."""
    return [
        Fraction(max(1, max(values) - min(values))) if isinstance(values[0], int) else None
        for values in columns
    ]


def placed(boxes, table):
    return [None if box == HELD_BACK else box for box in boxes.place(table).tolist()]


@given(training, later, st.integers(2, 4))
def test_places_are_those_of_the_definition(rows, new, k):
    boxes = frozen(table_of(rows), k)
    shown = reference.grouped(
        new, boxes.texts.rows(), spans_of(*zip(*rows, strict=True)), lambda group, _: len(group) >= k
    )
    assert placed(boxes, table_of(new)) == shown
    # Nothing is held back that could be shown.
    assert (None in shown) == (len(new) < k)


diseased = st.tuples(st.integers(0, 30), st.sampled_from("aaaab"))


def is_diverse(values, _):
    return len(set(values)) >= 2


def is_close(values, every):
    shares = [Fraction(group.count("b"), len(group)) for group in (values, every)]
    return abs(shares[0] - shares[1]) <= Fraction(1, 4)


def is_mixed(values, _):
    return all(values.count(value) * 4 <= 3 * len(values) for value in "ab")


@examples(4)
@pytest.mark.parametrize(
    ("goal", "holds"),
    [
        ("l-diversity column=disease l=2", is_diverse),
        ("t-closeness column=disease t=0.25", is_close),
        ("alpha-k column=disease alpha=0.75", is_mixed),
    ],
)
@given(st.lists(diseased, min_size=2, max_size=30), st.lists(diseased, min_size=1, max_size=30))
def test_places_with_a_goal_are_those_of_the_definition(goal, holds, rows, new):
    rows = [*rows, *[(at, "ab"[at % 2]) for at in range(30)]]
    schema = {"age": pl.Int64, "disease": pl.String}
    table, later_table = (pl.DataFrame(given, schema=schema, orient="row") for given in (rows, new))
    release = shoal.anonymize(
        table, quasi=["age"], sensitive=["disease"], k=2, bound=False, method="mondrian", goals=[goal]
    )
    boxes = FrozenBoxes.of(release, table)

    def is_good(group, released):
        return len(group) >= 2 and holds([new[row][1] for row in group], [new[row][1] for row in released])

    shown = reference.grouped(
        [(age,) for age, _ in new], boxes.texts.rows(), spans_of([age for age, _ in rows]), is_good
    )
    assert placed(boxes, later_table) == shown
    everybody = range(len(new))
    assert None not in shown or not is_good(everybody, everybody)
    groups = {box: [row for row in everybody if shown[row] == box] for box in shown if box is not None}
    released = [row for row in everybody if shown[row] is not None]
    assert all(is_good(group, released) for group in groups.values())


def test_groups_worked_by_hand():
    table = table_of([(0, "f"), (4, "f"), (5, "f"), (9, "f"), (20, "f"), (26, "f"), (30, "f"), (40, "f")])
    boxes = frozen(table, 2)
    texts = boxes.texts["age"].to_list()
    assert sorted(texts) == ["*", "[0, 40]", "[0, 4]", "[0, 9]", "[20, 26]", "[20, 40]", "[30, 40]", "[5, 9]"]

    def shown(*ages):
        place = boxes.place(table_of([(age, "f") for age in ages]))
        return [None if box == HELD_BACK else texts[box] for box in place]

    # Pass 1: too few for [0, 4] and [5, 9], they are enough for the box around both.
    assert shown(1, 6, 21, 22) == ["[0, 9]", "[0, 9]", "[20, 26]", "[20, 26]"]
    # Pass 2: a single row in [0, 4] asks the group of [5, 9], which has to give all its rows.
    assert shown(1, 6, 7, 21, 22) == ["[0, 9]", "[0, 9]", "[0, 9]", "[20, 26]", "[20, 26]"]
    # 10 is in no class, but in the union of all. Of two groups of two, that of the wider box costs less.
    assert shown(10, 1, 2, 31, 39) == ["[0, 40]", "[0, 4]", "[0, 4]", "[0, 40]", "[0, 40]"]
    # 50 is in no box but the one around everything.
    assert shown(50, 1, 2, 31, 39) == ["*", "[0, 4]", "[0, 4]", "*", "*"]
    assert shown(50, 1) == ["*", "*"]
    assert shown(1) == [None]


def test_a_group_gives_rows_to_a_box_that_overlaps_its_own():
    # The classes overlap: [1, 3] with both sexes, and [3, 9] with m only; ages 3 with m are inside both.
    boxes = FrozenBoxes(
        frozen(table_of([(1, "f"), (3, "m"), (3, "m"), (9, "m")]), 2).recipe,
        texts=pl.DataFrame({"age": ["*", "[3, 9]", "[1, 3]"], "sex": ["*", "m", "{f, m}"]}),
        of_class=np.array([1, 2], np.int32), names=(), values=np.zeros((3, 0)),
        widths=[Fraction(2), Fraction(3, 4), Fraction(5, 4)],
    )  # fmt: skip
    # Two rows stay in [3, 9] without those that it gives away.
    assert boxes.place(table_of([(1, "f"), (3, "m"), (8, "m"), (9, "m")])).tolist() == [2, 2, 1, 1]
    # One would not, so it gives none, and the row in [1, 3] is shown together with all others.
    assert boxes.place(table_of([(1, "f"), (3, "m"), (9, "m")])).tolist() == [0, 0, 0]


@given(training, st.integers(2, 4))
def test_boxes_cover_the_rows_of_their_classes(rows, k):
    table = table_of(rows)
    release = shoal.anonymize(table, quasi=["age", "sex"], k=k, bound=False)
    boxes = FrozenBoxes.of(release, table)
    texts = boxes.texts.rows()
    assert texts[0] == (forms.LOST, forms.LOST)
    own = boxes.of_class[release.labels]
    assert sorted(texts[box] for box in own) == sorted(release.frame.rows())
    halvings = len(boxes.of_class).bit_length() - 1
    for row, box in zip(rows, own, strict=True):
        holding = [at for at, text in enumerate(texts) if all(map(reference.contains, text, row))]
        # The box of its class, those around it, of which each has about twice the classes, and the root.
        assert {0, 1, box} <= set(holding)
        assert len(holding) >= 2 + halvings


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
    # Of the two unions inside the whole, none or one is of both classes in 10***; a missing value makes it *.
    assert set(texts) <= {"*", "1011*", "1024*", "10***"}


def test_order_of_rows_and_other_rows_far_away_change_no_place():
    random = np.random.default_rng(0)
    rows = [
        (int(age), SEXES[sex])
        for age, sex in zip(random.integers(0, 40, 60), random.integers(0, 3, 60), strict=True)
    ]
    boxes, new = frozen(table_of(rows), 3), rows[:40]
    place = boxes.place(table_of(new))
    assert boxes.place(table_of(new[::-1])).tolist() == place[::-1].tolist()
    # A row far away must not make another box the narrowest for the others. One group joins it.
    with_another = boxes.place(table_of([*new, (10**6, "f")]))[:40]
    moved = place != with_another
    assert 0 in with_another[moved]
    assert len(set(place[moved].tolist())) == 1


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
