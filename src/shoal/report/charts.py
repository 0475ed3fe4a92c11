"""The charts, as SVG to put into a page.

Altair describes them and vl-convert draws them offline. Layout is fixed, without any measuring of
text, so that the fonts of a machine do not change a byte. The page's style sheet knows the colours
by their values and replaces them: see `page.css`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from shoal.measure.profile import Cell, ColumnProfile
from shoal.report.numbers import percent, rounded, tenths, whole

if TYPE_CHECKING:
    import altair

# Mid-tones that can be read on white and on black; also named in page.css.
INK, BEFORE, ACCENT, GRID = "#6b7280", "#9aa3ae", "#1f7a8c", "#c9ced6"
WIDTH, NAMES, BAR = 360, 136, 19
MOST_BARS = 12
_LONGEST = 20  # characters that fit beside the bars

Spec = dict[str, Any]


@dataclass(frozen=True)
class Bar:
    """One bar of a chart, with its name on the left and its value on the right."""

    name: str
    value: float
    text: str


def loss_chart(columns: Sequence[ColumnProfile]) -> str:
    """Draw what each column has lost, the most first."""
    shares = [(column.name, rounded(column.share_lost or 0.0)) for column in columns]
    shares.sort(key=lambda pair: -pair[1])
    bars = [Bar(name, rounded(100 * share), percent(share)) for name, share in shares]
    told = "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
    return _bar_chart(bars, "information lost (% of the column)", f"Information lost by column. {told}.")


def class_chart(class_sizes: Sequence[tuple[int, int]]) -> str:
    """Draw how many classes there are of each size."""
    bars = [Bar(name, count, whole(count)) for name, count in size_bins(class_sizes)]
    told = "; ".join(f"{bar.name} rows: {bar.text}" for bar in bars)
    return _bar_chart(bars, "classes of that many rows (count)", f"Classes by size. {told}.", least_step=1)


def size_bins(class_sizes: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
    """Put class sizes into a few bins of equal width, from the smallest class on.

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


def distribution_chart(column: ColumnProfile) -> str:
    """Draw the cells of a column: bars for the raw values, marks for the published ones."""
    shares = cell_shares(column.cells)
    rows = [
        {"at": at, "name": _short(cell.label), "before": before, "after": after}
        for at, (cell, (before, after)) in enumerate(zip(column.cells, shares, strict=True))
    ]
    base = _rows(rows)
    x = _x("before:Q", "share of released rows (%)")
    layers = [
        base.mark_bar(color=BEFORE).encode(x=x),
        base.mark_tick(color=ACCENT, thickness=4, opacity=1, size=BAR - 3).encode(x="after:Q"),
        base.mark_text(align="right", x=-8, color=INK, fontSize=11).encode(text="name:N"),
    ]
    alt_text = (
        f"Distribution of {column.name} before and after, in {len(rows)} cells. "
        "The numbers are in the table below the chart."
    )
    return _svg(layers, len(rows), alt_text, right=18)


def cell_shares(cells: Sequence[Cell]) -> list[tuple[float, float]]:
    """Return the percentages of each cell, before and after."""
    before, after = sum(cell.before for cell in cells), sum(cell.after for cell in cells)
    return [(tenths(cell.before, before), tenths(cell.after, after)) for cell in cells]


def _bar_chart(bars: Sequence[Bar], axis: str, alt_text: str, least_step: float = 0.01) -> str:
    """Draw horizontal bars."""
    rows = [
        {"at": at, "name": _short(bar.name), "value": bar.value, "text": bar.text}
        for at, bar in enumerate(bars)
    ]
    base = _rows(rows)
    x = _x("value:Q", axis, least_step)
    layers = [
        base.mark_bar(color=ACCENT).encode(x=x),
        base.mark_text(align="left", dx=5, color=INK, fontSize=11).encode(x=x, text="text:N"),
        base.mark_text(align="right", x=-8, color=INK, fontSize=11).encode(text="name:N"),
    ]
    return _svg(layers, len(rows), alt_text, right=50)


def _rows(rows: list[Spec]) -> altair.Chart:
    """Begin a chart with one line for each row of data; names are data, so they need not differ."""
    import altair as alt

    y = alt.Y("at:O", axis=None, scale=alt.Scale(paddingInner=0.25, paddingOuter=0.125))
    return alt.Chart({"values": rows}).encode(y=y)


def _x(field: str, title: str, least_step: float = 0.01) -> altair.X:
    """Make the horizontal axis, with few enough ticks that their labels never meet."""
    import altair as alt

    ticks = alt.Axis(tickCount=3, tickMinStep=least_step, labelFlush=False)
    return alt.X(field, title=title, axis=ticks, scale=alt.Scale(zero=True, nice=True))


def _svg(layers: Sequence[altair.Chart], n_rows: int, alt_text: str, right: int) -> str:
    """Draw layers over each other, with room on the right, and make them part of a page."""
    import altair as alt
    import vl_convert

    height = BAR * n_rows
    padding = {"left": NAMES, "right": right, "top": 2, "bottom": 36}
    spec = (
        alt.LayerChart(layer=layers)
        .properties(
            width=WIDTH - NAMES - right,
            height=height,
            padding=padding,
            autosize=alt.AutoSizeParams(type="none"),
        )
        .configure(background="transparent", aria=False, font="sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            domain=False, ticks=False, gridColor=GRID, labelColor=INK, titleColor=INK, labelFontSize=11,
            titleFontSize=11, titleFontWeight="normal", titleY=23, titleAlign="center",
        )
        .to_dict()
    )  # fmt: skip
    drawn = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])  # no address may be asked for data
    return inline(drawn, alt_text)


def inline(drawn: str, alt_text: str) -> str:
    """Rebuild an SVG without what a page does not need, as one picture with a text for the blind."""
    source = ElementTree.fromstring(drawn)
    box = source.attrib["viewBox"]
    picture = ElementTree.Element(
        "svg", {"class": "chart", "viewBox": box, "role": "img", "aria-label": _clean(alt_text)}
    )
    picture.extend(part for child in source if (part := _stripped(child)) is not None)
    return ElementTree.tostring(picture, encoding="unicode")


_KEPT = {
    "d", "transform", "fill", "stroke", "stroke-width", "opacity", "x2", "y2", "text-anchor", "font-size",
}  # fmt: skip


def _stripped(element: ElementTree.Element) -> ElementTree.Element | None:
    """Copy an element without its namespace, classes and roles; None if it draws nothing."""
    if element.get("class") in ("background", "foreground"):
        return None
    copy = ElementTree.Element(element.tag.rpartition("}")[2])
    copy.attrib.update((name, value) for name, value in element.attrib.items() if name in _KEPT)
    copy.text = element.text
    copy.extend(part for child in element if (part := _stripped(child)) is not None)
    return None if copy.tag == "g" and not len(copy) else copy


def _clean(text: str) -> str:
    """Replace what may not stand in XML."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _short(text: str) -> str:
    """Shorten a name so that it fits beside the bars."""
    text = _clean(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
