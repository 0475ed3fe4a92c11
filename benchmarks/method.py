"""Measure a method on a recipe at k = 10: first call, best warm run, loss, peak memory. Prints JSON."""

from __future__ import annotations

import json
import resource
import sys
import time

from shoal.cluster import METHODS
from shoal.recipe import Recipe
from shoal.table.encode import encode
from shoal.table.read import read
from shoal.workflow.publishing import published_as, published_loss


def main() -> None:
    recipe, method = Recipe.load(sys.argv[1]), METHODS[sys.argv[2]]
    encoded = encode(read(recipe.resolve(recipe.input.path or ""), recipe.input), recipe)
    clusterer = method.make(10, 7, method.options())
    seconds = []
    for _ in range(4):
        begin = time.perf_counter()
        found = clusterer.fit(encoded)
        seconds.append(time.perf_counter() - begin)
    il = published_loss(encoded, published_as(encoded, found, recipe), recipe).il
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"first_seconds": seconds[0], "seconds": min(seconds[1:]), "il": il, "peak_mib": peak}))


if __name__ == "__main__":
    main()
