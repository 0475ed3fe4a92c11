"""Several views of the same people, worked by hand, and the check of section 5 against all worlds.

This tests the reference in tests/reference/composition.py, so that what is compared with it can lean on it.
"""

import random
from collections import Counter
from fractions import Fraction

import pytest

from tests.reference.composition import NO_ATTACK_FOUND, REFUSED, check, consistent_values
from tests.reference.nonhomogeneous import ANY


def people(*rows):
    return [{"age": age, "zip": zip_code, "ill": ill} for age, zip_code, ill in rows]


def release(originals, quasi, classes, sensitive=("ill",)):
    """A view with the smallest box around each class, and the number of everybody's released row in it."""
    view, own = [], {}
    for members in classes:
        values = {column: [originals[i][column] for i in members] for column in quasi}
        box = {column: (min(present), max(present)) for column, present in values.items()}
        for i in members:
            own[i] = len(view)
            view.append((box, {column: originals[i][column] for column in sensitive}))
    return view, [own[i] for i in range(len(originals))]


def two_views(originals, by_age, by_zip):
    views, own = zip(release(originals, ["age"], by_age), release(originals, ["zip"], by_zip), strict=True)
    return list(views), list(own)


def counted(**counts):
    return Counter({(value,): count for value, count in counts.items()})


def two_values(multiset):
    return len(multiset) >= 2


def test_two_releases_that_overlap_reveal_everybody():
    # By age {0,1} {2,3}, by zip {0,2} {1,3}: each is 2-anonymous. Person 0 has flu or cold in the first, flu
    # or ulcer in the second: M = {flu}, 1 < 2. Only person 0 is in both of its boxes: J = 1. All others
    # likewise.
    originals = people((20, 1, "flu"), (25, 5, "cold"), (40, 2, "ulcer"), (45, 6, "cough"))
    views, own = two_views(originals, [[0, 1], [2, 3]], [[0, 2], [1, 3]])
    found = check(originals, views, 2, own)
    assert found.verdict == REFUSED
    for i, person in enumerate(found.people):
        assert person.c_box == person.c_label == [2, 2]
        assert person.m_box == person.m_label == Counter({(originals[i]["ill"],): 1})
        assert (person.m, person.j, person.exempt, person.holds) == (1, 1, False, False)
    # One view alone has 2 x 2 bijections, and both leave one world only: the truth.
    for i, values in enumerate(consistent_values(originals, views)):
        assert values.worlds == Counter({(originals[i]["ill"],): 1})
        assert [len(possible) for possible in values.alone] == [2, 2]
        assert values.disclosed
        assert values.largest_share == 1
    assert [
        check(originals, [view], 2, [labels]).verdict for view, labels in zip(views, own, strict=True)
    ] == [
        NO_ATTACK_FOUND,
        NO_ATTACK_FOUND,
    ]


def test_projections_of_one_clustering_say_no_more_than_the_one_release():
    # {0,1} {2,3} in both views. M(0) = {flu, cold}, J(0) = |{0,1}| = 2.
    originals = people((20, 1, "flu"), (25, 2, "cold"), (40, 5, "ulcer"), (45, 6, "cough"))
    classes = [[0, 1], [2, 3]]
    views, own = two_views(originals, classes, classes)
    found = check(originals, views, 2, own)
    assert found.verdict == NO_ATTACK_FOUND
    assert [(person.m, person.j, person.exempt) for person in found.people] == [(2, 2, False)] * 4
    assert found.people[0].m_label == counted(flu=1, cold=1)
    # Each pair may be swapped or not, in both views alike: 2 x 2 worlds, half of them with either value.
    whole, _ = release(originals, ["age", "zip"], classes)
    assert [v.worlds for v in consistent_values(originals, views)] == [
        counted(flu=2, cold=2),
        counted(flu=2, cold=2),
        counted(ulcer=2, cough=2),
        counted(ulcer=2, cough=2),
    ]
    for projected, one in zip(
        consistent_values(originals, views), consistent_values(originals, [whole]), strict=True
    ):
        assert projected.worlds == one.worlds
        assert projected.largest_share == Fraction(1, 2)
        assert not projected.disclosed


