"""The main entry points: `shoal.anonymize` and `shoal.encode`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shoal.bound.result import Bounding
from shoal.cluster.clusterer import Clusterer
from shoal.cluster.registry import METHODS
from shoal.errors import RecipeError
from shoal.recipe import Recipe, roles_of
from shoal.recipe.goals import from_text
from shoal.recipe.options import MethodName
from shoal.release.release import Release
from shoal.stages import Progress, stage
from shoal.table import frames
from shoal.table.columns import Encoded
from shoal.table.encode import encode as encode_columns
from shoal.table.given import table_of
from shoal.table.hierarchies import ROOT, from_frame, from_function
from shoal.table.induced import with_induced
from shoal.table.orders import with_orders
from shoal.workflow.prepare import prepare


def anonymize(
    data: Any,
    recipe: Recipe | None = None,
    *,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    identifiers: Iterable[str] = (),
    keep: Iterable[str] = (),
    drop: Iterable[str] = (),
    subject: str | None = None,
    k: int | None = None,
    goals: Iterable[str | Mapping[str, Any]] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    accept: Mapping[str, Iterable[str] | Mapping[str, str]] | None = None,
    method: MethodName | Clusterer[Any] | None = None,
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
    views: str | list[list[str]] | None = None,
    views_by: str | None = None,
    order: str | None = None,
    about: Mapping[str, str] | None = None,
    ledger: str | Path | None = None,
    also: Iterable[str | Path] = (),
    accept_composition: bool = False,
    bound: Bounding = True,
    progress: Progress | None = None,
) -> Release:
    """Anonymize a table so that every released row looks like at least k - 1 others.

    Parameters
    ----------
    data : pandas, Polars or Arrow frame, or Recipe
        The table; or a recipe whose [input] names a file.
    recipe : Recipe, optional
        What to do with a frame. The parameters below override it, as flags do; without a recipe they
        specify everything.
    quasi, sensitive, identifiers, keep, drop : iterables of str
        The columns of each role. Every column needs one.
    subject : str, optional
        The column that identifies people, where one may have several rows: k and goals count people.
    k : int
        Smallest class size.
    goals : iterable of str or dict, optional
        Further privacy goals: `"l-diversity column=disease l=3"`, or the same as a mapping.
    hierarchies : mapping of str to str, dict, frame or callable, optional
        By column: a file; a nested table, or `{"intervals": [5, 10]}` and the like; a frame whose rows lead
        from a leaf to the root; or a function that is called with each distinct value and returns its
        generalizations from narrow to wide (a list of texts, or a single one).
    accept : mapping of str to iterable of str, or to mapping of str to str, optional
        By column: the dangers that you accept, such as `["unique"]`, or each with the reason, such as
        `{"recoverable": "the code book is public"}`. They are still listed. Unless they are accepted,
        `unique`, `recoverable` and `duplicate` are refused.
    method : str or Clusterer, optional
        How the classes are found: a name, or an object such as `shoal.cluster.KMember(k=5)`, which has its
        own options, seed and k.
    seed, options
        For a method given by name.
    views : {"whole", "equal", "unequal", "nested"} or list of lists of str, optional
        Publish several tables instead of one: which quasi columns each has.
    views_by : {"clustering", "projection"}, optional
        Whether each view has its own classes, or all views show the classes of one clustering.
    order : {"sorted", "shuffled"}, optional
        The order of the released rows: sorted by their values, or shuffled by the seed.
    about : mapping of str to str, optional
        `purpose`, `author`, `recipient` and `date`, for the manifest and the report.
    ledger : str or Path, optional
        The list of all releases about the same people. This release is checked together with all of them,
        and `write` adds it to the list.
    also : iterable of str or Path, optional
        Manifests of earlier releases about the same people. What all tables reveal together is checked,
        and refused if it is too much.
    accept_composition : bool, default False
        Publish even then; the check is still made and reported.
    bound : bool or "tight", default True
        Compute a lower bound of the loss of any release, which takes a few seconds on large tables; "tight":
        take a minute or two for a higher one.
    progress : callable, optional
        Called with the name of a stage and the fraction that is done.

    Returns
    -------
    Release
        Verified by another engine before it is returned.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [31, 33, 58, 60], "sex": ["f", "f", "m", "f"]})
    >>> shoal.anonymize(people, quasi=["age", "sex"], k=2).table.rows()
    [('[31, 33]', 'f'), ('[31, 33]', 'f'), ('[58, 60]', '{f, m}'), ('[58, 60]', '{f, m}')]
    """
    if isinstance(data, Recipe):
        recipe, data = data, None
    roles = roles_of(
        quasi=quasi,
        sensitive=sensitive,
        identifier=identifiers,
        keep=keep,
        drop=drop,
        subject=() if subject is None else (subject,),
    )
    chosen = _method(method, seed, options)
    columns: dict[str, dict[str, Any]] = {name: {"role": role} for name, role in roles.items()}
    for name, tree in _readable(hierarchies).items():
        columns.setdefault(name, {})["hierarchy"] = tree
    for name, dangers in (accept or {}).items():
        columns.setdefault(name, {})["accept"] = _accepted(dangers)
    smallest = method.k if k is None and isinstance(method, Clusterer) else k
    given = None if goals is None else [from_text(g) if isinstance(g, str) else dict(g) for g in goals]
    changes = {
        "columns": columns,
        "privacy": {"k": smallest, "goal": given},
        "method": chosen,
        "output": {
            "views": views,
            "views_by": views_by,
            "order": order,
            "ledger": None if ledger is None else str(ledger),
        },
        "about": dict(about or {}),
    }
    if recipe is None:
        if smallest is None:
            raise RecipeError("recipe.invalid", "k is missing.", "give the smallest class size, such as k=5")
        recipe = Recipe.from_dict({}, changes=changes)
    else:
        recipe = recipe.changed(changes)
    recipe = _with_functions(recipe, hierarchies, data)
    release = prepare(
        data, recipe, also=also, accept_composition=accept_composition, bound=bound, progress=progress
    )
    try:
        with stage(release.timings, "verify", progress):
            release.verify()
    except BaseException:
        release.close()
        raise
    release.numbers.wait_for_bound(progress)
    return release


def _accepted(dangers: Iterable[str] | Mapping[str, str]) -> list[str] | dict[str, str]:
    """Return accepted dangers as a recipe stores them: names alone, or with reasons."""
    if isinstance(dangers, Mapping):
        return dict(dangers)
    return [dangers] if isinstance(dangers, str) else list(dangers)


def _method(
    method: MethodName | Clusterer[Any] | None, seed: int | None, options: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the recipe's section about the method."""
    if not isinstance(method, Clusterer):
        return {"name": method, "seed": seed, "options": None if options is None else dict(options)}
    if options is not None or seed is not None:
        message = "`options` and `seed` are given twice: the method is an object that has its own."
        raise RecipeError("recipe.invalid", message, "pass them to the object, or give the method by name")
    (name,) = [name for name, info in METHODS.items() if info.clusterer is type(method)]
    return {"name": name, "seed": method.seed, "options": method.options.model_dump(exclude_unset=True)}


