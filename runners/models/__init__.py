"""Models: a declarative entry each, and loaders by family."""
