"""Evaluation inside DuckDB: the rows stay in files and in the database, and the files of `fmfair.sql` do the work."""
