"""What several releases about the same people show together.

In each release, the rows whose boxes contain a person may be the person's. A combination of unchanged
values that all releases have remains possible as often as it occurs where it is rarest (Ganta,
Kasiviswanathan, Smith 2008, "Composition attacks and auxiliary information in data privacy").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.attacks.counting import pairs, people_sample
from shoal.attacks.result import Finding, Result, counted, mean_result, percent
from shoal.attacks.tables import Ints, Tables, together
from shoal.verifier.originals.axis import Axis

_WORK = 1 << 28  # pairs of a box and a person


def intersect(now: Tables, earlier: Sequence[Tables]) -> tuple[list[Result], list[str]]:
    """Attack all releases together; also say what could not be done.

    All of them were read with the same original, so that people are the same.
    """
    releases = [now, *earlier]
    names = [
        n for n in now.unchanged if all(n in t.unchanged and len(t.unchanged[n].released) for t in releases)
    ]
    if not names:
        return [], ["Intersection: the releases have no unchanged column in common."]
    if not all(tables.has_boxes for tables in releases):
        return [], ["Intersection: releases of typical values have no boxes."]
    values = _values(releases, names)
    people = _people(releases)
    if not len(people[0]):
        return [], ["Intersection: nobody is in all of the releases."]
    axes = [
        [axis.of_points(who) for axis in t.quasi.values()] for t, who in zip(releases, people, strict=True)
    ]
    raw = values[0][0][people[0]]
    n_boxes = max(len(tables.sizes) for tables in releases)
    everything = [axis for each in axes for axis in each]
    sample = people_sample(everything, n_boxes, [(raw, int(raw.max()) + 1)], work=_WORK)
    remaining, own = _remaining(releases, axes, values, sample.first, raw)
    weights = sample.weights
    possible = own > 0  # otherwise the person is not in all of them
    weights, remaining, own = weights[possible], remaining[possible], own[possible]
    if not len(weights):
        return [], ["Intersection: nobody is in all of the releases."]
    return [_result(now, names, remaining, own, weights, sample.sampled)], []


def _result(
    now: Tables, names: list[str], remaining: Ints, own: Ints, weights: Ints, sampled: bool
) -> Result:
    n = int(weights.sum())
    success = float((weights * own / remaining).sum()) / n
    below = int(weights[remaining < now.k].sum())
    certain = int(weights[own == remaining].sum())
    finding: Finding = "exposed" if below else "none"
    message = (
        f"Together, the releases leave fewer than k = {now.k} rows for {counted(below, 'people')} "
        f"of {n:,}, at worst {int(remaining.min())}; the value of {counted(certain, 'people')} is "
        f"certain, and {percent(success)} are guessed right."
    )
    whole = np.bincount(
        together([(now.unchanged[x].raw, now.unchanged[x].size) for x in names], now.n_people)
    )
    return mean_result(
        "intersection", "linkability", success, n, baseline=1.0, guess=float(whole.max() / now.n_people),
        finding=finding, message=message, columns=names,
        details={"below_k": below, "smallest": int(remaining.min()), "certain": certain, "sampled": sampled},
    )  # fmt: skip


def _values(releases: Sequence[Tables], names: Sequence[str]) -> list[tuple[Ints, Ints]]:
    """Number the combinations of unchanged values alike in all releases: of raw and of released rows."""
    columns = []
    for name in names:
        texts = sorted(
            {text for t in releases for text in t.unchanged[name].texts}, key=lambda x: (x is None, x)
        )
        number = {text: at for at, text in enumerate(texts)}
        mapped = [np.array([number[text] for text in t.unchanged[name].texts], np.int64) for t in releases]
        parts = [m[side] for t, m in zip(releases, mapped, strict=True)
                 for side in (t.unchanged[name].raw, t.unchanged[name].released)]  # fmt: skip
        columns.append((np.concatenate(parts), len(texts)))
    lengths = [length for t in releases for length in (t.n_people, t.n_rows)]
    joined = np.split(together(columns, sum(lengths)), np.cumsum(lengths)[:-1])
    return list(zip(joined[::2], joined[1::2], strict=True))


def _people(releases: Sequence[Tables]) -> list[Ints]:
    """Return the same people in each release: those that all of them may contain."""
    common = releases[0].position
    for tables in releases[1:]:
        common = np.intersect1d(common, tables.position)
    return [np.searchsorted(tables.position, common) for tables in releases]


def _remaining(
    releases: Sequence[Tables],
    axes: Sequence[Sequence[Axis]],
    values: Sequence[tuple[Ints, Ints]],
    first: Ints,
    raw: Ints,
) -> tuple[Ints, Ints]:
    """Return, for each person, the values that remain, and how many of them are the person's own."""
    width = max(int(side.max(initial=0)) for pair in values for side in pair) + 1
    left: dict[str, Ints] = {}
    for number, (tables, of_people, (_, released)) in enumerate(zip(releases, axes, values, strict=True)):
        key, times = _possible(
            tables, [axis.of_points(first) for axis in of_people], of_people, released, width
        )
        if number == 0:
            left = {"key": key, "times": times}
            continue
        both, here, there = np.intersect1d(left["key"], key, assume_unique=True, return_indices=True)
        left = {"key": both, "times": np.minimum(left["times"][here], times[there])}
    person, value = left["key"] // width, left["key"] % width
    remaining = np.bincount(person, left["times"], len(first)).astype(np.int64)
    mine = value == raw[first][person]
    own = np.bincount(person[mine], left["times"][mine], len(first)).astype(np.int64)
    return remaining, own


def _possible(
    tables: Tables, points: Sequence[Axis], boxes: Sequence[Axis], released: Ints, width: int
) -> tuple[Ints, Ints]:
    """Return how often each value occurs in the rows that may be each person's: person x width + value."""
    line, rows = np.unique(tables.class_of_row * width + released, return_counts=True)
    begins = np.searchsorted(line // width, np.arange(len(tables.sizes) + 1))
    keys, counts = [np.array([], np.int64)], [np.array([], np.int64)]
    for box, point in pairs(boxes, points):
        times = begins[box + 1] - begins[box]
        at = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        at += np.repeat(begins[box], times)
        key, place = np.unique(np.repeat(point, times) * width + line[at] % width, return_inverse=True)
        keys.append(key)
        counts.append(np.bincount(place, rows[at], len(key)).astype(np.int64))
    return np.concatenate(keys), np.concatenate(counts)
