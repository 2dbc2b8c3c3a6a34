"""Recipes: how the releases of public data sets become manifests."""

from __future__ import annotations

from fmfair.runners.datasets.making import make_manifest
from fmfair.runners.datasets.recipe import recipe, recipe_file, recipes

__all__ = ["make_manifest", "recipe", "recipe_file", "recipes"]
