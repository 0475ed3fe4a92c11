"""The composition check against its slow twin, against all worlds, and on releases that are read back."""

import json
import random
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from shoal.composition import together
from shoal.composition.check import Composition, JointGoal, Rows, check
from shoal.composition.earlier import load_earlier
from shoal.composition.view import View
from shoal.errors import DataError, InfeasibleError, PromiseError, RecipeError
from shoal.recipe import Recipe
from shoal.recode.publish import publish
from shoal.table.encode import encode
from shoal.table.write import manifest_path, sha256
from shoal.workflow.prepare import prepare
from tests.composition.test_by_hand import some_release, two_views
from tests.profiles import slow, some
from tests.reference import composition as twin
from tests.reference.nonhomogeneous import ANY
from tests.strategies import leaves, nested, parents

PAGE = Path(__file__).parents[2] / "docs" / "composition.md"
ILLS = ["flu", "cold", "ulcer"]


class Case:
    """A raw table, and some clusterings of it by some of its quasi columns; both sides are made from it.

    columns: name -> (kind, values, the tree as node -> parent or None); views: (names, class of each row).
    """

    def __init__(self, columns, sensitive, views, k, shown=None):
        self.columns, self.sensitive, self.views, self.k = columns, sensitive, views, k
        self.shown = shown or [list(sensitive)] * len(views)
        specs = {name: self._spec(*column) for name, column in columns.items()}
        specs |= {name: {"role": "sensitive"} for name in sensitive}
        self.recipe = Recipe.from_dict({"columns": specs, "privacy": {"k": 2}})
        types = {"numeric": pl.Int64, "flat": pl.String, "tree": pl.String}
        data = {name: pl.Series(values, dtype=types[kind]) for name, (kind, values, _) in columns.items()}
        data |= {name: pl.Series(values, dtype=pl.String) for name, values in sensitive.items()}
        self.table = pl.DataFrame(data)
        self.encoded = encode(self.table, self.recipe)

    def _spec(self, kind, _, parent):
        spec = {"role": "quasi", "kind": "numeric" if kind == "numeric" else "categorical"}
        return spec | ({"hierarchy": {"n0": nested(parent)}} if kind == "tree" else {})

    def ours(self, at):
        """The view as our own pipeline makes it."""
        names, classes = self.views[at]
        columns = {
            name: column
            if name in names
            else {"role": "sensitive"}
            if name in self.shown[at]
            else {"role": "drop"}
            for name, column in self.recipe.to_dict()["columns"].items()
        }
        recipe = Recipe.from_dict({"columns": columns, "privacy": {"k": 2}})
        encoded = encode(self.table, recipe)  # its rows are in an order of its own
        made = publish(encoded, np.array(classes, np.int32)[encoded.order], recipe)
        return View.ours(self.table, encoded, made.labels, made.classes, made.names, self.shown[at])

    def earlier(self, at):
        """The same view as somebody reads it who has the released table only."""
        view, names = self.ours(at), self.views[at][0]
        released = pl.concat([view.classes[view.class_of], view.values], how="horizontal")
        return View.earlier(released, names, self.recipe, self.recipe)

    def box(self, name, members):
        """What a class publishes, as the twin takes it."""
        kind, values, parent = self.columns[name]
        present = {values[i] for i in members}
        if present == {None}:
            return None
        if None in present:
            return ANY
        if kind == "numeric":
            return (min(present), max(present))
        if kind == "flat" or len(present) == 1:
            return frozenset(present)
        node = "n0"
        while True:
            below = [child for child, above in parent.items() if above == node]
            deeper = [child for child in below if present <= leaves_below(parent, child)]
            if not deeper:
                return ANY if node == "n0" else frozenset(leaves_below(parent, node))
            node = deeper[0]

    def for_twin(self):
        """Originals, views and everybody's released row in each."""
        everything = {name: values for name, (_, values, _) in self.columns.items()} | self.sensitive
        n_rows = self.table.height
        originals = [{name: values[i] for name, values in everything.items()} for i in range(n_rows)]
        views = []
        for at, (names, classes) in enumerate(self.views):
            members = {number: [i for i in range(n_rows) if classes[i] == number] for number in set(classes)}
            boxes = {n: {name: self.box(name, rows) for name in names} for n, rows in members.items()}
            shown = self.shown[at]
            views.append(
                [(boxes[classes[i]], {n: self.sensitive[n][i] for n in shown}) for i in range(n_rows)]
            )
        return originals, views, [list(range(n_rows)) for _ in views]


