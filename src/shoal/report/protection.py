"""What the page says about the protection of single columns: a line of texts for each entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from shoal.report.numbers import percent, significant, whole

Entry = Mapping[str, Any]
_FEW = "fewer than 10 cells"
_HARDLY = 0.001  # standard deviations


class Line(NamedTuple):
    """A line of the table: the column, what was done, what that changed, and how to use the column."""

    column: str
    done: str
    changed: tuple[str, ...]
    advice: str


def protection_lines(entries: Sequence[Entry]) -> list[Line]:
    """Describe each entry."""
    return [Line(entry["column"], *_DESCRIBE[entry["method"]](entry)) for entry in entries]


def _share(entry: Entry, key: str) -> str:
    return _FEW if entry[key] is None else f"{percent(entry[key])} of the cells"


def _coding(entry: Entry) -> tuple[str, tuple[str, ...], str]:
    given = [key for key in ("bottom", "top") if entry[key] is not None]
    words = {"bottom": "lower", "top": "higher"}
    done = " and ".join(f"{words[key]} values published as {entry[key]}" for key in given)
    coded = tuple(f"{key} code: {_share(entry, f'{key}_coded')}" for key in given)
    means = " and ".join(
        f"{entry[key]} stands for {entry[key]} or {'more' if key == 'top' else 'less'}" for key in given
    )
    advice = f"{means}. Losses do not count what the codes hide."
    return f"Coded at the ends: {done}", coded + _numbers(entry), advice


def _pram(entry: Entry) -> tuple[str, tuple[str, ...], str]:
    form = "invariant PRAM" if entry["invariant"] else "PRAM"
    done = f"Categories changed at random ({form}) with probability {significant(entry['change'])}"
    moved = (
        f"{percent(entry['changed'])} of the cells changed",
        f"category counts moved by {percent(entry['moved'])}",
    )
    if entry["invariant"]:
        return done, moved, "Expected counts are the true ones."
    where = "is in the manifest" if "matrix" in entry else "follows from the probability"
    return (
        done,
        moved,
        f"To estimate true counts, multiply by the inverse of the transition matrix, which {where}.",
    )


def _swapping(entry: Entry) -> tuple[str, tuple[str, ...], str]:
    done = f"Values swapped with others of similar rank, within {significant(entry['window'])} % of the rows"
    return (
        done,
        (f"{percent(entry['changed'])} of the cells changed", *_numbers(entry)),
        ("The distribution of the column is the true one."),
    )


def _noise(entry: Entry) -> tuple[str, tuple[str, ...], str]:
    form = "correlated noise" if entry["correlated"] else "noise"
    sd = significant(entry["sd"])
    done = f"Normal {form} added, with {sd} times the standard deviation of the column"
    changed = (f"{percent(entry['changed'])} of the cells changed", *_numbers(entry))
    return done, changed, f"Expected variance: {significant(1 + entry['sd'] ** 2)} times the true one."


def _pseudonyms(entry: Entry) -> tuple[str, tuple[str, ...], str]:
    return (
        "Identifiers replaced by keyed pseudonyms (HMAC-SHA-256)",
        (f"key {entry['key']}",),
        "Releases with the same key can be linked row by row.",
    )


def _cells(entry: Entry) -> tuple[str, tuple[str, ...], str]:
    done = "Cells suppressed as a last resort"
    return (
        done,
        (f"published as * in {whole(entry['rows'])} rows",),
        "At least k rows look alike, * included.",
    )


def _numbers(entry: Entry) -> tuple[str, ...]:
    """List what is known about the numbers of a column."""
    texts = []
    if entry.get("mean_shift") is not None:
        shift = entry["mean_shift"]
        by = significant(shift) if abs(shift) >= _HARDLY or not shift else f"less than {_HARDLY}"
        texts.append(f"mean moved by {by} standard deviations")
    if entry.get("sd_ratio") is not None:
        texts.append(f"standard deviation: {significant(entry['sd_ratio'])} times the true one")
    if entry.get("correlation") is not None:
        texts.append(f"correlation with the true values: {significant(entry['correlation'])}")
    most = entry.get("correlations")
    if most:
        before, after = significant(most["before"]), significant(most["after"])
        texts.append(f"correlation with `{most['with']}`, which moved most: {before} before, {after} now")
    if entry.get("linked") is not None:
        before, after = percent(entry["linked_before"]), percent(entry["linked"])
        texts.append(
            f"linked to their row by somebody who knows all true values: {after} of the rows; "
            f"{before} without protection"
        )
    return tuple(texts)


_DESCRIBE: dict[str, Callable[[Entry], tuple[str, tuple[str, ...], str]]] = {
    "coding": _coding,
    "pram": _pram,
    "rank swapping": _swapping,
    "noise": _noise,
    "pseudonyms": _pseudonyms,
    "cell suppression": _cells,
}
