"""Charts of the benchmarks of local search, drawn from the figures that were kept, as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from contenders import NORMAL, OURS, OWN, SWAPS, YARDSTICK
from results import Figures

QUICK, _, HIGH = OURS
ARX = "ARX, best setting"
BOUND = "lower bound"
WITHIN = "local-search with a time limit"
# Mid-tones that can be read on white and on black; the same contender has the same one in every chart.
COLOURS = {
    NORMAL: "#23808f",
    QUICK: "#5aa9b5",
    HIGH: "#0f5563",
    WITHIN: "#23808f",
    OWN: "#23808f",
    "k-member": "#c2571a",
    SWAPS: "#a8324a",
    "mondrian": "#6f5fd0",
    "kaca": "#84871c",
    "cb": "#b0579e",
    "systematic": "#4f86c6",
    "oka": "#8a6a4f",
    "c-means": "#5b8c5a",
    "threshold": "#b88a1e",
    "incognito": "#6b7280",
    ARX: "#6b7280",
    BOUND: "#9a9a9a",
}
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-left",
    "triangle-right",
)
DRAWN = (QUICK, NORMAL, HIGH, SWAPS, "k-member", "mondrian", "kaca")  # in charts of all k; tables have all
GOAL_NAMES = {"distinct": "distinct l = 5", "entropy": "entropy l = 4", "closeness": "t-closeness t = 0.2"}
ARX_BEST = {5: 11_399, 10: 17_437, 25: 26_604, 50: 35_127, 100: 45_272}
# Incognito is slow, so the runs of `adult` leave it out: (Total IL, seconds) from docs/methods/incognito.md.
INCOGNITO = {
    5: (156_842, 0.46), 10: (165_891, 0.46), 25: (171_923, 0.43), 50: (180_972, 0.39), 100: (180_972, 0.39),
}  # fmt: skip
METHODS_SEED = 1  # of the figures in docs/methods
PARETO_KS = (10, 100)
QUASI_COLUMNS = 8  # of adult8; a quasi cell loses at most 1

Lines = list[dict[str, Any]]


def lines(
    found: Lines, x: str, y: str, ticks: list[Any], *, x_scale: str = "log", y_scale: str = "linear"
) -> Any:
    """Draw one line for each contender; `x` and `y` are also the titles of the axes."""
    frame = pl.DataFrame({"name": [line["name"] for line in found], x: [line["x"] for line in found],
                          y: [float(line["y"]) for line in found]})  # fmt: skip
    names = [name for name in COLOURS if name in set(frame["name"])]
    x_axis = alt.Axis(values=ticks, format="~s" if min(ticks) >= 1000 else "~g")
    y_axis = alt.Axis(format="~s" if min(frame[y]) >= 1000 else "~r", tickCount=6)
    return (
        alt.Chart(frame)
        .mark_line(point=alt.OverlayMarkDef(size=50))
        .encode(
            x=alt.X(f"{x}:Q", scale=alt.Scale(type=x_scale, nice=False, padding=12), axis=x_axis),
            y=alt.Y(f"{y}:Q", scale=_heights(y_scale), axis=y_axis),
            color=alt.Color("name:N", title=None, scale=_colours(names)),
            shape=alt.Shape("name:N", title=None, scale=_shapes(names)),
        )
        .properties(width=270, height=210)
    )


def _heights(kind: str) -> alt.Scale:
    """Leave some room above and below, but none below 0."""
    if kind == "log":
        return alt.Scale(type="log", nice=False, padding=8)
    return alt.Scale(zero=False, nice=True)


def _colours(names: list[str]) -> alt.Scale:
    return alt.Scale(domain=names, range=[COLOURS[name] for name in names])


def _shapes(names: list[str]) -> alt.Scale:
    return alt.Scale(domain=names, range=[SHAPES[at % len(SHAPES)] for at in range(len(names))])


def _save(chart: Any, root: Path, file: str, under: str = "benchmarks") -> None:
    folder = root / "docs" / under
    folder.mkdir(parents=True, exist_ok=True)
    # Without Arial, text is wider than was reckoned with: the legend on the right needs room for that.
    padding = {"left": 5, "top": 5, "bottom": 5, "right": 25}
    chart = chart.configure(background="white", padding=padding)
    chart.configure_axis(gridColor="#e6e6e6").save(folder / file)


def _beside_normal(figures: Figures, ks: list[int], **where: Any) -> Lines:
    """Return the loss of each contender over that of local search at normal effort."""
    found = []
    for name in DRAWN:
        for k in ks:
            own, other = (figures.median("il", one, k=k, **where) for one in (NORMAL, name))
            if own and other:
                found.append({"name": name, "x": k, "y": other / own})
    return found


def adult(root: Path, data: dict[str, Any]) -> None:
    """Draw loss by k, and loss beside local search at normal effort."""
    figures = Figures(data["results"])
    ks = figures.values("k")
    losses = [
        {"name": name, "x": k, "y": il}
        for name in DRAWN
        for k in ks
        if (il := figures.median("il", name, k=k))
    ]
    losses += [{"name": BOUND, "x": int(k), "y": bound["il"]} for k, bound in data["bounds"].items()]
    beside = _beside_normal(figures, ks)
    if data["rows"] > 30_000:
        losses += [{"name": ARX, "x": k, "y": il} for k, il in ARX_BEST.items()]
        beside += [
            {"name": ARX, "x": k, "y": ARX_BEST[k] / own}
            for k in ks
            if (own := figures.median("il", NORMAL, k=k))
        ]
    ratio = "Total IL / local-search normal"
    left = lines(losses, "k", "Total IL", ks, y_scale="log")
    _save(left | lines(beside, "k", ratio, ks), root, "adult-loss.svg")
    times = [
        {"name": name, "x": k, "y": seconds}
        for name in DRAWN
        for k in ks
        if (seconds := figures.median("seconds", name, k=k))
    ]
    _save(lines(times, "k", "seconds", ks, y_scale="log"), root, "adult-seconds.svg")
    _optimum(root, data, figures, ks)
    _save(alt.hconcat(*(_pareto(figures, k) for k in PARETO_KS if k in ks)), root, "adult-pareto.svg")
    _methods(root, data)


def _optimum(root: Path, data: dict[str, Any], figures: Figures, ks: list[int]) -> None:
    """Draw how many times the lower bound each contender loses: the optimum is between 1 and that."""
    bounds = {int(k): bound["il"] for k, bound in data["bounds"].items()}
    names = [name for name in COLOURS if figures.has(name)]
    found = [
        {"name": name, "x": k, "y": il / bounds[k]}
        for name in names
        for k in ks
        if (il := figures.median("il", name, k=k))
    ]
    if data["rows"] > 30_000:
        found += [{"name": ARX, "x": k, "y": il / bounds[k]} for k, il in ARX_BEST.items()]
    ratio = "Total IL / lower bound"
    floor = (
        alt.Chart(pl.DataFrame({"y": [1.0]}))
        .mark_rule(color="#555", strokeDash=[5, 4])
        .encode(y=alt.Y("y:Q", title=ratio))
    )
    chart = lines(found, "k", ratio, ks, y_scale="log")
    _save((chart + floor).properties(width=560, height=320), root, "adult-optimum.svg")


def _pareto(figures: Figures, k: int) -> Any:
    """Draw loss against time at one k, with a line through the contenders that no other one beats in both."""
    points = [
        {"name": name, "seconds": seconds, "Total IL": il}
        for name in COLOURS
        if (il := figures.median("il", name, k=k)) and (seconds := figures.median("seconds", name, k=k))
    ]
    points.sort(key=lambda point: (point["seconds"], point["Total IL"]))
    least, best = [], float("inf")
    for point in points:
        if point["Total IL"] < best:
            least.append(point)
            best = point["Total IL"]
    names = [name for name in COLOURS if name in {point["name"] for point in points}]
    axes = {
        "x": alt.X(
            "seconds:Q", scale=alt.Scale(type="log", nice=False, padding=12), axis=alt.Axis(format="~g")
        ),
        "y": alt.Y("Total IL:Q", scale=_heights("log"), axis=alt.Axis(format="~s", tickCount=6)),
    }
    marks = (
        alt.Chart(pl.DataFrame(points))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            **axes,
            color=alt.Color("name:N", title=None, scale=_colours(names)),
            shape=alt.Shape("name:N", title=None, scale=_shapes(names)),
        )
    )
    frontier = alt.Chart(pl.DataFrame(least)).mark_line(color="#9a9a9a", strokeDash=[4, 3]).encode(**axes)
    return (frontier + marks).properties(width=270, height=240, title=f"k = {k}")


def _methods(root: Path, data: dict[str, Any]) -> None:
    """Draw loss and time of all methods by k, for docs/methods: one seed, local search at normal effort."""
    cells = data["rows"] * QUASI_COLUMNS
    left_out = {QUICK, HIGH, SWAPS, YARDSTICK}
    runs = [
        {**run, "name": run["name"].removesuffix(" normal")}
        for run in data["results"]
        if run["seed"] == METHODS_SEED and run["name"] not in left_out
    ]
    if data["rows"] > 30_000 and not any(run["name"] == "incognito" for run in runs):
        runs += [
            {"name": "incognito", "k": k, "il": il, "seconds": seconds}
            for k, (il, seconds) in INCOGNITO.items()
        ]
    ks = sorted({run["k"] for run in runs})
    losses = [{"name": run["name"], "x": run["k"], "y": 100 * run["il"] / cells} for run in runs]
    times = [{"name": run["name"], "x": run["k"], "y": run["seconds"]} for run in runs]
    left = lines(losses, "k", "GCP, %", ks).properties(title="Loss")
    right = lines(times, "k", "seconds", ks, y_scale="log").properties(title="Time")
    _save(left | right, root, "adult8.svg", "methods")


def shapes(root: Path, data: dict[str, Any]) -> None:
    """Draw for each table the losses beside local search at normal effort."""
    figures = Figures(data["results"])
    ks = figures.values("k")
    ratio = "Total IL / local-search normal"
    panels = [
        lines(_beside_normal(figures, ks, table=name), "k", ratio, ks).properties(title=name, width=210)
        for name in figures.values("table")
    ]
    _save(alt.hconcat(*panels), root, "shapes.svg")


def scaling(root: Path, data: dict[str, Any]) -> None:
    """Draw seconds and loss by rows, by k and by columns."""
    for key, x, title, scale in (
        ("by_rows", "rows", "rows", "log"),
        ("by_k", "k", "k", "log"),
        ("by_columns", "quasi", "quasi columns", "linear"),
    ):
        runs = data[key]
        seconds = [{"name": run["name"], "x": run[x], "y": run["seconds"]} for run in runs]
        per_row = key == "by_rows"  # more rows lose more, however well they are put into classes
        losses = [
            {"name": run["name"], "x": run[x], "y": run["il"] / (run["rows"] if per_row else 1)}
            for run in runs
        ]
        ticks = sorted({run[x] for run in runs})
        left = lines(seconds, title, "seconds", ticks, x_scale=scale, y_scale="log")
        loss = "Total IL per row" if per_row else "Total IL"
        right = lines(losses, title, loss, ticks, x_scale=scale, y_scale="log" if key == "by_k" else "linear")
        _save(left | right, root, f"scaling-{x}.svg")


def goals(root: Path, data: dict[str, Any]) -> None:
    """Draw the loss of each method under each goal."""
    figures = Figures(data["results"])
    panels = []
    for goal in figures.values("goal"):
        found = {name: figures.median("il", name, goal=goal) for name in figures.names()}
        frame = pl.DataFrame(
            [{"method": name, "Total IL": float(il)} for name, il in found.items() if il is not None]
        )
        names = frame.sort("Total IL")["method"].to_list()
        bars = (
            alt.Chart(frame)
            .mark_bar()
            .encode(
                y=alt.Y("method:N", sort=names, title=None),
                x=alt.X("Total IL:Q", axis=alt.Axis(format="~s")),
                color=alt.Color("method:N", scale=_colours(names), legend=None),
            )
        )
        panels.append(bars.properties(title=GOAL_NAMES[goal], width=200, height=190))
    _save(alt.hconcat(*panels), root, "goals.svg")


def anytime(root: Path, data: dict[str, Any]) -> None:
    """Draw the loss against the seconds that were spent."""
    figures = Figures(data["results"])
    _save(alt.hconcat(*(_anytime(figures, k) for k in figures.values("k"))), root, "anytime.svg")


def _anytime(figures: Figures, k: int) -> Any:
    """Draw the same at one k."""
    found = []
    for name in figures.names():
        seconds, il = figures.median("seconds", name, k=k), figures.median("il", name, k=k)
        shown = WITHIN if name.endswith(" s") else name
        found.append({"name": shown, "x": seconds, "y": il})
    ticks = [0.01, 0.1, 1, 10, 100]
    return lines(found, "seconds, clustering alone", "Total IL", ticks).properties(title=f"k = {k}")


CHARTS = {"adult": adult, "shapes": shapes, "scaling": scaling, "goals": goals, "anytime": anytime}
