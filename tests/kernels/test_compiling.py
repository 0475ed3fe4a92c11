"""How kernels are compiled and kept: parts, entries, the cache, and several processes at once."""

import errno
import os
import signal
import subprocess
import sys
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from llvmlite import binding as llvm
from numba.core import caching

from shoal.errors import CacheWarning
from shoal.kernels.compiling import Entry, keeping, part_compiler, place
from shoal.kernels.compiling.held import held
from shoal.kernels.local_search.space import box_cost
from tests.profiles import slow, some
from tests.test_imports import run_python


class Pair(NamedTuple):
    numbers: np.ndarray
    factor: int


class Outer(NamedTuple):
    pair: Pair
    nothing: object


def weighed(outer, at):
    """An element of an array, times a number; -1 if there is something where nothing should be."""
    return outer.pair.numbers[at, 1] * outer.pair.factor if outer.nothing is None else -1


def test_a_part_called_from_python_says_what_it_is():
    with pytest.raises(TypeError, match="box_cost is a part of other kernels"):
        box_cost(None, None, None, 0)


def test_a_kernel_reads_a_tuple_by_the_names_of_its_fields():
    numbers = np.arange(6).reshape(3, 2)
    assert Entry(weighed)(Outer(Pair(numbers, 10), None), 2) == 50


def test_a_tuple_with_an_array_that_is_not_contiguous_is_refused():
    with pytest.raises(ValueError, match=r"Pair\.numbers is not C-contiguous"):
        held(Pair(np.arange(6).reshape(3, 2).T, 1))


def test_a_tuple_with_a_fraction_is_refused():
    with pytest.raises(TypeError):
        held(Pair(np.arange(3), 1.5))


class Library:
    """A library of Numba's, as far as linking it goes."""

    def __init__(self, code):
        self.code = code

    def _get_module_for_linking(self):
        return llvm.parse_assembly(self.code)


def test_a_part_is_linked_although_what_calls_it_is_linked_later():
    entry = llvm.parse_assembly("declare i64 @f()\ndefine i64 @entry() { %x = call i64 @f() ret i64 %x }")
    f = Library("declare i64 @g()\ndefine linkonce_odr i64 @f() { %x = call i64 @g() ret i64 %x }")
    g = Library("declare i64 @h()\ndefine linkonce_odr i64 @g() { %x = call i64 @h() ret i64 %x }")
    h = Library("define linkonce_odr i64 @h() { ret i64 7 }")
    part_compiler._link(entry, [h, g, f])
    assert sorted(f.name for f in entry.functions if not f.is_declaration) == ["entry", "f", "g", "h"]


def test_what_is_compiled_from_sources_that_have_been_replaced_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(keeping, "is_current", lambda: False)
    pair = Outer(Pair(np.arange(6).reshape(3, 2), 10), None)
    assert Entry(weighed)(pair, 2) == 50
    assert not list(tmp_path.glob("*.nb?"))
    monkeypatch.setattr(keeping, "is_current", lambda: True)
    assert Entry(weighed)(pair, 2) == 50
    assert len(list(tmp_path.glob("*.nb?"))) == 2


def test_sources_are_compared_with_those_that_were_loaded(tmp_path, monkeypatch):
    assert place.is_current()
    (tmp_path / "kernels" / "compiling").mkdir(parents=True)
    monkeypatch.setattr(place, "__file__", str(tmp_path / "kernels" / "compiling" / "place.py"))
    assert not place.is_current()


QUICKLY = {"NUMBA_OPT": "0"}  # what is compiled is the same, in less time, and the code is slower
LABELS = """
import sys
import polars as pl
from shoal.kernels.compiling import parts
if sys.argv[1] == "plain":
    parts.TESTED = ()
from shoal.cluster import METHODS
from shoal.engine import local
from shoal.recipe import Recipe
from shoal.table.encode import encode
from shoal.kernels import mondrian
n = 60
table = pl.DataFrame({
    "age": [at * 7 % 31 for at in range(n)],
    "sex": ["fmx"[at * 5 % 3] for at in range(n)],
    "ill": ["abc"[at * 11 % 3] for at in range(n)],
})
goal = {"type": "l-diversity", "column": "ill", "l": 2}
recipe = Recipe.from_roles(
    quasi=["age", "sex"], sensitive=["ill"], k=3,
    changes={"method": {"name": "mondrian"}, "privacy": {"goal": [goal]}},
)
print(mondrian.find_cut._compiler.pipeline_class.__name__)
print(local.run(encode(table, recipe), recipe, METHODS["mondrian"]).labels.tolist())
"""


