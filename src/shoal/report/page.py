"""Render the facts as one self-contained HTML file: no scripts, no external links, no timestamp."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from shoal.report import charts, dossier
from shoal.report.drawing import draw
from shoal.report.engine import can_draw
from shoal.report.facts import Facts
from shoal.report.findings import Findings
from shoal.report.numbers import significant, whole
from shoal.report.profile import ColumnProfile, Profile
from shoal.report.protection import protection_lines
from shoal.report.scale import SMALLEST
from shoal.report.templates import load_template, style_sheet

# Every measure of loss with its meaning, in the order of the page.
MEASURES: dict[str, tuple[str, str]] = {
    "il": ("Total IL", "Weighted sum of the losses of all rows in all columns."),
    "gcp": ("GCP", "Total IL as a share of the maximum."),
    "distortion_ratio": ("Distortion ratio", "Steps up the hierarchies, as a share of all steps."),
    "dm": ("DM", "Sum of the squared class sizes."),
    "c_avg": ("C_avg", "Average class size, in multiples of k."),
    "cm": ("CM", "Share of rows whose label differs from the majority of their class."),
}
MOST_DRAWN = 24  # columns: drawing more takes long, and nobody reads hundreds of charts
KINDS = {"numeric": "numbers", "date": "dates", "ordinal": "ordered", "categorical": "categories"}


@dataclass(frozen=True)
class Charts:
    """The charts of a report, as SVG."""

    class_sizes: str
    losses: str | None  # None if typical values are published, for which no loss is defined
    class_losses: str | None
    distributions: tuple[tuple[ColumnProfile, str], ...]


def draw_charts(profile: Profile) -> Charts:
    """Draw the charts of a report. They depend only on the release, so they need not wait for its verdict."""
    columns = _most_lost(_drawable(profile))
    pictures = [
        charts.class_chart(profile.class_sizes, profile.groups),
        *map(charts.distribution_chart, columns),
    ]
    has_loss = bool(profile.columns) and all(column.share_lost is not None for column in profile.columns)
    if has_loss:
        pictures.append(charts.loss_chart(_most_lost(profile.columns)))
    if profile.class_losses:
        pictures.append(charts.class_loss_chart(profile.class_losses))
    class_sizes, *others = draw(pictures, charts.CONFIG)
    drawn, rest = others[: len(columns)], others[len(columns) :]
    return Charts(
        class_sizes=class_sizes,
        losses=rest[0] if has_loss else None,
        class_losses=rest[-1] if profile.class_losses else None,
        distributions=tuple(zip(columns, drawn, strict=True)),
    )


@contextmanager
def charts_in_background(profile: Profile) -> Iterator[Callable[[], Charts]]:
    """Draw the charts in a thread; yield a function that waits for them."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(draw_charts, profile).result


def render(facts: Facts, drawn: Charts | None = None) -> str:
    """Render the report.

    Parameters
    ----------
    facts : Facts
        Its contents. Losses are rounded to three digits and distributions to tenths of a percent.
    drawn : Charts, optional
        Its charts, if they have already been drawn.

    Returns
    -------
    html : str
        One self-contained page; the same facts produce the same text.
    """
    from markupsafe import Markup

    drawn = drawn or draw_charts(facts.profile)
    findings = facts.findings
    found = _draw_findings(findings)
    page: str = _template().render(
        facts=facts,
        profile=facts.profile,
        holds=all(goal["holds"] for goal in facts.goals),
        counts_people=any(goal.get("counts") == "people" for goal in facts.goals),
        protected={name for goal in facts.goals for name in _columns(goal)},
        n_groups=sum(count for _, count in facts.profile.class_sizes),
        group="class" if facts.shape.has_classes else "group",
        style=Markup(style_sheet()),  # our own file, not user input
        loss_chart=None if drawn.losses is None else Markup(drawn.losses),
        is_drawn=can_draw(),
        class_chart=Markup(drawn.class_sizes),
        class_loss_chart=None if drawn.class_losses is None else Markup(drawn.class_losses),
        findings=findings,
        protection_lines=protection_lines(facts.protection),
        risk_chart=found.get("risk"),
        risk_lines=dossier.risk_lines(findings),
        subset_lines=dossier.subset_lines(findings),
        attack_groups=dossier.attack_groups(findings),
        n_broken=dossier.broken(findings),
        exposures=dossier.exposures(findings),
        most_pairs=dossier.MOST_PAIRS,
        cost_chart=found.get("cost"),
        cost_words=dossier.cost_words(facts),
        glossary=dossier.GLOSSARY,
        distributions=[(column, Markup(chart), _table(column)) for column, chart in drawn.distributions],
        most_drawn=MOST_DRAWN,
        n_left_out=len(_drawable(facts.profile)) - len(drawn.distributions),
        not_drawn=[column.name for column in facts.profile.columns if len(column.cells) <= 1],
        left_over=_left_over(facts),
        measures=_measures(facts),
        kinds=KINDS,
        smallest=SMALLEST,
    )
    return page


