"""Which rows of the frames a figure shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fmfair.errors import FmfairError, Problems, listing, near
from fmfair.export import texts
from fmfair.figures.text import UNITS, metric_of, name_of
from fmfair.marks import MARKS, carrier
from fmfair.metrics.metric import Metric
from fmfair.numerals import as_sentence
from fmfair.shown import HEADLINE

Where = Mapping[str, Any] | None
THRESHOLD = ("threshold", "threshold_rule")
FEW = min(MARKS)
SUPPRESSED = "suppressed"
# The first declared column of a frame; before it stand the by-keys.
_FIRST = ("attribute", "metric")


def by_keys(frame: pl.DataFrame) -> list[str]:
    """The names of the by-keys of a frame."""
    names = frame.columns
    return names[: min(names.index(name) for name in _FIRST if name in names)]


def picked(frame: pl.DataFrame, where: Where, *, several: bool = False) -> pl.DataFrame:
    """The rows of one by-key, or of `several`, with `label`, which of them it is, in place of the by-keys.

    Raises:
        FmfairError: There are several where one is shown, and `where` does not say which; or there is none.
    """
    keys = by_keys(frame)
    wanted = {name: value for name, value in (where or {}).items() if name not in THRESHOLD}
    problems = Problems()
    for name in wanted:
        if name not in keys:
            known = [*keys, *THRESHOLD]
            problems.add(f"where: no by-key {name!r}{near(str(name), known)}; expected some of {listing(known)}")
    problems.raise_if_any()
    for name, value in wanted.items():
        frame = _of_key(frame, name, value)
    varying = [name for name in keys if frame[name].n_unique() > 1]
    if varying and not several:
        values = texts(frame[varying[0]].unique(maintain_order=True))
        raise FmfairError(
            f"the figure shows one {varying[0]!r} and there are {len(values)}: {listing(values)}; "
            f"say which, such as where={{{varying[0]!r}: {values[0]!r}}}"
        )
    parts = [[name_of(text) for text in texts(frame[name])] for name in varying]
    labels = [", ".join(row) for row in zip(*parts, strict=True)] if parts else [""] * frame.height
    return frame.drop(keys).with_columns(label=pl.Series(labels, dtype=pl.String))


def _of_key(frame: pl.DataFrame, name: str, value: Any) -> pl.DataFrame:
    """The rows with the wanted value of one by-key, which is compared as text."""
    values = frame[name].unique(maintain_order=True)
    shown = texts(values)
    text = texts(pl.Series([value]))[0]
    if text not in shown:
        raise FmfairError(f"where: {name!r} has no value {text!r}{near(str(text), [str(s) for s in shown])}")
    return frame.filter(frame[name].eq_missing(values[shown.index(text)]))


def measured(frame: pl.DataFrame, metric: str, where: Where = None, *, several: bool = False) -> pl.DataFrame:
    """The rows of one metric and threshold, of one by-key or of `several`.

    The threshold is the first, unless `where` names another.

    Raises:
        FmfairError: There is no such metric, by-key or threshold.
    """
    names = frame["metric"].unique(maintain_order=True).to_list()
    if metric not in names:
        raise FmfairError(f"no metric {metric!r} in the report{near(metric, names)}; expected one of {listing(names)}")
    rows = picked(frame.filter(frame["metric"] == metric), where, several=several)
    if not {*THRESHOLD} <= {*rows.columns} or rows["threshold_rule"].null_count() == rows.height:
        return rows
    for name in THRESHOLD:
        if where is not None and name in where:
            if isinstance(where[name], str) != (rows[name].dtype == pl.String):
                raise FmfairError(f"where: {name} is {where[name]!r}, which is not of the type of {name} in the report")
            rows = rows.filter(pl.col(name) == where[name])
    if not rows.height:
        raise FmfairError(f"where: {metric} was not measured at this threshold")
    # A rule may give each attribute a threshold of its own; a number is one by itself.
    number = pl.when(pl.col("threshold_rule") == "fixed").then("threshold")
    first = [at.eq_missing(at.first().over("label")) for at in (pl.col("threshold_rule"), number)]
    return rows.filter(*first)


def attribute_of(groups: pl.DataFrame, attribute: str | None = None) -> str:
    """The attribute to show: the one named, or the first single one.

    Raises:
        FmfairError: The attribute is not in the report, or there is none.
    """
    chosen = attributes_of(groups, attribute)
    if len(chosen) != 1 and attribute is not None:
        raise FmfairError(f"the figure shows one attribute, and there are {len(chosen)}: {listing(chosen)}")
    if not chosen:
        raise FmfairError("the report has no group to show")
    return chosen[0]


def attributes_of(groups: pl.DataFrame, attributes: str | Sequence[str] | None = None) -> list[str]:
    """The attributes to show: those named, or all single ones.

    Raises:
        FmfairError: An attribute is not in the report.
    """
    known = groups["attribute"].unique(maintain_order=True).to_list()
    if attributes is None:
        single = groups.filter(pl.col("attribute_parts").list.len() == 1)["attribute"]
        return single.unique(maintain_order=True).to_list()
    problems, chosen = Problems(), [attributes] if isinstance(attributes, str) else list(attributes)
    for name in chosen:
        if name not in known:
            hint = near(str(name), known)
            problems.add(f"no attribute {name!r} in the report{hint}; expected some of {listing(known)}")
    problems.raise_if_any()
    return chosen


def valued(rows: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Values with their limits, counts, `kind` and `said`.

    `kind` is `point`, `counts` where fewer than 10 samples carry the value, or `undefined`; `said` is what is written
    in place of those two. Limits are NULL where there are no intervals.
    """
    known = metric_of(metric)
    limits = [pl.lit(None, pl.Float64).alias(name) for name in ("ci_low", "ci_high") if name not in rows.columns]
    rows = rows.with_columns(*limits, carried=_carried(known), unit=_unit(known))
    few = pl.col("mark").eq_missing(pl.lit(MARKS[FEW])) if "mark" in rows.columns else pl.col("carried") < FEW
    if known is None or known.family == "count":
        few = pl.lit(value=False)
    kind = pl.when(pl.col("value").is_null()).then(pl.lit("undefined")).when(few).then(pl.lit("counts"))
    rows = rows.with_columns(kind=kind.otherwise(pl.lit("point")))
    said = [_said(row, known) for row in rows.iter_rows(named=True)]
    return rows.with_columns(said=pl.Series(said, dtype=pl.String))


