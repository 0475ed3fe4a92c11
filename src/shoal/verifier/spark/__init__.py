"""Releases too large for one machine: the same checks in Spark SQL, without a row on the driver."""

from shoal.verifier.spark.check import verify_folder, verify_frame
from shoal.verifier.spark.session import spark_session

__all__ = ["spark_session", "verify_folder", "verify_frame"]
