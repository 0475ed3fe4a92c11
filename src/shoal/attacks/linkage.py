"""Link people to rows: by equal labels, and by the boxes that contain them.

An attacker knows a person's raw values in some columns and picks one of the rows that may be the person's.
With c such rows the pick is right with probability 1 / c.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from shoal.attacks.counting import WORK, Crowds, crowds, crowds_by_choice, pairs, raw_crowds
from shoal.attacks.result import (
    ROUNDING,
    Finding,
    Result,
    counted,
    listed,
    mean_result,
    percent,
    worst_result,
)
from shoal.attacks.tables import Tables, Values, together
from shoal.recipe import Shape
from shoal.verifier.originals.axis import Axis, equal_axis

MOST_KNOWN = 3  # columns of a subset
_SHOWN = 10  # subsets in the details
_MOST_SUBSETS = 2_500


def by_classes(tables: Tables) -> list[Result]:
    """Link by equal labels: the attacker knows which class a person is in."""
    sizes = tables.sizes
    found = Crowds(sizes, sizes)
    raw_sizes = np.bincount(tables.raw_classes)
    raw = Crowds(raw_sizes, raw_sizes)
    promised = tables.recipe.shape.has_classes
    details = {"classes": len(sizes), "smallest": found.smallest, "below_k": found.below(tables.k)}
    return _both("classes", tables, found, raw, details, promised=promised, what="rows with equal labels")


def by_containment(tables: Tables) -> list[Result]:
    """Link by all quasi columns: any row whose box contains the person may be the person's."""
    found = crowds(list(tables.quasi.values()), tables.sizes)
    raw = raw_crowds(list(tables.quasi.values()))
    promised = tables.recipe.shape is not Shape.TWO_TABLES
    details = _details(found, tables.k)
    what = "boxes that contain the person"
    return _both("containment", tables, found, raw, details, promised=promised, what=what)


def by_kept(tables: Tables) -> list[Result]:
    """Link by all quasi columns and the kept ones, which are published as they are."""
    if not tables.kept:
        return []
    kept = [tables.unchanged[name] for name in tables.kept]
    axes, sizes = with_unchanged(tables, kept)
    found, raw = crowds(axes, sizes), raw_crowds(axes)
    details = {"columns": tables.kept, **_details(found, tables.k)}
    what = f"boxes that contain the person, with the person's {listed(tables.kept)}"
    return _both("kept", tables, found, raw, details, promised=False, what=what)


def with_unchanged(tables: Tables, columns: Sequence[Values]) -> tuple[list[Axis], np.ndarray]:
    """Return boxes that also have the values of unchanged columns, and their numbers of rows."""
    row_kind = together(
        [(tables.class_of_row, len(tables.sizes)), *((c.released, c.size) for c in columns)], tables.n_rows
    )
    first = np.empty(int(row_kind.max(initial=-1)) + 1, np.int64)
    first[row_kind] = np.arange(tables.n_rows)
    axes = [axis.of_boxes(tables.class_of_row[first]) for axis in tables.quasi.values()]
    axes += [equal_axis(column.raw, column.released[first], column.size) for column in columns]
    return axes, np.bincount(row_kind)


def _details(found: Crowds, k: int) -> dict[str, Any]:
    inside = found.candidates > 0
    order = np.argsort(found.candidates[inside], kind="stable")
    ranked, up_to = found.candidates[inside][order], np.cumsum(found.weights[inside][order])
    middle = int(ranked[np.searchsorted(up_to, up_to[-1] / 2)]) if len(ranked) else 0
    return {
        "smallest": found.smallest,
        "median": middle,
        "below_k": found.below(k),
        "single": found.below(2),
        "outside": found.outside,
        "sampled": found.sampled,
    }


def _both(
    attack: str,
    tables: Tables,
    found: Crowds,
    raw: Crowds,
    details: dict[str, Any],
    *,
    promised: bool,
    what: str,
) -> list[Result]:
    """Report the most exposed person, and everybody on average."""
    k, below = tables.k, found.below(tables.k)
    ceiling = 1 / k if promised else None
    finding: Finding = "none" if not below else "broken" if promised else "exposed"
    worst = 1 / found.smallest if found.smallest else 0.0
    guess = 1 / tables.n_people
    of_sample = f" of {found.people:,} sampled" if found.sampled else ""
    if below:
        who = f"{counted(below, 'people')}{of_sample} can be linked to fewer than k = {k} rows"
        message = f"By {what}, {who}; at worst to {found.smallest}."
    else:
        message = f"By {what}, nobody{of_sample} can be linked to fewer than k = {k} rows."
    outside = _outside(found, tables)
    if outside and attack == "containment":
        message += f" {outside}"
        finding = "exposed" if finding == "none" else finding
    smallest_class = int(tables.sizes.min()) if attack == "containment" else 1
    return [
        worst_result(
            f"{attack}-worst", "singling out", worst, found.people, ceiling=ceiling, guess=guess,
            baseline=1 / raw.smallest, finding=finding, message=message, details=details,
            high=1 / smallest_class if found.sampled else None,
        ),
        mean_result(
            attack, "linkability", found.success, found.people, ceiling=ceiling, guess=guess,
            baseline=raw.success, finding=_on_average(found.success, k, promised=promised),
            message=f"On average {percent(found.success)} of the people are linked to their row by {what}.",
            details=details,
        ),
    ]  # fmt: skip


