"""Draw charts as SVG to put into a page.

The layout is fixed, without any measuring of text, so that the fonts of a machine do not change a byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree

from shoal.report.engine import draw_svg

_GROUP = "mark-group role-scope concat_{}_group"  # what Vega calls one chart of several
_KEPT = {
    "d", "transform", "fill", "stroke", "stroke-width", "opacity", "x2", "y2", "text-anchor", "font-size",
}  # fmt: skip


class Picture(NamedTuple):
    """A chart that has not been drawn: a Vega-Lite view, what it says in words, and the room it takes."""

    view: Mapping[str, Any]
    alt_text: str
    width: int
    height: int
    left: int  # beside the view
    top: int  # above it


def draw(pictures: Sequence[Picture], config: Mapping[str, Any]) -> list[str]:
    """Draw all pictures at once, which takes less time than one by one, and cut them apart."""
    views = [picture.view for picture in pictures]
    drawn = draw_svg(
        {
            "vconcat": views,
            "config": config,
            "autosize": {"type": "none"},
            "bounds": "flush",  # no measuring
            "spacing": 0,
            "padding": 0,
        }
    )
    groups = {group.get("class"): group for group in ElementTree.fromstring(drawn).iter()}
    return [_cut_out(groups[_GROUP.format(at)], picture) for at, picture in enumerate(pictures)]


def _cut_out(group: ElementTree.Element, picture: Picture) -> str:
    """Make an SVG of its own from the group of one chart, which Vega has put below the others."""
    root = ElementTree.Element("g", {"fill": "none", "transform": f"translate({picture.left},{picture.top})"})
    for part in group:
        part.set("transform", "translate(0,0)")
    root.append(group)
    return _as_page_part([root], f"0 0 {picture.width} {picture.height}", picture.alt_text)


def inline(drawn: str, alt_text: str) -> str:
    """Make an SVG file part of a page."""
    source = ElementTree.fromstring(drawn)
    return _as_page_part(source, source.attrib["viewBox"], alt_text)


def _as_page_part(parts: Sequence[ElementTree.Element] | ElementTree.Element, box: str, alt_text: str) -> str:
    """Rebuild a picture without what a page does not need, with a text for those who cannot see it."""
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
    """Replace what XML does not allow."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
