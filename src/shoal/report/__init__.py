"""One HTML page about a release, for the steward who must sign for it and for those who read it."""
