"""Tables to try shoal on."""

from shoal.datasets.hospital import DIAGNOSIS_TREE, PROFESSION_TREE, hospital, write_hospital

__all__ = ["DIAGNOSIS_TREE", "PROFESSION_TREE", "hospital", "write_hospital"]
