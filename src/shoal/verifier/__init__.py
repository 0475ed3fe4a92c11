"""The independent checker: reads a written release and recomputes every promise from it alone.

It shares no code with what makes a release: another engine (DuckDB) reads the file, and the
classes, the goals and the published forms are computed independently.
"""

from shoal.verifier.check import verify, verify_table
from shoal.verifier.ledger import LedgerVerdict, verify_ledger
from shoal.verifier.several_views import promised_views, worst_goals
from shoal.verifier.two_tables import verify_part_files, verify_part_tables
from shoal.verifier.verdict import PROBLEMS, MeasuredGoal, Problem, Verdict

__all__ = [
    "PROBLEMS",
    "LedgerVerdict",
    "MeasuredGoal",
    "Problem",
    "Verdict",
    "promised_views",
    "verify",
    "verify_ledger",
    "verify_part_files",
    "verify_part_tables",
    "verify_table",
    "worst_goals",
]
