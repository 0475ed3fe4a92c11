"""What the commands print about privacy goals and about tables that lie beside each other."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Goals = Annotated[
    list[str] | None,
    typer.Option("--goal", metavar="GOAL", help='Besides k, for example "l-diversity column=disease l=3".'),
]


def goal_line(goal: dict[str, Any]) -> str:
    """Say what was asked of a goal and what is achieved."""
    column = goal["column"]
    names = [column] if isinstance(column, str) else column or []
    about = f" of {' and '.join(f'`{name}`' for name in names)}" if names else ""
    variant = f" ({goal['variant']})" if goal.get("variant") else ""
    people = " (counting people)" if goal.get("counts") == "people" else ""
    asked, achieved = _short(goal["asked"]), _short(goal["achieved"])
    return f"{goal['type']}{variant}{about}: asked {asked}, achieved {achieved}{people}"


def _short(number: float | None) -> str:
    if number is None:
        return "no finite number"
    return f"{number:.4g}" if isinstance(number, float) else str(number)


def composition_lines(found: dict[str, Any] | None) -> list[str]:
    """Say what several tables give away together, as far as that was looked at."""
    if found is None:
        return []
    lines = [f"together with {found['views'] - 1} more tables: {found['verdict']}"]
    if not found["holds"]:
        lines.append(
            f"ACCEPTED although {found['refused_rows']} of {found['rows']} rows are below the goals: fewer "
            f"than k = {found['k']} values left over for {found['below_m']}, {found['below_j']} linked from "
            "table to table"
        )
    return lines
