"""How much is tried: few examples and cases in `make test`, all of them in `make test-slow`."""

import os

import pytest
from hypothesis import HealthCheck, settings

IS_SLOW = bool(os.environ.get("SHOAL_TEST_SLOW"))
slow = pytest.mark.skipif(not IS_SLOW, reason="slow: run by make test-slow")

# No test is about time. The quick examples are the same in every run, so that a change breaks a test
# or it does not; the full profile looks for new ones.
settings.register_profile(
    "quick",
    print_blob=True,
    deadline=None,
    max_examples=10,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.register_profile("full", settings.get_profile("quick"), max_examples=400, derandomize=False)


settings.load_profile("quick")


def few():
    """For a property of which one example takes long: a tenth, but at least three."""
    return settings(max_examples=max(3, settings.default.max_examples // 10))


def examples(number):
    """For a property that many cases share: so many examples for each in `make test`, else the profile's."""
    return settings() if IS_SLOW else settings(max_examples=number)


def some(cases, every, first=0):
    """Every n-th of many cases that are much alike, beginning with one; in `make test-slow` all."""
    return list(cases) if IS_SLOW else list(cases)[first::every]
