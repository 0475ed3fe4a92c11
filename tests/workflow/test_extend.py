"""New rows added to an earlier release: what is out stays as it is, and who comes, comes in k or more."""

import json
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster import ClusterResult, Systematic
from shoal.errors import PromiseError, SensitiveUnprotectedWarning, ShoalError
from shoal.recipe import Recipe
from shoal.recipe.goals import AverageRisk
from shoal.verifier import verify_table
from tests.bad_input_cases import MARK, MARKS, NUMBER_MARK, snapshot
from tests.profiles import examples, few, slow, some
from tests.reference import kmember as reference
from tests.strategies import tables

VERIFYING = [
    import_module(f"shoal.{name}")
    for name in ("workflow.earlier", "workflow.extend", "workflow.extension", "release.release")
]


def recipe_of(columns, k=2, **sections):
    """A recipe from column specs; a text is a role."""
    specs = {name: {"role": spec} if isinstance(spec, str) else spec for name, spec in columns.items()}
    return Recipe.from_dict({"columns": specs, "privacy": {"k": k}, **sections})


AGES = recipe_of({"age": "quasi"})


def ages(*values):
    return pl.DataFrame({"age": values})


# Every promise, on generated tables whose rows can be told apart.


@dataclass(frozen=True)
class Story:
    """A table in two parts, the release of the first, and the quasi columns as the twin takes them."""

    earlier: pl.DataFrame
    new: pl.DataFrame
    recipe: Recipe
    columns: list
    release: shoal.Release

    @property
    def k(self):
        return self.recipe.privacy.k


def with_ids(case):
    """The table with a number for each row, which is published, and the recipe for that."""
    changes = {"columns": {"id": {"role": "keep", "accept": ["unique"]}}}
    return case.table.with_row_index("id"), Recipe.from_dict(case.recipe.to_dict(), changes=changes)


@st.composite
def stories(draw, **kwargs):
    case = draw(tables(**kwargs).filter(lambda case: case.table.height > case.recipe.privacy.k))
    cut = draw(st.integers(case.recipe.privacy.k, case.table.height - 1))
    table, recipe = with_ids(case)
    release = shoal.anonymize(table[:cut], recipe)
    return Story(table[:cut], table[cut:], recipe, case.columns, release)


def boxes_of(table, recipe):
    return [tuple(row) for row in table.select(recipe.quasi).rows()]


@examples(5)
@given(stories())
def test_what_is_out_stays_and_what_comes_comes_in_k_or_more(story):
    extension = shoal.extend(story.release, story.new, story.recipe)
    assert Counter(story.release.table.rows()) <= Counter(extension.table.rows())
    before = Counter(boxes_of(story.release.table, story.recipe))
    after = Counter(boxes_of(extension.table, story.recipe))
    grown = after - before
    assert all(count >= story.k for count in grown.values())
    assert extension.added == grown.total()
    assert extension.joined == sum(count for box, count in grown.items() if box in before)
    assert extension.new_classes == len(after) - len(before)
    assert (extension.classes, extension.k) == (len(after), min(after.values()))
    assert extension.table.columns == story.release.table.columns
    check_that_no_row_is_lost(story, extension)


def check_that_no_row_is_lost(story, extension):
    """Every new row is released once, inside of what is published of it, or held back as it was given."""
    held = extension.held_back["id"].to_list()
    assert len(held) < story.k
    assert sorted([*extension.table["id"], *held]) == [*story.earlier["id"], *story.new["id"]]
    assert extension.held_back.equals(story.new.filter(pl.col("id").is_in(held)))
    assert (extension.earlier, extension.added) == (story.earlier.height, story.new.height - len(held))
    assert extension.rows == extension.released == extension.earlier + extension.added
    assert extension.suppressed == 0
    box_of = box_of_row(extension, story.recipe)
    for row, values in zip(story.new["id"], story.new.select(story.recipe.quasi).rows(), strict=True):
        cells = zip(box_of.get(row, values), values, story.columns, strict=True)
        assert row in held or all(lies_inside(*cell) for cell in cells)


def box_of_row(extension, recipe):
    table = extension.table
    return dict(zip(table["id"].to_list(), boxes_of(table, recipe), strict=True))


@few()
@given(stories(), st.randoms(use_true_random=False))
def test_the_order_of_the_new_rows_does_not_matter(story, random):
    order = list(range(story.new.height))
    random.shuffle(order)
    one = shoal.extend(story.release, story.new, story.recipe)
    other = shoal.extend(story.release, story.new[order], story.recipe)
    assert one.table.equals(other.table)
    assert one.held_back.sort("id").equals(other.held_back.sort("id"))


@few()
@given(stories(max_rows=40), st.data())
def test_rows_held_back_come_out_when_enough_others_come(story, data):
    first = story.new[: data.draw(st.integers(1, story.new.height))]
    one = shoal.extend(story.release, first, story.recipe)
    rest = pl.concat([one.held_back, story.new[first.height :]])
    if rest.height:
        two = shoal.extend(one, rest, story.recipe)
        assert Counter(one.table.rows()) <= Counter(two.table.rows())
        grown = Counter(boxes_of(two.table, story.recipe)) - Counter(boxes_of(one.table, story.recipe))
        assert all(count >= story.k for count in grown.values())
        everybody = [*two.table["id"], *two.held_back["id"]]
        assert sorted(everybody) == [*story.earlier["id"], *story.new["id"]]


