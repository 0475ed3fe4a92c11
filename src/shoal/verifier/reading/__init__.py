"""Load released files into DuckDB as tables of text."""
