"""The HTML report on a release, for the data steward who signs it off and for its users."""
