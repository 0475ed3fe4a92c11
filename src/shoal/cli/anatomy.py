"""What `shoal anonymize` prints about a release in two tables."""

from __future__ import annotations

from typing import Any

from shoal.cli.dangers import accepted_lines
from shoal.cli.kinds import kinds_line


def anatomy_summary(result: dict[str, Any]) -> str:
    """Say in a few lines what was released and what holds, and what does not."""
    (goal,) = result["goals"]
    quasi, sensitive = result["files"]
    lines = [
        f"released {result['released']:,} of {result['rows']:,} rows in {result['classes']:,} groups "
        f"({result['suppressed']:,} suppressed), {result['seconds']:.1f} s",
        "  method anatomy: quasi values unchanged, sensitive ones in a table of their own",
        f"  {kinds_line(result['kinds'])}",
        f"  {goal['type']} of `{goal['column']}`: asked {goal['asked']}, achieved {goal['achieved']} - "
        "verified on the written files",
        "  k-anonymity: not promised",
        *accepted_lines(result),
        f"  quasi:     {quasi}",
        f"  sensitive: {sensitive}",
        f"  manifest:  {result['manifest']}",
        f"  report:    {result['report']}",
        f"  check:     shoal verify {result['output']} --recipe RECIPE.toml",
    ]
    return "\n".join(lines)
