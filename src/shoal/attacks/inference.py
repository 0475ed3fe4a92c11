"""Infer a person's sensitive value from the class, or from all boxes that contain the person.

- homogeneity: all rows that may be the person's have one value, so it is known for certain;
- skewness: the attacker guesses the most frequent value of the class, and is right as often as its share;
- candidates: the same for all boxes that contain the person, which is what an attacker really sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from shoal.attacks.ceilings import ceilings
from shoal.attacks.counting import pairs, people_sample
from shoal.attacks.result import ROUNDING, SHOWN_FROM, Finding, Result, counted, mean_result, percent
from shoal.attacks.tables import Counts, Floats, Ints, Tables, count_pairs
from shoal.recipe import Shape

_VALUES = 10  # values in the details
_NOTABLE = 0.05  # how much better than without the release a guess is, to be worth a remark
_WORK = 1 << 28  # pairs of a box and a person


def infer(tables: Tables) -> list[Result]:
    """Attack every sensitive column."""
    return [result for name in tables.sensitive for result in _column(tables, name)]


def _column(tables: Tables, name: str) -> Iterable[Result]:
    column = tables.unchanged[name]
    known = known_counts(tables, name)
    if not len(known.times):
        return
    whole = np.bincount(known.value, known.times, column.size)
    base = float(whole.max() / whole.sum())
    raw = column.raw != column.missing
    raw_counts = count_pairs(
        tables.raw_classes[raw], column.raw[raw], column.size, int(tables.raw_classes.max()) + 1
    )
    if tables.recipe.shape is not Shape.BOXES:  # there every row has a box of its own
        yield _homogeneity(tables, name, known, raw_counts)
        yield _skewness(tables, name, known, raw_counts, base)
    if tables.has_boxes and name not in tables.groups:
        yield from _candidates(tables, name, known, raw_counts, base)


def known_counts(tables: Tables, name: str) -> Counts:
    """Count the values of each class, without the missing one: it is no value to be learned."""
    counts = tables.counts(name)
    kept = counts.value != tables.unchanged[name].missing
    return Counts(counts.group[kept], counts.value[kept], counts.times[kept], counts.n_groups)


def totals(counts: Counts) -> Ints:
    """Return the rows of each group that have a value."""
    return np.bincount(counts.group, counts.times, counts.n_groups).astype(np.int64)


def highest(counts: Counts) -> Ints:
    """Return how often each group has its most frequent value."""
    most = np.zeros(counts.n_groups, np.int64)
    np.maximum.at(most, counts.group, counts.times)
    return most


def _alike(counts: Counts) -> Ints:
    """Return the rows of each group if all of them share one value, otherwise 0."""
    total = totals(counts)
    return np.where(highest(counts) == total, total, 0)


def _homogeneity(tables: Tables, name: str, known: Counts, raw: Counts) -> Result:
    """Count the rows in classes that have a single value."""
    alike, rows = _alike(known), int(known.times.sum())
    success = int(alike.sum()) / rows
    several = tables.unchanged[name].size - (tables.unchanged[name].missing >= 0) > 1
    limit = _promise(tables, name, known)
    forbidden = limit is not None and bool((alike[known.group] > 0)[limit < 1 - ROUNDING].any())
    ceiling = 0.0 if limit is not None and float(limit.max()) < 1 - ROUNDING else None
    number = int((alike > 0).sum())
    finding: Finding = "broken" if forbidden else "exposed" if success and several else "none"
    word = "groups" if tables.groups else "classes"
    if number:
        certain = int(alike.sum())
        share = f" ({percent(success)})" if certain >= SHOWN_FROM else ""
        message = (
            f"In {number:,} of {known.n_groups:,} {word} everyone has the same `{name}`: it is certain for "
            f"{counted(certain, 'rows')}{share}."
        )
    else:
        message = f"No value of `{name}` is certain: all {word} have at least two."
    details: dict[str, Any] = {"classes": number, "rows_alike": int(alike.sum())}
    details["values"] = _leaking(tables, name, known)
    return mean_result(
        "homogeneity", "inference", success, rows, baseline=int(_alike(raw).sum()) / int(raw.times.sum()),
        guess=0.0 if several else 1.0, ceiling=ceiling, finding=finding, message=message,
        columns=(name,), details=details,
    )  # fmt: skip


def _promise(tables: Tables, name: str, known: Counts) -> Floats | None:
    """Return the highest share that the goals allow for each value in each class that has it."""
    whole = np.bincount(known.value, known.times)
    shares = whole[known.value] / whole.sum()
    sizes = totals(known)[known.group].astype(np.float64)
    return ceilings(tables.recipe, name, shares, sizes, int((whole > 0).sum()))


def _skewness(tables: Tables, name: str, known: Counts, raw: Counts, base: float) -> Result:
    """Guess the most frequent value of the class."""
    rows = int(known.times.sum())
    success = int(highest(known).sum()) / rows
    limit = _promise(tables, name, known)
    shares = known.times / totals(known)[known.group]
    above = np.zeros(len(shares), np.bool_) if limit is None else shares > limit + ROUNDING
    finding: Finding = "broken" if above.any() else _gain(success, base, limit, tables.k)
    message = (
        f"The most frequent `{name}` of the class is right for {percent(success)} of the people; "
        f"without the release, {percent(base)}."
    )
    if above.any():
        number = len(np.unique(known.group[above]))
        word = "class" if number == 1 else "classes"
        message += f" In {number:,} {word} a value is more frequent than a goal allows."
    values = _leaking(tables, name, known)
    details = {
        "worst_share": float(shares.max()),
        "above_ceiling": len(np.unique(known.group[above])),
        "values": values,
    }
    ceiling = None if limit is None else float(limit.max())
    return mean_result(
        "skewness", "inference", success, rows, guess=base, ceiling=ceiling, finding=finding,
        baseline=int(highest(raw).sum()) / int(raw.times.sum()), message=message + _named(values),
        columns=(name,), details=details,
    )  # fmt: skip


def _gain(success: float, base: float, limit: Floats | None, k: int) -> Finding:
    """Judge a guess that nothing was promised about; k rows of different values allow one in k."""
    return "exposed" if limit is None and success > max(base, 1 / k) + _NOTABLE else "none"


def _leaking(tables: Tables, name: str, known: Counts) -> list[dict[str, Any]]:
    """List the values by how much the classes of those who have them raise their probability.

    For each: its share in the release; how probable it is, on average, for people who have it; and the share
    of them for whom it is certain. Values that occur seldom are combined.
    """
    column = tables.unchanged[name]
    whole = np.bincount(known.value, known.times, column.size)
    shares = known.times / totals(known)[known.group]
    posterior = np.bincount(known.value, known.times * shares, column.size)
    certain = np.bincount(known.value, known.times * (shares == 1), column.size)
    best = np.zeros(column.size)
    np.maximum.at(best, known.value, shares)
    in_raw = np.bincount(column.raw, minlength=column.size)
    shown = (whole >= SHOWN_FROM) & (in_raw >= SHOWN_FROM)
    total = whole.sum()

    def entry(value: str | None, at: Any) -> dict[str, Any]:
        rows = whole[at].sum()
        return {
            "value": value,
            "rows": int(rows),
            "base": float(rows / total),
            "probability": float(posterior[at].sum() / rows),
            "gain": float(posterior[at].sum() / rows / (rows / total)),
            "highest": float(best[at].max()),
            "certain": float(certain[at].sum() / rows),
        }

    rare = np.flatnonzero((whole > 0) & ~shown)
    entries = [entry(column.texts[at], [at]) for at in np.flatnonzero(shown)]
    entries.sort(key=lambda each: (-each["certain"], -each["gain"], str(each["value"])))
    rest = [entry(None, rare)] if len(rare) and whole[rare].sum() >= SHOWN_FROM else []
    return entries[:_VALUES] + rest


def _named(values: list[dict[str, Any]]) -> str:
    """Say which value gains most."""
    known = [each for each in values if each["value"] is not None]
    if not known:
        return ""
    most = max(known, key=lambda each: (each["gain"], str(each["value"])))
    if most["gain"] <= 1 + ROUNDING:
        return ""
    return (
        f" The value {most['value']!r} gains most: {percent(most['probability'])} for those who have it, "
        f"{percent(most['base'])} of all."
    )


def _candidates(tables: Tables, name: str, known: Counts, raw: Counts, base: float) -> Iterable[Result]:
    """Guess the most frequent value of all rows that may be the person's."""
    column = tables.unchanged[name]
    axes = list(tables.quasi.values())
    sample = people_sample(axes, len(tables.sizes), [(column.raw, column.size)], work=_WORK)
    values, weights = column.raw[sample.first], sample.weights
    right, certain = np.zeros(len(values)), np.zeros(len(values), np.bool_)
    for box, point in pairs(axes, sample.of_points(axes)):
        person, value, ties = most_frequent(known, box, point)
        hit = value == values[person]
        right[person[hit]] = 1 / ties[hit]
        who, _, _ = _values_of_boxes(known, box, point)
        certain[who] |= np.bincount(who, minlength=len(values))[who] == 1
    asked = values != column.missing
    people = int(weights[asked].sum())
    if not people:
        return
    success = float((right * weights)[asked].sum()) / people
    limit = _promise(tables, name, known)
    sure = int(weights[asked & certain].sum())
    finding = _gain(success, base, limit, tables.k)
    if sure and column.size - (column.missing >= 0) > 1 and limit is None:
        finding = "exposed"
    message = (
        f"The most frequent `{name}` of all boxes that contain a person is right for {percent(success)} of "
        f"the people; it is certain for {counted(sure, 'people')}."
    )
    yield mean_result(
        "candidates", "inference", success, people, guess=base, finding=finding,
        baseline=int(highest(raw).sum()) / int(raw.times.sum()), message=message, columns=(name,),
        details={"certain": sure, "sampled": sample.sampled},
    )  # fmt: skip


