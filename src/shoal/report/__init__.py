"""One HTML page about a release, for the steward who must sign for it and for those who read it."""

from shoal.report.facts import Facts
from shoal.report.page import render

__all__ = ["Facts", "render"]
