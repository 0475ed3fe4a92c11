"""Convert types that only pandas has to texts: periods and categories of intervals."""

from __future__ import annotations

from typing import Any

from shoal.errors import DataError, Fault


def plain_types(frame: Any) -> Any:
    """Return a pandas frame without these types; the argument is not modified.

    A period becomes its pandas text: 2024-03, or 2024-03-01, which is a date. Intervals cannot be released,
    except as categories, as `pandas.cut` creates them: there they are only names.
    """
    names = {name: type(frame[name].dtype).__name__ for name in frame.columns}
    intervals = [name for name, kind in names.items() if kind == "IntervalDtype"]
    if intervals:
        raise DataError.from_faults([_interval_fault(name) for name in intervals])
    plain = frame.copy(deep=False)
    for name, kind in names.items():
        values = frame[name]
        if kind == "PeriodDtype":
            plain[name] = values.astype(str).astype(object).where(values.notna(), None)
        elif kind == "CategoricalDtype" and _has_odd_categories(values):
            plain[name] = values.cat.rename_categories([str(category) for category in values.cat.categories])
    return plain


def _has_odd_categories(values: Any) -> bool:
    return type(values.cat.categories.dtype).__name__ in ("IntervalDtype", "PeriodDtype")


def _interval_fault(name: str) -> Fault:
    message = f"Column `{name}` contains pandas intervals, which cannot be released."
    hint = f'use a number such as the midpoint, frame["{name}"].array.mid, or texts, .astype(str)'
    return Fault("data.kind", message, hint)