def _draw_findings(findings: Findings) -> dict[str, Any]:
    """Draw the charts of the findings, by section."""
    from markupsafe import Markup

    pictures = dossier.pictures(findings)
    if not pictures:
        return {}
    drawn = draw(list(pictures.values()), charts.CONFIG)
    return {name: Markup(svg) for name, svg in zip(pictures, drawn, strict=True)}


@cache
def _template() -> Any:
    return load_template("page.html.jinja", {"goal": _goal_value, "columns": _columns})


def _drawable(profile: Profile) -> list[ColumnProfile]:
    """List the columns that have a distribution to draw."""
    return [column for column in profile.columns if len(column.cells) > 1]


def _most_lost(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns that lost most, in their original order."""
    ranked = sorted(columns, key=lambda column: -(column.share_lost or 0.0))  # stable
    chosen = {column.name for column in ranked[:MOST_DRAWN]}
    return [column for column in columns if column.name in chosen]


def _left_over(facts: Facts) -> list[tuple[Any, Any, Any]]:
    """List how many rows have each number of possible values and people, given all tables together."""
    if facts.composition is None:
        return []
    values, people = dict(facts.composition["m"]), dict(facts.composition["j"])
    return [(number, values.get(number, 0), people.get(number, 0)) for number in _numbers(values, people)]


def _numbers(*counts: Mapping[Any, Any]) -> list[Any]:
    """Return the numbers that occur in any of the counts, sorted, with ">=k" last."""
    every = {number for count in counts for number in count}
    return [*sorted(n for n in every if isinstance(n, int)), *(n for n in every if not isinstance(n, int))]


def _measures(facts: Facts) -> list[tuple[str, str, float | int | None, float | int | None]]:
    """List the losses: name, meaning, published, tight."""
    names = [*MEASURES, *(name for name in facts.loss if name not in MEASURES)]
    return [
        (*MEASURES.get(name, (name, "")), facts.loss.get(name), facts.loss_tight.get(name)) for name in names
    ]


def _table(column: ColumnProfile) -> list[tuple[str, str, str]]:
    """Format the cells: label, before, after."""
    shares = charts.cell_shares(column.cells)
    rows: Sequence[tuple[Any, tuple[float, float]]] = list(zip(column.cells, shares, strict=True))
    return [(cell.label, f"{before:.1f}", f"{after:.1f}") for cell, (before, after) in rows]


def _columns(goal: Mapping[str, Any]) -> list[str]:
    """Return the sensitive columns that a goal applies to."""
    column = goal["column"]
    return [column] if isinstance(column, str) else list(column or [])


def _goal_value(value: float | None) -> str:
    """Format the requested or achieved value of a goal: counts exactly, other numbers rounded."""
    if value is None:
        return "no finite number"
    return whole(value) if isinstance(value, int) else significant(value)
