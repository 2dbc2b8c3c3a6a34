"""One number out of a report, with the warnings that it needs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from fmfair.array_api import WORDS, report_of_arrays
from fmfair.arrays import from_arrays
from fmfair.errors import FmfairError, in_words, reworded
from fmfair.groupings import join_parts
from fmfair.metrics.registry import REGISTRY
from fmfair.notes import Notes
from fmfair.options import Options, check_options
from fmfair.report import Report
from fmfair.roles import Columns
from fmfair.samples import value_samples
from fmfair.segmentation import Masks, report_of_values, with_overlap

# The metrics that a named statistic is made of.
_PARTS: Mapping[str, tuple[str, ...]] = {"equal_opportunity": ("tpr",), "equalized_odds": ("tpr", "tnr")}


# What these functions call the arguments of `evaluate`, and what they do not offer.
_WORDS: Mapping[str, str] = {
    **WORDS,
    ", or leave these rows out with missing_scores='drop'": " or remove these rows",
    " (missing_groups='keep' shows them as a group)": "",
    ", or name the texts that mean missing with missing_values=": "",
}


def classification_value(
    wanted: tuple[str, str], arrays: Mapping[str, Any], sensitive_features: Any, **options: Any
) -> float:
    """A statistic of a metric across the groups, or across the combinations of several attributes."""
    metric, statistic = wanted
    notes = Notes()
    with reworded(_WORDS):
        checked = check_options(metrics=_PARTS.get(metric, (metric,)), **options)
        table = from_arrays(**arrays, sensitive_features=sensitive_features, notes=notes)
        report = report_of_arrays(table, _combined(checked, table.attributes), notes)
    return _number(report, metric, statistic, table.attributes, notes.warnings)


def segmentation_value(
    statistic: str, arrays: Mapping[str, Any], masks: Masks, sensitive_features: Any, **options: Any
) -> float:
    """A statistic of the mean Dice across the groups, from Dice values or from masks."""
    if masks.given == (arrays["values"] is not None):
        raise FmfairError("give either dice, or both pred_masks and true_masks")
    checked = check_options(among=(REGISTRY["dice"],), **options)
    masks.check(checked)
    notes = Notes()
    arrays = dict(arrays)
    if masks.given:
        scored, columns = with_overlap(pl.DataFrame(), Columns(), masks, checked, notes)
        arrays["values"] = scored[columns.values["dice"]]
    table = from_arrays(**arrays, sensitive_features=sensitive_features, notes=notes, values_name="dice")
    columns = Columns(
        values={"dice": str(table.values)},
        from_masks=masks.given,
        attributes=tuple(table.attributes),
        weight=table.weight,
    )
    combined = _combined(checked, table.attributes)
    samples = value_samples(table.frame, table.frame.lazy(), columns, combined, notes)
    report = report_of_values(samples, columns, combined, notes)
    return _number(report, "dice", statistic, table.attributes, notes.warnings)


def _combined(options: Options, attributes: Sequence[str]) -> Options:
    """The options with the one intersection of all attributes, where there are several."""
    return replace(options, intersections=[tuple(attributes)]) if len(attributes) > 1 else options


def _number(report: Report, metric: str, statistic: str, attributes: Sequence[str], said: Sequence[str]) -> float:
    """The value, after warning of all that a reader of the bare number must know."""
    attribute = join_parts(list(attributes))
    for sentence in said:
        _warn(in_words(sentence, _WORDS))
    for part in _PARTS.get(metric, (metric,)):
        _warn_of_undefined(report.groups.filter((pl.col("attribute") == attribute) & (pl.col("metric") == part)))
    row = report.gaps.filter(
        (pl.col("attribute") == attribute) & (pl.col("metric") == metric) & (pl.col("statistic") == statistic)
    )
    value, note = row.select("value", "note").row(0)
    if value is None:
        _warn(f"{statistic} of {metric} across {attribute} is undefined: {note}")
        return math.nan
    return float(value)


def _warn_of_undefined(groups: pl.DataFrame) -> None:
    """One sentence for all groups that a metric is undefined for."""
    undefined = groups.filter(pl.col("value").is_null())
    if undefined.height:
        shown = ", ".join(f"{g} ({note})" for g, note in undefined.head(5).select("group", "note").iter_rows())
        more = f" and {undefined.height - 5} more" if undefined.height > 5 else ""
        what = f"{undefined['metric'][0]} is undefined for {undefined.height} of {groups.height} groups"
        _warn(f"{groups['attribute'][0]}: {what}, which are left out: {shown}{more}", depth=1)


def _warn(sentence: str, depth: int = 0) -> None:
    # The public function and the two helpers of this module lie between here and the caller.
    warnings.warn(sentence, UserWarning, stacklevel=5 + depth)
