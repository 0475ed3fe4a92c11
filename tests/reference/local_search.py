"""The slow, obvious twins of the parts of local search: cuts from above, growth, passes over rows, and loans.

Written from the description of the method in `docs/methods/local-search.md`, by full recomputation of every
diversity, in exact fractions. Columns are those of `tests.reference.kmember`. The steps have no twin but
for how rows are borrowed and how they settle afterwards; they are tested by what they promise. Settled here:
- Columns are tried ranges first, then trees, each in their order. A range is cut at its values in ascending
  order, missing above all others. A tree is cut at nodes: for each leaf with rows, in depth-first order, at
  the leaf and what is above it, unless a leaf before has been under the same node; rows without a value are a
  leaf of their own, the last, under the root. Of equal cuts the first one counts.
- `keeping` (goals beyond k, see `tests.reference.keeping`): of the 32 best cuts those that leave two good
  groups count, up to 8 of them, whatever number is tried without goals.
- Growth: a row that is taken gives its place in the list to the first one of the list. Of equals the first
  in the list counts, for classes the first one made. When a class does not come to be good, its rows are left
  over; a row left over joins only where the class stays good, and where there is none growth fails.
- A pass goes through the classes and their lists as they stand when it comes to a class. Whoever moves in
  becomes the first of the list. A row moves and swaps among the classes nearest to its own: those of which D
  is least together with it, as they stand when the pass comes to its class. Of equally near ones the lower
  number counts, of equal moves and swaps the nearer class, then the first listed row.
- A class borrows from the 12 nearest classes of more than k rows, and not at all if they cannot spare enough.
  Each time the row counts for which k (or the class's new size, if that is more) times what it widens the
  class, less what its leaving saves, is least; of equals the one of the nearer class, then the first listed.
  When the lender is as wide without it, its other rows that make the class no wider come along, in the
  order of the list, until the class has k rows or the lender has no more than that. With goals, a class of k
  rows borrows only rows that help; a row whose lender would not be good without it ends everything, or, if it
  would come along, stays.
- Rows settle among the classes that the step has changed, in that order, and the 6 nearest to each of the
  first two that have rows; with small k among all classes, in the order of their numbers, as in a pass then.
  Up to 4 times, every row of the changed classes has its chance, if its class has changed since the time
  before began; not again if nothing was saved, or if the loss is up by more than twice what was saved and
  five temperatures.
"""

from collections.abc import Iterable
from fractions import Fraction

from tests.reference.cb import leaves_in_order
from tests.reference.kmember import NumericColumn, TreeColumn, column_cost

ASKED = 32  # cuts that are looked at where there are goals
ALLOWED = 8  # of which so many are kept


class Stepped(TreeColumn):
    """A tree costed by weighted hierarchical distance, by height: definition 5 of [li2006] with `beta` = 1.

    The step that ends at height h of a tree of height H goes from level H - h + 2 to the one above it, and
    its weight is 1 / (H - h + 1).
    """

    def cost(self, present):
        """The weights of the steps up to the common node over those of all steps."""
        whole = max(self.height.values())
        reached = TreeColumn.cost(self, present) * whole
        weights = [Fraction(1, whole - h + 1) for h in range(1, whole + 1)]
        return sum(weights[: int(reached)], Fraction(0)) / (sum(weights) or 1)


class Table:
    """The columns, ranges first, and what sets of rows cost. Costs are kept: the same sets come again."""

    def __init__(self, columns):
        self.ranges = [column for column in columns if isinstance(column, NumericColumn)]
        self.trees = [column for column in columns if isinstance(column, TreeColumn)]
        self.columns = [*self.ranges, *self.trees]
        self._costs = [{} for _ in columns]
        self._diversity = {}
        self._over = [{value: nodes_over(column, value) for value in column.values} for column in self.trees]

    def diversity(self, rows: Iterable[int]) -> Fraction:
        """D of a set of rows."""
        rows = frozenset(rows)
        if rows not in self._diversity:
            costs = zip(self.columns, self._costs, strict=True)
            self._diversity[rows] = sum((self._cost(*of, rows) for of in costs), Fraction(0))
        return self._diversity[rows]

    def _cost(self, column, known, rows):
        """What a column costs a set, which depends on its different values alone."""
        holder = {column.values[row]: row for row in rows}
        values = frozenset(holder)
        if values not in known:
            known[values] = Fraction(column.weight) * column_cost(column, list(holder.values()))
        return known[values]

    def loss(self, rows) -> Fraction:
        """Size times D."""
        return len(rows) * self.diversity(rows)

    def total(self, classes) -> Fraction:
        """The loss of a partition."""
        return sum((self.loss(rows) for rows in classes), Fraction(0))

    def first_sides(self, rows):
        """One side of every cut that there is, in the order in which they are tried."""
        for column in self.ranges:
            yield from sides_at_values(column, rows)
        for column, over in zip(self.trees, self._over, strict=True):
            yield from sides_at_nodes(column, over, rows)


