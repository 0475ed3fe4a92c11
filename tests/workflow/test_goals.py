"""Privacy goals with every method, from the table to the release: it meets them, or none could."""

import random
from collections import Counter, defaultdict
from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError
from shoal.recipe import Recipe
from shoal.table.write import write_table
from shoal.workflow.prepare import prepare
from tests.privacy.test_goals import KINDS, Seen, column_of
from tests.profiles import IS_SLOW, few
from tests.reference.goals import entropy
from tests.test_contract import NAMES, every_method_with, some_methods

# The sensitive columns: one with an order, one with a tree, one with nothing, one of numbers.
ORDER = ["a", "b", "c", "d"]
TREE = {"all": {"ab": ["a", "b"], "cd": ["c", "d"]}}
PARENT = {"all": None, "ab": "all", "cd": "all", "a": "ab", "b": "ab", "c": "cd", "d": "cd"}
SENSITIVE = {
    "s": {"role": "sensitive", "kind": "ordinal", "order": ORDER},
    "in_tree": {"role": "sensitive", "kind": "categorical", "hierarchy": TREE},
    "other": {"role": "sensitive"},
    "number": {"role": "sensitive", "kind": "numeric"},
}
NUMBERS = {"a": "0.1", "b": "0.2", "c": "0.3", "d": "0.5", None: None}
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
NOT_POSSIBLE = {"infeasible.goal", "infeasible.rows"}


def columns_of(asked):
    """The sensitive columns that each goal is about."""
    if asked == "joint":
        return [["s", "other"]]
    if asked == "two":
        return ["s", "other"]
    return [column_of(asked)]


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
            data["row"], specs["row"] = range(self.n_rows), {"role": "keep", "accept": ["unique"]}
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

    def quasi_rows(self):
        return self.table.select([name for name in self.specs if name in QUASI]).rows()

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
        codes = set()
        try:
            release = shoal.anonymize(self.table, recipe)
        except InfeasibleError as error:
            codes = {fault.code for fault in error.faults}
        if codes:
            few_may_be_left_out = self.privacy.get("missing") == "suppress"
            assert codes <= NOT_POSSIBLE | ({"infeasible.suppression"} if few_may_be_left_out else set())
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
        assert [goal.holds for goal in release.goals[1:]] == [True] * len(self.goals)


def used_by(asked):
    return [
        name for column in columns_of(asked) for name in ([column] if isinstance(column, str) else column)
    ]


def made(rng, asked, max_rows=16, max_k=4, **privacy):
    """A table for these goals, with missing values, one value only, or no value at all among others."""
    k = rng.randint(2, max_k)
    n_rows = rng.randint(k, max_rows)

    def cells(values, share):
        return [None if rng.random() < share else rng.choice(values) for _ in range(n_rows)]

    names = rng.sample(sorted(QUASI), rng.randint(1, len(QUASI)))
    quasi = {name: cells(QUASI[name][1], rng.choice([0, 0.2])) for name in names}
    domain = rng.choice([ORDER, ORDER, ORDER[:2], ["a", "a", "a", "b", "c"], ["a"], [None]])
    sensitive = {name: cells(domain, rng.choice([0, 0.2])) for name in used_by(asked)}
    if "number" in sensitive:
        sensitive["number"] = [NUMBERS[value] for value in sensitive["number"]]
    if "other" in sensitive:
        sensitive["other"] = cells(ORDER[:3], rng.choice([0, 0.2]))
    pairs = zip(ASKED[asked], columns_of(asked), strict=True)
    goals = [(kind, rng.choice(BOUNDS[kind]), column) for kind, column in pairs]
    return Made(quasi, sensitive, goals, k=k, **privacy)


# A release that meets the goals, or none is possible.


@every_method_with("asked", ASKED)
def test_a_release_is_made_exactly_if_one_class_of_all_rows_meets_the_goals(method, asked):
    for seed in range(2):
        rng = random.Random(f"{method} {asked} {seed}")
        case = made(rng, asked)
        everything = range(case.n_rows)
        released = case.released(method, seed=rng.randrange(9))
        assert released == (list(everything) if case.is_good(everything, everything) else None)


@every_method_with("asked", ASKED)
def test_with_rows_left_out_the_goals_are_met_by_what_is_released(method, asked):
    for missing in ("category", "suppress"):
        rng = random.Random(f"{method} {asked} {missing}")
        case = made(rng, asked, missing=missing, max_suppressed=rng.choice([0.2, 0.5, 1.0]))
        released = case.released(method, seed=rng.randrange(9))
        everything = range(case.n_rows)
        if missing == "category" and case.is_good(everything, everything):
            assert released is not None, "what can be released whole was not released"
        if missing == "suppress" and released:
            assert not [row for row in released if None in case.quasi_rows()[row]]


# Shapes that are easily forgotten: (sensitive values, k, goals, more of [privacy], rows that are released).

