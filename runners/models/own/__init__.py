"""Models that no family builds as a whole, put together from parts of libraries."""
