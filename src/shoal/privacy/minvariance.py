"""Groups for a table that is published again: those who stay keep a group with the same set of values.

m-invariance [xiao2007]_: in each release, every group has at least m rows with different sensitive values,
and the groups of a person have the same set of values, the signature, in all releases that the person is in.
An attacker who intersects the releases is left with the whole signature.

Follows section 5 of the paper: division, balancing, assignment, split. Three departures. No counterfeit
rows are made: where a signature cannot be completed, rows are left out. A person whose value has left the
signature is left out as well. And the split only tries halves, by the column where that costs least.

Every group has one row of each value of its signature: buckets hold equally many rows of each of their
values, and the split keeps that. New signatures have at least m values, and so had the old ones.

References
----------
.. [xiao2007] Xiao, Tao. m-Invariance: Towards Privacy Preserving Re-publication of Dynamic Datasets.
   SIGMOD 2007. doi:10.1145/1247480.1247556
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.arrays import FloatArray, IntArray, LongArray

Signature = frozenset[int]
_Pools = dict[int, list[int]]  # by value: rows, those to be taken first at the end


def invariant_groups(
    values: IntArray,
    signatures: Sequence[Signature | None],
    points: FloatArray,
    m: int,
    random: np.random.Generator,
) -> tuple[IntArray, dict[int, Signature]]:
    """Return the group of each row, -1 for rows left out, and the signature of each group.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), int32
        The sensitive value of each row, -1 if missing.
    signatures : sequence of frozenset of int, or None
        For each row the signature that its person has; None for newcomers.
    points : ndarray of shape (n_rows, n_columns), float64
        Where the row is in each quasi column, weighted.
    m : int
        How many different values each group has at least.
    random : numpy Generator
        Chooses which rows are left out. Rows must be in canonical order.
    """
    buckets, newcomers = _divided(values, signatures, random)
    filled: dict[Signature, list[list[int]]] = {}
    for signature in sorted(buckets, key=sorted):
        taken = _balanced(buckets[signature], newcomers, signature)
        if taken[0]:
            filled[signature] = taken
    for signature, taken in _assigned(newcomers, m):
        known = filled.setdefault(signature, [[] for _ in taken])
        filled[signature] = [[*rows, *more] for rows, more in zip(known, taken, strict=True)]
    labels = np.full(len(values), -1, np.int32)
    signature_of: dict[int, Signature] = {}
    for signature in sorted(filled, key=sorted):
        for group in _split(np.array(filled[signature]), points):
            labels[group] = len(signature_of)
            signature_of[len(signature_of)] = signature
    return labels, signature_of


def _divided(
    values: IntArray, signatures: Sequence[Signature | None], random: np.random.Generator
) -> tuple[dict[Signature, _Pools], _Pools]:
    """Divide those who stay by signature, and newcomers by value; each pool in random order."""
    buckets: dict[Signature, _Pools] = {}
    newcomers: _Pools = {}
    for row in random.permutation(len(values)).tolist():
        value, signature = int(values[row]), signatures[row]
        if value < 0 or (signature is not None and value not in signature):
            continue  # it has no value, or one that would give away that the person's value has changed
        pools = newcomers if signature is None else buckets.setdefault(signature, {})
        pools.setdefault(value, []).append(row)
    return buckets, newcomers


def _balanced(stayers: _Pools, newcomers: _Pools, signature: Signature) -> list[list[int]]:
    """Return equally many rows of each value: as many who stay as newcomers can complete."""
    most = max(map(len, stayers.values()))
    within = (len(stayers.get(value, [])) + len(newcomers.get(value, [])) for value in signature)
    height = min(most, *within)
    taken = []
    for value in sorted(signature):
        own = stayers.get(value, [])[:height]
        lacking = height - len(own)
        others = [newcomers[value].pop() for _ in range(lacking)]
        taken.append([*own, *others])
    return taken


def _assigned(newcomers: _Pools, m: int) -> Iterator[tuple[Signature, list[list[int]]]]:
    """Yield new signatures with equally many rows of each value, until nobody is left who can be placed.

    The rows that remain after each step are eligible: none of their values has more than one in m of them.
    """
    _make_eligible(newcomers, m)
    while newcomers:
        order = sorted(newcomers, key=lambda value: (-len(newcomers[value]), value))
        width, height = _largest_bucket([len(newcomers[value]) for value in order], m)
        if not height:
            return
        chosen = sorted(order[:width])
        yield frozenset(chosen), [[newcomers[value].pop() for _ in range(height)] for value in chosen]
        for value in chosen:
            if not newcomers[value]:
                del newcomers[value]


def _make_eligible(newcomers: _Pools, m: int) -> None:
    """Leave out rows of the most frequent value until no value has more than one in m."""
    total = sum(map(len, newcomers.values()))
    for value in [value for value, rows in newcomers.items() if not rows]:
        del newcomers[value]
    while newcomers:
        value = max(newcomers, key=lambda v: (len(newcomers[v]), v))
        if m * len(newcomers[value]) <= total:
            return
        newcomers[value].pop()
        total -= 1
        if not newcomers[value]:
            del newcomers[value]


def _largest_bucket(counts: Sequence[int], m: int) -> tuple[int, int]:
    """Return how many of the most frequent values to take, and how many rows of each; (0, 0) for none.

    As few values as possible, at least m, and as many rows as leave the rest eligible.
    """
    total = sum(counts)
    for width in range(m, len(counts) + 1):
        next_count = counts[width] if width < len(counts) else 0
        height = min(counts[width - 1], (total - m * next_count) // width)
        if width > m:
            height = min(height, (total - m * counts[0]) // (width - m))
        if height > 0:
            return width, height
    return 0, 0


def _split(rows: npt.NDArray[np.int64], points: FloatArray) -> Iterator[LongArray]:
    """Yield groups with one row of each value; `rows` has a line for each value."""
    waiting = [rows]
    while waiting:
        part = waiting.pop()
        if part.shape[1] == 1:
            yield part[:, 0]
            continue
        waiting += min(_halves(part, points), key=lambda halves: sum(_cost(half, points) for half in halves))


def _halves(rows: npt.NDArray[np.int64], points: FloatArray) -> Iterator[list[npt.NDArray[np.int64]]]:
    """Yield two halves for each column: of each value, the rows that are lowest there and the others."""
    middle = rows.shape[1] // 2
    for column in range(points.shape[1]):
        order = np.argsort(points[rows, column], axis=1, kind="stable")
        ordered = np.take_along_axis(rows, order, axis=1)
        yield [ordered[:, :middle], ordered[:, middle:]]


def _cost(rows: npt.NDArray[np.int64], points: FloatArray) -> float:
    """Return the width of the box around rows, for each of them."""
    inside = points[rows.ravel()]
    return float((inside.max(axis=0) - inside.min(axis=0)).sum()) * rows.size


def signatures_of(
    people: Sequence[str], known: Mapping[str, Sequence[str]], number_of: Mapping[str, int]
) -> list[Signature | None]:
    """Return the signature of each person as numbers of values; None for newcomers."""
    return [
        frozenset(number_of[value] for value in known[person]) if person in known else None
        for person in people
    ]
