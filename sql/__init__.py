"""The metrics and gaps as DuckDB text; see README.md beside this file."""
