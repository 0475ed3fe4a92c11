"""A release in two tables: quasi values with a group, and groups with the values in them.

Both files are read and joined by the group. Each has the promised columns and no others, so that only
the group links them; both have the same groups, of the same sizes; and every group has l or more values,
none with a share above 1 / l. A missing value is not a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.recipe import ANATOMY_COUNT, ANATOMY_GROUP, Recipe
from shoal.verifier.cells.codes_at_ends import code_problems
from shoal.verifier.dangers import accepted_remarks, unique_problems
from shoal.verifier.header import header_problems
from shoal.verifier.manifest import Claims, Counted, number_problems, parts_digest_problems, read_manifest
from shoal.verifier.order import is_shuffled, order_problems
from shoal.verifier.originals.group_tables import parts_original_problems
from shoal.verifier.originals.original import load_original
from shoal.verifier.reading.load import Loaded, existing, load, load_arrow
from shoal.verifier.reading.session import Session, UnreadableError, session
from shoal.verifier.verdict import MeasuredGoal, Problem, Verdict, conclude, count

if TYPE_CHECKING:
    import pyarrow as pa

_TITLES = ("quasi", "sensitive")
_WHOLE = "^[1-9][0-9]{0,17}$"
_GOAL = "l-diversity"

Load = Callable[[Session, int], Loaded]


@dataclass(frozen=True)
class _Parts:
    """Both tables in the database."""

    quasi: Loaded
    sensitive: Loaded


def verify_parts(
    path: str | Path,
    recipe: Recipe,
    *,
    original: str | Path | None = None,
    rows: int | None = None,
    manifest: bool = True,
) -> Verdict:
    """Verify ``X.quasi.csv`` and ``X.sensitive.csv``, given ``X.csv``; see `verify`."""
    named = Path(path)
    files = [existing(named.with_name(f"{named.stem}.{title}{named.suffix}")) for title in _TITLES]
    raw = None if original is None else existing(original, any_ending=True, folder=True)
    claims = read_manifest(named) if manifest else Claims()
    before = parts_digest_problems(claims, dict(zip(_TITLES, files, strict=True)))
    promised = _promised(recipe)

    def read(open_session: Session, at: int) -> Loaded:
        safe = recipe.output.spreadsheet_safe
        return load(open_session, files[at], promised[at], spreadsheet_safe=safe)

    return _verdict(recipe, read, rows, before, raw, claims)


def verify_part_files(quasi: Path, sensitive: Path, recipe: Recipe, *, rows: int | None = None) -> Verdict:
    """Verify two files, whatever their names."""
    files = (existing(quasi), existing(sensitive))
    promised = _promised(recipe)

    def read(open_session: Session, at: int) -> Loaded:
        safe = recipe.output.spreadsheet_safe
        return load(open_session, files[at], promised[at], spreadsheet_safe=safe)

    return _verdict(recipe, read, rows)


def verify_part_tables(
    quasi: pa.Table, sensitive: pa.Table, recipe: Recipe, *, rows: int | None = None
) -> Verdict:
    """Verify two pyarrow tables in memory."""
    tables = (quasi, sensitive)
    return _verdict(recipe, lambda opened, at: load_arrow(opened, tables[at], "released"), rows)


def _promised(recipe: Recipe) -> tuple[list[str], list[str]]:
    """List the columns of both files."""
    quasi = [*recipe.named("quasi", "keep"), ANATOMY_GROUP]
    return quasi, [ANATOMY_GROUP, *recipe.named("sensitive"), ANATOMY_COUNT]


def _verdict(
    recipe: Recipe,
    read: Load,
    rows: int | None,
    before: Sequence[Problem] = (),
    raw: Path | None = None,
    claims: Claims = Claims(),  # noqa: B008  # it is frozen
) -> Verdict:
    with session(in_order=is_shuffled(recipe)) as open_session:
        loaded, problems = _loaded(open_session, read)
        problems = [*before, *problems]
        if loaded is None:
            return conclude(0, 0, None, [_goal(recipe, 0)], problems)
        problems += _header_problems(loaded, recipe)
        problems += _row_problems(loaded, rows)
        if not _is_complete(loaded, recipe):
            return conclude(loaded.quasi.rows, 0, None, [_goal(recipe, 0)], problems)
        for table in (loaded.quasi, loaded.sensitive):
            problems += order_problems(open_session, table, table.names, recipe)
            problems += code_problems(open_session, table, recipe)
        found = _cell_problems(open_session, loaded)
        _build_groups(open_session, loaded, recipe)
        found += [] if found else _group_problems(open_session)
        diversity, more = _diversity(open_session, recipe)
        problems += [*found, *more]
        problems += [_in("quasi", own) for own in unique_problems(open_session, loaded.quasi, recipe)]
        suppressed = None
        if raw is not None:
            original = load_original(open_session, raw, recipe)
            suppressed = original.rows - loaded.quasi.rows
            parts = (loaded.quasi, None if found else loaded.sensitive)
            problems += parts_original_problems(open_session, parts, original, recipe)
        groups = int(open_session.row("SELECT count(*) FROM groups")[0])
        goals = [_goal(recipe, diversity)]
        problems += number_problems(claims, Counted(loaded.quasi.rows, groups, goals, suppressed))
        return conclude(loaded.quasi.rows, groups, None, goals, problems, remarks=accepted_remarks(recipe))


def _goal(recipe: Recipe, achieved: int) -> MeasuredGoal:
    asked = _asked(recipe)
    return MeasuredGoal(_GOAL, recipe.named("sensitive")[0], asked, achieved, achieved >= asked)


def _asked(recipe: Recipe) -> int:
    options: Any = recipe.options
    return int(options.l)


def _loaded(session: Session, read: Load) -> tuple[_Parts | None, list[Problem]]:
    """Load each file into its own table; also return the problems of each."""
    tables, problems = [], []
    for at, title in enumerate(_TITLES):
        try:
            loaded = read(session, at)
            session.database.execute(f"ALTER TABLE released RENAME TO {title}_part")
            tables.append(replace(loaded, table=f"{title}_part"))
        except UnreadableError as fault:
            problems.append(_in(title, Problem(fault.code, fault.message)))
            session.database.execute("DROP TABLE IF EXISTS released")
    return (None if problems else _Parts(*tables)), problems


def _in(title: str, problem: Problem) -> Problem:
    """Add the file to a problem's message."""
    return Problem(problem.code, f"In the {title} file: {problem.message}")


