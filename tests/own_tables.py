"""A table of one's own with columns that no usual name finds, and its 24 pictures."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from runner_tiny import painted

COLUMNS = ("--path", "scan, where", "--patient", "who", "--sample-id", "key", "--labels", "mass", "--sensitive", "sex")
MINE = pl.DataFrame(
    {
        "scan, where": [f"{i}.png" for i in range(24)],
        "who": [i // 2 for i in range(24)],
        "key": [f"k{i}" for i in range(24)],
        "mass": [i // 4 % 2 for i in range(24)],
        "sex": ["FM"[i // 6 % 2] for i in range(24)],
    }
)


def pictured(folder: Path) -> None:
    """The table as `mine.csv`, and its pictures beside it."""
    painted(folder)
    MINE.write_csv(folder / "mine.csv")