def test_a_rare_value_links_two_views():
    # By age {0,1} {2,3}, by zip {0,2} {1,3}; person 0 has hiv, the others flu.
    # 0: {hiv, flu} in both, so M = {hiv, flu}, which is enough. But only 0 is in both boxes, J = 1, and hiv
    #    occurs once: refused. The one hiv row of either view is the same person, 0 or 1, and 0 or 2.
    # 1: {hiv, flu} and {flu, flu}: M = {flu}, refused; 2 likewise.
    # 3: {flu, flu} in both, M = {flu, flu}. J = 1, but flu occurs twice in both of its classes: exempt.
    originals = people((20, 1, "hiv"), (25, 5, "flu"), (40, 2, "flu"), (45, 6, "flu"))
    views, own = two_views(originals, [[0, 1], [2, 3]], [[0, 2], [1, 3]])
    found = check(originals, views, 2, own)
    assert found.verdict == REFUSED
    assert found.people[0].m_label == counted(hiv=1, flu=1)
    assert [person.m for person in found.people] == [2, 1, 1, 2]
    assert [person.j for person in found.people] == [1, 1, 1, 1]
    assert [person.exempt for person in found.people] == [False, False, False, True]
    assert [person.holds for person in found.people] == [False, False, False, True]
    # 1 has flu for certain by the second view alone, so it is not the composition that tells: nor for 2, 3.
    values = consistent_values(originals, views)
    assert [v.disclosed for v in values] == [True, False, False, False]
    assert values[0].alone == [{("hiv",), ("flu",)}] * 2
    assert values[1].alone == [{("hiv",), ("flu",)}, {("flu",)}]


def test_equal_views_that_nothing_links():
    # One class by age, {0,1} {2,3} by zip, flu and cold in each of them. Person 0: {flu 2, cold 2} and {flu,
    # cold}, M = {flu, cold}; J = |{0,1}| = 2.
    originals = people((20, 1, "flu"), (45, 2, "cold"), (40, 5, "flu"), (25, 6, "cold"))
    views, own = two_views(originals, [[0, 1, 2, 3]], [[0, 1], [2, 3]])
    found = check(originals, views, 2, own, goals=[two_values])
    assert found.verdict == NO_ATTACK_FOUND
    assert [person.c_label for person in found.people] == [[4, 2]] * 4
    assert [person.m_label for person in found.people] == [counted(flu=1, cold=1)] * 4
    assert [person.j for person in found.people] == [2] * 4
    # By zip each pair is swapped or not: 4 bijections, all different. By age each of these is met by 2 x 2
    # bijections (the flu rows among themselves, the cold rows too). 16 worlds, 8 with either value.
    for values in consistent_values(originals, views):
        assert values.worlds == counted(flu=8, cold=8)
        assert not values.disclosed


def test_the_own_label_counts_less_than_the_boxes_around():
    # By age {0,1}: 20-30 and {2,3}: 25-40. Persons 1 (30) and 2 (25) lie in both boxes, 0 and 3 in one each.
    # By zip one class. Person 1: 4 rows by boxes, 2 by label; M by label {flu, cold}, by boxes all four.
    originals = people((20, 1, "flu"), (30, 1, "cold"), (25, 1, "ulcer"), (40, 1, "cough"))
    views, own = two_views(originals, [[0, 1], [2, 3]], [[0, 1, 2, 3]])
    person = check(originals, views, 3, own).people[1]
    assert (person.c_box, person.c_label) == ([4, 4], [2, 4])
    assert (person.m_box.total(), person.m_label, person.m) == (4, counted(flu=1, cold=1), 2)
    assert not person.holds
    # Without labels its row is that with a cold: J = |{0,1,2}|, those from 20 to 30; M has all four.
    person = check(originals, views, 3).people[1]
    assert (person.c_label, person.m_label, person.m, person.j) == (None, None, 4, 3)
    assert person.holds
    # Age alone: 0 has one of rows 0 and 1, 3 one of rows 2 and 3, and 1 and 2 the other two in either order:
    # 2 x 2 x 2 = 8 worlds. Of these person 1 has each of the four values in 2.
    values = consistent_values(originals, views)
    assert values[1].worlds == counted(flu=2, cold=2, ulcer=2, cough=2)
    assert values[0].worlds == counted(flu=4, cold=4)
    # Somebody who knows the labels has 2 x 2 worlds.
    assert consistent_values(originals, views, own)[1].worlds == counted(flu=2, cold=2)


