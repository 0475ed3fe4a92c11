"""`shoal web`: a local page over the same functions as the command line. It has no data logic of its own."""
