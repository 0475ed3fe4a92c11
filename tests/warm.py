"""Run every kernel once, so that later processes find them compiled."""

from shoal.cluster import METHODS
from shoal.warm import compile_ahead, jobs_of


def compile_kernels():
    """Let two processes compile all kernels that a release may need."""
    compile_ahead(jobs_of(list(METHODS)))