def test_without_labels_the_smallest_j_of_all_rows_that_may_be_ones_own():
    # By age {0,1}: 20-30, {2,3}: 30-40, all with flu. Person 1 (30) may be in either: J is 3 (20, 30, 30) or
    # 3 (30, 30, 40); person 0 only in the first. For k = 4 flu does not occur often enough in a class of 2.
    originals = people((20, 1, "flu"), (30, 1, "flu"), (30, 1, "flu"), (40, 1, "flu"))
    views, _ = two_views(originals, [[0, 1], [2, 3]], [[0, 1, 2, 3]])
    found = check(originals, views, 4)
    assert [person.j for person in found.people] == [3, 3, 3, 3]
    assert [person.m for person in found.people] == [2, 4, 4, 2]
    assert [person.holds for person in found.people] == [False] * 4
    assert all(person.exempt for person in check(originals, views, 2).people)


def test_taking_away_reveals_what_the_check_does_not_see():
    # The check is necessary, not sufficient. Three people by age {0,1,3} have one flu and two colds, two of
    # them by zip {0,1} one flu and one cold: the flu is with 0 or 1, so person 3 has a cold.
    # 3: {flu, cold 2} and, by zip {2,3,4}, {flu, cold 2}: M = {flu, cold 2}, with two values. J = 1, but cold
    #    occurs twice in both classes: exempt. 0 and 1: M = {flu, cold}, J = 2. 2 and 4: the same.
    originals = people((20, 1, "flu"), (22, 0, "cold"), (30, 5, "flu"), (22, 6, "cold"), (35, 5, "cold"))
    views, own = two_views(originals, [[0, 1, 3], [2, 4]], [[0, 1], [2, 3, 4]])
    found = check(originals, views, 2, own, goals=[two_values])
    assert found.verdict == NO_ATTACK_FOUND
    assert [person.m for person in found.people] == [2, 2, 2, 3, 2]
    assert [person.j for person in found.people] == [2, 2, 2, 1, 2]
    assert [person.exempt for person in found.people] == [False, False, False, True, False]
    values = consistent_values(originals, views)
    assert [v.disclosed for v in values] == [False, False, False, True, False]
    assert values[3].alone == [{("flu",), ("cold",)}] * 2
    assert set(values[3].worlds) == {("cold",)}


def test_j_counts_people_whom_another_class_cannot_do_without():
    # By age {1,2,3}: 0-1 and {0,4}: 3-5; by zip {0,2,4}: 1-3 and {1,3}: 2-2. Person 2: {ulcer, flu, cold} in
    # both, so M has 3. J = 3: persons 1 and 3 are in 0-1, and their zip 2 is in 1-3. But the two rows of 2-2
    # can be theirs only, so the ulcer is with 0, 2 or 4, and by age with 1, 2 or 3: with person 2.
    # 0 and 4: M = {flu, cold}, J = 2. 1 and 3: the same.
    originals = people((3, 3, "cold"), (0, 2, "flu"), (0, 1, "ulcer"), (1, 2, "cold"), (5, 3, "flu"))
    views, own = two_views(originals, [[1, 2, 3], [0, 4]], [[0, 2, 4], [1, 3]])
    found = check(originals, views, 2, own, goals=[two_values])
    assert found.verdict == NO_ATTACK_FOUND
    assert [person.m for person in found.people] == [2, 2, 3, 2, 2]
    assert [person.j for person in found.people] == [2, 2, 3, 2, 2]
    assert not any(person.exempt for person in found.people)
    values = consistent_values(originals, views)
    assert [v.disclosed for v in values] == [False, False, True, False, False]
    assert set(values[2].worlds) == {("ulcer",)}


