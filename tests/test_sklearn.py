"""`shoal.sklearn.Anonymizer`: scikit-learn's own checks, and what it must never hand out."""

import pickle
from collections import Counter
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.datasets import census
from tests.reference import goals as reference

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from shoal.sklearn import Anonymizer
from tests.profiles import some

_TRAINING = "fit_transform returns the release of the training table, transform knows only its boxes"
EXPECTED_FAILURES = {
    "check_transformer_data_not_an_array": _TRAINING,
    "check_transformer_general": _TRAINING,
    "check_methods_subset_invariance": "a row is shown only together with k - 1 others of its own batch",
}
PEOPLE = census(400, seed=3).select("age", "gender", "education")
OLDER = (PEOPLE["age"] > 40).to_numpy()


@parametrize_with_checks([Anonymizer()], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted():
    """Fitted with a column that passes unchanged: education is no quasi column."""
    return Anonymizer(k=4, quasi=["age", "gender"]).fit(PEOPLE)


def constant_row(fitted):
    return [*fitted.boxes_.values[0], PEOPLE["education"].mean()]


def quasi_rows(shown):
    """The numbers made from quasi columns, sorted: other columns decide which of two equal rows is where."""
    return sorted(map(tuple, shown[:, :3].tolist()))


batches = st.lists(
    st.tuples(st.integers(0, 120), st.sampled_from(["male", "female", "other"]), st.integers(0, 20)),
    min_size=1,
    max_size=40,
)


@given(batches)
def test_no_batch_makes_it_show_fewer_than_k_rows_alike(fitted, batch):
    table = pl.DataFrame(batch, schema=PEOPLE.columns, orient="row")
    shown, held = fitted.transform(table), fitted.held_back(table)
    assert shown.shape == (len(batch), 4)
    # Kept values of a row that is held back are not its own either.
    assert (shown[held] == constant_row(fitted)).all()
    groups = Counter(map(tuple, shown[~held, :-1].tolist()))
    assert all(size >= 4 for size in groups.values())
    assert shown[~held, -1].tolist() == table["education"].filter(~pl.Series(held)).to_list()


@pytest.mark.parametrize("rows", [1, 3])
def test_what_becomes_of_fewer_than_k_rows_does_not_depend_on_them(fitted, rows):
    outputs = [fitted.transform(PEOPLE[at : at + rows]).tolist() for at in range(0, 60, rows)]
    assert all(output == [constant_row(fitted)] * rows for output in outputs)
    assert fitted.release(PEOPLE[:rows]).height == 0


def test_numbers_are_the_means_of_the_training_rows_in_a_box():
    table = pl.DataFrame({"age": [1, 3, 11, 13, 51, 53], "sex": ["f", "f", "m", "f", "m", "m"]})
    anonymizer = Anonymizer(k=2).fit(table)
    assert anonymizer.get_feature_names_out().tolist() == ["age", "sex=f", "sex=m"]
    assert anonymizer.transform(table).tolist() == [
        [2, 1, 0], [2, 1, 0], [12, 0.5, 0.5], [12, 0.5, 0.5], [52, 0, 1], [52, 0, 1],
    ]  # fmt: skip
    assert anonymizer.transform(table[[0]]).tolist() == [[22, 0.5, 0.5]]
    assert anonymizer.k_ == 2
    assert anonymizer.loss_.gcp == shoal.anonymize(table, quasi=["age", "sex"], k=2).loss.gcp


def test_released_rows_can_be_verified_by_somebody_else(fitted, tmp_path):
    released = fitted.release(PEOPLE.to_pandas())
    assert isinstance(released, pd.DataFrame)
    assert len(released) == (~fitted.held_back(PEOPLE)).sum() == 400
    released.to_csv(tmp_path / "released.csv", index=False)
    recipe = shoal.Recipe.from_roles(quasi=["age", "gender"], keep=["education"], k=4)
    assert shoal.verify(tmp_path / "released.csv", recipe).holds


@pytest.mark.parametrize("method", ["auto", "mondrian", "k-member", "incognito"])
def test_fit_transform_returns_the_release_of_the_training_table(method):
    anonymizer = Anonymizer(k=4, quasi=["age", "gender"], method=method)
    shown = anonymizer.fit_transform(PEOPLE)
    release = shoal.anonymize(
        PEOPLE, quasi=["age", "gender"], keep=["education"], k=4, method=method, bound=False
    )
    values = shoal.values(release)
    expected = values.select(anonymizer.get_feature_names_out().tolist()).rows()
    assert sorted(map(tuple, shown.tolist())) == sorted(expected)
    # Each row is in its own place, and has the numbers of its own class.
    assert shown[:, -1].tolist() == PEOPLE["education"].to_list()
    assert len(set(zip(release.labels, map(tuple, shown[:, :-1].tolist()), strict=True))) == release.classes
    assert (anonymizer.fit_transform(PEOPLE) == shown).all()


def target_of(seed):
    return pd.Series(np.where(np.random.default_rng(seed).random(400) < 0.05, "rare", "usual"), name="target")


# With seed 3 the rare values are all of young people: the boxes of others fail the goal by themselves.
@pytest.mark.parametrize("seed", [1, 3])
def test_goals_about_the_target_hold_in_fit_transform_and_release(seed):
    table, y = PEOPLE.select("age", "gender"), target_of(seed)
    goal = "l-diversity column=target l=2"
    anonymizer = Anonymizer(k=4, goals=[goal])
    shown = anonymizer.fit_transform(table, y)
    kinds = {}
    for row, value in zip(map(tuple, shown.tolist()), y, strict=True):
        kinds.setdefault(row, []).append(value)
    assert len(kinds) > 8
    assert not (shown == anonymizer.boxes_.values[0]).all(axis=1).any()  # nothing is held back
    assert all(len(values) >= 4 and reference.distinct(values) >= 2 for values in kinds.values())
    released = anonymizer.release(table, y)
    assert set(released.columns) == {"age", "gender", "target"}
    assert released.height == 400
    assert released.select("age", "gender").n_unique() > 1
    # Without the target there is nothing that the goal could protect: only k is asked for.
    assert not anonymizer.held_back(table).any()
    assert anonymizer.release(table).n_unique() > released.select("age", "gender").n_unique()
    unnamed = Anonymizer(k=4, goals=[goal.replace("target", "y")]).fit_transform(table, y.to_numpy())
    assert (unnamed == shown).all()


@given(batches)
def test_rows_are_held_back_only_if_all_of_them_are_fewer_than_k(fitted, batch):
    table = pl.DataFrame(batch, schema=PEOPLE.columns, orient="row")
    assert fitted.held_back(table).tolist() == [len(batch) < 4] * len(batch)
    assert fitted.held_back(table[::-1]).tolist() == [len(batch) < 4] * len(batch)
    assert (fitted.transform(table[::-1])[::-1] == fitted.transform(table)).all()


def test_what_scikit_learn_checks_besides_where_the_training_table_differs():
    rows = PEOPLE.select("age", "education").to_numpy()
    anonymizer = Anonymizer()
    shown = anonymizer.fit_transform(rows.tolist())
    assert (shown == anonymizer.fit_transform(rows)).all()
    assert (anonymizer.transform(rows.tolist()) == anonymizer.transform(rows)).all()
    with pytest.raises(ValueError, match="1 feature"):
        anonymizer.transform(rows[:, :-1])


@pytest.mark.parametrize("kind", some(["polars", "pandas", "pyarrow", "array", "numbered"], 2, 1))
def test_every_kind_of_table_gives_the_same_numbers(fitted, kind):
    given = {
        "polars": PEOPLE,
        "pandas": PEOPLE.to_pandas(),
        "pyarrow": PEOPLE.to_arrow(),
        "array": PEOPLE.to_pandas().to_numpy(),
        "numbered": PEOPLE.to_pandas().set_axis(range(3), axis=1),
    }[kind]
    if kind == "pyarrow":
        assert isinstance(given, pa.Table)
    quasi = [0, 1] if kind in ("array", "numbered") else ["age", "gender"]
    anonymizer = Anonymizer(k=4, quasi=quasi)
    assert quasi_rows(anonymizer.fit_transform(given)) == quasi_rows(clone(fitted).fit_transform(PEOPLE))
    assert (anonymizer.transform(given) == fitted.transform(PEOPLE)).all()
    names = anonymizer.get_feature_names_out().tolist()
    if kind in ("array", "numbered"):
        assert names == ["x0", "x1=female", "x1=male", "x2"]
    else:
        assert names == ["age", "gender=female", "gender=male", "education"]


def test_it_is_a_step_like_any_other(fitted):
    copies = [clone(fitted).fit(PEOPLE), pickle.loads(pickle.dumps(fitted))]
    for copy in copies:
        assert (copy.transform(PEOPLE) == fitted.transform(PEOPLE)).all()
    frame = clone(fitted).set_output(transform="pandas").fit(PEOPLE).transform(PEOPLE.to_pandas())
    assert list(frame.columns) == fitted.get_feature_names_out().tolist()
    assert (frame.to_numpy() == fitted.transform(PEOPLE)).all()
    some = make_column_transformer((Anonymizer(k=4), ["age", "gender"]), remainder="passthrough")
    assert quasi_rows(some.fit_transform(PEOPLE.to_pandas())) == quasi_rows(
        clone(fitted).fit_transform(PEOPLE)
    )
    pipeline = make_pipeline(Anonymizer(), LogisticRegression(max_iter=1000))
    search = GridSearchCV(pipeline, {"anonymizer__k": np.array([2, 40])}, cv=2).fit(PEOPLE.to_pandas(), OLDER)
    assert search.best_params_ == {"anonymizer__k": 2}
    with pytest.raises(NotFittedError):
        clone(fitted).transform(PEOPLE)


def test_missing_values_stay_missing_and_dates_are_days():
    table = pl.DataFrame({"age": [1, 2, None, None], "born": [date(1970, 1, day) for day in (2, 4, 22, 24)]})
    anonymizer = Anonymizer(k=2)
    shown = anonymizer.fit_transform(table)
    assert anonymizer.boxes_.texts["age"].to_list()[1:] == ["*", "[1, 2]", None]  # the union says nothing
    assert np.array_equal(shown, [[1.5, 2], [1.5, 2], [np.nan, 22], [np.nan, 22]], equal_nan=True)


@pytest.mark.parametrize(
    ("parameters", "code", "words"),
    [
        ({"quasi": ["age", "gendre"]}, "recipe.unknown_column", "did you mean `gender`"),
        ({"quasi": [0, 3]}, "recipe.unknown_column", "position 3"),
        ({"quasi": ["age"]}, "data.kind", "`gender`"),
        ({"k": 1}, "recipe.invalid", "k"),
        ({"k": 401}, "infeasible.rows", "400"),
        ({"method": "nh"}, "recipe.not_available", "`nh`"),
        ({"goals": ["l-diversity column=absent l=2"]}, "recipe.invalid", "`absent`"),
        ({"quasi": ["gender", "education"]}, "danger", "age"),
    ],
)
def test_bad_parameters_are_refused(parameters, code, words):
    table = PEOPLE.with_columns(age=pl.int_range(0, 400)) if code == "danger" else PEOPLE
    with pytest.raises(shoal.ShoalError) as caught:
        Anonymizer(**parameters).fit(table)
    assert caught.value.code.startswith(code)
    assert words in str(caught.value)


def test_what_fit_refuses_can_be_accepted_by_name():
    table = PEOPLE.with_columns(age=pl.int_range(0, 400))
    anonymizer = Anonymizer(quasi=["gender", "education"], accept={"age": ["unique", "recoverable"]})
    assert anonymizer.fit(table).get_feature_names_out()[-1] == "age"
