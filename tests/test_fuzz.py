"""Random small tables with random columns and options: an honest report or an FmfairError, and nothing else."""

from __future__ import annotations

import decimal
import json
import math
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

import polars as pl
from hypothesis import HealthCheck, event, given, note
from hypothesis import strategies as st
from lookup import assert_honest
from property_tests import examples

import fmfair
from fmfair import FmfairError

MOMENT = datetime(2024, 5, 1, 12, 30, tzinfo=timezone.utc)
TEXTS = ["a", "b", "NaN", "", "1", "1.0", "x & y", "\0", "🩻", 'q"', "new\nline", "None"]
# Columns of every type that a table may hold: a few values of each, and the dtype.
COLUMNS: dict[str, tuple[list[Any], Any]] = {
    "labels": ([0, 1], pl.Int64),
    "flags": ([True, False], pl.Boolean),
    "codes": ([0, 1, 2, 7, -1], pl.Int16),
    "unsigned": ([0, 1, 200], pl.UInt8),
    "huge": ([0, 1, 2**63 - 1], pl.UInt64),
    "probabilities": ([0.0, 0.1, 0.3, 0.5, 0.7, 1.0], pl.Float64),
    "single": ([0.0, 0.1, 0.7, 1.0], pl.Float32),
    "logits": ([-800.0, -2.0, 0.0, 0.5, 3.0, 1e200], pl.Float64),
    "holes": ([0.5, math.nan, math.inf, -math.inf, 0.0], pl.Float64),
    "positives": ([0.5, 3.0, 40.0, 65.0, 1e-320], pl.Float64),
    "text": (TEXTS, pl.String),
    "numbers in text": (["0", "1", "0.5", "12"], pl.String),
    "categories": (["a", "b", "c"], pl.Categorical),
    "levels": (["lo", "mid", "hi"], pl.Enum(["lo", "mid", "hi", "unused"])),
    "decimals": ([decimal.Decimal("0.50"), decimal.Decimal("1.00"), decimal.Decimal("0.00")], pl.Decimal(10, 2)),
    "days": ([date(2024, 5, 1), date(1999, 1, 31)], pl.Date),
    "moments": ([MOMENT, MOMENT + timedelta(days=1)], pl.Datetime(time_zone="UTC")),
    "times": ([time(1, 2), time(3, 4, 5, 6)], pl.Time),
    "spans": ([timedelta(days=1), timedelta(seconds=2)], pl.Duration),
    "lists": ([[0.1, 0.9], [1.0]], pl.List(pl.Float64)),
    "arrays": ([[0.1, 0.9], [0.5, 0.5]], pl.Array(pl.Float64, 2)),
    "structs": ([{"x": 1}, {"x": 0}], pl.Struct({"x": pl.Int64})),
    "bytes": ([b"a", b"\xff"], pl.Binary),
    "objects": ([object(), "a", 1], pl.Object),
    "nothing": ([None], pl.Null),
}
# The types that fit each role come up most.
FITTING = {
    "y_true": ["labels", "labels", "labels", "flags", "codes", "levels"],
    "y_score": ["probabilities", "probabilities", "single", "logits", "positives", "decimals", "labels", "holes"],
    "y_pred": ["labels", "flags"],
    "y_logit": ["logits"],
    "attributes": ["text", "categories", "levels", "codes", "flags", "days", "probabilities", "numbers in text"],
    "by": ["text", "codes", "levels", "days", "single"],
    "weight": ["positives", "unsigned", "labels", "decimals"],
    "cluster": ["codes", "text"],
    "dice": ["probabilities", "single", "holes", "labels"],
}
NAMES = ["label", "prob", "sex", "age", "model", "group", "*", "^.*$", "", "n", "by", "a & b", "line\nbreak"]


@st.composite
def series(draw: st.DrawFn, name: str, role: str, height: int) -> pl.Series:
    """A column that fits its role, or now and then one of any type, with holes."""
    fitting = draw(st.integers(0, 19)) > 0
    kind = draw(st.sampled_from(FITTING[role] if fitting else list(COLUMNS)))
    values, dtype = COLUMNS[kind]
    if role in ("attributes", "by") or draw(st.integers(0, 5)) == 0:
        values = [*values, None]
    drawn = draw(st.lists(st.sampled_from(values), min_size=height, max_size=height))
    return pl.Series(name, drawn, dtype=dtype, strict=False)