def test_k_equal_values_are_left_and_only_a_goal_sees_it():
    # By age {0,1,2} flu, flu, cold; {3,4,5} flu, flu, cough. By zip {0,1,5} flu, flu, cough; {2,3,4} flu,
    # flu, cold. Person 0: M = {flu 2}, as many as k, J = |{0,1}| = 2: nothing found, and yet it has flu for
    # certain.
    originals = people(
        (20, 1, "flu"), (21, 2, "flu"), (22, 6, "cold"), (30, 7, "flu"), (31, 8, "flu"), (32, 3, "cough")
    )
    views, own = two_views(originals, [[0, 1, 2], [3, 4, 5]], [[0, 1, 5], [2, 3, 4]])
    person = check(originals, views, 2, own).people[0]
    assert (person.m_label, person.j, person.holds) == (counted(flu=2), 2, True)
    assert consistent_values(originals, views)[0].disclosed
    assert not check(originals, views, 2, own, goals=[two_values]).people[0].holds


def test_a_column_that_only_some_views_share_is_seen_in_these_alone():
    # The third view has no `ill`, so no column is shared by all three: all tuples are (), M has 2 of them,
    # and nothing is found. The first two alone are those that reveal everybody.
    originals = people((20, 1, "flu"), (25, 5, "cold"), (40, 2, "ulcer"), (45, 6, "cough"))
    views, own = two_views(originals, [[0, 1], [2, 3]], [[0, 2], [1, 3]])
    third, labels = release(originals, ["age"], [[0, 1, 2, 3]], sensitive=())
    assert check(originals, [*views, third], 2, [*own, labels]).verdict == NO_ATTACK_FOUND
    assert check(originals, views, 2, own).verdict == REFUSED


def test_missing_values_and_whole_columns():
    # A mix of missing and present publishes ANY, which contains all; a missing value alone publishes None.
    originals = people((None, 1, None), (None, 1, "flu"), (30, 1, "flu"))
    rows = [{"ill": None}, {"ill": "flu"}, {"ill": "flu"}]
    boxes = [{"age": None}, {"age": ANY}, {"age": ANY}]
    found = check(originals, [list(zip(boxes, rows, strict=True))], 2)
    assert [person.c_box for person in found.people] == [[3], [3], [2]]
    assert found.people[0].j == 2  # the two whose age is missing
    assert found.people[2].m_box == counted(flu=2)
    assert found.people[0].m_box == Counter({(None,): 1, ("flu",): 2})


@pytest.mark.parametrize(
    ("views", "own", "says"),
    [
        ([], None, "must be a view"),
        ([[({"age": (20, 25)}, {"ill": "flu"})]], None, "as many released rows"),
        (
            [[({"age": (25, 25)}, {"ill": "flu"}), ({"age": (25, 25)}, {"ill": "cold"})]],
            None,
            "of original 0",
        ),
        ([[({"age": (20, 25)}, {"ill": "cold"})] * 2], [[0, 0]], "of original 0"),
    ],
)
def test_what_no_release_can_be(views, own, says):
    originals = people((20, 1, "flu"), (25, 1, "cold"))
    with pytest.raises(ValueError, match=says):
        check(originals, views, 2, own)


