"""shoal publishes tables about people safely: every released row hides among at least k that look alike."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shoal.errors import PrivacyWarning, ShoalError

if TYPE_CHECKING:
    from shoal import cluster
    from shoal.anonymize import anonymize, encode
    from shoal.compare import compare
    from shoal.extend import Extension, extend
    from shoal.recipe import Recipe
    from shoal.release import Release
    from shoal.verify import Verdict, verify

    __version__: str

__all__ = [
    "Extension", "PrivacyWarning", "Recipe", "Release", "ShoalError", "Verdict", "anonymize", "cluster",
    "compare", "encode", "extend", "verify",
]  # fmt: skip

# Loaded when first used, so that `import shoal` and `shoal --help` are quick.
_LAZY = {
    "anonymize": "shoal.anonymize",
    "encode": "shoal.anonymize",
    "compare": "shoal.compare",
    "Extension": "shoal.extend",
    "extend": "shoal.extend",
    "Recipe": "shoal.recipe",
    "Release": "shoal.release",
    "Verdict": "shoal.verify",
    "verify": "shoal.verify",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("shoal")
    if name == "cluster":
        return import_module("shoal.cluster")
    if name not in _LAZY:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


class _Package(ModuleType):
    """Keeps `shoal.anonymize` and others functions although modules bear the same names."""

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing a submodule binds it in its package; for these that would hide the function.
        if name not in _LAZY or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
