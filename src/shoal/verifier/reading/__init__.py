"""Released files as tables of texts in DuckDB."""
