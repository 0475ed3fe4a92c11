"""Originals in the formats that other programs write, read without the code that reads the input."""
