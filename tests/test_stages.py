"""What runs while other work goes on."""

import threading

import pytest

from shoal.stages import BackgroundStage


def test_other_work_goes_on_until_the_result_is_needed():
    may_end = threading.Event()
    timings = {}
    later = BackgroundStage(timings, "later", lambda tick: may_end.wait(60))
    assert timings == {}  # nobody has waited yet
    may_end.set()
    assert later.result() is True
    assert list(timings) == ["later"]


def test_progress_is_reported_to_the_one_who_waits():
    def compute(tick):
        tick(0.25)
        tick(0.5, "half")
        return 7

    told = []
    later = BackgroundStage({}, "later", compute)
    assert later.result(lambda *progress: told.append(progress)) == 7
    assert told == [("later", 0.0, ""), ("later", 0.25, ""), ("later", 0.5, "half"), ("later", 1.0, "")]


def test_the_seconds_are_those_of_the_first_wait():
    timings = {}
    later = BackgroundStage(timings, "later", lambda tick: 7)
    later.result()
    first = timings["later"]
    assert later.result() == 7
    assert timings["later"] == first


def test_an_error_reaches_the_one_who_waits():
    def compute(tick):
        raise ValueError("seven")

    later = BackgroundStage({}, "later", compute)
    for _ in range(2):
        with pytest.raises(ValueError, match="seven"):
            later.result()
