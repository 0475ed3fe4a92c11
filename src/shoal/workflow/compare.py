"""Compare every method at every k on one table by loss, risk and time. Nothing is released."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.bound.lower_bound import recipe_bound
from shoal.bound.result import Bound, BoundEffort, Bounding, bound_fields, effort_of
from shoal.cluster.clusterer import ClusterResult, check_feasible
from shoal.cluster.registry import METHODS
from shoal.engine import local
from shoal.engine.publishing import published_as
from shoal.errors import Fault, InfeasibleError, PromiseError, RecipeError, ShoalError
from shoal.measure.loss import Loss
from shoal.privacy.goalset import GoalSet
from shoal.recipe import Recipe, Shape, did_you_mean
from shoal.recipe.options import METHODS as NAMED
from shoal.report.comparison import write_chart
from shoal.risks.goals import average_risk
from shoal.stages import Progress, stage
from shoal.table.columns import Encoded
from shoal.table.encode import encode
from shoal.table.given import table_of
from shoal.table.induced import with_induced
from shoal.table.orders import with_orders
from shoal.table.overwriting import refuse_overwriting
from shoal.workflow.publishing import published_loss
from shoal.workflow.recommendation import frontier, recommendation

ALL = "all"
COMPARED = [name for name, info in METHODS.items() if info.shape.is_generalized]
WARM_ROWS = 201  # odd, so that classes of two leave one row and the code for that is compiled too


@dataclass(frozen=True)
class Outcome:
    """The result of a method at one k.

    Parameters
    ----------
    seconds : float
        Wall time of the clustering alone: no reading, encoding, compiling, recoding or measuring.
    classes, suppressed : int
        Published classes (distinct boxes for a method without classes), and rows that would be left out.
    loss : Loss
        Of what would be published.
    highest_risk : float
        That the row of the most exposed person is found: 1 / the number of people who look alike.
    average_risk : float or None
        Over all rows; None for a method without classes.
    """

    seconds: float
    classes: int
    suppressed: int
    loss: Loss
    highest_risk: float
    average_risk: float | None

    def risk(self) -> dict[str, float | None]:
        """Return the risks by name."""
        return {"highest": self.highest_risk, "average": self.average_risk}


@dataclass(frozen=True)
class Refusal:
    """Why a method finds no classes for this table, and the corresponding exit status."""

    code: str
    message: str
    exit_status: int

    @classmethod
    def of(cls, error: ShoalError) -> Refusal:
        """Keep the message of an error, but not the error: its traceback would keep the table in memory."""
        return cls(error.code, error.message, error.exit_status)


Variant = Recipe | Refusal  # the recipe for one method and k, or why there is none
Encodings = dict[str | None, Encoded]  # by label


@dataclass(frozen=True)
class Trial:
    """One method at one k; `label` is the column that CM counts, `plain` the loss with k alone.

    `bound` is the lower bound of the loss of any method at this k.
    """

    method: str
    k: int
    seed: int
    label: str | None
    outcome: Outcome | Refusal
    plain: Outcome | Refusal | None = None
    bound: Bound | None = None

    @property
    def added_loss(self) -> float | None:
        """The cost of the privacy goals beyond k: Total IL minus that of k alone."""
        if not isinstance(self.outcome, Outcome) or not isinstance(self.plain, Outcome):
            return None
        il, without = self.outcome.loss.il, self.plain.loss.il
        return None if il is None or without is None else il - without

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, or the error in their place."""
        done = self.outcome if isinstance(self.outcome, Outcome) else None
        error = self.outcome if isinstance(self.outcome, Refusal) else None
        return {
            "method": self.method,
            "k": self.k,
            "seed": self.seed,
            "seconds": None if done is None else round(done.seconds, 6),
            "classes": None if done is None else done.classes,
            "suppressed": None if done is None else done.suppressed,
            "loss": None if done is None else done.loss.to_dict(),
            "risk": None if done is None else done.risk(),
            "added_loss": self.added_loss,
            "k_alone": _k_alone(self.plain),
            **(bound_fields(None) if done is None else bound_fields(self.bound, done.loss.il)),
            "label": self.label,
            "error": None if error is None else {"code": error.code, "message": error.message},
        }


