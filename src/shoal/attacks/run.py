"""Run every attack that applies to a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.attacks.inference import infer
from shoal.attacks.intersection import intersect
from shoal.attacks.linkage import by_classes, by_containment, by_kept, by_people, by_subsets
from shoal.attacks.minimality import by_ends, by_goals
from shoal.attacks.position import by_extra_columns, by_order
from shoal.attacks.recovery import downcode, recover, who_is_inside
from shoal.attacks.result import GROUPS, Attacks, Result
from shoal.attacks.tables import Tables, read_tables, read_two_tables
from shoal.errors import DataError, RecipeError
from shoal.recipe import ANATOMY_COUNT, ANATOMY_GROUP, MANIFEST_SUFFIX, Recipe, Shape, omitted_faults
from shoal.verifier.header import released_columns
from shoal.verifier.originals.original import existing_original, load_original
from shoal.verifier.reading.load import Loaded, existing, load, load_arrow, load_parts
from shoal.verifier.reading.parts import list_parts
from shoal.verifier.reading.session import Session, UnreadableError, session
from shoal.verifier.several_views import promised_views, view_files

if TYPE_CHECKING:
    import pyarrow as pa

Tick = Callable[[float], None]


def attack(
    original: str | Path | pa.Table,
    released: str | Path | pa.Table | Sequence[pa.Table],
    recipe: Recipe,
    *,
    earlier: Sequence[str | Path] = (),
    tick: Tick | None = None,
) -> Attacks:
    """Attack a release and compare with what was promised.

    Parameters
    ----------
    original : str, Path or pyarrow.Table
        The raw table.
    released : str, Path, pyarrow.Table or sequence of pyarrow.Table
        The release: a file or folder, or the name that several views or two tables share, as in `verify`.
    recipe : Recipe
        What was promised; the kinds and hierarchies of the columns.
    earlier : sequence of str or Path
        Earlier releases about the same people; each may have its manifest next to it.
    tick : callable, optional
        Called with the completed share.

    Raises
    ------
    DataError
        When a file cannot be read, or labels have no meaning for the raw table.
    """
    if faults := omitted_faults(recipe, quasi=True):
        raise RecipeError.from_faults(faults)
    raw = existing_original(original, recipe.input)
    tables, before = _read(raw, released, recipe), _read_earlier(raw, earlier, recipe)
    results, notes = _attack_all(tables, tick or (lambda share: None))
    if len(tables) + len(before) > 1:
        found, more = intersect(tables[0], [*tables[1:], *before])
        results, notes = [*results, *found], [*notes, *more]
    ordered = sorted(results, key=lambda result: GROUPS.index(result.group))
    return Attacks(tuple(ordered), tuple(notes))


def _attack_all(tables: Sequence[Tables], tick: Tick) -> tuple[list[Result], list[str]]:
    """Attack each table of a release; results of several views carry the number of the view."""
    results: list[Result] = []
    notes: list[str] = []
    for number, one in enumerate(tables):
        attacks = _attacks_on(one)
        for at, run in enumerate(attacks):
            tick((number + at / len(attacks)) / len(tables))
            found = run()
            if len(tables) > 1:
                found = [_of_view(result, number + 1) for result in found]
            results += found
        notes += _notes(one)
    return results, list(dict.fromkeys(notes))


def _of_view(result: Result, number: int) -> Result:
    message = f"View {number}: {result.message}"
    return replace(result, message=message, details={**result.details, "view": number})


def _attacks_on(tables: Tables) -> list[Callable[[], list[Result]]]:
    """List the attacks that apply to the shape of a release, cheapest first."""
    shape = tables.recipe.shape
    attacks: list[Callable[[], list[Result]]] = []
    if shape.has_classes:
        attacks.append(lambda: by_classes(tables))
    attacks.append(lambda: by_extra_columns(tables))
    attacks.append(lambda: by_order(tables))
    attacks.append(lambda: infer(tables))
    if tables.has_boxes:
        attacks.append(lambda: by_containment(tables))
        attacks.append(lambda: by_kept(tables))
        attacks.append(lambda: by_people(tables))
        attacks.append(lambda: by_goals(tables))
        attacks.append(lambda: _by_boxes(tables))
        attacks.append(lambda: by_subsets(tables))
    return attacks


def _by_boxes(tables: Tables) -> list[Result]:
    """Run the attacks that look at everybody inside a box."""
    if tables.recipe.shape is Shape.TWO_TABLES:
        return []
    inside = who_is_inside(tables)
    return [*by_ends(tables, inside), *recover(tables, inside), *downcode(tables, inside)]


def _notes(tables: Tables) -> list[str]:
    notes = []
    if not tables.has_boxes:
        notes.append("Typical values have no boxes: attacked by equal labels only.")
    if tables.recipe.shape is Shape.BOXES:
        notes.append("A box for each row: there are no classes to attack, only boxes.")
    if not tables.sensitive:
        notes.append("No sensitive column: nothing to infer.")
    return notes


# Reading.


def _read(
    raw: Path | pa.Table, released: str | Path | pa.Table | Sequence[pa.Table], recipe: Recipe
) -> list[Tables]:
    """Read all tables of a release."""
    if recipe.shape is Shape.TWO_TABLES:
        return [_read_pair(raw, released, recipe)]
    if recipe.shape is Shape.VIEWS:
        recipes = promised_views(recipe)
        if isinstance(released, (str, Path)):
            released = view_files(released, len(recipes))
        return [_read_one(raw, view, part) for view, part in zip(released, recipes, strict=True)]
    return [_read_one(raw, released, recipe)]


def _read_one(raw: Path | pa.Table, released: str | Path | pa.Table, recipe: Recipe) -> Tables:
    release = existing(released, folder=True) if isinstance(released, (str, Path)) else released
    with session(raw, release, in_order=True) as opened:
        original = load_original(opened, raw, recipe)
        return read_tables(opened, original, _loaded(opened, release, recipe), recipe)


def _loaded(opened: Session, release: Path | pa.Table, recipe: Recipe) -> Loaded:
    """Load a release; one that cannot be read is an error."""
    try:
        if not isinstance(release, Path):
            return load_arrow(opened, release, "released")
        expected, safe = released_columns(recipe), recipe.output.spreadsheet_safe
        if release.is_dir():
            return load_parts(opened, list_parts(release).files, expected, spreadsheet_safe=safe)
        return load(opened, release, expected, spreadsheet_safe=safe)
    except UnreadableError as error:
        reason = error.message
    which = f"The release {release}" if isinstance(release, Path) else "The release"
    raise DataError("data.unreadable", f"{which} cannot be read. {reason}", "run shoal verify on it first")


def _read_pair(raw: Path | pa.Table, released: object, recipe: Recipe) -> Tables:
    """Read the two tables of Anatomy."""
    if isinstance(released, (str, Path)):
        named = Path(released)
        pair = [
            existing(named.with_name(f"{named.stem}.{end}{named.suffix}")) for end in ("quasi", "sensitive")
        ]
    else:
        pair = list(released)  # type: ignore[call-overload]
    with session(raw, *pair, in_order=True) as opened:
        original = load_original(opened, raw, recipe)
        loaded: list[Loaded] = []
        for table, names in zip(
            pair, (recipe.named("quasi", "keep"), recipe.named("sensitive")), strict=True
        ):
            each = _loaded_as(opened, table, [*names, ANATOMY_GROUP, ANATOMY_COUNT], recipe)
            name = f"released_{len(loaded)}"
            opened.rows(f"CREATE TEMP TABLE {name} AS FROM {each.table}")
            loaded.append(replace(each, table=name))
        return read_two_tables(opened, original, loaded[0], loaded[1], recipe)


def _loaded_as(opened: Session, table: Path | pa.Table, expected: Sequence[str], recipe: Recipe) -> Loaded:
    try:
        if not isinstance(table, Path):
            return load_arrow(opened, table, "released")
        return load(opened, table, expected, spreadsheet_safe=recipe.output.spreadsheet_safe)
    except UnreadableError as error:
        reason = error.message
    raise DataError(
        "data.unreadable", f"The release cannot be read. {reason}", "run shoal verify on it first"
    )


def _read_earlier(raw: Path | pa.Table, earlier: Sequence[str | Path], recipe: Recipe) -> list[Tables]:
    found: list[Tables] = []
    for path in earlier:
        then = earlier_recipe(Path(path), recipe)
        if then.shape is Shape.TWO_TABLES:
            message = "An earlier release in two tables cannot be intersected."
            raise RecipeError("recipe.not_available", message, "leave it out of --earlier")
        found += _read(raw, path, then)
    return found


def earlier_recipe(path: Path, now: Recipe) -> Recipe:
    """Return the recipe in the manifest next to an earlier release; without one, that of the release.

    How the original is read is taken from the present recipe, and also the order and the hierarchy of a
    column that a manifest leaves out because they list values.
    """
    manifest = path.with_name(path.name + MANIFEST_SUFFIX)
    if not manifest.is_file():
        return now
    then = Recipe.load(manifest)
    columns = {}
    for name, column in then.columns.items():
        known = now.columns.get(name)
        lacking = {key: getattr(known, key) for key in column.lacking} if known is not None else {}
        if isinstance(column.hierarchy, str) and known is not None and known.hierarchy is not None:
            lacking["hierarchy"] = known.hierarchy
        columns[name] = column.model_copy(update=lacking)
    merged = then.model_copy(update={"columns": columns, "input": now.input})
    merged._base = now._base
    if faults := omitted_faults(merged, quasi=True):
        raise RecipeError.from_faults(faults)
    return merged
