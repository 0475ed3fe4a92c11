"""The columns of a release: all promised ones, each once, and no others."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.recipe import Recipe
from shoal.verifier.verdict import Problem, count, listed


def quasi_columns(recipe: Recipe, names: Sequence[str]) -> list[str]:
    """List the columns of a file that quasi columns are published as: themselves, or their bounds."""
    columns = []
    for name in recipe.quasi:
        bounds = [f"{name}_low", f"{name}_high"]
        as_bounds = recipe.output.bounds_as == "columns" and name not in names and set(bounds) <= set(names)
        columns += bounds if as_bounds else [name]
    return columns


def released_columns(recipe: Recipe, names: Sequence[str] = ()) -> list[str]:
    """List the columns that a release of this recipe has, given the names that the file has."""
    return quasi_columns(recipe, names) + recipe.named("sensitive", "keep") + recipe.pseudonyms


def header_problems(
    names: Sequence[str], recipe: Recipe, *, promised: Sequence[str] | None = None
) -> list[Problem]:
    """Compare the header of a file with the recipe, or with the columns `promised` for this file."""
    promised = released_columns(recipe, names) if promised is None else promised
    missing = [name for name in promised if name not in names]
    problems = []
    if missing:
        message = f"{count(len(missing), 'column')} of the recipe missing from the file: {listed(missing)}."
        problems.append(Problem("verify.missing_column", message))
    known = set(recipe.columns) if missing else None
    problems += _forbidden(names, promised, known)
    problems += _duplicates(names, known)
    return problems


def _forbidden(names: Sequence[str], promised: Sequence[str], known: set[str] | None) -> list[Problem]:
    places = [place for place, name in enumerate(names) if name not in promised]
    if not places:
        return []
    what = count(len(places), "column")
    message = f"The file has {what} that the recipe does not release: {_named(names, places, known)}."
    return [Problem("verify.forbidden_column", message)]


def _duplicates(names: Sequence[str], known: set[str] | None) -> list[Problem]:
    places = [place for place, name in enumerate(names) if name in names[:place]]
    if not places:
        return []
    message = f"The file has columns with the name of an earlier one: {_named(names, places, known)}."
    return [Problem("verify.duplicate_column", message)]


def _named(names: Sequence[str], places: Sequence[int], known: set[str] | None) -> str:
    """Name columns, or give their position where the name may be a person's data.

    A file without a header line shows its first row instead. The first line is taken for a
    header only if it has all promised names (`known` is None then).
    """
    if known is None:
        return listed([names[place] for place in places])
    return ", ".join(f"`{names[p]}`" if names[p] in known else f"column {p + 1}" for p in places)
