"""Risk by what is known, against a hand-worked table and the twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.risks.classes import Known
from shoal.risks.subsets import largest_size, subset_risks
from tests.reference import risk as reference


def known(rows, people=None):
    codes = tuple(np.array(column, np.int64) for column in zip(*rows, strict=True))
    names = tuple("abcdef"[: len(codes)])
    return Known(names, codes, None if people is None else np.array(people, np.int64))


def test_by_hand():
    # a alone: three and one row. b alone: two and two. Together 2, 1, 1.
    found = subset_risks(known([(0, 0), (0, 0), (0, 1), (1, 1)]), 2, size=1)
    assert [(one.columns, one.unique, one.below_k, one.average) for one in found] == [
        (("a", "b"), 2, 2, 0.75),
        (("a",), 1, 1, 0.5),
        (("b",), 0, 0, 0.5),
    ]
    assert [one.highest for one in found] == [1, 1, 0.5]


def test_a_person_with_several_rows_counts_once_in_a_class():
    # Rows 0 and 1 are one person, alone with its value; as rows they would be a class of two.
    (found,) = subset_risks(known([(0,), (0,), (1,), (1,)], people=[0, 0, 1, 2]), 2)
    assert (found.unique, found.below_k, found.classes) == (1, 1, 2)


def test_of_equally_bad_subsets_the_smaller_comes_first():
    found = subset_risks(known([(0, 0), (1, 0), (2, 0)]), 2)
    assert [one.columns for one in found] == [("a",), ("a", "b"), ("b",)]


def test_too_many_subsets_are_refused_by_size():
    # 50 columns have 50 + 1,225 + 19,600 subsets of up to three, which are more than 20,000.
    assert largest_size(50, 3) == 2
    assert largest_size(48, 3) == 3
    assert largest_size(10**6, 3) == 1


cells = st.integers(0, 3)


@given(
    st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[cells] * width), min_size=1, max_size=40)),
    st.integers(1, 3),
    st.data(),
)
def test_against_the_twin(rows, size, data):
    people = data.draw(st.none() | st.lists(cells, min_size=len(rows), max_size=len(rows)))
    ranks = None if people is None else np.unique(people, return_inverse=True)[1]
    expected = reference.subsets(rows, min(size, len(rows[0])), people)
    found = {one.columns: one for one in subset_risks(known(rows, ranks), 3, min(size, len(rows[0])))}
    assert len(found) == len(expected)
    for subset, sizes in expected.items():
        one = found[tuple("abcdef"[at] for at in subset)]
        assert one.classes == len(sizes)
        assert one.unique == sizes.count(1)
        assert one.below_k == sum(each for each in sizes if each < 3)
        assert one.highest == 1 / sizes[0]


def test_sorting_instead_of_counting_changes_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    table = known(rng.integers(0, 7, (500, 3)).tolist())
    before = subset_risks(table, 5)
    monkeypatch.setattr("shoal.risks.classes._ROOM", 0)
    again = Known(table.names, table.codes)
    assert subset_risks(again, 5) == before


def test_progress_reaches_the_end():
    seen = []
    subset_risks(known([(0, 1), (1, 0)]), 2, 2, seen.append)
    assert seen == [1 / 3, 2 / 3, 1]
