"""Libraries that come with an extra, because most users do not need them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shoal.errors import RecipeError


def library(name: str, extra: str, what: str) -> Any:
    """Import a library; without it, say how to install it."""
    try:
        return import_module(name)
    except ImportError:
        message = f"{what} needs the library {name.replace('_', '-')}, which is not installed."
        raise RecipeError("recipe.not_available", message, f'pip install "shoal[{extra}]"') from None