# The rule of the narrowest class, against a twin in plain Python with exact fractions.


def chain_of(node, parent):
    return [node, *(chain_of(parent[node], parent) if parent[node] is not None else [])]


def height_of(node, parent):
    return max((height_of(child, parent) + 1 for child, above in parent.items() if above == node), default=0)


def ends_of(text):
    return [int(end) for end in text.strip("[]").split(", ")] * (1 if "," in text else 2)


def lies_inside(text, raw, column):
    """Whether a raw value lies inside a published one."""
    if text is None or text == "*" or raw is None:
        return text == "*" or (raw is None and text is None)
    if isinstance(column, reference.TreeColumn):
        return text in chain_of(raw, column.parent)
    low, high = ends_of(text)
    return low <= raw <= high


def cost_of(text, column, line):
    if text is None or text == "*":
        return Fraction(int(text == "*"))
    if isinstance(column, reference.TreeColumn):
        # A root that is published by its name is a tree of one node.
        return Fraction(height_of(text, column.parent), max(1, height_of("n0", column.parent)))
    low, high = ends_of(text)
    return Fraction(high - low, max(1, max(line) - min(line)))


def boxes_to_join(story):
    """The earlier class that each new row is to join, by its number; None for the rest."""
    boxes = set(boxes_of(story.release.table, story.recipe))
    in_order = sorted(boxes, key=lambda box: [(text is None, text or "") for text in box])
    new = story.new.select(story.recipe.quasi)
    width = {box: Fraction(0) for box in boxes}
    for at, (name, column) in enumerate(zip(story.recipe.quasi, story.columns, strict=True)):
        line = [raw for raw in new[name] if raw is not None]
        if not isinstance(column, reference.TreeColumn):
            line += [end for box in boxes if box[at] not in (None, "*") for end in ends_of(box[at])]
        weight = Fraction(story.recipe.columns[name].weight)
        for box in boxes:
            width[box] += weight * cost_of(box[at], column, line)
    narrowest = {}
    for row, values in zip(story.new["id"], new.rows(), strict=True):
        cells = list(zip(values, story.columns, strict=True))
        around = [box for box in in_order if all(lies_inside(t, *c) for t, c in zip(box, cells, strict=True))]
        narrowest[row] = min(around, key=width.__getitem__, default=None)
    counted = Counter(narrowest.values())
    return {row: box if box and counted[box] >= story.k else None for row, box in narrowest.items()}


@examples(5)
@given(stories(max_k=3))
def test_k_rows_or_more_join_the_narrowest_class_around_them(story):
    extension = shoal.extend(story.release, story.new, story.recipe)
    box_of = box_of_row(extension, story.recipe)
    joins = boxes_to_join(story)
    assert {row: box_of[row] for row, box in joins.items() if box} == {r: b for r, b in joins.items() if b}
    rest = [row for row, box in joins.items() if box is None]
    assert extension.held_back["id"].to_list() == (rest if len(rest) < story.k else [])


# By hand.


def test_a_small_story_by_hand():
    recipe = recipe_of({"age": "quasi", "sex": "quasi", "ill": "sensitive"})
    earlier = pl.DataFrame({"age": [30, 34, 60, 66], "sex": ["f", "f", "f", "m"], "ill": list("abcd")})
    release = shoal.anonymize(earlier, recipe)
    assert boxes_of(release.table, recipe)[::2] == [("[30, 34]", "f"), ("[60, 66]", "{f, m}")]
    new = pl.DataFrame(
        {
            # Two inside the first class, one inside the second, two elsewhere.
            "age": [34, 62, 31, 45, 47],
            "sex": ["f", "f", "f", "m", "m"],
            "ill": list("vwxyz"),
        }
    )
    extension = shoal.extend(release, new, recipe)
    assert extension.table.rows() == [
        ("[30, 34]", "f", "a"),
        ("[30, 34]", "f", "b"),
        ("[30, 34]", "f", "v"),
        ("[30, 34]", "f", "x"),
        ("[45, 62]", "{f, m}", "w"),  # alone in its class, so it goes with the rest
        ("[45, 62]", "{f, m}", "y"),
        ("[45, 62]", "{f, m}", "z"),
        ("[60, 66]", "{f, m}", "c"),
        ("[60, 66]", "{f, m}", "d"),
    ]
    assert (extension.earlier, extension.added, extension.joined, extension.new_classes) == (4, 5, 2, 1)
    assert (extension.rows, extension.released, extension.classes, extension.k) == (9, 9, 3, 2)
    assert extension.held_back.height == 0
    assert (extension.loss.dm, extension.loss.c_avg) == (4 * 4 + 3 * 3 + 2 * 2, 9 / 3 / 2)
    assert (extension.loss.gcp, extension.loss_tight.il) == (None, None)
    assert repr(extension) == (
        "Extension(9 rows in 3 classes: 4 earlier, 5 added; 0 held back; k-anonymity 2 (asked 2))"
    )


