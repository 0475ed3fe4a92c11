"""Cells: parts of a large table that are clustered each by itself, on this machine or on many.

The table is cut from above into cells of at most `cell_rows` rows. Where the cuts lie is decided on a sample;
that every cell can be clustered is decided by exact counts. A cell is clustered by the same code wherever it
is, with a seed of its own, so that the result depends on the table and the recipe alone.
"""
