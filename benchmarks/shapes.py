"""Made-up tables of different shapes, with the recipes for them: what a method is good at may hang on these.

`numeric`: six numbers that depend on each other, and one tree. `trees`: six deep trees of 50 to 1,000
leaves, and one number. `skewed`: long tails, columns in which nearly all rows have one value, many rows
alike, and a few far from all others. `registry`: eight columns as a register of people has them, most of
them numbers with thousands of values, none depending on another. `distinct`: a number and a text that differ
in every row, a day and a sex. `columns`: fifteen quasi columns, of which the first so many are taken. The
same number of rows gives the same table.
"""

from __future__ import annotations

from datetime import date
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.recipe import Recipe

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Made = tuple[pl.DataFrame, Recipe]
SHAPES = ("numeric", "trees", "skewed")
N_COLUMNS = 15
_NUMBER: dict[str, Any] = {"role": "quasi", "kind": "numeric"}
_CATEGORY: dict[str, Any] = {"role": "quasi", "kind": "categorical"}
_DATE: dict[str, Any] = {"role": "quasi", "kind": "date"}
_SCHOOLS = ("none", "primary", "lower", "upper", "vocational", "college", "bachelor", "master", "doctor")


def made_up(shape: str, rows: int, quasi: int = N_COLUMNS) -> Made:
    """Make the table of a shape; `quasi` counts for `columns` alone."""
    random = np.random.Generator(np.random.PCG64(2026))
    if shape == "columns":
        return _columns(rows, random, quasi)
    makers = {
        "numeric": _numeric,
        "trees": _trees,
        "skewed": _skewed,
        "registry": _registry,
        "distinct": _distinct,
    }
    return makers[shape](rows, random)


def _recipe(columns: dict[str, Any]) -> Recipe:
    return Recipe.from_dict({"columns": columns, "privacy": {"k": 2}})


def _tree(fans: tuple[int, ...], path: str = "n") -> dict[str, Any]:
    """Return a tree with so many children at each level, named by their paths."""
    return {path: _children(fans, path)}


def _children(fans: tuple[int, ...], path: str) -> dict[str, Any]:
    if not fans:
        return {}
    return {f"{path}.{at}": _children(fans[1:], f"{path}.{at}") for at in range(fans[0])}


def _leaf_names(fans: tuple[int, ...]) -> list[str]:
    return ["n." + ".".join(map(str, path)) for path in product(*map(range, fans))]


def _quasi_tree(fans: tuple[int, ...]) -> dict[str, Any]:
    return {"role": "quasi", "kind": "categorical", "hierarchy": _tree(fans)}


def _zipf(n: int, rows: int, random: np.random.Generator, steep: float = 1.1) -> Ints:
    """Draw ranks below n, the first most often."""
    weights = np.arange(1, n + 1) ** -steep
    return random.choice(n, rows, p=weights / weights.sum())


def _leaves(
    fans: tuple[int, ...], group: Ints, bound: float, random: np.random.Generator, steep: float = 1.1
) -> list[str]:
    """Draw a leaf for each row, level by level; a share of `bound` goes the way of the row's group.

    At each level some of these leave it, and go on as all others do.
    """
    rows = len(group)
    is_bound = random.random(rows) < bound
    numbers = np.zeros(rows, np.int64)
    for fan in fans:
        way = random.integers(0, fan, int(group.max(initial=0)) + 1)[group]
        numbers = numbers * fan + np.where(is_bound, way, _zipf(fan, rows, random, steep))
        is_bound &= random.random(rows) < 0.7
    names = np.array(_leaf_names(fans))
    return list(names[numbers])


def _factors(rows: int, n: int, random: np.random.Generator) -> Floats:
    """Return what columns depend on: some hidden numbers of each row."""
    return random.normal(size=(rows, n))


def _mixed(hidden: Floats, noise: float, random: np.random.Generator) -> Floats:
    """Return a column that depends on hidden numbers, of about unit width."""
    weights = random.normal(size=hidden.shape[1])
    mixed = hidden @ (weights / np.linalg.norm(weights))
    values: Floats = (mixed + noise * random.normal(size=len(hidden))) / np.hypot(1, noise)
    return values


def _numeric(rows: int, random: np.random.Generator) -> Made:
    hidden = _factors(rows, 3, random)
    made = [_mixed(hidden, noise, random) for noise in (0.3, 0.5, 0.7, 0.5, 0.9, 0.4)]
    group = np.digitize(hidden[:, 0], [-1.0, -0.3, 0.3, 1.0])
    table = pl.DataFrame(
        {
            "age": np.clip(45 + 16 * made[0], 16, 95).round().astype(np.int64),
            "height": (170 + 9 * made[1]).round(1),
            "weight": (5 * np.round((75 + 14 * made[2]) / 5)).astype(np.int64),
            "income": np.exp(10 + 0.7 * made[3]).round(),
            "score": np.floor(100 / (1 + np.exp(-made[4]))).astype(np.int64),
            "pressure": (120 + 15 * made[5]).round(2),
            "place": _leaves((4, 8), group, 0.7, random),
        }
    )
    numbers = {name: _NUMBER for name in table.columns if name != "place"}
    return table, _recipe({**numbers, "place": _quasi_tree((4, 8))})