EDGES = {
    "no sensitive value, a goal that counts": ([None] * 6, 2, [("distinct", 1)], {}, None),
    "no sensitive value, a goal that bounds": ([None] * 6, 2, [("equal", 0.1), ("alpha", 0.2)], {}, 6),
    "no sensitive value, all left out": ([None] * 6, 2, [("entropy", 1)], {"max_suppressed": 1.0}, None),
    "one sensitive value": (["a"] * 6, 2, [("distinct", 2)], {"max_suppressed": 1.0}, None),
    "one sensitive value, nothing to be far from": (["a"] * 6, 2, [("ordered", 0.0), ("delta", 0.1)], {}, 6),
    "one value once among missing ones": (["a", *[None] * 5], 2, [("distinct", 1)], {}, 6),
    "as many values as asked for, once each": (list("abcd"), 2, [("frequency", 4)], {}, 4),
    "two goals that only one class meets": (list("abcdab"), 2, [("distinct", 4), ("equal", 0.0)], {}, 6),
    "one value too frequent by one row": (list("aaabb"), 2, [("frequency", 2)], {"max_suppressed": 0.2}, 4),
    "one row less may be left out": (list("aaaabb"), 2, [("frequency", 2)], {"max_suppressed": 0.2}, None),
    "two rows may be left out": (list("aaaabb"), 2, [("frequency", 2)], {"max_suppressed": 0.34}, 4),
    "fewer than k rows would be left": (list("aaaab"), 3, [("frequency", 2)], {"max_suppressed": 1.0}, None),
    "missing values make up k": (["a", "a", "b", None], 3, [("alpha", 0.5)], {"max_suppressed": 0.25}, 3),
    "two goals, each with its own row": (list("aaabb"), 2, [("frequency", 2), ("alpha", 0.5)],
                                         {"max_suppressed": 0.2}, 4),
}  # fmt: skip


