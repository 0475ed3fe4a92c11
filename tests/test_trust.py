"""Every pitfall on docs/trust.md has a test; here are those that belong to no single part of shoal."""

from __future__ import annotations

import ast
import re
import warnings
from datetime import date
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import PrivacyWarning
from shoal.recipe import Recipe
from tests.profiles import examples

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
ELSEWHERE = {25}  # lines whose tests come with another part of shoal
METHODS = ("local-search", "k-member", "mondrian", "kaca", "cb")


def released(data, recipe=None, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return shoal.anonymize(data, recipe, bound=False, **how)


# --- The page ---


def rows_of(heading):
    """The cells of the table under a heading, without its first two lines."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def named_in(text):
    return re.findall(r"`([\w/]+\.py)::(test_\w+)`", text)


def defined(path):
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_every_test_on_the_page_exists():
    named = named_in(PAGE)
    assert len(named) > 80
    missing = [
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / "tests" / file).is_file() or name not in defined(ROOT / "tests" / file)
    ]
    assert missing == []


def test_every_line_of_the_page_names_a_test():
    pitfalls, defects = rows_of("Pitfalls"), rows_of("Defects of other tools")
    assert [int(row[0]) for row in pitfalls] == [n for n in range(1, 36) if n not in ELSEWHERE]
    assert len(defects) >= 13
    assert [row for row in pitfalls + defects if len(row) != 4 or not named_in(row[3])] == []


def test_a_test_that_is_not_there_is_found():
    assert named_in("`test_trust.py::test_none` and `a/test_b.py::test_c`") == [
        ("test_trust.py", "test_none"),
        ("a/test_b.py", "test_c"),
    ]
    assert "test_none" not in defined(Path(__file__))
    assert "test_a_test_that_is_not_there_is_found" in defined(Path(__file__))


# --- Missing values (1) ---

CELLS = {
    "number": st.sampled_from([1.0, 2.0, 30.0, float("nan"), None]),
    "text": st.sampled_from(["a", "b", "NA", "", None]),
    "day": st.sampled_from([date(2000, 1, 1), date(2010, 5, 5), pd.NaT, None]),
}


@given(
    rows=st.lists(st.tuples(*CELLS.values()), min_size=3, max_size=12),
    policy=st.sampled_from(["category", "suppress"]),
    method=st.sampled_from(METHODS),
)
def test_no_row_is_lost_or_released_raw_whatever_is_missing(rows, policy, method):
    """Rows in are rows released and rows suppressed, and every released row has k - 1 equals."""
    table = pd.DataFrame({name: pd.Series([row[at] for row in rows], dtype=object)
                          for at, name in enumerate(CELLS)})  # fmt: skip
    table["number"] = table["number"].astype(float)
    table["day"] = pd.to_datetime(table["day"])
    changes = {
        "input": {"missing": ["", "NA"]},
        "privacy": {"missing": policy, "max_suppressed": 1.0 if policy == "suppress" else 0.0},
        "method": {"name": method},
    }
    recipe = Recipe.from_roles(quasi=list(CELLS), k=3, changes=changes)
    gone = ("NA", "")
    whole = sum(row[0] == row[0] and row[0] is not None and row[1] not in (*gone, None)
                and row[2] is not None and row[2] is not pd.NaT for row in rows)  # fmt: skip
    if policy == "suppress" and whole < 3:
        with pytest.raises(shoal.ShoalError):
            released(table, recipe)
        return
    release = released(table, recipe)
    frame = release.frame
    assert release.released + release.suppressed == len(rows)
    assert frame.height == release.released == (whole if policy == "suppress" else len(rows))
    assert frame.group_by(frame.columns).len()["len"].min() >= 3
    if policy == "suppress":
        assert frame.null_count().sum_horizontal().item() == 0


# --- Overlapping classes (7) ---


def covers(text, value):
    """Whether a published text covers a number."""
    low, _, high = text.strip("[]").partition(", ")
    return float(low) <= value <= float(high or low)


@examples(4)
@pytest.mark.parametrize("method", METHODS)
@given(people=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=8, max_size=16))
def test_who_fits_several_classes_has_no_fewer_candidates_than_k(method, people):
    """An attacker takes every row whose ranges contain a person, not only those of one class."""
    table = pl.DataFrame(people, schema=["a", "b"], orient="row")
    ills = ["flu" if at % 2 else "cold" for at in range(table.height)]
    table = table.with_columns(ill=pl.Series(ills))
    goal = {"type": "l-diversity", "variant": "distinct", "column": "ill", "l": 2}
    changes = {
        "privacy": {"goal": [goal]} if method != "cb" else {},
        "method": {"name": method},
        "columns": {name: {"kind": "numeric"} for name in "ab"},
    }
    recipe = Recipe.from_roles(quasi=["a", "b"], sensitive=["ill"], k=3, changes=changes)
    rows = released(table, recipe).frame.rows()
    for a, b in people:
        fitting = [ill for ranges_a, ranges_b, ill in rows if covers(ranges_a, a) and covers(ranges_b, b)]
        assert len(fitting) >= 3
        assert method == "cb" or len(set(fitting)) == 2


# --- Minimality (17) ---


@examples(4)
@pytest.mark.parametrize("method", METHODS[:4])
@given(ills=st.permutations([*"aaaabbbbccccdddd"]))
def test_without_goals_sensitive_values_do_not_shape_classes(method, ills):
    """What is published of the quasi columns is the same whoever has which illness."""
    table = pl.DataFrame(
        {"age": [i * 7 % 16 // 2 for i in range(16)], "zip": [i * i % 11 for i in range(16)]}
    )

    def published(values):
        given = table.with_columns(ill=pl.Series(values))
        frame = released(given, quasi=["age", "zip"], sensitive=["ill"], k=3, method=method, seed=1).frame
        return sorted(frame.select("age", "zip").rows())

    assert published(ills) == published([*"aaaabbbbccccdddd"])


@pytest.mark.parametrize("goals", [[], ["l-diversity column=ill l=2"]], ids=["k", "goal"])
def test_the_report_says_what_knowledge_of_the_method_reveals(tmp_path, goals):
    table = pl.DataFrame({"age": [i // 2 for i in range(16)], "ill": ["flu", "cold"] * 8})
    release = released(table, quasi=["age"], sensitive=["ill"], k=4, goals=goals)
    release.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "An attacker who knows that classes are as narrow as possible" in page
    assert ("minimality attack" in page) is bool(goals)
