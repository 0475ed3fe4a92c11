"""The summary of a release that commands print: what was published, which goals hold, where the files are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def summary(result: dict[str, Any]) -> str:
    """Summarize what was released, which goals hold, and whether files were replaced."""
    lines = [_summary(result), *record_lines(result)]
    lines += ["  replaced existing files"] if result["replaced"] else []
    return "\n".join(lines)


def written_lines(result: Mapping[str, Any]) -> list[str]:
    """Say which goals hold, and where a release and its manifest are."""
    return [
        *(f"  {goal_line(goal)} - verified on the written file" for goal in result["goals"]),
        f"  release:  {result['output']}",
        f"  manifest: {result['manifest']}",
    ]


def record_lines(result: Mapping[str, Any]) -> list[str]:
    """Say where the signature is, and which entry of which ledger a release is."""
    lines = [f"  signature: {result['signature']}"] if "signature" in result else []
    if "ledger" in result:
        entry = result["ledger"]
        lines.append(f"  entry {entry['entry']} of the ledger {entry['path']}: {entry['sha256']}")
    return lines


def _summary(result: dict[str, Any]) -> str:
    from shoal.recipe import Shape
    from shoal.recipe.options import METHODS

    shape = METHODS[result["method"]].shape
    if shape is Shape.TWO_TABLES:
        return _two_tables(result)
    if "views" in result:
        return _several_views(result)
    gcp = result["loss"]["gcp"] if result["loss"]["gcp"] is not None else result["loss_tight"]["gcp"]
    made = f"in {result['classes']:,} classes" if shape.has_classes else "with a box for each"
    how = "verified on the written file" + (" against the original" if shape.needs_original else "")
    output = result["output"]
    if "table" in result:
        how, output = "verified inside the database and by DuckDB", f"table {result['table']} of {output}"
    lines = [
        f"released {result['released']:,} of {result['rows']:,} rows {made} "
        f"({result['suppressed']:,} suppressed), {result['seconds']:.1f} s",
        f"  method {result['method']}" + (f" ({result['reason']})" if result["reason"] else ""),
    ]
    lines += [f"  {remark}" for remark in result["remarks"]]
    lines += [f"  {kinds_line(result['kinds'])}"]
    lines += [f"  {goal_line(goal)} - {how}" for goal in result["goals"]]
    lines += [f"  {line}" for line in composition_lines(result["composition"])]
    lines += protection_line(result)
    lines += accepted_lines(result)
    lines += [
        f"  information loss: {gcp:.1%} (GCP; 0 % is the raw table, 100 % means nothing is left)",
        *(f"  {line}" for line in bound_lines(result)),
        f"  release:  {output}",
        f"  manifest: {result['manifest']}",
        f"  report:   {result['report']}",
        *hierarchy_lines(result),
    ]
    return "\n".join(lines)


def protection_line(result: Mapping[str, Any]) -> list[str]:
    """Name the columns that are protected beyond their classes, and how."""
    done = ", ".join(f"{entry['column']} ({entry['method']})" for entry in result["protection"])
    return [f"  protected besides: {done}"] if done else []


def hierarchy_lines(result: Mapping[str, Any]) -> list[str]:
    """List the files of induced hierarchies, which are not to be published."""
    files = result.get("hierarchies", {})
    notes = ["  note: an induced hierarchy lists every value of its column: protect it like the data"]
    return [f"  hierarchy of {name}, induced: {file}" for name, file in files.items()] + notes[: len(files)]


def _two_tables(result: dict[str, Any]) -> str:
    """Summarize a release in two tables: what was released, what holds, and what does not."""
    (goal,) = result["goals"]
    quasi, sensitive = result["files"]
    lines = [
        f"released {result['released']:,} of {result['rows']:,} rows in {result['classes']:,} groups "
        f"({result['suppressed']:,} suppressed), {result['seconds']:.1f} s",
        "  method anatomy: quasi values unchanged, sensitive values in a separate table",
        f"  {kinds_line(result['kinds'])}",
        f"  {goal['type']} of `{goal['column']}`: asked {goal['asked']}, achieved {goal['achieved']} - "
        "verified on the written files",
        "  k-anonymity: not promised",
        *protection_line(result),
        *accepted_lines(result),
        f"  quasi:     {quasi}",
        f"  sensitive: {sensitive}",
        f"  manifest:  {result['manifest']}",
        f"  report:    {result['report']}",
        f"  check:     shoal verify {result['output']} --recipe RECIPE.toml",
        *hierarchy_lines(result),
    ]
    return "\n".join(lines)


def _several_views(result: dict[str, Any]) -> str:
    """Summarize what was released in each view and which goals hold."""
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
        f"  loss of all views: {gcp:.1%} (GCP; 0 % is the raw table, 100 % means nothing is left)",
        *(f"  {line}" for line in bound_lines(result)),
        *(f"  {line}" for line in _together(result)),
        *protection_line(result),
        *accepted_lines(result),
        f"  manifest: {result['manifest']}",
        f"  check:    shoal verify {result['output']} --recipe RECIPE.toml",
        *hierarchy_lines(result),
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
    """Return the GCP of the published values, or of the classes if typical values are published."""
    gcp = result["loss"]["gcp"]
    share: float = result["loss_tight"]["gcp"] if gcp is None else gcp
    return share


def _together(result: dict[str, Any]) -> list[str]:
    if len(result["views"]) == 1 and result["composition"] is None:
        return ["there is one view"]
    if result["views_by"] == "projection":
        return ["all views show the same clustering: they reveal no more than its release in one table"]
    if result["composition"] is None:
        return ["not checked together: several views may reveal more than each of them alone"]
    return composition_lines(result["composition"])


def goal_line(goal: dict[str, Any]) -> str:
    """Format a goal with its requested and achieved value."""
    column = goal["column"]
    names = [column] if isinstance(column, str) else column or []
    about = f" of {' and '.join(f'`{name}`' for name in names)}" if names else ""
    variant = f" ({goal['variant']})" if goal.get("variant") else ""
    people = " (counting people)" if goal.get("counts") == "people" else ""
    asked, achieved = _short(goal["asked"]), _short(goal["achieved"])
    return f"{goal['type']}{variant}{about}: asked {asked}, achieved {achieved}{people}"


def _short(number: float | None) -> str:
    if number is None:
        return "no finite number"
    return f"{number:.4g}" if isinstance(number, float) else str(number)


def composition_lines(found: dict[str, Any] | None) -> list[str]:
    """Summarize what several tables reveal together, if that was checked."""
    if found is None:
        return []
    lines = [f"together with {found['views'] - 1} more tables: {found['verdict']}"]
    if not found["holds"]:
        lines.append(
            f"ACCEPTED although {found['refused_rows']} of {found['rows']} rows do not meet the goals: fewer "
            f"than k = {found['k']} possible values for {found['below_m']}, {found['below_j']} linked across "
            "tables"
        )
    return lines


def accepted_lines(result: dict[str, Any]) -> list[str]:
    """List the accepted dangers, each with the reason; `earlier` concerns no column and has none."""
    return [
        f"  ACCEPTED: {danger['message']}{_reason(danger) if danger['columns'] else ''}"
        for danger in result["dangers"]
        if danger["accepted"]
    ]


def _reason(danger: dict[str, Any]) -> str:
    return f" Reason: {danger['reason']}" if danger["reason"] else " No reason was given."


def kinds_line(kinds: Mapping[str, Mapping[str, Any]]) -> str:
    """Format the kinds of the quasi columns in one line: those detected, then those given.

    Examples
    --------
    >>> kinds_line({"age": {"kind": "numeric", "found": True}, "born": {"kind": "date", "found": False}})
    'kinds detected: age numeric; given: born date'
    """
    parts = []
    for title, is_found in (("detected", True), ("given", False)):
        listed = [f"{name} {_kind_text(of)}" for name, of in kinds.items() if of["found"] is is_found]
        if listed:
            parts.append(f"{title}: {', '.join(listed)}")
    return f"kinds {'; '.join(parts)}"


def _kind_text(of: Mapping[str, Any]) -> str:
    return f"{of['kind']} ({of['precision']}s)" if "precision" in of else str(of["kind"])


def bound_lines(result: dict[str, Any]) -> list[str]:
    """Compare the loss of a release with the lower bound, if there is one."""
    if result["bound"] is None:
        return []
    il = result["loss"]["il"]
    if il is None:  # typical values are not boxes, but their classes are
        il = result["loss_tight"]["il"] if "loss_tight" in result else None
    line = f"lower bound of Total IL: {bound_text(result)}"
    if il is not None and result["bound"] > 0:
        line += f"; this release has {loss_text(il)}, {il / result['bound']:.2f} times the bound"
    return [line, *gap_lines(result)]


def gap_lines(result: dict[str, Any]) -> list[str]:
    """Return how far a loss is from the least possible one at most, if that is known."""
    if result["bound_gap"] is None:
        return []
    sure = ""
    if result["bound_is_estimate"]:
        views = [view for view in result.get("views", ()) if view.get("bound_is_estimate")]
        # One estimate is too high with a probability of 1 %; of a sum of several, the errors add up.
        sure = f", with {max(0, 100 - max(1, len(views)))}% confidence"
    return [f"at most {result['bound_gap']:.0%} above the least possible loss{sure}".replace("%", " %")]


def bound_text(result: dict[str, Any]) -> str:
    """Format a bound, whether it is an estimate, and how it was computed."""
    kind = "an estimate: " if result["bound_is_estimate"] else ""
    return f"{loss_text(result['bound'])} ({kind}{result['bound_how']})"


def loss_text(loss: float) -> str:
    """Format a loss, as an integer if it is large."""
    return f"{loss:,.0f}" if abs(loss) >= 1000 else f"{loss:.4g}"
