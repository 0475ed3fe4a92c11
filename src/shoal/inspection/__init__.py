"""Look at a table before anything is decided: kinds, identifiers, what singles people out, a draft."""

from shoal.inspection.inspecting import inspect
from shoal.inspection.inspection import InspectedColumn, Inspection

__all__ = ["InspectedColumn", "Inspection", "inspect"]
