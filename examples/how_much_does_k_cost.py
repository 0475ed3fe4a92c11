"""What protection costs: information loss against k, for one table.

python examples/how_much_does_k_cost.py
"""

import warnings

import shoal
from shoal.datasets import hospital

warnings.simplefilter("ignore", shoal.PrivacyWarning)  # every k leaves some classes with one diagnosis
stays = hospital(3_000, seed=2).select("birth_date", "sex", "postcode", "diagnosis")

print("   k  classes  loss")
for k in (2, 5, 10, 25, 50):
    release = shoal.anonymize(
        stays,
        quasi=["birth_date", "sex", "postcode"],
        sensitive=["diagnosis"],
        hierarchies={"postcode": {"prefix": 1}},
        k=k,
    )
    bar = "#" * round(100 * release.loss.gcp)
    print(f"{k:4}  {release.classes:7,}  {release.loss.gcp:5.1%} {bar}")