def test_the_rest_is_held_back_when_it_is_too_small():
    release = shoal.anonymize(ages(30, 34, 60, 66), AGES)
    extension = shoal.extend(release, ages(90, 31, 33), AGES)
    assert extension.held_back.rows() == [(90,)]
    assert (extension.added, extension.joined, extension.new_classes) == (2, 2, 0)
    assert (extension.rows, extension.suppressed) == (6, 0)


def test_fewer_than_k_rows_are_all_held_back():
    release = shoal.anonymize(ages(30, 34, 60, 66), AGES)
    extension = shoal.extend(release, ages(31), AGES)
    assert extension.table.rows() == release.table.rows()
    assert (extension.added, extension.held_back.rows()) == (0, [(31,)])
    more = shoal.extend(extension, pl.concat([ages(32), extension.held_back]), AGES)
    assert (more.added, more.joined, more.held_back.height) == (2, 2, 0)


def with_rows(release, frame):
    """The release with other rows in its table."""
    (part,) = release.parts
    return replace(release, parts=(replace(part, frame=frame),))


def with_classes(*texts):
    """A release with two rows of each of these published ages."""
    frame = pl.DataFrame({"age": [text for text in texts for _ in range(2)]})
    return with_rows(shoal.anonymize(ages(1, 2), AGES), frame)


def test_a_new_class_that_is_published_like_an_earlier_one_is_one_with_it():
    # 30 and 36 lie inside narrower classes, too few in each; together they are published as [30, 36].
    earlier = with_classes("[29, 31]", "[30, 36]", "[35, 37]")
    extension = shoal.extend(earlier, ages(30, 36), AGES)
    assert extension.table["age"].to_list().count("[30, 36]") == 4
    assert (extension.joined, extension.new_classes, extension.classes) == (2, 0, 3)


def test_of_two_classes_of_the_same_width_the_first_is_joined():
    table = shoal.extend(with_classes("*", "[2, 4]", "[1, 3]"), ages(2, 3), AGES).table
    assert Counter(table["age"].to_list()) == {"[1, 3]": 4, "[2, 4]": 2, "*": 2}


def test_a_weight_makes_a_class_wider():
    frame = pl.DataFrame({"a": ["[0, 4]"] * 2 + ["[0, 2]"] * 2, "b": ["[0, 2]"] * 2 + ["[0, 4]"] * 2})
    new = pl.DataFrame({"a": [0, 1], "b": [1, 0]})
    joined = {}
    for heavy in "ab":
        columns = {n: {"role": "quasi", "weight": 2.0 if n == heavy else 1.0} for n in "ab"}
        recipe = recipe_of(columns)
        earlier = with_rows(shoal.anonymize(new, recipe), frame)
        counts = Counter(boxes_of(shoal.extend(earlier, new, recipe).table, recipe))
        joined[heavy] = counts.most_common(1)[0][0]
    assert joined == {"a": ("[0, 2]", "[0, 4]"), "b": ("[0, 4]", "[0, 2]")}


@pytest.mark.parametrize(("farthest", "joined"), [(4, ("0", "X")), (100, ("[0, 4]", "x"))])
def test_the_yardstick_goes_as_far_as_anything_known(farthest, joined):
    # The first class costs 4 of the whole length, the second half a tree.
    tree = {"*": {"X": {"x": {}, "y": {}}, "z": {}}}
    recipe = recipe_of({"a": "quasi", "b": {"role": "quasi", "hierarchy": tree}})
    frame = pl.DataFrame({"a": ["[0, 4]"] * 2 + ["0"] * 2, "b": ["x"] * 2 + ["X"] * 2})
    new = pl.DataFrame({"a": [0, 0, farthest], "b": ["x", "x", "z"]})
    extension = shoal.extend(with_rows(shoal.anonymize(new, recipe), frame), new, recipe)
    assert Counter(boxes_of(extension.table, recipe))[joined] == 4
    assert extension.held_back.height == 1