def sides_at_values(column, rows):
    """The rows with values up to each one but the highest; missing is above all others."""

    def place(value):
        return (value is None, value or 0)

    for value in sorted({column.values[row] for row in rows}, key=place)[:-1]:
        yield [row for row in rows if place(column.values[row]) <= place(value)]


def nodes_over(column, value):
    """A leaf, or the one of missing values, and all nodes above; the last one is over everything."""
    if value is None:
        return ["the leaf of missing values", "everything"]
    path = column.path(value)
    return [*(path if len(column.parent) == 1 else path[:-1]), "everything"]


def sides_at_nodes(column, over, rows):
    """The rows under each node, unless these are all."""
    held = {column.values[row] for row in rows}
    held = [leaf for leaf in [*leaves_in_order(column), None] if leaf in held]
    for at, leaf in enumerate(held):
        before = []
        for node in over[leaf]:
            inside = [row for row in rows if node in over[column.values[row]]]
            was_tried = any(column.values[row] in held[:at] for row in inside)
            if was_tried or len(inside) == len(rows):
                break
            if inside != before:
                yield inside
            before = inside


def best_cuts(table, rows, k, tried, keeping):
    """The cuts that save most, as two sides each, the best first."""
    cuts = []
    for inside in table.first_sides(rows):
        outside = [row for row in rows if row not in inside]
        saved = table.loss(rows) - table.loss(inside) - table.loss(outside)
        if min(len(inside), len(outside)) >= k and saved > 0:
            cuts.append((saved, inside, outside))
    sides = [cut[1:] for cut in sorted(cuts, key=lambda cut: -cut[0])]  # stable: the first one of equals
    if keeping is None:
        return sides[:tried]
    return [cut for cut in sides[:ASKED] if all(keeping.good(side) for side in cut)][:ALLOWED]


def cut_greedily(table, rows, k, keeping=None):
    """The classes when a group is cut again and again where that saves most."""
    cuts = best_cuts(table, rows, k, 1, keeping)
    if not cuts:
        return [rows]
    return [part for side in cuts[0] for part in cut_greedily(table, side, k, keeping)]


def cut_with_rollouts(table, rows, k, tried, keeping=None):
    """The same, but in groups of 3k rows or more the cut counts whose sides, cut greedily, lose least."""
    cuts = best_cuts(table, rows, k, tried, keeping)
    if not cuts:
        return [rows]
    chosen = cuts[0]
    if len(rows) >= 3 * k:
        chosen = min(
            cuts, key=lambda cut: sum(table.total(cut_greedily(table, side, k, keeping)) for side in cut)
        )
    return [part for side in chosen for part in cut_with_rollouts(table, side, k, tried, keeping)]


def taken(waiting, at):
    """Take a row out of a list; the first one of the list gets its place."""
    row = waiting[at]
    waiting[at] = waiting[0]
    del waiting[0]
    return row


def grown_class(table, waiting, k, keeping):
    """Grow a class from the first row of the list: to k rows, then by rows that help it to be good."""
    members = [taken(waiting, 0)]

    def cost(at):
        return table.diversity([*members, waiting[at]])

    while len(members) < k:
        members.append(taken(waiting, min(range(len(waiting)), key=cost)))
    while keeping is not None and not keeping.good(members):
        helpful = [at for at, row in enumerate(waiting) if keeping.helps(members, row)]
        if not helpful:
            break
        members.append(taken(waiting, min(helpful, key=cost)))
    return members


def grown(table, rows, k, first, keeping=None):
    """Classes grown one after the other, the first around the row at place `first`; [] for failure."""
    waiting, classes = list(rows), []
    while len(waiting) >= k:
        waiting.insert(0, taken(waiting, first))
        members = grown_class(table, waiting, k, keeping)
        if keeping is not None and not keeping.good(members):
            waiting = members + waiting
            break
        classes.append(members)
        far = [table.diversity([members[-1], row]) for row in waiting]
        first = far.index(max(far)) if far else 0
    for row in waiting:
        open_to = [c for c in classes if keeping is None or keeping.good([*c, row])]
        if not open_to:
            return []
        min(open_to, key=lambda c: table.loss([*c, row]) - table.loss(c)).append(row)
    return classes


def without(rows, row):
    """The other rows."""
    return [other for other in rows if other != row]


def nearest(table, classes, own, most):
    """The classes of which D is least together with one, the least first."""
    others = [other for other in range(len(classes)) if other != own and classes[other]]
    return sorted(others, key=lambda other: table.diversity([*classes[own], *classes[other]]))[:most]


