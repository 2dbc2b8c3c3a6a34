"""Data sets: a declarative recipe each, from the raw release to a manifest."""
