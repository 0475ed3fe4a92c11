"""Analyses equal those of statsmodels and scikit-learn on the tables themselves."""

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shoal
from shoal.recipe import Recipe
from shoal.table.encode import encode
from shoal.utility import analysis
from shoal.utility.formula import Formula, parse_formula
from shoal.utility.measured import measure_utility

N = 400


def people(seed=1):
    random = np.random.default_rng(seed)
    age = random.integers(20, 90, N)
    sex = random.choice(["f", "m"], N)
    weight = 50 + 0.3 * age + 10 * (sex == "m") + random.normal(0, 5, N)
    risk = (age - 55) / 10 + (sex == "m") + random.normal(0, 2, N)
    ward = np.where(risk > 1.5, "icu", np.where(random.random(N) < 0.4, "east", "west"))
    ward = np.where(np.arange(N) < 4, [f"ZXMARK{at}XZ" for at in range(N)], ward)  # four rare values
    return pl.DataFrame(
        {"age": age, "sex": sex, "weight": weight.round(1), "dead": (risk > 1).astype(int), "ward": ward}
    )


RAW = people()
RECIPE = Recipe.from_dict(
    {
        "columns": {
            "age": {"role": "quasi", "kind": "numeric"},
            "sex": {"role": "quasi"},
            "weight": {"role": "sensitive"},
            "dead": {"role": "sensitive"},
            "ward": {"role": "keep"},
        },
        "privacy": {"k": 5},
        "method": {"name": "mondrian", "seed": 3},
    }
)
RELEASE = shoal.anonymize(RAW, RECIPE, bound=False)


def analysed(formula, raw=RAW, released=None, recipe=RECIPE):
    released = RELEASE.frame if released is None else released
    (found,) = measure_utility(raw, encode(raw, recipe), released, recipe, [formula]).analyses
    return found


def inputs(frame, *more):
    """The predictors age and sex = f or m, whichever is rarer, with an intercept."""
    rarer = "m" if (RAW["sex"] == "m").sum() < N / 2 else "f"
    sex = (frame["sex"] == rarer).cast(pl.Float64) if "sex" in frame.columns else frame[f"sex={rarer}"]
    return rarer, np.column_stack([np.ones(frame.height), frame["age"].cast(pl.Float64), sex, *more])


def expected(fitted):
    return np.column_stack([fitted.params, fitted.conf_int(alpha=0.05)])


def found_numbers(coefficients, side):
    estimates = [getattr(one, side) for one in coefficients]
    return np.array([(one.value, one.low, one.high) for one in estimates])


def test_a_number_is_explained_by_least_squares():
    found = analysed("weight ~ age + sex")
    rarer, raw = inputs(RAW)
    after = shoal.values(RELEASE)
    fits = [
        sm.OLS(RAW["weight"].to_numpy(), raw).fit(),
        sm.OLS(after["weight"].to_numpy(), inputs(after)[1]).fit(),
    ]
    assert [one.name for one in found.coefficients] == ["(intercept)", "age", f"sex={rarer}"]
    assert found_numbers(found.coefficients, "raw") == pytest.approx(expected(fits[0]))
    assert found_numbers(found.coefficients, "released") == pytest.approx(expected(fits[1]))
    assert (found.score, found.raw_score) == ("R2", pytest.approx(fits[0].rsquared))
    assert found.released_score == pytest.approx(fits[1].rsquared)
    assert found.rows == (N, N)


def test_one_of_two_values_is_explained_by_logistic_regression():
    found = analysed("dead ~ age + sex")
    after = shoal.values(RELEASE)
    fits = [
        sm.Logit(RAW["dead"].to_numpy(), inputs(RAW)[1]).fit(disp=0),
        sm.Logit(after["dead"].to_numpy(), inputs(after)[1]).fit(disp=0),
    ]
    assert (found.model, found.outcome) == ("logistic regression", "1")
    assert found_numbers(found.coefficients, "raw") == pytest.approx(expected(fits[0]), rel=1e-4)
    assert found_numbers(found.coefficients, "released") == pytest.approx(expected(fits[1]), rel=1e-4)


def scored(frame, outcome, scoring, folds):
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return cross_val_score(model, inputs(frame)[1][:, 1:], outcome, scoring=scoring, cv=folds).mean()


def test_auc_is_that_of_a_shuffled_cross_validation():
    found = analysed("dead ~ age + sex")
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    after = shoal.values(RELEASE)
    assert found.raw_score == pytest.approx(scored(_sorted(RAW), _sorted(RAW)["dead"], "roc_auc", folds))
    assert found.released_score == pytest.approx(scored(after, after["dead"], "roc_auc", folds))


def _sorted(raw):
    """The raw rows in the order in which they are analysed, which does not depend on that of the input."""
    return raw[encode(raw, RECIPE).order]


def test_several_classes_are_classified():
    found = analysed("ward ~ age + sex")
    assert (found.model, found.outcome, found.coefficients) == ("classification", None, ())
    assert 0.5 < found.raw_score < 1
    exact = analysed("ward ~ age + sex", released=texts(RAW))
    assert exact.released_score == pytest.approx(exact.raw_score, abs=0.02)  # only the folds differ


def texts(raw):
    return raw.with_columns(pl.col("age").cast(pl.String))


