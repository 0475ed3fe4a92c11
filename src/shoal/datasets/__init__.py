"""Synthetic example tables."""

from shoal.datasets.census import CENSUS_TREES, census, census_recipe, write_census
from shoal.datasets.hospital import (
    DIAGNOSIS_TREE,
    HOSPITAL_FILES,
    PROFESSION_TREE,
    hospital,
    is_hospital_folder,
    write_hospital,
)

__all__ = [
    "CENSUS_TREES", "DIAGNOSIS_TREE", "HOSPITAL_FILES", "PROFESSION_TREE", "census", "census_recipe",
    "hospital", "is_hospital_folder", "write_census", "write_hospital",
]  # fmt: skip
