"""The published package fairmedfm and fmfair side by side: the results of both as one flat table of numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import polars as pl
import pytest
from fairmedfm import evaluation, group_metrics

import fmfair

TOLERANCE = 1e-9

# Eight samples of two groups that both have both labels.
LABELS = [0, 1, 0, 1, 1, 0, 1, 0]
SCORES = [0.2, 0.9, 0.4, 0.3, 0.6, 0.5, 0.8, 0.1]
AB = list("aaaabbbb")

# What the package calls each metric, and each threshold.
METRICS = {
    "auc": "auc",
    "accuracy": "acc",
    "bce": "bce",
    "ece": "ece",
    "tpr": "tpr",
    "tnr": "tnr",
    "tn": "tn",
    "fp": "fp",
    "fn": "fn",
    "tp": "tp",
}
SUFFIXES = {"fixed": "", "best_f1": "@best_f1"}
GROUP_COLUMNS = {
    "classification": tuple(f"{short}{suffix}" for suffix in SUFFIXES.values() for short in METRICS.values()),
    "segmentation": ("mean_dice",),
}
SUMMARY_COLUMNS = {
    "classification": (
        *("overall-auc", "overall-acc", "overall-bce", "overall-ece", "worst-auc"),
        *("auc-gap", "acc-gap", "bce-gap", "ece-gap", "eod", "eo"),
    ),
    "segmentation": (*("mean_dice", "min_dice", "max_dice", "delta_dice", "skewness_dice", "std_dice", "es_dice"),),
}

# Every cell of the three tables by its place: table, attribute, group and column, as far as they apply.
Numbers = dict[tuple[str, ...], Any]


@contextmanager
def package_warnings_ignored() -> Iterator[None]:
    """Lets the package run where warnings are errors.

    It warns of what the tests compare anyway: overflow in its sigmoid, rows and groups that it leaves out.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def theirs(*arguments: Any, **options: Any) -> evaluation.FairnessReport:
    """The package's report of a classification."""
    with package_warnings_ignored():
        return evaluation.evaluate(*arguments, **options)


def theirs_segmentation(sensitive_features: Any, **options: Any) -> evaluation.FairnessReport:
    """The package's report of a segmentation."""
    with package_warnings_ignored():
        return evaluation.evaluate_segmentation(sensitive_features, **options)


def theirs_scalar(name: str, *arguments: Any, **options: Any) -> float:
    """One of the package's twelve numbers."""
    function: Callable[..., float] = getattr(group_metrics, name)
    with package_warnings_ignored():
        return function(*arguments, **options)


def ours(y_true: Any, y_score: Any, sensitive_features: Any, **options: Any) -> fmfair.Report:
    """Fmfair's report of a classification in the package's conventions, with the metrics that the package has."""
    settings: dict[str, Any] = {"metrics": list(METRICS), "conventions": "fairmedfm", **options}
    return fmfair.evaluate_arrays(y_true, y_score, sensitive_features=sensitive_features, **settings)