def leaves_below(parent, node):
    below = {node}
    while True:
        more = below | {child for child, above in parent.items() if above in below}
        if more == below:
            return below & set(leaves(parent))
        below = more


@st.composite
def cases(draw, most_rows=12, most_views=3, sensitive=("ill",)):
    n_rows = draw(st.integers(4, most_rows))

    def cells(values, may_miss):
        cell = st.sampled_from(values)
        return draw(st.lists(st.none() | cell if may_miss else cell, min_size=n_rows, max_size=n_rows))

    columns = {}
    for at in range(draw(st.integers(1, 3))):
        kind, may_miss = draw(st.sampled_from(["numeric", "flat", "tree"])), draw(st.booleans())
        parent = draw(parents()) if kind == "tree" else None
        values = {"numeric": range(6), "flat": list("abcd"), "tree": parent and leaves(parent)}[kind]
        columns[f"q{at}"] = kind, cells(values, may_miss), parent
    views = []
    for _ in range(draw(st.integers(1, most_views))):
        names = draw(st.lists(st.sampled_from(sorted(columns)), min_size=1, unique=True))
        by_value = draw(st.booleans())
        order = draw(st.permutations(range(n_rows)))
        if by_value:
            order = sorted(order, key=lambda i: [str(columns[name][1][i]) for name in names])
        size = draw(st.integers(1, 4))
        classes = [0] * n_rows
        for place, i in enumerate(order):
            classes[i] = place // size
        views.append((names, classes))
    values = {name: cells(ILLS, may_miss=draw(st.booleans())) for name in sensitive}
    return Case(columns, values, views, draw(st.integers(1, 4)))


def two_values(multiset):
    return len(multiset) >= 2


GOALS = [JointGoal("two values", ("ill",), two_values)]


def in_input_order(case, numbers):
    return case.encoded.in_input_order(np.asarray(numbers)).tolist()


def found_by(case, composition, k):
    rows = composition.rows
    assert rows.checked.all()
    columns = (rows.m, rows.j, rows.exempt, rows.holds(k))
    return list(zip(*(in_input_order(case, column) for column in columns), strict=True))


@given(cases(), st.booleans(), st.booleans())
def test_every_person_is_as_the_twin_says(case, with_labels, with_goals):
    originals, views, own = case.for_twin()
    expected = twin.check(
        originals, views, case.k, own if with_labels else None, [two_values] if with_goals else []
    )
    numbers = range(len(views))
    ours = [case.ours(at) if with_labels else case.earlier(at) for at in numbers]
    found = check(case.encoded, case.table, ours, case.k, GOALS if with_goals else [])
    assert found_by(case, found, case.k) == [(p.m, p.j, p.exempt, p.holds) for p in expected.people]
    assert found.verdict == expected.verdict
    assert found.worst_m == min(p.m for p in expected.people)
    assert found.worst_j == min(p.j for p in expected.people)


def mixed(originals, views, k, own, known, i):
    """The check for one person where only some views tell its class: the twin's parts, put together."""
    columns = twin.shared_columns(views)
    mine = twin.tuple_of(originals[i], columns)
    told = twin.own_rows(originals, views, columns, i, own)
    untold = twin.own_rows(originals, views, columns, i, None)
    around = [[at for at, (box, _) in enumerate(view) if twin.inside(box, originals[i])] for view in views]
    chosen = [
        twin.with_label(view, i) if is_known else rows
        for view, is_known, rows in zip(views, known, around, strict=True)
    ]
    m = twin.left_over(views, chosen, columns).total()
    found = []
    for rows in product(*(a if is_known else b for a, b, is_known in zip(told, untold, known, strict=True))):
        boxes = [view[at][0] for view, at in zip(views, rows, strict=True)]
        j = sum(all(twin.inside(box, person) for box in boxes) for person in originals)
        exempt = all(
            sum(twin.tuple_of(view[same][1], columns) == mine for same in twin.with_label(view, at)) >= k
            for view, at in zip(views, rows, strict=True)
        )
        found.append((j, exempt))
    exempt = all(is_exempt for _, is_exempt in found)
    holds = m >= k and all(j >= k or is_exempt for j, is_exempt in found)
    return m, min(j for j, _ in found), exempt, holds


