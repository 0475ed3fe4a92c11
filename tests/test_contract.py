"""What every method promises, whatever its idea: a new method is held to all of it by being in METHODS."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from datetime import date
from itertools import product
from pathlib import Path
from typing import Literal, get_args, get_origin
from unittest import mock

import numba
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cluster import METHODS
from shoal.engine import local
from shoal.errors import InfeasibleError, RecipeError
from shoal.recipe import Recipe
from shoal.recipe.options import METHODS as SCHEMAS
from shoal.table.encode import encode
from shoal.table.write import write_table
from shoal.workflow.prepare import prepare
from tests.profiles import IS_SLOW, examples, some
from tests.strategies import tables

# A method that makes no classes is left out here, and only here.
NAMES = [name for name, info in METHODS.items() if info.shape.has_classes]
every_method = pytest.mark.parametrize("method", NAMES)
# For what mostly tests the code around the methods, which are alike to it.
some_methods = pytest.mark.parametrize("method", some(NAMES, 3))


def every_method_with(name, values):
    """Every method with each of some values; in `make test` a sixth of all pairs, in which each is."""
    every = 1 if IS_SLOW else min(6, len(values))
    pairs = [(m, v) for i, m in enumerate(NAMES) for j, v in enumerate(values) if (i + j) % every == 0]
    return pytest.mark.parametrize(("method", name), pairs)


AT_MOST_2K_MINUS_1 = {"k-member", "cb"}  # theorem 2 of [byun2007], the end of figure 4 of [he2012]
MAY_SUPPRESS = {"oka", "kaca", "threshold", "incognito"}  # never more than max_suppressed


# Generated tables, with the options that a method takes.

ORDER = ["low", "mid", "high", "top"]
OTHER_KINDS = {
    "flat": ({"kind": "categorical"}, ["x", "y", "z"], pl.String),
    "ordinal": ({"kind": "ordinal", "order": ORDER}, ORDER[:3], pl.String),
    "day": ({"kind": "date"}, [date(1999, 12, 31), date(2000, 1, 1), date(2024, 2, 29)], pl.Date),
}
MORE_OPTIONS = {  # what the types of the options alone do not say
    "k-member": {"label": st.sampled_from([None, "label"])},
    "kaca": {
        "weights": st.sampled_from(["uniform", "height"]),
        "outlier": st.sampled_from([None, 0.0, 0.5]),
    },
}


def options_of(method):
    """Any choice of the method's options: each word, each truth value, default and lowest number."""
    found = {}
    for name, field in METHODS[method].options.model_fields.items():
        if get_origin(field.annotation) is Literal:
            found[name] = st.sampled_from(get_args(field.annotation))
        elif field.annotation is bool:
            found[name] = st.booleans()
        elif field.annotation in (int, float):
            lowest = [rule.ge for rule in field.metadata if hasattr(rule, "ge")]
            found[name] = st.sampled_from([field.default, *lowest])
    return st.fixed_dictionaries({}, optional=found | MORE_OPTIONS.get(method, {}))


@st.composite
def cases(draw, method, **privacy):
    """A table of all kinds of columns and a recipe for it."""
    case = draw(tables(max_rows=40))
    table, sections = case.table, case.recipe.to_dict()
    for name in draw(st.lists(st.sampled_from(sorted(OTHER_KINDS)), unique=True)):
        spec, values, dtype = OTHER_KINDS[name]
        cells = draw(st.lists(st.sampled_from([*values, None]), min_size=len(table), max_size=len(table)))
        table = table.with_columns(pl.Series(name, cells, dtype=dtype))
        sections["columns"][name] = {"role": "quasi", **spec}
    sections["method"] |= {"name": method, "options": draw(options_of(method))}
    sections["privacy"] |= privacy
    return table, Recipe.from_dict(sections)


