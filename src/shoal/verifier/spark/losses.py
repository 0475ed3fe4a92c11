"""What a manifest says was lost, as far as the classes show it; see `verifier.loss`."""

from __future__ import annotations

from shoal.verifier.manifest import Claims, claimed_suppressed
from shoal.verifier.spark.classes import ClassFacts, Source


def class_losses(source: Source, facts: ClassFacts, claims: Claims) -> dict[str, float | None]:
    """Measure the discernibility metric, the average class, and the label's majority, if they are claimed."""
    if "loss" not in claims.sections or not source.table.number:
        return {}
    recipe, suppressed = source.recipe, claimed_suppressed(claims)
    n = source.table.number + suppressed
    losses: dict[str, float | None] = {
        "dm": facts.squares + n * suppressed,
        "c_avg": n / facts.classes / recipe.privacy.k,
    }
    label = recipe.label
    if label in recipe.named("sensitive", "keep") and source.table.has_once(label):
        value = source.table.column(label)
        (most,) = source.spark.sql(
            "SELECT sum(n) FROM (SELECT max(n) AS n FROM "
            f"(SELECT class, sum(times) AS n FROM {{cells}} GROUP BY class, {value}) GROUP BY class)",
            cells=source.cells,
        ).collect()[0]
        losses["cm"] = 1 - int(most) / n
    return losses
