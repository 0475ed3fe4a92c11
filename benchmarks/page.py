"""Writes figures into BENCHMARKS.md, between the marks that name them; the text around them is kept.

A mark is a line `<!-- figures: NAME -->`, and `<!-- end -->` ends what is written there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from charts import ARX_BEST, BOUND, CHARTS, GOAL_NAMES, PARETO_KS
from contenders import NORMAL, OURS, YARDSTICK
from processes import HERE
from results import Figures, load

MARKED = re.compile(r"(<!-- figures: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
NOT_YET = "Not measured yet.\n"
ARX_QUICK = {5: 14_178, 10: 20_292, 25: 31_236, 50: 39_553, 100: 51_711}
CHARTED = "docs/benchmarks"
FULL_ADULT = 30_000  # with fewer rows, figures that were measured elsewhere do not compare
PARTS = (
    "adult", "shapes", "census-million", "census-ten-million", "scaling", "goals", "anytime",
)  # fmt: skip

Data = dict[str, Any]


def write_page(root: Path) -> Path:
    """Draw all charts and fill in all figures that are kept below `root`; return the page."""
    found = {part: data for part in PARTS if (data := load(root, part)) is not None}
    for part, data in found.items():
        if part in CHARTS:
            CHARTS[part](root, data)
    text = (HERE.parent / "BENCHMARKS.md").read_text(encoding="utf-8")

    def filled(match: re.Match[str]) -> str:
        part, write = BLOCKS[match[2]]
        if part is None:
            return match[1] + _machines(found) + match[3]
        return match[1] + (write(found[part]) if part in found else NOT_YET) + match[3]

    page = root / "BENCHMARKS.md"
    page.write_text(MARKED.sub(filled, text), encoding="utf-8")
    return page


def told(part: str, data: Data) -> str:
    """Return all that is written about a part."""
    return "\n".join(write(data) for of, write in BLOCKS.values() if of == part)


def markdown(rows: list[list[str]]) -> str:
    """Return rows as a Markdown table, the first as its header."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


def image(text: str, file: str) -> str:
    return f"![{text}]({CHARTED}/{file})\n"


def _il(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}"


def _ratio(value: float | None, other: float | None) -> str:
    return f"{value / other:.3f}" if value is not None and other else ""


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    decimals = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{decimals}f}"


