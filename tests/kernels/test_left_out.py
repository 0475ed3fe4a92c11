"""Parts of boxes judged by the rows that are left out, next to all boxes that they have."""

from itertools import product

import numpy as np
import pytest

from shoal.kernels.box_parts import with_more_room
from shoal.kernels.left_out import empty_charges, is_beaten, list_end, most_excess
from shoal.kernels.row_excess import priced
from shoal.kernels.smallest_box import empty_search
from tests.kernels.calling import called

PATIENT = 1 << 40
list_one_end, most_by_charges, judge = map(called, (list_end, most_excess, is_beaten))


class Part:
    """One part with random candidates, k rows to a box; ends reach so far at least."""

    def __init__(self, seed, n_columns=2, most_rows=1):
        random = np.random.default_rng(seed)
        n, self.k = 14, 5
        self.most = random.integers(6, 20, n_columns).astype(np.int32)
        self.offset = random.integers(-9, 10, (n_columns, n)).astype(np.int32)
        self.size = random.integers(1, most_rows + 1, n).astype(np.int64)
        self.price = np.sort(random.integers(0, 60, n))[::-1].astype(np.int64)
        self.low = random.integers(0, 3, 2 * n_columns).astype(np.int64)
        self.has_equal = bool((self.size > 1).any())
        self.search, self.charges = empty_search(self.most, n), empty_charges(n_columns, n)
        self.search.offset[:], self.search.size[:] = self.offset, self.size
        self.search.state[0] = PATIENT
        self.prices = with_more_room(priced(self.price), n_columns, n, self.k)
        self.prices.own[:], self.prices.low[0] = self.price, self.low
        self.prices.left[:n], self.prices.end[0] = np.arange(n), n
        self.prices.rest[:n] = [self.cost(self.reach([one])) for one in range(n)]

    def reach(self, rows):
        """How far the least box of the part over some candidates reaches at each end."""
        far = np.stack([-self.offset[:, rows].min(1), self.offset[:, rows].max(1)], 1).ravel()
        return np.maximum(self.low, far)

    def cost(self, reach):
        """What a box costs."""
        return int(np.minimum(reach[::2] + reach[1::2], self.most).sum())

    def boxes(self):
        """All boxes with at least k rows: how far they reach, candidates inside, k times the excess."""
        ends = [
            sorted({int(low)} | {int(far) for far in sign * self.offset[col] if far > low})
            for low, (col, sign) in zip(self.low, product(range(len(self.most)), (-1, 1)), strict=True)
        ]
        for reach in product(*ends):
            down, up = np.array(reach[::2])[:, None], np.array(reach[1::2])[:, None]
            inside = np.flatnonzero(((-down <= self.offset) & (self.offset <= up)).all(0))
            prices = np.repeat(self.price[inside], self.size[inside])[: self.k]
            if len(prices) == self.k:
                yield reach, inside, int(prices.sum()) - self.k * self.cost(np.array(reach))

    @property
    def spare(self):
        """How many rows a box may leave out."""
        return int(self.size.sum()) - self.k


CASES = [(seed, 2, 1) for seed in range(20)] + [(seed, 2, 3) for seed in range(20)] + [(7, 3, 1)]


@pytest.mark.parametrize(("seed", "n_columns", "most_rows"), CASES)
def test_no_box_has_more_whatever_is_charged(seed, n_columns, most_rows):
    part = Part(seed, n_columns, most_rows)
    random, left = np.random.default_rng(seed), np.arange(14, dtype=np.uint32)
    for end in range(2 * n_columns):
        list_one_end(part.search, left, end, part.low[end], part.spare, part.charges)
    best = max(excess for _, _, excess in part.boxes())
    for high in (1, 20, 100):
        part.charges.charge[:] = random.integers(0, high, (n_columns, 14))
        part.charges.total[:] = part.charges.charge.sum(0)
        given = part.search, part.prices, left, part.k, part.spare, part.has_equal, part.charges
        assert most_by_charges(*given)[0] >= best


@pytest.mark.parametrize(("seed", "n_columns", "most_rows"), CASES)
def test_better_boxes_stay_in_the_part(seed, n_columns, most_rows):
    part = Part(seed, n_columns, most_rows)
    boxes = list(part.boxes())
    values = sorted({excess for _, _, excess in boxes})
    for best in (values[-1], values[-1] - 1, values[-3], values[len(values) // 2]):
        part = Part(seed, n_columns, most_rows)
        prices = np.repeat(part.price, part.size)[: part.k]
        limit = -((best - int(prices.sum())) // part.k)
        given = part.search, part.prices, 0, part.k, limit, best, part.has_equal, part.charges
        is_given_up = judge(*given)
        better = [(reach, inside) for reach, inside, excess in boxes if excess > best]
        assert not (better and is_given_up)
        left, low = part.prices.left[: part.prices.end[0]].tolist(), part.prices.low[0]
        for reach, inside in better:
            assert set(inside.tolist()) <= set(left)
            assert (low <= np.array(reach)).all()
        if not is_given_up:
            part.low = low.copy()
            rest = [part.cost(part.reach([one])) for one in left]
            assert part.prices.rest[: len(left)].tolist() == rest


def test_parts_without_better_boxes_are_given_up():
    beaten = 0
    for seed in range(40):
        part = Part(seed)
        best = max(excess for _, _, excess in part.boxes()) + 2 * part.k
        limit = -((best - int(part.price[: part.k].sum())) // part.k)
        beaten += judge(part.search, part.prices, 0, part.k, limit, best, False, part.charges)
    assert beaten > 10
