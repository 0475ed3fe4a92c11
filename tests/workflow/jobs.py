"""A table of jobs, two of them rare."""

from __future__ import annotations

import polars as pl

# Women and men with each job.
JOBS = {
    "nurse": (19, 1), "midwife": (18, 2), "teacher": (11, 9), "clerk": (10, 10), "roofer": (2, 18),
    "miner": (1, 19), "astronaut": (1, 3), "beekeeper": (2, 1),
}  # fmt: skip


def jobs_table() -> pl.DataFrame:
    """Return one row for each person."""
    rows = [
        (job, sex, f"ill {at % 3}")
        for job, counts in JOBS.items()
        for sex, n in zip("fm", counts, strict=True)
        for at in range(n)
    ]
    return pl.DataFrame(rows, schema=["job", "sex", "ill"], orient="row")
