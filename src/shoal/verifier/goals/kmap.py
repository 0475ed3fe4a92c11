"""k-map: every class matches at least k people of a population.

Sweeney (2001). The population is a raw table with one row for each person. A person matches a class if each
of its cells covers the person's value, as with an original that a row of the release may have been made from.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.recipe.goals import KMap
from shoal.verifier.goals.classes import Source
from shoal.verifier.goals.score import Finding, stated
from shoal.verifier.originals.boxes_per_row import read_boxes
from shoal.verifier.originals.fits import count_contained
from shoal.verifier.originals.original import load_original
from shoal.verifier.reading.load import existing
from shoal.verifier.verdict import Problem, count, listed

_OWN = {
    "separator": None,
    "header": True,
    "names": None,
    "encoding": None,
    "table": None,
    "catalog": None,
}  # not the layout of the input


def k_map(source: Source, goal: KMap) -> Finding:
    """Count the people in the box of every class."""
    session, input_ = source.session, source.recipe.input.model_copy(update=_OWN)
    recipe = source.recipe.model_copy(update={"input": input_})
    path = existing(recipe.resolve(goal.population), any_ending=True)
    population = load_original(session, path, recipe, table="population")
    absent = [name for name in recipe.quasi if not population.has_once(name)]
    if absent:
        message = f"Columns missing from the population, or in it twice: {listed(absent)}."
        return Finding(stated(goal, source.counts), Problem("verify.k_map", message))
    if not source.loaded.rows:
        return Finding(stated(goal, source.counts), None)
    boxes, people = read_boxes(session, source.loaded, population, recipe)
    return _judged(source, goal, count_contained(boxes, people), boxes.sizes)


def _judged(source: Source, goal: KMap, matching: Sequence[int], sizes: Sequence[int]) -> Finding:
    fewest = min(matching)
    failing = [size for found, size in zip(matching, sizes, strict=True) if found < goal.k]
    if not failing:
        return Finding(stated(goal, source.counts, fewest, holds=True), None)
    where = f"{count(len(failing), 'class', 'classes')} with {count(sum(failing), 'row')}"
    match = "matches" if len(failing) == 1 else "match"
    message = f"{where} {match} fewer than {goal.k} people of the population; the worst matches {fewest}."
    return Finding(stated(goal, source.counts, fewest), Problem("verify.k_map", message))
