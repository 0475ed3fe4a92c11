"""What Spark lacks here, and what it is configured to: found without starting it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import RecipeError
from shoal.verifier.spark import installed, spark_session
from shoal.verifier.spark.configured import configured


def java(folder: Path, script: str) -> str:
    """Write a Java that is none; return its home."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return str(folder)


LACKING = {
    "PySpark is not installed": None,
    "Java is not installed": "",
    "Java does not start": "exit 1",
    "Java 11 is installed, which is too old": "echo 'openjdk version \"11.0.22\" 2024-01-16' >&2",
    "Java 8 is installed, which is too old": "echo 'java version \"1.8.0_292\"' >&2",
}


@pytest.mark.parametrize("lacking", LACKING)
def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lacking: str) -> None:
    script = LACKING[lacking]
    found = None if script is None else "anything"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: found)
    monkeypatch.setenv("JAVA_HOME", java(tmp_path / "java", script) if script else "/nowhere")

    with pytest.raises(RecipeError) as caught:
        spark_session("local[1]")

    assert (caught.value.code, caught.value.message) == (
        "recipe.not_available", f"The engine `spark` cannot be used: {lacking}.",
    )  # fmt: skip
    assert 'pip install "shoal[spark]"' in caught.value.hint
    assert "Java 17" in caught.value.hint


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_a_java_that_is_new_enough_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: "anything")
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, f"echo 'openjdk version \"{version}\"' >&2"))
    assert installed.why_not_installed() == ""


def test_what_spark_is_configured_to_is_found_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    lines = [
        "# spark.a none", "spark.master yarn", "  spark.b = -Da=b \\", "    -Dc=d", "spark.c: e f ",
        "other g",
    ]  # fmt: skip
    (tmp_path / "spark-defaults.conf").write_text("\n".join(lines), encoding="utf-8")
    named = tmp_path / "named.conf"
    named.write_text("spark.c h", encoding="utf-8")
    of_file = {"spark.master": "yarn", "spark.b": "-Da=b -Dc=d", "spark.c": "e f"}
    of_arguments = {"spark.master": "local[1]", "spark.d": "i=j k", "spark.driver.extraJavaOptions": "-Dl"}
    arguments = "--master local[1] --conf 'spark.d=i=j k' --driver-java-options=-Dl"

    for given, expected in (
        ("pyspark-shell", of_file),
        (f"{arguments} pyspark-shell", {**of_file, **of_arguments}),
        (f"--properties-file {named} pyspark-shell", {"spark.c": "h"}),
        (f"--load-spark-defaults --properties-file {named}", {**of_file, "spark.c": "h"}),
    ):
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", given)
        assert configured() == expected
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "none"))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS")
    assert configured() == {}


@pytest.mark.parametrize("how", ["the environment", "a setting", "a master"])
def test_sessions_of_connect_are_refused(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr("shoal.verifier.spark.session.why_not_installed", lambda: "")
    if how == "the environment":
        monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    conf = {"spark.remote": "sc://host"} if how == "a setting" else {}

    with pytest.raises(RecipeError) as caught:
        spark_session("sc://host" if how == "a master" else None, conf)

    assert caught.value.code == "recipe.not_available"
    assert caught.value.message == "The engine `spark` does not run on Spark Connect."
