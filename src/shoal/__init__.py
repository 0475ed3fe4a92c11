"""shoal publishes tables about people safely: every released row hides among at least k that look alike."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.errors import PrivacyWarning, ShoalError

if TYPE_CHECKING:
    from shoal import cluster
    from shoal.inspection import Inspection, inspect
    from shoal.recipe import Recipe
    from shoal.release.release import Release
    from shoal.verifier import Verdict, verify
    from shoal.workflow.anonymize import anonymize, encode
    from shoal.workflow.attack import attack
    from shoal.workflow.compare import compare
    from shoal.workflow.extend import extend
    from shoal.workflow.extension import Extension
    from shoal.workflow.republish import Republication, republish
    from shoal.workflow.risk import risk
    from shoal.workflow.values import values

    __version__: str

__all__ = [
    "Extension", "Inspection", "PrivacyWarning", "Recipe", "Release", "Republication", "ShoalError",
    "Verdict", "anonymize", "attack", "cluster", "compare", "encode", "extend", "inspect", "republish",
    "risk", "values", "verify",
]  # fmt: skip

# Loaded when first used, so that `import shoal` and `shoal --help` are quick.
_HOMES = {
    "anonymize": "shoal.workflow.anonymize",
    "encode": "shoal.workflow.anonymize",
    "attack": "shoal.workflow.attack",
    "compare": "shoal.workflow.compare",
    "Extension": "shoal.workflow.extension",
    "extend": "shoal.workflow.extend",
    "Inspection": "shoal.inspection",
    "inspect": "shoal.inspection",
    "Recipe": "shoal.recipe",
    "Republication": "shoal.workflow.republish",
    "republish": "shoal.workflow.republish",
    "Release": "shoal.release.release",
    "Verdict": "shoal.verifier",
    "values": "shoal.workflow.values",
    "risk": "shoal.workflow.risk",
    "verify": "shoal.verifier",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("shoal")
    if name == "cluster":
        return import_module("shoal.cluster")
    if name not in _HOMES:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
