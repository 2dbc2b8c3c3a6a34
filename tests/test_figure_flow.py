"""The flow of rows: its counts are those of the report, and what was left out is told in the words of the notes."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest
from figure_support import data_of, drawn, texts, written

import fmfair
from fmfair.report import Report


def flowed(hidden: int | None = None) -> Report:
    """160 rows, of which 40 have no label and 20 others no sex."""
    labels = [None if k % 4 == 0 else k % 3 % 2 for k in range(160)]
    sex = [None if k % 8 == 1 else "FM"[k % 2] for k in range(160)]
    scores = [k % 10 / 10 for k in range(160)]
    frame = pl.DataFrame({"y_true": labels, "y_score": scores, "sex": sex, "site": ["A", "B"] * 80})
    attributes = ["sex", "site"]
    return fmfair.evaluate(frame, attributes=attributes, metrics="auc", missing_labels="drop", suppress_below=hidden)


@pytest.mark.parametrize("width", [356, 720])
def test_every_count_follows_from_the_rows(width: int) -> None:
    chart = flowed().plot.flow(width=width)
    root = drawn(chart)

    boxes = [row["said"] for row in data_of(chart) if "said" in row]
    assert boxes == ["120 rows evaluated", "sex: 100 rows in 2 groups", "site: 120 rows in 2 groups"]
    shown = written(root)
    assert "20rowswithoutsex" in shown
    assert "40rowswithamissinglabelin'y_true'leftout" in shown
    assert "withoutsite" not in shown
    assert root.attrib["width"] == str(width)


def test_boxes_and_texts_stay_inside_and_apart() -> None:
    for width in (356, 720):
        rows = data_of(flowed().plot.flow(width=width))
        boxes = sorted((row["y"], row["y2"]) for row in rows if "said" in row)
        assert all(end < start for (_, end), (start, _) in pairwise(boxes))
        for row in rows:
            assert row["x"] >= 0
            assert row["x"] < width - 16


def test_hidden_counts_stay_hidden() -> None:
    said = " ".join(texts(flowed(200).plot.flow()))

    assert "suppressed number of rows evaluated" in said
    assert not any(count in said for count in ("120", "100", "20 rows"))
