"""Single flags that several commands share, and what is given with them.

The flags that describe a table are in `table_flags.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from shoal.cli.completing import complete_goal
from shoal.cli.flag_values import pairs
from shoal.errors import RecipeError

_VIEWS = "Views"
_VIEW_WORDS = ("whole", "equal", "unequal", "nested")

RecipeOfRelease = Annotated[
    Path | None, typer.Option("--recipe", help="The recipe of the release, or a manifest.")
]
KOfRelease = Annotated[int | None, typer.Option("--k", help="Smallest class size; overrides the recipe's.")]
JUnit = Annotated[Path | None, typer.Option("--junit", help="Also write a JUnit XML file.")]
Goals = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        metavar="GOAL",
        help='Besides k, for example "l-diversity column=disease l=3".',
        autocompletion=complete_goal,
    ),
]
TightBound = Annotated[
    bool, typer.Option("--tight-bound", help="Take a minute or two for a higher lower bound of the loss.")
]
NoBound = Annotated[
    bool, typer.Option("--no-bound", help="Skip the lower bound of the loss, to save a few seconds.")
]
SaveRecipe = Annotated[
    Path | None,
    typer.Option("--save-recipe", metavar="FILE", help="Also write the flags as a recipe (.toml)."),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Where Spark runs: local[4], spark://host:7077.",
        rich_help_panel="Engine",
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf", metavar="KEY=VALUE", help="A setting of Spark; may be repeated.", rich_help_panel="Engine"
    ),
]
About = Annotated[
    list[str] | None,
    typer.Option(
        "--about",
        metavar="KEY=TEXT",
        help="For manifest and report: purpose, author, recipient or date; may be repeated.",
    ),
]
RowOrder = Annotated[
    str | None,
    typer.Option(
        "--row-order", metavar="WORD", help="Order of the released rows: sorted, or shuffled by the seed."
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Overwrite existing files that are not a release of this recipe.")
]
Ledger = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="Check together with all releases in this ledger, and enter this one; created if missing.",
    ),
]
Sign = Annotated[
    Path | None, typer.Option("--sign", metavar="KEY", help="Sign the manifest with this private key (PEM).")
]
Views = Annotated[
    str | None,
    typer.Option(
        "--views",
        metavar="WORD|A,B;A,C",
        help="Publish several tables: equal, unequal, nested, or the quasi columns of each; whole for one.",
        rich_help_panel=_VIEWS,
    ),
]
ViewsBy = Annotated[
    str | None,
    typer.Option(
        "--views-by",
        metavar="WORD",
        help="How views are built: clustering (each separately) or projection (of one clustering).",
        rich_help_panel=_VIEWS,
    ),
]


def read_goals(goals: Iterable[str] | None) -> list[dict[str, Any]] | None:
    """Return the goals given by flags; None without such flags, which keeps the goals of a recipe."""
    from shoal.recipe.goals import from_text

    if not goals:
        return None
    found = [from_text(text) for text in goals]
    for goal in found:
        if isinstance(goal.get("population"), str):  # relative to the working directory
            goal["population"] = str(Path(goal["population"]).absolute())
    return found


def read_conf(conf: Iterable[str] | None) -> dict[str, str] | None:
    """Return the settings of Spark that flags state; None without flags."""
    pairs = [setting.partition("=") for setting in conf or []]
    if not all(key and equals for key, equals, _ in pairs):
        raise RecipeError("recipe.invalid", "--conf takes KEY=VALUE.", "--conf spark.executor.memory=4g")
    return {key: value for key, _, value in pairs} or None


def read_about(about: Iterable[str] | None) -> dict[str, str]:
    """Return the [about] section specified by flags."""
    return dict(pairs("about", about or []))


def read_views(views: str | None, views_by: str | None = None) -> dict[str, Any]:
    """Return the keys of the [output] section specified by the flags for views."""
    if views == "whole" and views_by is None:
        return {"views": views, "views_by": "clustering"}  # the recipe's views_by would not apply
    if views is None or views in _VIEW_WORDS:
        return {"views": views, "views_by": views_by}
    if "," not in views and ";" not in views:
        message = "--views takes a keyword, or columns separated by commas and views separated by semicolons."
        hint = f'keywords: {", ".join(_VIEW_WORDS)}; columns: --views "age,sex;age,zip"'
        raise RecipeError("recipe.invalid", message, hint)
    lists = [[name.strip() for name in view.split(",")] for view in views.split(";")]
    return {"views": [[] if names == [""] else names for names in lists], "views_by": views_by}


def asked_bound(no_bound: bool, tight_bound: bool) -> bool | Literal["tight"]:
    """Return whether the loss is bounded, and how."""
    return False if no_bound else "tight" if tight_bound else True
