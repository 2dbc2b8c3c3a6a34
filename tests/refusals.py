"""A table, and how it is refused."""

from __future__ import annotations

from typing import Any

import pytest

import fmfair
from fmfair import FmfairError

TABLE: dict[str, list[Any]] = {
    "label": [0, 1, 0, 1, 0, 1, 1, 0],
    "prob": [0.1, 0.9, 0.8, 0.7, 0.2, 0.3, 0.4, 0.6],
    "sex": [*"FFMMFFMM"],
    "model": [*"AAAABBBB"],
}
EVERYTHING: dict[str, Any] = {"y_true": "label", "y_score": "prob", "attributes": "sex", "by": "model"}


def refusal(table: Any, **arguments: Any) -> str:
    """What the refusal says; it never shows what a library below says to programmers."""
    with pytest.raises(FmfairError) as error:
        fmfair.evaluate(table, **arguments)
    text = str(error.value)
    assert text
    for word in ("Traceback", "This error occurred", "polars.", "panicked", "dtype"):
        assert word not in text
    return text