@given(cases(most_rows=9), st.lists(st.booleans(), min_size=3, max_size=3))
def test_own_label_where_known_and_the_worst_candidate_otherwise(case, known):
    originals, views, own = case.for_twin()
    known = known[: len(views)]
    ours = [case.ours(at) if is_known else case.earlier(at) for at, is_known in enumerate(known)]
    found = found_by(case, check(case.encoded, case.table, ours, case.k), case.k)
    expected = [mixed(originals, views, case.k, own, known, i) for i in range(len(originals))]
    assert found == expected


@given(cases(sensitive=("ill", "pay")), st.lists(st.sampled_from(["ill", "pay"]), max_size=2, unique=True))
def test_views_that_share_more_columns_are_compared_by_these_as_well(case, fewer):
    case.shown = [fewer, *[["ill", "pay"]] * (len(case.views) - 1)]
    originals, views, own = case.for_twin()
    found = check(case.encoded, case.table, [case.ours(at) for at in range(len(views))], case.k)
    groups = [range(len(views))]
    if len(views) == 3 and len(fewer) < 2:
        groups.append([1, 2])
    verdicts = [twin.check(originals, [views[v] for v in g], case.k, [own[v] for v in g]) for g in groups]
    expected = [
        (min(p.m for p in ps), min(p.j for p in ps), all(p.exempt for p in ps), all(p.holds for p in ps))
        for ps in zip(*(verdict.people for verdict in verdicts), strict=True)
    ]
    assert found_by(case, found, case.k) == expected
    assert len(found.links) == len(groups)


def by_hand(originals, classes, shown=("ill",)):
    """The two views of the tests by hand, one by age and one by zip."""
    numbers = []
    for of_view in classes:
        number = {i: at for at, members in enumerate(of_view) for i in members}
        numbers.append([number[i] for i in range(len(originals))])
    columns = {name: ("numeric", [person[name] for person in originals], None) for name in ("age", "zip")}
    sensitive = {name: [person[name] for person in originals] for name in shown}
    return Case(columns, sensitive, [(["age"], numbers[0]), (["zip"], numbers[1])], 2)


@slow
def test_what_it_misses_and_what_it_refuses_without_need():
    people, tables = Counter(), Counter()
    for seed in range(200):
        originals, classes, k = some_release(seed)
        case = by_hand(originals, classes)
        truth = twin.consistent_values(originals, two_views(originals, *classes)[0])
        for goals in ([], GOALS):
            found = check(case.encoded, case.table, [case.ours(0), case.ours(1)], k, goals)
            holds = [of_person[3] for of_person in found_by(case, found, k)]
            disclosed = [values.disclosed for values in truth]
            for pair in zip(holds, disclosed, strict=True):
                people[(bool(goals), *pair)] += 1
            tables[bool(goals), found.holds, any(disclosed)] += 1
    # The direction promised, and the very figures that the page gives.
    page = PAGE.read_text(encoding="utf-8")
    for goals, name in ((False, "k alone"), (True, "k and two values")):
        cells = [
            people[goals, *pair] for pair in ((False, True), (True, True), (False, False), (True, False))
        ]
        tables_told = [
            tables[goals, *pair] for pair in ((False, True), (True, True), (False, False), (True, False))
        ]
        assert cells[0] > 4 * cells[1]
        assert f"| {name}, people | " + " | ".join(map(str, cells)) + " |" in page
        assert f"| {name}, releases | " + " | ".join(map(str, tables_told)) + " |" in page


