"""Defects found in other tools, each as a test that shoal does not have it; docs/trust.md lists them."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from itertools import combinations
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import HierarchyError, InfeasibleError, PrivacyWarning
from shoal.recipe import Recipe
from shoal.verifier import verify_table
from shoal.workflow.measure import measure_tables

SOURCES = sorted((Path(shoal.__file__).parent).rglob("*.py"))
# The methods that work cell by cell as well; the contract suite runs these tables' like through all methods.
METHODS = ("local-search", "k-member", "mondrian")


def released(data, recipe=None, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return shoal.anonymize(data, recipe, bound=False, **how)


def verdict_on(columns, k=2, **roles):
    changes = {"privacy": {"goal": roles.pop("goal", [])}}
    recipe = Recipe.from_roles(**roles, k=k, changes=changes)
    return verify_table(pl.DataFrame(columns).to_arrow(), recipe)


def class_sizes(frame, names):
    return Counter(frame.select(names).rows())


# --- Missing values ---


@pytest.mark.parametrize("cell_rows", [None, 10], ids=["whole", "cells"])
@pytest.mark.parametrize("method", METHODS)
def test_a_row_without_a_number_is_generalized_like_any_other(method, cell_rows):
    """mosaicrown: such rows fall on neither side of a cut and go out with their raw values."""
    ages = [float("nan") if i in (3, 17) else 20.0 + i for i in range(40)]
    table = pd.DataFrame({"age": ages, "zip": [10_000.0 + 7 * i for i in range(40)]})
    recipe = Recipe.from_roles(
        quasi=["age", "zip"], k=2, changes={"method": {"name": method}, "engine": {"cell_rows": cell_rows}}
    )
    release = released(table, recipe)
    frame = release.frame
    assert (release.released, frame.height) == (40, 40)
    assert min(class_sizes(frame, ["age", "zip"]).values()) >= 2
    # No zip repeats in the table, so none may go out as it is.
    assert not set(frame["zip"]) & {f"{10_000 + 7 * i}" for i in range(40)}


def test_no_row_vanishes_with_its_missing_value():
    """anonypy: of 40 rows, the 3 without an age are not in the result."""
    table = pd.DataFrame({"age": [None if i < 3 else 20 + i % 5 for i in range(40)], "n": [1] * 40})
    for missing in (float("nan"), None, pd.NA):
        given = table.assign(age=table["age"].astype(object).where(table["age"].notna(), missing))
        release = released(given, quasi=["age"], keep=["n"], k=3, method="mondrian")
        assert (release.released, release.suppressed, len(release.table)) == (40, 0, 40)


def test_a_missing_value_is_a_value_when_k_is_counted():
    """pyCANON with one quasi-identifier, and SDC4Society: rows without a value are not counted at all."""
    verdict = verdict_on({"age": ["30", "30", "30", None]}, quasi=["age"])
    assert (verdict.k, verdict.holds) == (1, False)
    verdict = verdict_on({"age": ["30"] * 3 + [None], "sex": ["f"] * 4}, quasi=["age", "sex"])
    assert (verdict.k, verdict.holds) == (1, False)


def test_a_missing_value_is_a_value_when_the_raw_table_is_measured(tmp_path):
    """SDC4Society: `get_k_anonymity` says 2 where one row alone has no value."""
    (tmp_path / "raw.csv").write_text("age,sex\n30,f\n30,f\n,f\n", encoding="utf-8")
    recipe = Recipe.from_roles(
        quasi=["age", "sex"], k=2, changes={"input": {"path": str(tmp_path / "raw.csv")}}
    )
    assert measure_tables(recipe, None)["raw"]["k"] == 1


# --- Promises ---


@pytest.mark.parametrize("method", METHODS)
def test_a_small_part_of_the_table_is_not_released_as_it_is(method):
    """mosaicrown: a fragment of 2 rows with 1 value is kept intact, whatever k and l are."""
    # Two rows far away from all others, with one illness: a cut between cells would leave them alone.
    table = pl.DataFrame({"age": [*range(38), 1000, 1000], "ill": ["flu", "cold"] * 19 + ["gout", "gout"]})
    goal = {"type": "l-diversity", "variant": "distinct", "column": "ill", "l": 2}
    recipe = Recipe.from_roles(
        quasi=["age"],
        sensitive=["ill"],
        k=5,
        changes={
            "privacy": {"goal": [goal]},
            "method": {"name": method},
            "engine": {"cell_rows": 20},
            "columns": {"ill": {"accept": ["recoverable"]}},
        },
    )
    frame = released(table, recipe).frame
    classes = frame.group_by("age").agg(pl.len(), pl.col("ill").n_unique().alias("ills"))
    assert frame.height == 40
    assert classes["len"].min() >= 5
    assert classes["ills"].min() >= 2


@pytest.mark.parametrize("t", [0.01, 0.1, 0.3, 0.49])
def test_t_stays_what_was_asked_for(t):
    """anonypy: a loop variable overwrites t, so a class with one value is accepted for any t."""
    table = {"age": ["1"] * 4 + ["2"] * 4, "ill": ["flu"] * 4 + ["cold"] * 4}
    goal = {"type": "t-closeness", "column": "ill", "t": t}
    verdict = verdict_on(table, quasi=["age"], sensitive=["ill"], goal=[goal])
    assert not verdict.holds
    assert [g.achieved for g in verdict.goals if g.type == "t-closeness"] == [0.5]
    goal["t"] = 0.5
    assert verdict_on(table, quasi=["age"], sensitive=["ill"], goal=[goal]).holds


@pytest.mark.parametrize("method", ["threshold", "incognito", "kaca"])
def test_the_limit_of_suppressed_rows_holds_for_all_goals_together(method):
    """anjana: k, then l, then t are reached one after another, each with a full budget of suppressed rows."""
    # Of 40 rows, 2 lack a town, 3 are alone in theirs, and 3 share a town and an illness: 8 in all.
    towns = [None] * 2 + ["a", "b", "c"] + ["d"] * 3 + ["e", "f", "g"] * 10 + ["e", "f"]
    ills = ["flu", "cold"] * 2 + ["flu"] * 4 + ["cold", "flu"] * 16
    tree = {"any": {"x": ["a", "b", "c"], "y": ["d", "e"], "z": ["f", "g"]}}
    goal = {"type": "l-diversity", "variant": "distinct", "column": "ill", "l": 2}
    recipe = Recipe.from_roles(
        quasi=["town"],
        sensitive=["ill"],
        k=3,
        changes={
            "privacy": {"goal": [goal], "missing": "suppress", "max_suppressed": 0.1},
            "method": {"name": method},
            "columns": {"ill": {"accept": ["recoverable"]}, "town": {"hierarchy": tree}},
        },
    )
    release = released(pl.DataFrame({"town": towns, "ill": ills}), recipe)
    assert release.released + release.suppressed == 40
    assert release.suppressed == {"threshold": 4, "incognito": 2, "kaca": 2}[method]  # 4 are allowed
    classes = release.frame.group_by("town").agg(pl.len(), pl.col("ill").n_unique().alias("ills"))
    assert classes.select(pl.col("len", "ills").min()).row(0) >= (3, 2)


def test_what_cannot_be_met_is_an_error_and_not_an_empty_table():
    """anjana: prints a line and returns a table without rows."""
    table = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["flu"] * 4})
    with pytest.raises(InfeasibleError) as error:
        released(table, quasi=["age"], sensitive=["ill"], k=2, goals=["l-diversity column=ill l=2"])
    assert error.value.code == "infeasible.goal"


@pytest.mark.parametrize("method", METHODS)
def test_every_set_of_quasi_columns_has_classes_of_k(method):
    """sdcMicro: with `combs`, combinations are handled one after another, and some can be missed."""
    table = pl.DataFrame(
        {
            "age": [i * 7 % 30 for i in range(60)],
            "sex": ["f", "m", "x"] * 20,
            "zip": [i * i % 50 for i in range(60)],
        }
    )
    frame = released(table, quasi=["age", "sex", "zip"], k=4, method=method).frame
    sets = [names for size in (1, 2, 3) for names in combinations(frame.columns, size)]
    assert len(sets) == 7
    assert min(min(class_sizes(frame, list(names)).values()) for names in sets) >= 4


# --- What goes out with the release ---


def test_suppression_adds_no_column_of_row_numbers():
    """anjana: after suppression, a column `index` has the number of each row in the input."""
    table = pd.DataFrame(
        {"age": [None, *range(20, 39)], "ill": ["flu", "cold"] * 10}, index=[f"secret {i}" for i in range(20)]
    )
    recipe = Recipe.from_roles(
        quasi=["age"],
        sensitive=["ill"],
        k=2,
        changes={"privacy": {"missing": "suppress", "max_suppressed": 0.1}, "method": {"name": "mondrian"}},
    )
    release = released(table, recipe)
    assert release.suppressed == 1
    assert list(release.table.columns) == ["age", "ill"]
    assert list(release.table.index) == list(range(19))


def test_a_written_file_does_not_keep_the_order_of_the_input(tmp_path):
    """ARX: `save` of the library writes rows in the order of the input."""
    table = pl.DataFrame(
        {"age": [(7 * i) % 20 for i in range(40)], "ill": ["flu", "cold", "gout", "gout"] * 10}
    )
    orders = (table, table.reverse(), table.sample(fraction=1.0, shuffle=True, seed=1))
    texts = []
    for at, given in enumerate(orders):
        folder = tmp_path / str(at)
        folder.mkdir()
        release = released(given, quasi=["age"], sensitive=["ill"], k=2, method="mondrian")
        texts.append(release.write(folder / "out.csv").read_bytes())
    assert texts[0] == texts[1] == texts[2]
    rows = texts[0].decode().splitlines()[1:]
    assert rows == sorted(rows)  # also within a class


# --- Data is not code ---


def test_a_category_that_the_hierarchy_lacks_is_named_by_column_and_number():
    """anjana: a bare `KeyError: 'age'`."""
    table = pl.DataFrame({"city": ["Rome", "Oslo", "Bern", "Bern"]})
    with pytest.raises(HierarchyError) as error:
        released(
            table, quasi=["city"], k=2, hierarchies={"city": {"any": {"north": ["Oslo"], "south": ["Rome"]}}}
        )
    assert error.value.code == "hierarchy.uncovered"
    assert "`city`" in error.value.message
    assert "1 " in error.value.message
    assert "Bern" not in str(error.value)


EVIL = "'); DROP TABLE released; --"


def test_quotes_in_values_and_names_reach_no_query(tmp_path):
    """mosaicrown: SQL is put together from categories; PostgreSQL Anonymizer: from names without quotes."""
    names = ["Age", "age", 'a"b', "select", EVIL]
    values = ["O'Brien", 'say "x"', EVIL, "a\\'b", "{a, b}"]
    table = pl.DataFrame(
        {name: [values[(i // 2 + at) % 5] for i in range(40)] for at, name in enumerate(names)}
    )
    accept = {EVIL: ["duplicate"]}
    release = released(table, quasi=names[:4], sensitive=[EVIL], k=2, method="mondrian", accept=accept)
    release.write(tmp_path / "out.csv")
    verdict = shoal.verify(tmp_path / "out.csv", Recipe.load(tmp_path / "out.csv.manifest.json"))
    assert verdict.holds
    assert (verdict.rows, verdict.k) == (40, release.k)


@pytest.mark.parametrize("ending", ["json", "toml", "csv"])
def test_a_hierarchy_that_looks_like_code_is_text(tmp_path, ending):
    """SDC4Society: hierarchies in JSON are given to `eval`; mosaicrown does so with logs of cuts."""
    trap = f"__import__('pathlib').Path('{tmp_path / 'ran'}').touch()"
    texts = {
        "json": f'{{"lambda x: {trap}": {{"north": ["Oslo"], "south": ["Rome"]}}}}',
        "toml": f'["lambda x: {trap}"]\nnorth = ["Oslo"]\nsouth = ["Rome"]\n',
        "csv": f"Oslo;north;{trap}\nRome;south;{trap}\n",
    }
    tree = tmp_path / f"tree.{ending}"
    tree.write_text(texts[ending], encoding="utf-8")
    table = pl.DataFrame({"city": ["Oslo", "Rome"] * 2})
    release = released(table, quasi=["city"], k=4, hierarchies={"city": tree})
    assert release.table["city"].unique().to_list() == ["*"]
    assert not (tmp_path / "ran").exists()


RUNS_CODE = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "pickle",
    "marshal",
    "shelve",
    "dill",
    "cloudpickle",
    "yaml",
}


def code_runners(source: str) -> set[str]:
    """Return what a source calls or imports that could run data as code; `re.compile` is no such thing."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
        elif isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found & RUNS_CODE


def test_nothing_that_is_read_is_run():
    assert len(SOURCES) > 100
    assert [path.name for path in SOURCES if code_runners(path.read_text(encoding="utf-8"))] == []
    assert code_runners("import pickle, re\nre.compile('a')\nx = eval('1')") == {"pickle", "eval"}