@dataclass(frozen=True, repr=False)
class Comparison:
    """All trials, k by k.

    Parameters
    ----------
    trials : tuple of Trial
    rows : int
        Of the table.
    warm_rows : int
        Each method first ran on that many of them, so that its seconds do not include compilation.
    timings : dict of str to float
        Seconds of the stages that all methods share: `read`, `encode`, `warm-up`, `bounding`.
    reads : mapping of str to Path
        The files that were read, by description. No chart is ever written to them.
    """

    trials: tuple[Trial, ...]
    rows: int
    warm_rows: int
    timings: dict[str, float]
    reads: Mapping[str, Path] = field(default_factory=dict)

    def __repr__(self) -> str:
        """List the trials, one per line, never cells."""
        lines = self._lines()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = [
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in lines
        ]
        return "\n".join([f"Comparison on {self.rows} rows", *(text.rstrip() for text in texts)])

    def _repr_html_(self) -> str:
        """Show the trials in a notebook, never cells."""
        head, *lines = self._lines()
        cells = "".join(f"<th>{escape(text)}</th>" for text in head)
        rows = "".join("<tr>" + "".join(f"<td>{escape(t)}</td>" for t in line) + "</tr>" for line in lines)
        caption = f"<caption>shoal comparison on {self.rows:,} rows</caption>"
        return f"<table>{caption}<tr>{cells}</tr>{rows}</table>"

    def _lines(self) -> list[list[str]]:
        """Return the trials as texts, with a heading."""
        lines = [["method", "k", "IL", "GCP", "classes", "seconds", ""]]
        for trial in self.trials:
            done = trial.outcome
            if isinstance(done, Refusal):
                lines.append([trial.method, str(trial.k), "", "", "", "", done.code])
                continue
            il = "" if done.loss.il is None else f"{done.loss.il:,.0f}"
            gcp = "" if done.loss.gcp is None else f"{done.loss.gcp:.1%}"
            best = "lowest loss" if self.is_best(trial) else ""
            seconds = f"{done.seconds:.3f}"
            lines.append([trial.method, str(trial.k), il, gcp, f"{done.classes:,}", seconds, best])
        return lines

    def is_best(self, trial: Trial) -> bool:
        """Return whether no other trial at the same k has a lower Total IL (DM where IL is not defined)."""
        scores = [_score(other.outcome) for other in self.trials if other.k == trial.k]
        return isinstance(trial.outcome, Outcome) and _score(trial.outcome) == min(scores)

    @property
    def exit_status(self) -> int:
        """0 if any method could run."""
        refusals = [trial.outcome for trial in self.trials if isinstance(trial.outcome, Refusal)]
        if len(refusals) < len(self.trials):
            return 0
        # The goals are known to be infeasible only when all methods say so.
        return min(refusal.exit_status for refusal in refusals)

    def chart(self, path: str | Path) -> Path:
        """Draw loss against risk, and time against k; the ending (.svg, .png, .html) chooses the format."""
        refuse_overwriting([Path(path)], self.reads)
        found = self.to_dict()
        return write_chart(found["results"], self.rows, Path(path), found["recommendation"])

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers that `shoal compare --json` prints."""
        results = [{**trial.to_dict(), "best": self.is_best(trial)} for trial in self.trials]
        marks = frontier(results)
        return {
            "results": [{**one, "frontier": mark} for one, mark in zip(results, marks, strict=True)],
            "recommendation": recommendation(results),
            "rows": self.rows,
            "warm_rows": self.warm_rows,
            "timings": {name: round(seconds, 4) for name, seconds in self.timings.items()},
        }


def _k_alone(plain: Outcome | Refusal | None) -> dict[str, Any] | None:
    """Return loss and risk of the same method without goals beyond k."""
    if not isinstance(plain, Outcome):
        return None
    return {"loss": plain.loss.to_dict(), "risk": plain.risk()}


def _score(outcome: Outcome | Refusal) -> tuple[float, float]:
    """Order outcomes by loss; those whose IL is not defined come last."""
    if isinstance(outcome, Refusal):
        return np.inf, np.inf
    il = outcome.loss.il
    return (np.inf, outcome.loss.dm or 0) if il is None else (il, 0)


def compare(
    data: Any,
    recipe: Recipe | None = None,
    *,
    methods: str | Iterable[str] = ALL,
    ks: Iterable[int] | None = None,
    bound: Bounding = True,
    progress: Progress | None = None,
) -> Comparison:
    """Run every method at every k on one table and measure what each would publish.

    The table is read and encoded once. Each method first runs on a few of its rows, untimed, so
    that its seconds do not include compilation. If a method cannot run on this table, its trial
    says why, and the others continue.

    Parameters
    ----------
    data : pandas, Polars or Arrow frame, or Recipe
        The table; or a recipe whose [input] names a file.
    recipe : Recipe, optional
        What to do with a frame. Its options apply only to its method; the others run with their
        defaults, all with the recipe's seed.
    methods : "all" or iterable of str
        See `shoal methods`.
    ks : iterable of int, optional
        Smallest class sizes; without them, the recipe's.
    bound : bool or "tight", default True
        Also compute a lower bound of the loss of any method, once for each k; "tight": at high effort.
    progress : callable, optional
        Called with the name of a stage and the fraction that is done.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [31, 33, 58, 60, 61], "sex": ["f", "f", "m", "f", "m"]})
    >>> recipe = shoal.Recipe.from_roles(quasi=["age", "sex"], k=2)
    >>> comparison = shoal.compare(people, recipe, methods=["k-member", "mondrian"], ks=[2, 5])
    >>> [(trial.method, trial.k, trial.outcome.classes) for trial in comparison.trials]
    [('k-member', 2, 2), ('mondrian', 2, 2), ('k-member', 5, 1), ('mondrian', 5, 1)]
    """
    import shoal.kernels  # noqa: F401  # loading Numba is not part of any stage

    if isinstance(data, Recipe):
        recipe, data = data, None
    if recipe is None:
        message = "Comparing methods needs a recipe."
        raise RecipeError("recipe.invalid", message, "compare(recipe), or compare(table, recipe)")
    if recipe.shape is Shape.VIEWS:
        message = "Methods are compared on one table, and the recipe asks for several views."
        raise RecipeError("recipe.invalid", message, 'compare with views = "whole"')
    names, sizes = _plan(methods, [recipe.privacy.k] if ks is None else list(ks))
    timings: dict[str, float] = {}
    with stage(timings, "read", progress):
        table = table_of(data, recipe)
        recipe = with_induced(with_orders(recipe, table), table)
        _check_rows(table.height, sizes)
    asked = [(name, k, variant_of(recipe, name, k)) for k in sizes for name in names]
    with stage(timings, "encode", progress):
        encodings = _encodings(table, [variant for _, _, variant in asked])
    with stage(timings, "warm-up", progress) as tick:
        warm_rows = _warm_up(encodings, [variant_of(recipe, name, 2) for name in names], tick)
    bounds: dict[int, Bound | None] = {}
    if bound:
        with stage(timings, "bounding", progress) as tick:
            bounds = _bounds(encodings, [variant for _, _, variant in asked], effort_of(bound), tick)
    trials = []
    for at, (name, k, variant) in enumerate(asked, 1):
        title = f"{name}, k = {k} ({at} of {len(asked)})"
        outcome = outcome_of(encodings, variant, title, progress)
        label = variant.label if isinstance(variant, Recipe) else None
        plain = None
        if recipe.privacy.goal and isinstance(outcome, Outcome):
            plain = outcome_of(encodings, _without_goals(variant), f"{title}, k alone", progress)
        trials.append(Trial(name, k, recipe.method.seed, label, outcome, plain, bounds.get(k)))
    return Comparison(tuple(trials), table.height, warm_rows, timings, recipe.files)


def _plan(methods: str | Iterable[str], ks: list[int]) -> tuple[list[str], list[int]]:
    """Return the methods and values of k to run, each once; report all faults at once."""
    named = [methods] if isinstance(methods, str) else list(methods)
    faults = [*_method_faults(named), *_k_faults(ks)]
    if faults:
        raise RecipeError.from_faults(faults)
    return COMPARED if ALL in named else list(dict.fromkeys(named)), list(dict.fromkeys(ks))


def _method_faults(named: Sequence[str]) -> list[Fault]:
    known = [ALL, *COMPARED]
    listed = f"methods: {', '.join(known)}"
    faults = [] if named else [Fault("recipe.invalid", "No method is named.", listed)]
    for name in dict.fromkeys(named):
        if name == "auto":
            message = "`auto` cannot be compared: it selects one of the other methods."
            faults.append(Fault("recipe.invalid", message, listed))
        elif name in NAMED and name not in METHODS:
            message = f"This version of shoal does not have the method `{name}` yet."
            faults.append(Fault("recipe.not_available", message, f"leave it out; {listed}"))
        elif name in METHODS and name not in COMPARED:
            message = f"`{name}` publishes quasi values unchanged: it has no loss to compare."
            faults.append(Fault("recipe.invalid", message, f"leave it out; {listed}"))
        elif name not in known:
            message = f"shoal has no method `{name}`."
            faults.append(Fault("recipe.invalid", message, did_you_mean(name, known) or listed))
    return faults


def _k_faults(ks: Sequence[Any]) -> list[Fault]:
    hint = "give the values of k as whole numbers, for example 5, 10, 25"
    faults = [] if ks else [Fault("recipe.invalid", "No k is given.", hint)]
    for k in dict.fromkeys(ks):
        if not isinstance(k, int) or k < 2:
            message = f"k = {k} should be a whole number of at least 2."
            faults.append(Fault("recipe.invalid", message, hint))
    return faults


def _check_rows(n_rows: int, ks: Sequence[int]) -> None:
    """Refuse every k above the number of rows before any work is done."""
    faults: list[Fault] = []
    for k in ks:
        try:
            check_feasible(n_rows, k)
        except InfeasibleError as error:
            faults += error.faults
    if faults:
        raise InfeasibleError.from_faults(faults)


def variant_of(recipe: Recipe, method: str, k: int, options: Mapping[str, Any] | None = None) -> Variant:
    """Return the recipe with another method and k, validated like any other recipe.

    Without `options`, those of the recipe apply to its own method.
    """
    sections = recipe.to_dict()
    if options is None:
        options = recipe.method.options if method == recipe.method.name else {}
    sections["method"] = {"name": method, "seed": recipe.method.seed, "options": dict(options)}
    sections["privacy"] = {**sections["privacy"], "k": k}
    try:
        return Recipe.from_dict(sections, base=recipe.resolve(""))
    except RecipeError as error:
        return Refusal.of(error)


def _without_goals(variant: Variant) -> Variant:
    """Return the recipe with k as its only goal, to see what the others cost."""
    if isinstance(variant, Refusal):
        return variant
    return variant.model_copy(update={"privacy": variant.privacy.model_copy(update={"goal": []})})


def _encodings(table: pl.DataFrame, variants: Sequence[Variant]) -> Encodings:
    """Encode the table once for each label: nothing else in an encoding depends on the method."""
    encodings: Encodings = {}
    for variant in variants:
        if isinstance(variant, Recipe) and variant.label not in encodings:
            encodings[variant.label] = encode(table, variant)
    return encodings


def _bounds(
    encodings: Encodings,
    variants: Sequence[Variant],
    effort: BoundEffort | None,
    tick: Callable[[float], None],
) -> dict[int, Bound | None]:
    """Bound the loss at each k, whatever the method."""
    by_k = {variant.privacy.k: variant for variant in variants if isinstance(variant, Recipe)}
    found = {}
    for at, (k, variant) in enumerate(by_k.items()):
        progress = partial(_tick_part, tick, at, len(by_k))
        found[k] = recipe_bound(encodings[variant.label], variant, effort=effort, progress=progress)
    return found


def _tick_part(tick: Callable[[float], None], at: int, parts: int, share: float) -> None:
    """Report the progress of one of several equal parts as its part of the whole."""
    tick((at + share) / parts)


def _warm_up(encodings: Encodings, variants: Sequence[Variant], tick: Callable[[float], None]) -> int:
    """Run each method on a few rows to compile and load its code; return how many rows."""
    warm_rows = 0
    for at, variant in enumerate(variants, 1):
        if isinstance(variant, Recipe):
            sample = _sample(encodings[variant.label], variant)
            warm_rows = max(warm_rows, sample.n_rows)
            with suppress(ShoalError):  # a method that cannot run is reported in its own trial
                local.run(sample, variant, METHODS[variant.method.name])
        tick(at / len(variants))
    return warm_rows


def _sample(encoded: Encoded, variant: Recipe) -> Encoded:
    """Take an odd number of the rows that would be clustered, spread over the table."""
    suppresses = variant.privacy.missing == "suppress"
    rows = np.flatnonzero(~encoded.missing_rows()) if suppresses else np.arange(encoded.n_rows)
    rows = rows[: len(rows) - 1 + len(rows) % 2]
    spread = np.linspace(0, len(rows) - 1, min(len(rows), WARM_ROWS)).astype(np.int64)
    return encoded.take(rows[spread])


def outcome_of(
    encodings: Encodings, variant: Variant, title: str = "cluster", progress: Progress | None = None
) -> Outcome | Refusal:
    """Run one method at one k."""
    if isinstance(variant, Refusal):
        return variant
    encoded = encodings[variant.label]
    clock: dict[str, float] = {}
    try:
        with stage(clock, title, progress) as tick:
            found = local.run(encoded, variant, METHODS[variant.method.name], tick)
        return _measured(encoded, found, variant, clock[title])
    except ShoalError as error:
        return Refusal.of(error)


def _measured(encoded: Encoded, found: ClusterResult, variant: Recipe, seconds: float) -> Outcome:
    """Measure what would be published, as `anonymize` does."""
    published = published_as(encoded, found, variant)
    sizes = np.bincount(published.labels[published.labels >= 0])
    has_classes = variant.shape.has_classes
    goals = GoalSet.of(encoded, variant) if has_classes else None
    k, smallest = variant.privacy.k, int(sizes.min())
    alike = smallest if found.ring is None else found.ring
    if smallest < k and has_classes:  # the loss of such classes cannot be compared with others
        message = f"The smallest class has {smallest} rows, not {k}."
        raise PromiseError("promise.broken", message, "this is a bug in shoal: please report it")
    if goals is not None:
        judgement = goals.judge(published.labels)
        alike = judgement.people
        if not judgement.good.all():
            message = "A class does not meet a privacy goal."
            raise PromiseError("promise.broken", message, "this is a bug in shoal: please report it")
    return Outcome(
        seconds=seconds,
        classes=len(sizes),
        suppressed=encoded.n_rows - int(sizes.sum()),
        loss=published_loss(encoded, published, variant),
        highest_risk=1 / alike,
        average_risk=average_risk(published.labels, encoded.person) if has_classes else None,
    )