NUMBER, DAY, TEXT = ({"kind": kind} for kind in ("numeric", "date", "categorical"))
ORDER = {"kind": "ordinal", "order": ["low", "mid, or so", "high", "[top]"]}
CONTINENTS = {"hierarchy": {"Any": {"Europe": {"Rome": {}, "Oslo": {}}, "Asia": {"Pune": {}}}}}
INSIDE = [
    (NUMBER, [20, 29], 29, True),
    (NUMBER, [20, 29], 30, False),
    (NUMBER, [20, 29], None, False),
    (NUMBER, [20, 29], 20.5, True),
    (NUMBER, [-5, -2.5], -2.5, True),
    (NUMBER, [0.3, 0.5], 0.3, True),  # a little less than 3/10 as a float
    (NUMBER, [0.05, 0.1], 0.1, True),  # a little more than 1/10
    (NUMBER, [0.1, 0.3], 0.1 + 0.2, False),
    (NUMBER, [1e16, 3e22], 2.5e20, True),
    (NUMBER, [0, 2**53], 2**53 + 1, False),
    (NUMBER, [7, 7], 7, True),
    (NUMBER, [None, 7], 10**9, True),
    (NUMBER, [None, 7], None, True),
    (NUMBER, [None, None], None, True),
    (NUMBER, [None, None], 7, False),
    (DAY, [date(2024, 2, 1), date(2024, 3, 1)], date(2024, 2, 29), True),
    (DAY, [date(2024, 2, 1), date(2024, 3, 1)], date(2024, 3, 2), False),
    (ORDER, ["low", "high"], "mid, or so", True),
    (ORDER, ["low", "mid, or so"], "high", False),
    (ORDER, ["[top]", "[top]"], "[top]", True),
    (TEXT, ["a", "c"], "c", True),
    (TEXT, ["a", "c"], "b", False),
    (TEXT, ["a", "c"], None, False),
    (TEXT, ["{a, c}", "{a, c}"], "{a, c}", True),
    (TEXT, ["{a, c}", "{a, c}"], "a", False),
    (TEXT, ["a, c", "*"], "*", True),
    (TEXT, ["a, c", "*"], "a", False),
    (TEXT, ["*", "*"], "*", True),
    (TEXT, ["*", "*"], "b", False),
    (TEXT, [None, "a"], "b", True),
    (TEXT, [None, "a"], None, True),
    (CONTINENTS, ["Rome", "Oslo"], "Oslo", True),
    (CONTINENTS, ["Rome", "Rome"], "Oslo", False),
    (CONTINENTS, ["Rome", "Oslo"], "Pune", False),
    (CONTINENTS, ["Rome", "Oslo"], None, False),
    (CONTINENTS, ["Rome", "Pune"], "Oslo", True),
    (CONTINENTS, ["Rome", "Pune"], None, True),
    (CONTINENTS, [None, None], None, True),
    ({"hierarchy": {"intervals": [10, 20]}}, [21, 22], 28, True),
    ({"hierarchy": {"intervals": [10, 20]}}, [21, 32], 38, True),
    ({"hierarchy": {"intervals": [10, 20]}}, [21, 32], 40, False),
    ({"hierarchy": {"prefix": 1}}, ["", ""], None, False),
    ({"hierarchy": {"prefix": 1}}, ["10115", "10119"], "10112", True),
    ({"hierarchy": {"prefix": 1}}, ["10115", "10119"], "1011", False),
    ({"hierarchy": {"prefix": 1}}, ["10115", "18119"], "12345", True),
    (
        {"hierarchy": {"dates": ["month", "year"]}},
        [date(2024, 2, 1), date(2024, 3, 1)],
        date(2024, 9, 9),
        True,
    ),
]


@pytest.mark.parametrize(("spec", "earlier", "new", "joins"), some(INSIDE, 3))
def test_what_lies_inside_a_published_value(spec, earlier, new, joins, tmp_path):
    recipe = recipe_of({"q": {"role": "quasi", **spec}}, input={"missing": ["NA"]})
    release = shoal.anonymize(pl.DataFrame({"q": pl.Series(earlier, strict=False)}), recipe)
    assert release.classes == 1
    path = release.write(tmp_path / "out.csv")
    extension = shoal.extend(path, pl.DataFrame({"q": [new, new]}), recipe)
    assert (extension.joined, extension.new_classes) == ((2, 0) if joins else (0, 1))
    assert extension.table["q"].to_list().count(release.table["q"][0]) == (4 if joins else 2)


def test_rows_with_different_values_join_a_set_that_has_both():
    recipe = recipe_of({"q": {"role": "quasi", "kind": "categorical"}})
    release = shoal.anonymize(pl.DataFrame({"q": ["a", "b", "c"]}), recipe)
    extension = shoal.extend(release, pl.DataFrame({"q": ["a", "c"]}), recipe)
    assert extension.table["q"].to_list() == ["{a, b, c}"] * 5


def test_snapped_bounds_stay_snapped():
    recipe = recipe_of({"age": {"role": "quasi", "grid": 10}}, output={"bounds": "snapped"})
    release = shoal.anonymize(ages(21, 28), recipe)
    extension = shoal.extend(release, ages(30, 25, 34, 37), recipe)
    assert extension.table["age"].to_list() == ["[20, 30]"] * 4 + ["[30, 40]"] * 2


def test_the_seed_of_the_recipe_chooses_the_new_classes():
    release = shoal.anonymize(ages(1, 2), AGES)
    new = ages(*range(100, 160, 3), *range(200, 400, 7))
    tables = []
    for seed in (0, 1):
        recipe = recipe_of({"age": "quasi"}, method={"name": "systematic", "seed": seed})
        tables.append(shoal.extend(release, new, recipe).table)
    assert not tables[0].equals(tables[1])