def _trees(rows: int, random: np.random.Generator) -> Made:
    group = _zipf(40, rows, random, 0.9)
    fans = {
        "disease": (8, 5, 5, 5),  # 1,000 leaves
        "home": (5, 4, 6, 5),  # 600
        "job": (9, 5, 8),  # 360
        "product": (3, 3, 3, 3, 3, 2),  # 486
        "school": (5, 5, 4),  # 100
        "language": (3, 3, 3, 2),  # 54
    }
    drawn = {name: _leaves(fan, group, 0.85, random, 1.5) for name, fan in fans.items()}
    age = np.clip(30 + (group * 7) % 40 + 12 * random.normal(size=rows), 0, 99).round().astype(np.int64)
    trees = {name: _quasi_tree(fan) for name, fan in fans.items()}
    return pl.DataFrame({**drawn, "age": age}), _recipe({**trees, "age": _NUMBER})


def _skewed(rows: int, random: np.random.Generator) -> Made:
    hidden = _factors(rows, 2, random)
    common = random.random(rows) < 0.9

    def mostly(fans: tuple[int, ...]) -> list[str]:
        first = _leaf_names(fans)[0]
        others = _leaves(fans, np.digitize(hidden[:, 0], [0.0]), 0.5, random)
        stays = random.random(rows) < np.where(common, 0.97, 0.27)  # 90 % of all
        return [first if at_home else other for at_home, other in zip(stays, others, strict=True)]

    gains = np.where(random.random(rows) < 0.85, 0, 500 * (1 + random.pareto(1.3, rows)))
    visits = np.floor(random.pareto(1.8, rows) * np.exp(0.5 * hidden[:, 1]))
    table = pl.DataFrame(
        {
            "gains": gains.round().astype(np.int64),
            "visits": visits.astype(np.int64),
            "wealth": (1000 * np.exp(1.5 * _mixed(hidden, 0.5, random))).round(-1).astype(np.int64),
            "age": np.clip(40 + 15 * _mixed(hidden, 1.0, random), 0, 99).round().astype(np.int64),
            "country": mostly((5, 4, 3)),
            "language": mostly((4, 10)),
            "status": mostly((6,)),
            "job": _leaves((6, 8), _zipf(12, rows, random), 0.6, random),
        }
    )
    # A third of the rows are copies of forty others; ten in ten thousand are far from everything.
    at = np.arange(rows)
    copied = random.random(rows) < 0.33
    at[copied] = _zipf(min(40, rows), int(copied.sum()), random, 0.7)
    far = np.where(random.random(rows) < 0.001, 30, 1)
    table = table[at].with_columns(pl.col("gains", "visits", "wealth") * pl.Series(far))
    trees = {"country": (5, 4, 3), "language": (4, 10), "status": (6,), "job": (6, 8)}
    specs = {name: _quasi_tree(trees[name]) if name in trees else _NUMBER for name in table.columns}
    return table, _recipe(specs)


def _days(begin: date, end: date, rows: int, random: np.random.Generator) -> Any:
    """Draw days, all equally likely."""
    first, last = np.datetime64(begin, "D"), np.datetime64(end, "D")
    return first + random.integers(0, int((last - first).astype(np.int64)), rows).astype("timedelta64[D]")


def _registry(rows: int, random: np.random.Generator) -> Made:
    table = pl.DataFrame(
        {
            "age": np.clip(random.gamma(4, 11, rows), 0, 99).astype(np.int64),
            "sex": random.choice(["female", "male"], rows),
            "postcode": random.integers(10_000, 100_000, rows),
            "education": np.array(_SCHOOLS)[random.binomial(len(_SCHOOLS) - 1, 0.45, rows)],
            "income": np.exp(random.normal(10.3, 0.6, rows)).round().astype(np.int64),
            "region": np.array([f"region {number}" for number in range(1, 17)])[_zipf(16, rows, random, 0.7)],
            "birth date": _days(date(1930, 1, 1), date(2010, 1, 1), rows, random),
            "height": random.normal(170, 10, rows).round(1),
        }
    )
    numbers = dict.fromkeys(("age", "postcode", "income", "height"), _NUMBER)
    education = {"role": "quasi", "kind": "ordinal", "order": list(_SCHOOLS)}
    others = {"sex": _CATEGORY, "education": education, "region": _CATEGORY, "birth date": _DATE}
    return table, _recipe({name: {**numbers, **others}[name] for name in table.columns})


def _distinct(rows: int, random: np.random.Generator) -> Made:
    table = pl.DataFrame(
        {
            "number": random.permutation(rows) + 0.5,
            "text": [f"text {number}" for number in random.permutation(rows)],
            "day": _days(date(1900, 1, 1), date(2026, 1, 1), rows, random),
            "sex": random.choice(["female", "male"], rows),
        }
    )
    specs = {"number": _NUMBER, "text": _CATEGORY, "day": _DATE, "sex": _CATEGORY}
    return table, _recipe(specs)


def _columns(rows: int, random: np.random.Generator, quasi: int) -> Made:
    """Make fifteen columns, by turns a number and a tree."""
    hidden = _factors(rows, 4, random)
    group = np.digitize(hidden[:, 0], np.linspace(-2, 2, 11))
    fans = ((2,), (4, 4), (3, 4, 4), (5,), (4, 3, 3), (8, 6), (2, 5, 5))
    drawn: dict[str, Any] = {}
    specs: dict[str, Any] = {}
    for number in range(N_COLUMNS):
        name = f"column {number + 1}"
        if number % 2 == 0:
            steps = (80, 16, 400, 30, 60, 10, 100, 40)[number // 2]
            drawn[name] = np.floor(steps * (0.5 + 0.15 * _mixed(hidden, 0.6, random))).astype(np.int64)
            specs[name] = _NUMBER
        else:
            drawn[name] = _leaves(fans[number // 2], group, 0.6, random)
            specs[name] = _quasi_tree(fans[number // 2])
    chosen = list(drawn)[:quasi]
    return pl.DataFrame({name: drawn[name] for name in chosen}), _recipe(
        {name: specs[name] for name in chosen}
    )
