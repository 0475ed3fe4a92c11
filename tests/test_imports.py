"""What is loaded when: the quick commands load nothing heavy, and nothing is compiled twice."""

import json
import os
import subprocess
import sys

HEAVY = ["polars", "pyarrow", "numba", "numpy", "duckdb", "pydantic", "pandas", "narwhals", "rich.progress"]


def run_python(code, **environment):
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_after(code):
    listing = f"import json, sys\n{code}\nprint(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    return json.loads(run_python(listing).splitlines()[-1])


def test_import_shoal_loads_nothing_heavy():
    assert loaded_after("import shoal") == []


def test_help_loads_nothing_heavy():
    code = """
from typer.testing import CliRunner
from shoal.cli.main import app
assert CliRunner().invoke(app, ["anonymize", "--help"]).exit_code == 0
"""
    # Typer itself brings pydantic when it prints the help of a command.
    assert set(loaded_after(code)) <= {"pydantic"}


def test_the_verifier_loads_nothing_of_what_makes_a_release():
    code = """
import csv, sys, tempfile, pathlib
import shoal
path = pathlib.Path(tempfile.mkdtemp()) / "x.csv"
path.write_text("a\\n1\\n1\\n")
assert shoal.verify(path, shoal.Recipe.from_roles(quasi=["a"], k=2)).holds
makers = ["workflow", "release", "table", "recode", "cluster", "measure", "engine", "kernels", "hierarchy"]
print([m for m in makers if f"shoal.{m}" in sys.modules], "polars" in sys.modules)
"""
    assert run_python(code).strip() == "[] False"


def test_the_package_lists_its_public_names_and_no_module_hides_a_function():
    code = """
import shoal
import shoal.cli.main, shoal.workflow.prepare, shoal.verifier
names = "anonymize attack compare encode extend inspect republish risk values verify".split()
print(all(callable(getattr(shoal, name)) for name in names), shoal.cluster.LocalSearch.__name__, *dir(shoal))
"""
    public = (
        "Extension Inspection PrivacyWarning Recipe Release Republication ShoalError Verdict anonymize attack"
        " cluster compare encode extend inspect republish risk values verify"
    )
    assert run_python(code).strip() == f"True LocalSearch {public}"


def test_a_home_that_cannot_be_written_to_is_no_obstacle():
    code = """
from shoal.kernels import hashing
from shoal.kernels.compiling.place import cache_folder
import numpy as np
state = np.zeros(1, np.uint64)
hashing.add_numbers(state, np.ones(1, np.int64))
print(state[0] > 0, "tmp" in str(cache_folder()).lower())
"""
    assert run_python(code, XDG_CACHE_HOME="/dev/null/nowhere", TMPDIR="/tmp").strip() == "True True"


COUNT_COMPILATIONS = """
import warnings
warnings.simplefilter("ignore")
from numba.core import event
with event.install_recorder("numba:compile") as compilations:
    from shoal.cluster import METHODS
    from shoal.workflow.warming import jobs_of, run_job
    for job in jobs_of(list(METHODS)):
        run_job(job)
print(len(compilations.buffer))
"""


def test_a_second_process_compiles_nothing():
    # The kernels were compiled before the tests began (conftest), in another process.
    assert run_python(COUNT_COMPILATIONS).strip() == "0"


def test_compilations_are_counted(tmp_path):
    # The counter of the test above works: with an empty cache there is something to compile.
    code = COUNT_COMPILATIONS.replace("jobs_of(list(METHODS))", '["anatomy"]')
    assert int(run_python(code, XDG_CACHE_HOME=str(tmp_path))) > 0