def test_the_options_of_systematic_clustering_are_those_of_the_recipe(monkeypatch):
    seen = []
    fit = Systematic.fit
    monkeypatch.setattr(Systematic, "fit", lambda self, *a: seen.append(self.options.seeds) or fit(self, *a))
    for method in ({"name": "systematic", "options": {"seeds": "random"}}, {"name": "k-member"}):
        recipe = recipe_of({"age": "quasi"}, method=method)
        release = shoal.anonymize(ages(1, 2), recipe)
        seen.clear()
        shoal.extend(release, ages(50, 60), recipe)
        assert seen == [method.get("options", {}).get("seeds", "systematic")]


def test_rows_that_miss_a_value_are_suppressed_where_the_recipe_says_so():
    privacy = {"k": 2, "missing": "suppress", "max_suppressed": 0.25}
    recipe = Recipe.from_dict({"columns": {"age": {"role": "quasi"}}, "privacy": privacy})
    release = shoal.anonymize(ages(30, 34, 60, 66), recipe)
    extension = shoal.extend(release, ages(31, 33, None, 90), recipe)
    assert (extension.added, extension.suppressed, extension.held_back.rows()) == (2, 1, [(90,)])
    assert (extension.rows, extension.released) == (7, 6)
    with pytest.raises(ShoalError, match="2 of 4 new rows lack a quasi value") as error:
        shoal.extend(release, ages(31, None, None, 90), recipe)
    assert error.value.code == "infeasible.suppression"


# Files.

PEOPLE = pl.DataFrame(
    {
        "name": ["Ann", "Bob", "Cy", "Di", "Ed", "Flo"],
        "age": [31, 33, 35, 58, 60, 61],
        "zip": ["10115", "10117", "10119", "80331", "80333", "80335"],
        "ill": ["flu", "cold", "=1+1", "cold", "flu", None],
        "cost": [1.5, 2.0, 3.25, 4.0, 5.0, 6.0],
    }
)
NEWCOMERS = PEOPLE.with_columns(name=pl.lit("New"), age=pl.Series([32, 33, 34, 59, 70, 71]))
ROLES = {"name": "identifier", "age": "quasi", "zip": "quasi", "ill": "sensitive", "cost": "keep"}
ROLES_RECIPE = recipe_of(ROLES, k=3)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather"])
def test_every_format_is_extended_verified_and_read_back(tmp_path, ending):
    path = shoal.anonymize(PEOPLE, ROLES_RECIPE).write(tmp_path / f"out.{ending}")
    before = list(_lines(path))
    written = shoal.extend(path, NEWCOMERS, ROLES_RECIPE).write(tmp_path / f"more.{ending}")
    assert shoal.verify(written, ROLES_RECIPE).holds
    grown = Counter(_lines(written)) - Counter(before)
    assert (len(before), grown.total()) == (6, 6)
    assert Counter(before) <= Counter(_lines(written))
    if ending == "parquet":
        assert pl.read_parquet_schema(written) == pl.read_parquet_schema(path)
    assert _lines(path) == before


def _lines(path):
    """The rows of a file as they are written, without the header."""
    if path.suffix in (".csv", ".tsv"):
        return path.read_text(encoding="utf-8").splitlines()[1:]
    return (pl.read_parquet if path.suffix == ".parquet" else pl.read_ipc)(path).rows()


def test_the_same_bytes_come_from_a_file_and_from_memory(tmp_path):
    release = shoal.anonymize(PEOPLE, ROLES_RECIPE)
    path = release.write(tmp_path / "out.csv")
    one = shoal.extend(release, NEWCOMERS, ROLES_RECIPE).write(tmp_path / "one.csv")
    two = shoal.extend(path, NEWCOMERS, ROLES_RECIPE).write(tmp_path / "two.csv")
    assert one.read_bytes() == two.read_bytes()


def test_an_extension_says_in_its_manifest_what_it_extends(tmp_path):
    earlier = shoal.anonymize(PEOPLE, ROLES_RECIPE).write(tmp_path / "out.csv")
    digest = json.loads(Path(f"{earlier}.manifest.json").read_text())["release"]["sha256"]
    path = shoal.extend(earlier, NEWCOMERS, ROLES_RECIPE).write(tmp_path / "more.csv")
    assert shoal.verify(path, ROLES_RECIPE, rows=12).holds
    manifest = json.loads(Path(f"{path}.manifest.json").read_text())
    assert manifest["extends"] == {"sha256": digest, "rows": 6}
    assert manifest["release"]["rows"] == 12
    assert manifest["method"] == {"name": "systematic", "seed": 0}
    # How many wait is nobody's business, and what the whole table lost is not known.
    assert not {"held_back", "loss", "suppressed"} & set(manifest)
    assert {file.name for file in tmp_path.glob("more*")} == {"more.csv", "more.csv.manifest.json"}


def test_nothing_of_the_rows_held_back_is_written(tmp_path):
    release = shoal.anonymize(ages(30, 34, 60, 66), AGES)
    extension = shoal.extend(release, ages(int(NUMBER_MARK), 31, 33), AGES)
    assert extension.held_back["age"].to_list() == [int(NUMBER_MARK)]
    extension.write(tmp_path / "out.csv")
    assert not any(NUMBER_MARK.encode() in (data or b"") for data in snapshot(tmp_path).values())
    assert NUMBER_MARK not in f"{extension!r} {extension._repr_html_()} {extension.to_dict()}"
    assert extension.to_dict()["held_back"] == 1


