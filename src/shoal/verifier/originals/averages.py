"""Typical values against the original: means, medians and modes that its rows cannot have.

A typical value has no box, and deciding whether rows can be assigned so that every class has its mean is
computationally hard. So only necessary conditions are checked: no class has a mean below that of the lowest
raw rows with its sensitive and kept values, or above that of the highest; all means together have the sum of
the original; and a mode occurs in some raw row with values of the class.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, log10

from shoal.recipe import Recipe
from shoal.verifier.cells.covers import found_kind
from shoal.verifier.originals.dated import with_dates
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session
from shoal.verifier.reading.value import comparable, settled
from shoal.verifier.verdict import Problem, count

_SLACK = 1e-9  # of a sum of floats

# The sums of the 1, 2, 3, ... lowest and highest raw values with the same link.
_SUMS = (
    "CREATE OR REPLACE TEMP TABLE sums AS SELECT link, "
    "row_number() OVER up AS place, sum(v) OVER (up ROWS UNBOUNDED PRECEDING) AS lowest, "
    "row_number() OVER down AS place_down, sum(v) OVER (down ROWS UNBOUNDED PRECEDING) AS highest "
    "FROM raw_values WINDOW up AS (PARTITION BY link ORDER BY v), down AS (PARTITION BY link ORDER BY v DESC)"
)
_REACH = (
    "SELECT class, sum(low.lowest) AS lowest, sum(high.highest) AS highest "
    "FROM (SELECT class, link, count(*) AS n FROM row_links GROUP BY ALL) w "
    "JOIN sums low ON low.link = w.link AND low.place = n "
    "JOIN sums high ON high.link = w.link AND high.place_down = n GROUP BY class"
)


def average_problems(session: Session, loaded: Loaded, original: Loaded, recipe: Recipe) -> list[Problem]:
    """Check every quasi column; call `build_classes` first."""
    names = [name for name in recipe.unchanged if loaded.has_once(name)]
    if not all(map(original.has_once, names)):  # reported elsewhere
        return []
    recipe = with_dates(session, original, recipe)
    quasi = [name for name in recipe.quasi if loaded.has_once(name)]
    _link_rows(session, loaded, quasi, names, recipe)
    problems = []
    for name in filter(original.has_once, quasi):
        kind = _link_values(session, original, name, names, recipe)
        check = _number_problems if kind == "numeric" else _mode_problems
        problems += check(session, loaded, name, recipe)
    return problems


def _link(table: Loaded, names: list[str], prefix: str = "") -> str:
    """Return the SQL of a row's sensitive and kept values; its parameters list the texts for missing."""
    forms = [comparable(prefix + table.column(name), marked=table.marked) for name in names]
    return f"[{', '.join(['CAST(NULL AS VARCHAR)', *forms])}]"  # an empty list would have no type


def _link_rows(session: Session, loaded: Loaded, quasi: list[str], names: list[str], recipe: Recipe) -> None:
    """Create the table ``row_links``: the class and the link of each released row."""
    same = " AND ".join(f"r.{cell} IS NOT DISTINCT FROM k.{cell}" for cell in map(loaded.column, quasi))
    session.database.execute(
        f"CREATE OR REPLACE TEMP TABLE row_links AS SELECT class, {_link(loaded, names, 'r.')} AS link "
        f"FROM {loaded.table} r JOIN classes k ON {same}",
        [recipe.input.missing] * len(names),
    )


def _link_values(session: Session, original: Loaded, name: str, names: list[str], recipe: Recipe) -> str:
    """Create the table ``raw_values``: text, number and link of each raw row; return the column's kind."""
    column = recipe.columns[name]
    form = settled(original.column(name), column.kind, marked=False)
    session.database.execute(
        f"CREATE OR REPLACE TEMP TABLE raw_values AS SELECT {form} AS value, TRY_CAST(value AS DOUBLE) AS v, "
        f"{_link(original, names)} AS link FROM {original.table}",
        [recipe.input.missing] * (len(names) + 1),
    )
    texts = session.rows("SELECT DISTINCT value FROM raw_values WHERE value IS NOT NULL")
    return column.kind or found_kind([text for (text,) in texts], column, original.stored(name))


def _number_problems(session: Session, loaded: Loaded, name: str, recipe: Recipe) -> list[Problem]:
    """Compare means with what raw rows allow; medians, and means with missing values, with the extremes."""
    rows, missing, low, high, total = session.row(
        "SELECT count(*), count(*) FILTER (v IS NULL), min(v), max(v), sum(v) FROM raw_values"
    )
    if low is None:
        return []
    step = _step(session, low, high)
    typical = f"TRY_CAST({loaded.column(name)} AS DOUBLE)"
    slack = step / 2 + _SLACK * max(abs(low), abs(high))
    if missing or recipe.output.aggregate == "median":
        reach = f"SELECT class, n_rows * {low} AS lowest, n_rows * {high} AS highest FROM classes"
    else:
        session.database.execute(_SUMS)
        reach = _REACH
    (outside,) = session.row(
        f"SELECT coalesce(sum(n_rows), 0) FROM classes JOIN ({reach}) USING (class) "
        f"WHERE {typical} * n_rows NOT BETWEEN lowest - n_rows * {slack} AND highest + n_rows * {slack}"
    )
    if outside:
        rows_with = f"{count(int(outside), 'row')} {'has' if outside == 1 else 'have'}"
        message = (
            f"{rows_with} a typical value of `{name}` that is impossible for raw rows with their values."
        )
        return [Problem("verify.original_match", message)]
    (found,) = session.row(f"SELECT sum({typical} * n_rows) FROM classes")
    comparable_sums = not missing and recipe.output.aggregate == "mean" and loaded.rows == rows
    if comparable_sums and abs(found - total) > rows * slack:
        message = f"The means of `{name}` do not add up to the sum of the original."
        return [Problem("verify.original_match", message)]
    return []


def _step(session: Session, low: float, high: float) -> float:
    """Return how coarsely means are rounded: like the raw numbers, or to a thousandth of their range."""
    texts = session.rows("SELECT DISTINCT value FROM raw_values WHERE v IS NOT NULL AND v % 1 <> 0")
    decimals = max((_decimals(text) for (text,) in texts), default=0)
    finest = float(Fraction(1, 10) ** min(decimals, 300))
    return max(finest, 10.0 ** floor(log10((high - low) / 1000))) if high > low else 1.0


def _decimals(text: str) -> int:
    mantissa, _, exponent = repr(float(text)).partition("e")
    return max(0, len(mantissa.partition(".")[2]) - int(exponent or 0))


def _mode_problems(session: Session, loaded: Loaded, name: str, recipe: Recipe) -> list[Problem]:
    """Look for modes that no raw row with values of the class has."""
    kind = recipe.columns[name].kind
    form = settled(f"regexp_replace({loaded.column(name)}, '^\\\\', '')", kind, marked=loaded.marked)
    (strange,) = session.row(
        f"SELECT coalesce(sum(n_rows), 0) FROM (SELECT class, n_rows, {form} AS value FROM classes) c "
        "WHERE NOT EXISTS (SELECT 1 FROM row_links l JOIN raw_values r USING (link) "
        "WHERE l.class = c.class AND r.value IS NOT DISTINCT FROM c.value)",
        [recipe.input.missing],
    )
    if not strange:
        return []
    rows = f"{count(int(strange), 'row')} {'has' if strange == 1 else 'have'}"
    message = f"{rows} a typical value of `{name}` that no raw row with their values has."
    return [Problem("verify.original_match", message)]
