"""From labels to published values."""
