"""Releases that exist already are checked together as if the last one were being made."""

from __future__ import annotations

import warnings
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.errors import PrivacyWarning, RecipeError
from shoal.recipe import Recipe
from shoal.workflow.together import check_releases

# Twelve people in a grid: by row or by column of it, four look alike; both together single everybody out.
PEOPLE = pl.DataFrame(
    {
        "row": [f"r{at // 4}" for at in range(12)],
        "column": [f"c{at % 4}" for at in range(12)],
        "ill": [f"i{at}" for at in range(12)],
    }
)


def release(folder: Path, number: int, quasi: list[str]) -> tuple[Recipe, Path]:
    """Publish some columns of the grid; the other is left out."""
    table = folder / "people.csv"
    PEOPLE.write_csv(table)
    others = [name for name in ("row", "column") if name not in quasi]
    columns = {
        **{name: {"role": "quasi", "kind": "categorical"} for name in quasi},
        **{name: {"role": "drop"} for name in others},
        "ill": {"role": "sensitive", "accept": ["unique"]},
    }
    asked = {"input": {"path": str(table)}, "columns": columns, "privacy": {"k": 3}}
    recipe = Recipe.from_dict({**asked, "method": {"name": "mondrian"}})
    path = folder / f"{number}.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        shoal.anonymize(recipe, bound=False).write(path)
    return recipe, path.with_name(f"{path.name}.manifest.json")


def test_a_release_reveals_nothing_more_beside_itself(tmp_path: Path) -> None:
    recipe, first = release(tmp_path, 1, ["row"])
    _, again = release(tmp_path, 2, ["row"])
    found = check_releases(recipe, [first, again])
    assert (found["verdict"], found["views"]) == ("no attack found", 2)


def test_two_ways_to_see_a_grid_are_refused_together(tmp_path: Path) -> None:
    _, first = release(tmp_path, 1, ["row"])
    recipe, second = release(tmp_path, 2, ["column"])
    found = check_releases(recipe, [first, second])
    assert found["verdict"] == "refused"
    # As the run would have said.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        made = shoal.anonymize(recipe, also=[first], accept_composition=True, bound=False)
    assert made.composition is not None
    assert made.composition["verdict"] == "refused"


def test_one_release_is_not_several(tmp_path: Path) -> None:
    recipe, only = release(tmp_path, 1, ["row"])
    with pytest.raises(RecipeError, match="Fewer than two"):
        check_releases(recipe, [only])
