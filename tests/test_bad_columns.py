"""Columns of every type in every role: the right answer or one clear sentence."""

from __future__ import annotations

import decimal
import math
from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest
from lookup import assert_honest, by_group, overall, summary
from refusals import EVERYTHING, TABLE, refusal

import fmfair
from fmfair import FmfairError

# --- columns of the wrong type, in every role

WRONG: dict[str, pl.Series] = {
    "text": pl.Series([*"abcdefgh"]),
    "dates": pl.Series([date(2024, 1, 1 + i) for i in range(8)]),
    "durations": pl.Series([timedelta(days=i) for i in range(8)]),
    "lists": pl.Series([[0.1]] * 8),
    "structs": pl.Series([{"x": 1}] * 8),
    "objects": pl.Series([object()] * 8, dtype=pl.Object),
    "bytes": pl.Series([b"x"] * 8),
    "nothing": pl.Series([None] * 8),
    "categories": pl.Series([*"abababab"], dtype=pl.Categorical),
    "levels": pl.Series([*"abababab"], dtype=pl.Enum(["a", "b", "c"])),
    "decimals": pl.Series([decimal.Decimal("0.25"), decimal.Decimal("0.75")] * 4),
    "whole decimals": pl.Series([decimal.Decimal(0), decimal.Decimal(1)] * 4),
}
NUMERIC = {"decimals", "whole decimals"}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("role", ["y_score", "y_logit", "weight"])
def test_a_column_that_is_no_number_is_refused_by_role_and_name(kind: str, role: str) -> None:
    frame = pl.DataFrame(TABLE).with_columns(WRONG[kind].alias("it"))
    arguments = {**EVERYTHING, role: "it"}

    if kind in NUMERIC:
        assert_honest(fmfair.evaluate(frame, **arguments))
    else:
        message = refusal(frame, **arguments)
        assert role in message or "y_score" in message
        assert "'it'" in message


@pytest.mark.parametrize("kind", WRONG)
def test_a_column_that_is_no_label_is_refused_by_name(kind: str) -> None:
    frame = pl.DataFrame(TABLE).with_columns(WRONG[kind].alias("it"))

    if kind == "whole decimals":
        assert by_group(fmfair.evaluate(frame, y_true="it", attributes="sex", by=[]), "auc", "n_pos") == {
            "F": 2,
            "M": 2,
        }
    else:
        assert "'it'" in refusal(frame, y_true="it", attributes="sex", by=[])
    if kind in ("categories", "levels", "text"):
        report = fmfair.evaluate(frame, y_true="it", attributes="sex", by=[], positive="b")
        assert overall(report, "auc", "n_pos") == (1 if kind == "text" else 4)


@pytest.mark.parametrize("kind", WRONG)
def test_a_column_of_any_type_as_decisions(kind: str) -> None:
    frame = pl.DataFrame(TABLE).with_columns(WRONG[kind].alias("it"))

    if kind == "whole decimals":
        assert (
            overall(fmfair.evaluate(frame, **EVERYTHING, y_pred="it"), "tpr", model="A", threshold_rule="y_pred") == 1.0
        )
    else:
        assert "y_pred" in refusal(frame, **EVERYTHING, y_pred="it")


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("missing_groups", ["drop", "keep"])
def test_a_column_of_any_type_as_attribute(kind: str, missing_groups: str) -> None:
    frame = pl.DataFrame(TABLE).with_columns(WRONG[kind].alias("it"))
    arguments = {**EVERYTHING, "attributes": "it", "by": [], "missing_groups": missing_groups}

    if kind in ("lists", "structs", "objects", "bytes"):
        assert "attribute 'it' has the type" in refusal(frame, **arguments)
        return
    report = fmfair.evaluate(frame, **arguments)
    groups = list(by_group(report, "auc")) if report.groups.height else []
    assert len(groups) == {"nothing": int(missing_groups == "keep"), "levels": 3}.get(
        kind, 2 if kind in ("categories", "decimals", "whole decimals") else 8
    )
    assert_honest(report)


