"""Elements of arrays in kernels: what is read and written is what NumPy reads and writes."""

import os
import subprocess
import sys

import numpy as np
import pytest

from shoal.kernels.compiling import Entry


def element(values, at):
    return values[at]


def element_of_two(values, at, col):
    return values[at, col]


def element_of_three(values, at, row, col):
    return values[at, row, col]


def row_element(values, at, col):
    return values[at][col]


def first_and_last(values):
    return values[0], values[-1]


def corner(values):
    return values[-1, 0]


def write(values, at, value):
    values[at] = value


def write_in_two(values, at, col, value):
    values[at, col] = value


def write_first_and_last(values, value):
    values[0], values[-1] = value, value


def add_twice(values, at):
    found = 0
    for _ in range(2):
        values[at] += 1
        found = values[at]
    return found


NUMBERS = np.arange(24) * 3 - 5


@pytest.mark.parametrize("at", [0, 5, 23, np.int32(3), np.uint64(4), np.uint32(2)])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float64, np.bool_])
def test_an_element_is_the_one_that_numpy_reads(dtype, at):
    values = (NUMBERS % 7).astype(dtype)
    assert Entry(element)(values, at) == values[at]


def test_an_element_of_several_axes_is_the_one_that_numpy_reads():
    two, three = NUMBERS.reshape(6, 4), NUMBERS.reshape(2, 3, 4)
    for at, col in ((0, 0), (5, 3), (4, 2), (np.int32(3), np.uint64(1))):
        assert Entry(element_of_two)(two, at, col) == two[at, col]
        assert Entry(row_element)(two, at, col) == two[at, col]
    for at, row, col in ((0, 0, 0), (1, 2, 3), (0, np.int32(1), np.uint64(2))):
        assert Entry(element_of_three)(three, at, row, col) == three[at, row, col]


def test_an_array_that_is_not_contiguous_or_not_aligned_is_read_as_usual():
    values = np.asfortranarray(NUMBERS.reshape(6, 4))
    assert Entry(element_of_two)(values, 2, -1) == values[2, -1]
    assert Entry(element)(NUMBERS[::3], -2) == NUMBERS[::3][-2]
    odd = np.zeros(17, np.uint8)[1:].view(np.int64)
    odd[1] = 7
    assert not odd.flags.aligned
    assert Entry(element)(odd, 1) == 7


def test_constants_in_brackets_count_from_either_end():
    assert Entry(first_and_last)(NUMBERS) == (NUMBERS[0], NUMBERS[-1])
    assert Entry(corner)(NUMBERS.reshape(6, 4)) == NUMBERS[20]
    values = np.zeros(3, np.int32)
    Entry(write_first_and_last)(values, 4)
    assert values.tolist() == [4, 0, 4]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float64, np.bool_])
def test_what_is_written_becomes_the_type_of_the_array(dtype):
    values = np.zeros(4, dtype)
    Entry(write)(values, 3, 1)
    Entry(write)(values, np.uint32(1), True)
    assert values.tolist() == np.array([0, 1, 0, 1], dtype).tolist()
    two = np.zeros((2, 3), dtype)
    Entry(write_in_two)(two, 1, 2, 1.0)
    assert two.tolist() == np.array([[0, 0, 0], [0, 0, 1]], dtype).tolist()


OUTSIDE = """
import numpy as np
from tests.kernels.test_lowering import NUMBERS, Entry, element, element_of_two, write

assert Entry(element)(NUMBERS, 23) == NUMBERS[23]
for at in (-1, 24, np.int32(-1), np.uint64(24)):
    for call in (
        lambda: Entry(element)(NUMBERS, at),
        lambda: Entry(element_of_two)(NUMBERS.reshape(6, 4), 2, at),
        lambda: Entry(write)(NUMBERS.copy(), at, 1),
    ):
        try:
            call()
        except IndexError:
            continue
        raise SystemExit(f"{at} was not refused")
"""


def test_numbers_outside_an_array_are_refused_where_that_is_asked_for(tmp_path):
    asked = {
        "NUMBA_BOUNDSCHECK": "1",
        "XDG_CACHE_HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", OUTSIDE]
    done = subprocess.run(command, check=False, env=os.environ | asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_whole_row_is_written_as_usual():
    values = np.zeros((2, 3), np.int64)
    Entry(write)(values, 1, 5)
    assert values.tolist() == [[0, 0, 0], [5, 5, 5]]


def test_a_variable_keeps_its_value_from_one_round_to_the_next():
    values = np.zeros(2, np.int64)
    assert Entry(add_twice)(values, 1) == 2
    assert values.tolist() == [0, 2]
