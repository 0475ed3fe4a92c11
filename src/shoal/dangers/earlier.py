"""Earlier releases of the same columns in the folder that a release is written to."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from shoal.dangers.danger import Danger
from shoal.recipe import Recipe
from shoal.table.write import manifest_path

_SAME = 0.5  # share of the smaller recipe's columns from which two releases are taken to be of one table


def earlier(
    target: Path,
    recipe: Recipe,
    checked: Collection[Path],
    *,
    extends: str | Mapping[str, str] | None,
    accepted: bool,
) -> list[Danger]:
    """Find manifests next to `target` of other releases that are probably about the same people.

    Parameters
    ----------
    target : Path
        Where the release is written; a release that it replaces does not count.
    recipe : Recipe
        What is released.
    checked : collection of Path
        Manifests of releases with which this one was checked.
    extends : str, mapping of str to str, or None
        The digest of the release that this one continues; those of its views by title.
    accepted : bool
        Whether the risk of several tables about the same people is accepted.
    """
    own = {path.resolve() for path in (manifest_path(target), *checked)}
    names = [
        path.name
        for path in sorted(target.parent.glob("*.manifest.json"))
        if path.resolve() not in own and _is_alike(_read(path), recipe, extends)
    ]
    if not names:
        return []
    releases = "another release" if len(names) == 1 else f"{len(names)} other releases"
    message = (
        f"The folder has {releases} with the same quasi columns ({', '.join(names)}): tables about the same "
        "people reveal more together than separately, and these were not checked with this one. Name them "
        "with --also, or withdraw them."
    )
    return [Danger("danger.earlier", (), message, {"releases": len(names)}, accepted=accepted)]


def _is_alike(manifest: Mapping[str, Any], recipe: Recipe, extends: str | Mapping[str, str] | None) -> bool:
    columns = _table(_table(manifest.get("recipe")).get("columns"))
    quasi = {name for name, column in columns.items() if _table(column).get("role") == "quasi"}
    common = set(columns) & set(recipe.columns)
    release = _table(manifest.get("release"))
    if extends is not None and extends in (release.get("sha256"), release.get("files")):
        return False
    return bool(quasi & set(recipe.quasi)) and len(common) >= _SAME * min(len(columns), len(recipe.columns))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return _table(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return {}  # not one of ours


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
