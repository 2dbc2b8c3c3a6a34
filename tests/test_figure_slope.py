"""The slope chart: its values are those of the frames in each condition, and its names do not cover each other."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from figure_support import data_of, drawn, texts, written
from reports import HOSTILE

import fmfair
from fmfair.errors import FmfairError
from fmfair.report import Report

LEVELS = ["clean", "light", "heavy"]
SITES = ["north", "south", "east", "west", "centre", "tiny"]


@cache
def perturbed(names: tuple[str, ...] = tuple(SITES), models: tuple[str, ...] = ("a",)) -> Report:
    """Three levels of noise that take more from `south`; `tiny` has few rows."""
    rng = random.Random(7)
    rows = []
    for model in models:
        for level in range(3):
            for k in range(60 * len(names)):
                site = names[k % len(names)]
                if site == "tiny" and k > 40:
                    continue
                y = int(rng.random() < 0.4)
                lost = 0.08 * level * (2 if site == names[1] else 1)
                rows.append(
                    (model, LEVELS[level], site, y, min(0.999, max(0.0, rng.gauss(0.35 + (0.3 - lost) * y, 0.15))))
                )
    frame = pl.DataFrame(rows, schema=["model", "noise", "site", "y_true", "y_score"], orient="row")
    by = ["model", "noise"] if len(models) > 1 else ["noise"]
    frame = frame.with_columns(noise=pl.col("noise").cast(pl.Enum(LEVELS)))
    return fmfair.evaluate(
        frame.select(*by, "site", "y_true", "y_score"), by=by, attributes="site", metrics=["auc", "tpr"]
    )


def drawn_values(chart: Any) -> dict[tuple[str | None, int], dict[str, Any]]:
    return {(row["group"], row["condition"]): row for row in data_of(chart) if row.get("kind") == "point"}


def test_values_are_those_of_the_frames_in_every_condition() -> None:
    made = perturbed()
    shown = drawn_values(made.plot.slope("auc", across="noise", width=1280))

    for k, level in enumerate(LEVELS):
        there = (pl.col("metric") == "auc") & (pl.col("noise") == level)
        assert shown[None, k]["value"] == made.overall.filter(there)["value"][0]
        for row in made.groups.filter(there).iter_rows(named=True):
            if row["group"] != "tiny":
                assert [shown[row["group"], k][c] for c in ("value", "ci_low", "ci_high")] == [
                    row[c] for c in ("value", "ci_low", "ci_high")
                ]
    assert not any(group == "tiny" for group, _ in shown)
    assert any("tiny" in text and "counts only" in text for text in texts(made.plot.slope(across="noise", width=1280)))


def test_heights_are_on_one_scale_and_intervals_around_their_points() -> None:
    rows = [row for row in data_of(perturbed().plot.slope("auc", across="noise")) if row.get("from") is not None]
    one, other = rows[0], max(rows, key=lambda row: abs(row["value"] - rows[0]["value"]))
    slope = (one["y"] - other["y"]) / (one["value"] - other["value"])

    for row in rows:
        assert row["to"] < row["y"] < row["from"]
        assert row["from"] - row["to"] == pytest.approx(-slope * (row["ci_high"] - row["ci_low"]))


def test_the_title_names_the_group_that_changes_most() -> None:
    title = " ".join(perturbed().plot.slope("auc", across="noise").to_dict()["title"]["text"])

    assert title.startswith("AUC by site from noise clean to heavy: all rows 0.")
    assert "largest change in south, " in title


def test_the_order_can_be_named_and_turned() -> None:
    made = perturbed()
    turned = drawn_values(made.plot.slope("auc", across="noise", order=["heavy", "clean"]))
    plain = drawn_values(made.plot.slope("auc", across="noise"))

    assert turned["north", 0]["value"] == plain["north", 2]["value"]
    assert turned["north", 1]["value"] == plain["north", 0]["value"]


@pytest.mark.parametrize("width", [356, 720])
def test_names_are_whole_and_clear_of_each_other(width: int) -> None:
    names = (*HOSTILE, "a site with a rather long name, somewhere far away", "漢字" * 8)
    chart = perturbed(names).plot.slope("auc", across="noise", width=width)
    root = drawn(chart)
    beside = sorted(
        row["y"] for row in data_of(chart) if "text" in row and row["side"] == "left" and row["x"] > width / 2
    )

    assert root.attrib["width"] == str(width)
    for name in ("漢字" * 8, "asitewitharatherlongname,somewherefaraway"):
        assert name in written(root)
    assert all(below - above >= 14.999 for above, below in pairwise(beside))
    assert beside[0] > 0
    assert beside[-1] < float(root.attrib["height"])


def test_what_there_is_not_is_refused_by_name() -> None:
    made = perturbed()
    with pytest.raises(FmfairError, match="across: no by-key 'noize'; did you mean 'noise'"):
        made.plot.slope(across="noize")
    with pytest.raises(FmfairError, match="order: 'noise' has no value 'none'; expected some of 'clean'"):
        made.plot.slope(across="noise", order=["none", "clean"])
    with pytest.raises(FmfairError, match="needs several values of 'noise', and there is one"):
        made.plot.slope(across="noise", order=["clean"])
    several = perturbed(("north", "south"), ("a", "b"))
    with pytest.raises(FmfairError, match="shows one 'model' and there are 2"):
        several.plot.slope(across="noise")
    assert drawn_values(several.plot.slope(across="noise", where={"model": "b"}))
