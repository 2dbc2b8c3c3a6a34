"""The report."""
from __future__ import annotations
from dataclasses import dataclass
from typing import Any
import polars as pl
@dataclass(frozen=True)
class Report:
    summary: pl.DataFrame
    groups: pl.DataFrame
    gaps: pl.DataFrame
    overall: pl.DataFrame
    notes: tuple[str, ...]
    metadata: dict[str, Any]