@given(cases(), st.data())
def test_projections_of_one_clustering_always_pass(case, data):
    n_rows, k = case.table.height, data.draw(st.integers(2, 4))
    assume(n_rows >= k)
    order = data.draw(st.permutations(range(n_rows)))
    classes = [0] * n_rows
    for place, i in enumerate(order):
        classes[i] = min(place // k, n_rows // k - 1)
    case.views = [(names, classes) for names, _ in case.views]
    found = check(case.encoded, case.table, [case.ours(at) for at in range(len(case.views))], k)
    assert found.holds
    assert found.verdict == "no attack found"
    assert found.below_m == found.below_j == found.refused_rows == 0
    one = check(case.encoded, case.table, [case.ours(0)], k)  # and so does one view alone
    assert one.holds
    assert one.worst_m >= k


@given(cases(most_rows=9, most_views=3))
def test_where_there_are_too_many_choices_it_errs_by_refusing(case):
    originals, views, _ = case.for_twin()
    expected = twin.check(originals, views, case.k)
    ours = [case.earlier(at) for at in range(len(views))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together, "_BUDGET", 2)
        found = check(case.encoded, case.table, ours, case.k)
    for (_, j, _, holds), person in zip(found_by(case, found, case.k), expected.people, strict=True):
        assert 1 <= j <= person.j
        assert person.holds or not holds


# Whole releases: anonymized, written, read back.


def released(folder, name, data, k=5, *, quasi=("age", "zip"), sensitive=("ill",), **more):
    recipe = Recipe.from_roles(quasi=quasi, sensitive=sensitive, k=k, **more)
    path = shoal.anonymize(data, recipe).write(folder / f"{name}.csv")
    return manifest_path(path)


def patients(n_rows=100, seed=1, ills=ILLS):
    rng = random.Random(seed)
    return pl.DataFrame(
        {
            "age": [rng.randint(20, 80) for _ in range(n_rows)],
            "zip": [rng.randint(1000, 9999) for _ in range(n_rows)],
            "ill": [rng.choice(ills) for _ in range(n_rows)],
        }
    )


def our_view(data, recipe, method="mondrian"):
    from shoal.cluster import METHODS
    from shoal.engine import local
    from shoal.engine.publishing import published_as

    encoded = encode(data, recipe)
    made = published_as(encoded, local.run(encoded, recipe, METHODS[method], lambda _: None), recipe)
    shown = recipe.named("sensitive", "keep")
    return encoded, View.ours(data, encoded, made.labels, made.classes, made.names, shown)


def test_two_releases_of_overlapping_rows_reveal_a_value(tmp_path):
    # Each is 5-anonymous. The first 100 people were published before, now people 30 to 129 are. Of ten
    # illnesses few are left over when two classes of about five are compared.
    everybody = patients(130, seed=2, ills=[f"ill {n}" for n in range(10)])
    manifest = released(tmp_path, "before", everybody[:100])
    now = Recipe.from_roles(quasi=["age", "zip"], sensitive=["ill"], k=5)
    (before,) = load_earlier(manifest, now)
    encoded, view = our_view(everybody[30:], now)
    assert check(encoded, everybody[30:], [view], 5).holds
    found = check(encoded, everybody[30:], [view, before], 5)
    assert (found.verdict, found.worst_m) == ("refused", 1)
    assert found.overlap[0] == 100
    assert 70 <= found.overlap[1] < 100  # some of the new people may have been there as well
    with pytest.raises(InfeasibleError, match="tables together reveal more") as caught:
        found.raise_if_refused()
    assert (caught.value.code, caught.value.exit_status) == ("composition.refused", 3)


def test_people_who_are_new_are_not_held_against_a_release_that_they_cannot_be_in(tmp_path):
    before, after = patients(60, seed=1), patients(60, seed=2)
    manifest = released(tmp_path, "before", before, sensitive=["ill"])
    after = after.with_columns(pl.col("ill") + " (new)")  # no value of theirs was there
    now = Recipe.from_roles(quasi=["age", "zip"], sensitive=["ill"], k=5)
    encoded, view = our_view(after, now)
    found = check(encoded, after, [view, *load_earlier(manifest, now)], 5)
    assert found.holds
    assert found.overlap == (60, 0)


def test_a_near_unique_value_links_two_views():
    # Three classes of 4 in each view; those of one person share two people: J = 2 < 3. As all have flu, and
    # so 4 of each class, nothing links the views.
    ages, zips = [1, 2, 3, 4, 5, 6] * 2, [at // 2 for at in range(12)]
    originals = [{"age": a, "zip": z, "ill": "flu"} for a, z in zip(ages, zips, strict=True)]
    by_age = [[at for at in range(12) if (ages[at] - 1) // 2 == number] for number in range(3)]
    by_zip = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    case = by_hand(originals, [by_age, by_zip])
    found = check(case.encoded, case.table, [case.ours(0), case.ours(1)], 3)
    assert (found.holds, found.worst_m, found.worst_j) == (True, 4, 2)
    # One has something else: its values left over are {flu 3, hiv}, enough, but the hiv row of either view is
    # the same person's.
    originals[0]["ill"] = "hiv"
    case = by_hand(originals, [by_age, by_zip])
    found = check(case.encoded, case.table, [case.ours(0), case.ours(1)], 3)
    assert (found.verdict, found.below_m, found.below_j, found.worst_m) == ("refused", 0, 1, 3)


def test_a_column_in_one_view_only_links_nothing():
    originals = [{"age": at % 6, "zip": at // 2, "ill": "flu", "account": f"a{at}"} for at in range(12)]
    classes = [[[at for at in range(12) if at % 6 // 2 == number] for number in range(3)]]
    classes.append([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
    case = by_hand(originals, classes, shown=("ill", "account"))
    for shown, holds in (([["ill"], ["ill", "account"]], True), ([["ill", "account"]] * 2, False)):
        case.shown = shown
        assert check(case.encoded, case.table, [case.ours(0), case.ours(1)], 3).holds == holds


def test_rows_left_out_of_a_view_are_looked_at_in_the_others():
    originals = [{"age": a, "zip": z, "ill": i} for a, z, i in zip(range(6), range(6), "ababab", strict=True)]
    case = by_hand(originals, [[[0, 1, 2], [3, 4, 5]], [[0, 1, 2], [3, 4, 5]]])
    case.views[1] = (["zip"], [0, 0, -1, 1, 1, -1])
    found = check(case.encoded, case.table, [case.ours(0), case.ours(1)], 3)
    rows = [in_input_order(case, numbers) for numbers in (found.rows.m, found.rows.j)]
    # 0: {a 2, b} and {a, b}; those in both boxes are 0, 1, and 2 is not in the second view.
    assert rows == [[2, 2, 3, 2, 2, 3], [2, 2, 3, 2, 2, 3]]
    assert found.rows.checked.all()
    case.views = [(["age"], [0, 0, 0, -1, -1, -1]), (["zip"], [0, 0, 0, -1, -1, -1])]
    found = check(case.encoded, case.table, [case.ours(0), case.ours(1)], 3)
    assert (found.checked, found.holds) == (3, True)
    case.views = [(["age"], [-1] * 6)]
    found = check(case.encoded, case.table, [case.ours(0)], 3)
    assert (found.checked, found.worst_m, found.holds) == (0, None, True)


def test_goals_are_asked_once_for_each_multiset():
    asked = []

    def holds(multiset):
        asked.append(tuple(sorted(multiset.items(), key=str)))
        return len(multiset) > 1

    data = patients(200)
    encoded, view = our_view(data, Recipe.from_roles(quasi=["age", "zip"], sensitive=["ill"], k=5))
    found = check(
        encoded, data, [view], 5, [JointGoal("two", ("ill",), holds), JointGoal("other", ("absent",), holds)]
    )
    assert len(asked) == len(set(asked)) > 0
    assert set(found.below_goals) == {"two"}


OUTPUTS = [{}, {"bounds_as": "columns"}, {"bounds": "snapped"}, {"spreadsheet_safe": False}]


@pytest.mark.parametrize(("output", "ending"), some(product(OUTPUTS, ["csv", "parquet"]), 3), ids=str)
def test_a_release_is_read_back_as_it_was_made(tmp_path, ending, output):
    rng = random.Random(3)
    data = patients(80).with_columns(
        born=pl.Series([f"19{rng.randint(40, 99)}-0{rng.randint(1, 9)}-11" for _ in range(80)]),
        job=pl.Series([rng.choice(["=cook", "[smith, x]", "*", None]) for _ in range(80)]),
        pay=pl.Series([rng.choice([1.0, 2.5, -3.0, None]) for _ in range(80)]),
    )
    specs = {name: {"role": "quasi", "grid": 7.0} for name in ("age", "zip", "born")}
    specs |= {"job": {"role": "quasi"}, "ill": {"role": "sensitive"}, "pay": {"role": "sensitive"}}
    recipe = Recipe.from_dict(
        {"columns": specs, "privacy": {"k": 4}, "method": {"name": "mondrian"}, "output": output}
    )
    path = shoal.anonymize(data, recipe).write(tmp_path / f"out.{ending}")
    (earlier,) = load_earlier(manifest_path(path), recipe)
    encoded, ours = our_view(data, recipe)
    assert earlier.labels is None
    assert earlier.names == ours.names
    of_class = [Counter(zip(v.class_of.tolist(), v.values.rows(), strict=True)) for v in (earlier, ours)]
    by_texts = [
        Counter({(view.classes.row(number), values): rows for (number, values), rows in counted.items()})
        for view, counted in zip((earlier, ours), of_class, strict=True)
    ]
    assert by_texts[0] == by_texts[1]
    together = check(encoded, data, [ours, earlier], 4)
    assert together.overlap == (80, 80)


def manifest_of(tmp_path, change):
    path = released(tmp_path, "before", patients(40))
    told = json.loads(path.read_text(encoding="utf-8"))
    change(told)
    path.write_text(json.dumps(told), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda told: told["release"].update(sha256="0" * 64), "digests differ"),
        (lambda told: told["release"].pop("sha256"), "does not name the 1 files"),
        (lambda told: told.pop("recipe"), "this version of shoal cannot read"),
        (lambda told: told["recipe"]["columns"].update(more={"role": "quasi"}), "no column `more`"),
    ],
)
def test_a_manifest_that_does_not_fit(tmp_path, change, says):
    with pytest.raises(DataError, match=says) as caught:
        load_earlier(manifest_of(tmp_path, change))
    assert caught.value.code == "data.unreadable"


def test_manifests_that_cannot_be_read(tmp_path):
    for name, text in (("a.csv.manifest.json", "{"), ("b.csv.manifest.json", "[]"), ("c.json", "{}")):
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match="cannot be read"):
            load_earlier(tmp_path / name)
    with pytest.raises(DataError, match="cannot be read"):
        load_earlier(tmp_path / "absent.csv.manifest.json")
    path = released(tmp_path, "before", patients(40))
    (tmp_path / "before.csv").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        load_earlier(path)


@pytest.mark.parametrize("changes", [{"output": {"values": "microaggregate"}}, {"method": {"name": "nh"}}])
def test_releases_without_boxes_of_classes_are_refused(tmp_path, changes):
    path = released(tmp_path, "before", patients(40), changes=changes)
    with pytest.raises(RecipeError, match="cannot be checked") as caught:
        load_earlier(path)
    assert caught.value.code == "recipe.not_available"


def test_several_views_of_an_earlier_release(tmp_path):
    data = patients(60)
    recipe = Recipe.from_roles(
        quasi=["age", "zip"], sensitive=["ill"], k=5, changes={"output": {"views": "equal"}}
    )
    files = {}
    for number, name in ((1, "age"), (2, "zip")):
        other = {"age", "zip"} - {name}
        part = Recipe.from_roles(quasi=[name], sensitive=["ill"], drop=other, k=5)
        path = tmp_path / f"x.{number}.csv"
        shoal.anonymize(data, part).write(path)
        files[f"view {number}"] = sha256(path)
    told = {"release": {"files": files}, "recipe": recipe.to_dict(), "method": {"name": "mondrian"}}
    (tmp_path / "x.csv.manifest.json").write_text(json.dumps(told), encoding="utf-8")
    views = load_earlier(tmp_path / "x.csv.manifest.json", recipe)
    assert [view.names for view in views] == [("age",), ("zip",)]
    encoded, whole = our_view(data, Recipe.from_roles(quasi=["age", "zip"], sensitive=["ill"], k=5))
    assert check(encoded, data, [whole, *views], 5).overlap == (60, 60, 60)


TREE = {"earth": {"north": {"a": {}, "b": {}}, "south": {"c": {}, "d": {}}}}


def places(hierarchy, kind="categorical"):
    spec = {"role": "quasi", "kind": kind, **({"hierarchy": hierarchy} if hierarchy else {})}
    return Recipe.from_dict({"columns": {"at": spec, "ill": {"role": "sensitive"}}, "privacy": {"k": 2}})


@pytest.mark.parametrize(
    ("values", "then", "now", "texts", "inside"),
    [
        ("abcd", None, TREE, ["{a, d}", "b", "*"], ["ad", "b", "abcd"]),
        ("abcd", TREE, None, ["a", "*"], ["a", "abcd"]),
        ("abcd", TREE, None, ["north"], None),  # nobody knows what it has meant
        ("abcd", TREE, {"earth": {"east": {"a": {}, "c": {}}, "west": {"b": {}, "d": {}}}}, ["south"], None),
        ("abcd", None, TREE, ["{a, x}"], None),
        ("abcd", None, None, ["{a, x}"], ["a"]),  # a value that somebody else had
        ("1379", None, {"intervals": [5]}, ["[3, 7]", "9", "*"], ["37", "9", "1379"]),
        ("1379", {"intervals": [5]}, None, ["[0, 4]", "*"], ["13", "1379"]),
        ("1379", {"intervals": [5]}, {"intervals": [5]}, ["[5, 9]", "[20, 24]"], ["79", ""]),
    ],
)
def test_texts_of_other_hierarchies(values, then, now, texts, inside):
    kind = "numeric" if values.isdigit() else "categorical"
    column = pl.Series([int(v) for v in values] if kind == "numeric" else list(values))
    data = pl.DataFrame({"at": column, "ill": ["flu"] * 4})
    earlier = pl.DataFrame({"at": texts, "ill": ["flu"] * len(texts)})
    view = View.earlier(earlier, ["at"], places(then, kind), places(now, kind))
    encoded = encode(data, places(now, kind))
    if inside is None:
        with pytest.raises(DataError, match="Column `at`") as caught:
            check(encoded, data, [view], 1)
        assert caught.value.code == "data.kind"
        return
    found = check(encoded, data, [view], 1)
    expected = [sum(value in members for members in inside) for value in values]
    assert encoded.in_input_order(found.rows.m).tolist() == expected


def test_columns_that_the_table_does_not_have_are_named(tmp_path):
    data = patients(40)
    manifest = released(tmp_path, "before", data)
    now = Recipe.from_roles(quasi=["age"], sensitive=["ill"], drop=["zip"], k=5)
    encoded, view = our_view(data, now)
    found = check(encoded, data, [view, *load_earlier(manifest, now)], 5)
    assert found.ignored == ((), ("zip",))
    assert found.overlap == (40, 40)


def test_a_column_that_was_kept_and_is_quasi_now_finds_people(tmp_path):
    data = patients(60).with_columns(pl.lit("flu").alias("ill"))
    now = Recipe.from_roles(quasi=["age", "zip"], sensitive=["ill"], k=5)
    encoded, view = our_view(data, now)
    taken = {"columns": {"zip": {"accept": ["unique"]}}}
    kept = released(tmp_path, "kept", data, quasi=["age"], keep=["zip"], changes=taken)
    dropped = released(tmp_path, "dropped", data, quasi=["age"], drop=["zip"])
    assert check(encoded, data, [view, *load_earlier(dropped, now)], 5).worst_m >= 5
    found = check(encoded, data, [view, *load_earlier(kept, now)], 5)
    assert (found.verdict, found.worst_m, found.overlap) == ("refused", 1, (60, 60))


def test_a_row_outside_its_own_box_is_a_broken_promise():
    case = by_hand([{"age": a, "zip": a, "ill": "flu"} for a in range(4)], [[[0, 1], [2, 3]]] * 2)
    view = case.ours(0)
    wrong = View(view.names, view.classes, view.class_of, view.values, view.labels[::-1].copy())
    with pytest.raises(PromiseError, match="rows are outside the values"):
        check(case.encoded, case.table, [wrong], 2)


def test_no_views_and_too_many():
    case = by_hand([{"age": a, "zip": a, "ill": "flu"} for a in range(4)], [[[0, 1], [2, 3]]] * 2)
    for views in ([], [case.ours(0)] * 63):
        with pytest.raises(RecipeError, match="cannot be checked together"):
            check(case.encoded, case.table, views, 2)
    assert check(case.encoded, case.table, [case.ours(0)] * 62, 2).holds


def some_rows(m):
    m = np.array(m)
    yes = np.ones(len(m), dtype=bool)
    return Rows(yes, m, m, ~yes, m >= 3, {"two": m >= 2})


def test_small_counts_are_hidden_and_do_not_follow_from_the_others():
    told = Composition(3, 2, some_rows([1] * 4 + [2] * 25 + [3] * 71), (100, 100), ((), ()), (("ill",),))
    assert told.m_counts == [(1, 4), (2, 25), (3, 71)]
    shown = told.to_dict()
    assert shown["m"] == shown["j"] == [[1, "<10"], [2, 20], [">=3", 70]]
    assert (shown["below_m"], shown["below_goals"]) == (30, {"two": "<10"})
    assert shown["verdict"] == "refused"
    json.dumps(shown)
    plain = Composition(3, 2, some_rows([1] * 12 + [3] * 71), (83, 83), ((), ()), (("ill",),)).to_dict()
    assert plain["m"] == [[1, 12], [">=3", 71]]
    assert "safe" not in json.dumps(plain)
    assert "4 " not in repr(told)


def test_figures_do_not_depend_on_the_order_of_rows_and_views():
    data = patients(120)
    recipes = [
        Recipe.from_roles(quasi=[name], sensitive=["ill"], drop={"age", "zip"} - {name}, k=5)
        for name in ("age", "zip")
    ]
    both = Recipe.from_roles(quasi=["age", "zip"], sensitive=["ill"], k=5)
    results = []
    for table, order in ((data, (0, 1)), (data.sample(fraction=1.0, shuffle=True, seed=2), (1, 0))):
        views = [our_view(table, recipes[at])[1] for at in order]
        results.append(check(encode(table, both), table, views, 5).to_dict())
    assert results[0] == results[1]


def test_quasi_columns_of_an_earlier_release_count_as_known_although_they_are_dropped_now(tmp_path):
    """By city {0, 3}, {1, 4}, {2, 5}; by age {0, 1}, {2, 3}, {4, 5}: both together single everybody out."""
    people = pl.DataFrame(
        {"city": ["x", "y", "z", "x", "y", "z"], "age": [1, 2, 31, 32, 61, 62], "ill": list("abcdef")}
    )
    earlier = tmp_path / "earlier.csv"
    by_city = Recipe.from_roles(quasi=["city"], sensitive=["ill"], drop=["age"], k=2)
    prepare(people, by_city).write(earlier)
    by_age = Recipe.from_roles(quasi=["age"], sensitive=["ill"], drop=["city"], k=2)
    with pytest.raises(InfeasibleError, match="reveal more") as caught:
        prepare(people, by_age, also=[f"{earlier}.manifest.json"])
    assert caught.value.code == "composition.refused"
    accepted = prepare(people, by_age, also=[f"{earlier}.manifest.json"], accept_composition=True)
    assert (accepted.composition["worst_m"], accepted.composition["worst_j"]) == (1, 1)
    assert accepted.composition["ignored"] == [[], []]
    # Without the column nobody can look: then it is said which one was not looked at.
    forgotten = prepare(
        people.drop("city"),
        Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=2),
        also=[f"{earlier}.manifest.json"],
    )
    assert forgotten.composition["ignored"] == [[], ["city"]]
