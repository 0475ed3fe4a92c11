"""Compare `shoal inspect` with DuckDB's SUMMARIZE on synthetic census tables, in one run.

    python -m benchmarks.inspecting [ROWS]

Both read the same file, in turns. SUMMARIZE counts each column by itself; `inspect` also recognizes values,
and counts sets of columns.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

REPEATS = 3


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    import duckdb

    import shoal
    from shoal.datasets import census

    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    table = census(rows, seed=0)
    print("| file | SUMMARIZE, s | inspect, s | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("parquet", "csv"):
            path = Path(folder) / f"census.{ending}"
            table.write_parquet(path) if ending == "parquet" else table.write_csv(path)
            shoal.inspect(path)  # loads what is loaded once
            ask = f"SUMMARIZE SELECT * FROM read_{ending}('{path}')"
            pairs = [
                (seconds(duckdb.connect().sql(ask).fetchall), seconds(partial(shoal.inspect, path)))
                for _ in range(REPEATS)
            ]
            theirs, ours = (median(times) for times in zip(*pairs, strict=True))
            print(f"| {ending} | {theirs:.2f} | {ours:.2f} | {ours / theirs:.1f} |", flush=True)


if __name__ == "__main__":
    main()
