"""Draw the pictures of the methods: each method of shoal on one small table.

    python docs/methods/draw.py [--check]

Rows are dots that bear the number of their class, classes are boxes: what would be published of them.
With --check nothing is written; the exit status is 1 when a picture is not current.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import cos, pi, sin
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

import shoal
from shoal.cluster import METHODS, ClusterResult, cmeans, oka, systematic
from shoal.recipe.options import SystematicOptions

HERE = Path(__file__).parent
K = 3
ROWS = [
    (22, 6), (25, 12), (29, 8), (23, 29), (35, 30), (38, 34), (42, 31),
    (46, 14), (46, 14), (46, 14), (46, 14), (46, 14), (53, 9), (57, 24),
]  # fmt: skip
TABLE = pl.DataFrame(ROWS, schema=["age", "days"], orient="row")
INTERVALS = [10, 20]

# Mid-tones that can be read on white and on black; there is no ground.
COLOURS = ("#3d72d6", "#c2571a", "#2f8f4e", "#bb3a82")
GREY = "#7d7d7d"
HOLLOW = f'fill="none" stroke="{GREY}" stroke-width="2"'
WIDTH, HEIGHT = 400, 292
LEFT, RIGHT, TOP, BOTTOM = 48, 388, 14, 234  # of the plane
DOT, FAN, RING = 7, 14, 10
AGES, DAYS = (18, 62), (0, 40)  # ends of the axes

LongArray = npt.NDArray[np.int64]
Box = tuple[float, float, float, float]  # left, top, right, bottom, in the picture


@dataclass(frozen=True)
class Picture:
    """How a method is run for its picture, and what is marked in it.

    `starts` gives, for a seed, the rows in canonical order that the method starts from: they get a ring.
    `trees` gives both columns a hierarchy of intervals.
    """

    seed: int = 1
    may_suppress: int = 0
    starts: Callable[[int], LongArray] | None = None
    trees: bool = False
    legend: str = ""


def _oka_starts(seed: int) -> LongArray:
    return oka.draw(len(ROWS), K, seed)[0]


def _systematic_starts(seed: int) -> LongArray:
    return systematic.draw(len(ROWS), K, seed, SystematicOptions())


def _first_centres(seed: int) -> LongArray:
    return cmeans.draw(len(ROWS), K, seed)


PICTURES = {
    "local-search": Picture(),
    "k-member": Picture(legend="numbers: the order in which the classes were grown"),
    "oka": Picture(seed=3, starts=_oka_starts, legend="first row of a class"),
    "systematic": Picture(starts=_systematic_starts, legend="first row of a class"),
    "kaca": Picture(),
    "cb": Picture(),
    "mondrian": Picture(),
    "threshold": Picture(seed=0, may_suppress=2, legend="hollow: left out"),
    "c-means": Picture(seed=4, starts=_first_centres, legend="first centre"),
    "incognito": Picture(trees=True, legend="dashed: where the intervals of the published level end"),
}


def draw(name: str) -> str:
    """Run a method and return its picture."""
    picture = PICTURES[name]
    trees = {column: {"intervals": INTERVALS} for column in TABLE.columns} if picture.trees else None
    encoded = shoal.encode(TABLE, quasi=TABLE.columns, hierarchies=trees)
    method = METHODS[name]
    found = method.make(K, picture.seed, method.options(), picture.may_suppress).fit(encoded)
    labels = encoded.in_input_order(found.labels).tolist()
    starts = [] if picture.starts is None else picture.starts(picture.seed).tolist()
    parts = [
        *_axes(),
        *_levels(found),
        *(_box(box, label) for label, box in enumerate(_boxes(labels, found))),
        *(_ring(place) for place in (_places()[encoded.order[row]] for row in starts)),
        *(_dot(place, label) for place, label in zip(_places(), labels, strict=True)),
        *_legend(picture),
    ]
    title = escape(f"{name} on {len(ROWS)} rows, k = {K}: {found.n_classes} classes")
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" font-family="sans-serif" font-size="11">'
    )
    return "\n".join([head, f"<title>{title}</title>", *parts, "</svg>"]) + "\n"


def _boxes(labels: Sequence[int], found: ClusterResult) -> list[Box]:
    """Return the box of each class: around its dots, or the intervals of the levels."""
    boxes = []
    for label in range(found.n_classes):
        rows = [at for at, other in enumerate(labels) if other == label]
        if found.levels is None:
            across, down = zip(*(_places()[at] for at in rows), strict=True)
            pad = DOT + 4 + label  # edges that coincide stay apart
            boxes.append((min(across) - pad, min(down) - pad, max(across) + pad, max(down) + pad))
        else:
            (left, right), (low, high) = (_interval(at, ROWS[rows[0]][at], found) for at in (0, 1))
            boxes.append((_x(left) + 3, _y(high) + 3, _x(right) - 3, _y(low) - 3))
    return boxes


def _interval(column: int, value: int, found: ClusterResult) -> tuple[float, float]:
    """Return the ends of the interval that a value is published as, half a unit outside of it."""
    width = _level_width(column, found)
    if width is None:
        return (AGES, DAYS)[column]
    low = value // width * width
    return low - 0.5, low + width - 0.5


def _level_width(column: int, found: ClusterResult) -> int | None:
    """Return how wide the intervals of a column's level are; None: as wide as the column."""
    level = found.levels[column] if found.levels else 0
    return INTERVALS[level - 1] if 0 < level <= len(INTERVALS) else None


