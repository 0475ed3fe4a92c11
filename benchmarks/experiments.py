"""The papers' experiments: run them, print tables, draw charts into docs/experiments.

    python benchmarks/experiments.py [kaca] [cb] [views]

`kaca`: KACA versus Incognito on the 45,222 rows of [li2006]. `cb`: CB versus NH (and Mondrian, whose
groups NH uses) on 500,000 census-like rows, after [he2012]. `views`: sub-tables versus the whole table,
after [bhaladhare2016]. Each takes a few minutes.
"""

from __future__ import annotations

import os
import sys
from itertools import product
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from run import SHARED, measured

DOCS = Path(__file__).parents[1] / "docs" / "experiments"
PALETTE = ["#23808f", "#c2571a", "#6f5fd0", "#84871c"]  # mid-tones that can be read on white and on black
VIEWS_KS = (20, 40, 60, 80, 100)

Sets = list[tuple[str, ...]]  # the quasi columns of each view
Runs = dict[tuple[str, tuple[str, ...], int], dict[str, Any]]  # by method, quasi columns and k


def draw(
    frame: pl.DataFrame, x: str, y: str, facet: str, title: str, file: str, scale: str = "linear"
) -> None:
    """Draw one line for each method, one small chart for each value of `facet`, in the frame's order."""
    order = frame[facet].unique(maintain_order=True).to_list()
    chart = (
        alt.Chart(frame)
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{x}:Q", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y(f"{y}:Q", title=title, scale=alt.Scale(type=scale)),
            color=alt.Color("method:N", scale=alt.Scale(range=PALETTE), title=None),
        )
        .properties(width=170, height=150)
        .facet(facet=alt.Facet(f"{facet}:N", title=None, sort=order), columns=4)
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
    header = [
        "weights",
        "k",
        "quasi columns",
        "KACA",
        "Incognito",
        "Incognito / KACA",
        "KACA, s",
        "Incognito, s",
    ]
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


def views() -> None:
    """Loss and time of sub-tables, per view and summed, and what they give away together."""
    folder = Path(os.environ.get("SHOAL_DATA", SHARED / "data")) / "adult"
    found: dict[str, Any] = measured("views.py", folder, 5)
    runs = {(r["method"], tuple(r["columns"]), r["k"]): r for r in found["results"]}
    sets = {kind: [tuple(names) for names in listed] for kind, listed in found["views"].items()}
    sets["whole"] = sets["nested"][-1:]
    _views_beside_whole(runs, sets)
    _views_one_by_one(runs, list(dict.fromkeys([*sets["equal"], *sets["unequal"]])))
    _views_by_columns(runs, sets["nested"])
    _views_together(found["composition"], found["rows"])


def _views_beside_whole(runs: Runs, sets: dict[str, Sets]) -> None:
    """Set what figures 3 and 4 compare side by side, for the worst view and for all views."""
    releases = [
        ("systematic, whole table", "whole", "systematic"), ("k-member, whole table", "whole", "k-member"),
        ("approach 1, unequal", "unequal", "systematic"), ("approach 2, equal", "equal", "systematic"),
        ("nested", "nested", "systematic"),
        ("unequal, projection", "unequal", "projection"), ("equal, projection", "equal", "projection"),
    ]  # fmt: skip
    for measure, unit, worst, file in (
        ("il", "Total IL", "the view with the highest loss", "views-loss.svg"),
        ("seconds", "processor seconds", "the slowest view", "views-time.svg"),
    ):
        table, lines = [[unit, "of", *(f"k = {k}" for k in VIEWS_KS)]], []
        for (title, kind, method), panel in product(releases, (worst, "all views, summed")):
            if measure == "seconds" and method == "projection":
                continue  # it is the time of the whole
            combine = max if panel == worst else sum
            values = [combine(runs[method, names, k][measure] for names in sets[kind]) for k in VIEWS_KS]
            if kind != "nested" and method != "projection":
                lines += [
                    {"k": k, "method": title, "panel": panel, "value": value}
                    for k, value in zip(VIEWS_KS, values, strict=True)
                ]
            if kind != "whole" or panel != worst:
                shown = [f"{value:,.0f}" if measure == "il" else f"{value:.3f}" for value in values]
                table.append([title, panel if kind != "whole" else "", *shown])
        markdown(table)
        draw(pl.DataFrame(lines), "k", "value", "panel", unit, file, "log")


def _views_one_by_one(runs: Runs, sets: Sets) -> None:
    """List each view of approaches 1 and 2 beside the same columns of the whole release."""
    ends = (min(VIEWS_KS), max(VIEWS_KS))
    header = ["view", *(f"k = {k}" for k in VIEWS_KS), *(f"projection, k = {k}" for k in ends)]
    table = [[*header, *(f"processor s, k = {k}" for k in ends)]]
    for names in sets:
        own = [f"{runs['systematic', names, k]['il']:,.0f}" for k in VIEWS_KS]
        projected = [f"{runs['projection', names, k]['il']:,.0f}" for k in ends]
        seconds = [f"{runs['systematic', names, k]['seconds']:.3f}" for k in ends]
        table.append([", ".join(names), *own, *projected, *seconds])
    markdown(table)


def _views_by_columns(runs: Runs, sets: Sets) -> None:
    """Show what figures 5 and 6 show: nested sub-tables by their number of quasi columns."""
    header = ["quasi columns", "method", *(f"k = {k}" for k in VIEWS_KS)]
    table, lines = [[*header, *(f"processor s, k = {k}" for k in VIEWS_KS)]], []
    for names, method in product(sets, ("systematic", "k-member", "projection")):
        of_k = [runs[method, names, k] for k in VIEWS_KS]
        seconds = [f"{run['seconds']:.3f}" if method != "projection" else "" for run in of_k]
        table.append([str(len(names)), method, *(f"{run['il']:,.0f}" for run in of_k), *seconds])
        lines += [
            {"quasi": len(names), "method": method, "panel": f"k = {run['k']}", "il": run["il"]}
            for run in of_k
            if run["k"] in (20, 60, 100)
        ]
    markdown(table)
    draw(pl.DataFrame(lines), "quasi", "il", "panel", "Total IL", "views-columns.svg", "log")


def _views_together(checked: list[dict[str, Any]], rows: int) -> None:
    """List what the composition check says of each release."""
    counts = ("refused", "below_m", "below_j", "alone", "known")
    table = [
        [
            "views", "k", "verdict", "rows refused", "M below k", "J below k and linked", "J = 1",
            "one value left", "lowest M", "lowest J",
        ]
    ]  # fmt: skip
    by_release: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in checked:
        by_release.setdefault((run["by"], run["views"]), []).append(run)
    for (by, kind), runs in sorted(by_release.items(), key=lambda found: found[0][0]):
        title = kind if by == "clustering" else f"{kind}, projection"
        if not any(run["refused"] for run in runs):
            table.append([title, "each", runs[0]["verdict"], *["0"] * len(counts), "k or more", "k or more"])
            continue
        for run in runs:
            shown = [f"{run[name]:,} ({100 * run[name] / rows:.1f} %)" for name in counts[:-1]]
            least = [str(run["worst_m"]), str(run["worst_j"])]
            table.append([title, str(run["k"]), run["verdict"], *shown, str(run["known"]), *least])
    markdown(table)


PARTS = {"kaca": kaca, "cb": cb, "views": views}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
