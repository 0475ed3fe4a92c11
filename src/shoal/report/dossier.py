"""What the page says about risk, attacks, utility and the cost of k: tables of texts from plain findings.

A count of fewer than ten raw rows is never shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.report import charts
from shoal.report.charts import PairBar
from shoal.report.drawing import Picture
from shoal.report.facts import Facts
from shoal.report.findings import Findings
from shoal.report.numbers import percent, tenths, whole
from shoal.report.scale import SMALLEST

MOST_SUBSETS, MOST_PAIRS = 5, 8
NONE = "\N{EN DASH}"
GROUPS = {
    "singling out": "The attacker wants to isolate one person's row.",
    "linkability": "The attacker has a register and wants to link as many people as possible to their rows.",
    "inference": "The attacker wants to learn a value, not to find a row.",
}
FINDINGS = {"broken": "promise broken", "exposed": "exposed", "none": NONE}
# Terms of the page, explained for those who did not make the release.
GLOSSARY = {
    "attack": "An attempt to find a person's row or to learn a value, made here on the release itself.",
    "class": "The released rows that look alike in all quasi-identifying columns.",
    "GCP": "Information lost, as a share of everything: 0\N{NO-BREAK SPACE}% is the raw table, "
    "100\N{NO-BREAK SPACE}% is nothing but stars.",
    "journalist": "An attacker who knows the population, but not who is in the table.",
    "k": "Every released row looks like at least k - 1 others.",
    "lower bound": "No release of boxes that meets k and the goals can lose less.",
    "marketer": "An attacker who links as many rows as possible, not a certain person's.",
    "prosecutor": "An attacker who knows that a certain person is in the table.",
    "quasi-identifying": "Known to outsiders and useful for finding somebody, such as age, sex or postcode.",
    "risk": "The chance of picking a person's row among those that look alike: 1 / the size of the class.",
    "sensitive": "What nobody should learn about a person, such as a diagnosis.",
    "suppressed": "Left out of the release.",
    "unique": "Alone in its class: anyone who knows the quasi-identifying values finds the row.",
}


@dataclass(frozen=True)
class Attack:
    """A line of the table of attacks."""

    name: str
    about: str
    columns: Sequence[str]
    success: str
    interval: str
    baseline: str
    guess: str
    ceiling: str
    finding: str
    is_found: bool


def pictures(findings: Findings) -> dict[str, Picture]:
    """Return the charts of the findings by section."""
    drawn = {}
    if findings.risk_before is not None and findings.risk_after is not None:
        drawn["risk"] = _risk_chart(findings.risk_before, findings.risk_after)
    if len(findings.costs) > 1:
        drawn["cost"] = charts.cost_chart(findings.costs)
    return drawn


# Risk.


def risk_lines(findings: Findings) -> list[tuple[str, str, str, str]]:
    """Return name, meaning, before and after of each measure of risk."""
    before, after = findings.risk_before, findings.risk_after
    if before is None or after is None:
        return []
    measures = [
        ("Prosecutor, highest", "of the person in the smallest class", "prosecutor", "highest"),
        ("Prosecutor, average", "over all rows", "prosecutor", "average"),
        ("Journalist, highest", _basis(before), "journalist", "highest"),
        ("Journalist, average", _basis(before), "journalist", "average"),
    ]
    counts = [
        ("Unique rows", "alone in their class", "unique"),
        (f"Rows in classes below {before['asked_k']}", "fewer look alike than asked", "below_k"),
    ]
    marketer = percent(before["marketer"]), percent(after["marketer"])
    return [
        *(
            (name, text, percent(before[who][what]), percent(after[who][what]))
            for name, text, who, what in measures
        ),
        ("Marketer", "the share of rows that are linked", *marketer),
        *((name, text, _rows(before, key), _rows(after, key)) for name, text, key in counts),
    ]


def _rows(risk: Mapping[str, Any], key: str) -> str:
    return _count(risk["prosecutor"][key], risk["rows"])


def _basis(risk: Mapping[str, Any]) -> str:
    basis = risk["journalist"]["basis"]
    return "the table taken for the population" if basis == "table" else f"by {basis}"


def _count(rows: int, total: int) -> str:
    """Format a number of rows with its share."""
    if 0 < rows < SMALLEST:
        return f"fewer than {SMALLEST}"
    return f"{whole(rows)} ({percent(rows / total)})" if rows else "0"


def subset_lines(findings: Findings) -> list[tuple[Sequence[str], str, str, str, str]]:
    """Return the columns that single out most people, with unique rows and average risk before and after."""
    before, after = findings.risk_before, findings.risk_after
    if before is None or after is None:
        return []
    released = {tuple(one["columns"]): one for one in after["subsets"]}
    measured = [one for one in before["subsets"] if tuple(one["columns"]) in released]
    lines = []
    for one in measured[:MOST_SUBSETS]:
        then = released[tuple(one["columns"])]
        unique = _count(one["unique"], before["rows"]), _count(then["unique"], after["rows"])
        lines.append((one["columns"], *unique, percent(one["average"]), percent(then["average"])))
    return lines


def _risk_chart(before: Mapping[str, Any], after: Mapping[str, Any]) -> Picture:
    cells = _size_cells(before["prosecutor"]["histogram"], after["prosecutor"]["histogram"])
    raw, released = sum(cell[1] for cell in cells), sum(cell[2] for cell in cells)
    bars = [PairBar(name, tenths(n, raw), tenths(m, released)) for name, n, m in cells]
    values = "; ".join(f"{bar.name}: {bar.before:g} %, then {bar.after:g} %" for bar in bars)
    alt_text = f"Rows by the number of people who look alike, before and after. {values}."
    return charts.pair_chart(bars, "share of rows (%)", alt_text)


def _size_cells(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> list[tuple[str, int, int]]:
    """Merge sizes until each cell has no raw row, or enough of them; leave out empty ends."""
    cells: list[list[Any]] = []
    for raw, released in zip(before, after, strict=True):
        if cells and 0 < cells[-1][2] < SMALLEST:
            cells[-1] = [
                cells[-1][0],
                raw["size_below"],
                cells[-1][2] + raw["rows"],
                cells[-1][3] + released["rows"],
            ]
        else:
            cells.append([raw["size_from"], raw["size_below"], raw["rows"], released["rows"]])
    while len(cells) > 1 and 0 < cells[-1][2] < SMALLEST:
        last = cells.pop()
        cells[-1] = [cells[-1][0], last[1], cells[-1][2] + last[2], cells[-1][3] + last[3]]
    while len(cells) > 1 and not (cells[-1][2] or cells[-1][3]):
        cells.pop()
    return [(_sizes(first, below), n, m) for first, below, n, m in cells]


def _sizes(first: int, below: int | None) -> str:
    if below is None:
        return f"{whole(first)} or more"
    return whole(first) if below == first + 1 else f"{whole(first)} to {whole(below - 1)}"


# Attacks.


def attack_groups(findings: Findings) -> list[tuple[str, str, list[Attack]]]:
    """Return the attacks by group."""
    found = []
    for group, meaning in GROUPS.items():
        lines: list[Attack] = []
        for one in findings.attacks:
            if one["group"] == group:
                is_repeated = bool(lines) and lines[-1].name == one["attack"]
                lines.append(_attack(one, "" if is_repeated else one.get("about", "")))
        if lines:
            found.append((group, meaning, lines))
    return found


def _attack(one: Mapping[str, Any], about: str) -> Attack:
    interval = "counted" if one["interval"] == "exact" else f"{_share(one['low'])} to {_share(one['high'])}"
    return Attack(
        name=one["attack"],
        about=about,
        columns=one["columns"],
        success=_share(one["success"]),
        interval=interval,
        baseline=_share(one["baseline"]),
        guess=_share(one["guess"]),
        ceiling=_share(one["ceiling"]),
        finding=FINDINGS[one["finding"]],
        is_found=one["finding"] != "none",
    )


def _share(number: float | None) -> str:
    if number is None:
        return NONE
    if 0 < number < 0.001:
        return "< 0.1\N{NO-BREAK SPACE}%"
    return f"{100 * number:.1f}\N{NO-BREAK SPACE}%"


def exposures(findings: Findings) -> list[str]:
    """Return what attacks found, in words; about the average only if nothing is said about the worst case."""
    found = [one for one in findings.attacks if one["finding"] != "none"]
    worst = {one["attack"] for one in found}
    return [one["message"] for one in found if f"{one['attack']}-worst" not in worst]


def broken(findings: Findings) -> int:
    """Return how many attacks broke a promise."""
    return len([one for one in findings.attacks if one["finding"] == "broken"])


# The cost of k.


def cost_words(facts: Facts) -> list[str]:
    """Return what a smaller and a larger k would cost, in sentences."""
    costs = facts.findings.costs
    own = next((cost for cost in costs if cost.is_release), None)
    if own is None:
        return []
    words = [f"At k = {own.k} this release loses {percent(own.gcp)}."]
    if own.bound:
        words.append(f"No release can lose less than {percent(own.bound)} at that k.")
    below = [cost for cost in costs if cost.k < own.k][-1:]
    above = [cost for cost in costs if cost.k > own.k][:1]
    for other in (*below, *above):
        risks = f"at a highest risk of {percent(1 / other.k)} instead of {percent(1 / own.k)}"
        words.append(f"At k = {other.k}, about {percent(other.gcp)} would be lost, {risks}.")
    return words