def _on_average(success: float, k: int, *, promised: bool) -> Finding:
    if success <= 1 / k + ROUNDING:
        return "none"
    return "broken" if promised else "exposed"


def _outside(found: Crowds, tables: Tables) -> str:
    """Say that more people are in no box than rows were left out; then a label does not cover its rows."""
    left_out = max(0, tables.n_people - tables.n_rows)
    share = found.people / tables.n_people
    if found.outside <= left_out * share or (found.sampled and found.outside <= 1.2 * left_out * share + 20):
        return ""
    who = f"In no box are {counted(found.outside, 'people')}"
    return f"{who}, but only {counted(left_out, 'rows')} were left out: the labels do not cover their rows."


def by_subsets(tables: Tables) -> list[Result]:
    """Link by every choice of at most three quasi columns; report the one that works best."""
    if len(tables.quasi) < 2:
        return []
    most, columns, axes = _most_known(len(tables.quasi)), list(tables.quasi), list(tables.quasi.values())
    choices = [each for size in range(1, most + 1) for each in combinations(range(len(axes)), size)]
    tried = [
        (tuple(columns[at] for at in choice), found, raw_crowds([axes[at] for at in choice]))
        for choice, found in zip(choices, crowds_by_choice(axes, choices, tables.sizes), strict=True)
    ]
    promised = tables.recipe.shape is not Shape.TWO_TABLES
    k, ceiling = tables.k, 1 / tables.k if promised else None
    names, found, raw = max(tried, key=lambda each: each[1].success)
    below = max(crowd.below(k) for _, crowd, _ in tried)
    finding: Finding = "none" if not below else "broken" if promised else "exposed"
    ranked = sorted(tried, key=lambda each: -each[1].success)
    details = {
        "subsets": len(tried),
        "below_k": below,
        "smallest": min(crowd.smallest for _, crowd, _ in tried),
        "sampled": any(crowd.sampled for _, crowd, _ in tried),
        "best": [
            {
                "columns": list(each), "success": crowd.success, "baseline": bare.success,
                "smallest": crowd.smallest, "below_k": crowd.below(k), "baseline_unique": bare.below(2),
            }
            for each, crowd, bare in ranked[:_SHOWN]
        ],
    }  # fmt: skip
    message = (
        f"Of {len(tried)} choices of at most {most} columns, {listed(names)} link best: "
        f"{percent(found.success)} of the people ({percent(raw.success)} in the raw table)."
    )
    if below:
        message += f" By them, {counted(below, 'people')} can be linked to fewer than k = {k} rows."
    return [
        mean_result(
            "subsets", "linkability", found.success, found.people, ceiling=ceiling, baseline=raw.success,
            guess=1 / tables.n_people, finding=finding, message=message, columns=names, details=details,
        )
    ]  # fmt: skip


def _most_known(n_columns: int) -> int:
    """Return how many columns are chosen at most: fewer than three where there are many columns."""
    most = min(MOST_KNOWN, n_columns - 1)
    while most > 1 and sum(comb(n_columns, size) for size in range(1, most + 1)) > _MOST_SUBSETS:
        most -= 1
    return most


def by_people(tables: Tables) -> list[Result]:
    """Count the people who may be behind each class, where a person may have several rows."""
    if tables.people is None or tables.n_people * len(tables.sizes) > WORK:
        return []
    boxes = list(tables.quasi.values())
    people = tables.people
    n_people = int(people.max(initial=-1)) + 1
    seen = _people_in_boxes(tables, boxes, n_people)
    smallest = int(seen.min()) if len(seen) else 0
    below = int(tables.sizes[seen < tables.k].sum())
    raw = np.unique(tables.raw_classes * n_people + people) // n_people
    finding: Finding = "broken" if below else "none"
    k = tables.k
    if below:
        message = (
            f"Classes whose boxes contain fewer than k = {k} people have {counted(below, 'rows')}; "
            f"at worst, a box contains {smallest}."
        )
    else:
        message = f"The box of every class contains at least k = {k} people."
    return [
        worst_result(
            "people-worst", "singling out", 1 / max(1, smallest), n_people, ceiling=1 / k,
            baseline=1 / int(np.bincount(raw).min()), guess=1 / n_people, finding=finding, message=message,
            details={"smallest": smallest, "below_k_rows": below},
        )
    ]  # fmt: skip


def _people_in_boxes(tables: Tables, boxes: Sequence[Axis], n_people: int) -> np.ndarray:
    """Count the different people inside each box."""
    assert tables.people is not None
    kind = together(
        [*((axis.codes, axis.size) for axis in boxes), (tables.people, n_people)], tables.n_people
    )
    first = np.empty(int(kind.max(initial=-1)) + 1, np.int64)
    first[kind] = np.arange(tables.n_people)
    seen = [np.array([], np.int64)]
    for box, point in pairs(boxes, [axis.of_points(first) for axis in boxes]):
        seen.append(np.unique(box * n_people + tables.people[first[point]]))
    return np.bincount(np.unique(np.concatenate(seen)) // n_people, minlength=len(tables.sizes))
