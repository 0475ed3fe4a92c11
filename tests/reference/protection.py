"""Slow, obvious twins of the protection of single columns, from the definitions; nothing of shoal is used."""

from fractions import Fraction
from hashlib import sha256


def transition(counts, change, invariant):
    """The probability that a cell of category i is released as category j, for all i and j.

    Gouweleeuw, Kooiman, Willenborg, de Wolf (1998): a cell is changed with probability `change`; then every
    other category is as likely as any. Invariant: it becomes the category of a cell drawn from the column.
    """
    cells = [category for category, number in enumerate(counts) for _ in range(number)]
    matrix = []
    for i in range(len(counts)):
        row = [Fraction(0)] * len(counts)
        row[i] += 1 - change
        targets = cells if invariant else [j for j in range(len(counts)) if j != i]
        for j in targets:
            row[j] += change * Fraction(1, len(targets))
        matrix.append(row)
    return matrix


def rank_swap(n_values, window, draw):
    """Swap ranks as Moore (1996): each, from the lowest on, with a free one at most `window` ranks above."""
    partner, free = list(range(n_values)), set(range(n_values))
    for rank in range(n_values):
        if rank not in free:
            continue
        free.discard(rank)
        above = [other for other in range(rank + 1, n_values) if other <= rank + window]
        if not free.intersection(above):
            continue
        while True:
            other = above[int(draw() * len(above))]
            if other in free:
                break
        free.discard(other)
        partner[rank], partner[other] = other, rank
    return partner


def hmac_sha256(key, message):
    """RFC 2104 with SHA-256, whose blocks have 64 bytes."""
    key = sha256(key).digest() if len(key) > 64 else key
    key = key.ljust(64, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in key) + message).digest()
    return sha256(bytes(byte ^ 0x5C for byte in key) + inner).hexdigest()


def coded(value, bottom, top):
    """A value beyond a code is the code."""
    if value is None:
        return None
    if top is not None and value > top:
        return top
    return bottom if bottom is not None and value < bottom else value


def linked(true, released):
    """The share of rows that are right when each released value is linked to the nearest true one."""
    right = Fraction(0)
    for at, value in enumerate(released):
        nearest = min(abs(value - other) for other in true)
        candidates = [row for row, other in enumerate(true) if abs(value - other) == nearest]
        right += Fraction(at in candidates, len(candidates))
    return right / len(true)
