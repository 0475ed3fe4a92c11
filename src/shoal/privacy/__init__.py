"""Privacy goals beyond k, one per file, and what they all need before, during and after clustering."""
