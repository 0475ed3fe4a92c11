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

EXPECTED_FAILURES = {
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
    assert len(released) == (~fitted.held_back(PEOPLE)).sum() >= 396
    released.to_csv(tmp_path / "released.csv", index=False)
    recipe = shoal.Recipe.from_roles(quasi=["age", "gender"], keep=["education"], k=4)
    assert shoal.verify(tmp_path / "released.csv", recipe).holds


def test_goals_about_the_target_hold_in_fit_transform_and_release():
    table = PEOPLE.select("age", "gender")
    goal = "l-diversity column=target l=2"
    y = pd.Series(np.where(np.random.default_rng(1).random(400) < 0.05, "rare", "usual"), name="target")
    anonymizer = Anonymizer(k=4, goals=[goal])
    shown = anonymizer.fit_transform(table, y)
    kinds = {}
    for row, value in zip(map(tuple, shown.tolist()), y, strict=True):
        kinds.setdefault(row, []).append(value)
    assert len(kinds) > 8
    assert not (shown == anonymizer.boxes_.values[0]).all(axis=1).any()  # nothing is held back
    assert all(reference.distinct(values) >= 2 for values in kinds.values())
    released = anonymizer.release(table, y)
    assert set(released.columns) == {"age", "gender", "target"}
    # Without the target there is nothing that the goal could protect: only k is asked for.
    assert len(set(map(tuple, anonymizer.transform(table).tolist()))) > len(kinds)
    unnamed = Anonymizer(k=4, goals=[goal.replace("target", "y")]).fit_transform(table, y.to_numpy())
    assert (unnamed == shown).all()


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "array", "numbered"])
def test_every_kind_of_table_gives_the_same_numbers(kind):
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
    anonymizer = Anonymizer(k=4, quasi=quasi).fit(given)
    assert (anonymizer.transform(given) == Anonymizer(k=4, quasi=[0, 1]).fit_transform(PEOPLE)).all()
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
    # The rest passes unchanged, but where rows are held back our own output has no more of them than a mean.
    quasi = slice(0, 3)
    assert (some.fit_transform(PEOPLE.to_pandas())[:, quasi] == fitted.transform(PEOPLE)[:, quasi]).all()
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
