"""What single cells say: their form, and the raw values that they cover."""
