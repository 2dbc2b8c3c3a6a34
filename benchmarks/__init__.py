"""Generated data and measured times; run as `python -m benchmarks.NAME` from the root of the repository."""
