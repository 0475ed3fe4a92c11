"""Two tables against the one that they were made from: no row invented, no value changed."""

from __future__ import annotations

from shoal.recipe import ANATOMY_COUNT, Recipe
from shoal.verifier.originals.dated import with_dates
from shoal.verifier.originals.group_members import group_problems
from shoal.verifier.originals.original import row_problems
from shoal.verifier.reading.load import Loaded
from shoal.verifier.reading.session import Session, column
from shoal.verifier.reading.value import settled
from shoal.verifier.verdict import Problem, count, listed


def parts_original_problems(
    session: Session, parts: tuple[Loaded, Loaded | None], original: Loaded, recipe: Recipe
) -> list[Problem]:
    """Compare with the original.

    The sensitive file is compared only if both files agree: otherwise its counts are not rows.
    """
    quasi, sensitive = parts
    recipe = with_dates(session, original, recipe)
    problems = row_problems(quasi.rows, original.rows, recipe.privacy.max_suppressed)
    known = [name for name in recipe.named("quasi", "keep") if name not in recipe.perturbed]
    problems += _value_problems(session, quasi, original, known, recipe)
    if sensitive is not None:
        (name,) = recipe.named("sensitive")
        expanded = _expanded(session, sensitive, name, quasi.rows)
        problems += _value_problems(session, expanded, original, [name], recipe)
        if not problems:
            problems += group_problems(session, (quasi, sensitive), original, recipe)
    return problems


def _expanded(session: Session, sensitive: Loaded, name: str, rows: int) -> Loaded:
    """Expand the counts to one row for each person."""
    value, times = sensitive.column(name), sensitive.column(ANATOMY_COUNT)
    session.database.execute(
        f"CREATE TEMP TABLE expanded AS SELECT {value} AS {column(0)} FROM {sensitive.table}, "
        f"range(CAST({times} AS BIGINT))"
    )
    return Loaded("expanded", (name,), rows, sensitive.marked)


def _value_problems(
    session: Session, part: Loaded, original: Loaded, names: list[str], recipe: Recipe
) -> list[Problem]:
    """Check that every combination of cells occurs in the original at least as often."""
    absent = [name for name in names if not original.has_once(name)]
    if absent:
        message = f"Columns missing from the original, or in it twice: {listed(absent)}."
        return [Problem("verify.original_values", message)]
    same = " AND ".join(f"a.v{i} IS NOT DISTINCT FROM b.v{i}" for i in range(len(names)))
    missing = [recipe.input.missing] * len(names)
    (strange,) = session.row(
        "SELECT coalesce(sum(greatest(a.n - coalesce(b.n, 0), 0)), 0) "
        f"FROM ({_combinations(part, names, recipe)}) a "
        f"LEFT JOIN ({_combinations(original, names, recipe)}) b ON {same}",
        [*missing, *missing],
    )
    if not strange:
        return []
    rows = f"{count(int(strange), 'row')} {'has' if strange == 1 else 'have'}"
    message = f"{rows} values in {listed(names)} that the original does not have, or has less often."
    return [Problem("verify.original_values", message)]


def _combinations(part: Loaded, names: list[str], recipe: Recipe) -> str:
    """Return the SQL that counts the combinations of normalized cells."""
    cells = ", ".join(
        f"{settled(part.column(name), recipe.columns[name].kind, marked=part.marked)} AS v{i}"
        for i, name in enumerate(names)
    )
    return f"SELECT *, count(*) AS n FROM (SELECT {cells} FROM {part.table}) GROUP BY ALL"
