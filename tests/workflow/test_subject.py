"""A subject column: people with several rows count once, in every class and for every goal."""

import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError
from tests.bad_input_cases import run
from tests.profiles import few
from tests.test_contract import every_method_with, some_methods
from tests.workflow.test_goals import ASKED, BOUNDS, NUMBERS, ORDER, QUASI, Made, columns_of, used_by

# Six rows of one person, all alike, and nine people with one row each.
WHO = ["p"] * 6 + [f"n{at}" for at in range(9)]
AGES = [1] * 6 + [1, 2, 2, 3, 5, 8, 8, 13, 13]
LANDS = ["Iran"] * 6 + ["Iran", "Iran", "India", "India", "Peru", "Peru", "Peru", "India", "Peru"]


def with_a_guest(goals=(), values=None, people=WHO, **privacy):
    values = values or [*"abcdab", *"abcdabcda"]
    return Made({"age": AGES, "land": LANDS}, {"s": values}, list(goals), people, **privacy)


@every_method_with("k", [2, 3, 5, 10])
def test_nobody_fills_a_class_alone(method, k):
    case = with_a_guest(k=k)
    assert case.released(method) == list(range(15))  # `released` counts the people of every class


# Six rows of one person here, those of six others far away: rows alone make a class of one person.
@some_methods
def test_rows_alone_would_let_one_person_fill_a_class(method):
    quasi = {"age": [1] * 6 + [13] * 6, "land": ["Iran"] * 6 + ["Peru"] * 6}
    case = Made(quasi, {"s": ["a", "b"] * 6}, [], WHO[:12], k=6)
    assert case.released(method) == list(range(12))
    case.specs["who"] = {"role": "drop"}
    release = shoal.anonymize(case.table, case.recipe(method))
    classes = release.frame.group_by("age", maintain_order=True).agg("row")["row"].to_list()
    assert sorted(map(sorted, classes)) == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]


# The guest alone has b to d: with rows counted the whole table has four values; so it has with people.
@some_methods
def test_one_person_with_many_values_is_diverse_but_not_frequent(method):
    values = [*"bcdbcd", *"aaaaaaaaa"]
    assert with_a_guest([("distinct", 4, "s")], values, k=2).released(method) == list(range(15))
    # Nine of ten people have a: alpha counts people, 0.9, and rows would say 9 / 15.
    assert with_a_guest([("alpha", 0.6, "s")], values, k=2).released(method) is None
    assert with_a_guest([("alpha", 0.9, "s")], values, k=2).released(method) == list(range(15))


# By rows a has 8 of 15 and b 7. By people a class of five has the guest, at most two more with a, and so at
# least two with b: 2a 3b, 3a 2b and all ten are above 0.55, and so is everything between.
@some_methods
def test_six_rows_of_one_value_count_once(method):
    case = with_a_guest([("alpha", 0.55, "s")], ["a"] * 8 + ["b"] * 7, k=5)
    assert case.released(method) is None
    assert not case.is_good(range(15), range(15))
    by_rows = with_a_guest([("alpha", 0.55, "s")], ["a"] * 8 + ["b"] * 7, k=5, people=None)
    assert by_rows.released(method) == list(range(15))


@every_method_with("goals", [[], [("distinct", 2, "s")]])
def test_fewer_people_than_k_are_infeasible(method, goals):
    case = with_a_guest(goals, k=11)
    with pytest.raises(InfeasibleError) as caught:
        shoal.anonymize(case.table, case.recipe(method))
    assert caught.value.code == "infeasible.goal"
    assert "k = 11 people are asked for, but the table has 10." in str(caught.value)
    assert with_a_guest(goals, k=10).released(method) == list(range(15))


def people_case(rng, asked, max_rows, **privacy):
    k, n_rows = rng.randint(2, 4), rng.randint(4, max_rows)
    most = rng.randint(2, n_rows)
    names = rng.sample(sorted(QUASI), rng.randint(1, len(QUASI)))
    quasi = {name: rng.choices([*QUASI[name][1], None], k=n_rows) for name in names}
    domain = rng.choice([ORDER, ORDER, ["a", "a", "b"], [*ORDER, None], ["a"]])
    sensitive = {name: rng.choices(domain, k=n_rows) for name in used_by(asked)}
    if "number" in sensitive:
        sensitive["number"] = [NUMBERS[value] for value in sensitive["number"]]
    pairs = zip(ASKED[asked], columns_of(asked), strict=True)
    goals = [(kind, rng.choice(BOUNDS[kind]), column) for kind, column in pairs]
    people = [f"p{rng.randrange(most)}" for _ in range(n_rows)]
    return Made(quasi, sensitive, goals, people, k=k, **privacy)


@every_method_with("asked", ASKED)
def test_goals_count_people_or_nothing_is_released(method, asked):
    rng = random.Random(f"{method} {asked}")
    for share in (0.0, rng.choice([0.2, 1.0])):
        case = people_case(rng, asked, 20, max_suppressed=share)
        everything = range(case.n_rows)
        released = case.released(method)
        # One class of all rows is always tried in the end.
        assert released is not None or not case.is_good(everything, everything)


# For k people and different values the whole table speaks for all partitions, whoever is in two classes.
@some_methods
@few()
@given(asked=st.sampled_from(["distinct", None]), rng=st.randoms(use_true_random=True))
def test_k_people_and_l_values_are_feasible_if_some_partition_has_them(method, asked, rng):
    case = people_case(rng, asked or "distinct", 8)
    case.goals = case.goals if asked else []
    assert (case.released(method) is not None) == case.has_partition(range(case.n_rows))


CSV = "who,age,ill\n" + "".join(
    f"{who},{age},{'flu' if at % 2 else 'cold'}\n"
    for at, (who, age) in enumerate(zip(WHO, AGES, strict=True))
)


def test_the_flag(tmp_path):
    source, target = tmp_path / "people.csv", tmp_path / "out.csv"
    source.write_text(CSV)
    roles = ["--subject", "who", "--quasi", "age", "--sensitive", "ill"]
    result = run("anonymize", source, *roles, "--k", "4", "-o", target)
    assert result.exit_code == 0
    released = pl.read_csv(target)
    assert released.columns == ["age", "ill"]
    # At least one class has the guest: its six rows, and three other people's.
    largest = released.group_by("age").len()["len"].max()
    assert largest >= 9
    for path in tmp_path.iterdir():
        assert path == source or not any(f"{who}," in path.read_text() for who in WHO[6:])
    result = run("anonymize", source, *roles, "--k", "11", "-o", tmp_path / "other.csv")
    assert result.exit_code == 3
    assert "error [infeasible.goal]" in result.stderr


def test_spellings_of_one_person_are_one():
    table = pl.DataFrame({"age": [1, 1, 1, 1], "who": ["7", "7.0", " 7", "7 "]})
    with pytest.raises(InfeasibleError, match="the table has 1"):
        shoal.anonymize(table, quasi=["age"], subject="who", k=2)
