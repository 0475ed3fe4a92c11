"""Shared fixtures, and the kernels compiled once before the workers start."""

import os
from pathlib import Path

import numba
import pytest
from hypothesis import settings

settings.register_profile("shoal", print_blob=True, deadline=None)  # no test is about time
settings.load_profile("shoal")


def pytest_configure(config):
    """Compile in the controlling process; then one thread for each worker, unless a test asks for more."""
    if not hasattr(config, "workerinput"):
        from tests.warm import compile_kernels

        compile_kernels()
    numba.set_num_threads(1)


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
