"""What is compiled ahead, and which kernels a run needs."""

import json

import pytest
from typer.testing import CliRunner

from shoal.cli.main import app
from shoal.cluster import METHODS
from shoal.kernels import cache_folder
from shoal.kernels.compiling import Entry
from shoal.kernels.goals import Goals
from shoal.kernels.keeping import full_name
from shoal.kernels.needed import Form, forms_needed
from shoal.kernels.space import Cell
from shoal.warm import BOUND, run_job

# In a table of eight rows nobody is left over to join a class.
NOT_IN_A_TINY_TABLE = {Form("classes.place_rows")}


@pytest.fixture
def called(monkeypatch):
    """The forms of entries that are called from now on."""
    forms, run = set(), Entry.__call__

    def record(entry, *args):
        keeps = any(isinstance(a, Goals) or (isinstance(a, Cell) and a.goals is not None) for a in args)
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


@pytest.mark.parametrize("method", [name for name, info in METHODS.items() if info.has_classes])
def test_a_run_with_goals_calls_the_kernels_that_are_named_for_it(method, called):
    run_job(f"{method}:goals")
    # These are about goals: there is no form without.
    named = {Form(f.entry) if f.entry.split(".")[0] in {"goals", "filling", "repair"} else f for f in called}
    assert named <= needed(method, goals=True)
    assert needed(method, goals=True) - named <= NOT_IN_A_TINY_TABLE


def test_the_bound_and_a_file_need_kernels_of_their_own(called):
    run_job(BOUND)
    assert called == set(forms_needed("anatomy"))


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
    assert "error [recipe.invalid]: `--methods` names 1 that shoal does not have: magic." in done.stderr
