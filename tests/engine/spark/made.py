"""Tables for both engines, and what each makes of them."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.engine.spark.run import run
from shoal.recipe import Recipe
from shoal.release.distributed import layout_of
from shoal.verifier.spark.session import steady

ORDER = ["none", "some", "most", "all"]
LAND = {
    "World": {"Asia": ["Iran", "India", "Nepal"], "America": {"North": ["Cuba"], "South": ["Peru", "Chile"]}}
}
GRIDS = {"age": {"grid": 5.0}, "pay.": {"grid": 0.5}, "day": {"grid": 7.0}, "`edu`": {"grid": 1.0}}
QUASI: dict[str, dict[str, Any]] = {
    "age": {},
    "pay.": {"kind": "numeric", "weight": 2.0},
    "day": {},
    "`edu`": {"kind": "ordinal", "order": ORDER},
    'land "of" birth': {"hierarchy": LAND},
    "*": {},
}
COLUMNS = {
    **{name: {"role": "quasi", **spec} for name, spec in QUASI.items()},
    "^ill.*$": {"role": "sensitive"},
    "größe": {"role": "sensitive", "kind": "numeric"},
    "note": {"role": "keep"},
    "who": {"role": "drop"},
}


def people(n_rows: int, seed: int = 0, *, missing: float = 0.1) -> pl.DataFrame:
    """A table with a column of each kind, whose names are hard to quote; some cells are missing."""
    random = np.random.Generator(np.random.PCG64(seed))
    ages = np.clip(random.normal(40, 15, n_rows), 0, 99).astype(int)
    days = random.integers(0, 3000, n_rows)
    lands = ["Iran", "India", "Nepal", "Cuba", "Peru", "Chile"]
    columns = {
        "age": pl.Series(ages),
        "pay.": pl.Series(np.round(random.gamma(2.0, 20.0, n_rows), 2)),
        "day": pl.Series([date(2001, 1, 1) + timedelta(days=int(day)) for day in days]),
        "`edu`": pl.Series(random.choice(ORDER, n_rows)),
        'land "of" birth': pl.Series(random.choice(lands, n_rows, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1])),
        "*": pl.Series(random.choice(["x", "y", "z, or", "w"], n_rows)),
        "^ill.*$": pl.Series(random.choice(["flu", "cold", "gout", "mumps"], n_rows)),
        "größe": pl.Series(random.integers(150, 160, n_rows) / 2),
        "note": pl.Series(random.choice(["=1+1", "", "b"], n_rows)),
        "who": pl.Series([f"p{number}" for number in random.integers(0, max(2, n_rows // 2), n_rows)]),
    }
    table = pl.DataFrame(columns)
    for name in (*QUASI, "^ill.*$"):
        absent = pl.Series(random.random(n_rows) < missing)
        table = table.with_columns(pl.Series(name, table[name].zip_with(~absent, pl.Series([None]))))
    return table


def recipe(k: int = 5, cell_rows: int = 150, **sections: Any) -> Recipe:
    changes = {"privacy": {"k": k}, "engine": {"cell_rows": cell_rows}}
    return Recipe.from_dict({"columns": COLUMNS, **changes}, changes=sections)


def in_spark(spark: Any, table: pl.DataFrame, parts: int = 3) -> Any:
    """The table as a Spark DataFrame in some partitions."""
    return spark.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(parts)


def texts(names: list[str], rows: list[Any]) -> list[tuple[str, ...]]:
    """Rows as sorted texts, whatever the types."""
    return [tuple(names), *sorted(tuple(str(cell) for cell in row) for row in rows)]


def by_local(table: pl.DataFrame, asked: Recipe) -> list[tuple[str, ...]]:
    """What the engine of one machine releases."""
    frame = shoal.anonymize(table, asked, bound=False).frame
    return texts(frame.columns, frame.rows())


def by_spark(frame: Any, asked: Recipe, **how: Any) -> list[tuple[str, ...]]:
    """What the engine of many machines releases, without measuring and verifying it."""
    with steady(frame.sparkSession):
        made = run(frame, asked.changed({"engine": {"name": "spark"}}), {}, **how)
        try:
            layout = layout_of(made)
            found = made.released.select(*(plain for plain, _ in layout.columns)).collect()
            return texts([name for _, name in layout.columns], found)
        finally:
            made.close()


def persisted(spark: Any) -> int:
    """How many frames of rows Spark keeps: those are on disk alone, unlike what it checkpoints for itself."""
    kept = spark.sparkContext._jsc.getPersistentRDDs().values()
    return sum(not frame.getStorageLevel().useMemory() for frame in list(kept))


def let_go(spark: Any) -> None:
    """Release what other tests keep."""
    for frame in list(spark.sparkContext._jsc.getPersistentRDDs().values()):
        frame.unpersist()


def plans_of(spark: Any, monkeypatch: Any) -> list[str]:
    """Return a list that gets the plan of each query whose result comes to the driver."""
    frames, found = type(spark.range(1)), []
    plain = frames.collect

    def collect(frame: Any) -> Any:
        rows = plain(frame)
        found.append(frame._jdf.queryExecution().toString())
        return rows

    monkeypatch.setattr(frames, "collect", collect)
    return found
