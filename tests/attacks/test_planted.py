"""Weaknesses planted into releases, each found by the attack that is meant for it.

Every case makes a sound release, in which the attack finds nothing, and then weakens it.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.attacks import ATTACKS
from shoal.recipe import Recipe
from shoal.verifier import verify_table
from tests.attacks.tables import frame, recipe

K = 5
DISTINCT = {"type": "l-diversity", "column": "ill", "variant": "distinct", "l": 2}
ALPHA = {"type": "alpha-k", "column": "ill", "alpha": 0.6}
CLOSE = {"type": "t-closeness", "column": "ill", "t": 0.5}
ROLES = {"name": "identifier", "age": "quasi", "zip": "quasi", "sex": "quasi", "ill": "sensitive"}


@dataclass(frozen=True)
class Release:
    """A raw table, what was released of it, and what was promised."""

    raw: pl.DataFrame
    released: pl.DataFrame
    recipe: Recipe
    earlier: list[pl.DataFrame] = field(default_factory=list)

    def attacks(self, tmp_path) -> Any:
        paths = []
        for number, table in enumerate(self.earlier):
            paths.append(tmp_path / f"earlier{number}.csv")
            table.write_csv(paths[-1])
        return shoal.attack(self.raw, self.released, self.recipe, earlier=paths)


def people(keep=None) -> pl.DataFrame:
    """120 people in 12 groups of ten who are alike; every age, zip and disease occurs often."""
    group, within = np.repeat(np.arange(12), 10), np.tile(np.arange(10), 12)
    table = pl.DataFrame(
        {
            "name": [f"p{n}" for n in range(120)],
            "age": 20 + 5 * group + within // 2,
            "zip": [f"1{g // 3}{w % 2}" for g, w in zip(group, within, strict=True)],
            "sex": [("f", "m")[g % 2] for g in group],
            "ill": [("flu", "cold", "gout", "hiv", "ulcer")[w % 5] for w in within],
        }
    )
    return table.with_columns(keep) if keep is not None else table


def label(low: int, high: int) -> str:
    return f"[{low}, {high}]"


def released(raw: pl.DataFrame) -> pl.DataFrame:
    """The ten of each group as one class, sorted."""
    table = raw.drop("name").with_row_index("row")
    table = table.with_columns(
        age=(20 + 5 * (pl.col("row") // 10)).map_elements(lambda low: label(low, low + 4), pl.String),
        zip=(pl.col("row") // 30).map_elements(lambda area: f"{{1{area}0, 1{area}1}}", pl.String),
    )
    return table.drop("row").sort(pl.all())


def sound(goals=(), keep=None, **more) -> Release:
    raw = people(keep)
    return Release(raw, released(raw), recipe(k=K, goals=goals, **{**ROLES, **more}))


def changed(release: Release, row: int, **cells: str) -> Release:
    """Change cells of one row."""
    table = release.released
    for name, value in cells.items():
        column = table[name].to_list()
        column[row] = value
        table = table.with_columns(pl.Series(name, column))
    return Release(release.raw, table, release.recipe, release.earlier)


# Broken promises.


def a_class_one_short():
    small = sound()
    return Release(small.raw, small.released.slice(6), small.recipe)  # four of ten rows remain


def a_raw_row_left():
    return changed(sound(), 3, age="20", zip="100")


def one_cell_not_generalized():
    return changed(sound(), 17, zip="101")


def one_cell_emptied():
    return changed(sound(), 40, sex=None)


def too_few_suppressed_rows_kept():
    release = sound()
    for row in (5, 55):
        release = changed(release, row, age="*", zip="*", sex="*")
    return release


def an_alike_class_despite_l_diversity():
    release = sound([DISTINCT])
    ill = ["flu"] * 10 + release.released["ill"].to_list()[10:]
    return Release(release.raw, release.released.with_columns(ill=pl.Series(ill)), release.recipe)


def a_frequent_value_despite_alpha():
    release = sound([ALPHA])
    ill = ["flu"] * 7 + release.released["ill"].to_list()[7:]
    return Release(release.raw, release.released.with_columns(ill=pl.Series(ill)), release.recipe)


def a_class_far_from_the_whole():
    release = sound([CLOSE])
    ill = ["hiv"] * 8 + release.released["ill"].to_list()[8:]
    return Release(release.raw, release.released.with_columns(ill=pl.Series(ill)), release.recipe)


def an_identifier_left():
    release = sound()
    return Release(release.raw, release.released.with_columns(name=release.raw["name"]), release.recipe)


def in_input_order(release):
    """The rows in the order of the original: row n is person n."""
    table = release.released.with_row_index("place")
    raw = release.raw.with_row_index("row")
    groups = table.with_columns(pl.col("place").rank("ordinal").over("age", "ill") - 1, g=pl.col("age"))
    own = raw.with_columns(
        g=(20 + 5 * (pl.col("row") // 10)).map_elements(lambda low: label(low, low + 4), pl.String),
        place=pl.int_range(pl.len()).over(pl.col("row") // 10, "ill"),
    ).select("row", "g", "ill", pl.col("place").cast(pl.Int64))
    joined = own.join(groups.with_columns(pl.col("place").cast(pl.Int64)), on=["g", "ill", "place"])
    return joined.sort("row").select(release.released.columns)


def a_row_number():
    release = sound()
    numbered = in_input_order(release).with_row_index("index").sample(fraction=1, shuffle=True, seed=1)
    return Release(release.raw, numbered.sort(pl.all().exclude("index")), release.recipe)


def a_row_number_of_a_sample():
    """A fifth of the people, so alike that their order would fit many others: only the number tells."""
    draw = np.random.Generator(np.random.PCG64(5)).integers(0, 2, (2, 200)).tolist()
    raw = frame("sex|ill", *(f"{'fm'[sex]}|i{ill}" for sex, ill in zip(*draw, strict=True)))
    sample = raw.with_row_index("index").filter(pl.col("index") % 5 == 0).sort("sex", "ill")
    return Release(raw, sample, recipe(k=K, sex="quasi", ill="sensitive"))


def a_key_that_grows_with_the_input():
    release = sound()
    keys = np.cumsum(np.random.Generator(np.random.PCG64(3)).integers(1, 9, 120)) + 70_000
    table = in_input_order(release).with_columns(key=pl.Series(keys))
    return Release(release.raw, table.sort(pl.all().exclude("key")), release.recipe)


def one_person_fills_a_class():
    """Each class has ten rows, but those of the first are of two people."""
    raw = people().with_columns(name=pl.Series([f"p{n % 2}" if n < 10 else f"p{n}" for n in range(120)]))
    return Release(raw, released(raw), recipe(k=K, **{**ROLES, "name": "subject"}))


# People exposed, although nothing was promised.


def the_order_of_the_input():
    release = sound()
    return Release(release.raw, in_input_order(release), release.recipe)


def an_alike_class():
    release = an_alike_class_despite_l_diversity()
    return Release(release.raw, release.released, sound().recipe)


def a_skewed_class():
    release = sound()
    ill = np.array(release.released["ill"].to_list(), dtype=object)
    ill[:80] = np.where(np.arange(80) % 10 < 9, np.repeat(["flu", "cold"] * 4, 10), "gout")
    return Release(release.raw, release.released.with_columns(ill=pl.Series(ill.tolist())), release.recipe)


def an_outliers_range():
    raw = people().with_columns(age=pl.when(pl.col("name") == "p119").then(103).otherwise(pl.col("age")))
    table = released(people())
    table = table.with_columns(age=pl.col("age").replace({label(75, 79): label(75, 103)}))
    return Release(raw, table, sound().recipe)


def a_label_that_does_not_cover_its_rows():
    release = sound()
    table = release.released.with_columns(age=pl.col("age").replace({label(20, 24): label(21, 24)}))
    return Release(release.raw, table, release.recipe)


def a_unique_kept_column():
    return sound(keep=pl.Series("note", [f"n{n}" for n in range(120)]), note="keep")


def kept_columns_unique_together():
    keep = [pl.Series("a", np.arange(120) % 10).cast(pl.String), pl.Series("b", np.arange(120) // 5 % 2)]
    return sound(keep=keep, a="keep", b="keep")


def a_kept_column_that_determines_a_quasi_column():
    station = pl.col("zip").replace_strict({f"1{a}{b}": f"s{a}{b}" for a in range(4) for b in range(2)})
    return sound(keep=station.alias("station"), station="keep")


def two_kept_columns_that_determine_one():
    bit = np.arange(120) // 2 % 2
    parity = pl.col("zip").str.slice(2, 1).cast(pl.Int64)
    keep = [pl.Series("p", bit), (parity + pl.Series(bit)).mod(2).alias("q")]
    return sound(keep=keep, p="keep", q="keep")


def a_sensitive_copy_of_a_quasi_column():
    return sound(keep=pl.col("age").alias("born"), born="sensitive")


def a_node_that_the_rest_of_the_box_narrows():
    release = sound()
    table = release.released.with_columns(zip=pl.lit("*"))
    raw = release.raw.with_columns(zip=pl.Series([f"1{n // 30}0" for n in range(120)]))
    return Release(raw, table, release.recipe)


def a_group_generalized_because_of_a_goal():
    raw = people().with_columns(
        age=pl.when(pl.int_range(pl.len()) < 10).then(20).otherwise(pl.col("age")),
        zip=pl.when(pl.int_range(pl.len()) < 10).then(pl.lit("100")).otherwise(pl.col("zip")),
        ill=pl.when(pl.int_range(pl.len()) < 10).then(pl.lit("hiv")).otherwise(pl.col("ill")),
    )
    table = released(raw).with_columns(
        age=pl.col("age").replace({label(20, 24): label(20, 29), label(25, 29): label(20, 29)}),
        sex=pl.when(pl.col("age").is_in([label(20, 24), label(25, 29)])).then(pl.lit("*")).otherwise("sex"),
    )
    return Release(raw, table.sort(pl.all()), recipe(k=K, goals=[ALPHA], **ROLES))


def an_earlier_release_with_other_classes():
    """Three diseases remain for everybody in each release, but only one of them in both."""
    raw = frame("x|y|ill", *(f"{x}|{y}|i{x // 2}{y // 2}" for x in range(6) for y in range(6)))
    now = raw.with_columns(y=pl.lit("*")).sort(pl.all())
    before = raw.with_columns(x=pl.lit("*")).sort(pl.all())
    asked = recipe(k=K, x="quasi", y="quasi", ill="sensitive")
    return Release(raw, now, asked, [before])


PLANTED = [
    (a_class_one_short, "classes-worst", "broken"),
    (a_raw_row_left, "classes-worst", "broken"),
    (one_cell_not_generalized, "classes-worst", "broken"),
    (one_cell_emptied, "classes-worst", "broken"),
    (too_few_suppressed_rows_kept, "classes-worst", "broken"),
    (an_alike_class_despite_l_diversity, "homogeneity", "broken"),
    (a_frequent_value_despite_alpha, "skewness", "broken"),
    (a_class_far_from_the_whole, "skewness", "broken"),
    (an_identifier_left, "extra-columns", "broken"),
    (a_row_number, "extra-columns", "broken"),
    (a_row_number_of_a_sample, "extra-columns", "broken"),
    (a_key_that_grows_with_the_input, "extra-columns", "broken"),
    (one_person_fills_a_class, "people-worst", "broken"),
    (the_order_of_the_input, "row-order", "exposed"),
    (an_alike_class, "homogeneity", "exposed"),
    (a_skewed_class, "skewness", "exposed"),
    (an_outliers_range, "range-ends", "exposed"),
    (a_label_that_does_not_cover_its_rows, "containment-worst", "exposed"),
    (a_unique_kept_column, "kept-worst", "exposed"),
    (kept_columns_unique_together, "kept-worst", "exposed"),
    (a_kept_column_that_determines_a_quasi_column, "recovery", "exposed"),
    (two_kept_columns_that_determine_one, "recovery", "exposed"),
    (a_sensitive_copy_of_a_quasi_column, "recovery", "exposed"),
    (a_node_that_the_rest_of_the_box_narrows, "downcoding", "exposed"),
    (a_group_generalized_because_of_a_goal, "minimality", "exposed"),
    (an_earlier_release_with_other_classes, "intersection", "exposed"),
]


def test_there_are_more_than_twenty_against_all_attacks():
    assert len(PLANTED) > 20
    # The others say the same as these about people on average, or about fewer columns.
    weaker = {"classes", "containment", "kept", "subsets", "candidates"}
    assert {attack for _, attack, _ in PLANTED} == set(ATTACKS) - weaker


@pytest.mark.parametrize(
    ("weakened", "attack", "finding"), PLANTED, ids=lambda each: getattr(each, "__name__", "")
)
def test_a_planted_weakness_is_found(weakened, attack, finding, tmp_path):
    found = weakened().attacks(tmp_path)
    assert (attack, finding) in {(each.attack, each.finding) for each in found}, str(found)
    assert found.holds == (finding != "broken"), str(found)


@pytest.mark.parametrize("goals", [(), [DISTINCT], [ALPHA], [CLOSE]], ids=str)
def test_nothing_is_found_in_the_sound_release(goals, tmp_path):
    release = sound(goals)
    assert verify_table(release.released.to_arrow(), release.recipe, original=release.raw.to_arrow()).holds
    assert [each.attack for each in release.attacks(tmp_path) if each.finding != "none"] == []
