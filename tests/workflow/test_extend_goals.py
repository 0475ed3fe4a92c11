"""Extensions with goals, people and views, and what an attacker gets who compares the releases."""

import json
import warnings
from collections import Counter
from importlib import import_module

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, PrivacyWarning, PromiseError, RecipeError
from shoal.recipe import Recipe
from shoal.verifier import verify_ledger
from tests.profiles import examples
from tests.reference import correspondence

ILL = {"role": "sensitive", "accept": ["unique"]}
COLUMNS = {"age": {"role": "quasi", "kind": "numeric"}, "ill": ILL}
TWO_ILLS = {"type": "l-diversity", "column": "ill", "l": 2}


@pytest.fixture(autouse=True)
def _quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        yield


def recipe_of(k=2, goal=(), columns=None, **sections):
    privacy = {"k": k, "goal": list(goal)}
    return Recipe.from_dict({"columns": columns or COLUMNS, "privacy": privacy, **sections})


DIVERSE = recipe_of(goal=[TWO_ILLS])


def people(*pairs):
    return pl.DataFrame({"age": [age for age, _ in pairs], "ill": [ill for _, ill in pairs]},
                        schema={"age": pl.Int64, "ill": pl.String})  # fmt: skip


def added_rows(earlier, extension):
    return Counter(extension.table.rows()) - Counter(earlier.table.rows())


def by_box(rows):
    """The values of each class, from a multiset of rows whose last cell is the value."""
    found = {}
    for row, count in rows.items():
        found.setdefault(row[:-1], Counter())[row[-1]] += count
    return found


# Goals, by hand.


def test_rows_that_join_meet_the_goal_among_themselves():
    release = shoal.anonymize(people((30, "flu"), (34, "cold"), (60, "flu"), (66, "cold")), DIVERSE)
    # Two join [30, 34] with two illnesses; two are inside [60, 66], but both have flu, though the class has
    # two illnesses: whoever compares the releases would know.
    new = people((31, "flu"), (33, "ulcer"), (61, "flu"), (62, "flu"))
    extension = shoal.extend(release, new, DIVERSE)
    assert by_box(added_rows(release, extension)) == {("[30, 34]",): Counter(flu=1, ulcer=1)}
    assert extension.held_back.rows() == [(61, "flu"), (62, "flu")]
    # With somebody who has something else, they come out; of two with flu one must wait no longer.
    more = shoal.extend(extension, pl.concat([extension.held_back, people((64, "cold"))]), DIVERSE)
    assert by_box(added_rows(extension, more)) == {("[60, 66]",): Counter(flu=2, cold=1)}


def test_the_fewest_rows_are_held_back_so_that_the_others_meet_the_goal():
    frequent = {"type": "l-diversity", "variant": "frequency", "column": "ill", "l": 2}
    recipe = recipe_of(goal=[frequent])
    release = shoal.anonymize(people((1, "flu"), (2, "cold")), recipe)
    new = people(*((50 + at, "flu") for at in range(5)), (60, "cold"), (61, "cold"))
    extension = shoal.extend(release, new, recipe)
    assert (extension.added, Counter(extension.held_back["ill"])) == (4, {"flu": 3})


def test_a_goal_that_compares_is_met_by_the_new_rows_alone_and_by_all():
    close = {"type": "t-closeness", "column": "ill", "t": 0.3}
    recipe = recipe_of(goal=[close])
    release = shoal.anonymize(people(*((at, "flu" if at % 2 else "cold") for at in range(8))), recipe)
    new = people(*((100 + at, "flu" if at % 2 else "cold") for at in range(8)))
    extension = shoal.extend(release, new, recipe)
    assert (extension.added, extension.joined) == (8, 0)
    assert [goal.holds for goal in extension.goals] == [True, True]
    # All new rows have flu: their own classes are alike, but the earlier ones are no longer like all.
    ill = people(*((100 + at, "flu") for at in range(40)))
    with pytest.raises(InfeasibleError, match="no longer meet t-closeness of `ill`") as error:
        shoal.extend(release, ill, recipe)
    assert (error.value.code, error.value.exit_status) == ("infeasible.goal", 3)


ROWS = st.lists(st.tuples(st.integers(0, 12), st.sampled_from("abc")), min_size=4, max_size=14)
KINDS = {
    "distinct": TWO_ILLS,
    "frequency": {**TWO_ILLS, "variant": "frequency"},
    "alpha": {"type": "alpha-k", "column": "ill", "alpha": 0.6},
}


