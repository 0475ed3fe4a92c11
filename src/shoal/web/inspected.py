"""What a project's page shows of its table: the inspection, kept next to the recipe.

Kept is only what `shoal inspect` may show: names, numbers, reasons, and values that at least ten rows have.
"""

from __future__ import annotations

import json
import os
from typing import Any

from pydantic import ValidationError

from shoal.inspection import Inspection
from shoal.inspection.inspection import shortened
from shoal.recipe import Input
from shoal.web.inspections import Inspections
from shoal.web.projects import Project

_FILE = "inspection.json"
_FORM = 1  # of what is kept
_LONGEST, _VALUES = 24, 4  # characters of a frequent value, and how many


def inspected(project: Project, inspections: Inspections) -> dict[str, Any]:
    """Return what the page shows of the table; it is inspected only if it has changed since it was kept."""
    sections = project.sections()
    table, given = project.table_of(sections), _input(sections)
    key = _key(project, given)
    kept = _kept(project)
    if kept is not None and kept.get("key") == key:
        found: dict[str, Any] = kept["shown"]
        return found
    shown = _shown(inspections.of(table, given))
    _keep(project, {"key": key, "shown": shown})
    return shown


def _input(sections: dict[str, Any]) -> Input | None:
    try:
        return Input.model_validate(sections.get("input", {}))
    except ValidationError:  # the recipe's fault is shown elsewhere
        return None


def _key(project: Project, given: Input | None) -> list[Any]:
    table = project.table()
    try:
        state = table.stat()
    except OSError:  # reading will say what is wrong
        return []
    how = given.model_dump_json(exclude={"path"}) if given else ""
    return [_FORM, str(table), state.st_size, state.st_mtime_ns, how]


def _kept(project: Project) -> dict[str, Any] | None:
    try:
        found = json.loads(project.inside(project.private.name, _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _keep(project: Project, what: dict[str, Any]) -> None:
    place = project.private / f".{_FILE}.{os.getpid()}"
    try:
        with open(
            os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
        ) as file:
            json.dump(what, file)
        os.replace(place, project.private / _FILE)
    except OSError:  # it is inspected again next time
        place.unlink(missing_ok=True)


def _shown(found: Inspection) -> dict[str, Any]:
    columns = []
    for column in found.columns:
        named = {key: value for key, value in column.to_dict().items() if key != "hierarchy"}
        frequent = [_short(value) for value in column.frequent[:_VALUES]]
        columns.append({**named, "frequent": frequent, "publishes": column.drafted.note})
    return {
        "rows": found.rows,
        "unique": found.unique,
        "columns": columns,
        "combinations": [one.to_dict() for one in found.combinations],
        "dependencies": shortened(found.dependencies),
        "notes": found.notes,
    }


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"