def _header_problems(loaded: _Parts, recipe: Recipe) -> list[Problem]:
    problems = []
    for title, part, promised in zip(
        _TITLES, (loaded.quasi, loaded.sensitive), _promised(recipe), strict=True
    ):
        found = header_problems(part.names, recipe, promised=promised)
        problems += [_in(title, problem) for problem in found]
    return problems


def _row_problems(loaded: _Parts, expected: int | None) -> list[Problem]:
    problems = []
    for title, part in zip(_TITLES, (loaded.quasi, loaded.sensitive), strict=True):
        if part.rows == 0:
            problems.append(_in(title, Problem("verify.empty", "The file has no rows.")))
    if expected is not None and expected != loaded.quasi.rows:
        found = count(loaded.quasi.rows, "row")
        message = f"The file has {found}, but {expected} should have been released."
        problems.append(_in("quasi", Problem("verify.rows", message)))
    return problems


def _is_complete(loaded: _Parts, recipe: Recipe) -> bool:
    """Return whether it is clear which columns are the group, the value and the count."""
    quasi, sensitive = _promised(recipe)
    return all(map(loaded.quasi.has_once, quasi)) and all(map(loaded.sensitive.has_once, sensitive))


def _cell_problems(session: Session, loaded: _Parts) -> list[Problem]:
    """Check that groups and counts are positive whole numbers in canonical form."""
    problems = []
    for title, part, name in (
        ("quasi", loaded.quasi, ANATOMY_GROUP),
        ("sensitive", loaded.sensitive, ANATOMY_GROUP),
        ("sensitive", loaded.sensitive, ANATOMY_COUNT),
    ):
        column = part.column(name)
        (wrong,) = session.row(
            f"SELECT count(*) FROM {part.table} WHERE {column} IS NULL OR NOT regexp_full_match({column}, ?)",
            [_WHOLE],
        )
        if wrong:
            message = f"Column `{name}` has {count(int(wrong), 'cell')} without a positive whole number."
            problems.append(_in(title, Problem("verify.form", message)))
    return problems


