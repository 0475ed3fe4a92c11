"""The chart of a comparison: loss and time against k, one line for each method.

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
from shoal.report.charts import GRID, INK, Spec
from shoal.report.drawing import inline
from shoal.report.engine import draw_png, draw_svg
from shoal.report.numbers import rounded
from shoal.report.templates import load_template, style_sheet
from shoal.table.write import move_into_place, temporary, unwritable

Results = Sequence[Mapping[str, Any]]  # in the format of `shoal compare --json`

EXTENSIONS = (".svg", ".png", ".html")
# Colours and shapes are cycled together: 7 and 6 are coprime, so 42 methods get different pairs, and
# neighbours differ in both. Mid-tones that are legible on white and on black.
COLOURS = ("#23808f", "#c2571a", "#6f5fd0", "#2f8f4e", "#bb3a82", "#8a6f1e", "#3d72d6")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
WIDTH, HEIGHT = 300, 240
_CONFIG = {
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
    with temporary(path):
        pass  # checks that a file can be created there


def write_chart(results: Results, rows: int, path: Path) -> Path:
    """Write the chart; the extension determines the format.

    Parameters
    ----------
    results : sequence of mappings
        `method`, `k`, `seconds`, `loss` and the like; those with an error are not drawn.
    rows : int
        Number of rows of the table.
    path : Path
        An existing file is replaced only when the new one is complete.
    """
    check_chart_target(path)
    extension, spec = path.suffix.lower(), _spec(results)
    if extension == ".png":
        content = draw_png(spec)
    else:
        drawn = draw_svg(spec)
        content = (drawn if extension == ".svg" else _page(drawn, results, rows)).encode()
    with temporary(path) as file:
        try:
            file.write_bytes(content)
        except OSError as error:
            raise unwritable(path, error) from None
        move_into_place(file, path)
    return path


def _spec(results: Results) -> Spec:
    """Return two panels side by side with a common legend."""
    done = [result for result in results if result["error"] is None]
    title, losses = _losses(done)
    values = [
        {"method": r["method"], "k": r["k"], "loss": lost, "seconds": rounded(r["seconds"])}
        for r, lost in zip(done, losses, strict=True)
    ]
    colour, shape = _method_encodings(results)
    base = {"x": _x(done), "color": colour}
    scale, axis = {"zero": True, "nice": 5}, {"tickCount": 5}
    loss = {"field": "loss", "type": "quantitative", "title": title, "scale": scale, "axis": axis}
    return {
        "data": {"values": values},
        "hconcat": [_panel(base, "Loss", loss, shape), _panel(base, "Time", _seconds(done), shape)],
        "spacing": 36,
        "background": "white",
        "padding": 12,
        "config": _CONFIG,
    }


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


def _page(drawn: str, results: Results, rows: int) -> str:
    """Return a self-contained page with the chart and its numbers."""
    from markupsafe import Markup

    alt_text = "Loss and time of each method against k. The numbers are in the table below the chart."
    template = load_template("comparison.html.jinja", {"times_bound": _times_bound})
    rendered: str = template.render(
        style=Markup(style_sheet()),  # our own file, not user input
        chart=Markup(inline(drawn, alt_text)),
        results=results,
        bounds={result["k"]: result for result in results if result["bound"] is not None},
        rows=rows,
    )
    return rendered


def _times_bound(result: Mapping[str, Any]) -> float | None:
    """Return the ratio of a method's loss to the lower bound; None if either is missing or the bound is 0."""
    il, bound = result["loss"]["il"], result["bound"]
    return il / bound if il is not None and bound else None
