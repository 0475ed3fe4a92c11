"""The independent checker: reads a written release and recomputes every promise from it alone.

It shares no code with what makes a release: another engine (DuckDB) reads the file, and the
classes, the goals and the published forms are worked out afresh.
"""

from shoal.verifier.anatomy import verify_part_files, verify_part_tables
from shoal.verifier.check import verify, verify_table
from shoal.verifier.verdict import PROBLEMS, Goal, Problem, Verdict
from shoal.verifier.views import promised_views, worst_goals

__all__ = [
    "PROBLEMS",
    "Goal",
    "Problem",
    "Verdict",
    "promised_views",
    "verify",
    "verify_part_files",
    "verify_part_tables",
    "verify_table",
    "worst_goals",
]
