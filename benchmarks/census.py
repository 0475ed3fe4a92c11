"""Time, loss and memory of a method on census-like rows (SAL), by number of rows. Prints JSON."""

from __future__ import annotations

import json
import resource
import sys
import time

from shoal.cluster import METHODS
from shoal.datasets import census, census_recipe
from shoal.table.encode import encode
from shoal.workflow.publishing import published_as, published_loss


def main() -> None:
    name, quasi, k = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    method = METHODS[name]
    recipe = census_recipe("SAL", quasi=quasi, k=k)
    clusterer = method.make(k, 0, method.options())
    clusterer.fit(encode(census(2000, 0), recipe))  # compiles
    results = []
    for rows in map(int, sys.argv[4:]):
        encoded = encode(census(rows, 0), recipe)
        begin = time.perf_counter()
        found = clusterer.fit(encoded)
        seconds = time.perf_counter() - begin
        gcp = published_loss(encoded, published_as(encoded, found, recipe), recipe).gcp
        results.append({"rows": rows, "seconds": seconds, "gcp": gcp})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"method": name, "k": k, "quasi": quasi, "peak_mib": peak, "results": results}))


if __name__ == "__main__":
    main()
