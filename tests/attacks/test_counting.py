"""Counts on the grid, and person by person, against a twin that compares everybody with every row."""

from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacks import bits, counting
from shoal.attacks.bits import rows_containing
from shoal.attacks.counting import (
    Crowds,
    crowds,
    crowds_by_choice,
    on_grid,
    pairs,
    people_sample,
    raw_crowds,
)
from shoal.attacks.tables import together
from shoal.verifier.cells.covers import Span
from shoal.verifier.originals.axis import covering_axis
from tests.reference import attacks as reference

VALUES = list(range(7))
CELLS = st.one_of(
    st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES)).map(lambda ends: Span(min(ends), max(ends))),
    st.frozensets(st.sampled_from(VALUES), min_size=1, max_size=4),
    st.none(),
)


def values_of(cover):
    """The values that a cell covers."""
    if cover is None:
        return set(VALUES)
    return set(range(cover.low, cover.high + 1)) if isinstance(cover, Span) else set(cover)


@st.composite
def cases(draw):
    """People, boxes and their numbers of rows, in one to three columns."""
    width = draw(st.integers(1, 3))
    n_people, n_boxes = draw(st.integers(1, 20)), draw(st.integers(1, 8))
    people = [draw(st.tuples(*[st.sampled_from(VALUES)] * width)) for _ in range(n_people)]
    boxes = [draw(st.tuples(*[CELLS] * width)) for _ in range(n_boxes)]
    sizes = draw(st.lists(st.integers(1, 5), min_size=n_boxes, max_size=n_boxes))
    axes = []
    for at in range(width):
        covers = list(dict.fromkeys(box[at] for box in boxes))
        cells = np.array([covers.index(box[at]) for box in boxes])
        points = np.array([VALUES.index(person[at]) for person in people])
        axes.append(covering_axis(VALUES, points, covers, cells))
    return people, boxes, sizes, axes


def expected(people, boxes, sizes):
    rows = [tuple(map(values_of, box)) for box, size in zip(boxes, sizes, strict=True) for _ in range(size)]
    return reference.candidates(people, rows)


@given(cases())
def test_all_ways_of_counting_agree_with_the_twin(case):
    people, boxes, sizes, axes = case
    numbers = expected(people, boxes, sizes)
    sizes = np.array(sizes)
    every = tuple(range(len(axes)))
    assert rows_containing(axes, [every], sizes).tolist() == [numbers]
    found = [0] * len(people)
    for box, point in pairs(axes, axes):
        for each, person in zip(box, point, strict=True):
            found[person] += sizes[each]
    assert found == numbers
    with mock.patch.object(bits, "_WORD", 2), mock.patch.object(bits, "_PIECE", 1):
        assert rows_containing(axes, [every], sizes).tolist() == [numbers]
    with mock.patch.object(counting, "CORNERS", 1 << 40):
        whole = on_grid(axes, np.array(sizes) * 1000)
    for counted, times in ((crowds(axes, sizes), 1), (whole, 1000)):
        if counted is not None:  # None where all pairs are fewer than the values of the grid
            assert sorted(np.repeat(counted.candidates, counted.weights)) == sorted(
                n * times for n in numbers
            )
            assert counted.outside == numbers.count(0)
            assert counted.success == pytest.approx(float(reference.success(numbers)) / times)


@given(cases(), st.sampled_from([0, 1, 64]))
def test_every_choice_of_columns_is_counted_as_by_the_twin(case, grid_work):
    people, boxes, sizes, axes = case
    choices = [each for size in (1, 2, 3) for each in combinations(range(len(axes)), size)]
    with (
        mock.patch.object(counting, "_GRID_WORK", grid_work or 1 << 40),
        mock.patch.object(counting, "_ROOM", 40),
    ):
        found = list(crowds_by_choice(axes, choices, np.array(sizes)))
    for choice, counted in zip(choices, found, strict=True):
        seen = [tuple(person[at] for at in choice) for person in people]
        numbers = expected(seen, [tuple(box[at] for at in choice) for box in boxes], sizes)
        assert sorted(np.repeat(counted.candidates, counted.weights)) == sorted(numbers)


def test_the_grid_is_used_for_many_people():
    rng = np.random.Generator(np.random.PCG64(1))
    people = [tuple(row) for row in rng.integers(0, 7, (60, 2)).tolist()]
    boxes = [(Span(a, a + 2), frozenset([b, (b + 3) % 7])) for a in range(5) for b in range(7)]
    axes = []
    for at in range(2):
        covers = list(dict.fromkeys(box[at] for box in boxes))
        cells = np.array([covers.index(box[at]) for box in boxes])
        axes.append(covering_axis(VALUES, np.array([person[at] for person in people]), covers, cells))
    found = on_grid(axes, np.ones(len(boxes), np.int64))
    numbers = expected(people, boxes, [1] * len(boxes))
    assert sorted(np.repeat(found.candidates, found.weights)) == sorted(numbers)


@given(cases())
def test_the_raw_table_is_its_own_release(case):
    people, _, _, axes = case
    assert sorted(np.repeat(*[raw_crowds(axes).candidates] * 2)) == sorted(reference.class_sizes(people))


def test_a_sample_is_drawn_by_values_not_by_places():
    rng = np.random.Generator(np.random.PCG64(2))
    codes = rng.integers(0, 5000, 6000)
    drawn = []
    for order in (np.arange(6000), rng.permutation(6000)):
        axis = covering_axis(list(range(5000)), codes[order], [None], np.array([0]))
        sample = people_sample([axis], 1, work=1000)
        assert sample.sampled
        assert sample.weights.sum() == 1000
        drawn.append(sorted(zip(axis.codes[sample.first].tolist(), sample.weights.tolist(), strict=True)))
    assert drawn[0] == drawn[1]


def test_crowds_by_hand():
    found = Crowds(np.array([0, 1, 2, 4]), np.array([3, 1, 2, 4]))
    assert (found.people, found.smallest, found.below(3), found.outside) == (10, 1, 3, 3)
    assert found.success == (1 + 2 / 2 + 4 / 4) / 10


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**40)), min_size=1), st.booleans())
def test_combinations_are_numbered_in_their_order(rows, wide):
    columns = [
        (np.array([row[at] for row in rows]), size)
        for at, size in ((0, 4), (1, (1 << 60) if wide else 2**40 + 1))
    ]
    numbers = together(columns, len(rows)).tolist()
    different = sorted(set(rows))
    assert numbers == [different.index(row) for row in rows]