def _carried(metric: Metric | None) -> pl.Expr:
    return pl.col("denominator") if metric is None else carrier(metric)


def _unit(metric: Metric | None) -> pl.Expr:
    """The name of the count that carries the value."""
    if metric is None or "n_pos" not in carrier(metric).meta.root_names():
        return pl.lit(UNITS.get(metric.denominator if metric else "n", "rows"))
    positives = pl.col("n_pos") <= pl.col("n") - pl.col("n_pos")
    return pl.when(positives).then(pl.lit(UNITS["n_pos"])).otherwise(pl.lit(UNITS["n_neg"]))


def _said(row: Mapping[str, Any], metric: Metric | None) -> str | None:
    if row["kind"] == "point":
        return None
    if row["kind"] == "undefined":
        note = row["note"] or "no value"
        return SUPPRESSED if note == SUPPRESSED else f"not defined: {note}"
    carried, unit = row["carried"], row["unit"]
    if metric is not None and metric.interval == "proportion" and row["weight_sum"] is None:
        return f"{round(row['value'] * carried)} of {carried} {unit}: counts only"
    return f"{carried} {unit}: counts only"


def with_reference(rows: pl.DataFrame, reference: Mapping[str, str]) -> pl.DataFrame:
    """With `reference`: whether a group is the named one of its attribute or, where none is named, the largest."""
    named = pl.col("attribute").replace_strict(dict(reference), default=None, return_dtype=pl.String)
    largest = (pl.col("n") == pl.col("n").max().over("attribute")).fill_null(value=False)
    first = largest & (largest.cast(pl.Int64).cum_sum().over("attribute") == 1)
    return rows.with_columns(reference=pl.when(named.is_null()).then(first).otherwise(pl.col("group") == named))


def context(rows: pl.DataFrame, where: Where) -> str:
    """Which by-key and threshold a figure is of; empty where there is but one and no threshold."""
    keys = {name: value for name, value in (where or {}).items() if name not in THRESHOLD}
    said = [f"{name_of(str(name))} {name_of(texts(pl.Series([value]))[0])}" for name, value in keys.items()]
    if "threshold_rule" in rows.columns and rows["threshold_rule"].drop_nulls().len():
        thresholds = rows["threshold"].drop_nulls().unique()
        rule = rows["threshold_rule"].drop_nulls()[0]
        shown = f"{thresholds[0]:.4g}" if thresholds.len() == 1 else ""
        chosen = "decisions as given" if rule == "y_pred" else name_of(rule)
        said.append(f"threshold {shown}" if rule == "fixed" else " ".join(filter(None, (chosen, shown))))
    return ", ".join(said)


def of_context(said: str) -> str:
    """Which by-key and threshold a figure is of, in brackets behind its name."""
    return f" ({said})" if said else ""


def reading(of: str, aid: str) -> str:
    """How a figure is read, after which by-key and threshold it is of."""
    return f"{as_sentence(of)}. {as_sentence(aid)}" if of else as_sentence(aid)


def headline(overall: pl.DataFrame) -> str:
    """The metric to show where none is named: the first of AUC, sensitivity and Dice, or of all.

    Raises:
        FmfairError: The report has no metric.
    """
    names = overall["metric"].unique(maintain_order=True).to_list()
    if not names:
        raise FmfairError("the report has no values to show")
    return next((name for name in HEADLINE if name in names), str(names[0]))
