"""Starting Spark, its settings, and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.errors import DataError, RecipeError
from shoal.recipe import Recipe
from shoal.verifier.spark import classes, session, verify_folder
from tests.profiles import slow
from tests.verifier.spark import tampered
from tests.verifier.spark.folders import write_manifest, write_parts


def started(master: str, conf: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Start Spark in a process of its own: this one may have a session already."""
    code = (
        "from shoal.verifier.spark import spark_session\n"
        f"spark_session({master!r}, {conf!r}).range(3).count()"
    )
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False
    )


def test_why_spark_does_not_start_is_one_line(spark: Any) -> None:
    lines = started("nonsense", {}).stderr.strip().splitlines()

    assert lines[-3] == (
        "shoal.errors.RecipeError: Spark does not start: "
        "Master must either be yarn or start with spark, k8s, or local"
    )
    assert not any("org.apache" in line for line in lines)


def test_java_is_ended_when_its_start_is_interrupted() -> None:
    gateway = SimpleNamespace(Popen=subprocess.Popen)
    made = []

    def interrupted() -> None:
        made.append(gateway.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), session._ended_if_interrupted(gateway):
        interrupted()

    assert made[0].wait(timeout=60) != 0
    made[0].stdin.close()
    assert gateway.Popen is subprocess.Popen


def test_what_is_set_leaves_the_configuration_alone() -> None:
    """Without a master, Spark runs where it is configured to; options of Java are added to others."""
    java = "-XX:-DontCompileHugeMethods"
    settings = session._settings(None, {}, {})
    assert "spark.master" not in settings
    assert (settings["spark.ui.enabled"], settings["spark.executor.extraJavaOptions"]) == ("false", java)
    others = {
        "spark.master": "yarn", "spark.ui.enabled": "true", "spark.driver.extraJavaOptions": "-Da=b",
        "spark.executor.extraJavaOptions": "-XX:+DontCompileHugeMethods",
    }  # fmt: skip
    settings = session._settings(None, {"spark.app.name": "x"}, others)
    assert settings == {
        "spark.api.mode": "classic",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.app.name": "x",
        "spark.driver.extraJavaOptions": f"{java} -Da=b",
    }
    given = session._settings("local[1]", {"spark.driver.extraJavaOptions": "-Dc=d"}, others)
    assert (given["spark.master"], given["spark.driver.extraJavaOptions"]) == ("local[1]", f"{java} -Dc=d")


ASKS = """
from shoal.verifier.spark import spark_session
conf = spark_session().sparkContext.getConf()
keys = ("spark.master", "spark.app.name", "spark.ui.enabled", "spark.executor.extraJavaOptions")
print("told:", *(" ".join(conf.get(key).split()[-2:]) for key in keys), sep="|")
"""


def told(command: list[str], **environment: str) -> list[str]:
    """Start Spark without a master in a process of its own; return what it is set to."""
    ended = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return next(line for line in ended.stdout.splitlines() if line.startswith("told:")).split("|")[1:]


@slow
def test_spark_runs_where_it_is_configured_to(spark: Any, tmp_path: Path) -> None:
    from pyspark.find_spark_home import _find_spark_home

    options = "-XX:-DontCompileHugeMethods -Da=b"
    lines = ["spark.master local[1]", "spark.executor.extraJavaOptions=-Da=b", "spark.ui.enabled: false"]
    (tmp_path / "spark-defaults.conf").write_text("\n".join(lines), encoding="utf-8")
    script = tmp_path / "asks.py"
    script.write_text(ASKS, encoding="utf-8")
    plain = [sys.executable, "-W", "ignore", str(script)]
    submit = [str(Path(_find_spark_home(), "bin", "spark-submit")), "--name", "n", str(script)]

    assert told(plain, SPARK_CONF_DIR=str(tmp_path)) == ["local[1]", "shoal", "false", options]
    assert told(submit, SPARK_CONF_DIR=str(tmp_path), PYSPARK_PYTHON=sys.executable) == [
        "local[1]", "n", "false", options,
    ]  # fmt: skip
    arguments = "--master local[3] --conf spark.executor.extraJavaOptions=-Da=b pyspark-shell"
    assert told(plain, PYSPARK_SUBMIT_ARGS=arguments) == ["local[3]", "shoal", "false", options]
    assert told(plain)[0] == "local[*]"