def test_brute_force_has_its_limits():
    originals = people(*[(20, 1, "flu")] * 7)
    with pytest.raises(ValueError, match="up to 6"):
        consistent_values(originals, [release(originals, ["age"], [list(range(7))])[0]])
    two = people((20, 1, "flu"), (25, 1, "cold"))
    swapped = [[({"age": (age, age)}, {"ill": ill}) for age, ill in pairs] for pairs in (
        [(20, "flu"), (25, "cold")],
        [(25, "flu"), (20, "cold")],
    )]  # fmt: skip
    with pytest.raises(ValueError, match="no consistent world"):
        consistent_values(two, swapped)


def some_classes(rng, order, k):
    """Cut the order into classes of at least k."""
    classes = []
    while len(order) >= 2 * k:
        size = rng.randint(k, len(order) - k)
        classes.append(order[:size])
        order = order[size:]
    return [*classes, order]


def some_release(seed):
    """4 to 6 people, and two views of them, clustered by value or (three in ten) at random."""
    rng = random.Random(seed)
    n = rng.randint(4, 6)
    k = rng.choice((2, 2, 3)) if n == 6 else 2
    ills = ("flu", "cold", "ulcer")[: rng.randint(2, 3)]
    originals = people(*((rng.randint(0, 5), rng.randint(0, 5), rng.choice(ills)) for _ in range(n)))
    classes = []
    for column in ("age", "zip"):
        order = sorted(range(n), key=lambda i: originals[i][column])
        if rng.random() < 0.3:
            rng.shuffle(order)
        classes.append(some_classes(rng, order, k))
    return originals, classes, k


SEEDS = range(200)


def test_what_always_holds_between_the_check_and_all_worlds():
    for seed in SEEDS:
        originals, classes, k = some_release(seed)
        views, own = two_views(originals, *classes)
        found = check(originals, views, k, own)
        by_box = consistent_values(originals, views)
        by_label = consistent_values(originals, views, own)
        for i, person in enumerate(found.people):
            mine = (originals[i]["ill"],)
            # The truth is a world, and no world gives a value that M does not have.
            assert mine in by_label[i].worlds
            assert set(by_label[i].worlds) <= set(person.m_label)
            assert set(by_box[i].worlds) <= set(person.m_box)
            assert set(by_label[i].worlds) <= set(by_box[i].worlds)
            assert person.m == person.m_label.total() <= person.m_box.total()
            # |M| = 1: the value is certain, whoever knows the labels.
            if person.m == 1:
                assert by_label[i].largest_share == 1
            # The only one with this value, and alone in its boxes: the views are linked.
            if person.j == 1 and sum(other["ill"] == mine[0] for other in originals) == 1:
                assert by_label[i].largest_share == 1
                assert not person.holds


def test_projections_never_say_more_than_the_one_release():
    for seed in SEEDS:
        originals, (classes, _), k = some_release(seed)
        views, own = two_views(originals, classes, classes)
        whole, labels = release(originals, ["age", "zip"], classes)
        projected, one = consistent_values(originals, views), consistent_values(originals, [whole])
        for of_views, of_whole in zip(projected, one, strict=True):
            assert set(of_views.worlds) >= set(of_whole.worlds)
        together = check(originals, [whole], k, [labels])
        for person, alone in zip(check(originals, views, k, own).people, together.people, strict=True):
            assert person.j >= alone.j >= k
            assert person.m >= k
            assert person.holds
            assert alone.holds


def test_the_check_finds_most_of_what_is_disclosed_and_not_all():
    tally = Counter()
    for seed in SEEDS:
        originals, classes, k = some_release(seed)
        views, own = two_views(originals, *classes)
        truth = consistent_values(originals, views)
        for name, goals in (("k", []), ("k and two values", [two_values])):
            found = check(originals, views, k, own, goals)
            for person, values in zip(found.people, truth, strict=True):
                tally[name, person.holds, values.disclosed] += 1
    for name in ("k", "k and two values"):
        seen, missed = tally[name, False, True], tally[name, True, True]
        assert seen > 4 * missed > 0, tally
        assert tally[name, True, False] > 0, tally
    assert tally["k and two values", True, True] < tally["k", True, True]
