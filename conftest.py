"""Names that every doctest may use without importing them."""

from __future__ import annotations

import os
from typing import Any

import polars as pl
import pytest

import fmfair

# Every report of the tests is of one moment, so that two of the same rows are the same.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1764504000")


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["fmfair"] = fmfair
    doctest_namespace["pl"] = pl
