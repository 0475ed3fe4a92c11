"""Run `shoal anonymize` on a recipe as a user would: seconds of each stage, CPU, peak memory. Prints JSON."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    recipe, method, effort = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    ending = sys.argv[4] if len(sys.argv) > 4 else "parquet"
    if effort:
        with recipe.open("a", encoding="utf-8") as file:
            file.write(f'\n[method.options]\neffort = "{effort}"\n')
    shoal = Path(sys.executable).parent / "shoal"
    output = recipe.with_name(f"release.{ending}")
    command = [shoal, "anonymize", recipe, "--method", method, "-o", output, "--json", "--quiet"]
    begin = time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - begin
    told = json.loads(done.stdout)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {"rows": told["rows"], "classes": told["classes"], "il": told["loss_tight"]["il"]}
    costs = {
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_mib": used.ru_maxrss / 1024,
    }
    print(json.dumps({**found, **costs, "timings": told["timings"]}))


if __name__ == "__main__":
    main()
