"""Loaders by family: the library that builds the architecture and reads its checkpoint."""
