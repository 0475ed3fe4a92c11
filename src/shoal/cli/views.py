"""Several views on the command line: the flag, the paths and what `shoal anonymize` prints."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli.bound import bound_lines
from shoal.cli.dangers import accepted_lines
from shoal.cli.goals import composition_lines, goal_line
from shoal.cli.kinds import kinds_line
from shoal.errors import RecipeError

_WORDS = ("whole", "equal", "unequal", "nested")
_PANEL = "Views"

Views = Annotated[
    str | None,
    typer.Option(
        "--views",
        metavar="WORD|A,B;A,C",
        help="Several tables from one: equal, unequal, nested, or the quasi columns of each; whole for one.",
        rich_help_panel=_PANEL,
    ),
]
ViewsBy = Annotated[
    str | None,
    typer.Option(
        "--views-by",
        metavar="WORD",
        help="How views are made: clustering (each by itself) or projection (of one clustering).",
        rich_help_panel=_PANEL,
    ),
]


def given_views(views: str | None, views_by: str | None = None) -> dict[str, Any]:
    """Return the keys of an [output] section made from flags."""
    if views == "whole" and views_by is None:
        return {"views": views, "views_by": "clustering"}  # a recipe's own would have no meaning
    if views is None or views in _WORDS:
        return {"views": views, "views_by": views_by}
    if "," not in views and ";" not in views:
        message = "--views takes one of its words, or columns with commas between them and ; between views."
        hint = f'words: {", ".join(_WORDS)}; columns: --views "age,sex;age,zip"'
        raise RecipeError("recipe.invalid", message, hint)
    lists = [[name.strip() for name in view.split(",")] for view in views.split(";")]
    return {"views": [[] if names == [""] else names for names in lists], "views_by": views_by}


def views_summary(result: dict[str, Any]) -> str:
    """Say in a few lines what was released in each view and what holds."""
    lines = [
        f"released {len(result['views'])} views of {result['rows']:,} rows, {result['seconds']:.1f} s",
        f"  method {result['method']}" + (f" ({result['reason']})" if result["reason"] else ""),
    ]
    lines += [f"  {remark}" for remark in result["remarks"]]
    lines += [f"  {kinds_line(result['kinds'])}"]
    for number, view in enumerate(result["views"], 1):
        lines += _view_lines(number, view)
    gcp = _share(result)
    lines += [
        f"  information loss of all views: {gcp:.1%} (GCP; 0 % is the raw table, 100 % is nothing left)",
        *(f"  {line}" for line in bound_lines(result)),
        *(f"  {line}" for line in _together(result)),
        *accepted_lines(result),
        f"  manifest: {result['manifest']}",
        f"  check:    shoal verify {result['output']} --recipe RECIPE.toml",
    ]
    return "\n".join(lines)


def _view_lines(number: int, view: dict[str, Any]) -> list[str]:
    lines = [
        f"  view {number}: {', '.join(view['columns'])}",
        f"    {view['released']:,} rows in {view['classes']:,} classes ({view['suppressed']:,} suppressed), "
        f"information loss {_share(view):.1%}",
    ]
    lines += [f"    {goal_line(goal)} - verified on the written file" for goal in view["goals"]]
    return [*lines, f"    release: {view['output']}", f"    report:  {view['report']}"]


def _share(result: dict[str, Any]) -> float:
    """Return the GCP of what was published, or of the classes where typical values have none."""
    gcp = result["loss"]["gcp"]
    share: float = result["loss_tight"]["gcp"] if gcp is None else gcp
    return share


def _together(result: dict[str, Any]) -> list[str]:
    if len(result["views"]) == 1 and result["composition"] is None:
        return ["there is one view"]
    if result["views_by"] == "projection":
        return ["all views show one clustering: they tell no more than its release in one table would"]
    if result["composition"] is None:
        return ["not checked together: whoever has several views may learn more than each one tells"]
    return composition_lines(result["composition"])
