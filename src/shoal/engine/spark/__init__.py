"""The engine of many machines: Spark reads, counts, shuffles and writes; our code clusters each cell.

Functions that Spark runs on its workers are in `tasks`. No row of the table comes to the driver: only counts,
ranges, dictionaries of values, cuts, and sums.
"""
