"""Do an analysis with the raw table and with the release, and compare the results."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.utility.columns import Pair
from shoal.utility.design import complete, design, outcome_of
from shoal.utility.formula import AnalysisError, Formula

LEVEL = 0.95  # of confidence
_FOLDS = 5
INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Estimate:
    """A coefficient with its confidence interval."""

    value: float
    low: float
    high: float


Estimates = list[Estimate] | None


@dataclass(frozen=True)
class Coefficient:
    """A coefficient before and after; None where it cannot be estimated.

    `name` is that of a column, or a column and one of its categories.
    """

    name: str
    raw: Estimate | None
    released: Estimate | None

    @property
    def overlap(self) -> float | None:
        """What the two intervals have in common, as the average share of each: 1 if they are equal."""
        if self.raw is None or self.released is None:
            return None
        common = min(self.raw.high, self.released.high) - max(self.raw.low, self.released.low)
        widths = [one.high - one.low for one in (self.raw, self.released)]
        if min(widths) <= 0:
            return float(self.raw == self.released)
        return max(0.0, sum(common / width for width in widths) / 2)


@dataclass(frozen=True)
class Analysis:
    """An analysis before and after.

    Parameters
    ----------
    formula : str
    model : {"linear regression", "logistic regression", "classification"}
        By the outcome: a number, one of two values, one of several.
    outcome : str or None
        The value whose odds a logistic regression describes; None for other models, or if it is rare.
    rows : tuple of int
        Rows used, raw and released; those that miss a value are left out.
    coefficients : tuple of Coefficient
        Empty for a classification.
    score : str
        What `raw_score` and `released_score` are: "R2", or "AUC" by cross-validation with shuffled rows.
    """

    formula: str
    model: str
    outcome: str | None
    rows: tuple[int, int]
    coefficients: tuple[Coefficient, ...]
    score: str
    raw_score: float | None
    released_score: float | None


@dataclass(frozen=True, repr=False)  # a repr would show values
class _Side:
    """The rows of one table that miss nothing: predictors, and the outcome as a number or in classes.

    The outcome in classes is the share of each row in each class: one is 1 where the outcome is known.
    """

    predictors: FloatArray
    outcome: FloatArray

    @classmethod
    def of(cls, predictors: FloatArray, outcome: FloatArray) -> _Side:
        rows = complete(predictors, outcome)
        return cls(predictors[rows], outcome[rows])


def analyse(formula: Formula, pairs: dict[str, Pair], seed: int) -> Analysis:
    """Do the analysis that fits the outcome: a number, one of two classes, or one of several."""
    _import_libraries()
    made = design(formula, pairs)
    outcome = outcome_of(pairs[formula.outcome])
    raw, released = _Side.of(made.raw, outcome.raw), _Side.of(made.released, outcome.released)
    _check(formula, raw, made.names)
    fits: tuple[Estimates, Estimates] = (None, None)
    if outcome.classes is None:
        model, score = "linear regression", "R2"
        fitted = [_linear(side) for side in (raw, released)]
        fits, scores = (fitted[0][0], fitted[1][0]), (fitted[0][1], fitted[1][1])
    else:
        model, score = "classification", "AUC"
        scores = (_auc(raw, seed), _auc(released, seed))
        if len(outcome.classes) == 2:
            model = "logistic regression"
            fits = (_logistic(raw), _logistic(released))
    return Analysis(
        formula=str(formula),
        model=model,
        outcome=outcome.classes[1] if model == "logistic regression" and outcome.classes else None,
        rows=(len(raw.outcome), len(released.outcome)),
        coefficients=_coefficients((INTERCEPT, *made.names), *fits) if any(fits) else (),
        score=score,
        raw_score=scores[0],
        released_score=scores[1],
    )


def _import_libraries() -> None:
    """Refuse an analysis without the libraries that do it."""
    try:
        import sklearn  # noqa: F401
        import statsmodels  # noqa: F401
    except ImportError:
        message = "An analysis needs statsmodels and scikit-learn, which are not installed."
        raise AnalysisError("recipe.not_available", message, 'pip install "shoal[analysis]"') from None


def _check(formula: Formula, raw: _Side, names: Sequence[str]) -> None:
    """Refuse what cannot be analysed even with the raw table."""
    rows, width = raw.predictors.shape
    if rows < 2 * (width + 1):
        message = f"The analysis has {width + 1} coefficients, but only {rows} rows that miss no value."
        raise AnalysisError("analysis.data", message, "name fewer predictors")
    one_value = [name for name, column in zip(names, raw.predictors.T, strict=True) if np.ptp(column) == 0]
    if one_value:
        listed = ", ".join(f"`{name}`" for name in one_value)
        message = f"The same value everywhere in the raw table: {listed}."
        raise AnalysisError("analysis.data", message, "leave it out of the formula")
    if (np.ptp(raw.outcome, axis=0) == 0).all():
        message = f"The outcome `{formula.outcome}` has the same value in all rows of the raw table."
        raise AnalysisError("analysis.data", message, "choose another outcome")
    if not _is_regular(raw.predictors):
        message = "The predictors determine each other, so their coefficients are not defined."
        raise AnalysisError("analysis.data", message, "leave one of them out of the formula")


def _is_regular(predictors: FloatArray) -> bool:
    """Return whether the coefficients are determined: no predictor is constant or a sum of others."""
    if not len(predictors):
        return False
    spread = predictors.std(axis=0)
    if (spread == 0).any():
        return False
    scaled = (predictors - predictors.mean(axis=0)) / spread
    return bool(np.linalg.matrix_rank(scaled) == scaled.shape[1])


def _linear(side: _Side) -> tuple[Estimates, float | None]:
    """Fit a line by least squares; return the coefficients and R squared."""
    from statsmodels.api import OLS, add_constant

    if not _is_regular(side.predictors) or np.ptp(side.outcome) == 0:
        return None, None
    fitted = OLS(side.outcome[:, 0], add_constant(side.predictors, has_constant="add")).fit()
    return _estimates(fitted), float(fitted.rsquared)


def _logistic(side: _Side) -> Estimates:
    """Fit the odds of the second class; an outcome may be a share."""
    from statsmodels.api import GLM, add_constant, families

    if not _is_regular(side.predictors) or (np.ptp(side.outcome, axis=0) == 0).all():
        return None
    inputs = add_constant(side.predictors, has_constant="add")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of separation: the interval is wide then
        fitted = GLM(side.outcome[:, 1], inputs, family=families.Binomial()).fit()
    return _estimates(fitted) if fitted.converged else None


def _estimates(fitted: Any) -> Estimates:
    bounds = fitted.conf_int(alpha=1 - LEVEL)
    found = np.column_stack([fitted.params, bounds])
    return [Estimate(*row) for row in found.tolist()] if np.isfinite(found).all() else None


def _coefficients(names: Sequence[str], raw: Estimates, released: Estimates) -> tuple[Coefficient, ...]:
    unknown = [None] * len(names)
    return tuple(
        Coefficient(name, before, after)
        for name, before, after in zip(names, raw or unknown, released or unknown, strict=True)
    )


def _auc(side: _Side, seed: int) -> float | None:
    """Return the AUC of a logistic classifier, averaged over folds of shuffled rows; None if it has none.

    With several classes it is the average over classes, each against the rest. A row whose outcome was
    generalized counts in each class with its share.
    """
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    classes = side.outcome.shape[1]
    if len(side.outcome) < _FOLDS:
        return None
    likeliest = side.outcome.argmax(axis=1)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed % 2**32)
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer rows than folds
        for train, test in folds.split(side.predictors, likeliest):
            rows, truth, weights = _expanded(side.outcome[test])
            if len(np.unique(truth)) < classes:
                return None
            guessed = _guesses(side, train, test)
            if guessed.shape[1] < classes:
                return None
            found = guessed[rows, 1] if classes == 2 else guessed[rows]
            scores.append(roc_auc_score(truth, found, sample_weight=weights, multi_class="ovr"))
    return float(np.mean(scores))


def _guesses(side: _Side, train: IntArray, test: IntArray) -> FloatArray:
    """Train a classifier on some rows; return the probability of each class for others."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows, truth, weights = _expanded(side.outcome[train])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(side.predictors[train][rows], truth, logisticregression__sample_weight=weights)
    guessed: FloatArray = model.predict_proba(side.predictors[test])
    return guessed


def _expanded(shares: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return a row for each class that a row may be in: its position, the class and its share."""
    rows, classes = np.nonzero(shares)
    return rows.astype(np.int32), classes.astype(np.int32), shares[rows, classes]
