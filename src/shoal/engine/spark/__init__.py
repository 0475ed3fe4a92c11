"""The engine of many machines: Spark reads, counts, shuffles and writes; our code clusters each cell.

Functions that Spark runs on its workers are in `tasks`, or next to what they are for. No row of the table
reaches the driver: only counts, ranges, dictionaries of values, cuts, sums, and for the lower bound the quasi
codes of a sample.
"""