@examples(4)
@pytest.mark.parametrize("kind", KINDS)
@given(first=ROWS, second=ROWS)
def test_new_rows_of_every_class_are_k_and_meet_the_goal(kind, first, second):
    recipe = recipe_of(goal=[KINDS[kind]])
    try:
        release = shoal.anonymize(people(*first), recipe, bound=False)
    except InfeasibleError:
        return
    extension = shoal.extend(release, people(*second), recipe)
    assert Counter(release.table.rows()) <= Counter(extension.table.rows())
    added = added_rows(release, extension)
    assert added.total() + len(extension.held_back) == len(second)
    for values in by_box(added).values():
        counts = list(values.values())
        assert sum(counts) >= 2
        most = max(counts) / sum(counts)
        assert {"distinct": len(counts) >= 2, "frequency": most <= 0.5, "alpha": most <= 0.6}[kind]


# People.


def test_people_are_counted_among_the_new_rows():
    columns = {"who": {"role": "subject"}, "age": {"role": "quasi", "kind": "numeric"}}
    recipe = recipe_of(columns=columns)
    release = shoal.anonymize(pl.DataFrame({"who": [*"abcd"], "age": [30, 34, 60, 66]}), recipe)
    # Three rows inside [30, 34], all of one person; two of two people inside [60, 66].
    new = pl.DataFrame({"who": [*"eeefg"], "age": [31, 32, 33, 61, 62]})
    extension = shoal.extend(release, new, recipe)
    assert added_rows(release, extension) == {("[60, 66]",): 2}
    assert extension.held_back["who"].to_list() == [*"eee"]
    more = shoal.extend(
        extension, pl.concat([extension.held_back, new[3:4].with_columns(age=pl.lit(34, pl.Int64))]), recipe
    )
    assert added_rows(extension, more) == {("[30, 34]",): 4}


@examples(5)
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("pqrst")), min_size=2, max_size=12))
def test_new_rows_of_every_class_are_of_k_people(new):
    columns = {"who": {"role": "subject"}, "age": {"role": "quasi", "kind": "numeric"},
               "row": {"role": "keep", "accept": ["unique"]}}  # fmt: skip
    recipe = recipe_of(columns=columns)
    first = pl.DataFrame({"who": [*"abcdef"], "age": [1, 2, 5, 5, 8, 9], "row": range(6)})
    release = shoal.anonymize(first, recipe, bound=False)
    second = pl.DataFrame(
        {"who": [p for _, p in new], "age": [a for a, _ in new], "row": range(100, 100 + len(new))}
    )
    extension = shoal.extend(release, second, recipe)
    person = dict(zip(second["row"], second["who"], strict=True))
    boxes = {}
    for box, row in added_rows(release, extension):
        boxes.setdefault(box, set()).add(person[row])
    assert all(len(of_box) >= 2 for of_box in boxes.values())
    assert extension.added + len(extension.held_back) == len(new)


# Views.

VIEWED = {
    "age": {"role": "quasi", "kind": "numeric"},
    "zip": {"role": "quasi", "kind": "numeric"},
    "ill": ILL,
    "row": {"role": "keep", "accept": ["unique"]},
}
VIEWS = {"views": [["age"], ["zip"]], "views_by": "projection"}


def viewed(rows, start=0):
    return pl.DataFrame(
        {
            "age": [age for age, _, _ in rows],
            "zip": [zip_code for _, zip_code, _ in rows],
            "ill": [ill for _, _, ill in rows],
            "row": range(start, start + len(rows)),
        },
        schema={"age": pl.Int64, "zip": pl.Int64, "ill": pl.String, "row": pl.Int64},
    )


GRID_ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from("abc")), min_size=4, max_size=12
)


