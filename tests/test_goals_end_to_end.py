"""Privacy goals with every method, from the table to the release: it meets them, or none could."""

import random
from collections import defaultdict
from itertools import product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.anonymize import prepare
from shoal.errors import InfeasibleError
from shoal.recipe import Recipe
from shoal.table.write import write_table
from tests.test_contract import NAMES, every_method
from tests.test_goals import KINDS, Seen

# The sensitive columns: one with an order, one with a tree, one with nothing.
ORDER = ["a", "b", "c", "d"]
TREE = {"all": {"ab": ["a", "b"], "cd": ["c", "d"]}}
PARENT = {"all": None, "ab": "all", "cd": "all", "a": "ab", "b": "ab", "c": "cd", "d": "cd"}
SENSITIVE = {
    "s": {"role": "sensitive", "kind": "ordinal", "order": ORDER},
    "in_tree": {"role": "sensitive", "kind": "categorical", "hierarchy": TREE},
    "other": {"role": "sensitive"},
}
QUASI = {
    "age": ({"kind": "numeric"}, [1, 2, 3, 5, 8, 13], pl.Int64),
    "land": ({"hierarchy": {"World": {"Asia": ["Iran", "India"], "America": ["Peru"]}}},
             ["Iran", "India", "Peru"], pl.String),
    "flat": ({"kind": "categorical"}, ["x", "y", "z"], pl.String),
}  # fmt: skip
# Thresholds that ask for something: the loosest ones of KINDS always hold.
BOUNDS = {name: [b for b in kind.bounds if b != kind.bounds[-1]] for name, kind in KINDS.items()}
BOUNDS |= {name: [2, 3] for name in ("distinct", "frequency", "recursive")} | {"entropy": [1.5, 2, 2.5]}
ASKED = {name: [name] for name in KINDS} | {
    "two": ["distinct", "equal"],  # of two columns
    "joint": ["entropy"],  # of two columns together
}
every_goal = pytest.mark.parametrize("asked", ASKED)
NOT_POSSIBLE = {"infeasible.goal", "infeasible.rows", "infeasible.suppression"}


def columns_of(asked):
    """The sensitive columns that each goal is about."""
    if asked == "joint":
        return [["s", "other"]]
    if asked == "two":
        return ["s", "other"]
    return ["in_tree" if asked == "hierarchical" else "s"]


