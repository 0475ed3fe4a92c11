"""Non-homogeneous generalization: a release without classes, whose guarantee is about originals.

At least k originals fit each row of the file, and each original fits at least k rows of it. Verifying
that takes the original. See `fits` for what is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.recipe import Recipe
from shoal.verifier.cells.covers import Key, reading
from shoal.verifier.header import quasi_columns
from shoal.verifier.originals.fits import Boxes, Counts, count_fits
from shoal.verifier.reading.apostrophe import plain
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session
from shoal.verifier.verdict import MeasuredGoal, Problem, count, listed


@dataclass(frozen=True)
class Fit:
    """The goal as counted, and the problems."""

    goal: MeasuredGoal
    problems: list[Problem]


def measure_fit(session: Session, loaded: Loaded, original: Loaded | None, recipe: Recipe) -> Fit:
    """Count both sides of the guarantee; call `build_classes` first.

    The file does not show which rows were left out, so as many originals as it has rows must fit k
    rows each. Rows that were left out because they lack a quasi value fit nothing.
    """
    if original is None:
        message = "A non-homogeneous release can be verified only against its original."
        return _none(recipe, "verify.not_verifiable", message)
    absent = [name for name in recipe.quasi if not original.has_once(name)]
    if absent:
        message = f"Columns missing from the original, or in it twice: {listed(absent)}."
        return _none(recipe, "verify.fit", message)
    if loaded.rows == 0:
        return Fit(_goal(recipe, 0), [])
    complete_only = recipe.privacy.missing == "suppress"
    boxes, originals = read_boxes(session, loaded, original, recipe, complete_only=complete_only)
    return _judged(count_fits(boxes, originals), boxes.sizes, recipe)


def _none(recipe: Recipe, code: str, message: str) -> Fit:
    return Fit(_goal(recipe, 0), [Problem(code, message)])


def _goal(recipe: Recipe, achieved: int) -> MeasuredGoal:
    k = recipe.privacy.k
    return MeasuredGoal("k-anonymity", None, k, achieved, achieved >= k)


def read_boxes(
    session: Session, loaded: Loaded, original: Loaded, recipe: Recipe, *, complete_only: bool = False
) -> tuple[Boxes, list[tuple[Key, ...]]]:
    """Read what every distinct row covers, and the values of every original, or of those that lack none."""
    columns = ", ".join(original.column(name) for name in recipe.quasi)
    raw = session.rows(f"SELECT {columns}, count(*) FROM {original.table} GROUP BY ALL ORDER BY ALL")
    published = quasi_columns(recipe, loaded.names)
    rows = session.rows(f"SELECT {', '.join(loaded.column(name) for name in published)}, size FROM classes")
    boxes = Boxes([], [], [size for *_, size in rows])
    keys: list[list[Key]] = []
    cells: list[list[int]] = []
    for at, name in enumerate(recipe.quasi):
        texts = [row[at] for row in raw]
        read = reading(recipe, name, set(texts), original.stored(name))
        key_of = {text: read.key(text) for text in set(texts)}
        keys.append([key_of[text] for text in texts])
        places = [published.index(part) for part in published_as(name, published)]
        parts = [tuple(_plain(row[place], loaded.marked) for place in places) for row in rows]
        number_of = {part: number for number, part in enumerate(dict.fromkeys(parts))}
        boxes.covers.append([read.cover(part) for part in number_of])
        cells.append([number_of[part] for part in parts])
    boxes.cells.extend(zip(*cells, strict=True))
    originals = [
        values
        for values, times in zip(zip(*keys, strict=True), (row[-1] for row in raw), strict=True)
        if not (complete_only and None in values)
        for _ in range(times)
    ]
    return boxes, originals


def published_as(name: str, published: Sequence[str]) -> list[str]:
    """List the columns of a file that one quasi column is published as."""
    return [name] if name in published else [f"{name}_low", f"{name}_high"]


def _plain(text: str | None, marked: bool) -> str | None:
    return plain(text) if marked and text is not None else text


def _judged(counts: Counts, sizes: Sequence[int], recipe: Recipe) -> Fit:
    """Compare the counts with k."""
    k = recipe.privacy.k
    rows = sum(sizes)
    problems = []  # `pairing` finds rows that cannot be different originals
    few = sum(size for found, size in zip(counts.of_box, sizes, strict=True) if found < k)
    if few and counts.assignable:
        fit = f"{count(few, 'row')} of the file {'fits' if few == 1 else 'fit'} fewer than k = {k} originals"
        problems.append(Problem("verify.fit", f"{fit}; the worst fits {min(counts.of_box)}."))
    # It is unknown which originals the file leaves out: they may be those that fit the fewest rows.
    best = sorted(counts.of_original, reverse=True)[:rows]
    lonely = sum(found < k for found in best)
    if lonely and counts.assignable:
        fit = f"{count(lonely, 'original')} {'fits' if lonely == 1 else 'fit'} fewer than k = {k} rows"
        left_out = len(counts.of_original) - len(best)
        besides = f", besides the {left_out} that may be left out" if left_out else ""
        problems.append(Problem("verify.fit", f"{fit} of the file{besides}; the worst fits {best[-1]}."))
    fewest = min([*counts.of_box, best[-1]]) if counts.assignable else 0
    return Fit(_goal(recipe, fewest), problems)