@examples(4)
@given(first=GRID_ROWS, second=GRID_ROWS, goal=st.booleans())
def test_views_grow_by_groups_of_k_that_are_the_same_in_all_views(first, second, goal):
    recipe = recipe_of(goal=[TWO_ILLS] if goal else [], columns=VIEWED, output=VIEWS)
    try:
        release = shoal.anonymize(viewed(first), recipe, bound=False)
    except InfeasibleError:
        return
    extension = shoal.extend(release, viewed(second, 100), recipe)
    for before, after in zip(release.tables, extension.tables, strict=True):
        assert Counter(before.rows()) <= Counter(after.rows())
        added = Counter(after.select(after.columns[0], "ill").rows())
        added -= Counter(before.select(before.columns[0], "ill").rows())
        assert added.total() == extension.added == len(second) - len(extension.held_back)
        for values in by_box(added).values():
            assert values.total() >= 2
            assert not goal or len(values) >= 2
    # By row number, which only this test publishes: whoever shares a box in one view has others in all.
    groups = {}
    ages = {row: age for age, _, row in extension.tables[0].rows() if row >= 100}
    held = set(extension.held_back["row"])
    assert set(ages) == {100 + at for at in range(len(second))} - held
    for row, age in ages.items():
        groups.setdefault(age, set()).add(row)
    assert all(len(group) >= 2 for group in groups.values())


def test_views_are_written_verified_and_extended_from_their_files(tmp_path):
    recipe = recipe_of(columns={name: VIEWED[name] for name in ("age", "zip", "ill")}, output=VIEWS)
    first = viewed([(1, 1, "a"), (2, 2, "b"), (8, 8, "a"), (9, 9, "b")]).drop("row")
    path = shoal.anonymize(first, recipe).write(tmp_path / "out.csv")
    new = viewed([(4, 4, "a"), (5, 5, "b")]).drop("row")
    extension = shoal.extend(path, new, recipe)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)  # what it extends is no other release
        extension.write(tmp_path / "more.csv")
    assert shoal.verify(tmp_path / "more.csv", recipe).holds
    assert (
        pl.read_csv(tmp_path / "more.1.csv")["age"].to_list()
        == ["[1, 2]"] * 2 + ["[4, 5]"] * 2 + ["[8, 9]"] * 2
    )
    manifest = json.loads((tmp_path / "more.csv.manifest.json").read_text())
    earlier = json.loads((tmp_path / "out.csv.manifest.json").read_text())
    assert manifest["extends"] == {"files": earlier["release"]["files"], "rows": 4}
    assert not {"loss", "suppressed"} & set(manifest)
    assert not any({"loss", "suppressed"} & set(view) for view in manifest["views"])
    in_memory = shoal.extend(shoal.anonymize(first, recipe), new, recipe)
    assert [t.rows() for t in in_memory.tables] == [t.rows() for t in extension.tables]


# What must not happen.


