"""Published texts: what is written is read back, and raw texts never pass for something else."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.table.forms import (
    Lost,
    Range,
    Set,
    Value,
    parse,
    range_text,
    range_texts,
    set_text,
    set_texts,
    split_ranges,
    split_sets,
    value_text,
    value_texts,
)

# Many texts that look like ranges, sets, escapes or lost values.
TRICKY = st.text(st.sampled_from("ab,*[]{}\\ "), max_size=8) | st.text(max_size=8)


@given(TRICKY)
def test_a_value_is_read_back(text):
    assert parse(value_text(text)) == Value(text)


@given(TRICKY, TRICKY)
def test_a_range_is_read_back(low, high):
    assert parse(range_text(low, high)) == Range(low, high)


@given(st.lists(st.none() | TRICKY), st.lists(st.none() | TRICKY))
def test_many_texts_are_formatted_as_one_is(some, others):
    values = pl.Series(some, dtype=pl.String)
    assert value_texts(values).to_list() == [None if text is None else value_text(text) for text in some]
    pairs = list(zip(some, others, strict=False))
    low, high = (pl.Series([pair[at] for pair in pairs], dtype=pl.String) for at in (0, 1))
    expected = [None if None in pair else range_text(*pair) for pair in pairs]
    assert range_texts(low, high).to_list() == expected


@given(st.lists(st.none() | TRICKY | st.builds(range_text, TRICKY, TRICKY)))
def test_many_ranges_are_split_as_one_is_unless_they_have_escapes(texts):
    low, high = split_ranges(pl.Series(texts, dtype=pl.String))
    for text, ends in zip(texts, zip(low, high, strict=True), strict=True):
        value = parse(text)
        is_plain = isinstance(value, Range) and "\\" not in text
        assert ends == ((value.low, value.high) if is_plain else (None, None))


SETS = st.lists(TRICKY, min_size=1, max_size=5, unique=True)


@given(st.lists(SETS, min_size=1))
def test_many_sets_are_formatted_as_one_is(sets):
    members = pl.Series([member for each in sets for member in each], dtype=pl.String)
    sizes = np.array([len(each) for each in sets])
    assert set_texts(members, sizes).to_list() == [set_text(each) for each in sets]


@given(st.lists(st.none() | TRICKY | st.builds(set_text, SETS)))
def test_many_sets_are_split_as_one_is_unless_they_have_escapes(texts):
    text_of_member, members = split_sets(pl.Series(texts, dtype=pl.String))
    for at, text in enumerate(texts):
        value = parse(text)
        is_plain = isinstance(value, Set) and "\\" not in text
        found = tuple(members.filter(pl.Series(text_of_member == at)).to_list())
        assert found == (value.members if is_plain else ())


@given(SETS)
def test_a_set_is_read_back_sorted(members):
    assert parse(set_text(members)) == Set(tuple(sorted(members)))


@given(
    st.lists(TRICKY, min_size=2, max_size=3, unique=True),
    st.lists(TRICKY, min_size=2, max_size=3, unique=True),
)
def test_different_sets_have_different_texts(one, other):
    assert (set_text(one) == set_text(other)) == (sorted(one) == sorted(other))


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        ("*", "\\*"),
        ("[1, 2]", "\\[1, 2]"),
        ("{a}", "\\{a}"),
        ("\\x", "\\\\x"),
        ("", "\\"),
        ("a*", "a*"),
        ("[1", "[1"),
    ],
)
def test_only_what_looks_published_is_marked(raw, written):
    assert value_text(raw) == written


def test_the_forms_of_the_contract():
    assert range_text("20", "29") == "[20, 29]"
    assert set_text(["b", "a"]) == "{a, b}"
    assert set_text(["a,b", "c"]) == "{a\\,b, c}"
    assert parse("*") == Lost()
    assert parse("") is None
    assert parse(None) is None
