"""Load an earlier release from its manifest and the files next to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from shoal.composition.linked import Linkable
from shoal.composition.view import View, refuse_unavailable
from shoal.errors import DataError, RecipeError, ShoalError
from shoal.recipe import Recipe, is_file
from shoal.table.frames import series
from shoal.table.read import read_release
from shoal.table.siblings import listed_tables, view_paths, view_titles
from shoal.table.write import sha256

_ENDING = ".manifest.json"


def load_earlier(manifest_path: str | Path, now: Recipe | None = None) -> list[View]:
    """Load an earlier release: one view for each of its files.

    For X.csv.manifest.json the file is X.csv or, for a release of several views, X.1.csv, X.2.csv and
    so on. Each must be exactly the file that the manifest describes.

    Parameters
    ----------
    manifest_path : str or Path
        The manifest.
    now : Recipe, optional
        The recipe of the current table, with which the earlier one is compared.

    Raises
    ------
    DataError
        `data.unreadable` when the manifest or a file cannot be read, or the file is a different one.
    RecipeError
        `recipe.not_available` for a release without classes: by nh or anatomy, or of typical values.
    """
    path = Path(manifest_path)
    manifest = _read_manifest(path)
    then = _recipe_of(manifest, path)
    refuse_unavailable(then, _text(_table(manifest.get("method")).get("name")))
    views = []
    for file, digest, quasi in _files(path, _table(manifest.get("release")), then):
        _check_digest(file, digest)
        released = read_release(file, spreadsheet_safe=then.output.spreadsheet_safe)
        lacking = [name for name in quasi if not {name, f"{name}_low"} & set(released.columns)]
        if lacking:
            listed = ", ".join(f"`{name}`" for name in lacking)
            raise _unreadable(file, f"it has no column {listed}, which its manifest names as quasi")
        views.append(View.earlier(released, quasi, then, now))
    return views


def linkable_earlier(manifest_path: str | Path) -> list[Linkable]:
    """Return the pseudonyms of an earlier release with the class of each row, for each column of them."""
    path = Path(manifest_path)
    then = earlier_recipe(path)
    if not then.pseudonyms or len(then.views) > 1:
        return []
    file = path.with_name(path.name.removesuffix(_ENDING))
    released = read_release(file, spreadsheet_safe=then.output.spreadsheet_safe)
    others = {*then.named("sensitive", "keep"), *then.pseudonyms}
    # Numbers as names: Polars would take a column called "*" or "^a.*$" for a pattern.
    quasi = [name for name in released.columns if name not in others]
    labels = pl.DataFrame({str(at): series(released, name) for at, name in enumerate(quasi)})
    classes = labels.select(pl.struct(pl.all()).rank("dense")).to_series()
    return [Linkable(series(released, name), classes) for name in then.pseudonyms if name in released.columns]


def earlier_recipe(manifest_path: str | Path) -> Recipe:
    """Return the recipe of an earlier release; its files are looked for next to the manifest."""
    path = Path(manifest_path)
    then = _recipe_of(_read_manifest(path), path).beside(str(path).removesuffix(_ENDING))
    columns = {
        name: column.model_copy(update={"hierarchy": str(path.parent.absolute() / column.hierarchy)})
        if isinstance(column.hierarchy, str) and is_file(column.hierarchy)
        else column
        for name, column in then.columns.items()
    }
    return then.model_copy(update={"columns": columns})


def earlier_files(manifests: Iterable[str | Path]) -> dict[str, Path]:
    """Return the files that are read with these manifests, by description.

    Faults of a manifest are reported when it is loaded, not here.
    """
    files = {}
    for number, manifest in enumerate(map(Path, manifests), 1):
        what = f"earlier release {number}"
        whole = Path(str(manifest).removesuffix(_ENDING))
        files[f"the manifest of {what}"] = manifest.absolute()
        files[what] = whole.absolute()
        tables = {f"table {at} of {what}": file for at, file in enumerate(listed_tables(whole), 1)}
        with suppress(ShoalError):
            recipe = earlier_recipe(manifest).files
            tables |= {f"{title} of {what}": file for title, file in recipe.items()}
        files |= {title: file.absolute() for title, file in tables.items()}
    return files


def _read_manifest(path: Path) -> dict[str, Any]:
    if not path.name.endswith(_ENDING):
        raise _unreadable(path, f"the name of a manifest ends with {_ENDING}")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable(path, error.strerror or "it cannot be opened") from None
    except (ValueError, RecursionError):  # their messages quote the file
        raise _unreadable(path, "it is not JSON in UTF-8") from None
    if not isinstance(manifest, dict):
        raise _unreadable(path, "it is not a manifest")
    return manifest


def _recipe_of(manifest: Mapping[str, Any], path: Path) -> Recipe:
    sections = {name: part for name, part in _table(manifest.get("recipe")).items() if name != "sha256"}
    try:
        return Recipe.from_dict(sections)
    except RecipeError:
        raise _unreadable(path, "this version of shoal cannot read its recipe") from None


def _files(path: Path, release: Mapping[str, Any], then: Recipe) -> list[tuple[Path, str, list[str]]]:
    """Return each released file, its digest and its quasi columns."""
    whole = path.with_name(path.name.removesuffix(_ENDING))
    if isinstance(release.get("sha256"), str):
        return [(whole, release["sha256"], then.quasi)]
    digests = _table(release.get("files"))
    titles = view_titles(len(then.views))
    if sorted(digests) != sorted(titles):
        raise _unreadable(path, f"it does not name the {len(titles)} files of its views")
    files = view_paths(whole, len(titles))
    return [
        (file, str(digests[title]), quasi)
        for file, title, quasi in zip(files, titles, then.views, strict=True)
    ]


def _check_digest(file: Path, digest: str) -> None:
    try:
        found = sha256(file)
    except (OSError, ValueError) as error:
        raise _unreadable(file, getattr(error, "strerror", None) or "it cannot be opened") from None
    if found != digest:
        raise _unreadable(file, "it is not the file that its manifest describes: the digests differ")


def _unreadable(path: Path, why: str) -> DataError:
    message = f"The earlier release {path} cannot be read: {why}."
    hint = "give the manifest as shoal wrote it, with the released file next to it"
    return DataError("data.unreadable", message, hint)


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
