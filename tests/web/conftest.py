"""One server for the tests that change nothing."""

import pytest

from tests.web.serving import make_project, serving


def pytest_collection_modifyitems(config, items):
    """Keep these tests in one process: they share servers and a browser."""
    for item in items if config.pluginmanager.hasplugin("xdist") else []:
        if "tests/web/" in item.nodeid:
            item.add_marker(pytest.mark.xdist_group("web"))


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    make_project(folder)
    with serving(folder) as running:
        yield running
