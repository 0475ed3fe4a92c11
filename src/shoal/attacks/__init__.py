"""What an attacker gets out of a release: one attack, one function.

The attackers read the written file and the raw table, never labels or clusters. They share no code with what
makes a release, only the verifier's readers, so they also work on releases of other tools.
"""

from shoal.attacks.result import ATTACKS, Attacks, Result
from shoal.attacks.run import attack

__all__ = ["ATTACKS", "Attacks", "Result", "attack"]
