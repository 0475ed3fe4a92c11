"""Texts that hardly two rows share: large sets are lost, and the user is told of such columns."""

import json
import random
from collections import Counter

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import RecipeError
from shoal.recipe import Recipe
from shoal.recode.publish import publish, publish_ring
from shoal.table.encode import encode
from shoal.table.write import manifest_path
from tests.profiles import slow


def letters(n_rows, first="a"):
    return [f"{first}{at:02d}" for at in range(n_rows)]


def published(values, labels, **output):
    """The classes of one flat column."""
    recipe = Recipe.from_dict({"columns": {"c": {"role": "quasi"}}, "privacy": {"k": 2}, "output": output})
    encoded = encode(pl.DataFrame({"c": values}), recipe)
    return publish(encoded, np.array(labels, np.int32)[encoded.order], recipe)


@pytest.mark.parametrize(
    ("size", "output", "text"),
    [
        (20, {}, "{" + ", ".join(letters(20)) + "}"),
        (21, {}, "*"),
        (21, {"max_set": 21}, "{" + ", ".join(letters(21)) + "}"),
        (3, {"max_set": 2}, "*"),
        (2, {"max_set": 1}, "*"),
        (1, {"max_set": 1}, "a00"),
    ],
)
def test_a_set_above_the_limit_is_lost(size, output, text):
    # Each value twice: values count, not rows.
    found = published(letters(size) * 2, [0] * 2 * size, **output)
    assert found.classes["c"].to_list() == [text]


def test_classes_that_look_alike_by_the_limit_are_one():
    found = published(letters(8), [0, 0, 0, 1, 1, 1, 2, 2], max_set=2)
    assert found.classes["c"].to_list() == ["*", "{a06, a07}"]
    assert found.labels.tolist() == [0] * 6 + [1] * 2


def test_boxes_of_single_rows_have_the_limit_too():
    recipe = Recipe.from_dict(
        {
            "columns": {"c": {"role": "quasi"}},
            "privacy": {"k": 3},
            "method": {"name": "nh"},
            "output": {"max_set": 2},
        }
    )
    encoded = encode(pl.DataFrame({"c": ["a", "a", "b", "c"]}), recipe)
    found = publish_ring(encoded, np.zeros(4, np.int32), recipe, 3)
    texts = [found.classes["c"][int(label)] for label in found.labels]
    assert texts == ["{a, b}", "*", "*", "{a, c}"]  # aab, abc, bca, caa