def ours_scalar(name: str, *arguments: Any, conventions: str = "fairmedfm", **options: Any) -> float:
    """One of fmfair's twelve numbers, without the warnings that come with it."""
    function: Callable[..., float] = getattr(fmfair, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return function(*arguments, conventions=conventions, **options)


def assert_same(report: fmfair.Report, reference: evaluation.FairnessReport) -> None:
    """Every column of the summary, by-group and overall tables agrees, and attributes and groups come in one order."""
    found, expected = numbers_of(report), numbers_of_package(reference)
    assert list(found) == list(expected)
    assert not {place: (found[place], cell) for place, cell in expected.items() if not equal(found[place], cell)}


def equal(value: Any, reference: Any) -> bool:
    """Whether two cells agree; None is what the package shows as NaN."""
    if value is None or reference is None or isinstance(reference, str):
        return bool(value == reference)
    return math.isclose(value, reference, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def numbers_of_package(report: evaluation.FairnessReport) -> Numbers:
    """The cells of the package's tables."""
    task = "classification" if report.task == "cls" else "segmentation"
    found: Numbers = {}
    for attribute, row in report.summary.iterrows():
        found |= _cells(("summary", str(attribute)), row, ("n", "n_groups", *SUMMARY_COLUMNS[task]))
    for place, row in report.by_group.iterrows():
        attribute, group = cast("tuple[str, str]", place)
        found |= _cells(("group", attribute, group), row, ("n", "skipped", *GROUP_COLUMNS[task]))
    overall = GROUP_COLUMNS[task] if report.task == "cls" else (*GROUP_COLUMNS[task], "n")
    return found | _cells(("overall",), report.overall, overall)


def numbers_of(report: fmfair.Report) -> Numbers:
    """The cells of fmfair's tables; the groups without rows, which the package does not show, are left out."""
    task = report.metadata["task"]
    found: Numbers = {}
    for row in report.summary.iter_rows(named=True):
        found |= _cells(("summary", row["attribute"]), row, ("n", "n_groups", *SUMMARY_COLUMNS[task]))
    wanted = list(METRICS) if task == "classification" else ["dice"]
    groups = report.groups.filter(pl.col("metric").is_in(wanted))
    assert groups.filter((pl.col("n") == 0) & pl.col("value").is_not_null()).is_empty()
    for (attribute, group), rows in groups.filter(pl.col("n") > 0).group_by("attribute", "group", maintain_order=True):
        values = {"n": rows["n"][0], "skipped": _skipped(rows["note"][0]), **_by_column(rows)}
        found |= _cells(("group", str(attribute), str(group)), values, ("n", "skipped", *GROUP_COLUMNS[task]))
    overall = report.overall.filter(pl.col("metric").is_in(wanted))
    columns = GROUP_COLUMNS[task] if task == "classification" else (*GROUP_COLUMNS[task], "n")
    return found | _cells(("overall",), {"n": overall["n"][0], **_by_column(overall)}, columns)


def _cells(place: tuple[str, ...], row: Any, columns: tuple[str, ...]) -> Numbers:
    values = {column: row.get(column) for column in columns}
    return {(*place, c): None if isinstance(v, float) and math.isnan(v) else v for c, v in values.items()}


def _by_column(rows: pl.DataFrame) -> Mapping[str, Any]:
    """The values of one group by the package's columns; what needs no threshold stands in two of them."""
    values = {(r["metric"], r["threshold_rule"]): r["value"] for r in rows.iter_rows(named=True)}
    if ("dice", None) in values:
        return {"mean_dice": values["dice", None]}
    return {
        f"{short}{suffix}": values[metric, rule if (metric, rule) in values else None]
        for rule, suffix in SUFFIXES.items()
        for metric, short in METRICS.items()
    }


def _skipped(note: str | None) -> str | None:
    """The package's reason why a group has no numbers."""
    return note.removeprefix("skipped: ") if note is not None and note.startswith("skipped: only label") else None


def approx(value: Any) -> Any:
    """What is equal to a value within the tolerance of this comparison."""
    return pytest.approx(value, abs=TOLERANCE)


def groups_of(report: fmfair.Report, attribute: str = "sensitive") -> list[str]:
    """The groups of an attribute that have rows, in order."""
    groups = report.groups.filter((pl.col("attribute") == attribute) & (pl.col("n") > 0))
    return [str(group) for group in groups["group"].unique(maintain_order=True)]


def groups_of_package(report: evaluation.FairnessReport) -> list[str]:
    """The groups of the package's report, in order."""
    return [str(group) for _, group in report.by_group.index]


def best_f1(report: fmfair.Report) -> float:
    """The threshold that was chosen for all rows."""
    rules = report.overall.filter(pl.col("threshold_rule") == "best_f1")
    return float(rules["threshold"].unique().item())
