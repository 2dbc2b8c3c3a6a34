"""`python -m fmfair` is the command `fmfair`."""

from __future__ import annotations

import sys

from fmfair.cli import main

if __name__ == "__main__":
    sys.exit(main())
