"""Tables in and out: reading, settling kinds, encoding to arrays, writing."""