def _build_groups(session: Session, loaded: _Parts, recipe: Recipe) -> None:
    """Create the table ``groups``: for each group of either file, its rows, and the counts of its values."""
    group, value, times = (loaded.sensitive.column(name) for name in _promised(recipe)[1])
    known = loaded.quasi.column(ANATOMY_GROUP)
    number = f"coalesce(TRY_CAST({times} AS HUGEINT), 0)"
    by_value = (
        f"SELECT {group} AS g, {value} AS v, sum({number}) AS n FROM {loaded.sensitive.table} GROUP BY ALL"
    )
    by_group = (
        "SELECT g, sum(n) AS total, coalesce(sum(n) FILTER (v IS NOT NULL), 0) AS present, "
        "count(*) FILTER (v IS NOT NULL AND n > 0) AS distinct_values, "
        f"coalesce(max(n) FILTER (v IS NOT NULL), 0) AS highest FROM ({by_value}) GROUP BY g"
    )
    sizes = f"SELECT {known} AS g, count(*) AS size FROM {loaded.quasi.table} GROUP BY ALL"
    session.database.execute(
        "CREATE TEMP TABLE groups AS SELECT coalesce(size, 0) AS size, coalesce(total, 0) AS total, "
        "coalesce(present, 0) AS present, coalesce(distinct_values, 0) AS distinct_values, "
        f"coalesce(highest, 0) AS highest FROM ({sizes}) a FULL JOIN ({by_group}) b "
        "ON a.g IS NOT DISTINCT FROM b.g"
    )


def _group_problems(session: Session) -> list[Problem]:
    """Check that both files have the same groups, of the same sizes."""
    alone, other = session.row(
        "SELECT count(*) FILTER (size = 0 OR total = 0), "
        "count(*) FILTER (size > 0 AND total > 0 AND size <> total) FROM groups"
    )
    problems = []
    if alone:
        message = f"{_groups(int(alone))} in only one of the two files."
        problems.append(Problem("verify.groups", message))
    if other:
        message = f"{_groups(int(other))} not the same size in both files."
        problems.append(Problem("verify.groups", message))
    return problems


def _groups(number: int) -> str:
    return f"{count(number, 'group')} {'is' if number == 1 else 'are'}"


def _diversity(session: Session, recipe: Recipe) -> tuple[int, list[Problem]]:
    """Return the largest l that all groups achieve, and the problem if it is below the one asked for.

    A group achieves the lower of two numbers: of its distinct values, and of its rows with a value divided
    by those with the most frequent one.
    """
    asked = _asked(recipe)
    session.database.execute(
        "CREATE TEMP TABLE diversity AS SELECT CASE WHEN highest = 0 THEN 0 "
        "ELSE least(distinct_values, present // highest) END AS l FROM groups"
    )
    achieved, below = session.row(
        "SELECT coalesce(min(l), 0), count(*) FILTER (l < ?) FROM diversity", [asked]
    )
    if not below:
        return int(achieved), []
    message = (
        f"{count(int(below), 'group')} with fewer than {asked} values, or with one whose share is above "
        f"1 / {asked}; the worst has l = {int(achieved)}."
    )
    return int(achieved), [Problem("verify.l", message)]