def test_new_rows_are_checked_without_their_order_and_columns_are_unique_by_all_rows():
    columns = {**COLUMNS, "cost": {"role": "keep"}}
    recipe = recipe_of(goal=[TWO_ILLS], columns=columns, output={"order": "shuffled"})
    costs = {"cost": [1, 2] * 300}
    first = pl.DataFrame({"age": [at // 20 for at in range(600)], "ill": [*"ab"] * 300, **costs})
    release = shoal.anonymize(first, recipe, bound=False)
    # Twelve new rows, each with a cost of its own: one in fifty of all rows, but all of the new ones.
    new = pl.DataFrame(
        {"age": [100 + at // 2 for at in range(12)], "ill": [*"ab"] * 6, "cost": range(10, 22)}
    )
    assert shoal.extend(release, new, recipe).added == 12


def test_new_rows_that_do_not_meet_the_goal_are_found_out(monkeypatch):
    # All of [30, 34] is diverse, and so is [60, 66]; but who joined has flu.
    release = shoal.anonymize(people((30, "flu"), (34, "cold"), (60, "flu"), (66, "cold")), DIVERSE)
    newcomers = import_module("shoal.workflow.newcomers")
    monkeypatch.setattr(
        newcomers, "joined_classes", lambda encoded, frozen, _: newcomers.narrowest_class(encoded, frozen)
    )
    with pytest.raises(PromiseError, match=r"new rows by themselves do not keep the promises.*verify\.l"):
        shoal.extend(release, people((31, "flu"), (33, "flu")), DIVERSE)


# Attacks of somebody who has both releases and knows when a person arrived.


def naive(first, second, recipe):
    """All people published anew at time 2, as if nothing had been published at time 1."""
    one = shoal.anonymize(people(*first), recipe, bound=False)
    return one.table.rows(), shoal.anonymize(people(*first, *second), recipe, bound=False).table.rows()


def extended(first, second, recipe):
    one = shoal.anonymize(people(*first), recipe, bound=False)
    return one.table.rows(), shoal.extend(one, people(*second), recipe).table.rows()


def remaining(one, two):
    """For each attack, what remains in the worst case; a row of R1 is in R2 with the same box."""
    boxes = {box for box, _ in two}
    old = {box for box, _ in one}
    new = {box for (box, _), count in (Counter(two) - Counter(one)).items() if count}
    return {
        "forward": [correspondence.forward(one, two, box, box) for box in old],
        "cross": [correspondence.cross(one, two, box, box) for box in old],
        "backward": [correspondence.backward(one, two, box, ([box], [box])) for box in boxes & new],
    }


@examples(5)
@given(first=ROWS, second=ROWS)
def test_forward_cross_and_backward_attacks_leave_k_rows_that_meet_the_goal(first, second):
    try:
        one, two = extended(first, second, DIVERSE)
    except InfeasibleError:
        return
    for left in remaining(one, two).values():
        for values in left:
            assert values.total() >= 2
            assert len(values) >= 2


def test_the_attacks_work_on_a_table_that_is_published_anew():
    # Time 1: {30 flu, 34 cold}. Time 2: 31 with an ulcer is new, and all three are in [30, 34]. Somebody who
    # is known to be new must be the ulcer: flu and cold were there before. Held back, this cannot happen.
    first, second = [(30, "flu"), (34, "cold")], [(31, "ulcer")]
    one, two = naive(first, second, DIVERSE)
    assert {box for box, _ in two} == {"[30, 34]"}
    (left,) = remaining(one, two)["backward"]
    assert left == Counter(ulcer=1)
    one, two = extended(first, second, DIVERSE)
    assert one == two
    # Time 2: the classes are others, [30, 31] and [34, 35]. Who is 34 and was there at time 1 is in a class
    # of two at time 2, of which only the cold was in [30, 34]: nobody else.
    one, two = naive(first, [(31, "ulcer"), (35, "asthma")], DIVERSE)
    assert Counter(box for box, _ in two) == {"[30, 31]": 2, "[34, 35]": 2}
    assert correspondence.cross(one, two, "[30, 34]", "[34, 35]") == Counter(cold=1, asthma=0)
    assert correspondence.forward(one, two, "[30, 34]", "[34, 35]") == Counter(cold=1, flu=0)


# With a ledger.


def test_an_extension_is_entered_and_checked_against_others_than_those_it_extends(tmp_path):
    ledger = tmp_path / "people.ledger"
    columns = {"age": COLUMNS["age"], "zip": {"role": "drop"}, "ill": ILL}
    by_age = recipe_of(columns=columns)
    by_zip = recipe_of(columns={"age": {"role": "drop"}, "zip": COLUMNS["age"], "ill": ILL})
    first = pl.DataFrame({"age": [1, 2, 8, 9], "zip": [1, 2, 8, 9], "ill": [*"abab"]})
    shoal.anonymize(first, by_age, ledger=ledger).write(tmp_path / "one.csv")
    new = pl.DataFrame({"age": [3, 4, 6, 7], "zip": [13, 17, 14, 18], "ill": [*"cdef"]})
    two = shoal.extend(tmp_path / "one.csv", new, by_age, ledger=ledger)
    assert two.composition is None  # nothing else was published
    two.write(tmp_path / "two.csv")
    # The same new people by zip: whoever has both tables knows everybody's illness.
    everybody = pl.concat([first, new])
    shoal.anonymize(everybody, by_zip, ledger=ledger, accept_composition=True).write(tmp_path / "zip.csv")
    more = pl.DataFrame({"age": [31, 32], "zip": [31, 32], "ill": [*"gh"]})
    three = shoal.extend(tmp_path / "two.csv", more, by_age, ledger=ledger)
    assert three.composition["views"] == 2  # these rows, and zip.csv; not one.csv and two.csv
    three.write(tmp_path / "three.csv")
    assert verify_ledger(ledger).holds
    entries = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [entry.get("extends") for entry in entries] == [None, "one.csv", None, "two.csv"]
    # People who are in zip.csv, by age: refused.
    with pytest.raises(InfeasibleError) as error:
        shoal.extend(tmp_path / "three.csv", new, by_age, ledger=ledger)
    assert error.value.code == "composition.refused"
    with pytest.raises(RecipeError, match="in memory is not in any ledger"):
        shoal.extend(three, more, by_age, ledger=ledger)
