"""What a file reveals although its promises hold, as far as the file alone shows it.

Only a kept column that is unique on most rows is a problem, unless the recipe accepts it explicitly.
Everything else is a remark, and so is what the recipe accepts, with the reason. In files of fewer than
`MIN_ROWS` rows nearly every value is rare and nearly every rule holds by chance, so they are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.recipe import Recipe
from shoal.verifier.cells.published import Named
from shoal.verifier.goals.classes import Source
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session
from shoal.verifier.reading.value import comparable
from shoal.verifier.verdict import Problem, count

MIN_ROWS = 20
NOTABLE = 0.1  # share of the rows above which there is a remark
REFUSED = 0.5  # share of unique rows above which a kept column is a problem
_MIN_EXACT = 5  # rows with an exact quasi value that a rule is learned from
_MIN_RECOVERED = 10
_FLOATS = ("FLOAT", "DOUBLE")  # types that have NaN


@dataclass(frozen=True)
class _Quasi:
    """A quasi column in SQL: its exact value or NULL, and whether it was generalized."""

    name: str
    exact: str
    generalized: str


def danger_findings(source: Source, quasi: Sequence[str]) -> tuple[list[Problem], list[str]]:
    """Find all dangers; `quasi` are the columns of the file that quasi columns are published as."""
    loaded, recipe = source.loaded, source.recipe
    if loaded.rows < MIN_ROWS:
        return [], []
    exact = _exact_columns(source)
    own = {name: _own_rows(source.session, loaded, name) for name in unique_looked_at(loaded, recipe)}
    problems, remarks = unique_findings(own, loaded.rows, recipe)
    for name in _present(loaded, recipe, "keep", "sensitive"):
        for column in exact:
            remarks += _compared(source, name, column)
    if recipe.shape.has_classes:
        for name in _present(loaded, recipe, "sensitive"):
            remarks += _alike_remarks(source, name, quasi)
    return problems, remarks


def accepted_remarks(recipe: Recipe) -> list[str]:
    """Say which dangers the recipe accepts, and why."""
    return [
        f"The recipe accepts `{danger}` of column `{name}`" + (f": {why}" if why else ", without a reason.")
        for name, column in recipe.columns.items()
        for danger, why in column.accepted.items()
    ]


def unique_problems(session: Session, loaded: Loaded, recipe: Recipe) -> list[Problem]:
    """Find kept columns that are unique on more than half of the rows and not accepted."""
    if loaded.rows < MIN_ROWS:
        return []
    kept = [name for name in unique_looked_at(loaded, recipe) if recipe.columns[name].role == "keep"]
    own = {name: _own_rows(session, loaded, name) for name in kept}
    return unique_findings(own, loaded.rows, recipe)[0]


def unique_looked_at(loaded: Named, recipe: Recipe) -> list[str]:
    """List the columns released as they are of which nobody has accepted that they are unique."""
    return [
        name for name in _present(loaded, recipe, "keep", "sensitive") if not _accepts(recipe, name, "unique")
    ]


def unique_findings(own: Mapping[str, int], rows: int, recipe: Recipe) -> tuple[list[Problem], list[str]]:
    """Say which columns have a value that no other row has in many rows; `own` says in how many."""
    problems, remarks = [], []
    for name, number in own.items():
        is_kept = recipe.columns[name].role == "keep"
        title = "Kept" if is_kept else "Sensitive"
        of = f"{number} of {count(rows, 'row')}"
        message = f"{title} column `{name}` has a value that no other row has in {of}."
        if is_kept and number > REFUSED * rows:
            problems.append(Problem("verify.unique", message))
        elif number > NOTABLE * rows:
            remarks.append(message)
    return problems, remarks


def _present(loaded: Named, recipe: Recipe, *roles: str) -> list[str]:
    return [name for name in recipe.named(*roles) if loaded.has_once(name)]


def _accepts(recipe: Recipe, name: str, danger: str) -> bool:
    return danger in recipe.columns[name].accept


def _own_rows(session: Session, loaded: Loaded, name: str) -> int:
    """Count the rows whose value no other row has; a missing cell is not a value."""
    cell = loaded.column(name)
    missing = ["nan"] if loaded.stored(name) in _FLOATS else []
    # Only distinct cells are normalized, which is slower than finding them.
    different = f"SELECT {cell}, count(*) AS n FROM {loaded.table} GROUP BY {cell}"
    formed = f"SELECT {comparable(cell, marked=loaded.marked)} AS value, n FROM ({different})"
    values = f"SELECT value, sum(n) AS n FROM ({formed}) WHERE value IS NOT NULL GROUP BY value"
    return int(session.row(f"SELECT count(*) FILTER (n = 1) FROM ({values})", [missing])[0])


def _exact_columns(source: Source) -> list[_Quasi]:
    """List the quasi columns whose exact cells can be distinguished from generalized ones.

    Where classes are published as typical values, or a hierarchy has named nodes, the file does not show
    which is which.
    """
    loaded, recipe = source.loaded, source.recipe
    if recipe.output.values == "microaggregate":
        return []
    columns = []
    for name in recipe.quasi:
        low, high = f"{name}_low", f"{name}_high"
        if loaded.has_once(name) and recipe.columns[name].hierarchy is None:
            cell = loaded.column(name)
            hidden = f"({cell} = '*' OR {cell} LIKE '[%]' OR {cell} LIKE '{{%}}')"
            columns.append(_Quasi(name, f"CASE WHEN NOT {hidden} THEN {cell} END", hidden))
        elif not loaded.has_once(name) and loaded.has_once(low) and loaded.has_once(high):
            one, other = loaded.column(low), loaded.column(high)
            columns.append(_Quasi(name, f"CASE WHEN {one} = {other} THEN {one} END", f"{one} <> {other}"))
    return columns


def _compared(source: Source, name: str, quasi: _Quasi) -> list[str]:
    """Compare a column that is released unchanged with the exact cells of a quasi column."""
    recipe = source.recipe
    cell = source.loaded.column(name)
    source.session.database.execute(
        f"CREATE OR REPLACE TEMP TABLE seen AS SELECT {cell} AS a, {quasi.exact} AS q, count(*) AS n "
        f"FROM {source.loaded.table} WHERE a IS NOT NULL AND q IS NOT NULL GROUP BY ALL"
    )
    if recipe.columns[name].role == "sensitive" and _is_one_to_one(source.session):
        if _accepts(recipe, name, "duplicate"):
            return []
        return [f"Sensitive column `{name}` duplicates quasi column `{quasi.name}` wherever that is exact."]
    number, hidden = _recovered(source, cell, quasi)
    if not number or _accepts(recipe, name, "recoverable"):
        return []
    return [
        f"The generalized `{quasi.name}` of {number} of {count(hidden, 'row')} can be inferred from `{name}` "
        f"and the rows in which `{quasi.name}` is exact."
    ]


def _is_one_to_one(session: Session) -> bool:
    """Return whether each value goes with one exact quasi value and vice versa."""
    pairs, values, others, rows = session.row(
        "SELECT count(*), count(DISTINCT a), count(DISTINCT q), coalesce(sum(n), 0) FROM seen"
    )
    return bool(pairs == values == others and pairs > 1 and rows >= max(MIN_ROWS, 2 * pairs))


def _recovered(source: Source, cell: str, quasi: _Quasi) -> tuple[int, int]:
    """Count the generalized cells that can be inferred, and all; 0 if few or no more than by chance.

    A value that goes with one exact quasi value in enough rows is a rule. By chance, n rows agree with a
    probability of p^(n - 1), where p is the share of their quasi value.
    """
    hidden, number, chance = source.session.row(
        "WITH share AS (SELECT q, sum(n) / (SELECT sum(n) FROM seen) AS part FROM seen GROUP BY q), "
        "rule AS (SELECT a, any_value(q) AS q, sum(n) AS n FROM seen GROUP BY a "
        "HAVING count(*) = 1 AND sum(n) >= ?), "
        f"hidden AS (SELECT {cell} AS a, count(*) AS n FROM {source.loaded.table} "
        f"WHERE {quasi.generalized} GROUP BY a) "
        "SELECT (SELECT coalesce(sum(n), 0) FROM hidden), coalesce(sum(hidden.n), 0), "
        "coalesce(sum(hidden.n * pow(part, rule.n - 1)), 0) "
        "FROM hidden JOIN rule USING (a) JOIN share USING (q)",
        [_MIN_EXACT],
    )
    notable = number >= _MIN_RECOVERED and number - chance > NOTABLE * hidden
    return int(number) if notable else 0, int(hidden)


def _alike_remarks(source: Source, name: str, quasi: Sequence[str]) -> list[str]:
    """Count the classes in which all rows have one sensitive value, and the values affected."""
    if _accepts(source.recipe, name, "alike"):
        return []
    loaded = source.loaded
    cell = loaded.column(name)
    keys = ", ".join(loaded.column(column) for column in quasi)
    of_class = f"SELECT min({cell}) AS low, max({cell}) AS high, count({cell}) AS present, count(*) AS n"
    classes, alike, rows, values = source.session.row(
        "SELECT count(*), count(*) FILTER (same), coalesce(sum(n) FILTER (same), 0), "
        "count(DISTINCT low) FILTER (same) FROM (SELECT *, "
        "present = 0 OR (present = n AND low = high) AS same "
        f"FROM ({of_class} FROM {loaded.table} GROUP BY {keys}))"
    )
    if not alike:
        return []
    (distinct,) = source.session.row(f"SELECT count(DISTINCT {cell}) FROM {loaded.table}")
    return [
        f"In {alike} of {count(classes, 'class', 'classes')} ({count(int(rows), 'row')}) everyone has the "
        f"same `{name}`; for {values} of its {count(distinct, 'value')}."
    ]
