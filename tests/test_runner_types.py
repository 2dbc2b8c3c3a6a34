"""What is given to the runners from Python in a wrong type is told in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fmfair.errors import FmfairError
from fmfair.runners import Probe, Prompts, Study, read_manifest
from fmfair.runners.predictions import to_predict
from fmfair.runners.roles import Roles

TABLE = pl.DataFrame({"path": list("abcd"), "patient_id": list("abcd"), "y": [0, 1, 0, 1]})
NO_TEXTS: list[Any] = [3, 2.5, True, "x", b"x", [1], [None], [["x"]], object(), Path("x"), TABLE, {1}, range(3)]
NO_TEXT: list[Any] = [3, 2.5, b"x", ["x"], object(), {}, ()]


def split(**given: Any) -> Any:
    return read_manifest(TABLE, roles=Roles(labels=["y"], split="")).split(**given)


@pytest.mark.parametrize(
    ("call", "name", "wrong"),
    [
        (lambda **k: read_manifest(TABLE, roles=Roles(**k)), "labels", NO_TEXTS),
        (lambda **k: read_manifest(TABLE, roles=Roles(**k)), "attributes", NO_TEXTS),
        (lambda **k: read_manifest(TABLE, **k), "root", NO_TEXT),
        (lambda **k: read_manifest(TABLE, **k), "reading", NO_TEXT),
        (lambda **k: read_manifest(TABLE, **k), "check_files", [None, 1, "yes"]),
        (split, "balance", NO_TEXTS),
        (split, "bins", [3, "x", ["x"], object()]),
        (lambda bins: split(balance=["y"], bins={"y": bins}), "bins", [3, "x", ["x"], [None], [float("nan")], {}]),
        (split, "ratio", [3, "abc", ["a", "b", "c"], (1e308, 1e308, 1e308), TABLE]),
        (lambda **k: to_predict(read_manifest(TABLE, roles=Roles(labels=["y"])), **k), "splits", [[], *NO_TEXTS]),
        (Probe, "seed", [None, "1", 1.5, True, -1, TABLE]),
        (lambda **k: Probe(select="worst_auc", **k), "groups", NO_TEXTS),
        (lambda **k: Study.of(read_manifest(TABLE), "rad_dino", **k), "output", NO_TEXT),
        (lambda **k: Study.of(read_manifest(TABLE), "rad_dino", **k), "feature", NO_TEXT),
        (Probe, "schedule", [None, 3, "x"]),
        (lambda **k: Prompts(**{"negative": ("a",), "positive": ("b",)} | k), "negative", NO_TEXTS),
        (lambda **k: Prompts(("a",), ("b",), **k), "templates", NO_TEXTS),
    ],
)  # fmt: skip
def test_a_wrong_type_is_refused_with_the_name_of_its_argument(
    call: Callable[..., Any], name: str, wrong: list[Any]
) -> None:
    for value in wrong:
        with pytest.raises(FmfairError, match=rf"\b{name}="):
            call(**{name: value})
