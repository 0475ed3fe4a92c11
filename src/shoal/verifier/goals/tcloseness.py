"""t-closeness: the earth mover's distance from each class to the whole file is at most t.

Li, Li, Venkatasubramanian (2007), "t-closeness: privacy beyond k-anonymity and l-diversity". With the shares
p of the values in the file and q in the class:

- equal: half the sum of abs(q - p);
- ordered: the sum of abs(cumulative q - p) over the values in order, over m - 1, where m is the number of
  values that the file has; 0 for m = 1;
- hierarchical: in the tree of the domain, from the leaves up, surplus and deficit of a node's children are
  balanced as far as possible, at a cost of the node's height over the root's.

A class without values has 0. Below, a class has counts n with the sum `total`, the file P with the sum N, so
that total N (q - p) = n N - P total is whole, and the distance is one division of whole numbers: exactly 1/5
is 0.2. No class is compared with all values of the file, only with those that it has.
"""

from __future__ import annotations

from shoal.recipe.goals import TCloseness
from shoal.verifier.cells.places import Tree, order, tree
from shoal.verifier.goals.classes import Source
from shoal.verifier.goals.counted import count_places, count_values, texts
from shoal.verifier.goals.score import Finding, Score, judge, stated
from shoal.verifier.verdict import Problem

# Each value that the class lacks has a difference of P total, together total (N - the sum of P it has).
_EQUAL = (
    "SELECT class, sum(abs(c.n * s.n - w.n * total)) + any_value(total) * (any_value(s.n) - sum(w.n)) "
    "AS above, 2 * any_value(total * s.n) AS below "
    "FROM totals JOIN counted c USING (class) JOIN whole w USING (value), "
    "(SELECT sum(n) AS n FROM whole) s GROUP BY class"
)

# `line`: for each position in the order, the sum of the file's counts up to it, and the sum of these sums
# before it; one extra position at the end.
_LINE = (
    "CREATE OR REPLACE TEMP TABLE line AS SELECT value AS place, upto, "
    "coalesce(sum(upto) OVER (ORDER BY value ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before "
    "FROM (SELECT value, sum(n) OVER (ORDER BY value) AS upto FROM whole "
    "UNION ALL SELECT count(*), sum(n) + 1 FROM whole)"
)
# From one value of the class to its next, the class's sum is constant (`held`) while the file's grows: below
# `turn` held N is higher, from there on total times the file's sum. Before the first value the class's sum
# is 0.
_ORDERED = (
    "WITH s AS (SELECT sum(n) AS n, count(*) AS m FROM whole), "
    "steps AS (SELECT class, total, s.n AS n, m, value AS place, sum(c.n) OVER so_far AS held, "
    "coalesce(lead(value) OVER so_far, m) AS next FROM totals JOIN counted c USING (class), s "
    "WINDOW so_far AS (PARTITION BY class ORDER BY value)), "
    "turned AS (SELECT steps.*, greatest(steps.place, least(next, line.place)) AS turn "
    "FROM steps ASOF JOIN line ON (held * n) // total < line.upto) "
    "SELECT class, sum(held * n * ((turn - t.place) - (next - turn)) "
    "+ total * ((c.before - b.before) - (b.before - a.before))) + any_value(total) * min(a.before) AS above, "
    "any_value(total * n * (m - 1)) AS below FROM turned t "
    "JOIN line a ON a.place = t.place JOIN line b ON b.place = turn JOIN line c ON c.place = next "
    "GROUP BY class"
)

# `tree`: for each leaf that the file has, the nodes above it, each with the child on the path to the leaf.
# A child that the class does not reach lacks P total; together total (P of the node - the sum of P reached).
_HIERARCHICAL = (
    "WITH children AS (SELECT node, child, sum(n) AS p FROM tree JOIN whole USING (value) GROUP BY ALL), "
    "nodes AS (SELECT node, sum(p) AS p FROM children GROUP BY node), "
    "s AS (SELECT sum(n) AS n FROM whole), "
    "reached AS (SELECT class, node, child, height, total, sum(c.n) * any_value(s.n) AS held "
    "FROM totals JOIN counted c USING (class) JOIN tree USING (value), s GROUP BY ALL), "
    "extras AS (SELECT class, node, height, total, p, held - p * total AS extra "
    "FROM reached JOIN children USING (node, child)), "
    "costs AS (SELECT class, any_value(total) AS total, any_value(height) * least(sum(greatest(extra, 0)), "
    "sum(greatest(-extra, 0)) + any_value(total) * (any_value(nodes.p) - sum(extras.p))) AS cost "
    "FROM extras JOIN nodes USING (node) GROUP BY class, node) "
    "SELECT class, sum(cost) AS above, any_value(total * s.n) * ? AS below FROM costs, s GROUP BY class"
)


def t_closeness(source: Source, goal: TCloseness) -> Finding:
    """Measure the largest distance."""
    if goal.distance == "equal":
        count_values(source, goal.columns)
        return judge(source, goal, _distances(source, _EQUAL))
    (name,) = goal.columns
    found = texts(source, name)
    stored = source.loaded.stored(name)
    if goal.distance == "ordered":
        places = order(source.recipe, name, found, stored)
        if isinstance(places, Problem):
            return Finding(stated(goal, source.counts), places)
        count_places(source, name, places)
        source.session.database.execute(_LINE)
        return judge(source, goal, _distances(source, _ORDERED))
    above = tree(source.recipe, name, found, stored)
    if isinstance(above, Problem):
        return Finding(stated(goal, source.counts), above)
    count_places(source, name, above.places)
    _load_tree(source, above)
    return judge(source, goal, _distances(source, _HIERARCHICAL, [above.height]))


def _distances(source: Source, query: str, parameters: list[int] | None = None) -> list[Score]:
    """Divide; Python rounds the quotient of two whole numbers once, however large they are."""
    found = source.session.rows(
        "SELECT above, below, count(*), sum(n_rows) "
        f"FROM classes LEFT JOIN ({query}) USING (class) GROUP BY ALL",
        parameters or [],
    )
    return [
        Score(int(above) / int(below) if below else 0.0, int(classes), int(rows))
        for above, below, classes, rows in found
    ]


def _load_tree(source: Source, above: Tree) -> None:
    """Create the table ``tree``."""
    import pyarrow as pa

    columns = [pa.array(column, pa.int64()) for column in above.columns()]
    database = source.session.database
    database.register(
        "given", pa.table(dict(zip(("value", "node", "child", "height"), columns, strict=True)))
    )
    database.execute("CREATE OR REPLACE TEMP TABLE tree AS FROM given")
    database.unregister("given")
