"""Releases in PostgreSQL databases, checked by SQL of the database's own; no code of the writer is used.

Everything runs with the cursor of a caller, in the caller's transaction: a table that is not committed yet
can be seen nowhere else.
"""

from shoal.verifier.postgres.check import Inside, verify_inside
from shoal.verifier.postgres.table import Stored, digest_of, read_back

__all__ = ["Inside", "Stored", "digest_of", "read_back", "verify_inside"]
