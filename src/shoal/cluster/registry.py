"""The table of the methods that shoal has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.cluster.anatomy import Anatomy
from shoal.cluster.cb import CB
from shoal.cluster.clusterer import Clusterer
from shoal.cluster.cmeans import CMeans
from shoal.cluster.incognito import Incognito
from shoal.cluster.kaca import KACA
from shoal.cluster.kmember import KMember
from shoal.cluster.local_search import LocalSearch
from shoal.cluster.mondrian import Mondrian
from shoal.cluster.nonhomogeneous import NH
from shoal.cluster.oka import OKA
from shoal.cluster.systematic import Systematic
from shoal.cluster.threshold import Threshold
from shoal.recipe import Shape
from shoal.recipe.options import Options


@dataclass(frozen=True)
class MethodInfo:
    """What `shoal methods` says about a method."""

    name: str
    clusterer: type[Clusterer[Any]]
    paper: str
    idea: str
    cost: str
    guarantees: str

    @property
    def shape(self) -> Shape:
        """What the method publishes."""
        return self.options.shape

    @property
    def options(self) -> type[Options]:
        """The schema of the method's options."""
        return self.clusterer.options_type

    def make(
        self, k: int, seed: int, options: Options, may_suppress: int = 0, goals: Any = None
    ) -> Clusterer[Any]:
        """Make a clusterer."""
        return self.clusterer(k, seed=seed, options=options, may_suppress=may_suppress, goals=goals)


_ALL = [
    MethodInfo(
        name="local-search",
        clusterer=LocalSearch,
        paper="shoal's own; docs/methods/local-search.md.",
        idea="Cut the table from above with rollouts; then move, swap and rebuild inside changing blocks.",
        cost="O(n) time for a given effort, O(n) memory",
        guarantees="classes of at least k rows; never worse than its start; same labels for any number of "
        "threads",
    ),
    MethodInfo(
        name="k-member",
        clusterer=KMember,
        paper="Byun, Kamra, Bertino, Li: Efficient k-Anonymization Using Clustering Techniques. DASFAA 2007.",
        idea="Open a class far from the last one; k - 1 times add the row that widens it least; repeat.",
        cost="O(n^2) time, O(n) memory",
        guarantees="classes of k to 2k - 1 rows; exact greedy choice; same labels for any number of threads",
    ),
    MethodInfo(
        name="oka",
        clusterer=OKA,
        paper="Lin, Wei: An Efficient Clustering Method for k-Anonymization. PAIS 2008.",
        idea="Give each row to the nearest of n / k growing classes; then even out the sizes.",
        cost="O(n^2 / k) time, O(n) memory",
        guarantees="classes of at least k rows",
    ),
    MethodInfo(
        name="systematic",
        clusterer=Systematic,
        paper="Kabir, Wang, Bertino: Efficient Systematic Clustering Method for k-Anonymization. "
        "Acta Informatica 2011; as restated by Bhaladhare, Jinwala 2016.",
        idea="Open a class at every k-th row in order; each other row joins where loss grows least.",
        cost="O(n^2 / k) time, O(n) memory",
        guarantees="classes of at least k rows",
    ),
    MethodInfo(
        name="kaca",
        clusterer=KACA,
        paper="Li, Wong, Fu, Pei: Achieving k-Anonymity by Clustering in Attribute Hierarchical Structures. "
        "DaWaK 2006.",
        idea="Start with the sets of equal rows; merge each small one with the nearest by the trees.",
        cost="O(n log n + E^2) time for E distinct quasi tuples, O(n) memory",
        guarantees="classes of at least k rows; large classes lend rows and keep their detail",
    ),
    MethodInfo(
        name="cb",
        clusterer=CB,
        paper="He, Chen, Chen, Dong, Wang, Huang: Clustering-Based k-Anonymity. PAKDD 2012.",
        idea="Split the rows in two around two centres, best of several rounds; repeat in both halves.",
        cost="O(r n log n) time on average for r rounds, O(r n) memory",
        guarantees="classes of k to 2k - 1 rows; with `l`, frequency l-diversity of the label column",
    ),
    MethodInfo(
        name="mondrian",
        clusterer=Mondrian,
        paper="LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity. ICDE 2006.",
        idea="Cut the rows at the median of the column where they are widest; repeat in both parts.",
        cost="O(n log n) time, O(n) memory",
        guarantees="classes of at least k rows; no random choice",
    ),
    MethodInfo(
        name="threshold",
        clusterer=Threshold,
        paper="Loukides, Shao: Capturing Data Usefulness and Privacy Protection in K-Anonymisation. "
        "SAC 2007.",
        idea="Grow a class from a random row while it stays narrow; delete those that end up below k.",
        cost="O(n^2) time at most, O(n) memory",
        guarantees="classes of at least k rows; says how many rows were deleted and joined others",
    ),
    MethodInfo(
        name="c-means",
        clusterer=CMeans,
        paper="Chiu, Tsai: A k-Anonymity Clustering Method for Effective Data Privacy Preservation. "
        "ADMA 2007.",
        idea="Assign rows to the nearest of n / k centres; weigh columns by how well they fit; repeat.",
        cost="O(r n^2 / k) time for r rounds, O(n) memory",
        guarantees="classes of at least k rows; same labels for any number of threads",
    ),
    MethodInfo(
        name="incognito",
        clusterer=Incognito,
        paper="LeFevre, DeWitt, Ramakrishnan: Incognito: Efficient Full-Domain K-Anonymity. SIGMOD 2005.",
        idea="Publish each column at one level of its tree, at the levels that together lose least.",
        cost="O(n) time for each combination of levels that cannot be ruled out, O(n) memory",
        guarantees="classes of at least k rows; the best of all full-domain recodings; no random choice",
    ),
    MethodInfo(
        name="nh",
        clusterer=NH,
        paper="Wong, Mamoulis, Cheung: Non-Homogeneous Generalization in Privacy Preserving Data Publishing. "
        "SIGMOD 2010.",
        idea="Put the rows of Mondrian's groups on rings; publish a box over k neighbours for each row.",
        cost="O(n log n + n k) time, O(n) memory",
        guarantees="k originals fit each published row and k published rows fit each original; no classes; "
        "a secret shift; can be verified only with the original",
    ),
    MethodInfo(
        name="anatomy",
        clusterer=Anatomy,
        paper="Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006.",
        idea="Publish quasi and sensitive values in two tables, joined by groups of l different values.",
        cost="O(n log n) time, O(n) memory",
        guarantees="groups of at least l values, none with a share above 1 / l; protects the sensitive "
        "value alone: quasi values are published as they are, and k is not promised",
    ),
]
METHODS: dict[str, MethodInfo] = {info.name: info for info in _ALL}
AUTO_NORMAL_ROWS = 2_000_000  # above this, normal effort takes more than a few minutes


def choose(name: str, n_rows: int) -> tuple[MethodInfo, str]:
    """Return the method of that name, and for `auto` the reason for the one that was picked."""
    if name != "auto":
        return METHODS[name], ""
    reason = "auto: local search, which lost least on Adult and keeps every privacy goal"
    if n_rows > AUTO_NORMAL_ROWS:
        reason += f"; quick effort above {AUTO_NORMAL_ROWS:,} rows unless asked otherwise"
    return METHODS["local-search"], reason


def chosen_options(name: str, options: dict[str, Any], n_rows: int) -> dict[str, Any]:
    """Return the options given, and for `auto` those that the number of rows asks for."""
    if name == "auto" and n_rows > AUTO_NORMAL_ROWS and not {"effort", "seconds"} & set(options):
        return {**options, "effort": "quick"}
    return options
