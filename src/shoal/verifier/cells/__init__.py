"""What single cells mean: their form, and the raw values that they cover."""
