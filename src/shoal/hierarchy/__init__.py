"""Hierarchies: the trees along which categories, numbers and dates are generalized."""

from shoal.hierarchy.build import dates, default_intervals, flat, intervals, number_text, prefix
from shoal.hierarchy.files import from_nested, load, read_arx, read_nested, to_nested, write_arx
from shoal.hierarchy.tree import Tree

__all__ = [
    "Tree",
    "dates",
    "default_intervals",
    "flat",
    "from_nested",
    "intervals",
    "load",
    "number_text",
    "prefix",
    "read_arx",
    "read_nested",
    "to_nested",
    "write_arx",
]