@pytest.mark.parametrize("kind", WRONG)
def test_a_column_of_any_type_as_by_key(kind: str) -> None:
    frame = pl.DataFrame(TABLE).with_columns(WRONG[kind].alias("it"))

    if kind in ("lists", "structs", "objects", "bytes"):
        assert "by-key 'it' has the type" in refusal(frame, **{**EVERYTHING, "by": "it"})
        return
    report = fmfair.evaluate(frame, **{**EVERYTHING, "by": "it"})
    assert report.summary["it"].dtype == WRONG[kind].dtype
    assert report.overall["it"].n_unique() == WRONG[kind].n_unique()
    assert_honest(report)


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("role", ["sample_id", "cluster"])
def test_a_column_of_any_type_as_identifier(kind: str, role: str) -> None:
    frame = pl.DataFrame(TABLE).with_columns(WRONG[kind].alias("it"))
    repeats = kind in ("categories", "levels", "decimals", "whole decimals", "bytes")

    if role == "sample_id" and (repeats or kind in ("lists", "structs", "objects")):
        assert "sample_id: column 'it'" in refusal(frame, **EVERYTHING, sample_id="it")
    elif role == "cluster" and kind in ("lists", "structs", "objects", "nothing"):
        assert "cluster: column 'it'" in refusal(frame, **EVERYTHING, cluster="it")
    else:
        assert_honest(fmfair.evaluate(frame, **{**EVERYTHING, role: "it"}))


@pytest.mark.parametrize("kind", WRONG)
def test_a_column_of_any_type_as_dice(kind: str) -> None:
    frame = pl.DataFrame(TABLE).with_columns(WRONG[kind].alias("it"))

    if kind in NUMERIC:
        report = fmfair.evaluate_segmentation(frame, dice="it", attributes="sex", by=[])
        assert summary(report, "mean_dice") == pytest.approx(0.5)
    else:
        with pytest.raises(FmfairError, match="'it'"):
            fmfair.evaluate_segmentation(frame, dice="it", attributes="sex")


@pytest.mark.parametrize("value", [-0.1, 1.1, 5.0, math.inf])
def test_a_dice_outside_the_unit_interval_is_refused(value: float) -> None:
    with pytest.raises(FmfairError, match=r"dice: column 'dice' has 1 value outside \[0, 1\] \(row 1\)"):
        fmfair.evaluate_segmentation({"dice": [0.5, value], "sex": ["F", "M"]})


@pytest.mark.parametrize("kind", WRONG)
def test_bins_of_a_column_that_is_no_number(kind: str) -> None:
    frame = pl.DataFrame(TABLE).with_columns(WRONG[kind].alias("it"))
    arguments: dict[str, Any] = {**EVERYTHING, "attributes": "it", "by": [], "bins": {"it": [0.5]}}

    if kind in (*NUMERIC, "nothing"):
        report = fmfair.evaluate(frame, **arguments)
        assert by_group(report, "auc", "n") == (
            {"<0.5": 0, ">=0.5": 0} if kind == "nothing" else {"<0.5": 4, ">=0.5": 4}
        )
    else:
        assert "attribute 'it'" in refusal(frame, **arguments)


def test_labels_in_text_say_what_to_do() -> None:
    message = refusal({**TABLE, "label": ["benign", "malignant"] * 4})

    assert "column 'label' has the values 'benign', 'malignant' as text" in message
    assert "positive='malignant'" in message


def test_several_problems_are_reported_together() -> None:
    table = {**TABLE, "label": ["x", "y"] * 4, "prob": [*"abcdefgh"], "y_logit": [*"abcdefgh"]}

    message = refusal(table)

    assert message.startswith("3 problems:")
    for part in ("column 'label'", "column 'prob'", "column 'y_logit'"):
        assert part in message
