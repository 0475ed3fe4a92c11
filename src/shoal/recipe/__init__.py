"""Recipes: columns, goals, method and output, as TOML or as Python values.

A recipe is validated as a whole: all faults are reported at once, each with a hint.
"""

from shoal.recipe.addresses import (
    Address,
    Location,
    file_of_table,
    is_address,
    joined_name,
    located,
    split_name,
)
from shoal.recipe.faults import (
    ANATOMY_COUNT,
    ANATOMY_GROUP,
    GRID_HINT,
    column_faults,
    did_you_mean,
    omitted_faults,
)
from shoal.recipe.protection import Noise, Pram, Secrets, code_kind
from shoal.recipe.recipe import MANIFEST_SUFFIX, Recipe, roles_of, to_toml
from shoal.recipe.sections import DAY_ORDERS, EXTENSIONS, About, Column, Input, Method, Output, Privacy
from shoal.recipe.shape import Shape
from shoal.recipe.shared import shareable, shared_digest
from shoal.recipe.trees import induced_file, is_file, is_induced

__all__ = [
    "ANATOMY_COUNT",
    "ANATOMY_GROUP",
    "DAY_ORDERS",
    "EXTENSIONS",
    "GRID_HINT",
    "MANIFEST_SUFFIX",
    "About",
    "Address",
    "Column",
    "Input",
    "Location",
    "Method",
    "Noise",
    "Output",
    "Pram",
    "Privacy",
    "Recipe",
    "Secrets",
    "Shape",
    "code_kind",
    "column_faults",
    "did_you_mean",
    "file_of_table",
    "induced_file",
    "is_address",
    "is_file",
    "is_induced",
    "joined_name",
    "located",
    "omitted_faults",
    "roles_of",
    "shareable",
    "shared_digest",
    "split_name",
    "to_toml",
]