class Made:
    """A table and what is asked of it; rows carry a number, so that each is found again in a release.

    goals: (kind, threshold, column or columns); people: whose row each is, for the role subject.
    """

    def __init__(self, quasi, sensitive, goals, people=None, tagged=True, **privacy):
        self.n_rows = len(next(iter(quasi.values())))
        self.goals, self.people, self.privacy = goals, people, privacy
        self.sensitive = {name: list(values) for name, values in sensitive.items()}
        data = {name: pl.Series(values, dtype=QUASI[name][2]) for name, values in quasi.items()}
        data |= {name: pl.Series(values, dtype=pl.String) for name, values in self.sensitive.items()}
        specs = {name: {"role": "quasi", **QUASI[name][0]} for name in quasi}
        specs |= {name: SENSITIVE[name] for name in self.sensitive}
        if people is not None:
            data["who"], specs["who"] = people, {"role": "subject"}
        if tagged:
            data["row"], specs["row"] = range(self.n_rows), {"role": "keep"}
        self.table, self.specs = pl.DataFrame(data), specs

    def recipe(self, method, seed=0, **options):
        asked = [KINDS[kind].goal(bound, column) for kind, bound, column in self.goals]
        return Recipe.from_dict(
            {
                "columns": self.specs,
                "privacy": {**self.privacy, "goal": asked},
                "method": {"name": method, "seed": seed, "options": options},
            }
        )

    def pairs(self, rows, column):
        """The (person, value) of rows, each once; joint columns have a value where all of them do."""
        names = [column] if isinstance(column, str) else column
        found = set()
        for row in rows:
            value = tuple(self.sensitive[name][row] for name in names)
            if None not in value:
                found.add((self.person(row), value[0] if isinstance(column, str) else value))
        return found

    def person(self, row):
        return row if self.people is None else self.people[row]

    def seen(self, members, released, column):
        inside, whole = self.pairs(members, column), self.pairs(released, column)
        return Seen(
            [value for _, value in sorted(inside)],
            [value for _, value in sorted(whole)],
            len({person for person, _ in inside}),
            ORDER,
            PARENT,
        )

    def is_good(self, members, released):
        """Whether a class has k people and meets every goal, by the reference."""
        if len({self.person(row) for row in members}) < self.privacy["k"]:
            return False
        return all(
            KINDS[kind].holds(self.seen(members, released, column), bound)
            for kind, bound, column in self.goals
        )

    def has_partition(self, rows):
        """Whether some partition of the rows has good classes only: all are tried."""
        good = {}

        def splits(left):
            if not left:
                return True
            first, *others = left
            for chosen in product([True, False], repeat=len(others)):
                members = (first, *(row for row, is_in in zip(others, chosen, strict=True) if is_in))
                if members not in good:
                    good[members] = self.is_good(members, rows)
                if good[members] and splits([row for row in left if row not in members]):
                    return True
            return False

        return splits(list(rows))

    def released(self, method, **more):
        """Anonymize, check the release by the reference, and return its rows; None where none is possible."""
        recipe = self.recipe(method, **more)
        try:
            release = shoal.anonymize(self.table, recipe)
        except InfeasibleError as error:
            assert {fault.code for fault in error.faults} <= NOT_POSSIBLE
            return None
        self.check(release, recipe)
        return sorted(release.frame["row"])

    def check(self, release, recipe):
        assert "who" not in release.frame.columns
        classes = defaultdict(list)
        for shown in release.frame.rows(named=True):
            classes[tuple(shown[name] for name in recipe.quasi)].append(shown["row"])
            for name, values in self.sensitive.items():
                assert shown[name] == values[shown["row"]], "a sensitive value went to another row"
        rows = [row for members in classes.values() for row in members]
        assert rows, "an empty release"
        assert len(set(rows)) == len(rows), "a row was released twice"
        assert self.n_rows - len(rows) == release.suppressed
        assert release.suppressed <= self.privacy.get("max_suppressed", 0) * self.n_rows, "too many left out"
        for members in classes.values():
            assert self.is_good(members, rows), f"a class fails: {sorted(members)}"
        people = [len({self.person(row) for row in members}) for members in classes.values()]
        assert min(people) == release.k
        assert [goal.holds for goal in release.further_goals] == [True] * len(self.goals)


def goals_for(asked, draw):
    pairs = zip(ASKED[asked], columns_of(asked), strict=True)
    return [(kind, draw(st.sampled_from(BOUNDS[kind])), column) for kind, column in pairs]


@st.composite
def made(draw, asked, max_rows=16, max_k=4, min_rows=2, people=False, **privacy):
    """A table for these goals, with missing values, one value only, or no value at all among others."""
    k = draw(st.integers(2, max_k))
    n_rows = draw(st.integers(max(k, min_rows), max_rows))

    def cells(values, may_miss):
        cell = st.sampled_from(values)
        return draw(st.lists(st.none() | cell if may_miss else cell, min_size=n_rows, max_size=n_rows))

    names = draw(st.lists(st.sampled_from(sorted(QUASI)), min_size=1, unique=True))
    quasi = {name: cells(QUASI[name][1], draw(st.booleans())) for name in names}
    domain = draw(st.sampled_from([ORDER, ORDER, ORDER[:2], ["a", "a", "a", "b", "c"], ["a"], [None]]))
    may_miss = draw(st.booleans())
    goals = goals_for(asked, draw)
    used = {name for column in columns_of(asked) for name in ([column] if isinstance(column, str) else column)}
    sensitive = {name: cells(domain if name != "other" else ORDER[:3], may_miss) for name in sorted(used)}
    owners = None
    if people:
        owners = draw(
            st.lists(st.integers(0, draw(st.integers(1, n_rows))), min_size=n_rows, max_size=n_rows)
        )
    return Made(quasi, sensitive, goals, owners, k=k, **privacy)