def one_pass(table, classes, k, most, keeping=None):
    """The classes, as lists, after every row had its chance to move or to change places once.

    Among the `most` nearest classes; None for all.
    """
    classes = [list(rows) for rows in classes]
    for own in range(len(classes)):
        if classes[own]:
            among = range(len(classes)) if most is None else nearest(table, classes, own, most)
            improve_class(table, classes, own, among, k, keeping)
    return classes


def improve_class(table, classes, own, among, k, keeping):
    """Let each row of a class move or change places; return the classes changed. Writes `classes`."""
    changed = []
    for row in list(classes[own]):
        if row in classes[own]:
            was = list(classes)
            improve_row(table, classes, own, row, among, k, keeping)
            changed += [c for c in range(len(classes)) if classes[c] != was[c]]
    return changed


def improve_row(table, classes, own, row, among, k, keeping):
    """Let one row of a class move, or else change places, if that loses less. Writes `classes`."""

    def good(rows):
        return keeping is None or keeping.good(rows)

    def grows(other):
        return table.loss([*classes[other], row]) - table.loss(classes[other])

    rest = without(classes[own], row)
    others = [other for other in among if other != own and classes[other]]
    if len(rest) >= k and good(rest):
        for other in sorted(others, key=grows):  # stable: the first listed of equals
            if grows(other) < table.loss(classes[own]) - table.loss(rest) and good([*classes[other], row]):
                classes[own], classes[other] = rest, [row, *classes[other]]
                return
    if table.diversity(rest) == table.diversity(classes[own]):
        return  # leaving makes nothing smaller, so that no swap is tried
    swaps = []
    for other in others:
        for theirs in classes[other]:
            here, there = [theirs, *rest], [row, *without(classes[other], theirs)]
            change = table.total([here, there]) - table.total([classes[own], classes[other]])
            if change < 0 and good(here) and good(there):
                swaps.append((change, other, here, there))
    if swaps:
        _, other, here, there = min(swaps, key=lambda swap: swap[0])
        classes[own], classes[other] = here, there


def settled(table, before, classes, touched, k, temperature=0, keeping=None, *, is_wide=False):
    """The classes, as lists, after the rows of those that a step has touched have settled.

    `before` are the classes before the step, `touched` those that it has saved, in that order.
    """
    classes, touched = [list(rows) for rows in classes], list(touched)
    with_rows = [c for c in touched if classes[c]]
    near = [other for c in with_rows[:2] for other in nearest(table, classes, c, 6)]
    among = range(len(classes)) if is_wide else list(dict.fromkeys([*touched, *near]))
    waiting = touched
    for _ in range(4):
        changed, start = [], table.total(classes)
        for own in list(touched):
            if classes[own] and own in [*waiting, *changed]:
                changed += improve_class(table, classes, own, among, k, keeping)
        touched, waiting = list(dict.fromkeys([*touched, *changed])), changed
        now = table.total(classes)
        if now == start or now - table.total(before) > 2 * (start - now) + 5 * temperature:
            break
    return classes


def refilled(table, classes, own, k, keeping=None):
    """The classes, as lists, after one has borrowed until it is good, and whether it is."""
    classes = [list(rows) for rows in classes]
    able = [rows if len(rows) > k or c == own else [] for c, rows in enumerate(classes)]
    lenders = nearest(table, able, own, 12)
    if k - len(classes[own]) > sum(len(classes[lender]) - k for lender in lenders):
        return classes, False

    def good(rows):
        return keeping is None or keeping.good(rows)

    def borrow(row, lender):
        classes[own], classes[lender] = [row, *classes[own]], without(classes[lender], row)

    for _ in range(4 * k):
        if len(classes[own]) >= k and good(classes[own]):
            return classes, True
        loans = sorted(offers(table, classes, own, lenders, k, keeping), key=lambda loan: loan[0])
        if not loans:
            return classes, False
        _, row, lender = loans[0]
        rest = without(classes[lender], row)
        if not good(rest):
            return classes, False
        is_missed = table.diversity(rest) < table.diversity(classes[lender])
        borrow(row, lender)
        for other in [] if is_missed else list(classes[lender]):
            is_inside = table.diversity([*classes[own], other]) == table.diversity(classes[own])
            can = len(classes[own]) < k < len(classes[lender])
            if can and is_inside and good(without(classes[lender], other)):
                borrow(other, lender)
    return classes, False


def offers(table, classes, own, lenders, k, keeping):
    """What each row that could be borrowed costs, the row, and its class."""
    members, needs_help = classes[own], keeping is not None and len(classes[own]) >= k
    for lender in lenders:
        for row in classes[lender]:
            if len(classes[lender]) > k and (not needs_help or keeping.helps(members, row)):
                widens = table.diversity([*members, row]) - table.diversity(members)
                saves = table.loss(classes[lender]) - table.loss(without(classes[lender], row))
                yield max(k, len(members) + 1) * widens - saves, row, lender
