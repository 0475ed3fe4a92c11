"""Tests of the risk of re-identification."""
