"""Shared fixtures, and the kernels, compiled once while the first tests run."""

import os

# Tables here are small: Polars' threads cost more than they save, while two processes test. It reads this
# when it is imported. In `make test-slow` it has all its threads.
if not os.environ.get("SHOAL_TEST_SLOW"):
    os.environ.setdefault("POLARS_MAX_THREADS", "1")

from contextlib import ExitStack
from functools import cache
from pathlib import Path

import numba
import pytest
import typer.testing
import vl_convert  # noqa: F401  # this process draws, instead of starting another one for each command

from shoal.cluster import METHODS
from shoal.workflow import dossier
from shoal.workflow.warming import compiled_meanwhile, jobs_of
from tests.profiles import IS_SLOW  # which also sets how many examples are tried
from tests.spark_sessions import one_session

# These need no kernels, so they run first, while other processes compile. A test that needs a kernel waits.
FIRST = ("hierarchy/", "test_layers", "recipe/test_recipe", "test_docs", "report/test_engine", "test_stages")
compiling = ExitStack()
MOST_COLUMNS = dossier.MOST_COLUMNS
# Tests with one of these in their names share what takes long to make, so one process runs them.
TOGETHER = (
    "/spark/",
    "tests/postgres/",
    "tests/workflow/test_warming.py",
    "tests/verifier/test_tampering.py",
    "tests/inspection/test_planted.py",
    "tests/test_marker_outputs.py",
    "tests/cli/test_attack.py",
    "tests/cli/test_cli.py",
    "tests/cli/test_verify_several.py",
    "tests/test_pipelines.py",
    "tests/web/test_data.py",
    "tests/web/test_runs.py",
    "tests/web/test_security.py",
    "tests/web/test_tree_page.py",
    "tests/workflow/test_compare.py",
    "tests/test_contract.py::test_the_same_seed",
)
# More than half of a small run is the report's: attacks, usefulness, the cost of other k. In `make test`
# these tests, which are not about that, get reports as those of tables with very many columns, which lack it.
SHORT_REPORTS = (
    "tests/bound/test_reported.py",
    "tests/cli/",
    "tests/composition/",
    "tests/dangers/",
    "tests/datasets/",
    "tests/postgres/",
    "tests/recipe/",
    "tests/release/",
    "tests/table/",
    "tests/test_docs.py::test_commands_in_the_readme_run",
    "tests/test_docs.py::test_every_json_key_is_documented",
    "tests/test_pipelines.py",
    "tests/workflow/test_compare.py",
    "tests/workflow/test_found_kinds.py",
    "tests/workflow/test_risk_goals.py",
    "tests/workflow/test_several_views.py",
    "tests/workflow/test_shuffled.py",
)
LONG_REPORTS = ("tests/cli/test_cli.py", "tests/cli/test_measure_utility.py")
# Typer builds all commands anew whenever one is run in a test; that takes longer than most commands.
typer.testing._get_command = cache(typer.testing._get_command)


def pytest_configure(config):
    """Compile beside the controlling process; one thread for each worker, unless a test asks for more."""
    if not hasattr(config, "workerinput"):
        compiling.enter_context(compiled_meanwhile(jobs_of(list(METHODS))))
    numba.set_num_threads(1)


def pytest_unconfigure():
    """Wait for what is still compiled."""
    compiling.close()


def pytest_collection_modifyitems(items):
    """Put tests without kernels first."""
    items.sort(key=lambda item: not item.nodeid.removeprefix("tests/").startswith(FIRST))


@pytest.hookimpl(tryfirst=True)  # before any fixture makes a release
def pytest_runtest_setup(item):
    """Say how long the reports of this test are."""
    is_short = item.nodeid.startswith(SHORT_REPORTS) and not item.nodeid.startswith(LONG_REPORTS)
    dossier.MOST_COLUMNS = 0 if is_short and not IS_SLOW else MOST_COLUMNS


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run in one process what shares a session of Spark, a server, marks in a cache, or a long set-up."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return next((place for place in TOGETHER if place in nodeid), nodeid)

    return Together(config, log)


@pytest.fixture(scope="session")
def spark():
    yield from one_session()


@pytest.fixture(scope="session")
def data_folder():
    """The folder with Adult: `SHOAL_DATA`, or `../shared/data` beside the checkout."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SHOAL_DATA", beside))
    if not (folder / "adult").is_dir():
        reason = f"no Adult data in {folder}; set SHOAL_DATA"
        if os.environ.get("SHOAL_TEST_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def adult8(data_folder):
    return data_folder / "adult" / "adult8.toml"