def _listed(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " and " + texts[-1]


def ahead(found: list[tuple[str, str, float]]) -> str:
    """Say which contenders have a lower loss than local search at normal effort: name, where, ratio."""
    fewer = [entry for entry in found if entry[2] < 1 and entry[0] not in OURS]
    if not fewer:
        return f"No other method here has a lower loss than {NORMAL}.\n"
    told = [f"{name} at {where} ({ratio:.3f} of its loss)" for name, where, ratio in fewer]
    return f"**Lower loss than {NORMAL}: {_listed(told)}.**\n"


def _machines(found: dict[str, Data]) -> str:
    """Describe the machine, each one once."""
    parts_on: dict[str, list[str]] = {}
    for part, data in found.items():
        facts = data["machine"]
        libraries = ", ".join(f"{name} {number}" for name, number in facts["libraries"].items())
        text = (
            f"{facts['cores']} cores of {facts['processor']}, {facts['memory_gib']:.0f} GiB of memory, "
            f"{facts['system']}, Python {facts['python']}, {libraries}"
        )
        parts_on.setdefault(text, []).append(f"`{part}` on {data['day']}")
    if not parts_on:
        return NOT_YET
    return "".join(f"- {text}: {_listed(parts)}.\n" for text, parts in parts_on.items())


def adult_loss(data: Data) -> str:
    """Tabulate Total IL by k."""
    figures = Figures(data["results"])
    ks = figures.values("k")
    names = [name for name in figures.names() if name != YARDSTICK]
    table = [["Total IL", *(f"k = {k}" for k in ks)]]
    compared = []
    for name in names:
        losses = [figures.median("il", name, k=k) for k in ks]
        table.append([name, *map(_il, losses)])
        compared += [(name, f"k = {k}", _over_normal(figures, name, k=k)) for k in ks]
    if data["rows"] > FULL_ADULT:
        for name, losses_of in (("ARX, quick setting", ARX_QUICK), ("ARX, best setting found", ARX_BEST)):
            table.append([f"{name} (measured separately)", *(_il(losses_of[k]) for k in ks)])
            compared += [
                (name, f"k = {k}", losses_of[k] / (figures.median("il", NORMAL, k=k) or 1)) for k in ks
            ]
    bounds = {int(k): bound for k, bound in data["bounds"].items()}
    is_estimate = any(bound["is_estimate"] for bound in bounds.values())
    table.append([BOUND + " (estimate)" * is_estimate, *(_il(bounds[k]["il"]) for k in ks)])
    over = [_ratio(figures.median("il", NORMAL, k=k), bounds[k]["il"]) for k in ks]
    table.append([f"{NORMAL} / lower bound", *over])
    text = "Total IL on Adult by k and method, absolute and relative to local search at normal effort."
    return "\n".join([image(text, "adult-loss.svg"), markdown(table), ahead(_only(compared))])


def adult_optimum(data: Data) -> str:
    """Tabulate loss over the lower bound by k."""
    figures = Figures(data["results"])
    ks = figures.values("k")
    bounds = {int(k): bound["il"] for k, bound in data["bounds"].items()}
    table = [["Total IL / lower bound", *(f"k = {k}" for k in ks)]]
    for name in figures.names():
        if name != YARDSTICK:
            table.append([name, *(_ratio(figures.median("il", name, k=k), bounds[k]) for k in ks)])
    if data["rows"] > FULL_ADULT:
        table.append(["ARX, best setting found", *(_ratio(ARX_BEST[k], bounds[k]) for k in ks)])
    text = "Total IL over the lower bound on Adult by k and method; the optimum is at 1 or above."
    return "\n".join([image(text, "adult-optimum.svg"), markdown(table)])


def adult_pareto(data: Data) -> str:
    """Show loss against time; the tables above have the figures."""
    ks = _listed([f"k = {k}" for k in PARETO_KS if k in Figures(data["results"]).values("k")])
    text = f"Total IL on Adult against seconds at {ks}; a dashed line joins those that none beats in both."
    return image(text, "adult-pareto.svg")


def _over_normal(figures: Figures, name: str, **where: Any) -> float | None:
    own, other = (figures.median("il", one, **where) for one in (NORMAL, name))
    return None if own is None or other is None else other / own if own else 1.0


def _only(compared: list[tuple[str, str, float | None]]) -> list[tuple[str, str, float]]:
    return [(name, where, ratio) for name, where, ratio in compared if ratio is not None]


def adult_time(data: Data) -> str:
    """Tabulate seconds by k, and as ratios to the plain loop."""
    figures = Figures(data["results"])
    ks = figures.values("k")
    table = [["", *(f"seconds, k = {k}" for k in ks), *(f"ratio, k = {k}" for k in ks)]]
    for name in figures.names():
        seconds = [figures.median("seconds", name, k=k) for k in ks]
        plain = [figures.median("seconds", YARDSTICK, k=k) for k in ks]
        ratios = [_ratio(one, other) for one, other in zip(seconds, plain, strict=True)]
        table.append([name, *map(_seconds, seconds), *ratios])
    first = [f"{name} {_seconds(seconds)} s" for name, seconds in data["first"].items()]
    text = "Clustering time on Adult in seconds by k and method, on a logarithmic scale."
    compiled = f"First call at k = 10, including compilation: {_listed(first)}.\n"
    return "\n".join([image(text, "adult-seconds.svg"), markdown(table), compiled])


def shapes(data: Data) -> str:
    """Tabulate for each shape the loss of local search, and that of the others over it."""
    figures = Figures(data["results"])
    ks = figures.values("k")
    text = "Total IL relative to local search at normal effort, by k, for three synthetic tables."
    blocks = [image(text, "shapes.svg")]
    compared: list[tuple[str, str, float | None]] = []
    for shape in figures.values("table"):
        table = [[f"{shape}, {data['rows']:,} rows", *(f"k = {k}" for k in ks), "seconds, k = 10"]]
        for name in figures.names():
            ratios = [_over_normal(figures, name, table=shape, k=k) for k in ks]
            losses = [figures.median("il", name, table=shape, k=k) for k in ks]
            shown = (
                map(_il, losses)
                if name == NORMAL
                else [f"x {ratio:.3f}" if ratio else "" for ratio in ratios]
            )
            table.append([name, *shown, _seconds(figures.median("seconds", name, table=shape, k=10))])
            compared += [(name, f"`{shape}`, k = {k}", ratio) for k, ratio in zip(ks, ratios, strict=True)]
        blocks.append(markdown(table))
    return "\n".join([*blocks, ahead(_only(compared))])


def census_million(data: Data) -> str:
    """Tabulate time, loss and memory of clustering a million rows."""
    by_name = {(run["table"], run["name"]): run for run in data["results"]}
    header = [
        "table",
        "method",
        "seconds",
        "Total IL",
        "relative to Mondrian's loss",
        "peak MiB",
        "MiB above the table",
    ]
    table = [header]
    for (name, method), run in by_name.items():
        ratio = _ratio(run["il"], by_name[name, "mondrian"]["il"])
        memory = [f"{run['peak_mib']:,.0f}", f"{run['rise_mib']:,.0f}"]
        table.append([name, method, _seconds(run["seconds"]), _il(run["il"]), ratio, *memory])
    for name, bound in data["bounds"].items():
        estimate = " (estimate)" * bound["is_estimate"]
        ratio = _ratio(bound["il"], by_name[name, "mondrian"]["il"])
        table.append([name, f"lower bound{estimate}", "", _il(bound["il"]), ratio, "", ""])
    return f"{data['rows']:,} rows:\n\n" + markdown(table)


def census_command(data: Data) -> str:
    """Tabulate the stages of the whole command."""
    stages = list(dict.fromkeys(stage for run in data["commands"] for stage in run["timings"]))
    table = [["method", *stages, "all except cluster", "whole command, including start-up", "peak MiB"]]
    for run in data["commands"]:
        rest = sum(seconds for stage, seconds in run["timings"].items() if stage != "cluster")
        shown = [_seconds(run["timings"].get(stage)) for stage in stages]
        table.append(
            [run["name"], *shown, _seconds(rest), _seconds(run["seconds"]), f"{run['peak_mib']:,.0f}"]
        )
    return "Seconds:\n\n" + markdown(table)


def census_ten_million(data: Data) -> str:
    """Tabulate one and ten million rows, and the growth."""
    less, more = data["results"]
    table = [["rows", "seconds", "Total IL per row", "peak MiB", "MiB above the table"]]
    for run in (less, more):
        memory = [f"{run['peak_mib']:,.0f}", f"{run['rise_mib']:,.0f}"]
        table.append(
            [f"{run['rows']:,}", _seconds(run["seconds"]), f"{run['il'] / run['rows']:.4f}", *memory]
        )
    growth = more["seconds"] / less["seconds"]
    times = more["rows"] / less["rows"]
    peak = f"Generating and encoding the larger table took at most {more['encode_peak_mib']:,.0f} MiB."
    return markdown(table) + f"\n{times:.0f} times the rows take {growth:.1f} times as long. {peak}\n"


def scaling(data: Data) -> str:
    """Tabulate growth with rows, k and columns."""
    blocks = []
    for key, x, title, text in (
        ("by_rows", "rows", "rows", "Seconds and Total IL per row by number of rows and method."),
        ("by_k", "k", "k", "Seconds and Total IL by k and method."),
        ("by_columns", "quasi", "quasi columns", "Seconds and Total IL by quasi columns and method."),
    ):
        figures = Figures(data[key])
        names = figures.names()
        table = [[title, *(f"{name}, seconds" for name in names), *(f"{name}, Total IL" for name in names)]]
        compared: list[tuple[str, str, float | None]] = []
        for value in figures.values(x):
            seconds = [_seconds(figures.median("seconds", name, **{x: value})) for name in names]
            losses = [_il(figures.median("il", name, **{x: value})) for name in names]
            table.append([f"{value:,}", *seconds, *losses])
            compared += [(name, f"{value:,} {title}" if x != "k" else f"k = {value}",
                          _over_normal(figures, name, **{x: value})) for name in names]  # fmt: skip
        blocks += [image(text, f"scaling-{x}.svg"), markdown(table), ahead(_only(compared))]
    return "\n".join(blocks)


def goals(data: Data) -> str:
    """Tabulate loss and time under each goal."""
    figures = Figures(data["results"])
    asked = figures.values("goal")
    table = [
        [
            "",
            *(f"{GOAL_NAMES[goal]}: Total IL" for goal in asked),
            *(f"{GOAL_NAMES[goal]}: seconds" for goal in asked),
        ]
    ]
    compared: list[tuple[str, str, float | None]] = []
    for name in figures.names():
        losses = [_il(figures.median("il", name, goal=goal)) for goal in asked]
        seconds = [_seconds(figures.median("seconds", name, goal=goal)) for goal in asked]
        table.append([name, *losses, *seconds])
        compared += [(name, GOAL_NAMES[goal], _over_normal(figures, name, goal=goal)) for goal in asked]
    text = "Total IL under three privacy goals on Adult, by method."
    return "\n".join([image(text, "goals.svg"), markdown(table), ahead(_only(compared))])


def anytime(data: Data) -> str:
    """Tabulate loss against seconds."""
    figures = Figures(data["results"])
    ks = figures.values("k")
    titles = ("seconds", "Total IL", f"relative to {NORMAL}")
    table = [["", *(f"{title}, k = {k}" for k in ks for title in titles)]]
    for name in figures.names():
        cells = [name]
        for k in ks:
            seconds, il = figures.median("seconds", name, k=k), figures.median("il", name, k=k)
            cells += [_seconds(seconds), _il(il), _ratio(il, figures.median("il", NORMAL, k=k))]
        table.append(cells)
    at = " and ".join(f"k = {k}" for k in ks)
    text = f"Total IL on Adult at {at} against seconds: local search with time limits, the others as points."
    return "\n".join([image(text, "anytime.svg"), markdown(table)])


# By mark: the part that its figures come from (none: all of them), and what writes them.
BLOCKS: dict[str, tuple[str | None, Callable[[Data], str]]] = {
    "machine": (None, lambda _: ""),
    "adult-loss": ("adult", adult_loss),
    "adult-optimum": ("adult", adult_optimum),
    "adult-time": ("adult", adult_time),
    "adult-pareto": ("adult", adult_pareto),
    "shapes": ("shapes", shapes),
    "census-million": ("census-million", census_million),
    "census-command": ("census-million", census_command),
    "census-ten-million": ("census-ten-million", census_ten_million),
    "scaling": ("scaling", scaling),
    "goals": ("goals", goals),
    "anytime": ("anytime", anytime),
}
