"""The dossier of a release as part of a page: what it shows was computed when the release was made.

The file is our own, but it lies in a folder where anybody may have changed it. Only the elements and
attributes that the dossier uses are taken over; everything else, scripts first of all, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from markupsafe import Markup, escape

from shoal.report.templates import style_sheet

_ELEMENTS = {
    "b",         "br",         "caption",         "code",         "dd",         "details",         "div",
    "dl",         "dt",         "em",         "figcaption",         "figure",         "footer",         "g",
    "h1",         "h2",         "h3",         "h4",         "header",         "li",         "line",
    "ol",         "p",         "path",         "pre",         "rect",         "circle",         "section",
    "small",         "span",         "strong",         "sub",         "summary",         "sup",
    "svg",         "table",         "tbody",         "td",         "text",         "tfoot",         "th",
    "thead",         "title",         "tr",         "ul",
}  # fmt: skip
_EMPTY = {"br"}
_DRAWN = {"line", "path", "rect", "circle"}  # closed at once
_SKIPPED = {"script", "style", "iframe", "object", "template", "noscript"}
_ATTRIBUTES = {
    "aria-hidden",         "aria-label",         "aria-labelledby",         "class",         "colspan",
    "cx",         "cy",         "d",         "data-name",         "dx",         "dy",         "fill",
    "font-family",         "font-size",         "font-weight",         "height",         "id",
    "opacity",         "points",         "r",         "role",         "rowspan",         "scope",
    "stroke",         "stroke-dasharray",         "stroke-opacity",         "stroke-width",
    "text-anchor",         "transform",         "viewbox",         "width",         "x",         "x1",
    "x2",         "y",         "y1",         "y2",
}  # fmt: skip
_CASED = {"viewbox": "viewBox"}
_HEADINGS = {"h1": "h2"}  # the page has its own first heading


@dataclass
class Dossier:
    """What a page shows of a dossier: its contents, and its sections by id with their titles."""

    contents: Markup
    sections: list[tuple[str, str]] = field(default_factory=list)


def read_dossier(path: Path) -> Dossier:
    """Read the dossier of a release."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    return Dossier(Markup("".join(reader.pieces)), reader.sections)


def dossier_style() -> str:
    """Return the style sheet of the dossier, for one element of a page; the page has the same colours."""
    return ".dossier {\n" + style_sheet() + "\n}\n"


class _Reader(HTMLParser):
    """Takes over what is between <main> and </main>."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.sections: list[tuple[str, str]] = []
        self._is_inside, self._skipped = False, 0
        self._title: list[str] | None = None
        self._id = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "main":
            self._is_inside = True
            return
        if not self._is_inside:
            return
        if tag in _SKIPPED:
            self._skipped += 1
        if self._skipped or tag not in _ELEMENTS:
            return
        kept = [(name, value or "") for name, value in attrs if name in _ATTRIBUTES]
        if tag == "h2" and dict(kept).get("id"):
            self._title, self._id = [], dict(kept)["id"]
        texts = "".join(f' {_CASED.get(name, name)}="{escape(value)}"' for name, value in kept)
        self.pieces.append(f"<{_HEADINGS.get(tag, tag)}{texts}{'/' if tag in _DRAWN else ''}>")

    def handle_endtag(self, tag: str) -> None:
        if tag == "main":
            self._is_inside = False
        if tag in _SKIPPED and self._skipped:
            self._skipped -= 1
            return
        if not self._is_inside or self._skipped or tag not in _ELEMENTS - _EMPTY - _DRAWN:
            return
        if tag == "h2" and self._title is not None:
            self.sections.append((self._id, " ".join("".join(self._title).split())))
            self._title = None
        self.pieces.append(f"</{_HEADINGS.get(tag, tag)}>")

    def handle_data(self, data: str) -> None:
        if self._is_inside and not self._skipped:
            self.pieces.append(str(escape(data)))
            if self._title is not None:
                self._title.append(data)
