"""m-invariance by its definition (Xiao and Tao, SIGMOD 2007, definitions 3 to 5), in plain Python.

A release is a dict from person to (group, sensitive value). The signature of a group is the set of its
values.
"""


def signatures(release):
    """The signature of each person's group."""
    members = {}
    for person, (group, value) in release.items():
        members.setdefault(group, []).append((person, value))
    return {person: frozenset(v for _, v in found) for found in members.values() for person, _ in found}


def is_m_unique(release, m):
    """Each group has at least m rows, and no two rows of a group have the same value."""
    groups = {}
    for group, value in release.values():
        groups.setdefault(group, []).append(value)
    return all(len(values) >= m and len(set(values)) == len(values) for values in groups.values())


def is_m_invariant(releases, m):
    """Every release is m-unique, and everybody's groups have the same signature in all releases."""
    known = {}
    for release in releases:
        for person, signature in signatures(release).items():
            if known.setdefault(person, signature) != signature:
                return False
    return all(is_m_unique(release, m) for release in releases)


def most_newcomers(counts, m):
    """The most rows with these counts of values that can be in m-unique groups.

    They can exactly if no value has more than one in m of them [the eligibility condition of the paper]:
    try every smaller table that leaves out rows of the most frequent values.
    """
    counts = sorted(counts, reverse=True)
    while counts and m * counts[0] > sum(counts):
        counts[0] -= 1
        counts = sorted((count for count in counts if count), reverse=True)
    return sum(counts)
