"""Loading of page templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from shoal.report.numbers import percent, significant, whole

_TICKED = re.compile(r"`([^`]+)`")


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
    environment.filters |= {"whole": whole, "significant": significant, "percent": percent, "code": _code}
    environment.filters |= filters
    return environment.get_template(name)


def _code(text: str) -> str:
    """Show what is in backticks as code."""
    from markupsafe import Markup, escape

    return Markup(_TICKED.sub(r"<code>\1</code>", str(escape(text))))


@cache
def style_sheet() -> str:
    """Return the style sheet of all pages."""
    return files("shoal.report").joinpath("page.css").read_text(encoding="utf-8")
