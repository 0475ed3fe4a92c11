"""Protection of single columns beyond classes: one way of perturbing, one file.

`protecting.protect` is called once, between reading a table and encoding it. What is random here protects
people only as long as nobody can repeat it, so it is drawn from a secret (`randomness`).
"""