def _x(age: float) -> float:
    return LEFT + (age - AGES[0]) / (AGES[1] - AGES[0]) * (RIGHT - LEFT)


def _y(days: float) -> float:
    return BOTTOM - (days - DAYS[0]) / (DAYS[1] - DAYS[0]) * (BOTTOM - TOP)


def _places() -> list[tuple[float, float]]:
    """Return where each dot lies; equal rows stand around their point."""
    places = []
    for at, row in enumerate(ROWS):
        equal = ROWS.count(row)
        angle = 2 * pi * ROWS[:at].count(row) / equal - pi / 2
        reach = FAN if equal > 1 else 0
        places.append((_x(row[0]) + reach * cos(angle), _y(row[1]) + reach * sin(angle)))
    return places


def _axes() -> list[str]:
    lines = [
        f'<path d="M{_x(age):.1f} {TOP}V{BOTTOM}" stroke="{GREY}" stroke-opacity=".25"/>'
        f'<text x="{_x(age):.1f}" y="{BOTTOM + 15}" fill="{GREY}" text-anchor="middle">{age}</text>'
        for age in range(20, AGES[1], 10)
    ]
    lines += [
        f'<path d="M{LEFT} {_y(days):.1f}H{RIGHT}" stroke="{GREY}" stroke-opacity=".25"/>'
        f'<text x="{LEFT - 6}" y="{_y(days) + 4:.1f}" fill="{GREY}" text-anchor="end">{days}</text>'
        for days in range(DAYS[0], DAYS[1] + 1, 10)
    ]
    middle = (TOP + BOTTOM) / 2
    return [
        *lines,
        f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 30}" fill="{GREY}" text-anchor="middle">age</text>',
        f'<text transform="translate(14 {middle}) rotate(-90)" fill="{GREY}" text-anchor="middle">'
        "days in hospital</text>",
    ]


def _levels(found: ClusterResult) -> list[str]:
    """Draw the ends of the published intervals, where whole columns are recoded."""
    if found.levels is None:
        return []
    dashed = f'stroke="{GREY}" stroke-width="1.5" stroke-dasharray="5 4"'
    ages, days = _level_width(0, found), _level_width(1, found)
    upright = [age for age in range(AGES[0], AGES[1] + 1) if ages and age % ages == 0]
    level = [day for day in range(DAYS[0], DAYS[1] + 1) if days and day % days == 0]
    return [
        *(f'<path d="M{_x(age - 0.5):.1f} {TOP}V{BOTTOM}" {dashed}/>' for age in upright),
        *(f'<path d="M{LEFT} {_y(day - 0.5):.1f}H{RIGHT}" {dashed}/>' for day in level),
    ]


def _box(box: Box, label: int) -> str:
    left, top, right, bottom = box
    colour = COLOURS[label]
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" rx="8" '
        f'fill="{colour}" fill-opacity=".13" stroke="{colour}" stroke-width="1.5"/>'
    )


def _circle(place: tuple[float, float], radius: float, look: str) -> str:
    return f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius}" {look}/>'


def _ring(place: tuple[float, float]) -> str:
    return _circle(place, RING, HOLLOW)


def _dot(place: tuple[float, float], label: int) -> str:
    if label < 0:
        return _circle(place, DOT - 1, HOLLOW)
    x, y = place
    return (
        _circle(place, DOT, f'fill="{COLOURS[label]}"')
        + f'<text x="{x:.1f}" y="{y + 3.3:.1f}" fill="#fff" font-size="9.5" font-weight="bold" '
        f'text-anchor="middle">{label + 1}</text>'
    )


def _legend(picture: Picture) -> list[str]:
    x, y = LEFT, HEIGHT - 8
    marks = []
    if picture.starts is not None:
        marks, x = [_ring((LEFT + RING, y - 4))], LEFT + 30
    text = f"{picture.legend}; k = {K}" if picture.legend else f"k = {K}"
    return [*marks, f'<text x="{x}" y="{y}" fill="{GREY}">{escape(text)}</text>']


if __name__ == "__main__":
    stale = []
    for name in PICTURES:
        path, drawn = HERE / f"{name}.svg", draw(name)
        if not path.exists() or path.read_text(encoding="utf-8") != drawn:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(drawn, encoding="utf-8")
    if "--check" in sys.argv and stale:
        sys.exit(f"not current: {', '.join(stale)}; run python docs/methods/draw.py")
