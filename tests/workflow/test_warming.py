"""What is compiled ahead, and which kernels a run needs."""

import json
import sys

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.cluster import METHODS
from shoal.kernels.allowance import Allowance
from shoal.kernels.compiling import Entry
from shoal.kernels.compiling.keeping import full_name
from shoal.kernels.compiling.place import Place, cache_folder
from shoal.kernels.goals import Goals
from shoal.kernels.local_search.space import Cell
from shoal.kernels.needed import BOUND_WITH_GOALS as FORMS_WITH_GOALS
from shoal.kernels.needed import Form, forms_needed
from shoal.recipe import Recipe
from shoal.workflow.warming import (
    BOUND,
    BOUND_WITH_GOALS,
    COMPOSITION,
    compile_ahead,
    compiled_meanwhile,
    jobs_left,
    run_job,
)

# In a table of eight rows nobody is left over to join a class.
NOT_IN_A_TINY_TABLE = {Form("classes.place_rows")}


@pytest.fixture
def called(monkeypatch):
    """The forms of entries that are called from now on."""
    forms, run = set(), Entry.__call__

    def record(entry, *args):
        keeps = any(
            isinstance(a, Goals | Allowance) or (isinstance(a, Cell) and a.goals is not None) for a in args
        )
        forms.add(Form(full_name(entry.py_func), keeps))
        return run(entry, *args)

    monkeypatch.setattr(Entry, "__call__", record)
    return forms


def needed(method, **given):
    """The forms that a run from memory needs, without the bound."""
    return set(forms_needed(method, bound=False, from_file=False, **given))


@pytest.mark.parametrize("method", METHODS)
def test_a_run_calls_the_kernels_that_are_named_for_it(method, called):
    run_job(method)
    assert called <= needed(method)
    assert needed(method) - called <= NOT_IN_A_TINY_TABLE


@pytest.mark.parametrize("method", [name for name, info in METHODS.items() if info.shape.has_classes])
def test_a_run_with_goals_calls_the_kernels_that_are_named_for_it(method, called):
    run_job(f"{method}:goals")
    # These are about goals: there is no form without.
    named = {Form(f.entry) if f.entry.split(".")[0] in {"goals", "filling", "repair"} else f for f in called}
    assert named <= needed(method, goals=True)
    assert needed(method, goals=True) - named <= NOT_IN_A_TINY_TABLE


def test_the_bound_and_a_file_need_kernels_of_their_own(called):
    run_job(BOUND)
    assert called == set(forms_needed("anatomy"))


def test_the_bound_with_goals_needs_forms_of_its_own(called):
    run_job(BOUND_WITH_GOALS)
    assert {form for form in called if form.with_goals} == set(FORMS_WITH_GOALS)


def test_the_command_compiles_and_says_where():
    done = CliRunner().invoke(app, ["warm", "--methods", "anatomy, mondrian", "--no-goals", "--json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["folder"] == str(cache_folder())
    assert answer["methods"] == ["anatomy", "mondrian"]
    assert "mondrian.cut_groups" in answer["kernels"]
    assert "kmember.grow" not in answer["kernels"]


def test_the_command_refuses_a_method_that_there_is_not():
    done = CliRunner().invoke(app, ["warm", "--methods", "mondrian,magic"])
    assert done.exit_code == 2
    assert "error [recipe.invalid]: `--methods` contains unknown methods: magic." in done.stderr


GOAL = {"type": "l-diversity", "column": "ill", "l": 2}


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A folder for compiled kernels in which nothing is."""
    place = Place(tmp_path, is_kept=True)
    monkeypatch.setattr("shoal.kernels.compiling.place.place", lambda: place)
    return tmp_path


def asked(method="auto", **changes):
    given = {"method": {"name": method}, **changes}
    return Recipe.from_roles(quasi=["age"], sensitive=["ill"], k=2, changes=given)


@pytest.mark.parametrize(
    ("recipe", "given", "expected"),
    [
        (asked(), {}, ["local-search", BOUND]),
        (asked("mondrian"), {"bound": False}, ["mondrian"]),
        (asked("oka", privacy={"goal": [GOAL]}), {"bound": False}, ["oka:goals"]),
        (asked("oka", columns={"who": {"role": "subject"}}), {"bound": False}, ["oka:goals"]),
        (asked("cb"), {"several": True}, ["cb", BOUND, COMPOSITION]),
        (asked("cb", privacy={"goal": [GOAL]}), {}, ["cb:goals", BOUND, BOUND_WITH_GOALS]),
    ],
    ids=["auto", "no bound", "goals", "people", "several", "bound with goals"],
)
def test_a_recipe_needs_these_jobs(recipe, given, expected, empty_cache):
    assert jobs_left([recipe.method.name], recipe, **given) == expected


def test_what_has_been_compiled_is_not_left(empty_cache):
    (empty_cache / "oka-with-goals.done").touch()
    recipe = asked("oka", privacy={"goal": [GOAL]})
    assert jobs_left(["oka"], recipe, bound=False) == []
    assert jobs_left(["oka"], asked("oka"), bound=False) == ["oka"]


def test_where_nothing_is_kept_no_other_process_compiles(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.kernels.compiling.place.place", lambda: Place(tmp_path, is_kept=False))
    assert jobs_left(["oka"], asked("oka")) == []


@pytest.fixture
def unmarked():
    """No process has said that it has done the job for Mondrian."""
    mark = cache_folder() / "mondrian.done"
    mark.unlink(missing_ok=True)
    yield mark
    mark.touch()


def test_a_job_leaves_its_mark_and_counts_its_kernels(unmarked):
    counts = []
    compile_ahead(["mondrian"], lambda done, total: counts.append((done, total)))
    assert unmarked.exists()
    assert counts == [(at, 3) for at in range(4)]


def test_a_job_that_has_been_done_starts_no_process(unmarked, monkeypatch):
    unmarked.touch()
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    compile_ahead(["mondrian"])


@pytest.mark.parametrize(
    ("python", "message"), [("/bin/false", "ended with status 1"), ("/no/such/python", "could be started")]
)
def test_a_job_that_fails_is_reported_by_who_waits_for_it(python, message, monkeypatch, unmarked):
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(RuntimeError, match=message):
        compile_ahead(["mondrian"])


@pytest.mark.parametrize("python", ["/bin/false", "/no/such/python"])
def test_who_only_compiles_meanwhile_goes_on_without(python, monkeypatch, unmarked):
    monkeypatch.setattr(sys, "executable", python)
    counts = []
    with compiled_meanwhile(["mondrian"], lambda done, total: counts.append(done)):
        pass
    assert counts == [0]


def test_processes_that_compile_end_with_the_work_that_fails(unmarked):
    with pytest.raises(KeyError), compiled_meanwhile(["mondrian"]) as compilers:
        raise KeyError
    assert [compiler._process.poll() is not None for compiler in compilers] == [True]