def test_rare_categories_are_not_named():
    found = analysed("weight ~ age + ward")
    names = [one.name for one in found.coefficients]
    assert names[-1] == "ward=(all others)"
    assert len(names) == 5
    assert "ZXMARK" not in str(names)


def test_a_generalized_outcome_counts_with_its_shares():
    found = analysed("sex ~ age")
    after = shoal.values(RELEASE)
    model = sm.GLM(after["sex=m"].to_numpy(), inputs(after)[1][:, :2], family=sm.families.Binomial())
    assert found.outcome == "m"
    assert found_numbers(found.coefficients, "released") == pytest.approx(expected(model.fit()))
    assert found.released_score is not None


def test_equal_tables_have_equal_results():
    found = analysed("weight ~ age + sex", released=texts(RAW))
    assert [one.overlap for one in found.coefficients] == pytest.approx([1, 1, 1])


def test_the_overlap_of_intervals_by_hand():
    def overlap(a, b):
        first, second = (analysis.Estimate(sum(ends) / 2, *ends) for ends in (a, b))
        return analysis.Coefficient("x", first, second).overlap

    assert overlap((0, 4), (2, 4)) == (2 / 4 + 2 / 2) / 2
    assert overlap((0, 4), (5, 6)) == 0
    assert overlap((0, 4), (0, 4)) == 1
    assert analysis.Coefficient("x", analysis.Estimate(1, 0, 2), None).overlap is None


def test_rows_that_miss_a_value_are_left_out():
    raw = RAW.with_columns(age=pl.when(pl.int_range(N) < 30).then(None).otherwise("age"))
    release = shoal.anonymize(raw, RECIPE, bound=False)
    found = analysed("weight ~ age", raw, release.frame)
    assert found.rows[0] == N - 30
    kept = raw.drop_nulls("age")
    fitted = sm.OLS(kept["weight"].to_numpy(), sm.add_constant(kept["age"].to_numpy())).fit()
    assert found_numbers(found.coefficients, "raw") == pytest.approx(expected(fitted))


def test_a_predictor_that_is_lost_has_no_coefficient():
    lost = texts(RAW).with_columns(age=pl.lit("*"))
    found = analysed("weight ~ age + sex", released=lost)
    assert [one.released for one in found.coefficients] == [None] * 3
    assert found.released_score is None
    assert found.raw_score > 0


@pytest.mark.parametrize(
    ("text", "outcome", "predictors"),
    [
        ("dead ~ age", "dead", ("age",)),
        (" dead~age+sex ", "dead", ("age", "sex")),
        ("`dead` ~ `a + b` + salary-class", "dead", ("a + b", "salary-class")),
        ("dead ~ two words + ` x`", "dead", ("two words", " x")),
    ],
)
def test_formulas(text, outcome, predictors):
    names = ["dead", "age", "sex", "a + b", "salary-class", "two words", " x"]
    assert parse_formula(text, names) == Formula(outcome, predictors)


@pytest.mark.parametrize(
    "text",
    [
        "", "~", "dead", "dead ~", "~ age", "dead ~ age +", "dead ~ + age", "dead ~ age ~ sex", "dead + age",
        "dead + age ~ sex", "dead ~ age sex", "dead ~ age * sex", "dead ~ age + age", "dead ~ dead",
        "dead ~ 1", "dead ~ `age", "dead ~ __import__('os')", "dead ~ log(age)", "dead age ~ sex",
        "dead ~ `age``sex`",
    ],
)  # fmt: skip
def test_bad_formulas(text):
    with pytest.raises(shoal.ShoalError) as caught:
        parse_formula(text, ["dead", "age", "sex"])
    assert caught.value.code == "analysis.formula"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("formula", "raw", "words"),
    [
        ("weight ~ age", RAW.head(3), "2 coefficients, but only 3 rows"),
        ("weight ~ age", RAW.with_columns(weight=pl.lit(1.5)), "`weight` has the same value"),
        ("weight ~ age", RAW.with_columns(age=pl.lit(30)), "everywhere in the raw table: `age`"),
        ("weight ~ age + dead", RAW.with_columns(dead=2 * pl.col("age")), "determine each other"),
        ("weight ~ ward", RAW.with_columns(ward=pl.format("w{}", pl.int_range(N) % 51)), "51 categories"),
    ],
)
def test_tables_that_cannot_be_analysed(formula, raw, words):
    if "51" in words:
        raw = pl.concat([raw] * 2)
    with pytest.raises(shoal.ShoalError, match=words) as caught:
        analysed(formula, raw, texts(raw), RECIPE)
    assert caught.value.code == "analysis.data"


def test_an_analysis_without_its_libraries(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "statsmodels", None)
    with pytest.raises(shoal.ShoalError, match="not installed") as caught:
        analysed("weight ~ age")
    assert caught.value.code == "recipe.not_available"
    assert "shoal[analysis]" in caught.value.hint


def test_sorted_rows_ruin_a_cross_validation_that_does_not_shuffle():
    sorted_rows, shuffled = (
        shoal.values(shoal.anonymize(RAW, RECIPE, order=order, bound=False))
        for order in ("sorted", "shuffled")
    )
    in_order = KFold(5)
    found = [scored(rows, rows["dead"], "roc_auc", in_order) for rows in (sorted_rows, shuffled)]
    assert found[1] > found[0] + 0.1
