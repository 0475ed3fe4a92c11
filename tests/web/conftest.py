"""One server for the tests that change nothing."""

import pytest

from tests.web.serving import make_project, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    make_project(folder)
    with serving(folder) as running:
        yield running
