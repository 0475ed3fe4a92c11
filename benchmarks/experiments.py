"""The papers' experiments: run them, print tables, draw charts into docs/experiments.

    python benchmarks/experiments.py [kaca] [cb]

`kaca`: KACA beside Incognito on the 45,222 rows of [li2006]. `cb`: CB beside NH (and Mondrian, whose
groups NH uses) on 500,000 census-like rows, after [he2012]. Each takes a few minutes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from run import SHARED, measured

DOCS = Path(__file__).parents[1] / "docs" / "experiments"
PALETTE = ["#23808f", "#c2571a", "#6f5fd0"]  # mid-tones that can be read on white and on black


def draw(
    frame: pl.DataFrame, x: str, y: str, facet: str, title: str, file: str, scale: str = "linear"
) -> None:
    """Draw one line for each method, one small chart for each value of `facet`."""
    chart = (
        alt.Chart(frame)
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{x}:Q", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y(f"{y}:Q", title=title, scale=alt.Scale(type=scale)),
            color=alt.Color("method:N", scale=alt.Scale(range=PALETTE), title=None),
        )
        .properties(width=170, height=150)
        .facet(facet=alt.Facet(f"{facet}:N", title=None), columns=4)
        .configure(background="white")
    )
    DOCS.mkdir(exist_ok=True)
    chart.save(DOCS / file)


def markdown(rows: list[list[str]]) -> None:
    """Print rows as a Markdown table, the first as its header."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    print("\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]), end="\n\n")


def kaca() -> None:
    """Distortion ratios and times by number of quasi columns, k and weights."""
    folder = Path(os.environ.get("SHOAL_DATA", SHARED / "data")) / "adult"
    results: list[dict[str, Any]] = measured("adult45.py", folder, 3)["results"]  # type: ignore[assignment]
    found = {(r["method"], r["weights"], r["k"], r["quasi"]): r for r in results}
    header = ["weights", "k", "quasi columns", "KACA", "Incognito", "times less", "KACA, s", "Incognito, s"]
    table = [header]
    for weights in ("uniform", "height"):
        for k in (2, 10):
            for quasi in range(3, 10):
                ours, other = (found[method, weights, k, quasi] for method in ("kaca", "incognito"))
                numbers = [
                    f"{ours['ratio']:.4f}", f"{other['ratio']:.4f}", f"{other['ratio'] / ours['ratio']:.1f}",
                    f"{ours['seconds']:.2f}", f"{other['seconds']:.2f}",
                ]  # fmt: skip
                table.append([weights, str(k), str(quasi), *numbers])
    markdown(table)
    frame = pl.DataFrame(results).with_columns(
        panel=pl.format("{} weights, k = {}", "weights", "k"), quasi=pl.col("quasi")
    )
    draw(frame, "quasi", "ratio", "panel", "distortion ratio", "kaca-incognito.svg", "log")


def cb() -> None:
    """GCP by k and number of quasi columns, in the paper's reading and in ours."""
    results: list[dict[str, Any]] = measured("cb_nh.py", 500_000)["results"]  # type: ignore[assignment]
    found = {(r["table"], r["quasi"], r["k"], r["method"]): r for r in results}
    ks = (50, 100, 150, 200, 250)
    table = [["GCP by", "table", "method", *(f"k = {k}" for k in ks), "seconds, k = 50"]]
    for reading, first in (("order", "cb, order"), ("height", "cb")):
        for name in ("SAL", "INCOME"):
            for quasi in (3, 4, 5, 6):
                for method in (first, "nh", "mondrian"):
                    runs = [found[name, quasi, k, method] for k in ks]
                    gcps = [f"{100 * run[reading]:.2f} %" for run in runs]
                    row = [reading, f"{name}-{quasi}", method, *gcps, f"{runs[0]['seconds']:.2f}"]
                    table.append(row)
    markdown(table)
    frame = pl.DataFrame(results).filter(pl.col("method") != "cb")
    frame = frame.with_columns(panel=pl.format("{}-{}", "table", "quasi"))
    draw(frame, "k", "order", "panel", "GCP, by order", "cb-nh.svg")


PARTS = {"kaca": kaca, "cb": cb}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
