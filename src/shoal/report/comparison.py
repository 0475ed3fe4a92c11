"""The chart of a comparison: loss against risk, and time against k, one line for each method.

The loss below the lower bound is shaded: no release of this table that meets the goals can be there. A bound
for k holds for every release whose highest risk is at most 1 / k. The frontier links the trials that no other
beats in both.

It is an image with a white background, or a page that contains it. As in reports, losses have three
digits. It shows run times, so it is not reproducible.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from shoal.errors import OutputError
from shoal.report.charts import GRID, INK, SHADE, Spec
from shoal.report.drawing import inline
from shoal.report.engine import draw_png, draw_svg, require_engine
from shoal.report.numbers import rounded
from shoal.report.templates import load_template, style_sheet
from shoal.table.write import move_into_place, temporary, unwritable

Results = Sequence[Mapping[str, Any]]  # in the format of `shoal compare --json`

EXTENSIONS = (".svg", ".png", ".html")
# One for each method, and more: none repeats. Mid-tones that are legible on white and on black. Beyond that,
# colours and shapes are cycled together: neighbours differ in both.
COLOURS = (
    "#23808f", "#c2571a", "#6f5fd0", "#2f8f4e", "#bb3a82", "#8a6f1e", "#3d72d6", "#d0413c", "#5f7d22",
    "#9a4fb8", "#1b8a72", "#b4683f", "#7a7f87", "#d1569b",
)  # fmt: skip
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
WIDTH, HEIGHT = 300, 240
_CONFIG: Spec = {
    "font": "sans-serif",
    "view": {"stroke": None},
    "title": {"anchor": "start", "color": INK, "fontSize": 13, "fontWeight": "bold", "offset": 10},
    "axis": {
        "domain": False, "ticks": False, "gridColor": GRID, "labelColor": INK, "titleColor": INK,
        "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "titlePadding": 8,
        "labelPadding": 5,
    },
    "legend": {
        "title": None, "labelColor": INK, "labelFontSize": 11, "labelLimit": 200, "offset": 16,
        "rowPadding": 5, "symbolOpacity": 1, "symbolStrokeWidth": 0, "symbolSize": 60,
    },
}  # fmt: skip

_FILE: Spec = {"background": "white", "padding": 12, "config": _CONFIG}


def check_chart_target(path: Path) -> None:
    """Refuse a path where no chart can be written, before any work is done."""
    if path.suffix.lower() not in EXTENSIONS:
        message = f"The chart {path} has an extension that shoal does not support."
        raise OutputError("output.unwritable", message, f"extensions: {', '.join(EXTENSIONS)}")
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.lstat(path)  # raises if the system does not allow the name
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from None
    if path.is_dir():
        raise OutputError("output.unwritable", f"The chart {path} is a folder.", "name a file")
    require_engine()
    with temporary(path):
        pass  # checks that a file can be created there


def write_chart(results: Results, rows: int, path: Path, words: Sequence[str] = ()) -> Path:
    """Write the chart; the extension determines the format.

    Parameters
    ----------
    results : sequence of mappings
        `method`, `k`, `seconds`, `loss` and the like; those with an error are not drawn.
    rows : int
        Number of rows of the table.
    path : Path
        An existing file is replaced only when the new one is complete.
    words : sequence of str
        The recommendation, for a page.
    """
    check_chart_target(path)
    extension = path.suffix.lower()
    if extension == ".png":
        content = draw_png(_spec(results))
    else:
        drawn = draw_svg(_spec(results)) if extension == ".svg" else _page(results, rows, words)
        content = drawn.encode()
    with temporary(path) as file:
        try:
            file.write_bytes(content)
        except OSError as error:
            raise unwritable(path, error) from None
        move_into_place(file, path)
    return path


def _spec(results: Results) -> Spec:
    """Return two panels side by side with a common legend."""
    loss, time = _panels(results)
    return {**_FILE, "hconcat": [loss, time], "spacing": 36}


def _panels(results: Results) -> tuple[Spec, Spec]:
    """Return loss against risk, and time against k."""
    done = [result for result in results if result["error"] is None]
    title, losses = _losses(done)
    values = [
        {
            "method": r["method"], "k": r["k"], "risk": rounded(100 * r["risk"]["highest"]), "loss": lost,
            "seconds": rounded(r["seconds"]), "frontier": r["frontier"],
        }
        for r, lost in zip(done, losses, strict=True)
    ]  # fmt: skip
    data = {"values": values}
    colour, shape = _method_encodings(results)
    scale, axis = {"zero": True, "nice": 5}, {"tickCount": 5}
    loss = {"field": "loss", "type": "quantitative", "title": title, "scale": scale, "axis": axis}
    risk = {"x": _risk(done), "color": colour}
    layers = [*_unreachable(done, risk["x"], loss), *_frontier(values, risk["x"], loss)]
    first = _panel(risk, "Loss against risk", loss, shape)
    first["layer"] = [*layers, *_alone(done, risk, loss, shape), *first["layer"]]
    second = _panel({"x": _x(done), "color": colour}, "Time", _seconds(done), shape)
    return {**first, "data": data}, {**second, "data": data}


def _unreachable(done: Results, x: Spec, y: Spec) -> list[Spec]:
    """Shade what the lower bounds rule out."""
    weight = next((r["loss"]["il"] / r["loss"]["gcp"] for r in done if r["loss"]["gcp"]), None)
    bounds = {r["k"]: r["bound"] for r in done if r["bound"] is not None}
    if weight is None or not bounds:
        return []
    ks = sorted(bounds, reverse=True)
    steps = [(x["scale"]["domain"][0], bounds[ks[0]]), *((100 / k, bounds[k]) for k in ks)]
    values = [{"risk": risk, "loss": rounded(100 * bound / weight)} for risk, bound in steps]
    # The value at a point holds to the left of it, down to the risk of the next larger k.
    mark = {"type": "area", "interpolate": "step-before", "color": SHADE, "opacity": 1}
    return [{"data": {"values": values}, "mark": mark, "encoding": {"x": x, "y": y}}]


def _frontier(values: Sequence[Spec], x: Spec, y: Spec) -> list[Spec]:
    """Link the trials on the frontier, and ring them."""
    data = {"values": [value for value in values if value["frontier"]]}
    ring = {"type": "point", "filled": False, "size": 190, "color": INK, "strokeWidth": 1.5, "opacity": 1}
    line = {"type": "line", "color": INK, "strokeWidth": 1, "opacity": 1}
    return [{"data": data, "mark": mark, "encoding": {"x": x, "y": y}} for mark in (line, ring)]


def _alone(done: Results, base: Spec, y: Spec, shape: Spec) -> list[Spec]:
    """Draw the same methods without goals beyond k as hollow points."""
    alone = [(r["method"], r["k_alone"]) for r in done if r["k_alone"] is not None]
    values = [
        {
            "method": method,
            "risk": rounded(100 * plain["risk"]["highest"]),
            "loss": rounded(100 * plain["loss"]["gcp"]),
        }
        for method, plain in alone
        if plain["loss"]["gcp"] is not None
    ]
    if not values:
        return []
    mark = {"type": "point", "filled": False, "size": 45, "opacity": 1}
    return [{"data": {"values": values}, "mark": mark, "encoding": {**base, "y": y, "shape": shape}}]


def _losses(done: Results) -> tuple[str, list[float]]:
    """Return the name and values of the plotted loss: GCP, or DM if typical values are published."""
    gcps = [result["loss"]["gcp"] for result in done]
    if None in gcps:
        return "DM", [rounded(result["loss"]["dm"]) for result in done]
    return "information lost (GCP, %)", [rounded(100 * gcp) for gcp in gcps]


def _method_encodings(results: Results) -> tuple[Spec, Spec]:
    """Return the colour and the shape encoding of methods; either alone distinguishes them."""
    drawn = {result["method"] for result in results if result["error"] is None}
    names = [name for name in dict.fromkeys(result["method"] for result in results) if name in drawn]
    colours = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    shapes = [SHAPES[at % len(SHAPES)] for at in range(len(names))]
    method = {"field": "method", "type": "nominal"}
    return (
        {**method, "scale": {"domain": names, "range": colours}},
        {**method, "scale": {"domain": names, "range": shapes}},
    )


def _risk(done: Results) -> Spec:
    """Return the logarithmic axis of the highest risk, with a tick for 1 / k of each k."""
    risks = sorted({100 * result["risk"]["highest"] for result in done})
    ticks = sorted({100 / result["k"] for result in done})
    scale = {"type": "log", "domain": [risks[0] / 1.25, max(risks[-1], ticks[-1]) * 1.25], "nice": False}
    axis = {"values": ticks, "format": ".2~r", "grid": False, "labelOverlap": True}
    title = "highest risk (%, log scale)"
    return {"field": "risk", "type": "quantitative", "title": title, "scale": scale, "axis": axis}


def _x(done: Results) -> Spec:
    """Return the logarithmic axis of k, with ticks at the given values of k."""
    ks = sorted({result["k"] for result in done})
    # A small margin on both sides; a single k is centred.
    scale = {"type": "log", "domain": [ks[0] / 1.1, ks[-1] * 1.1], "nice": False}
    axis = {"values": ks, "format": "d", "grid": False, "labelOverlap": True}
    return {"field": "k", "type": "quantitative", "title": "k", "scale": scale, "axis": axis}


def _seconds(done: Results) -> Spec:
    """Return the time axis, with a grid line for each power of ten."""
    exponents = [log10(result["seconds"]) for result in done]
    low, high = floor(min(exponents)), ceil(max(exponents))
    powers = [10.0**exponent for exponent in range(low, max(high, low + 1) + 1)]
    scale = {"type": "log", "domain": [powers[0], powers[-1]], "nice": False}
    axis = {"values": powers, "format": ",~g"}
    title = "seconds (log scale)"
    return {"field": "seconds", "type": "quantitative", "title": title, "scale": scale, "axis": axis}


def _panel(base: Spec, title: str, y: Spec, shape: Spec) -> Spec:
    line = {"type": "line", "strokeWidth": 1.5, "opacity": 0.75}
    points = {"type": "point", "filled": True, "size": 60, "opacity": 1}
    layers = [
        {"mark": line, "encoding": {**base, "y": y}},
        {"mark": points, "encoding": {**base, "y": y, "shape": shape}},
    ]
    return {"layer": layers, "width": WIDTH, "height": HEIGHT, "title": title}


def _page(results: Results, rows: int, words: Sequence[str]) -> str:
    """Return a self-contained page with the charts, a recommendation and the numbers."""
    from markupsafe import Markup

    # One below the other on a narrow screen; each with the legend below it.
    legend = {**_CONFIG["legend"], "orient": "bottom", "columns": 3}
    loss, time = (
        inline(draw_svg({**_FILE, **panel, "config": {**_CONFIG, "legend": legend}}), alt_text)
        for panel, alt_text in zip(_panels(results), _ALT_TEXTS, strict=True)
    )
    template = load_template("comparison.html.jinja", {"times_bound": _times_bound})
    rendered: str = template.render(
        style=Markup(style_sheet()),  # our own file, not user input
        charts=[Markup(loss), Markup(time)],
        words=words,
        results=results,
        bounds=_nearest(results),
        has_goals=any(result["k_alone"] is not None for result in results),
        rows=rows,
    )
    return rendered


_ALT_TEXTS = (
    "Loss of each method against its highest risk. The numbers are in the table below the charts.",
    "Time of each method against k. The numbers are in the table below the charts.",
)


def _times_bound(result: Mapping[str, Any]) -> float | None:
    """Return the ratio of a method's loss to the lower bound; None if either is missing or the bound is 0."""
    il, bound = result["loss"]["il"], result["bound"]
    return il / bound if il is not None and bound else None


def _nearest(results: Results) -> dict[int, Mapping[str, Any]]:
    """Return the result that is nearest to the lower bound, for each k that has one."""
    found: dict[int, Mapping[str, Any]] = {}
    for result in results:
        if result["bound"] is not None:
            best = found.setdefault(result["k"], result)
            if _gap(result) < _gap(best):
                found[result["k"]] = result
    return found


def _gap(result: Mapping[str, Any]) -> float:
    gap = result.get("bound_gap")
    return float("inf") if gap is None else float(gap)
