"""Dates of month and year precision, from the raw table to the verified file and back."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shoal
from shoal.recipe import Recipe
from shoal.report.scale import scale_of
from shoal.table.encode import encode
from shoal.workflow.measure import measure_tables
from tests.profiles import examples

MONTHS = ["1952/09", "1953/02", "1960/01", "1960/03"]
YEARS = ["1952", "1953", "1960", "1962"]
DAYS = ["1952-09-13", "1953-02-01", "1960-01-31", "1960-03-01"]


def recipe_of(column: dict[str, Any], **sections: Any) -> Recipe:
    columns = {"born": {"role": "quasi", **column}}
    return Recipe.from_dict({"columns": columns, "privacy": {"k": 2}, **sections})


def released(texts: list[Any], column: dict[str, Any] | None = None, **sections: Any) -> shoal.Release:
    return shoal.anonymize(pl.DataFrame({"born": texts}), recipe_of(column or {}, **sections))


def columns_of(release: shoal.Release) -> dict[str, list[Any]]:
    return release.frame.unique(maintain_order=True).to_dict(as_series=False)


def test_months_are_ranges_of_months() -> None:
    release = released(MONTHS)

    assert columns_of(release) == {"born": ["[1952-09, 1953-02]", "[1960-01, 1960-03]"]}
    # From September 1952 to March 1960 it is 90 months; the classes are 5 and 2 months wide.
    assert release.loss.gcp == pytest.approx(float(Fraction(2 * 5 + 2 * 2, 4 * 90)))
    assert release.kinds == {"born": {"kind": "date", "precision": "month", "found": True}}


def test_years_are_ranges_of_years_where_the_recipe_says_so() -> None:
    release = released(YEARS, {"kind": "date"})

    assert columns_of(release) == {"born": ["[1952, 1953]", "[1960, 1962]"]}
    assert release.loss.gcp == pytest.approx((2 * 1 + 2 * 2) / (4 * 10))
    assert release.kinds == {"born": {"kind": "date", "precision": "year", "found": False}}


def test_days_stay_days() -> None:
    release = released(DAYS)

    assert columns_of(release) == {"born": ["[1952-09-13, 1953-02-01]", "[1960-01-31, 1960-03-01]"]}
    assert release.kinds == {"born": {"kind": "date", "found": True}}


def test_a_grid_counts_in_the_columns_unit_from_january_and_from_year_0() -> None:
    snapped = {"output": {"bounds": "snapped"}}

    by_quarter = released(MONTHS, {"grid": 3}, **snapped)
    by_decade = released(YEARS, {"kind": "date", "grid": 10}, **snapped)

    assert columns_of(by_quarter) == {"born": ["[1952-07, 1953-04]", "[1960-01, 1960-04]"]}
    assert columns_of(by_decade) == {"born": ["[1950, 1960]", "[1960, 1970]"]}


def test_bounds_in_columns_and_typical_values_have_no_false_precision() -> None:
    bounds = released(MONTHS, output={"bounds_as": "columns"})
    typical = released([*MONTHS, "1953/02"], output={"values": "microaggregate"})

    assert columns_of(bounds) == {"born_low": ["1952-09", "1960-01"], "born_high": ["1953-02", "1960-03"]}
    assert columns_of(typical) == {"born": ["1953-02", "1960-01"]}


def test_trees_group_months_by_year_and_years_by_decade() -> None:
    by_year = released(["1952-09", "1952-10", "1960-01", "1961-01"], {"hierarchy": {"dates": ["year"]}})
    by_decade = released(YEARS, {"hierarchy": {"dates": ["decade"]}})

    assert columns_of(by_year) == {"born": ["*", "1952"]}
    assert by_year.loss.gcp == pytest.approx((2 * 0.5 + 2 * 1) / 4)
    assert columns_of(by_decade) == {"born": ["1950s", "1960s"]}


def test_a_method_on_trees_publishes_intervals_of_months() -> None:
    release = released(MONTHS, method={"name": "incognito"})

    # The 91 months from September 1952 in 16 parts are 6 months each, which separate the last two.
    assert columns_of(release) == {"born": ["[1952-09, 1953-08]", "[1959-09, 1960-08]"]}


FORMS = st.sampled_from(["{y}/{m:02}", "{y}-{m:02}", "{m:02}.{y}", "{m:02}/{y}"])


@st.composite
def months(draw: st.DrawFn) -> list[str | None]:
    """Months in any of the forms; one has a leading zero, since 10.1952 alone is a number."""
    drawn = draw(st.lists(st.tuples(st.integers(1900, 2030), st.integers(1, 12), FORMS), max_size=12))
    texts: list[str | None] = [form.format(y=year, m=month) for year, month, form in drawn]
    return [*texts, "01.1952", *draw(st.lists(st.none(), min_size=1, max_size=3))]


@examples(4)
@example(["1900/01", "10.1900", "01.1952", None], "csv", {"values": "microaggregate"}, {"dates": ["quarter"]})
@given(
    months(),
    st.sampled_from(["csv", "parquet"]),
    st.sampled_from(
        [
            {},
            {"bounds_as": "columns"},
            {"bounds": "snapped"},
            {"values": "microaggregate"},
        ]
    ),
    st.sampled_from([None, {"dates": ["quarter", "decade"]}]),
)
def test_any_months_are_published_verified_and_measured(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str | None],
    ending: str,
    output: dict[str, str],
    tree: dict[str, Any] | None,
) -> None:
    folder = tmp_path_factory.mktemp("months")
    table = pl.DataFrame({"born": texts, "kept": ["x"] * len(texts)})
    raw = folder / f"raw.{ending}"
    table.write_csv(raw) if ending == "csv" else table.write_parquet(raw)
    column = {"role": "quasi", **({"hierarchy": tree} if tree else {}), "grid": 5}
    recipe = Recipe.from_dict(
        {
            "input": {"path": str(raw)},
            "columns": {"born": column, "kept": {"role": "keep"}},
            "privacy": {"k": 2},
            "output": output,
        }
    )

    release = shoal.anonymize(recipe)
    path = release.write(folder / f"out.{ending}")

    for verdict in (shoal.verify(path, recipe), shoal.verify(path, recipe, original=raw)):
        assert verdict.holds, str(verdict)
    manifest = shoal.Recipe.load(f"{path}.manifest.json")
    assert shoal.verify(path, manifest, original=raw).holds
    if "values" not in output:
        measured = measure_tables(recipe, path, bound=False)
        assert measured["loss"]["gcp"] == pytest.approx(release.loss.gcp)


def test_a_range_that_does_not_cover_its_months_is_found(tmp_path: Path) -> None:
    raw = pl.DataFrame({"born": MONTHS})
    raw.write_csv(tmp_path / "raw.csv")
    out = shoal.anonymize(raw, recipe_of({})).write(tmp_path / "out.csv")
    out.write_text(out.read_text().replace("1953-02", "1953-01"))

    verdict = shoal.verify(out, recipe_of({}), original=tmp_path / "raw.csv")

    assert not verdict.holds
    assert "verify.original_match" in [problem.code for problem in verdict.problems]


def test_anatomy_publishes_months_in_iso_form(tmp_path: Path) -> None:
    # Nothing about 10.1952 itself says that it is a month.
    raw = pl.DataFrame({"born": ["10.1952", "09.1953"] * 4, "ill": list("abcdabcd")})
    raw.write_csv(tmp_path / "raw.csv")
    columns = {"born": {"role": "quasi"}, "ill": {"role": "sensitive"}}
    recipe = Recipe.from_dict({"columns": columns, "privacy": {"k": 2}, "method": {"name": "anatomy"}})
    with pytest.warns(shoal.PrivacyWarning):
        release = shoal.anonymize(raw, recipe)
    out = release.write(tmp_path / "out.csv")

    assert set(release.parts[0].frame["born"]) == {"1952-10", "1953-09"}  # type: ignore[arg-type]
    assert shoal.verify(out, recipe, original=tmp_path / "raw.csv").holds


@pytest.mark.parametrize(
    ("texts", "kind", "labels"),
    [
        (
            [f"{1990 + at // 12}-{at % 12 + 1:02}" for at in range(12) for _ in range(20)],
            None,
            ["before 1990-02", *(f"1990-{month:02}" for month in range(2, 12)), "1990-12 and later"],
        ),
        (
            [str(1990 + at) for at in range(6) for _ in range(20)],
            "date",
            ["before 1991", "1991", "1992", "1993", "1994", "1995 and later"],
        ),
    ],
)
def test_charts_show_months_and_years_in_order(texts: list[str], kind: str | None, labels: list[str]) -> None:
    recipe = recipe_of({"kind": kind} if kind else {})
    (column,) = encode(pl.DataFrame({"born": texts}), recipe).columns
    counts = pl.Series(texts).value_counts()["count"].to_numpy()
    scale = scale_of(column, column.numbers.astype(float), counts)  # type: ignore[union-attr]

    assert scale.labels(range(len(scale.edges))) == labels
    release = shoal.anonymize(pl.DataFrame({"born": texts}), recipe)
    assert [cell.label for cell in release.parts[0].profile.columns[0].cells] == labels  # type: ignore[union-attr]


def test_another_tools_months_and_years_are_read(tmp_path: Path) -> None:
    pl.DataFrame({"born": MONTHS}).write_csv(tmp_path / "raw.csv")
    recipe = recipe_of({}, input={"path": str(tmp_path / "raw.csv")})
    (tmp_path / "out.csv").write_text('born\n1952\n"[1953-01, 1953-03["\n01/1960\n1960-03\n')

    measured = measure_tables(recipe, tmp_path / "out.csv", bound=False)

    # A year is 11 months wide, the half-open interval 1 month.
    assert measured["loss"]["gcp"] == pytest.approx((11 + 1) / (4 * 90))


def test_the_manifest_of_days_is_as_before(tmp_path: Path) -> None:
    out = released(DAYS).write(tmp_path / "out.csv")

    manifest = json.loads(Path(f"{out}.manifest.json").read_text())
    assert manifest["kinds"] == {"born": {"kind": "date", "found": True}}
    assert manifest["recipe"]["columns"] == {"born": {"role": "quasi"}}
