"""Clusterers: encoded quasi columns in, one class label for each row out."""

from shoal.cluster.kmember import KMember
from shoal.cluster.mondrian import Mondrian
from shoal.cluster.registry import METHODS, Clusterer, ClusterResult, choose

__all__ = ["METHODS", "ClusterResult", "Clusterer", "KMember", "Mondrian", "choose"]
