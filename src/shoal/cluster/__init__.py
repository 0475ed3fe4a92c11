"""Clusterers: encoded quasi columns in, one class label for each row out."""

from shoal.cluster.anatomy import Anatomy
from shoal.cluster.cb import CB
from shoal.cluster.clusterer import Clusterer, ClusterResult
from shoal.cluster.cmeans import CMeans
from shoal.cluster.incognito import Incognito
from shoal.cluster.kaca import KACA
from shoal.cluster.kmember import KMember
from shoal.cluster.local_search import LocalSearch
from shoal.cluster.mondrian import Mondrian
from shoal.cluster.nonhomogeneous import NH
from shoal.cluster.oka import OKA
from shoal.cluster.registry import METHODS, choose
from shoal.cluster.systematic import Systematic
from shoal.cluster.threshold import Threshold

__all__ = [
    "CB", "KACA", "METHODS", "NH", "OKA", "Anatomy", "CMeans", "ClusterResult", "Clusterer", "Incognito",
    "KMember", "LocalSearch", "Mondrian", "Systematic", "Threshold", "choose",
]  # fmt: skip
