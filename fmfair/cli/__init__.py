"""The command line: `fmfair score` and `fmfair metrics`."""

from __future__ import annotations

from fmfair.cli.app import main

__all__ = ["main"]
