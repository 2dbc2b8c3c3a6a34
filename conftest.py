"""Names that every doctest may use without importing them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import fmfair


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["fmfair"] = fmfair
    doctest_namespace["pl"] = pl
