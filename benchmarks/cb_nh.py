"""GCP of CB and NH on census-like rows, by k and number of quasi columns, as [he2012] plots it. Prints JSON.

SAL and INCOME are made up: their columns and domain sizes are those of the paper's table 3. GCP is measured
by two readings: `height`, of the nodes that are published, and `order`, the paper's own, in which every
column is a line and a box a range of positions on it.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from shoal.cluster import METHODS, ClusterResult
from shoal.datasets import census, census_recipe
from shoal.measure.readings import order_costs
from shoal.recode.ring import Ring
from shoal.table.columns import Encoded, RangeColumn, class_extremes
from shoal.table.encode import encode
from shoal.workflow.publishing import published_as, published_loss

METHODS_COMPARED = {
    "cb": ("cb", {}),
    "cb, order": ("cb", {"ncp": "order"}),
    "nh": ("nh", {}),
    "mondrian": ("mondrian", {}),
}


def gcp_by_order(encoded: Encoded, found: ClusterResult) -> float:
    """Return the mean width of boxes when every column is a line."""
    total = 0.0
    for column in encoded.columns:
        if found.ring is None:
            low, high = class_extremes(column, found.labels, found.n_classes)
            sizes = found.sizes
        else:
            low, high = Ring.of(found.labels, found.ring).extremes(column)
            sizes = np.ones(len(low), np.int64)
        is_range = isinstance(column, RangeColumn)
        costs = column.cost(low, high) if is_range else order_costs(column, low, high)
        total += float(sizes @ costs)
    return total / (encoded.n_rows * len(encoded.columns))


def main() -> None:
    rows = int(sys.argv[1])
    results = []
    for table in ("SAL", "INCOME"):
        raw = census(rows, 0, table=table)
        for quasi in (3, 4, 5, 6):
            recipe = census_recipe(table, quasi=quasi, k=50)
            encoded = encode(raw, recipe)
            for k in (50, 100, 150, 200, 250):
                for label, (name, options) in METHODS_COMPARED.items():
                    method = METHODS[name]
                    clusterer = method.make(k, 0, method.options.model_validate(options))
                    begin = time.perf_counter()
                    found = clusterer.fit(encoded)
                    seconds = time.perf_counter() - begin
                    height = published_loss(encoded, published_as(encoded, found, recipe), recipe).gcp
                    results.append(
                        {
                            "table": table, "quasi": quasi, "k": k, "method": label, "height": height,
                            "order": gcp_by_order(encoded, found), "seconds": seconds,
                        }
                    )  # fmt: skip
    print(json.dumps({"rows": rows, "results": results}))


if __name__ == "__main__":
    main()
