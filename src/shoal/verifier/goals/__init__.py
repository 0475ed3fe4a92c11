"""Privacy goals, measured on the classes of the released file."""
