"""Tables: reading, determining column kinds, encoding to arrays, writing."""
