"""Tests that count what Spark keeps begin with nothing kept."""

import pytest

from tests.engine.spark.made import let_go


@pytest.fixture(autouse=True)
def nothing_kept(request):
    """Release what other tests keep; Spark makes it again where it is needed."""
    if "spark" in request.fixturenames and "persisted" in dir(request.module):
        let_go(request.getfixturevalue("spark"))
