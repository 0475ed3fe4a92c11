"""Where clusterers run."""
