"""A data frame in, a release out: the shortest way.

python examples/first_release.py
"""

import shoal
from shoal.datasets import hospital

stays = hospital(2_000, seed=1)

release = shoal.anonymize(
    stays,
    quasi=["birth_date", "sex", "postcode"],
    sensitive=["diagnosis"],
    identifiers=["name", "patient"],
    drop=["profession", "admission_date", "cost"],
    hierarchies={"postcode": {"prefix": 1}},
    k=5,
)

print(release)
print(release.table.head(5))
print(f"every row is one of at least {release.k} that look alike")
print(f"{release.loss.gcp:.1%} of the information is lost")
