"""A job from and to PostgreSQL next to `COPY` out, the same job on Parquet, and `COPY` in.

    python -m benchmarks.postgres [--rows 1000000] [--rounds 1] [--method mondrian]

Census-like rows (SAL, 7 quasi columns), k = 10. The server is started in a temporary folder without fsync.
The job is `shoal anonymize` with its report and without the lower bound, each run a process of its own.
Seconds are wall time; processor seconds are those of the process and of the server together.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from tests.postgres_server import Database, one_server, programs

_SHOAL = [sys.executable, "-W", "ignore", "-c", "from shoal.cli.main import main; main()"]
_TARGET = 1.5


def main() -> None:
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--method", default="mondrian")
    given = parser.parse_args()
    with contextmanager(one_server)() as server, tempfile.TemporaryDirectory() as name:
        folder, database = Path(name), Database(server, "postgres")
        _job(folder, database, _recipe(folder, 2000), given.method, "parquet")  # loads and compiles
        recipe = _recipe(folder, given.rows)
        _fill(recipe, database)
        for _ in range(given.rounds):
            _compare(folder, database, recipe, given.method)


def _recipe(folder: Path, rows: int) -> Path:
    from shoal.datasets import write_census

    return write_census(folder, rows, 0, table="SAL", quasi=7, k=10, ending="parquet")


def _fill(recipe: Path, database: Database) -> None:
    from adbc_driver_postgresql import dbapi

    from shoal.recipe import Recipe

    path = Recipe.load(recipe).source
    assert isinstance(path, Path)
    rows = pl.read_parquet(path).to_arrow(compat_level=pl.CompatLevel.oldest())
    with dbapi.connect(database.address()) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("people", rows, mode="create")
        connection.commit()
    database.run("VACUUM ANALYZE people")


def _compare(folder: Path, database: Database, recipe: Path, method: str) -> None:
    csv = folder / "people.csv"
    parts = {
        "COPY out": lambda: _psql(database, f"\\copy people TO '{csv}' WITH (FORMAT csv)"),
        "job on Parquet": lambda: _job(folder, database, recipe, method, "parquet"),
        "COPY in": lambda: _copy_in(folder, database),
    }
    measured = {title: _measured(database, run) for title, run in parts.items()}
    together = [sum(found[at] for found in measured.values()) for at in range(2)]
    whole = _measured(database, lambda: _job(folder, database, recipe, method, "postgres"))
    for title, (wall, cpu) in {**measured, "together": together, "from and to PostgreSQL": whole}.items():
        print(f"{title:24} {wall:8.1f} s {cpu:8.1f} processor s")
    ratios = [whole[at] / together[at] for at in range(2)]
    print(f"ratio: {ratios[0]:.2f} in wall time, {ratios[1]:.2f} in processor time; target {_TARGET}")


def _copy_in(folder: Path, database: Database) -> None:
    """Copy the released table in, as a CSV file."""
    csv = folder / "release.csv"
    frame = pl.read_parquet(folder / "release.parquet")
    frame.write_csv(csv, include_header=False)
    columns = ", ".join(f'"{name}" {_type(one)}' for name, one in frame.schema.items())
    database.run("DROP TABLE IF EXISTS copied", f"CREATE TABLE copied ({columns})")
    _psql(database, f"\\copy copied FROM '{csv}' WITH (FORMAT csv)")


def _type(one: pl.DataType) -> str:
    return "bigint" if one.is_integer() else "double precision" if one.is_float() else "text"


def _job(folder: Path, database: Database, recipe: Path, method: str, where: str) -> None:
    flags = ["--method", method, "--no-bound", "--force", "--quiet"]
    if where == "parquet":
        command = [str(recipe), "-o", str(folder / "release.parquet")]
    else:
        from shoal.recipe import Recipe

        given = {"input": {"path": database.address(), "table": "people"}}
        changed = recipe.with_name("postgres.toml")
        changed.write_text(Recipe.load(recipe, changes=given).to_toml())
        command = [str(changed), "-o", database.address(), "--output-table", "released"]
    subprocess.run([*_SHOAL, "anonymize", *command, *flags], check=True, cwd=folder)


def _psql(database: Database, command: str) -> None:
    place = programs()
    assert place is not None
    quiet = ["--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "-c", command]
    subprocess.run([str(place / "psql"), database.address(), *quiet], check=True)


def _measured(database: Database, run) -> Sequence[float]:  # type: ignore[no-untyped-def]
    """Return wall time, and the processor time of processes that were started and of the server's."""
    begin, before = time.perf_counter(), _processor_seconds(database)
    run()
    wall = time.perf_counter() - begin
    return wall, _processor_seconds(database) - before


def _processor_seconds(database: Database) -> float:
    time.sleep(0.5)  # the server counts the time of its processes when they have ended
    ours = sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    )
    process = (database.folder / "data" / "postmaster.pid").read_text().split()[0]
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]
    return ours + sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