def _values_of_boxes(known: Counts, box: Ints, point: Ints) -> tuple[Ints, Ints, Ints]:
    """Add up the values of all boxes of each point: point, value and rows, sorted by point."""
    begins = np.searchsorted(known.group, np.arange(known.n_groups + 1))
    times = begins[box + 1] - begins[box]
    line = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    line += np.repeat(begins[box], times)
    n_values = int(known.value.max()) + 1
    key, place = np.unique(np.repeat(point, times) * n_values + known.value[line], return_inverse=True)
    return key // n_values, key % n_values, np.bincount(place, known.times[line], len(key)).astype(np.int64)


def most_frequent(known: Counts, box: Ints, point: Ints) -> tuple[Ints, Ints, Ints]:
    """Return, for each point, its most frequent values, each with the number of values that tie."""
    person, value, rows = _values_of_boxes(known, box, point)
    if not len(person):
        return person, value, rows
    first, length = _stretches(person)
    best = rows == np.repeat(np.maximum.reduceat(rows, first), length)
    ties = np.repeat(np.add.reduceat(best.astype(np.int64), first), length)
    return person[best], value[best], ties[best]


def _stretches(sorted_numbers: Ints) -> tuple[Ints, Ints]:
    """Return where each number begins, and how often it occurs."""
    first = np.flatnonzero(np.append(True, sorted_numbers[1:] != sorted_numbers[:-1]))
    return first, np.diff(np.append(first, len(sorted_numbers)))