def _readable(hierarchies: Mapping[str, Any] | None) -> dict[str, str | dict[str, Any]]:
    """Return hierarchies as a recipe stores them; a function gets a placeholder for `_with_functions`."""
    return {name: _in_recipe(given, name) for name, given in (hierarchies or {}).items()}


def _in_recipe(given: Any, column: str) -> str | dict[str, Any]:
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, (str, Path)):
        return str(given)
    return {ROOT: {}} if callable(given) else from_frame(given, column)


def _with_functions(recipe: Recipe, hierarchies: Mapping[str, Any] | None, data: Any) -> Recipe:
    """Return the recipe with the hierarchies that functions build from the table's values."""
    functions = {name: given for name, given in (hierarchies or {}).items() if callable(given)}
    if not functions:
        return recipe
    table = table_of(data, recipe)
    columns = {}
    for name, function in functions.items():
        column = recipe.columns[name]
        column = column.model_copy(update={"kind": column.kind or "categorical"})
        columns[name] = {"hierarchy": from_function(function, frames.series(table, name), column)}
    return recipe.changed({"columns": columns})


def encode(
    data: Any,
    recipe: Recipe | None = None,
    *,
    quasi: Iterable[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
) -> Encoded:
    """Turn the quasi columns of a table into what clusterers take.

    Parameters
    ----------
    data : pandas, Polars or Arrow frame
        The table.
    recipe : Recipe, optional
        Kinds, weights and hierarchies. Without it, name the columns with the parameters below.
    quasi : iterable of str
        The columns to encode, in order; others are left out.
    hierarchies : mapping of str to str, dict, frame or callable, optional
        By column, as for `anonymize`.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [31, 58, 33, 60], "sex": ["f", "m", "f", "f"]})
    >>> encoded = shoal.encode(people, quasi=["age", "sex"])
    >>> encoded
    Encoded(4 rows, 2 quasi columns)
    >>> shoal.cluster.KMember(k=2, seed=1).fit_predict(encoded)  # one label for each row of people
    array([1, 0, 1, 0], dtype=int32)
    """
    if recipe is None:
        columns: dict[str, Any] = {name: {"hierarchy": tree} for name, tree in _readable(hierarchies).items()}
        changes = {"columns": {**columns, "default": "drop"}}
        recipe = Recipe.from_roles(quasi=quasi, k=2, changes=changes)  # k does not matter here
        recipe = _with_functions(recipe, hierarchies, data)
    table = table_of(data, recipe)
    return encode_columns(table, with_induced(with_orders(recipe, table), table))
