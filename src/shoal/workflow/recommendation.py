"""What a comparison suggests: the trials that no other beats in both risk and loss, and advice in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

Results = Sequence[Mapping[str, Any]]  # in the format of `shoal compare --json`

_NEARLY = 1.1  # times the least loss: close enough to prefer the faster method
_FASTER = 2  # times as fast: worth mentioning


def loss_of(result: Mapping[str, Any]) -> float:
    """Return the loss that trials are compared by: IL, or DM where IL is not defined."""
    il, dm = result["loss"]["il"], result["loss"]["dm"]
    return float(dm or 0) if il is None else float(il)


def frontier(results: Results) -> list[bool]:
    """Mark the trials that no other trial beats in risk or loss without being worse in the other.

    >>> results = [
    ...     {"error": None, "risk": {"highest": risk}, "loss": {"il": il, "dm": None}}
    ...     for risk, il in [(0.2, 5.0), (0.1, 9.0), (0.1, 8.0), (0.2, 9.0)]
    ... ]
    >>> frontier(results)
    [True, False, True, False]
    """
    done = [(result["risk"]["highest"], loss_of(result)) for result in results if result["error"] is None]

    def is_beaten(risk: float, loss: float) -> bool:
        return any(r <= risk and lost <= loss and (r, lost) != (risk, loss) for r, lost in done)

    return [
        result["error"] is None and not is_beaten(result["risk"]["highest"], loss_of(result))
        for result in results
    ]


def recommendation(results: Results) -> list[str]:
    """Say which method to take and what each step in k costs; empty if no method could run."""
    done = [result for result in results if result["error"] is None]
    if not done:
        return []
    ks = sorted({result["k"] for result in done})
    best = {k: min((r for r in done if r["k"] == k), key=loss_of) for k in ks}
    return [*_methods(best), *_faster(done, best), *_steps(best), *_room(best), *_goals(best)]


def _methods(best: Mapping[int, Mapping[str, Any]]) -> list[str]:
    by_method: dict[str, list[int]] = {}
    for k, result in best.items():
        by_method.setdefault(result["method"], []).append(k)
    if len(by_method) == 1:
        (method,) = by_method
        where = f"at k = {next(iter(best))}" if len(best) == 1 else "at every k"
        return [f"Take {method}: it loses least {where}."]
    listed = "; ".join(f"{method} at k = {_listed(ks)}" for method, ks in by_method.items())
    return [f"No method loses least at every k. Take {listed}."]


def _listed(ks: Sequence[int]) -> str:
    return ", ".join(map(str, ks))


def _faster(done: Results, best: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Name the fastest method that loses nearly as little as the best one at every k."""
    least = sum(result["seconds"] for result in best.values())
    found = []
    for method in dict.fromkeys(result["method"] for result in done):
        own = {result["k"]: result for result in done if result["method"] == method}
        if set(own) != set(best):
            continue
        worst = max(_ratio(loss_of(own[k]), loss_of(best[k])) for k in best)
        seconds = sum(result["seconds"] for result in own.values())
        if worst <= _NEARLY and _FASTER * seconds <= least:
            found.append((seconds, method, worst))
    if not found:
        return []
    seconds, method, worst = min(found)
    more = f"at most {100 * (worst - 1):.1f} % more" if worst > 1 else "as little"
    return [f"In a hurry, take {method}: it is {least / seconds:.0f} times as fast and loses {more}."]


def _ratio(loss: float, least: float) -> float:
    return loss / least if least else (1.0 if loss == least else float("inf"))


def _steps(best: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Say what each larger k gains and costs."""
    words = []
    for low, high in pairwise(best):
        before, after = best[low], best[high]
        if before["loss"]["gcp"] is None or after["loss"]["gcp"] is None:
            continue
        risks = f"{_percent(before['risk']['highest'])} to {_percent(after['risk']['highest'])}"
        losses = f"{_percent(before['loss']['gcp'])} to {_percent(after['loss']['gcp'])}"
        words.append(
            f"From k = {low} to k = {high} the highest risk falls from {risks}, "
            f"and the information lost (GCP) goes from {losses}."
        )
    if words:
        words.append("Choose the largest k whose loss your analysis can bear.")
    return words


def _room(best: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Say how much any other method could still save, according to the bound."""
    rooms = [
        (1 - result["bound"] / result["loss"]["il"], k)
        for k, result in best.items()
        if result["bound"] is not None and result["loss"]["il"]
    ]
    if not rooms:
        return []
    most, k = max(rooms)
    return [f"No method can save more than {_percent(max(0.0, most))} of the lowest loss (k = {k})."]


def _goals(best: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Say what the goals beyond k cost."""
    costs = [
        (result["added_loss"] / (result["loss"]["il"] - result["added_loss"]), k)
        for k, result in best.items()
        if result["added_loss"] is not None and result["loss"]["il"] > result["added_loss"]
    ]
    if not costs:
        return []
    most, k = max(costs)
    if most <= 0:
        return ["The goals beyond k cost nothing."]
    return [f"The goals beyond k add at most {_percent(most)} to the loss of k alone (k = {k})."]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
