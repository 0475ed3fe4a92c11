"""The utility of a release, printed as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import printable

if TYPE_CHECKING:
    from rich.table import Table

_MOST_PAIRS = 5


def print_utility(utility: dict[str, Any]) -> None:
    """Print how much dependence, counts and analyses change."""
    from rich.console import Console

    console = Console()
    for table in (_dependence(utility["dependence"]), _queries(utility["queries"])):
        if table.row_count:
            console.print(table)
    for analysis in utility["analyses"]:
        console.print(_analysis(analysis))


def _table(title: str, first: str, *numbers: str) -> Table:
    from rich.table import Table

    table = Table(title=printable(title), title_justify="left")
    table.add_column(first, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _dependence(found: dict[str, Any]) -> Table:
    table = _table("dependence between columns (Cramér's V), largest changes", "", "raw", "released")
    for pair in found["pairs"][:_MOST_PAIRS]:
        table.add_row(_text(" and ".join(pair["columns"])), f"{pair['raw']:.3f}", f"{pair['released']:.3f}")
    return table


def _queries(found: list[dict[str, Any]]) -> Table:
    table = _table("relative error of random counts", "rows selected", "median", "90 % below")
    for errors in found:
        table.add_row(f"about {errors['rows']:,.0f}", f"{errors['median']:.1%}", f"{errors['p90']:.1%}")
    return table


def _analysis(found: dict[str, Any]) -> Table:
    of = "" if found["outcome"] is None else f" (odds of {found['outcome']})"
    intervals = ", 95 % intervals" if found["coefficients"] else ""
    names = ("raw", "released", "overlap") if found["coefficients"] else ("raw", "released")
    table = _table(f"{found['formula']}: {found['model']}{of}{intervals}", "", *names)
    for one in found["coefficients"]:
        overlap = "" if one["overlap"] is None else f"{one['overlap']:.0%}"
        table.add_row(_text(one["name"]), _estimate(one["raw"]), _estimate(one["released"]), overlap)
    table.add_row(found["score"], *(_score(found[f"{side}_score"]) for side in ("raw", "released")))
    table.add_row("rows", *(f"{rows:,}" for rows in found["rows"]))
    return table


def _text(text: str) -> Any:
    """Return a name as it is: Rich would take brackets for markup."""
    from rich.text import Text

    return Text(printable(text))


def _estimate(found: dict[str, float] | None) -> str:
    if found is None:
        return "not defined"
    return f"{_number(found['value'])} ± {_number((found['high'] - found['low']) / 2)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _score(found: float | None) -> str:
    return "not defined" if found is None else f"{found:.3f}"
