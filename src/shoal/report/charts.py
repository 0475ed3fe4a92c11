"""The charts of a report as Vega-Lite specifications, rendered by `drawing`.

The style sheet of the page matches the colours by value to replace them: see `page.css`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shoal.report.distribution import Cell
from shoal.report.drawing import Picture, printable
from shoal.report.findings import CostOfK
from shoal.report.numbers import percent, rounded, tenths, whole
from shoal.report.profile import ColumnProfile

# Mid-tones that are legible on white and on black; also listed in page.css.
INK, BEFORE, ACCENT, GRID = "#6b7280", "#9aa3ae", "#1f7a8c", "#c9ced6"
SHADE = "#f0d9d6"  # what no release can reach
WIDTH, NAMES, BAR = 360, 136, 19
MOST_BARS = 12
_LONGEST = 20  # characters that fit next to the bars
_TOP, _BOTTOM = 2, 36
_LEFT, _HEIGHT = 44, 190  # of a chart with two axes
_PERCENT = "\N{NO-BREAK SPACE}%"
CONFIG = {
    "background": "transparent",
    "aria": False,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domain": False, "ticks": False, "gridColor": GRID, "labelColor": INK, "titleColor": INK,
        "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "titleY": 23,
        "titleAlign": "center",
    },
}  # fmt: skip

Spec = dict[str, Any]


@dataclass(frozen=True)
class Bar:
    """One bar of a chart, with its name on the left and its value on the right."""

    name: str
    value: float
    text: str


@dataclass(frozen=True)
class PairBar:
    """One line of a chart with two values, before and after."""

    name: str
    before: float
    after: float


def loss_chart(columns: Sequence[ColumnProfile]) -> Picture:
    """Draw the loss of each column, largest first."""
    shares = [(column.name, rounded(column.share_lost or 0.0)) for column in columns]
    shares.sort(key=lambda pair: -pair[1])
    bars = [Bar(name, rounded(100 * share), percent(share)) for name, share in shares]
    values = "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
    return _bar_chart(bars, "information lost (% of the column)", f"Information lost by column. {values}.")


def class_chart(class_sizes: Sequence[tuple[int, int]], groups: str = "classes") -> Picture:
    """Draw the number of classes (or groups) of each size."""
    bars = [Bar(name, count, whole(count)) for name, count in size_bins(class_sizes)]
    values = "; ".join(f"{bar.name} rows: {bar.text}" for bar in bars)
    return _bar_chart(
        bars, f"number of {groups} of this size", f"{groups.capitalize()} by size. {values}.", least_step=1
    )


def size_bins(class_sizes: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
    """Group class sizes into a few bins of equal width, starting at the smallest class.

    >>> size_bins([(5, 90), (7, 3)])
    [('5', 90), ('6', 0), ('7', 3)]
    >>> size_bins([(10, 90), (19, 2), (1010, 1)])[:2]
    [('10 to 109', 92), ('110 to 209', 0)]
    """
    low, high = class_sizes[0][0], class_sizes[-1][0]
    steps = (digit * 10**power for power in range(19) for digit in (1, 2, 5))
    step = next(step for step in steps if (high - low) // step < MOST_BARS)
    counts = [0] * ((high - low) // step + 1)
    for size, count in class_sizes:
        counts[(size - low) // step] += count
    names = [(low + at * step, low + (at + 1) * step - 1) for at in range(len(counts))]
    texts = [whole(first) if first == last else f"{whole(first)} to {whole(last)}" for first, last in names]
    return list(zip(texts, counts, strict=True))


def distribution_chart(column: ColumnProfile) -> Picture:
    """Draw the cells of a column: bars for the raw values, marks for the published ones."""
    shares = cell_shares(column.cells)
    rows = [
        {"at": at, "name": _short(cell.label), "before": before, "after": after}
        for at, (cell, (before, after)) in enumerate(zip(column.cells, shares, strict=True))
    ]
    alt_text = (
        f"Distribution of {column.name} before and after, in {len(rows)} cells. "
        "The numbers are in the table below the chart."
    )
    return _picture(rows, _pair_layers("share of released rows (%)"), alt_text, right=18)


def _pair_layers(axis: str) -> list[Spec]:
    """Return the layers of bars for `before` and marks for `after`."""
    mark = {"type": "tick", "color": ACCENT, "thickness": 4, "opacity": 1, "size": BAR - 3}
    return [
        {"mark": {"type": "bar", "color": BEFORE}, "encoding": {"x": _x("before", axis)}},
        {"mark": mark, "encoding": {"x": {"field": "after", "type": "quantitative"}}},
        _names(),
    ]


def pair_chart(bars: Sequence[PairBar], axis: str, alt_text: str) -> Picture:
    """Draw two values on each line: a bar for the first, a mark for the second."""
    rows = [
        {"at": at, "name": _short(bar.name), "before": bar.before, "after": bar.after}
        for at, bar in enumerate(bars)
    ]
    return _picture(rows, _pair_layers(axis), alt_text, right=18)


def class_loss_chart(rows: Sequence[int]) -> Picture:
    """Draw how many released rows are in classes that lost a tenth, two tenths and so on."""
    total = max(1, sum(rows))
    names = [f"{10 * at} to {10 * at + 10}{_PERCENT}" for at in range(len(rows))]
    bars = [
        Bar(name, rounded(100 * count / total), percent(count / total))
        for name, count in zip(names, rows, strict=True)
    ]
    values = "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
    axis = "share of released rows (%)"
    return _bar_chart(bars, axis, f"Released rows by the information lost in their class. {values}.")


def cost_chart(costs: Sequence[CostOfK]) -> Picture:
    """Draw the loss against k; below the bound, the region that no release can reach is shaded."""
    lines = [
        {"k": cost.k, "loss": rounded(100 * cost.gcp), "own": cost.is_release, "text": percent(cost.gcp)}
        for cost in costs
    ]
    ks = [cost.k for cost in costs]
    ends = [ks[0] / 1.3, ks[-1] * 1.2]
    least = [{"k": cost.k, "loss": rounded(100 * cost.bound)} for cost in costs if cost.bound is not None]
    least += [{**least[-1], "k": ends[1]}] if least else []
    highest = rounded(100 * max(cost.gcp for cost in costs))
    x = {
        "field": "k", "type": "quantitative", "title": "k (log scale)",
        "scale": {"type": "log", "domain": ends, "nice": False},
        "axis": {"values": ks, "format": "d", "grid": False, "labelOverlap": True},
    }  # fmt: skip
    # Room above the highest point, for its number.
    scale = {"domain": [0, rounded(1.15 * highest) or 1], "nice": False}
    y = {
        "field": "loss", "type": "quantitative", "scale": scale,
        "axis": {"tickCount": 4, "title": None, "labelExpr": "datum.label + ' %'"},
    }  # fmt: skip
    own = {"field": "own", "type": "nominal", "scale": {"domain": [False, True], "range": [BEFORE, ACCENT]}}
    number = {"type": "text", "dy": -12, "color": INK, "fontSize": 11}
    text = {"field": "text", "type": "nominal"}
    at = {"x": x, "y": y}
    bound = {"values": least}
    step = {"interpolate": "step-after"}  # the bound of a k holds for every larger k
    points = {"type": "point", "filled": True, "size": 70, "opacity": 1}
    layers = [
        {"data": bound, "mark": {"type": "area", "color": SHADE, "opacity": 1, **step}, "encoding": at},
        {"data": bound, "mark": {"type": "line", "color": INK, "strokeWidth": 1, **step}, "encoding": at},
        {"mark": {"type": "line", "color": BEFORE, "strokeWidth": 2}, "encoding": at},
        {"mark": points, "encoding": {**at, "color": {**own, "legend": None}}},
        {"mark": number, "encoding": {**at, "text": text}},
    ]
    spec = {"data": {"values": lines}, "width": WIDTH - _LEFT - 24, "height": _HEIGHT, "layer": layers}
    values = "; ".join(_cost_text(cost) for cost in costs)
    alt_text = f"Information lost at each k, and the lower bound. {values}."
    return Picture(spec, alt_text, WIDTH, 8 + _HEIGHT + _BOTTOM, _LEFT, 8)


def _cost_text(cost: CostOfK) -> str:
    bound = "" if cost.bound is None else f", at least {percent(cost.bound)}"
    return f"k = {cost.k}: {percent(cost.gcp)}{bound}"


def cell_shares(cells: Sequence[Cell]) -> list[tuple[float, float]]:
    """Return the percentages of each cell, before and after."""
    before, after = sum(cell.before for cell in cells), sum(cell.after for cell in cells)
    return [(tenths(cell.before, before), tenths(cell.after, after)) for cell in cells]


def _bar_chart(bars: Sequence[Bar], axis: str, alt_text: str, least_step: float = 0.01) -> Picture:
    """Draw horizontal bars."""
    rows = [
        {"at": at, "name": _short(bar.name), "value": bar.value, "text": bar.text}
        for at, bar in enumerate(bars)
    ]
    x = _x("value", axis, least_step)
    number = {"type": "text", "align": "left", "dx": 5, "color": INK, "fontSize": 11}
    layers = [
        {"mark": {"type": "bar", "color": ACCENT}, "encoding": {"x": x}},
        {"mark": number, "encoding": {"x": x, "text": {"field": "text", "type": "nominal"}}},
        _names(),
    ]
    return _picture(rows, layers, alt_text, right=50)


def _x(field: str, title: str, least_step: float = 0.01) -> Spec:
    """Return the horizontal axis, with few enough ticks that labels do not overlap."""
    ticks = {"tickCount": 3, "tickMinStep": least_step, "labelFlush": False}
    scale = {"zero": True, "nice": True}
    return {"field": field, "type": "quantitative", "title": title, "axis": ticks, "scale": scale}


def _names() -> Spec:
    """Return a layer with the name of each row to its left; names are data, so they need not be unique."""
    mark = {"type": "text", "align": "right", "x": -8, "color": INK, "fontSize": 11}
    return {"mark": mark, "encoding": {"text": {"field": "name", "type": "nominal"}}}


def _picture(rows: list[Spec], layers: list[Spec], alt_text: str, right: int) -> Picture:
    """Combine layers into a picture, one line for each row of data, with a right margin."""
    scale = {"paddingInner": 0.25, "paddingOuter": 0.125}
    y = {"field": "at", "type": "ordinal", "axis": None, "scale": scale}
    height = BAR * len(rows)
    spec = {
        "data": {"values": rows},
        "width": WIDTH - NAMES - right,
        "height": height,
        "encoding": {"y": y},
        "layer": layers,
    }
    return Picture(spec, alt_text, WIDTH, _TOP + height + _BOTTOM, NAMES, _TOP)


def _short(text: str) -> str:
    """Shorten a name so that it fits next to the bars."""
    text = printable(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
