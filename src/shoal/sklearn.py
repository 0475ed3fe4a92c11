"""`Anonymizer`: k-anonymity as a step of a scikit-learn pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.errors import DataError, Fault, RecipeError
from shoal.recipe import did_you_mean
from shoal.recipe.goals import from_text
from shoal.recipe.options import MethodName
from shoal.table import frames
from shoal.workflow.anonymize import anonymize
from shoal.workflow.frozen import FrozenBoxes, refuse_unfrozen

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import (
        _check_feature_names_in,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ImportError as error:  # still an ImportError: that is what an import may raise
    raise ImportError('shoal.sklearn needs scikit-learn: pip install "shoal[sklearn]"') from error

__all__ = ["Anonymizer"]


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Replace quasi-identifying columns by the numbers of boxes that hold at least k rows.

    `fit` anonymizes the training table with `shoal.anonymize` and keeps the boxes of its classes, and unions
    of them, but no rows. `fit_transform` returns the training table with the numbers of each row's own class.
    `transform` puts the rows of any table into the boxes, in groups of at least k of its rows, and in boxes
    as narrow as that allows. Only if all rows of the table together are fewer than k, or fail a goal, are
    rows held back: they all become the same constant row.

    Parameters
    ----------
    k : int, default 5
        Smallest number of rows that look alike, in the training table and in every table that is transformed.
    quasi : list of str or int, optional
        The quasi-identifying columns, by name or by position; all columns if not given. Other columns must be
        numbers, and pass unchanged.
    goals : list of str or dict, optional
        Further privacy goals, as for `shoal.anonymize`: `"l-diversity column=income l=2"`. The column is one
        that is not quasi, or the target: its name, or `y` if it has none.
    hierarchies, accept, method, options
        As for `shoal.anonymize`.
    seed : int, default 0
        The same seed and the same table give the same boxes.

    Attributes
    ----------
    boxes_ : FrozenBoxes
        The published values of each box, and the numbers that stand for it.
    k_ : int
        Rows of the smallest class of the training table.
    loss_ : Loss
        What the training table lost, as in `release.loss`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If the training table has column names.

    Notes
    -----
    The output of a row depends on the rows that it is transformed with: a single row, or fewer than k rows,
    are always held back. That is what makes it safe to hand out the output, and why scikit-learn's checks
    that batches do not matter, and that `transform` repeats `fit_transform`, do not apply. docs/sklearn.md
    says what is promised and what is not.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.sklearn import Anonymizer
    >>> people = pl.DataFrame({"age": [31, 33, 58, 60], "sex": ["f", "f", "m", "f"]})
    >>> anonymizer = Anonymizer(k=2).set_output(transform="polars").fit(people)
    >>> anonymizer.transform(people).rows()
    [(32.0, 1.0, 0.0), (32.0, 1.0, 0.0), (59.0, 0.5, 0.5), (59.0, 0.5, 0.5)]
    >>> anonymizer.get_feature_names_out().tolist()
    ['age', 'sex=f', 'sex=m']
    >>> anonymizer.transform(people[:1]).rows()  # a single row says nothing about itself
    [(45.5, 0.75, 0.25)]
    """

    def __init__(
        self,
        k: int = 5,
        *,
        quasi: Iterable[str | int] | None = None,
        goals: Iterable[str | Mapping[str, Any]] | None = None,
        hierarchies: Mapping[str, Any] | None = None,
        accept: Mapping[str, Iterable[str] | Mapping[str, str]] | None = None,
        method: MethodName = "auto",
        options: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.k = k
        self.quasi = quasi
        self.goals = goals
        self.hierarchies = hierarchies
        self.accept = accept
        self.method = method
        self.options = options
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Anonymizer:  # noqa: N803
        """Learn the boxes of a training table.

        Parameters
        ----------
        X : array-like or pandas, Polars or Arrow frame of shape (n_samples, n_features)
            At least k rows. Missing values are values of their own.
        y : array-like of shape (n_samples,), optional
            The target; used only if a goal names it.
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        """Learn the boxes of a training table, and return its own anonymized rows.

        Each row has the numbers of its class in the release of the training table, so none is held back, and
        goals about the target hold. `transform` of the same table may find other groups: it knows the boxes,
        but not which rows they were made of.

        Returns
        -------
        array or frame of shape (n_samples, n_features_out)
            As that of `transform`.
        """
        table, labels = self._fit(X, y)
        return self._numbers(table, self.boxes_.of_class[labels])

    def _fit(self, X: Any, y: Any) -> tuple[pl.DataFrame, IntArray]:  # noqa: N803
        """Fit, and return the training table with the class of each row; these are not kept."""
        table = self._read(X, y, is_first=True)
        quasi = self._quasi_names()
        sensitive = list(dict.fromkeys(name for name in self._goal_columns() if name in table.columns))
        others = [name for name in self._names() if name not in quasi]
        _refuse_texts(table, others)
        release = anonymize(
            table,
            quasi=quasi,
            sensitive=sensitive,
            keep=[name for name in others if name not in sensitive],
            k=_plain(self.k),
            goals=self.goals,
            hierarchies=self.hierarchies,
            accept=self.accept,
            method=self.method,
            options=self.options,
            seed=_plain(self.seed),
            bound=False,
        )
        refuse_unfrozen(release.recipe)
        self.boxes_ = FrozenBoxes.of(release, table)
        self.k_, self.loss_ = release.k, release.loss
        self._others = others
        # Of kept columns, what stands for a row that is held back; the boxes have it for quasi columns.
        self._typical = np.array([_mean(frames.series(table, name)) for name in others])
        return table, release.labels

    def transform(self, X: Any) -> Any:  # noqa: N803
        """Replace the quasi columns of a table by the numbers of boxes with at least k of its rows.

        Returns
        -------
        array or frame of shape (n_samples, n_features_out)
            A row for each row: the numbers of the quasi columns first, then the other columns. Rows that are
            held back have the means of the training table in all columns.
        """
        table = self._read(X)
        return self._numbers(table, self._placed(table))

    def held_back(self, X: Any) -> BoolArray:  # noqa: N803
        """Mark the rows that `transform` would hold back."""
        return np.asarray(self._placed(self._read(X)) < 0)

    def release(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        """Return the rows of a table that can be published, as ranges and sets, verified by another engine.

        Only groups of at least k rows that meet every goal are returned, sorted, so that their order says
        nothing. Rows that are held back are left out.

        Parameters
        ----------
        y : array-like, optional
            The target, if a goal names it: it is then a column of the released table.

        Returns
        -------
        pandas, Polars or Arrow frame
            Of the same kind as X; Polars for an array.
        """
        table = self._read(X, y)
        found = self._boxes_for(table).release(table)
        return frames.as_kind(found, frames.kind_of(X) if _is_frame(X) else "polars")

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns that `transform` returns.

        A number keeps its name, and a category has a column for each value, such as `sex=f`.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array([*self.boxes_.names, *self._others], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def _names(self) -> list[str]:
        """Return the names of the input columns; those of an array are x0, x1 and so on."""
        return [str(name) for name in _check_feature_names_in(self)]

    def _quasi_names(self) -> list[str]:
        names = self._names()
        given = [self.quasi] if isinstance(self.quasi, (str, Integral)) else self.quasi
        if given is None:
            return names
        found = {column: _named(column, names) for column in given}
        faults = [_unknown(column, names) for column, name in found.items() if name is None]
        if faults:
            raise RecipeError.from_faults(faults)
        return [name for name in names if name in found.values()]

    def _goal_columns(self) -> list[str]:
        goals = [from_text(goal) if isinstance(goal, str) else goal for goal in self.goals or ()]
        named = [goal["column"] for goal in goals if "column" in goal]
        return [name for given in named for name in ([given] if isinstance(given, str) else given)]

    def _read(self, X: Any, y: Any = None, *, is_first: bool = False) -> pl.DataFrame:  # noqa: N803
        """Return the table with the names of its columns, and the target if a goal names it."""
        if not is_first:
            check_is_fitted(self)
        if _is_frame(X):
            validate_data(self, X, reset=is_first, skip_check_array=True)
            table = frames.to_polars(_with_names(X, self._names()))
        else:
            least = max(1, self.k) if is_first and isinstance(self.k, Integral) else 1
            checked = validate_data(
                self, X, reset=is_first, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=least
            )
            table = pl.DataFrame({name: _column(checked[:, at]) for at, name in enumerate(self._names())})
        target = self._target_name(y)
        if target is None:
            return table
        return table.with_columns(_column(column_or_1d(y)).alias(target))

    def _target_name(self, y: Any) -> str | None:
        """Return the name of the target if it is given and a goal names it."""
        name = str(getattr(y, "name", None) or "y")
        return name if y is not None and name in self._goal_columns() and name not in self._names() else None

    def _boxes_for(self, table: pl.DataFrame) -> FrozenBoxes:
        """Return the boxes, without goals about a target that is not there."""
        boxes = self.boxes_
        for name in [name for name in boxes.recipe.columns if name not in table.columns]:
            boxes = boxes.without(name)
        return boxes

    def _placed(self, table: pl.DataFrame) -> IntArray:
        return self._boxes_for(table).place(table)

    def _numbers(self, table: pl.DataFrame, box: IntArray) -> FloatArray:
        """Return the output: the numbers of each row's box, then the columns that are not quasi."""
        held = box < 0
        kept = [frames.series(table, name).cast(pl.Float64).to_numpy() for name in self._others]
        others = np.column_stack([*kept, np.empty((len(box), 0))])
        # The root says no more than the training table does; kept columns of such rows are no one's either.
        others = np.where(held[:, None], self._typical, others)
        return np.column_stack([self.boxes_.values[np.where(held, 0, box)], others])


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "shape")