def people(n_rows, **more):
    """A text for each row, a column of two values, and one of two illnesses."""
    return pl.DataFrame(
        {
            "text": letters(n_rows),
            "sex": ["f", "m"] * (n_rows // 2),
            "ill": ["flu", "flu", "cold", "cold"] * (n_rows // 4),
            **more,
        }
    )


@pytest.mark.parametrize("method", ["local-search", "k-member", "nh"])
def test_figures_are_those_of_what_is_published(method, tmp_path):
    table = people(40)
    recipe = Recipe.from_roles(
        quasi=["text", "sex"],
        sensitive=["ill"],
        k=4,
        changes={"output": {"max_set": 3}, "method": {"name": method}},
    )
    release = shoal.anonymize(table, recipe)
    assert release.frame["text"].unique().to_list() == ["*"]
    if method != "nh":
        sizes = Counter(release.frame.select("text", "sex").rows()).values()
        assert release.k == min(sizes)
        assert release.classes == len(sizes)
        assert release.loss.dm == sum(size**2 for size in sizes)
        # Each row has lost its text; a class of both sexes has lost these as well.
        lost = 40 + release.frame.filter(pl.col("sex").is_in(["f", "m"]).not_()).height
        assert release.loss.il == release.loss_tight.il == pytest.approx(lost)
    original = table.to_arrow() if method == "nh" else None
    path = release.write(tmp_path / "release.csv")
    assert shoal.verify(path, recipe, original=original).holds


def test_goals_hold_for_people_who_are_in_classes_that_look_alike_by_the_limit():
    # Everybody has two rows: clusters that share people would be one published class of too few.
    table = people(40, who=[f"p{at // 2}" for at in range(40)])
    release = shoal.anonymize(
        table,
        Recipe.from_roles(
            quasi=["text"],
            sensitive=["ill"],
            drop=["sex"],
            subject=["who"],
            k=3,
            changes={
                "output": {"max_set": 2},
                "privacy": {"goal": [{"type": "l-diversity", "column": "ill", "l": 2}]},
            },
        ),
    )
    assert release.frame["text"].unique().to_list() == ["*"]
    assert release.k == 20
    assert release.goals[1].holds


def test_a_release_with_lost_sets_is_checked_beside_an_earlier_one(tmp_path):
    table = people(40)

    def roles(limit):
        return Recipe.from_roles(
            quasi=["text"], sensitive=["ill"], drop=["sex"], k=4, changes={"output": {"max_set": limit}}
        )

    first = shoal.anonymize(table, roles(1)).write(tmp_path / "first.csv")
    second = shoal.anonymize(table, roles(20), also=[manifest_path(first)], accept_composition=True)
    # The first table says nothing about anybody: what both give away is what the second does.
    assert first.read_text().splitlines()[1:] == ["*,cold"] * 20 + ["*,flu"] * 20
    assert second.composition is not None
    assert second.composition["j"] == [[">=4", 40]]


@pytest.mark.parametrize("limit", [0, -1, "many", 2.5, True])
def test_a_limit_that_is_none_is_refused(limit):
    sections = {"columns": {"c": {"role": "quasi"}}, "privacy": {"k": 2}, "output": {"max_set": limit}}
    with pytest.raises(RecipeError) as refused:
        Recipe.from_dict(sections)
    assert refused.value.code == "recipe.invalid"
    assert "max_set" in refused.value.message


# Columns of such texts


def remarks_on(table, recipe):
    return [remark for remark in shoal.anonymize(table, recipe, bound=False).remarks if "Column" in remark]


def recipe_of(k=2, text=None, **sections):
    columns = {"text": {"role": "quasi", "kind": "categorical", **(text or {})}, "sex": {"role": "quasi"}}
    return Recipe.from_dict(
        {"columns": {**columns, "ill": {"role": "drop"}}, "privacy": {"k": k}, **sections}
    )


def test_a_column_of_texts_that_hardly_k_rows_share_is_named():
    (remark,) = remarks_on(people(40), recipe_of())
    assert remark.startswith("Column `text` has 40 different texts in 40 rows and no hierarchy")
    assert "hierarchy, such as { prefix = 1 }" in remark


def test_missing_texts_do_not_count():
    texts = [*letters(30), *[None] * 10]
    (remark,) = remarks_on(people(40).with_columns(text=pl.Series(texts)), recipe_of())
    assert remark.startswith("Column `text` has 30 different texts in 30 rows")


@pytest.mark.parametrize(
    ("texts", "k", "named"),
    [
        (letters(20) * 2, 2, False),  # each text has k rows
        (letters(20) * 2, 3, True),
        (letters(36) + ["z"] * 4, 3, True),  # 36 of 40 rows have a text of their own
        (letters(35) + ["z"] * 5, 3, False),
        ([None] * 40, 2, False),
    ],
)
def test_nearly_all_rows_have_a_text_of_fewer_than_k(texts, k, named):
    table = people(40).with_columns(text=pl.Series(texts, dtype=pl.String))
    assert bool(remarks_on(table, recipe_of(k))) is named


def test_texts_with_a_hierarchy_numbers_and_typical_values_are_not_named():
    table = people(40)
    assert remarks_on(table, recipe_of(text={"hierarchy": {"prefix": 1}})) == []
    numbers = table.with_columns(text=pl.Series(range(40)))
    assert remarks_on(numbers, recipe_of(text={"kind": "numeric"})) == []
    assert remarks_on(table, recipe_of(output={"values": "microaggregate"})) == []


def test_each_view_names_its_columns():
    asked = recipe_of(output={"views": [["text"], ["sex"]]})
    release = shoal.anonymize(people(40), asked, accept_composition=True, bound=False)
    (remark,) = [remark for remark in release.remarks if "Column" in remark]
    assert remark.startswith("View 1: Column `text`")


@slow
def test_twelve_thousand_texts_make_a_small_file_of_small_classes(tmp_path):
    draw = random.Random(1)
    raw = tmp_path / "raw.csv"
    lines = [f"t{at:07d},v{draw.randrange(7)}" for at in range(12_000)]
    raw.write_text("\n".join(["text,few", *lines]) + "\n")
    out = tmp_path / "out.csv"
    command = ["anonymize", str(raw), "--quasi", "text,few", "--k", "5", "-o", str(out), "--no-bound"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    told = "Column `text` has 12,000 different texts in 12,000 rows and no hierarchy"
    assert told in done.stdout
    assert told in out.with_name("out.csv.report.html").read_text().replace("&#96;", "`")
    # A set of five to nine texts for each row, where it was one before: not all texts of a large class.
    assert out.stat().st_size < 6 * raw.stat().st_size
    sizes = Counter(out.read_text().splitlines()[1:]).values()
    assert min(sizes) == 5
    assert max(sizes) <= 9
    verdict = json.loads(CliRunner().invoke(app, ["verify", str(out), "--json", *command[2:6]]).stdout)
    assert verdict["holds"]
    assert verdict["k"] == 5
