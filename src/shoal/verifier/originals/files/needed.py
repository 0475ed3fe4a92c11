"""Libraries of extras."""

from __future__ import annotations

import importlib
from typing import Any

from shoal.errors import RecipeError


def needed(name: str, extra: str) -> Any:
    """Import a library that reads originals; without it, say how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        message = f"Reading the original for verification needs the library {name}, which is not installed."
        raise RecipeError("recipe.not_available", message, f'pip install "shoal[{extra}]"') from None