def _with_names(frame: Any, names: list[str]) -> Any:
    """Return a frame with these names; a pandas frame may have others than texts."""
    if list(getattr(frame, "column_names", frame.columns)) == names:
        return frame
    if frames.kind_of(frame) == "pandas":
        return frame.set_axis(names, axis=1)
    table = frames.to_polars(frame)
    return table.rename(dict(zip(table.columns, names, strict=True)))


def _column(values: npt.NDArray[Any]) -> pl.Series:
    """Return a column of an array: numbers if all are, else texts."""
    if values.dtype.kind in "OU":
        try:
            values = values.astype(np.float64)
        except ValueError:  # a TypeError, for what is neither text nor number, goes to the caller
            texts = pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
            return texts.set(texts == "nan", None)
    if values.dtype.kind == "f":
        return pl.Series(values.astype(np.float64)).fill_nan(None)
    return pl.Series(np.ascontiguousarray(values))


def _named(column: str | int, names: list[str]) -> str | None:
    """Return the name of a column that is given by name or by position; None if there is no such column."""
    if isinstance(column, str):
        return column if column in names else None
    return names[column] if -len(names) <= column < len(names) else None


def _unknown(column: str | int, names: list[str]) -> Fault:
    if isinstance(column, str):
        message = f"Column `{column}` of `quasi` is not in the table."
        return Fault("recipe.unknown_column", message, did_you_mean(column, names))
    message = f"`quasi` names position {column}, but the table has {len(names)} columns."
    return Fault("recipe.unknown_column", message, "count from 0")


def _refuse_texts(table: pl.DataFrame, names: list[str]) -> None:
    """Refuse texts in columns that pass unchanged: the output is numbers."""
    texts = [f"`{name}`" for name in names if not _is_number(table[name].dtype)]
    if texts:
        message = f"Column {', '.join(texts)} is not quasi and does not contain numbers."
        raise DataError("data.kind", message, "name it in `quasi`, encode it first, or leave it out")


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Boolean


def _mean(values: pl.Series) -> float:
    found = values.cast(pl.Float64).mean()
    return float("nan") if found is None else float(found)  # type: ignore[arg-type]


def _plain(number: Any) -> Any:
    """Return a NumPy integer, as in a grid of parameters, as Python's."""
    return int(number) if isinstance(number, Integral) and not isinstance(number, bool) else number
