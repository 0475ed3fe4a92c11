"""Validation of recipes: all faults are collected before any is reported."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from shoal.errors import Fault
from shoal.recipe.database_faults import database_faults
from shoal.recipe.goals import TYPES, ValueRange
from shoal.recipe.options import METHODS, Options, shape_of
from shoal.recipe.protection import Noise, Pram, Secrets, protection_faults
from shoal.recipe.sections import (
    LONGEST_TEXT,
    About,
    Column,
    Engine,
    Input,
    Method,
    Output,
    Privacy,
    Sections,
)
from shoal.recipe.shape import Shape
from shoal.recipe.trees import INDUCE, is_induced
from shoal.wording import accept_setting, in_recipe, name_of, no_header, setting

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe

GRID_HINT = "for example grid = 5 (dates: in days, months or years, as the column)"
ANATOMY_GROUP, ANATOMY_COUNT = "group", "count"  # columns that Anatomy adds to its two tables


def column_faults(recipe: Recipe, present: Sequence[str]) -> list[Fault]:
    """Compare the recipe's columns with those of a table; return all faults."""
    named = [*recipe.columns, *filter(None, [getattr(recipe.options, "label", None)])]
    unknown = [name for name in dict.fromkeys(named) if name not in present]
    if recipe.columns and not set(recipe.columns) & set(present):
        return [_no_column_known(recipe, present)]
    faults = [_unknown(name, present) for name in unknown]
    unnamed = [name for name in present if name not in recipe.columns]
    if unnamed and recipe.default_role is None:
        listed = ", ".join(f"`{name}`" for name in unnamed)
        message = f"{len(unnamed)} of {len(present)} columns have no role: {listed}."
        hint = f"give each of them a role (drop omits it), or set {setting('columns', 'default', 'drop')}"
        faults.append(Fault("recipe.unnamed_column", message, hint))
    return faults


