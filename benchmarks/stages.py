"""Time every stage of a release but the clustering, on hospital stays with labels given. Prints JSON."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np

from shoal.cluster import ClusterResult
from shoal.datasets import write_hospital
from shoal.engine import local
from shoal.errors import PrivacyWarning
from shoal.recipe import Recipe
from shoal.table.columns import Encoded
from shoal.workflow.prepare import prepare

SAMPLE = 20_000


@contextmanager
def labels_given(k: int) -> Iterator[None]:
    """Put k neighbours in canonical order into a class, in place of a clustering."""

    def neighbours(encoded: Encoded, *_: object) -> ClusterResult:
        n = encoded.n_rows
        return ClusterResult(np.minimum(np.arange(n) // k, n // k - 1).astype(np.int32))

    with mock.patch.object(local, "run", neighbours):
        yield


def kmember_estimate(folder: Path, rows: int) -> float:
    """Cluster a smaller table and extrapolate with the square of the number of rows."""
    recipe = Recipe.load(write_hospital(folder, SAMPLE, 0))
    prepare(None, recipe)
    return prepare(None, recipe).timings["cluster"] * (rows / SAMPLE) ** 2


def main() -> None:
    warnings.simplefilter("ignore", PrivacyWarning)
    rows = int(sys.argv[1])
    stages: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        estimate = kmember_estimate(folder, rows)
        begin = time.perf_counter()
        recipe = Recipe.load(write_hospital(folder, rows, 0))
        stages["make up the data"] = time.perf_counter() - begin
        with labels_given(recipe.privacy.k):
            release = prepare(None, recipe)
        release.write(folder / "release.csv")
        del release.timings["cluster"]
        stages |= release.timings
        release.write(folder / "release.parquet")
        stages |= {f"{stage} (parquet)": release.timings[stage] for stage in ("write", "verify")}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**stages, "peak_mib": peak, "kmember_estimate": estimate}))


if __name__ == "__main__":
    main()
