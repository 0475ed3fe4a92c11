"""How `shoal risk` shows its numbers in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.cli.console import say

if TYPE_CHECKING:
    from rich.table import Table

    from shoal.risks.distribution import Risk
    from shoal.risks.report import RiskReport
    from shoal.risks.uniqueness import Uniqueness

_SHOWN = 10  # subsets
_BAR = 20  # characters
_WIDE = 70  # characters that a terminal needs to show all numbers of a subset


def print_risk(found: RiskReport, after: RiskReport | None) -> None:
    """Print the risk of a table and, if given, that of its release."""
    from rich.console import Console

    console = Console()
    console.print(_summary(found, after))
    console.print(_sizes([found] if after is None else [found, after]))
    console.print(_subsets(found, "the table", console.width))
    if after is not None:
        console.print(_subsets(after, "the release", console.width))
    for report in (found, after):
        if report is not None:
            _say_more(report)


def _summary(found: RiskReport, after: RiskReport | None) -> Table:
    from rich.table import Table

    reports = [found] if after is None else [found, after]
    table = Table(title="risk", title_justify="left", show_header=after is not None)
    table.add_column("")
    for name in ("before", "after")[: len(reports)] if after else ("",):
        table.add_column(name, justify="right")
    counts: dict[str, Any] = {
        "rows": lambda one: f"{one.rows:,}",
        "people": lambda one: "" if one.people is None else f"{one.people:,}",
        "classes": lambda one: f"{one.classes:,}",
        "smallest class": lambda one: f"{one.k:,}",
        "unique": lambda one: _part(one, one.prosecutor.unique),
        f"in classes below {found.asked}": lambda one: _part(one, one.prosecutor.below_k),
        "highest risk": lambda one: _percent(one.prosecutor.highest),
        "average risk (prosecutor)": lambda one: _percent(one.prosecutor.average),
        "average risk (marketer)": lambda one: _percent(one.marketer),
    }
    for label, cell in counts.items():
        cells = [cell(one) for one in reports]
        if any(cells):
            table.add_row(label, *cells)
    for size in found.prosecutor.above:
        table.add_row(f"risk above 1/{size}", *(_part(one, one.prosecutor.above[size]) for one in reports))
    return table


def _sizes(reports: list[RiskReport]) -> Table:
    """Return how many rows are in classes of each size, with bars."""
    from rich.table import Table

    table = Table(title="rows by class size", title_justify="left")
    table.add_column("size", justify="right")
    for name in ("rows",) if len(reports) == 1 else ("before", "after"):
        table.add_column(name, justify="right")
        table.add_column("", min_width=_BAR if len(reports) == 1 else _BAR // 2)
    width = _BAR if len(reports) == 1 else _BAR // 2
    for at, bar in enumerate(reports[0].prosecutor.histogram):
        cells: list[str] = []
        for report in reports:
            rows, total = report.prosecutor.histogram[at].rows, _units(report.prosecutor)
            cells += [f"{rows:,}", "█" * -(-width * rows // total)]
        table.add_row(_range(bar.size_from, bar.size_below), *cells)
    return table


def _subsets(report: RiskReport, what: str, width: int) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from shoal.errors import printable

    count = len(report.subsets)
    title = f"what an attacker may know of {what}: the worst {min(_SHOWN, count)} of {count} subsets"
    table = Table(title=title, title_justify="left")
    table.add_column("columns", overflow="fold")
    shown = ["unique", f"below {report.asked}", "highest", "average"][: 4 if width >= _WIDE else 2]
    for name in shown:
        table.add_column(name, justify="right")
    for subset in report.subsets[:_SHOWN]:
        is_all = len(subset.columns) > report.subset_size
        names = "all" if is_all else escape(printable(", ".join(subset.columns)))
        shares = map(_percent, (subset.share_below_k, subset.highest, subset.average))
        table.add_row(names, *[f"{subset.unique:,}", *shares][: len(shown)])
    return table


def _say_more(report: RiskReport) -> None:
    """Print what is known about the population and households."""
    if report.population is not None:
        one = report.population
        say(
            f"population of {one.people:,}: the smallest class matches {one.k:,} people; "
            f"{one.classes_below_k:,} classes match fewer than {report.asked}; of the people whom a class "
            f"matches, {_percent(one.delta_low)} to {_percent(one.delta_high)} are in the table; "
            f"{one.outside:,} people match no class"
        )
    if report.basis != "table":
        say(
            f"journalist risk by {report.basis}: highest {_percent(report.journalist.highest)}, average "
            f"{_percent(report.journalist.average)}"
        )
    if report.uniqueness is not None:
        _print_uniqueness(report.uniqueness)
    if report.households is not None:
        homes = report.households
        say(
            f"{homes.households:,} households: at least one member is found in {homes.expected:,.1f} of them "
            f"on average; highest risk {_percent(homes.highest)}, average {_percent(homes.average)}"
        )
    for remark in report.remarks:
        say(remark)


def _print_uniqueness(found: Uniqueness) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="unique in the population", title_justify="left")
    table.add_column("")
    table.add_column("people", justify="right")
    table.add_column("if the model is right", justify="right")
    for name, estimate in found.estimates.items():
        label = f"{name} (chosen)" if name == found.model else name
        if estimate is None:
            table.add_row(label, "no solution", "")
        else:
            between = f"{estimate.low:,.0f} to {estimate.high:,.0f}"
            table.add_row(label, f"{estimate.uniques:,.0f}", between)
    table.add_row("without a model", f"{found.low:,.0f} to {found.high:,.0f}", "")
    Console().print(table)
    share = found.share_of_sample_unique
    if share is not None:
        say(
            f"of {found.people:,.0f} people; {_percent(share)} of the {found.sample_unique:,} who are unique "
            "in the table are estimated to be unique in the population"
        )


def _units(found: Risk) -> int:
    return sum(bar.rows for bar in found.histogram)


def _part(report: RiskReport, count: int) -> str:
    return f"{count:,} ({_percent(count / _units(report.prosecutor))})"


def _percent(share: float) -> str:
    """Format a share to one decimal; a tiny one to two digits, so that it does not look like nothing."""
    return f"{share:.1%}" if share >= 0.001 or share == 0 else f"{100 * share:.2g}%"


def _range(size: int, below: int | None) -> str:
    if below is None:
        return f"{size:,} or more"
    return f"{size}" if below == size + 1 else f"{size}-{below - 1}"