@every_method_with("edge", EDGES)
def test_edges(edge, method):
    values, k, goals, privacy, expected = EDGES[edge]
    n_rows = len(values)
    quasi = {"age": [(1, 2, 3, 5, 8, 13)[at % 6] for at in range(n_rows)], "flat": ["x", "y"] * (n_rows // 2)}
    quasi["flat"] += ["z"] * (n_rows % 2)
    case = Made(quasi, {"s": values}, [(kind, bound, "s") for kind, bound in goals], k=k, **privacy)
    released = case.released(method)
    if expected is None:
        assert released is None
    elif expected < n_rows or not privacy:
        assert released is not None
        assert len(released) == expected


# Two classes far apart, each with one value: only a repair or a class of all rows can help.
@every_method_with("kind", KINDS)
def test_classes_of_one_value_are_repaired(kind, method):
    bound = {"distinct": 2, "frequency": 2, "entropy": 2, "recursive": 2, "alpha": 0.5}.get(kind, 0.1)
    column = column_of(kind)
    values = ["0.1"] * 6 + ["0.2"] * 6 if column == "number" else ["a"] * 6 + ["d"] * 6
    quasi = {"age": [1] * 6 + [13] * 6, "land": ["Iran"] * 6 + ["Peru"] * 6}
    case = Made(quasi, {column: values}, [(kind, bound, column)], k=3)
    assert case.released(method) == list(range(12))


# Neighbours in age earn nearly the same, so that classes of neighbours are diverse and still tell the salary.
@some_methods
def test_salaries_that_are_close_do_not_share_a_class(method):
    salaries = [1000 + 10 * at for at in range(6)] + [5000 + 10 * at for at in range(6)]
    table = pl.DataFrame({"age": list(range(20, 26)) + list(range(60, 66)), "salary": salaries})
    columns = {"age": {"role": "quasi", "kind": "numeric"}, "salary": {"role": "sensitive"}}
    goals = [{"type": "l-diversity", "column": "salary", "l": 3}]
    recipe = {"columns": columns, "privacy": {"k": 3, "goal": goals}, "method": {"name": method}}
    goals.append({"type": "range", "column": "salary", "e": 500.0})
    release = shoal.anonymize(table, Recipe.from_dict(recipe))
    ranges = release.frame.group_by("age").agg(pl.col("salary").max() - pl.col("salary").min())
    assert ranges["salary"].min() >= 500
    assert release.goals[2].achieved == ranges["salary"].min()


# Brute force: all partitions of small tables.


@some_methods
@few()
@given(asked=st.sampled_from(sorted(ASKED)), rng=st.randoms(use_true_random=True))
def test_feasible_is_what_some_partition_meets(method, asked, rng):
    case = made(rng, asked, max_rows=8, max_k=3)
    released = case.released(method)
    assert (released is not None) == case.has_partition(range(case.n_rows))


def has_release(case):
    """Whether some rows, few enough left out, have a partition into good classes."""
    for chosen in product([True, False], repeat=case.n_rows):
        rows = [row for row, is_in in enumerate(chosen) if is_in]
        few = case.n_rows - len(rows) <= case.privacy["max_suppressed"] * case.n_rows
        if rows and few and case.has_partition(rows):
            return True
    return False


@some_methods
@few()
@given(asked=st.sampled_from(sorted(set(ASKED) - {"two"})), rng=st.randoms(use_true_random=True))
def test_feasible_with_rows_left_out_is_what_some_partition_of_some_rows_meets(method, asked, rng):
    case = made(rng, asked, max_rows=6, max_k=3, max_suppressed=rng.choice([0.25, 0.5, 1.0]))
    released = case.released(method)
    assert (released is not None) == has_release(case)


def test_brute_force_can_tell():
    quasi = {"age": [1, 1, 2, 2]}
    for values, k, goal, expected in [
        ("aabb", 2, ("distinct", 2), True),
        ("aaab", 2, ("frequency", 2), False),
        ("abab", 2, ("equal", 0.0), True),
        ("aabb", 5, ("distinct", 1), False),
    ]:
        case = Made(quasi, {"s": list(values)}, [(*goal, "s")], k=k, max_suppressed=0.5)
        assert case.has_partition(range(4)) is expected
        assert has_release(case) is (expected or values == "aaab")


# The same seed, the same rows: the same bytes.


def fixed_case(seed, goals, people=False, **more):
    random_ = random.Random(seed)
    n_rows = 40
    quasi = {name: random_.choices([*values, None], k=n_rows) for name, (_, values, _) in QUASI.items()}
    sensitive = {name: random_.choices([*ORDER, None], k=n_rows) for name in SENSITIVE}
    who = [random_.randrange(35) for _ in range(n_rows)] if people else None
    return Made(quasi, sensitive, goals, who, **more)


BYTES = {
    "counts": [("distinct", 3, "s"), ("entropy", 1.5, ["s", "other"])],
    "frequency": [("frequency", 2, "s"), ("recursive", 2, "other")],
    "compares": [("equal", 0.3, "s"), ("ordered", 0.25, "s"), ("hierarchical", 0.3, "in_tree")],
    "bounds": [("alpha", 0.6, "s"), ("basic", 1.0, "other")],
}


def written(table, recipe, path):
    release = prepare(table, recipe)
    write_table(release.frame, path)
    return path.read_bytes(), release.manifest("")


@every_method_with("asked", list(product(BYTES, [(False, 0.2), (True, 0.0)])))
def test_any_order_of_the_rows_gives_the_same_bytes(method, asked, tmp_path):
    goals, (people, share) = asked
    case = fixed_case(2, BYTES[goals], people=people, tagged=False, k=3, max_suppressed=share)
    assert case.is_good(range(case.n_rows), range(case.n_rows))
    recipe = case.recipe(method, seed=5)
    first = written(case.table, recipe, tmp_path / "out.csv")
    assert written(case.table, recipe, tmp_path / "out.csv") == first
    shuffled = case.table[random.Random(2).sample(range(case.n_rows), case.n_rows)]
    assert written(shuffled, recipe, tmp_path / "out.csv") == first


# Adult, with occupation sensitive instead of quasi.

ON_ADULT = {
    "distinct": {"type": "l-diversity", "column": "occupation", "l": 5},
    "entropy": {"type": "l-diversity", "variant": "entropy", "column": "occupation", "l": 4},
    "equal": {"type": "t-closeness", "column": "occupation", "t": 0.2},
}
# Others take up to two minutes each: `make test-slow` runs them all.
IN_SECONDS = {("mondrian", "distinct")}
EVERY_PAIR = [(method, asked) for method in NAMES for asked in ON_ADULT]
PAIRS = [pair for pair in EVERY_PAIR if pair in IN_SECONDS or IS_SLOW]


@pytest.mark.parametrize(("method", "asked"), PAIRS)
def test_goals_on_adult8(method, asked, adult8, tmp_path):
    n_rows = 30162 if IS_SLOW else 8000
    lines = (adult8.parent / "adult.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "adult.csv").write_text("".join(lines[: n_rows + 1]), encoding="utf-8")
    changes = {
        "input": {"path": str(tmp_path / "adult.csv")},
        "columns": {"occupation": {"role": "sensitive"}},
        "privacy": {"goal": [ON_ADULT[asked]]},
        "method": {"name": method},
    }
    recipe = Recipe.load(adult8, changes=changes)
    release = shoal.anonymize(recipe)
    assert (release.rows, release.suppressed) == (n_rows, 0)
    assert release.k >= 10
    assert [goal.holds for goal in release.goals[1:]] == [True]
    whole = Counter(release.frame["occupation"])
    for _, rows in release.frame.group_by(recipe.quasi):
        counts = Counter(rows["occupation"])
        assert len(rows) >= 10
        if asked == "distinct":
            assert len(counts) >= 5
        elif asked == "entropy":
            assert entropy(rows["occupation"]) >= 4 - 1e-9
        else:
            # Half the sum of |q - p|, in whole numbers: twice the distance, times both sizes.
            apart = sum(abs(counts[value] * whole.total() - n * len(rows)) for value, n in whole.items())
            assert apart * 5 <= 2 * len(rows) * whole.total()