def test_there_is_no_report_and_asking_for_one_leaves_nothing_behind(tmp_path):
    extension = shoal.extend(shoal.anonymize(ages(30, 34), AGES), ages(31, 33), AGES)
    for write in (
        lambda: extension.report(tmp_path / "x.html"),
        lambda: extension.write(tmp_path / "x.csv", report=True),
    ):
        with pytest.raises(ShoalError) as error:
            write()
        assert error.value.code == "recipe.not_available"
    assert snapshot(tmp_path) == {}


@pytest.mark.parametrize(
    ("earlier", "new", "written"),
    [
        ([1, 2], [3, None], ["1", "2", "3", ""]),
        ([1, 2], [3.5, None], ["1", "2", "3.5", ""]),
        ([1.5, 2.5], [2**60 + 1, 4], ["1.5", "1152921504606846977", "2.5", "4"]),
        (["1", "x"], [3, 4], ["1", "3", "4", "x"]),
        ([1, 2], ["3", "x"], ["1", "2", "3", "x"]),
        ([True, False], ["yes", None], ["false", "true", "yes", ""]),
        ([date(2024, 1, 1)] * 2, [date(2024, 1, 2)] * 2, ["2024-01-01"] * 2 + ["2024-01-02"] * 2),
        ([datetime(2024, 1, 1, 12)] * 2, ["a"] * 2, ["2024-01-01T12:00:00.000000"] * 2 + ["a"] * 2),
        ([None, None], [3, 4], ["3", "4", "", ""]),
        ([1, 2], [None, None], ["1", "2", "", ""]),
    ],
)
@pytest.mark.parametrize("ending", ["csv", *(pytest.param(ending, marks=slow) for ending in ("", "parquet"))])
def test_earlier_values_stay_as_they_were_written(earlier, new, written, ending, tmp_path):
    recipe = recipe_of({"age": "quasi", "v": "keep"})
    release = shoal.anonymize(pl.DataFrame({"age": [1, 1], "v": earlier}), recipe)
    source = release.write(tmp_path / f"early.{ending}") if ending else release
    extension = shoal.extend(source, pl.DataFrame({"age": [1, 1], "v": new}), recipe)
    lines = extension.write(tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    found = Counter(line.removeprefix("1,").strip('"') for line in lines[1:])
    assert found == Counter(written)


@pytest.mark.parametrize(
    ("earlier", "new", "dtype"),
    [
        ([1, 2], [3.0, None], pl.Int64),
        ([1.0, 2.5], [3, 4], pl.Float64),
        ([1, 2], [None, None], pl.Int64),
        ([None, None], [3, 4], pl.Int64),
    ],
)
def test_new_values_take_the_type_of_the_earlier_ones_where_none_changes(earlier, new, dtype):
    recipe = recipe_of({"age": "quasi", "v": "keep"})
    release = shoal.anonymize(pl.DataFrame({"age": [1, 1], "v": earlier}), recipe)
    table = shoal.extend(release, pl.DataFrame({"age": [1, 1], "v": new}), recipe).table
    assert table["v"].dtype == dtype
    assert Counter(table["v"].to_list()) == Counter([*earlier, *new])


# Frames.


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.Table])
def test_table_and_rows_held_back_are_of_the_kind_given(kind):
    convert = {
        pl.DataFrame: lambda f: f,
        pd.DataFrame: pl.DataFrame.to_pandas,
        pa.Table: pl.DataFrame.to_arrow,
    }
    release = shoal.anonymize(PEOPLE, ROLES_RECIPE)
    extension = shoal.extend(release, convert[kind](NEWCOMERS[:5]), ROLES_RECIPE)
    assert type(extension.table) is type(extension.held_back) is kind
    assert pl.DataFrame(extension.held_back).equals(NEWCOMERS[3:5])
    assert pl.DataFrame(extension.table)["cost"].sort().to_list() == [1.5, 1.5, 2, 2, 3.25, 3.25, 4, 5, 6]


def test_pandas_rows_held_back_keep_their_index_and_types():
    release = shoal.anonymize(
        pl.DataFrame({"age": [1, 2], "n": [1, 2]}), recipe_of({"age": "quasi", "n": "keep"})
    )
    new = pd.DataFrame({"age": [1, 1, 90], "n": pd.array([1, None, 2], dtype="Int64")}, index=["a", "b", "c"])
    held = shoal.extend(release, new, release.recipe).held_back
    assert list(held.index) == ["c"]
    assert held["n"].dtype == "Int64"


def test_rows_held_back_are_as_raw_as_they_came():
    recipe = recipe_of({"age": "quasi", "name": "identifier"})
    release = shoal.anonymize(pl.DataFrame({"age": [30, 34], "name": ["Ann", "Bob"]}), recipe)
    new = pl.DataFrame({"age": [31], "name": [" Cy "]})
    assert shoal.extend(release, new, recipe).held_back.rows() == [(31, " Cy ")]


