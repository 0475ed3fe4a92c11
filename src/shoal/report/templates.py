"""Loading of page templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from shoal.report.numbers import percent, significant, whole


def load_template(name: str, filters: Mapping[str, Callable[..., str | list[str] | float | None]]) -> Any:
    """Return a template with the common filters and additional ones."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("shoal.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"whole": whole, "significant": significant, "percent": percent, **filters}
    return environment.get_template(name)


@cache
def style_sheet() -> str:
    """Return the style sheet of all pages."""
    return files("shoal.report").joinpath("page.css").read_text(encoding="utf-8")
