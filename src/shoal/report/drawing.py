"""Draw charts as SVG to embed in a page.

The layout is fixed and does not measure text, so that the result does not depend on installed fonts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple
from xml.etree import ElementTree

from shoal.report.engine import can_draw, draw_svg

_GROUP = "mark-group role-scope concat_{}_group"  # Vega's class for one of several charts
_KEPT = {
    "d", "transform", "fill", "stroke", "stroke-width", "opacity", "x2", "y2", "text-anchor", "font-size",
}  # fmt: skip


class Picture(NamedTuple):
    """A chart that has not been drawn: a Vega-Lite view, its alternative text, and its size."""

    view: Mapping[str, Any]
    alt_text: str
    width: int
    height: int
    left: int  # margin to the left of the view
    top: int  # margin above it


def draw(pictures: Sequence[Picture], config: Mapping[str, Any]) -> list[str]:
    """Draw all pictures at once, which is faster than one by one, and split the result.

    Without the drawing engine, each picture is replaced by its alternative text.
    """
    if not can_draw():
        return [_in_words(picture) for picture in pictures]
    views = [picture.view for picture in pictures]
    drawn = draw_svg(
        {
            "vconcat": views,
            "config": config,
            "autosize": {"type": "none"},
            "bounds": "flush",  # does not measure text
            "spacing": 0,
            "padding": 0,
        }
    )
    groups = {group.get("class"): group for group in ElementTree.fromstring(drawn).iter()}
    return [_cut_out(groups[_GROUP.format(at)], picture) for at, picture in enumerate(pictures)]


def _in_words(picture: Picture) -> str:
    return f'<p class="note">{escape(printable(picture.alt_text))}</p>'


def _cut_out(group: ElementTree.Element, picture: Picture) -> str:
    """Extract the group of one chart, which Vega has placed below the others, as a separate SVG."""
    root = ElementTree.Element("g", {"fill": "none", "transform": f"translate({picture.left},{picture.top})"})
    for part in group:
        part.set("transform", "translate(0,0)")
    root.append(group)
    return _as_page_part([root], f"0 0 {picture.width} {picture.height}", picture.alt_text)


def inline(drawn: str, alt_text: str) -> str:
    """Convert an SVG file for embedding in a page."""
    source = ElementTree.fromstring(drawn)
    return _as_page_part(source, source.attrib["viewBox"], alt_text)


def _as_page_part(parts: Sequence[ElementTree.Element] | ElementTree.Element, box: str, alt_text: str) -> str:
    """Rebuild a picture with only what a page needs, and an alternative text."""
    picture = ElementTree.Element(
        "svg", {"class": "chart", "viewBox": box, "role": "img", "aria-label": printable(alt_text)}
    )
    picture.extend(part for child in parts if (part := _stripped(child)) is not None)
    return ElementTree.tostring(picture, encoding="unicode")


def _stripped(element: ElementTree.Element) -> ElementTree.Element | None:
    """Copy an element without its namespace, classes and roles; None if it draws nothing."""
    if element.get("class") in ("background", "foreground"):
        return None
    copy = ElementTree.Element(element.tag.rpartition("}")[2])
    copy.attrib.update((name, value) for name, value in element.attrib.items() if name in _KEPT)
    copy.text = element.text
    copy.extend(part for child in element if (part := _stripped(child)) is not None)
    return None if copy.tag == "g" and not len(copy) else copy


def printable(text: str) -> str:
    """Replace characters that XML does not allow."""
    return "".join(char if char.isprintable() else " " for char in text)
