"""One release, rewritten as other tools would write it, loses the same to the last digit."""

import csv
import random
import re
from datetime import date, timedelta

import polars as pl
import pytest

import shoal
from shoal.recipe import Recipe
from shoal.workflow.measure import measure_tables

JOBS = {"any job": {"care": ["nurse", "doctor"], "office": ["clerk", "lawyer"], "craft": ["baker"]}}
RANGE = re.compile(r"\[(.+), (.+)\]")
QUASI = ["age", "height", "born", "zip", "job", "sex"]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A raw table, its recipe, and its release: four rows without an age are suppressed."""
    folder = tmp_path_factory.mktemp("same")
    draw = random.Random(20060911)
    table = {
        "age": [None] * 4 + [draw.randint(18, 90) for _ in range(76)],
        "height": [round(draw.uniform(150, 200), 1) for _ in range(80)],
        "born": [date(2020, 1, 1) + timedelta(days=draw.randint(0, 400)) for _ in range(80)],
        "zip": [
            f"{draw.choice(['10', '11', '80'])}{draw.randint(1, 3)}{draw.randint(0, 9)}0" for _ in range(80)
        ],
        "job": [draw.choice(["nurse", "doctor", "clerk", "lawyer", "baker"]) for _ in range(80)],
        "sex": [draw.choice("fm") for _ in range(80)],
        "ill": [draw.choice("abcdef") for _ in range(80)],
    }
    pl.DataFrame(table).write_csv(folder / "raw.csv")
    recipe = Recipe.from_dict(
        {
            "input": {"path": str(folder / "raw.csv")},
            "columns": {
                **{name: {"role": "quasi"} for name in QUASI},
                "zip": {"role": "quasi", "hierarchy": {"prefix": 1}},
                "job": {"role": "quasi", "hierarchy": JOBS, "weight": 0.9},
                "sex": {"role": "quasi", "weight": 0.5},
                "ill": {"role": "sensitive"},
            },
            "privacy": {"k": 4, "missing": "suppress", "max_suppressed": 0.1},
            "method": {"name": "mondrian"},
        }
    )
    release = shoal.anonymize(recipe, bound=False)
    path = release.write(folder / "own.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 76
    assert any("*" in row["zip"] for row in rows)
    assert any(row["sex"] == "{f, m}" for row in rows)
    assert {"*", "care"} <= {row["job"] for row in rows}
    return folder, recipe, rows, measure_tables(recipe, path, bound=False)


def step(end, by):
    """The whole number or day that is `by` after another."""
    if "-" in end:
        return str(date.fromisoformat(end) + timedelta(days=by))
    return str(int(end) + by)


def rewritten(rows, spell):
    """The rows with every range spelled anew: `spell` gets the column and both ends."""
    found = []
    for row in rows:
        cells = dict(row)
        for name in ("age", "height", "born"):
            ends = RANGE.fullmatch(row[name])
            if ends:
                cells[name] = spell(name, *ends.groups())
        found.append(cells)
    return found


def in_columns(rows, changes):
    """The rows with some labels of some columns replaced."""
    return [{name: changes.get((name, cell), cell) for name, cell in row.items()} for row in rows]


def write(path, rows, *, separator=",", row_numbers=False):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        names = list(rows[0])
        writer.writerow([""] * row_numbers + names)
        for number, row in enumerate(rows):
            writer.writerow([number] * row_numbers + [row[name] for name in names])
    return path


def arx(folder, rows):
    """Half-open intervals, the root by its own name, suppressed rows as stars, semicolons."""

    def spell(name, low, high):
        return f"[{low}, {high if name == 'height' else step(high, 1)}["

    stars = [{**dict.fromkeys(QUASI, "*"), "ill": "a"} for _ in range(4)]
    named = in_columns(rewritten(rows, spell), {("job", "*"): "any job", ("sex", "{f, m}"): "{m, f}"})
    return write(folder / "arx.csv", named + stars, separator=";")


def sdcmicro(folder, rows):
    """Labels of R's `cut`, `NA` for what is suppressed, row numbers."""

    def spell(name, low, high):
        return f"[{low},{high}]" if name == "height" else f"({step(low, -1)},{high}]"

    lost = {("job", "*"): "NA", ("zip", "*"): "NA", ("sex", "{f, m}"): "NA"}
    return write(folder / "sdcmicro.csv", in_columns(rewritten(rows, spell), lost), row_numbers=True)


def anjana(folder, rows):
    """Half-open intervals with a round bracket, stars, the index of pandas."""

    def spell(name, low, high):
        return f"[{low}, {high})" if name == "height" else f"[{low}, {step(high, 1)})"

    lost = {("sex", "{f, m}"): "*", ("zip", "*"): "*****"}
    return write(folder / "anjana.csv", in_columns(rewritten(rows, spell), lost), row_numbers=True)


def pycanon(folder, rows):
    """Ages with a dash or a threshold."""
    ages = [int(end) for row in rows for end in re.findall(r"\d+", row["age"])]

    def spell(name, low, high):
        if name != "age":
            return f"[{low},{high}]"
        if int(high) == max(ages):
            return f">={low}"
        return f"<{step(high, 1)}" if int(low) == min(ages) else f"{low}-{high}"

    return write(folder / "pycanon.csv", in_columns(rewritten(rows, spell), {("sex", "{f, m}"): "*"}))


@pytest.mark.parametrize(
    ("writer", "style"),
    [
        (arx, "half-open interval"),
        (sdcmicro, "half-open interval"),
        (anjana, "half-open interval"),
        (pycanon, "threshold"),
    ],
)
def test_a_release_measures_the_same_in_the_style_of_another_tool(released, writer, style):
    folder, recipe, rows, own = released
    found = measure_tables(recipe, writer(folder, rows), bound=False)
    assert style in {one["style"] for one in found["read_as"]["age"]}
    assert own["read_as"] == {}
    assert own["suppressed"] == 4
    for key in ("k", "classes", "suppressed", "loss", "measures", "risk"):
        assert found[key] == own[key]
