"""Which trials are on the frontier, and what is recommended, on numbers worked out by hand."""

from shoal.workflow.recommendation import frontier, recommendation


def trial(method, k, il, seconds=1.0, risk=None, bound=None, added=None):
    return {
        "method": method,
        "k": k,
        "seconds": seconds,
        "risk": {"highest": 1 / k if risk is None else risk},
        "loss": {"il": il, "gcp": il / 100, "dm": None},
        "bound": bound,
        "added_loss": added,
        "error": None,
    }


REFUSED = {"method": "r", "k": 5, "risk": None, "loss": None, "error": {"code": "x", "message": "no"}}


def test_the_frontier_is_what_nothing_beats_in_both():
    results = [
        trial("a", 5, 10),
        trial("b", 5, 12),
        trial("a", 10, 30),
        REFUSED,
        trial("b", 10, 20),
        trial("c", 5, 15, risk=1 / 8),  # larger classes than asked: less risk than a, less loss than b at 10
        trial("d", 10, 20),
    ]
    assert frontier(results) == [True, False, False, False, True, True, True]


def test_a_method_that_loses_more_with_more_risk_is_not_on_it():
    assert frontier([trial("a", 5, 10), trial("a", 10, 9)]) == [False, True]


def test_the_best_method_and_each_step_are_told():
    words = recommendation(
        [trial("a", 5, 10), trial("b", 5, 12), trial("a", 10, 20), trial("b", 10, 21), REFUSED]
    )
    assert words == [
        "Take a: it loses least at every k.",
        "From k = 5 to k = 10 the highest risk falls from 20 % to 10 %, and the information lost (GCP) goes "
        "from 10 % to 20 %.",
        "Choose the largest k whose loss your analysis can bear.",
    ]


def test_if_methods_take_turns_each_is_named():
    words = recommendation([trial("a", 5, 10), trial("b", 5, 12), trial("a", 10, 20), trial("b", 10, 19)])
    assert words[0] == "No method loses least at every k. Take a at k = 5; b at k = 10."


def test_a_fast_method_that_loses_little_more_is_named():
    slow = [trial("a", 5, 100, seconds=8), trial("a", 10, 200, seconds=12)]
    near = [
        trial("b", 5, 104, seconds=1),
        trial("b", 10, 210, seconds=1),
    ]  # at most 5 % more, 20 / 2 = 10 times
    far = [trial("c", 5, 120, seconds=0.1), trial("c", 10, 210, seconds=0.1)]
    words = recommendation([*slow, *near, *far])
    assert words[1] == "In a hurry, take b: it is 10 times as fast and loses at most 5.0 % more."
    assert not [word for word in recommendation([*slow, *far]) if "hurry" in word]


def test_what_could_still_be_saved_and_what_goals_cost():
    words = recommendation([trial("a", 5, 10, bound=8, added=2), trial("a", 10, 20, bound=15, added=1)])
    assert "No method can save more than 25 % of the lowest loss (k = 10)." in words  # 1 - 15 / 20
    assert "The goals beyond k add at most 25 % to the loss of k alone (k = 5)." in words  # 2 / (10 - 2)
    assert "The goals beyond k cost nothing." in recommendation([trial("a", 5, 10, added=0.0)])


def test_without_results_nothing_is_recommended():
    assert recommendation([REFUSED]) == []