@slow
def test_spark_says_nothing_unless_it_is_asked_to(spark: Any) -> None:
    ended = started("local[1]", {})
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "log" in started("local[1]", {"spark.log.level": "WARN"}).stderr


@pytest.mark.parametrize(
    ("master", "is_local"), [("local", True), ("local[*]", True), ("local-cluster[2,1,1024]", False)]
)
def test_workers_that_are_processes_may_be_lost(master: str, is_local: bool) -> None:
    spark: Any = SimpleNamespace(conf={"spark.master": master})
    assert classes._is_local(spark) == is_local


@slow
def test_on_a_cluster_spark_remembers_how_tables_were_made(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tampered.release(tmp_path / "out.parquet")
    monkeypatch.setattr("shoal.verifier.spark.classes._is_local", lambda spark: False)

    assert verify_folder(spark, str(folder), tampered.RECIPE).holds


def test_a_session_has_its_own_settings_again(spark: Any) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")

    with session.steady(spark):
        assert spark.conf.get("spark.sql.session.timeZone") == "UTC"

    assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    spark.conf.unset("spark.sql.session.timeZone")


def verify_by_command(*arguments: object) -> tuple[int, Any]:
    result = CliRunner().invoke(app, ["verify", *map(str, arguments), "--json"])
    return result.exit_code, json.loads(result.stdout)


def test_the_command_line_runs_spark(spark: Any, tmp_path: Path) -> None:
    folder = tampered.release(tmp_path / "out.parquet")
    flags = ("--quasi", "age,town", "--sensitive", "ill", "--k", 3)

    status, told = verify_by_command(folder, *flags, "--engine", "spark", "--conf", "spark.app.name=x")

    assert (status, told["holds"], told["k"]) == (0, True, 3)
    assert (status, told) == verify_by_command(folder, *flags)


@pytest.mark.parametrize(
    "flags",
    [
        ("--engine", "polars"),
        ("--master", "local[1]"),
        ("--conf", "a=b"),
        ("--engine", "spark", "--conf", "a"),
        ("--engine", "spark", "--original", "raw.csv"),
    ],
)
def test_flags_that_mean_nothing_are_refused(tmp_path: Path, flags: tuple[str, ...]) -> None:
    folder = tampered.release(tmp_path / "out.csv")

    status, told = verify_by_command(folder, "--quasi", "age,town", "--k", 3, *flags)

    assert (status, "error" in told) == (2, True)


def test_spark_takes_folders_with_classes_only(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    file.write_text("a\n1\n1\n", encoding="utf-8")
    with pytest.raises(RecipeError, match="is a file"):
        verify_folder(spark, str(file), Recipe.from_roles(quasi=["a"], k=2))
    with pytest.raises(DataError, match="no such file"):
        verify_folder(spark, str(tmp_path / "none.csv"), Recipe.from_roles(quasi=["a"], k=2))
    nh = {"privacy": {"k": 2}, "columns": {"a": {"role": "quasi"}}, "method": {"name": "nh"}}
    with pytest.raises(RecipeError, match="a box for each row"):
        verify_folder(spark, str(file), Recipe.from_dict(nh))


def test_a_column_of_its_own_is_found_and_empty_lines_are_rows(spark: Any, tmp_path: Path) -> None:
    """One column, whose missing cells are empty lines, which Spark passes over."""
    folder = write_parts(tmp_path / "out.csv", ["a"], [[["1"], ["2"]], [["1"], ["2"]]])
    for file in folder.iterdir():
        file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    write_manifest(folder, 6, 3)

    verdict = verify_folder(spark, str(folder), Recipe.from_roles(quasi=["a"], k=2))

    assert (verdict.holds, verdict.rows, verdict.classes) == (True, 6, 3)


@slow
def test_a_unique_kept_column_is_found(spark: Any, tmp_path: Path) -> None:
    rows = [["1", str(at), "x"] for at in range(20)]
    folder = write_parts(tmp_path / "out.csv", ["a", "note", "b"], [rows[:7], rows[7:]])
    asked = Recipe.from_roles(quasi=["a"], keep=["note", "b"], k=2)

    verdict = verify_folder(spark, str(folder), asked)

    (problem,) = verdict.problems
    assert problem.message == "Kept column `note` has a value that no other row has in 20 of 20 rows."
