"""The smallest class when an empty quasi cell may be anything.

An attacker who does not know what an empty cell was cannot rule its row out. A class then has the rows
of all classes that agree with it in every column where neither is empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.verifier.goals.classes import Source

LIMIT = 50_000_000  # most pairs of a person and a compatible class that are counted


def wildcard_k(source: Source, quasi: Sequence[str], k: int) -> int | None:
    """Return the fewest rows, or people, that are compatible with a class; `k` when no cell is empty.

    Classes that lack the same columns have the same *mask*. Those of one mask agree with those of
    another when they are equal in the columns that neither lacks, so each pair of masks takes one
    equality join, and no class is compared with every other. People cannot be summed, since one may
    be in several classes; where there are too many to count one by one, the answer is None.
    """
    cells = [source.loaded.column(name) for name in quasi]
    session = source.session
    # One flat expression over all columns: DuckDB is disproportionately slow on nested ones.
    empty = " OR ".join(f"{cell} IS NULL" for cell in cells)
    any_empty, *_ = session.row(f"SELECT coalesce(bool_or({empty}), false) FROM classes")
    if not any_empty:
        return k
    marks = ", ".join(f"CASE WHEN {cell} IS NULL THEN '1' ELSE '0' END" for cell in cells)
    mask = f"concat({marks})"
    session.database.execute(f"CREATE TEMP TABLE masked AS SELECT *, {mask} AS mask FROM classes")
    session.database.execute("CREATE TEMP TABLE masks AS SELECT DISTINCT mask AS other FROM masked")
    one = f"SELECT {_with_masks(cells, 'other', 'mask', 'class')} FROM masked, masks"
    session.database.execute(f"CREATE TEMP TABLE one_side AS {one}")
    session.database.execute(f"CREATE TEMP TABLE other_side AS {_other_side(cells, people=source.people)}")
    same = " AND ".join(f"a.v{i} IS NOT DISTINCT FROM b.v{i}" for i in range(len(cells)))
    joined = f"one_side a JOIN other_side b ON a.one = b.one AND a.two = b.two AND {same}"
    if source.people and _is_too_much(source, joined):
        return None
    total = "count(DISTINCT person)" if source.people else "sum(size)"
    found = f"SELECT class, {total} AS total FROM {joined} GROUP BY class"
    return int(session.row(f"SELECT min(total) FROM ({found})")[0])


def _other_side(cells: Sequence[str], *, people: bool) -> str:
    """Return the SQL of what is counted, with every mask that it may be compared under."""
    if people:
        members = "masked JOIN (SELECT DISTINCT class, person FROM cells) USING (class), masks"
        return f"SELECT DISTINCT {_with_masks(cells, 'mask', 'other', 'person')} FROM {members}"
    sizes = f"SELECT {_with_masks(cells, 'mask', 'other', 'size')} FROM masked, masks"
    return f"SELECT * EXCLUDE (size), sum(size) AS size FROM ({sizes}) GROUP BY ALL"


def _is_too_much(source: Source, joined: str) -> bool:
    grouped = "(SELECT * EXCLUDE (person), count(*) AS size FROM other_side GROUP BY ALL)"
    (pairs,) = source.session.row(f"SELECT sum(size) FROM {joined.replace('other_side', grouped)}")
    return bool(pairs > LIMIT)


def _with_masks(cells: Sequence[str], one: str, two: str, kept: str) -> str:
    """Return the SQL of a class with a mask: both masks, and the cells in columns that neither lacks."""
    known = (
        f"CASE WHEN mask[{i + 1}] = '1' OR other[{i + 1}] = '1' THEN NULL ELSE {cell} END AS v{i}"
        for i, cell in enumerate(cells)
    )
    return f"{kept}, {one} AS one, {two} AS two, {', '.join(known)}"
