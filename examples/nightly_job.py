"""A nightly job: run a recipe, and fail loudly when the release is not safe.

    python examples/nightly_job.py FOLDER

Makes up hospital data with its recipe in FOLDER, releases it, and checks the written file again as
somebody else would.
"""

import sys
from pathlib import Path

import shoal
from shoal.datasets import write_hospital

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "nightly")
folder.mkdir(exist_ok=True)
recipe = shoal.Recipe.load(write_hospital(folder, 2_000, 0))

try:
    path = shoal.anonymize(recipe).write(folder / "public.parquet")
except shoal.ShoalError as error:
    # A stable code for the pager, a sentence without any cell for the log.
    sys.exit(f"{error.code}: {error}")

verdict = shoal.verify(path, recipe, original=folder / "hospital.csv")
print(verdict)
sys.exit(0 if verdict.holds else 1)
