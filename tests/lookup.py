"""Single numbers out of a report, and a bare number together with what it warned of."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import fmfair
from fmfair.export import FRAMES

Door = Callable[..., fmfair.Report]


def from_frame(y_true: Any, y_score: Any, group: Any, **options: Any) -> fmfair.Report:
    """The report of `fmfair.evaluate` on a table of three columns."""
    frame = {"truth": y_true, "guess": y_score, "group": group}
    return fmfair.evaluate(frame, y_true="truth", y_score="guess", attributes="group", **options)


def from_arrays(y_true: Any, y_score: Any, group: Any, **options: Any) -> fmfair.Report:
    """The report of `fmfair.evaluate_arrays`, with the option names of `fmfair.evaluate`."""
    if "positive" in options:
        options["pos_label"] = options.pop("positive")
    return fmfair.evaluate_arrays(y_true, y_score, sensitive_features={"group": group}, **options)


def values_from_arrays(y_true: Any, y_score: Any, group: Any, **options: Any) -> fmfair.Report:
    """The same without intervals: they take most of the way, which is that behind the other door."""
    return from_arrays(y_true, y_score, group, **{"ci": None, **options})


DOORS = pytest.mark.parametrize(
    "door", [pytest.param(from_frame, id="evaluate"), pytest.param(values_from_arrays, id="evaluate_arrays")]
)


def by_group(report: fmfair.Report, metric: str, column: str = "value", **where: Any) -> dict[str, Any]:
    """The value (or another column) of a metric per group, in the order of the table."""
    rows = _rows(report.groups, {"metric": metric, **where})
    found = dict(rows.select("group", column).iter_rows())
    assert len(found) == rows.height, "a group has several rows; say which attribute, threshold or by-key"
    return found


def gap(report: fmfair.Report, metric: str, statistic: str = "difference", column: str = "value", **where: Any) -> Any:
    """A statistic of a metric across the groups (or another column of its row)."""
    return _rows(report.gaps, {"metric": metric, "statistic": statistic, **where})[column].item()


def overall(report: fmfair.Report, metric: str, column: str = "value", **where: Any) -> Any:
    """The value of a metric on all evaluated rows (or another column of its row)."""
    return _rows(report.overall, {"metric": metric, **where})[column].item()


def summary(report: fmfair.Report, column: str, **where: Any) -> Any:
    """A cell of the summary."""
    return _rows(report.summary, where)[column].item()


def warned(function: Callable[..., float], *arguments: Any, **options: Any) -> tuple[float, str]:
    """The number that a scalar function returns, and all that it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = function(*arguments, **options)
    assert all(w.category is UserWarning for w in caught), [str(w.message) for w in caught]
    return value, "\n".join(str(w.message) for w in caught)


def assert_honest(report: fmfair.Report) -> None:
    """No frame holds NaN or infinity, and whatever is undefined says why."""
    for name in FRAMES:
        frame = report.to_frame(name)
        numbers = frame.select(pl.selectors.float())
        assert numbers.select(pl.all().is_finite().all()).row(0) == (True,) * numbers.width, name
        if "note" in frame.columns:
            silent = frame.filter(pl.col("value").is_null() & pl.col("note").is_null())
            assert silent.is_empty(), f"{name}: {silent}"


def _rows(frame: pl.DataFrame, where: dict[str, Any]) -> pl.DataFrame:
    for column, wanted in where.items():
        frame = frame.filter(pl.col(column).eq_missing(pl.lit(wanted)))
    assert not frame.is_empty(), f"no row with {where}"
    return frame