@st.composite
def calls(draw: st.DrawFn, roles: dict[str, tuple[int, int]]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table and the arguments that name its columns; `roles` say how many columns of a role there may be."""
    height = draw(st.integers(0, 12))
    names = draw(st.permutations([*NAMES, *(f"c{i}" for i in range(8))]))
    columns: list[pl.Series] = []
    arguments: dict[str, Any] = {}
    for role, (least, most) in roles.items():
        found = []
        for _ in range(draw(st.integers(least, most))):
            again = bool(columns) and draw(st.integers(0, 19)) == 0
            name = draw(st.sampled_from([c.name for c in columns])) if again else names[len(columns)]
            if not again:
                columns.append(draw(series(name, role, height)))
            found.append(name)
        if found or role in ("by", "attributes"):
            arguments[role] = found if most > 1 else found[0]
    return pl.DataFrame({c.name: c for c in columns}), arguments


@st.composite
def options(draw: st.DrawFn, /, **choices: list[Any]) -> dict[str, Any]:
    """A few of the options, each with one of its values."""
    names = draw(st.lists(st.sampled_from(sorted(choices)), max_size=4, unique=True))
    return {name: draw(st.sampled_from(choices[name])) for name in names}


SHARED: dict[str, list[Any]] = {
    "bins": [None, {"sex": 2}, {"age": [40, 60]}, {"sex": [math.nan]}],
    "intersections": [1, 2, "all", [("sex", "age")]],
    "min_group_size": [0, 2],
    "missing_groups": ["drop", "keep"],
    "missing_values": [(), ["a", "NaN"], ["1"]],
    "conventions": ["standard", "standard", "fairmedfm"],
}
CLASSIFICATION: dict[str, list[Any]] = {
    **SHARED,
    "thresholds": [0.5, [0.3, "best_f1"], ["youden", "tpr=0.9", "tnr=0.9"], {"a": 0.5}, [1e300, -0.0]],
    "metrics": [None, "all", ["auc", "tpr"], ["ece(bins=3)", "partial_auc(tpr=(0.5, 1))"], ["ece(bins=1)"], "auc"],
    "positive": [1, 1, True, "lo", 7],
    "ignore": [[7], ["b"], [None]],
    "classes": [[0, 1], ["a", "b", "c"]],
    "score_type": ["probability", "logit", "rank"],
    "missing_scores": ["drop"],
    "missing_labels": ["drop", "raise"],
}
ROLES = {
    "y_true": (1, 1),
    "y_score": (1, 1),
    "y_pred": (0, 1),
    "y_logit": (0, 1),
    "attributes": (1, 2),
    "by": (0, 2),
    "weight": (0, 1),
    "cluster": (0, 1),
}
SETTINGS = examples(75, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def _check(report: fmfair.Report) -> None:
    assert_honest(report)
    json.loads(report.to_json(), parse_constant=lambda name: (_ for _ in ()).throw(AssertionError(name)))
    assert repr(report)
    assert report.metadata["n_samples"] >= 1
    event("a report")


@given(call=calls(ROLES), chosen=options(**CLASSIFICATION))
@SETTINGS
def test_any_table_of_predictions_gives_an_honest_report_or_an_error(
    call: tuple[pl.DataFrame, dict[str, Any]], chosen: dict[str, Any]
) -> None:
    frame, arguments = call
    note(f"{frame.to_dict(as_series=False)}\n{frame.schema}\n{arguments}\n{chosen}")
    try:
        report = fmfair.evaluate(frame, **arguments, **chosen)
    except FmfairError:
        return
    _check(report)


@given(call=calls({**ROLES, "y_score": (2, 3), "y_true": (1, 3)}), chosen=options(**CLASSIFICATION))
@SETTINGS
def test_any_table_with_class_columns_gives_an_honest_report_or_an_error(
    call: tuple[pl.DataFrame, dict[str, Any]], chosen: dict[str, Any]
) -> None:
    frame, arguments = call
    note(f"{frame.to_dict(as_series=False)}\n{frame.schema}\n{arguments}\n{chosen}")
    try:
        report = fmfair.evaluate(frame, **arguments, **chosen)
    except FmfairError:
        return
    _check(report)


@given(
    call=calls({"dice": (1, 1), **{r: ROLES[r] for r in ("attributes", "by", "weight", "cluster")}}),
    chosen=options(**SHARED),
)
@SETTINGS
def test_any_table_of_dice_values_gives_an_honest_report_or_an_error(
    call: tuple[pl.DataFrame, dict[str, Any]], chosen: dict[str, Any]
) -> None:
    frame, arguments = call
    note(f"{frame.to_dict(as_series=False)}\n{frame.schema}\n{arguments}\n{chosen}")
    try:
        report = fmfair.evaluate_segmentation(frame, **arguments, **chosen)
    except FmfairError:
        return
    _check(report)


@given(call=calls({"y_true": (1, 1), "y_score": (1, 2), "attributes": (1, 2), "weight": (0, 1)}), data=st.data())
@SETTINGS
def test_any_arrays_give_an_honest_report_or_an_error(
    call: tuple[pl.DataFrame, dict[str, Any]], data: st.DataObject
) -> None:
    frame, arguments = call
    chosen = data.draw(options(**{k: v for k, v in CLASSIFICATION.items() if k != "positive"}))
    columns = {
        role: [frame[c] for c in (named if isinstance(named, list) else [named])] for role, named in arguments.items()
    }
    form = data.draw(st.sampled_from([lambda c: c, lambda c: c.to_list()]))
    note(f"{columns}\n{chosen}")
    scores = [form(c) for c in columns["y_score"]]
    try:
        report = fmfair.evaluate_arrays(
            form(columns["y_true"][0]),
            scores[0] if len(scores) == 1 else list(zip(*scores, strict=True)),
            sensitive_features={f"a{i}": form(c) for i, c in enumerate(columns["attributes"])},
            sample_weight=form(columns["weight"][0]) if "weight" in columns else None,
            **chosen,
        )
    except FmfairError:
        return
    _check(report)
