"""A table of people in a database, and the recipe that releases it."""

from __future__ import annotations

from typing import Any

from shoal.recipe import Recipe
from tests.postgres_server import Database

ROWS = 120
COLUMNS: dict[str, Any] = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi"},
    "Zip Code": {"role": "quasi"},
    "ill": {"role": "sensitive"},
    "cost": {"role": "keep"},
}


def make_people(database: Database, table: str = "people", rows: int = ROWS) -> None:
    """Create the table; ages and places have no order, one in ten people has no diagnosis."""
    database.run(
        f"""CREATE TABLE {table} AS SELECT 'n' || i AS name, (60 + hashint4(i) % 40)::int AS age,
        'z' || abs(hashint4(i + 1000)) % 4 AS "Zip Code",
        CASE WHEN i % 10 > 0 THEN (ARRAY['flu', 'cold', 'gout'])[1 + abs(hashint4(i + 2000)) % 3] END AS ill,
        ((abs(hashint4(i + 3000)) % 5) * 2.5)::numeric(8, 2) AS cost FROM generate_series(1, {rows}) i"""
    )


def recipe(database: Database, **changes: Any) -> Recipe:
    """Release `people` as `people_k3`."""
    sections: dict[str, Any] = {
        "input": {"path": database.address(), "table": "people"},
        "columns": COLUMNS,
        "privacy": {"k": 3},
        "method": {"name": "mondrian"},
        "output": {"path": database.address(), "table": "people_k3"},
    }
    return Recipe.from_dict(sections, changes=changes)