def test_a_lazy_frame_is_collected():
    release = shoal.anonymize(ages(30, 34), AGES)
    extension = shoal.extend(release, ages(31, 90, 33).lazy(), AGES)
    assert extension.held_back.rows() == [(90,)]


def test_columns_may_have_names_that_look_like_patterns(tmp_path):
    recipe = recipe_of({"*": "quasi", "^.*$": "quasi", "^i$": "sensitive"})
    raw = pl.DataFrame({"*": [1, 2], "^.*$": ["a", "b"], "^i$": ["x", "y"]})
    path = shoal.anonymize(raw, recipe).write(tmp_path / "out.csv")
    extension = shoal.extend(path, raw, recipe)
    assert extension.table.rows() == [("[1, 2]", "{a, b}", "x")] * 2 + [("[1, 2]", "{a, b}", "y")] * 2


# What must not happen.


def test_the_extension_is_verified_by_another_engine_before_it_is_returned(monkeypatch):
    release = shoal.anonymize(ages(30, 34), AGES)
    asked = []

    def spy(table, recipe, **more):
        asked.append(table.num_rows)
        return verify_table(table, recipe, **more)

    for home in VERIFYING:
        monkeypatch.setattr(home, "verify_table", spy)
    shoal.extend(release, ages(31, 33), AGES)
    assert asked == [2, 4, 4, 2]  # the earlier release, all rows, again as a release, and the new rows alone


def test_a_clusterer_that_makes_small_classes_is_found_out(monkeypatch):
    # Both would be in classes of three, which verify; but one new row alone joins [30, 34].
    release = shoal.anonymize(ages(30, 34, 60, 66), AGES)
    newcomers = import_module("shoal.workflow.newcomers")
    monkeypatch.setattr(
        newcomers, "joined_classes", lambda encoded, *_: np.arange(2, dtype=np.int32)[: encoded.n_rows]
    )
    with pytest.raises(PromiseError, match="fewer than 2 new rows"):
        shoal.extend(release, ages(31, 62), AGES)


def test_small_new_classes_are_found_out(monkeypatch):
    release = shoal.anonymize(ages(30, 34), AGES)
    monkeypatch.setattr(Systematic, "fit", lambda *_: ClusterResult(np.arange(2, dtype=np.int32)))
    with pytest.raises(PromiseError, match="fewer than 2 new rows"):
        shoal.extend(release, ages(70, 80), AGES)


def test_new_rows_that_share_a_sensitive_value_are_warned_about():
    recipe = recipe_of({"age": "quasi", "ill": "sensitive"})
    release = shoal.anonymize(pl.DataFrame({"age": [30, 34], "ill": ["flu", "cold"]}), recipe)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SensitiveUnprotectedWarning)
        shoal.extend(release, pl.DataFrame({"age": [31, 33], "ill": ["flu", "cold"]}), recipe)
        shoal.extend(release, pl.DataFrame({"age": [31], "ill": ["flu"]}), recipe)
    # The class has both values, but a comparison shows that all who are new have one.
    with pytest.warns(
        SensitiveUnprotectedWarning, match="new rows of 1 of 1 classes share one value of `ill`"
    ) as w:
        shoal.extend(release, pl.DataFrame({"age": [31, 33], "ill": ["flu", "flu"]}), recipe)
    assert w[0].filename == __file__


# Errors name columns and numbers, never a cell.

MARKED = pl.DataFrame({"age": [int(NUMBER_MARK)] * 2, "city": [MARK] * 2, "ill": [MARK] * 2})
CITIES = {"age": "quasi", "city": "quasi", "ill": "sensitive"}


def change(recipe, **sections):
    return Recipe.from_dict(recipe.to_dict(), changes=sections)


@dataclass(frozen=True)
class Bad:
    code: str
    says: str
    new: object = None
    columns: object = None
    earlier: object = None
    sections: object = None  # of the recipe for the extension


