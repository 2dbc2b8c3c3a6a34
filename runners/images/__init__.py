"""Images: files of any format as pixels, and pixels as what a model is fed."""

from __future__ import annotations

from fmfair.runners.images.files import read
from fmfair.runners.images.picture import ImageError, Picture
from fmfair.runners.images.reading import Reading, Slices
from fmfair.runners.images.steps import Transform

__all__ = ["ImageError", "Picture", "Reading", "Slices", "Transform", "read"]