def _no_column_known(recipe: Recipe, present: Sequence[str]) -> Fault:
    """Report that no column matches. The header is not shown: without a header line it is somebody's row."""
    listed = ", ".join(f"`{name}`" for name in recipe.columns)
    message = f"The table has {len(present)} columns, but none of those named{in_recipe()}: {listed}."
    close = [did_you_mean(name, present) for name in recipe.columns]
    hint = f"if the table has no header line, set {no_header('...,...')}"
    return Fault("recipe.unknown_column", message, " ".join([*filter(None, close), hint]))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "did you mean `x`?" for the closest of `known`, or an empty string."""
    known = list(known)
    folded = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f"did you mean `{folded[close[0]]}`?" if close else ""


def _unknown(name: str, present: Sequence[str]) -> Fault:
    listed = ", ".join(present)
    hint = " ".join(filter(None, [did_you_mean(name, present), f"columns present: {listed}"]))
    return Fault("recipe.unknown_column", f"The table has no column `{name}`.", hint)


def schema_fault(error: Any) -> Fault:
    """Rephrase a pydantic error, without the offending value."""
    parts = [str(part) for part in error["loc"] if not _is_union_tag(part)]
    in_goal = parts[:2] == ["privacy", "goal"] and len(parts) > 2
    if in_goal:
        return _goal_fault(error, int(parts[2]), [part for part in parts[3:] if part not in TYPES])
    if parts[0] == "columns" and parts[2:3] == ["accept"]:
        parts = parts[:3]  # not the position in the list or table
    place = ".".join(parts)
    if error["type"] == "extra_forbidden":
        *above, key = parts
        where = f" in [{'.'.join(above)}]" if above else ""
        hint = did_you_mean(key, _keys_at(above)) or "see the recipe reference for valid keys"
        return Fault("recipe.invalid", f"Unknown key `{key}`{where} of the recipe.", hint)
    section, name = ".".join(parts[:-1]), name_of(".".join(parts[:-1]), parts[-1])
    if error["type"] == "missing":
        hint = f"add {setting(section, 'k', '5')}" if place == "privacy.k" else f"add {name}"
        if section.startswith("columns."):  # a flag describes a column that has no role
            hint = "give each column one role"
        return Fault("recipe.invalid", f"{name} is missing{in_recipe()}.", hint)
    return Fault("recipe.invalid", f"{name}{in_recipe()} should be {_should_be(error)}.", _correction(place))


def _correction(place: str) -> str:
    if place == "privacy.missing":  # easily confused with the key of the same name in [input]
        return f"to list texts that mean missing, set {setting('input', 'missing', 'NA,?')}"
    if place.startswith("columns.") and place.endswith(".accept"):
        column = place.removeprefix("columns.").removesuffix(".accept")
        return f"for example {accept_setting(column, {'unique': 'REASON'})}"
    return "correct the value"


def _goal_fault(error: Any, number: int, key: Sequence[str]) -> Fault:
    """Describe a fault in one of the goals, counted from 1."""
    which = f"privacy goal {number + 1}"
    if error["type"].startswith("union_tag"):
        return Fault(
            "recipe.invalid",
            f"The type of {which} is unknown.",
            f"goals: {', '.join(TYPES)}",
        )
    if error["type"] == "missing":
        return Fault("recipe.invalid", f"`{key[0]}` is missing from {which}.", f"add `{key[0]}`")
    if error["type"] == "extra_forbidden":
        return Fault(
            "recipe.invalid", f"Unknown key `{key[0]}` in {which}.", "see the recipe reference for valid keys"
        )
    if error["type"] == "value_error":
        what = error["msg"].removeprefix("Value error, ")
        return Fault("recipe.invalid", f"In {which} {what}.", "correct the goal")
    what = f"`{key[0]}` of {which}" if key else f"{which[0].upper()}{which[1:]}"
    return Fault("recipe.invalid", f"{what} should be {_should_be(error)}.", "correct the value")


def _should_be(error: Any) -> str:
    """Return what a value should be, as pydantic words it."""
    found: str = error["msg"].removeprefix("Input should be ").rstrip(".")
    if error["type"] in ("string_too_short", "string_too_long"):
        return f"a text of 1 to {error['ctx'].get('max_length', LONGEST_TEXT):,} characters"
    if error["type"] == "model_type":  # a number stands for the first key of a table
        return "a number or a table"
    return "a list with at least one name" if error["type"] == "too_short" else found


def _is_union_tag(part: object) -> bool:
    return isinstance(part, str) and (
        part in {"str", "int", "float"} or part.startswith(("dict[", "literal[", "list["))
    )


def _keys_at(above: Sequence[str]) -> list[str]:
    """Return the valid keys of a recipe section."""
    models: dict[str, type[BaseModel]] = {
        "about": About, "input": Input, "privacy": Privacy, "method": Method, "engine": Engine,
        "output": Output, "secrets": Secrets,
    }  # fmt: skip
    if not above:
        return list(Sections.model_fields)
    tables: dict[str, type[BaseModel]] = {"pram": Pram, "noise": Noise}
    model = tables.get(above[-1], Column) if above[0] == "columns" else models.get(above[0])
    return list(model.model_fields) if model else []


def own_faults(recipe: Recipe) -> list[Fault]:
    """Check what the schema cannot express."""
    faults = []
    if not recipe.quasi and recipe.default_role is None and not recipe.columns:
        hint = "give every column a role" + (": --quasi, --sensitive and so on" if not in_recipe() else "")
        faults.append(Fault("recipe.no_quasi", "No column has a role.", hint))
    elif not recipe.quasi:
        hint = "name the columns that an outsider may know about a person"
        faults.append(Fault("recipe.no_quasi", "No column has the role quasi.", hint))
    for name, column in recipe.columns.items():
        faults += _column_faults(name, column)
    faults += _induced_faults(recipe)
    faults += _output_faults(recipe)
    faults += _view_faults(recipe)
    faults += _goal_faults(recipe)
    faults += _subject_faults(recipe)
    faults += _method_faults(recipe.method)
    faults += _two_tables_faults(recipe) if recipe.shape is Shape.TWO_TABLES else []
    faults += _input_faults(recipe.input)
    faults += database_faults(recipe)
    faults += _engine_faults(recipe)
    faults += protection_faults(recipe)
    faults += _unavailable(recipe)
    return faults


def omitted_faults(recipe: Recipe, *, quasi: bool) -> list[Fault]:
    """Report the values that are needed but omitted, because the recipe comes from a manifest.

    A goal needs them for a column whose distances it measures. With `quasi` they are also needed for the
    quasi columns, to encode them or to determine what a published value covers.
    """
    names = [goal.columns[0] for goal in recipe.privacy.goal if getattr(goal, "distance", "equal") != "equal"]
    return [
        Fault(
            "recipe.omitted",
            f"The {number} values of the {key} of column `{name}` are needed, but a manifest omits them.",
            f"use the original recipe, or add {name_of(f'columns.{name}', key)}",
        )
        for name in dict.fromkeys([*(recipe.quasi if quasi else []), *names])
        for key, number in recipe.columns[name].lacking.items()
    ]


def _column_faults(name: str, column: Column) -> list[Fault]:
    faults = []
    if column.kind == "ordinal" and not column.order and "order" not in column.lacking:
        message = f"Column `{name}` is ordinal but has no order."
        hint = f"list its values from low to high: {setting(f'columns.{name}', 'order', '...,...')}"
        faults.append(Fault("recipe.invalid", message, hint))
    if column.order and column.kind != "ordinal":
        message = f"Column `{name}` has an order but is not ordinal."
        faults.append(
            Fault("recipe.invalid", message, f"add {setting(f'columns.{name}', 'kind', 'ordinal')}")
        )
    if column.order and len(set(column.order)) < len(column.order):
        repeats = len(column.order) - len(set(column.order))
        message = f"The order of column `{name}` repeats {repeats} values."
        faults.append(Fault("recipe.invalid", message, "list each value once"))
    return faults


def _output_faults(recipe: Recipe) -> list[Fault]:
    """Check that the columns and the method fit the output."""
    faults = []
    if recipe.shape is Shape.BOXES and recipe.output.values == "microaggregate":
        message = "Method `nh` publishes a box for each row and cannot publish typical values."
        faults.append(Fault("recipe.invalid", message, 'set values = "generalize", or choose another method'))
    for name in recipe.quasi:
        column = recipe.columns[name]
        has_tree = column.hierarchy is not None or "hierarchy" in column.lacking
        needs_grid = column.kind in ("numeric", "ordinal", "date") and not has_tree
        if recipe.output.bounds == "snapped" and needs_grid and column.grid is None:
            message = f"Column `{name}` has no grid for its bounds to snap to."
            faults.append(Fault("recipe.invalid", message, GRID_HINT))
        ends = [end for end in (f"{name}_low", f"{name}_high") if end in recipe.columns]
        if recipe.output.bounds_as == "columns" and ends:
            message = f"Column `{ends[0]}` would be written twice: as itself and as a bound of `{name}`."
            faults.append(Fault("recipe.invalid", message, "rename the column in the input"))
    return faults


def _method_faults(method: Method) -> list[Fault]:
    if method.name not in METHODS:
        hint = did_you_mean(method.name, METHODS) or f"methods: {', '.join(METHODS)}"
        return [Fault("recipe.invalid", "There is no method with this name.", hint)]
    schema = METHODS[method.name]
    try:
        schema.model_validate(method.options)
    except ValidationError as error:
        return [_option_fault(method.name, schema, e) for e in error.errors()]
    return []


def _two_tables_faults(recipe: Recipe) -> list[Fault]:
    """Check what a release in two tables requires, and refuse settings that do not apply to it."""
    faults = []
    sensitive = recipe.named("sensitive")
    if len(sensitive) != 1:
        message = f"Method `anatomy` requires exactly one sensitive column, not {len(sensitive)}."
        faults.append(Fault("recipe.invalid", message, "give one column the role sensitive, drop the others"))
    written = {ANATOMY_GROUP: recipe.named("quasi", "sensitive", "keep"), ANATOMY_COUNT: sensitive}
    for name, columns in written.items():
        if name in columns:
            message = f"Column `{name}` would be written twice: method `anatomy` adds a column of that name."
            faults.append(Fault("recipe.invalid", message, "rename the column in the input"))
    for key in ("values", "bounds", "bounds_as", "max_set"):
        if getattr(recipe.output, key) != Output.model_fields[key].default:
            message = f"Method `anatomy` publishes quasi values unchanged: `output.{key}` has no effect."
            faults.append(Fault("recipe.invalid", message, "remove it, or choose another method"))
    return faults


def _option_fault(method: str, schema: type[Options], error: Any) -> Fault:
    key = str(error["loc"][0])
    known = list(schema.model_fields)
    if error["type"] == "extra_forbidden":
        listed = f"options: {', '.join(known)}" if known else "it has no options"
        message = f"Method `{method}` has no option `{key}`."
        return Fault("recipe.option", message, " ".join(filter(None, [listed, did_you_mean(key, known)])))
    what = error["msg"].removeprefix("Input should be ").rstrip(".")
    return Fault(
        "recipe.option", f"Option `{key}` of method `{method}` should be {what}.", "correct the value"
    )


def _input_faults(given: Input) -> list[Fault]:
    faults = []
    if not given.header and given.names is None:
        message = "The input has no header, and no column names are given."
        faults.append(Fault("recipe.invalid", message, f"add {setting('input', 'names', '...,...')}"))
    if given.header and given.names is not None:
        message = "The input has a header, but column names are given too."
        faults.append(Fault("recipe.invalid", message, "set header = false, or remove the names"))
    return faults


def _view_faults(recipe: Recipe) -> list[Fault]:
    """Check the sets of columns published as views."""
    views = recipe.output.views
    if views == "whole":
        if recipe.output.views_by == "clustering":
            return []
        message = f"{name_of('output', 'views_by')} applies to several views, but there is only one."
        hint = f"define the views ({name_of('output', 'views')}), or remove it"
        return [Fault("recipe.invalid", message, hint)]
    faults = []
    if not shape_of(recipe.method.name).has_classes:
        message = f"Method `{recipe.method.name}` cannot be combined with several views."
        faults.append(Fault("recipe.invalid", message, "choose another method, or publish the whole table"))
    if recipe.privacy.risk_goals:
        faults.append(_not_yet("goals about risk with several views"))
    shares = [g for g in recipe.privacy.column_goals if getattr(g, "variant", "") != "distinct"]
    if recipe.output.views_by == "projection" and recipe.named("subject") and shares:
        # Classes that look alike in a projection are merged there, and may have people in common.
        faults.append(_not_yet("projections with a subject column and goals about shares"))
    return faults + (_listed_view_faults(recipe, views) if isinstance(views, list) else [])


def _listed_view_faults(recipe: Recipe, views: list[list[str]]) -> list[Fault]:
    faults = []
    for number, names in enumerate(views, 1):
        others = [name for name in names if name not in recipe.quasi]
        if others:
            listed = ", ".join(f"`{name}`" for name in others)
            message = f"View {number} names {listed}, which are not quasi columns."
            faults.append(Fault("recipe.invalid", message, f"quasi columns: {', '.join(recipe.quasi)}"))
        if not names or len(set(names)) < len(names):
            what = "names a column twice" if names else "has no columns"
            faults.append(Fault("recipe.invalid", f"View {number} {what}.", "name each quasi column once"))
        if sorted(names) in [sorted(earlier) for earlier in views[: number - 1]]:
            message = f"View {number} has the same columns as an earlier one."
            faults.append(Fault("recipe.invalid", message, "publish each set of columns once"))
    absent = [name for name in recipe.quasi if not any(name in names for names in views)]
    if absent:
        listed = ", ".join(f"`{name}`" for name in absent)
        message = f"No view has {listed}."
        faults.append(
            Fault("recipe.invalid", message, "add each quasi column to a view, or give it the role drop")
        )
    return faults


def _goal_faults(recipe: Recipe) -> list[Fault]:
    """Check that the goals fit the columns and the method."""
    faults = []
    if recipe.privacy.goal and not shape_of(recipe.method.name).has_classes:
        message = f"Method `{recipe.method.name}` cannot be combined with privacy goals."
        faults.append(Fault("recipe.invalid", message, "choose another method, or remove the goals"))
    if recipe.output.values == "microaggregate" and any(g.type == "k-map" for g in recipe.privacy.goal):
        message = "The goal k-map counts the people in ranges, sets and nodes, not around typical values."
        faults.append(Fault("recipe.invalid", message, 'set values = "generalize", or remove the goal'))
    for number, goal in enumerate(recipe.privacy.goal, 1):
        which = f"Privacy goal {number} ({goal.type})"
        for name in goal.columns:
            if name not in recipe.named("sensitive"):
                message = f"{which} applies to `{name}`, which is not a sensitive column."
                sensitive = ", ".join(recipe.named("sensitive")) or "none"
                faults.append(Fault("recipe.invalid", message, f"sensitive columns: {sensitive}"))
        if len(set(goal.columns)) < len(goal.columns):
            faults.append(Fault("recipe.invalid", f"{which} names a column twice.", "name each column once"))
        distance = getattr(goal, "distance", "equal")
        if isinstance(goal, ValueRange) and len(goal.columns) > 1:
            message = f"{which} is not defined for several columns together."
            faults.append(Fault("recipe.invalid", message, "give each column a goal of its own"))
        if distance != "equal" and len(goal.columns) > 1:
            message = f"{which} has the distance {distance}, which is not defined for several columns."
            faults.append(Fault("recipe.invalid", message, 'set distance = "equal", or name one column'))
        elif distance == "hierarchical" and _has_no_tree(recipe, goal.columns[0]):
            message = f"{which} needs a hierarchy for column `{goal.columns[0]}`."
            tree = setting(f"columns.{goal.columns[0]}", "hierarchy", "FILE")
            hint = f"add {tree}, or set the goal's distance to equal"
            faults.append(Fault("recipe.invalid", message, hint))
    return faults


def _has_no_tree(recipe: Recipe, name: str) -> bool:
    if name not in recipe.columns:
        return False
    column = recipe.columns[name]
    return column.hierarchy is None and "hierarchy" not in column.lacking


def _induced_faults(recipe: Recipe) -> list[Fault]:
    """Check the columns whose hierarchies are induced, and those that they are induced from."""
    faults = []
    for name, asked in recipe.induced.items():
        kind = recipe.columns[name].kind
        if kind not in (None, "categorical"):
            message = f"Column `{name}` is {kind}: only the hierarchy of categories can be induced."
            faults.append(Fault("recipe.invalid", message, 'set kind = "categorical", or another hierarchy'))
        named = asked[INDUCE] if isinstance(asked, dict) else []
        wrong = [
            other
            for other in named
            if other == name or other not in recipe.named("quasi", "sensitive", "keep")
        ]
        if wrong:
            listed = ", ".join(f"`{other}`" for other in wrong)
            message = f"The hierarchy of column `{name}` cannot be induced from {listed}."
            hint = "name other columns with the role quasi, sensitive or keep"
            faults.append(Fault("recipe.invalid", message, hint))
    return faults


def _subject_faults(recipe: Recipe) -> list[Fault]:
    subjects = recipe.named("subject")
    faults = []
    if len(subjects) > 1:
        listed = ", ".join(f"`{name}`" for name in subjects)
        message = f"{len(subjects)} columns have the role subject: {listed}."
        faults.append(Fault("recipe.invalid", message, "name the one column that identifies people"))
    if subjects and not shape_of(recipe.method.name).has_classes:
        message = (
            f"Method `{recipe.method.name}` counts rows, not people: it does not allow a subject column."
        )
        faults.append(
            Fault("recipe.invalid", message, "choose another method, or give the column the role drop")
        )
    return faults


def _engine_faults(recipe: Recipe) -> list[Fault]:
    """Check what can be done cell by cell, and what belongs to another engine."""
    engine, k, faults = recipe.engine, recipe.privacy.k, []
    if engine.name == "local" and (engine.master or engine.conf):
        message = f"{name_of('engine', 'master')} and {name_of('engine', 'conf')} are settings of Spark."
        hint = f"set {setting('engine', 'name', 'spark')}, or leave them out"
        faults.append(Fault("recipe.invalid", message, hint))
    if engine.cell_rows is not None and engine.cell_rows < 4 * k:
        message = f"Cells of {engine.cell_rows} rows are too small for k = {k}."
        hint = f"set {setting('engine', 'cell_rows', str(100 * k))} or more"
        faults.append(Fault("recipe.invalid", message, hint))
    if engine.name != "spark" and engine.cell_rows is None:
        return faults
    options = METHODS.get(recipe.method.name)
    if options is not None and options.not_in_cells:
        message = f"Method `{recipe.method.name}` cannot work cell by cell: {options.not_in_cells}."
        faults.append(Fault("recipe.invalid", message, "choose another method, or work without cells"))
    if engine.name == "spark" and recipe.output.order == "shuffled":
        message = "The engine `spark` writes rows in sorted order only."
        hint = f"remove {name_of('output', 'order')}, or use the engine local"
        faults.append(Fault("recipe.not_available", message, hint))
    if engine.name == "spark" and recipe.output.ledger is not None:
        message = "A release of the engine `spark` cannot be checked against a ledger."
        hint = f"remove {name_of('output', 'ledger')}, or use the engine local"
        faults.append(Fault("recipe.not_available", message, hint))
    if recipe.privacy.risk_goals:
        names = ", ".join(goal.type for goal in recipe.privacy.risk_goals)
        faults.append(_not_yet(f"the goals {names} cell by cell or with Spark"))
    if recipe.output.views != "whole":
        message = "Several views cannot be made cell by cell."
        faults.append(Fault("recipe.invalid", message, "publish one table, or work without cells"))
    if recipe.method.options.get("seconds") is not None:
        message = "A search for a number of seconds gives other cells other results each time."
        faults.append(Fault("recipe.invalid", message, "name an effort instead of seconds"))
    return faults


def _unavailable(recipe: Recipe) -> list[Fault]:
    """Report documented features that this version does not support, so that none is silently ignored."""
    faults = []
    for name, column in recipe.columns.items():
        if is_induced(column.hierarchy) and recipe.engine.name == "spark":
            message = f"The engine `spark` does not induce hierarchies (column `{name}`)."
            hint = "build a hierarchy file from a sample: shoal hierarchy build --induce"
            faults.append(Fault("recipe.not_available", message, hint))
    if (recipe.input.decimal != "." or recipe.input.dates) and recipe.engine.name == "spark":
        message = "The engine `spark` reads numbers with a decimal point and days as YYYY-MM-DD only."
        hint = "use the engine local, or convert the table to Parquet"
        faults.append(Fault("recipe.not_available", message, hint))
    return faults


def _not_yet(what: str) -> Fault:
    message = f"This version of shoal does not support {what} yet."
    return Fault("recipe.not_available", message, "remove it, or use a later version")