BAD = {
    "k": Bad("promise.broken", "recipe promises. verify.k:", sections={"privacy": {"k": 3}}),
    "role": Bad("promise.broken", "verify.forbidden_column", sections={"columns": {"ill": {"role": "drop"}}}),
    "form": Bad("promise.broken", "verify.form", sections={"columns": {"city": {"kind": "numeric"}}}),
    "no column": Bad("recipe.unknown_column", "`city`", new=MARKED.drop("city")),
    "unnamed": Bad("recipe.unnamed_column", "`more`", new=MARKED.with_columns(more=pl.lit(MARK))),
    "no rows": Bad("data.empty", "no rows", new=MARKED[:0]),
    "no frame": Bad("data.unreadable", "NoneType", new=lambda: None),
    "nested": Bad("data.kind", "`ill`", new=MARKED.with_columns(ill=pl.Series([[MARK]] * 2))),
    "not a number": Bad(
        "data.kind",
        "`age` has 2 cells",
        columns={"age": {"role": "quasi", "kind": "numeric"}},
        new=MARKED.with_columns(age=pl.lit(MARK)),
    ),
    "now text": Bad(
        "data.kind", "`age` is categorical in the new rows", new=MARKED.with_columns(age=pl.lit(MARK)),
        earlier=MARKED.with_columns(age=pl.Series([3, int(NUMBER_MARK)])),
    ),
    "now numeric": Bad("data.kind", "`city` is numeric", new=MARKED.with_columns(city=pl.lit(1))),
    "now a date": Bad("data.kind", "`city` is date", new=MARKED.with_columns(city=pl.lit(date(2024, 1, 1)))),
    "a code, not a number": Bad(
        "data.kind", "`city` is numeric", new=MARKED.with_columns(city=pl.lit("1067")),
        earlier=MARKED.with_columns(city=pl.lit("01067")),
    ),
    "a set, not a number": Bad(
        "data.kind", "`city` is numeric", new=MARKED.with_columns(city=pl.lit("1067")),
        earlier=MARKED.with_columns(city=pl.Series(["1067", MARK])),
    ),
    "not in the order": Bad(
        "data.order",
        "`city` has 2 cells",
        columns={"city": {"role": "quasi", "kind": "ordinal", "order": ["a", "b"]}},
        earlier=MARKED.with_columns(city=pl.lit("a")),
    ),
    "not in the tree": Bad(
        "hierarchy.uncovered",
        "`city`: 1 of 1 distinct values are not leaves",
        columns={"city": {"role": "quasi", "hierarchy": {"*": {"a": {}, "b": {}}}}},
        earlier=MARKED.with_columns(city=pl.lit("a")),
    ),
    "missing": Bad(
        "data.missing", "`city` has 2 missing", new=MARKED.with_columns(city=pl.lit(None, pl.String)),
        sections={"privacy": {"missing": "error"}},
    ),
    "no ranges": Bad("recipe.not_available", "values", sections={"output": {"values": "microaggregate"}}),
    "two columns": Bad("recipe.not_available", "bounds_as", sections={"output": {"bounds_as": "columns"}}),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("ending", ["", pytest.param("csv", marks=slow)])
def test_errors_have_a_code_and_show_no_cell(bad, ending, tmp_path):
    recipe = recipe_of({**CITIES, **(bad.columns or {})})
    release = shoal.anonymize(MARKED if bad.earlier is None else bad.earlier, recipe)
    source = release.write(tmp_path / f"out.{ending}") if ending else release
    new = MARKED if bad.new is None else bad.new() if callable(bad.new) else bad.new
    before = snapshot(tmp_path)
    with pytest.raises(ShoalError) as error:
        shoal.extend(source, new, change(recipe, **(bad.sections or {})))
    assert error.value.code == bad.code
    assert bad.says in str(error.value)
    assert error.value.hint
    assert not any(mark in str(error.value) for mark in MARKS)
    assert snapshot(tmp_path) == before


def test_what_later_versions_may_ask_for_is_refused():
    release = shoal.anonymize(ages(30, 34), AGES)
    goals = AGES.privacy.model_copy(update={"goal": [AverageRisk(type="average-risk", threshold=0.5)]})
    boxes = AGES.method.model_copy(update={"name": "nh"})
    induced = {"age": AGES.columns["age"].model_copy(update={"hierarchy": "induce"})}
    for update in ({"privacy": goals}, {"method": boxes}, {"columns": induced}):
        with pytest.raises(ShoalError, match="cannot be extended yet") as error:
            shoal.extend(release, ages(31, 33), AGES.model_copy(update=update))
        assert error.value.code == "recipe.not_available"


def test_a_file_that_somebody_changed_is_not_extended(tmp_path):
    path = shoal.anonymize(ages(30, 34), AGES).write(tmp_path / "out.csv")
    path.write_text(path.read_text().replace("34", "35"))
    with pytest.raises(PromiseError, match=r"verify\.digest"):
        shoal.extend(path, ages(31, 33), AGES)
    with pytest.raises(ShoalError) as error:
        shoal.extend(tmp_path / "absent.csv", ages(31, 33), AGES)
    assert error.value.code == "data.unreadable"


@pytest.mark.parametrize(
    "text", ["age;sex\n1;f\n1;f\n", "age,sex\n1,f\n1,f\n2,e\u0301\n2,\u00e9\n2,\u00e9\n2,e\u0301\n"]
)
def test_a_file_that_can_be_read_in_two_ways_is_not_extended(tmp_path, text):
    # Semicolons are for the verifier to guess; a letter in two spellings is two for it, one for us.
    recipe = recipe_of({"age": "quasi", "sex": "quasi"})
    path = tmp_path / "out.csv"
    path.write_text(text, encoding="utf-8")
    assert shoal.verify(path, recipe).holds
    with pytest.raises(ShoalError, match="is ambiguous") as error:
        shoal.extend(path, pl.DataFrame({"age": [1, 1], "sex": ["f", "f"]}), recipe)
    assert error.value.code == "data.unreadable"
