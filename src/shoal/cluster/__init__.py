"""Clusterers: encoded quasi columns in, one class label for each row out."""

from shoal.cluster.cb import CB
from shoal.cluster.clusterer import Clusterer, ClusterResult
from shoal.cluster.kaca import KACA
from shoal.cluster.kmember import KMember
from shoal.cluster.mondrian import Mondrian
from shoal.cluster.oka import OKA
from shoal.cluster.registry import METHODS, choose
from shoal.cluster.systematic import Systematic

__all__ = [
    "CB", "KACA", "METHODS", "OKA", "ClusterResult", "Clusterer", "KMember", "Mondrian", "Systematic",
    "choose",
]  # fmt: skip
