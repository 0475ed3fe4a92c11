"""Privacy goals beyond k: one goal, one file; what all of them need before, during and after clustering."""
