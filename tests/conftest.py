"""Shared fixtures, and the kernels, compiled once while the first tests run."""

import os
from contextlib import ExitStack
from pathlib import Path

import numba
import pytest
import vl_convert  # noqa: F401  # this process draws, instead of starting another one for each command

import tests.profiles  # noqa: F401  # sets how many examples are tried
from shoal.cluster import METHODS
from shoal.workflow.warming import compiled_meanwhile, jobs_of
from tests.spark_sessions import one_session

# These need no kernels, so they run first, while other processes compile. A test that needs a kernel waits.
FIRST = ("hierarchy/", "test_layers", "recipe/test_recipe", "test_docs", "report/test_engine", "test_stages")
compiling = ExitStack()
# Tests with one of these in their names share what takes long to make, so one process runs them.
TOGETHER = (
    "/spark/",
    "tests/postgres/",
    "tests/workflow/test_warming.py",
    "tests/verifier/test_tampering.py",
    "tests/inspection/test_planted.py",
    "tests/test_marker_outputs.py",
    "tests/cli/test_attack.py",
)


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
