"""The flags that give columns their roles, as `anonymize` and `verify` both take them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shoal.cli.console import names
from shoal.errors import RecipeError

_PANEL = "Columns"


def _option(flag: str, text: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=_PANEL, metavar="A,B")


Quasi = Annotated[str | None, _option("--quasi", "Columns that an outsider may know about a person.")]
Sensitive = Annotated[str | None, _option("--sensitive", "Columns to protect; released as they are.")]
Identifier = Annotated[str | None, _option("--identifier", "Columns that name a person; left out.")]
Keep = Annotated[str | None, _option("--keep", "Other columns to release as they are.")]
Drop = Annotated[str | None, _option("--drop", "Other columns to leave out.")]
Accept = Annotated[
    list[str] | None,
    typer.Option(
        "--accept",
        metavar="COLUMN=DANGER",
        help="Take a danger of a column knowingly, for example note=unique.",
        rich_help_panel=_PANEL,
    ),
]


def given_roles(
    quasi: str | None,
    sensitive: str | None,
    identifier: str | None,
    keep: str | None,
    drop: str | None,
    subject: str | None = None,
    accept: list[str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Return a [columns] section made from flags."""
    from shoal.recipe import roles_of

    roles = roles_of(
        quasi=names(quasi),
        sensitive=names(sensitive),
        identifier=names(identifier),
        keep=names(keep),
        drop=names(drop),
        subject=[subject] if subject else [],
    )
    columns: dict[str, dict[str, Any]] = {name: {"role": role} for name, role in roles.items()}
    for name, danger in map(_accepted, accept or []):
        columns.setdefault(name, {}).setdefault("accept", []).append(danger)
    return columns


def _accepted(text: str) -> tuple[str, str]:
    """Split COLUMN=DANGER; a column's name may have the sign too."""
    name, equals, danger = text.rpartition("=")
    if not equals or not danger:
        raise RecipeError("recipe.invalid", "--accept takes COLUMN=DANGER.", "for example note=unique")
    return name.strip(), danger.strip()
