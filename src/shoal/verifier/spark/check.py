"""The verification of a folder with Spark: the same promises, the same words, and no row on the driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from shoal.errors import RecipeError
from shoal.failures import clear_failures
from shoal.recipe import Recipe, Shape, omitted_faults
from shoal.verifier.check import NOT_COUNTED, row_problems
from shoal.verifier.dangers import accepted_remarks
from shoal.verifier.goals.registry import unmeasured
from shoal.verifier.header import header_problems, quasi_columns
from shoal.verifier.manifest import (
    Claims,
    Counted,
    folder_digest_problems,
    has_digests,
    number_problems,
    read_manifest,
)
from shoal.verifier.reading.load import existing
from shoal.verifier.reading.parts import Parts, list_parts
from shoal.verifier.reading.session import UnreadableError
from shoal.verifier.reading.text import Dialect
from shoal.verifier.spark.classes import Source, build, class_facts
from shoal.verifier.spark.goals import measure
from shoal.verifier.spark.labels import check_labels
from shoal.verifier.spark.losses import class_losses
from shoal.verifier.spark.people import attach_people
from shoal.verifier.spark.reading import Table, read_facts, read_header, read_parts, table_of
from shoal.verifier.spark.session import steady, with_settings
from shoal.verifier.spark.unique import find_unique
from shoal.verifier.spark.wildcard import wildcard_k
from shoal.verifier.verdict import Problem, Verdict, conclude, listed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_Read = TypeVar("_Read")
_BROADCASTS = ("spark.sql.autoBroadcastJoinThreshold", "spark.sql.adaptive.autoBroadcastJoinThreshold")


@dataclass(frozen=True)
class _Task:
    """What a folder is compared with; see `verify_folder`."""

    recipe: Recipe
    rows: int | None
    claims: Claims
    people: DataFrame | None
    person: str


def verify_folder(
    spark: SparkSession,
    folder: str | Path,
    recipe: Recipe,
    *,
    rows: int | None = None,
    manifest: bool = True,
    people: DataFrame | None = None,
    person: str = "",
) -> Verdict:
    """Recompute every promise of a release in a folder, with Spark.

    Only counts come to the driver, and for t-closeness along an order or in a tree the different values of
    the sensitive column.

    Parameters
    ----------
    spark : SparkSession
        Where to compute; see `spark_session`. Its executors need shoal, and the folder at the same path.
    folder : str or Path
        The release: X.parquet with part-00000.parquet and so on, or X.csv with part-00000.csv and so on.
    recipe : Recipe
        What was promised: the columns, k and the other goals.
    rows : int, optional
        How many rows the maker says it released.
    manifest : bool, default True
        Compare the folder with the digests and the numbers in ``<folder>.manifest.json``, where there is one.
    people : DataFrame, optional
        The maker's own rows: the columns of the release, and one that says whose each row is. When they
        are the rows that were written, k and all goals count people.
    person : str, optional
        That column.

    Returns
    -------
    Verdict
        It holds only when all parts could be read, have rows, and nothing is wrong with them.

    Raises
    ------
    DataError
        When there is no such folder, its executors cannot read it, or a row of `people` is nobody's.
    RecipeError
        When the recipe publishes something else than one table with classes.
    """
    _refuse_others(recipe)
    place = existing(folder, folder=True)
    if not place.is_dir():
        message = f"{folder} is a file, and the engine `spark` verifies folders."
        raise RecipeError("recipe.invalid", message, "verify it with the engine duckdb")
    claims = read_manifest(place) if manifest else Claims()
    with clear_failures(), steady(spark), _unshared(spark, people):
        return _verify(spark, list_parts(place), _Task(recipe, rows, claims, people, person))


def verify_frame(
    spark: SparkSession, frame: DataFrame, recipe: Recipe, *, rows: int | None = None, person: str = ""
) -> Verdict:
    """Recompute every promise of a release that is a Spark DataFrame.

    Prefer the folder where there is one: what is handed out is what must hold.

    Parameters
    ----------
    frame : DataFrame
        The released rows.
    rows : int, optional
        How many rows the maker says it released.
    person : str, optional
        The column of `frame` that says whose each row is; it is not part of the release. With it k and all
        goals count people.
    """
    _refuse_others(recipe)
    people = frame if person else None
    with clear_failures(), steady(spark), _unshared(spark, people):
        table = table_of(frame.drop(person) if person else frame)
        return _verify_table(spark, table, _Task(recipe, rows, Claims(), people, person), [])


def _unshared(spark: SparkSession, people: DataFrame | None) -> AbstractContextManager[None]:
    """Where people are counted, send no table to all machines: it would pass through the driver."""
    return with_settings(spark, {} if people is None else dict.fromkeys(_BROADCASTS, "-1"))


def _refuse_others(recipe: Recipe) -> None:
    if recipe.shape is not Shape.CLASSES:
        message = f"The engine `spark` verifies one table with classes, not {recipe.shape.value}."
        raise RecipeError("recipe.not_available", message, "verify it with the engine duckdb")
    if unknown := [*recipe.coded, *recipe.pseudonyms]:
        message = f"The engine `spark` does not verify codes at the ends and pseudonyms: {listed(unknown)}."
        raise RecipeError("recipe.not_available", message, "verify it with the engine duckdb")
    if faults := omitted_faults(recipe, quasi=False):
        raise RecipeError.from_faults(faults)


def _verify(spark: SparkSession, parts: Parts, task: _Task) -> Verdict:
    header: Any = _or_problem(lambda: read_header(parts.files, task.recipe))
    delimiter = header.delimiter if isinstance(header, Dialect) else ""
    has_to = bool(delimiter or has_digests(task.claims)) and bool(parts.files)
    facts = read_facts(spark, parts.files, delimiter=delimiter, digests=True) if has_to else []
    digests = {fact.name: fact.digest for fact in facts}
    in_order = {file.name: digests[file.name] for file in parts.files if digests}
    problems = [*parts.problems, *folder_digest_problems(task.claims, in_order)]
    safe = task.recipe.output.spreadsheet_safe
    table = (
        header
        if isinstance(header, Problem)
        else _or_problem(lambda: read_parts(spark, parts.files, header, facts, spreadsheet_safe=safe))
    )
    if isinstance(table, Problem):
        return conclude(0, 0, 0, unmeasured(task.recipe), [*problems, table])
    return _verify_table(spark, table, task, problems)


def _verify_table(spark: SparkSession, table: Table, task: _Task, before: Sequence[Problem]) -> Verdict:
    """Verify a table that could be read."""
    problems = list(before)
    problems += [*header_problems(table.names, task.recipe), *row_problems(table.number, task.rows)]
    is_subject = bool(task.recipe.named("subject"))
    quasi = quasi_columns(task.recipe, table.names)
    if not table.is_clear or not all(map(table.has_once, quasi)):
        # Classes by fewer columns would be larger than they are: better no number than that one.
        remarks = [NOT_COUNTED] if is_subject and task.people is None else []
        return conclude(table.number, 0, 0, unmeasured(task.recipe), problems, remarks=remarks)
    people = None
    if task.people is not None:
        people, found_people = attach_people(task.people, task.person, table, quasi)
        problems += found_people
    source = build(spark, table, task.recipe, quasi, people)
    try:
        return _judge(source, quasi, task, problems)
    finally:
        source.release()


def _or_problem(read: Callable[[], _Read]) -> _Read | Problem:
    try:
        return read()
    except UnreadableError as fault:
        return Problem(fault.code, fault.message)


def _judge(source: Source, quasi: Sequence[str], task: _Task, before: Sequence[Problem]) -> Verdict:
    """Check cells and goals of a release that could be read; compare it with the manifest."""
    table, recipe = source.table, source.recipe
    facts = class_facts(source, quasi)
    looked = check_labels(source)
    unique, noted = find_unique(table, recipe)
    findings = measure(source, facts)
    goals = [finding.goal for finding in findings]
    problems = [*before, *looked.problems, *unique]
    problems += [finding.problem for finding in findings if finding.problem]
    losses = class_losses(source, facts, task.claims)
    problems += number_problems(task.claims, Counted(table.number, facts.classes, goals, losses=losses))
    not_counted = recipe.named("subject") and task.people is None
    return conclude(
        table.number,
        facts.classes,
        facts.smallest,
        goals,
        problems,
        k_wildcard=wildcard_k(source, quasi, facts),
        remarks=[*([NOT_COUNTED] if not_counted else []), *looked.remarks, *noted, *accepted_remarks(recipe)],
    )
