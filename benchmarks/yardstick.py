"""Measure the plain k-member loop that all times are compared with. Prints JSON."""

from __future__ import annotations

import importlib.util
import json
import sys
import time


def main() -> None:
    spec = importlib.util.spec_from_file_location("plain_kmember", sys.argv[1])
    assert spec is not None
    assert spec.loader is not None
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    data = plain.load()
    plain.kmember(*data, 5000, 0)
    seconds = []
    for _ in range(2):
        begin = time.perf_counter()
        _, il = plain.kmember(*data, 10, 7)
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": min(seconds), "il": float(il)}))


if __name__ == "__main__":
    main()
