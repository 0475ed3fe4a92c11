"""shoal's own method: cuts from above, then a search that changes classes inside blocks."""

from shoal.cluster.local_search.method import LocalSearch

__all__ = ["LocalSearch"]
