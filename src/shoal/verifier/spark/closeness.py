"""t-closeness along an order and in a tree: the distances of `verifier.goals.tcloseness` in Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.verifier.cells.places import Tree
from shoal.verifier.spark.classes import Source
from shoal.verifier.spark.counted import Counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# For each place of the order the sum of the counts up to it (`upto`) and before it (`low`), and the sum of
# these sums before it; one place more at the end.
_LINE = (
    "WITH sums AS (SELECT value AS place, sum(n) OVER (ORDER BY value) AS upto FROM {whole} "
    "UNION ALL SELECT count(*), sum(n) + 1 FROM {whole}) "
    "SELECT place, upto, coalesce(lag(upto) OVER (ORDER BY place), 0) AS low, "
    "coalesce(sum(CAST(upto AS DECIMAL(28, 0))) OVER (ORDER BY place "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before FROM sums"
)
# The place where the sums of all parts pass that of the class: the one with low <= passed < upto. Spark joins
# by equality only, so the sums are cut into as many bins as there are values, and each place is in every
# bin that it reaches into.
_ORDERED = (
    "WITH s AS (SELECT sum(n) AS n, count(*) AS m, "
    "greatest(1, sum(n) DIV greatest(1, count(*))) AS bin FROM {whole}), "
    "bins AS (SELECT place, low, upto, explode(sequence(low DIV bin, (upto - 1) DIV bin)) AS at "
    "FROM {line}, s), "
    "steps AS (SELECT class, total, s.n AS n, m, bin, value AS place, sum(c.n) OVER so_far AS held, "
    "coalesce(lead(value) OVER so_far, m) AS next FROM {totals} JOIN {counted} c USING (class), s "
    "WINDOW so_far AS (PARTITION BY class ORDER BY value)), "
    "passing AS (SELECT *, (CAST(held AS DECIMAL(19, 0)) * n) DIV CAST(total AS DECIMAL(19, 0)) AS passed "
    "FROM steps), "
    "turned AS (SELECT p.*, greatest(p.place, least(next, b.place)) AS turn FROM passing p "
    "JOIN bins b ON passed DIV bin = b.at AND low <= passed AND passed < upto) "
    "SELECT class, sum(CAST(held AS DECIMAL(19, 0)) * n * ((turn - t.place) - (next - turn)) "
    "+ CAST(total AS DECIMAL(38, 0)) * ((c.before - b.before) - (b.before - a.before))) "
    "+ any_value(CAST(total AS DECIMAL(38, 0))) * min(a.before) AS above, "
    "any_value(CAST(total AS DECIMAL(19, 0)) * n * (m - 1)) AS below FROM turned t "
    "JOIN {line} a ON a.place = t.place JOIN {line} b ON b.place = turn JOIN {line} c ON c.place = next "
    "GROUP BY class"
)

_HIERARCHICAL = (
    "WITH children AS (SELECT node, child, sum(n) AS p FROM {tree} JOIN {whole} USING (value) "
    "GROUP BY node, child), "
    "nodes AS (SELECT node, sum(p) AS p FROM children GROUP BY node), "
    "s AS (SELECT sum(n) AS n FROM {whole}), "
    "reached AS (SELECT class, node, child, height, total, "
    "CAST(sum(c.n) AS DECIMAL(19, 0)) * any_value(s.n) AS held "
    "FROM {totals} JOIN {counted} c USING (class) JOIN {tree} USING (value), s "
    "GROUP BY class, node, child, height, total), "
    "extras AS (SELECT class, node, height, CAST(total AS DECIMAL(19, 0)) AS total, p, "
    "held - CAST(p AS DECIMAL(19, 0)) * total AS extra FROM reached JOIN children USING (node, child)), "
    "costs AS (SELECT class, any_value(total) AS total, any_value(height) * least(sum(greatest(extra, 0)), "
    "sum(greatest(-extra, 0)) + any_value(total) * (any_value(nodes.p) - sum(extras.p))) AS cost "
    "FROM extras JOIN nodes USING (node) GROUP BY class, node) "
    "SELECT class, sum(cost) AS above, any_value(total * s.n) * :height AS below FROM costs, s GROUP BY class"
)

# A class without values has none of these numbers, and the distance 0.
_DIVIDED = (
    "SELECT class, n_rows, coalesce(CAST(above AS DOUBLE) / nullif(CAST(below AS DOUBLE), 0D), 0D) AS number "
    "FROM {classes} LEFT JOIN {found} USING (class)"
)


def ordered(source: Source, counts: Counts) -> DataFrame:
    """Return the distance of every class along the order of the values."""
    line = source.keep(source.spark.sql(_LINE, whole=counts.whole))
    return _divided(source, source.spark.sql(_ORDERED, line=line, **vars(counts)))


def hierarchical(source: Source, counts: Counts, above: Tree) -> DataFrame:
    """Return the distance of every class in the tree of the values."""
    steps = list(zip(*above.columns(), strict=True))
    frame = source.spark.createDataFrame(steps, "value bigint, node bigint, child bigint, height bigint")
    found = source.spark.sql(_HIERARCHICAL, args={"height": above.height}, tree=frame, **vars(counts))
    return _divided(source, found)


def _divided(source: Source, found: DataFrame) -> DataFrame:
    return source.spark.sql(_DIVIDED, classes=source.classes, found=found)
