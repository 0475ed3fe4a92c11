"""The examples on docs/protection.md run and print what the page shows."""

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "protection.md"


@pytest.mark.filterwarnings("ignore::shoal.errors.PrivacyWarning")
def test_examples_print_what_the_page_shows(monkeypatch):
    monkeypatch.setenv("CLINIC_KEY", "")  # the page sets it
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 20
    assert found.failed == 0
