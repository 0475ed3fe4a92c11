"""What a release is still good for: its values as numbers, and how much results from them change."""
