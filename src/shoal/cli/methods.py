"""`shoal methods`: describe the methods."""

from __future__ import annotations

from typing import Any

from shoal.cli.console import Json, Quiet, print_json, reporting


def methods(as_json: Json = False, quiet: Quiet = False) -> None:
    """List the clustering methods: paper, idea, cost, guarantees, options."""
    with reporting(as_json, quiet):
        from shoal.cluster.registry import METHODS

        described = [_described(info) for info in METHODS.values()]
        if as_json:
            print_json(described)
        elif not quiet:
            _print_table(described)


def _described(info: Any) -> dict[str, Any]:
    return {
        "name": info.name,
        "paper": info.paper,
        "idea": info.idea,
        "cost": info.cost,
        "guarantees": info.guarantees,
        "options": {name: field.default for name, field in info.options.model_fields.items()},
    }


def _print_table(described: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    for method in described:
        table = Table(show_header=False, title=method["name"], title_justify="left", box=None, padding=(0, 2))
        for key in ("idea", "cost", "guarantees", "paper"):
            table.add_row(key, method[key])
        options = ", ".join(f"{name} = {default!r}" for name, default in method["options"].items())
        table.add_row("options", options or "none")
        Console().print(table)