def people(n_rows):
    """A table with a column of each kind and with rows that stand twice, and the recipe's columns for it."""
    random = np.random.Generator(np.random.PCG64(0))
    land = {"World": {"Asia": ["Iran", "India"], "America": ["Peru"]}}
    columns = {
        "age": ({"kind": "numeric"}, random.integers(20, 80, n_rows)),
        "pay": ({"kind": "numeric", "weight": 2.0}, random.integers(0, 9, n_rows) / 4),
        "flat": ({"kind": "categorical"}, random.choice(["x", "y", "z"], n_rows)),
        "school": ({"kind": "ordinal", "order": ORDER}, random.choice(ORDER, n_rows)),
        "land": ({"hierarchy": land}, random.choice(["Iran", "India", "Peru"], n_rows)),
        "day": ({"kind": "date"}, [date(2000, 1, int(day)) for day in random.integers(1, 31, n_rows)]),
    }
    table = pl.DataFrame({name: values for name, (_, values) in columns.items()})
    table = table[[at % (n_rows - n_rows // 4) for at in range(n_rows)]]
    table = table.with_columns(label=pl.Series(random.choice(["a", "b"], n_rows)))
    specs = {name: {"role": "quasi", **spec} for name, (spec, _) in columns.items()}
    return table, {**specs, "label": {"role": "sensitive"}}


def recipe_for(method, columns, k, **method_keys):
    return Recipe.from_dict(
        {"columns": columns, "privacy": {"k": k}, "method": {"name": method, **method_keys}}
    )


def clusterer(recipe):
    return METHODS[recipe.method.name].make(recipe.privacy.k, recipe.method.seed, recipe.options)


def labels_of(encoded, recipe, progress=None):
    """The result as the engine gives it, which knows how many rows may be left out."""
    return local.run(encoded, recipe, METHODS[recipe.method.name], progress)


# Labels and classes.


def contents(encoded):
    """A copy of all that a clusterer could write into."""
    arrays = [value for column in encoded.columns for value in vars(column).values()]
    arrays += [value for c in encoded.columns if hasattr(c, "tree") for value in vars(c.tree).values()]
    arrays += [encoded.order, encoded.label]
    return [array.tolist() for array in arrays if isinstance(array, np.ndarray)]


def check_labels(table, recipe):
    encoded = encode(table, recipe)
    before = contents(encoded)
    result = labels_of(encoded, recipe)
    k, labels = recipe.privacy.k, result.labels
    sizes = Counter(labels.tolist())

    assert len(labels) == len(table), "a row has no label"
    assert min(sizes) >= 0, "a row is left out, and max_suppressed is 0"
    assert sorted(sizes) == list(range(result.n_classes)), "labels have gaps"
    assert [sizes[label] for label in sorted(sizes)] == result.sizes.tolist()
    assert min(sizes.values()) >= k, "a class is too small"
    if recipe.method.name in AT_MOST_2K_MINUS_1:
        assert max(sizes.values()) <= 2 * k - 1, "a class could be two"
    assert contents(encoded) == before, "the encoded table was changed"


@examples(3)
@every_method
@given(data=st.data())
def test_every_row_is_in_a_class_of_at_least_k_rows(method, data):
    check_labels(*data.draw(cases(method)))


@contextmanager
def threads(number):
    numba.set_num_threads(number)
    try:
        yield
    finally:
        numba.set_num_threads(1)


SMALL = {r"_BLOCK": 4, r"_PARALLEL_FROM": 1, r"_[A-Z]+_(PER_CALL|TIMES_[A-Z]+)": 20}


@contextmanager
def small_steps(recipe):
    """Let a small table take the way of a large one: many calls of the kernel, each of many blocks."""
    module = sys.modules[type(clusterer(recipe)).__module__]
    with ExitStack() as stack:
        for name, (pattern, value) in product(list(vars(module)), SMALL.items()):
            if re.fullmatch(pattern, name):
                stack.enter_context(mock.patch.object(module, name, value))
        yield


def labels_and_shares(encoded, recipe):
    """The labels, found in small steps, and the shares of the work that were told on the way."""
    shares = []

    def tell(share, told=""):
        assert len(shares) < 10_000, "the work does not come to an end"
        shares.append(share)

    with small_steps(recipe):
        return labels_of(encoded, recipe, tell).labels, shares


@examples(3)
@every_method
@given(data=st.data())
def test_threads_and_steps_change_no_label_and_progress_goes_from_0_to_1(method, data):
    table, recipe = data.draw(cases(method))
    encoded = encode(table, recipe)
    with threads(1):
        alone = labels_of(encoded, recipe).labels
    with threads(2):
        together, shares = labels_and_shares(encoded, recipe)

    assert together.tolist() == alone.tolist()
    assert shares, "progress is never told"
    assert shares == sorted(shares), "progress goes back"
    assert 0 <= shares[0] <= shares[-1] <= 1


@every_method
def test_progress_is_told_on_the_way(method):
    table, columns = people(200)
    recipe = recipe_for(method, columns, 4)
    _, shares = labels_and_shares(encode(table, recipe), recipe)
    # Else: name the constant that says how much work is done between two calls as SMALL expects it.
    assert len(set(shares)) > 1, f"only {shares}"


def tagged(table, recipe):
    """The same with a number on every row, so that a row can be told from its equals and found again."""
    sections = recipe.to_dict()
    sections["columns"]["row"] = {"role": "keep", "accept": ["unique"]}
    return table.with_columns(row=pl.Series(range(len(table)), dtype=pl.Int64)), Recipe.from_dict(sections)


@examples(3)
@every_method
@given(data=st.data(), random=st.randoms(use_true_random=False))
def test_fit_predict_labels_the_rows_of_the_input(method, data, random):
    table, recipe = tagged(*data.draw(cases(method)))
    order = random.sample(range(len(table)), len(table))
    encoded = encode(table, recipe)
    made = clusterer(recipe)
    labels = made.fit_predict(encoded)
    elsewhere = clusterer(recipe).fit_predict(encode(table[order], recipe))

    assert labels[encoded.order].tolist() == made.fit(encoded).labels.tolist()
    assert elsewhere.tolist() == labels[order].tolist(), "labels do not follow their rows"


# Releases.


def parents_of(nested, above=None):
    """The parent of each node of nested tables."""
    if isinstance(nested, list):
        return dict.fromkeys(nested, above)
    found = dict.fromkeys(nested, above)
    for node, below in nested.items():
        found |= parents_of(below, node)
    return found


def position(text, column):
    """Where a value stands on the line of its column."""
    if column.kind == "ordinal":
        return column.order.index(text)
    return date.fromisoformat(text) if column.kind == "date" else float(text)


def stands_for(text, value, column):
    """Whether a published text covers a raw value, read here by the contract's own words."""
    if text == "*":
        return True
    if text is None or value is None:
        return text is None and value is None
    value = str(value)
    if text.startswith("["):
        low, high = text[1:-1].split(", ")
        return position(low, column) <= position(value, column) <= position(high, column)
    if text.startswith("{"):
        return value in text[1:-1].split(", ")
    if column.hierarchy is None and column.kind != "categorical":
        return position(text, column) == position(value, column)
    parent = parents_of(column.hierarchy or {})
    while value is not None and value != text:
        value = parent.get(value)
    return value == text


@pytest.mark.parametrize(
    ("text", "value", "spec", "expected"),
    [
        ("[1, 3]", 3, {"kind": "numeric"}, True),
        ("[1, 3]", 4, {"kind": "numeric"}, False),
        ("10", 9, {"kind": "numeric"}, False),
        ("[low, mid]", "high", {"kind": "ordinal", "order": ORDER}, False),
        ("[low, high]", "mid", {"kind": "ordinal", "order": ORDER}, True),
        ("[1999-12-31, 2000-01-01]", date(2000, 1, 2), {"kind": "date"}, False),
        ("{x, y}", "z", {"kind": "categorical"}, False),
        ("Asia", "Iran", {"hierarchy": {"World": {"Asia": ["Iran"], "America": {}}}}, True),
        ("America", "Iran", {"hierarchy": {"World": {"Asia": ["Iran"], "America": {}}}}, False),
        (None, "x", {"kind": "categorical"}, False),
        ("x", None, {"kind": "categorical"}, False),
        ("*", None, {"kind": "numeric"}, True),
        (None, None, {"kind": "numeric"}, True),
    ],
)
def test_the_reader_of_published_texts_can_tell(text, value, spec, expected):
    recipe = Recipe.from_dict({"columns": {"q": {"role": "quasi", **spec}}, "privacy": {"k": 2}})
    assert stands_for(text, value, recipe.columns["q"]) is expected


def check_release(table, recipe):
    """Find each released row's original by its number, and compare; return the originals' numbers."""
    table, recipe = tagged(table, recipe)
    release = shoal.anonymize(table, recipe)
    rows = release.frame.rows(named=True)
    originals = table.rows(named=True)
    sizes = Counter(tuple(row[name] for name in recipe.quasi) for row in rows)

    assert release.frame.columns == table.columns
    assert min(sizes.values()) == release.k >= recipe.privacy.k, "a published class is too small"
    assert len(sizes) == release.classes
    assert len(table) == release.rows == release.released + release.suppressed
    assert len({row["row"] for row in rows}) == len(rows) == release.released, "a row was released twice"
    assert release.suppressed <= recipe.privacy.max_suppressed * len(table), "too many rows are left out"
    for row in rows:
        original = originals[row["row"]]
        assert row["label"] == original["label"], "a sensitive value went to another row"
        for name in recipe.quasi:
            assert stands_for(row[name], original[name], recipe.columns[name]), f"{name} does not cover"
    return {row["row"] for row in rows}


@examples(3)
@every_method
@given(data=st.data())
def test_published_values_cover_the_originals_and_no_row_is_lost(method, data):
    table, recipe = data.draw(cases(method))
    assert check_release(table, recipe) == set(range(len(table)))


@examples(3)
@every_method
@given(data=st.data(), missing=st.sampled_from(["category", "suppress"]), share=st.sampled_from([0.25, 1.0]))
def test_rows_are_left_out_only_as_asked(method, data, missing, share):
    table, recipe = data.draw(cases(method, missing=missing, max_suppressed=share))
    whole = set(range(len(table)))
    if missing == "suppress":
        whole = {at for at, row in enumerate(table.select(recipe.quasi).rows()) if None not in row}
    too_many = len(table) - len(whole) > share * len(table)
    if too_many or len(whole) < recipe.privacy.k:
        with pytest.raises(InfeasibleError) as caught:
            check_release(table, recipe)
        assert caught.value.code == ("infeasible.suppression" if too_many else "infeasible.rows")
    else:
        released = check_release(table, recipe)
        assert released <= whole if method in MAY_SUPPRESS else released == whole


@examples(3)
@every_method
@given(data=st.data(), random=st.randoms(use_true_random=False))
def test_any_order_of_the_rows_gives_the_same_bytes(tmp_path_factory, method, data, random):
    table, recipe = data.draw(cases(method))
    order = random.sample(range(len(table)), len(table))
    path = tmp_path_factory.mktemp("order") / "out.csv"
    written, manifests = [], []
    for given_table in (table, table[order]):
        release = prepare(given_table, recipe)
        write_table(release.frame, path)
        written.append(path.read_bytes())
        manifests.append(release.manifest(""))
    assert written[0] == written[1]
    assert manifests[0] == manifests[1]


def files_of_all_methods(folder):
    """Release one table by every method; return the texts of the files."""
    table, columns = people(60)
    for method in NAMES:
        recipe = recipe_for(method, columns, 4, seed=7)
        with suppress(Exception):  # what is wrong with one method must not hide the others
            shoal.anonymize(table, recipe).write(Path(folder) / f"{method}.csv")
    return {file.name: file.read_text(encoding="utf-8") for file in Path(folder).iterdir()}


@pytest.fixture(scope="module")
def files_of_another_process(tmp_path_factory):
    """One process for all methods: other hashes, one thread of Numba, and more of Polars than here."""
    script = "import json, sys; from tests.test_contract import files_of_all_methods as made; "
    script += "print(json.dumps(made(sys.argv[1])))"
    alone = {"PYTHONHASHSEED": "1", "POLARS_MAX_THREADS": "3", "NUMBA_NUM_THREADS": "1"}
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, tmp_path_factory.mktemp("there")],
        env={**os.environ, **alone}, cwd=Path(__file__).parents[1], check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    return json.loads(finished.stdout)


@pytest.fixture(scope="module")
def files_of_this_process(tmp_path_factory):
    with threads(2):
        return files_of_all_methods(tmp_path_factory.mktemp("here"))


@every_method
def test_the_same_seed_gives_the_same_bytes_in_another_process(
    method, files_of_this_process, files_of_another_process
):
    for name in (f"{method}.csv", f"{method}.csv.manifest.json"):
        assert files_of_this_process[name] == files_of_another_process[name]


# Shapes of tables that are easily forgotten. Each column: its values, and what the recipe says about it.

NUMERIC, DATE, FLAT = {"kind": "numeric"}, {"kind": "date"}, {"kind": "categorical"}
ORDINAL = {"kind": "ordinal", "order": ORDER}
ONE_NODE = {"hierarchy": {"only": {}}}
UNEVEN = {"hierarchy": {"n0": {"n1": {}, "n2": {"n3": {}, "n4": {"n5": {"n6": {}}, "n7": {}}}}}}
DAYS = ["2024-02-29", "1582-10-15", "0001-01-01", "9999-12-31", "2024-02-29", "2024-03-01"]
SHAPES = {
    "one numeric column": (2, {"q": ([3, 1, 2, 5, 4, 9, 7], NUMERIC)}),
    "fractions and signs": (2, {"q": ([-1.5, 0.0, -0.0, 2.25, 1e-9, -3.0], NUMERIC)}),
    "the widest numbers": (2, {"q": ([-1e308, 1e308, 0.0, 1e308, -1e308, 5.0], NUMERIC)}),
    "one interval tree": (2, {"q": ([20, 24, 31, 39, 7, 55], {"hierarchy": {"intervals": [5, 10]}})}),
    "one flat column": (2, {"q": (list("xyzxyxz"), FLAT)}),
    "all flat values differ": (3, {"q": (list("abcdefgh"), FLAT)}),
    "one ordinal column": (2, {"q": (["low", "top", "mid", "mid", "top"], ORDINAL)}),
    "one date column": (2, {"q": (DAYS, DATE)}),
    "one uneven tree": (2, {"q": (["n1", "n3", "n6", "n7", "n6", "n1", "n3"], UNEVEN)}),
    "one tree of one node": (2, {"q": (["only"] * 5, ONE_NODE)}),
    "one node, some missing": (2, {"q": (["only", None, "only", None, "only"], ONE_NODE)}),
    "one node, one missing": (3, {"q": ([None, *["only"] * 6], ONE_NODE)}),
    "all rows equal": (3, {"n": ([7] * 8, NUMERIC), "t": (["n6"] * 8, UNEVEN), "f": (["x"] * 8, FLAT)}),
    "one constant column": (2, {"c": ([7] * 6, NUMERIC), "n": ([1, 2, 3, 4, 5, 6], NUMERIC)}),
    "constant columns of all kinds but one": (
        2,
        {
            "n": ([1] * 5, NUMERIC), "o": (["mid"] * 5, ORDINAL), "d": (["2000-01-01"] * 5, DATE),
            "t": (["n7"] * 5, UNEVEN), "f": (list("xyxyx"), FLAT),
        },
    ),
    "one column, all missing": (2, {"q": ([None] * 5, NUMERIC)}),
    "columns of all kinds, all missing": (
        2,
        {
            "n": ([None] * 5, NUMERIC), "o": ([None] * 5, ORDINAL), "d": ([None] * 5, DATE),
            "t": ([None] * 5, UNEVEN), "f": ([None] * 5, FLAT), "1": ([None] * 5, ONE_NODE),
        },
    ),
    "one column all missing beside others": (
        2, {"m": ([None] * 6, NUMERIC), "n": ([1, 2, 3, 7, 8, 9], NUMERIC), "t": (["n1", "n3"] * 3, UNEVEN)},
    ),
    "some missing in every column": (
        2,
        {
            "n": ([1, None, 3, 4, None, 6], NUMERIC),
            "o": (["low", None, None, "top", "mid", "low"], ORDINAL),
            "d": ([None, *DAYS[:4], None], DATE),
            "t": (["n1", "n3", None, "n6", None, None], UNEVEN),
            "f": (["x", None, "x", "y", None, "z"], FLAT),
        },
    ),
    "one value, the rest missing": (3, {"q": ([5, *[None] * 6], NUMERIC)}),
    "k above the distinct tuples": (4, {"n": ([1, 1, 1, 9, 9, 9, 9], NUMERIC), "f": (list("xxxyyyy"), FLAT)}),
    "k far above the distinct tuples": (9, {"n": ([1, 2, 3] * 9, NUMERIC)}),
    "one outlier": (3, {"n": ([1, 1, 1, 1, 1, 1, 10**15], NUMERIC)}),
    "the widest weights": (
        2,
        {
            "n": ([1, 2, 3, 4, 5, 6], NUMERIC | {"weight": 1000.0}),
            "d": (DAYS, DATE | {"weight": 0.001}),
            "t": (["n1", "n3", "n6", "n7", "n3", "n1"], UNEVEN | {"weight": 3.0}),
        },
    ),
}  # fmt: skip


def check_all(table, recipe):
    check_labels(table, recipe)
    assert check_release(table, recipe) == set(range(len(table)))


@every_method_with("shape", SHAPES)
def test_odd_shapes_are_released(shape, method):
    k, quasi = SHAPES[shape]
    table = pl.DataFrame({name: values for name, (values, _) in quasi.items()})
    table = table.with_columns(pl.col(pl.Null).cast(pl.String), label=pl.int_range(pl.len()) % 3)
    columns = {name: {"role": "quasi", **spec} for name, (_, spec) in quasi.items()}
    label = {"role": "sensitive", "accept": ["duplicate"]}  # the numbers 1 to 3 repeat as the labels do
    check_all(table, recipe_for(method, {**columns, "label": label}, k))


@every_method_with("n_rows", [5, 6, 9, 10])  # k, k + 1, 2k - 1, 2k
def test_tables_of_k_to_2k_rows_are_released(n_rows, method):
    table, columns = people(n_rows)
    check_all(table, recipe_for(method, columns, 5))


@every_method
def test_fewer_rows_than_k_are_infeasible(method):
    table, columns = people(4)
    recipe = recipe_for(method, columns, 5)
    encoded = encode(table, recipe)
    made = clusterer(recipe)
    for run, given_table in (
        (prepare, (table, recipe)),
        (made.fit, (encoded,)),
        (made.fit_predict, (encoded,)),
    ):
        with pytest.raises(InfeasibleError, match="k = 5 is asked for, but only 4 rows") as caught:
            run(*given_table)
        assert caught.value.code == "infeasible.rows"


# What goes in.


@every_method
def test_unfitting_options_are_refused(method):
    schema = METHODS[method].options
    assert SCHEMAS[method] is schema
    unfitting = [{"no_such_option": 1}]
    unfitting += [{name: value} for name in schema.model_fields for value in ({"no": "value"}, float("nan"))]
    for options in unfitting:
        with pytest.raises(RecipeError) as caught:
            recipe_for(method, people(4)[1], 2, options=options)
        assert {fault.code for fault in caught.value.faults} == {"recipe.option"}, options


@every_method_with("kind", ["polars", "pandas", "arrow"])
def test_the_table_given_is_not_changed(kind, method):
    table, columns = people(20)
    given_table = {"polars": table.clone, "pandas": table.to_pandas, "arrow": table.to_arrow}[kind]()
    before = given_table.copy(deep=True) if kind == "pandas" else table.rows()
    shoal.anonymize(given_table, recipe_for(method, columns, 3))
    if kind == "pandas":
        pd.testing.assert_frame_equal(given_table, before)
    else:
        assert pl.DataFrame(given_table).rows() == before
        assert pl.DataFrame(given_table).schema == table.schema
