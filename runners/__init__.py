"""Models to predictions: images in, Parquet out, which `fmfair.evaluate` and `fmfair score` read.

It meets the rest of fmfair through tables alone. Everything that needs torch is imported where it is used.
"""

from __future__ import annotations
