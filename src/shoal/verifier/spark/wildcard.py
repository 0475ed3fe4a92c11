"""The smallest class when an empty quasi cell may be anything; see `verifier.goals.wildcard`."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.verifier.goals.wildcard import LIMIT
from shoal.verifier.spark.classes import ClassFacts, Source


def wildcard_k(source: Source, quasi: Sequence[str], facts: ClassFacts) -> int | None:
    """Return the fewest rows, or people, that are compatible with a class; k when no cell is empty.

    None where people are too many to be looked at one by one.
    """
    if not facts.any_empty:
        return facts.smallest
    cells = [source.table.column(name) for name in quasi]
    ask = source.spark.sql
    marks = ", ".join(f"CASE WHEN {cell} IS NULL THEN '1' ELSE '0' END" for cell in cells)
    masked = source.keep(ask(f"SELECT *, concat({marks}) AS mask FROM {{classes}}", classes=source.classes))
    masks = ask("SELECT DISTINCT mask AS other FROM {masked}", masked=masked)
    one = ask(f"SELECT {_with_masks(cells, 'other', 'mask', 'class')} FROM {{masked}}, {{masks}}",
              masked=masked, masks=masks)  # fmt: skip
    same = " AND ".join(f"a.v{at} <=> b.v{at}" for at in range(len(cells)))
    joined = f"{{one}} a JOIN {{other}} b ON a.one = b.one AND a.two = b.two AND {same}"
    columns = ", ".join(["one", "two", *(f"v{at}" for at in range(len(cells)))])
    if source.people:
        members = ask("SELECT DISTINCT class, person FROM {cells}", cells=source.cells)
        sides = ask(
            f"SELECT DISTINCT {_with_masks(cells, 'mask', 'other', 'person')} "
            "FROM {masked} JOIN {members} USING (class), {masks}",
            masked=masked, members=members, masks=masks,
        )  # fmt: skip
        sizes = ask(f"SELECT {columns}, count(*) AS size FROM {{sides}} GROUP BY {columns}", sides=sides)
        (pairs,) = ask(f"SELECT sum(size) FROM {joined}", one=one, other=sizes).collect()[0]
        if pairs > LIMIT:
            return None
        total, other = "count(DISTINCT person)", sides
    else:
        sides = ask(f"SELECT {_with_masks(cells, 'mask', 'other', 'size')} FROM {{masked}}, {{masks}}",
                    masked=masked, masks=masks)  # fmt: skip
        other = ask(f"SELECT {columns}, sum(size) AS size FROM {{sides}} GROUP BY {columns}", sides=sides)
        total = "sum(size)"
    query = f"SELECT min(total) FROM (SELECT class, {total} AS total FROM {joined} GROUP BY class)"
    return int(ask(query, one=one, other=other).collect()[0][0])


def _with_masks(cells: Sequence[str], one: str, two: str, kept: str) -> str:
    """Write the SQL that compares a class with a mask: both masks, and the cells that neither lacks."""
    known = (
        f"CASE WHEN substring(mask, {at}, 1) = '1' OR substring(other, {at}, 1) = '1' "
        f"THEN NULL ELSE {cell} END AS v{at - 1}"
        for at, cell in enumerate(cells, 1)
    )
    return f"{kept}, {one} AS one, {two} AS two, {', '.join(known)}"
