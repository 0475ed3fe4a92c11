"""Groups for tables that are published again and again, against the definition of m-invariance."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.privacy.minvariance import invariant_groups
from tests.reference import minvariance as twin

# A table at each time: person -> (place, value). Values may change, people come, go, and come back.
TABLES = st.lists(
    st.dictionaries(
        st.integers(0, 30), st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=0, max_size=24
    ),
    min_size=1,
    max_size=4,
)


def published(table, known, m, seed=0):
    """The groups of one table, as the definition takes them, and what is known afterwards."""
    people = sorted(table, key=lambda person: (table[person], person))
    values = np.array([table[person][1] for person in people], np.int32)
    points = np.array([[table[person][0] / 9] for person in people]).reshape(-1, 1)
    signatures = [known.get(person) for person in people]
    random = np.random.Generator(np.random.PCG64(seed))
    labels, of_group = invariant_groups(values, signatures, points, m, random)
    release = {
        person: (int(label), table[person][1])
        for person, label in zip(people, labels, strict=True)
        if label >= 0
    }
    return release, known | {person: of_group[group] for person, (group, _) in release.items()}


@given(TABLES, st.integers(2, 4))
def test_all_releases_together_are_m_invariant(tables, m):
    known, releases = {}, []
    for table in tables:
        release, known = published(table, known, m)
        releases.append(release)
    assert twin.is_m_invariant(releases, m)


def test_the_definition_can_fail():
    good = {"a": (0, "flu"), "b": (0, "cold")}
    assert twin.is_m_invariant([good, good], 2)
    assert not twin.is_m_invariant([good], 3)
    assert not twin.is_m_invariant([{"a": (0, "flu"), "b": (0, "flu")}], 2)
    assert not twin.is_m_invariant([good, {"a": (0, "flu"), "c": (0, "hiv")}], 2)


@given(st.lists(st.integers(0, 6), max_size=30), st.integers(2, 4))
def test_as_many_newcomers_as_possible_are_published(values, m):
    table = {at: (at % 7, value) for at, value in enumerate(values)}
    release, _ = published(table, {}, m)
    assert len(release) == twin.most_newcomers(Counter(values).values(), m)


def test_the_example_of_two_hospitals_by_hand():
    # Time 1: flu and cold, hiv and ulcer. Time 2: the cold has left, a newcomer with a cold completes the
    # group of the flu; hiv and ulcer stay. A newcomer with a flu has nobody to be with, and waits.
    first = {"a": (1, 0), "b": (2, 1), "c": (8, 2), "d": (9, 3)}
    random_free = {
        "a": frozenset({0, 1}),
        "b": frozenset({0, 1}),
        "c": frozenset({2, 3}),
        "d": frozenset({2, 3}),
    }
    second = {"a": (1, 0), "c": (8, 2), "d": (9, 3), "e": (5, 1), "f": (1, 0)}
    release, known = published(second, random_free, 2)
    assert set(release) == {"a", "c", "d", "e"}
    assert release["a"][0] == release["e"][0] != release["c"][0] == release["d"][0]
    assert known["e"] == frozenset({0, 1})
    # Without the newcomer with a cold, the flu must wait: an hiv in its group would exclude the cold.
    del second["e"]
    release, _ = published(second, random_free, 2)
    assert set(release) == {"c", "d"}
    assert set(published(first, {}, 2)[0]) == set(first)


def test_who_has_another_value_now_waits_unless_it_is_in_the_signature():
    known = {"a": frozenset({0, 1}), "b": frozenset({0, 1})}
    release, _ = published({"a": (0, 1), "b": (0, 0)}, known, 2)
    assert set(release) == {"a", "b"}  # they have swapped: nothing to see
    release, _ = published({"a": (0, 5), "b": (0, 0), "c": (0, 1)}, known, 2)
    assert set(release) == {"b", "c"}


def test_rows_that_are_near_are_grouped():
    table = {at: (0 if at < 2 else 9, at % 2) for at in range(4)}
    release, _ = published(table, {}, 2)
    assert release[0][0] == release[1][0] != release[2][0] == release[3][0]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_groups(seed):
    table = {at: (at % 5, at * at % 7) for at in range(40)}
    assert published(table, {}, 3, seed) == published(table, {}, 3, seed)