@slow
def test_a_numba_that_was_not_tested_compiles_parts_as_usual_and_gives_the_same_labels(tmp_path):
    run = [sys.executable, "-c", LABELS]
    as_parts = subprocess.run([*run, "parts"], capture_output=True, text=True, check=True).stdout.splitlines()
    plain = subprocess.run(
        [*run, "plain"], capture_output=True, text=True, check=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), **QUICKLY},
    ).stdout.splitlines()  # fmt: skip
    assert (as_parts[0], plain[0]) == ("PartCompiler", "Compiler")
    assert plain[1] == as_parts[1]


# The cache.

HASH = """
import sys
import numpy as np
from numba.core import event
from shoal.kernels import hashing
state = np.zeros(2, np.uint64)
print("ready", flush=True)
sys.stdin.readline()
with event.install_recorder("numba:compile") as compilations:
    hashing.add_numbers(state, np.arange(2))
names = [e.data["dispatcher"].py_func.__name__ for _, e in compilations.buffer if e.is_start]
print(names.count("add_numbers"), state.tolist())
"""


def test_two_processes_that_start_together_compile_a_kernel_once(tmp_path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", HASH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    found = [process.communicate()[0].split(maxsplit=1) for process in both]
    assert sorted(count for count, _ in found) == ["0", "1"]
    assert found[0][1] == found[1][1]


HOLD = """
import time
from shoal.kernels.compiling.keeping import alone
from shoal.kernels.hashing import add_numbers
with alone(add_numbers.py_func):
    print("locked", flush=True)
    time.sleep(600)
"""


def test_the_lock_of_a_process_that_was_killed_blocks_nobody(tmp_path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert holder.stdout.readline() == "locked\n"
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    code = HOLD.replace("time.sleep(600)", "pass")
    assert run_python(code, XDG_CACHE_HOME=str(tmp_path)) == "locked\n"


def times_three(values):
    """The first value, tripled."""
    return 3 * values[0]


def test_a_full_disk_only_costs_time_and_says_so(monkeypatch):
    def save(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "save", save)
    keeping._warn.cache_clear()
    with pytest.warns(CacheWarning, match="No space left on device.*every run compiles them again"):
        assert Entry(times_three)(np.array([5.0])) == 15
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it says so once
        assert Entry(times_three)(np.array([5], np.int8)) == 15


def test_a_folder_that_cannot_be_made_only_costs_time_and_says_so(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(keeping, "cache_folder", lambda: tmp_path / "file" / "folder")
    keeping._warn.cache_clear()
    with pytest.warns(CacheWarning, match="cannot be kept in .*folder"):
        tripled = Entry(times_three)
    assert tripled(np.array([5])) == 15


def test_a_damaged_file_is_compiled_again(tmp_path):
    code = HASH.replace("sys.stdin.readline()", "")
    first = run_python(code, XDG_CACHE_HOME=str(tmp_path)).splitlines()[-1]
    assert run_python(code, XDG_CACHE_HOME=str(tmp_path)).splitlines()[-1] == first.replace("1 ", "0 ", 1)
    for end in some(["nbi", "nbc"], 2):
        for file in tmp_path.rglob(f"hashing.add_numbers*.{end}"):
            file.write_bytes(b"this is no pickle")
        assert run_python(code, XDG_CACHE_HOME=str(tmp_path)).splitlines()[-1] == first


# How much is compiled: a new part is fine, a tenth more should be noticed.

COUNT = """
import sys, warnings
warnings.simplefilter("ignore")
from numba.core import event
from shoal.workflow.warming import run_job
def names(job):
    with event.install_recorder("numba:compile") as compilations:
        run_job(job)
    return [e.data["dispatcher"].py_func.__qualname__ for _, e in compilations.buffer if e.is_start]
clustering = names("local-search")
print(len(clustering), len(names("bound")), *clustering)
"""
MOST_WITHOUT_GOALS, MOST_OF_THE_BOUND = 155, 110


@slow
def test_a_demo_compiles_few_functions_and_none_for_goals(tmp_path):
    clustering, bound, *names = run_python(COUNT, XDG_CACHE_HOME=str(tmp_path), **QUICKLY).split()
    assert int(clustering) <= MOST_WITHOUT_GOALS
    assert int(bound) <= MOST_OF_THE_BOUND
    assert "search" in names
    assert "cut_or_grow" in names
    assert not {"judged", "judged_alone", "judge_classes", "repair_classes", "scan_tuples"} & set(names)
