"""Names and dtypes of fmfair's tables, and the usual names by which the columns of a user's table are found."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

import polars as pl

# The usual names of each role, after lower-casing and turning spaces, dots and dashes into underscores.
ROLE_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "y_true": (
            *("label", "labels", "y_true", "ytrue", "target", "targets", "gt", "ground_truth", "groundtruth"),
            *("truth", "true_label", "y"),
        ),
        "y_score": (
            *("prob", "probs", "probability", "proba", "y_prob", "y_proba", "y_score", "score", "scores"),
            *("pred_prob", "prediction", "predictions", "pred", "output", "logit", "logits", "p"),
        ),
        "y_pred": ("y_pred",),
        "y_logit": ("y_logit",),
        "dice": ("dice", "dsc", "dice_score", "dice_coefficient"),
        "pred_mask": (
            *("pred_mask", "mask_pred", "prediction_mask", "predicted_mask", "pred_mask_path", "pred_path"),
            "segmentation",
        ),
        "true_mask": (
            *("true_mask", "gt_mask", "mask_gt", "label_mask", "ground_truth_mask", "gt_mask_path", "gt_path"),
            *("mask", "target_mask"),
        ),
        "attributes": (
            *("sex", "gender", "age", "age_group", "race", "ethnicity", "language", "site", "hospital", "scanner"),
            *("insurance", "skin_type", "fitzpatrick"),
        ),
        "by": ("usage", "model", "dataset", "label", "fold", "perturbation", "severity"),
        "sample_id": ("sample_id", "image_id"),
        "patient": (
            *("patient_id", "patient", "patientid", "subject_id", "subject", "subjectid", "person_id"),
            *("participant_id", "participant", "mrn"),
        ),
        "join": (
            *("id", "image_id", "image", "img_id", "filename", "file", "file_name", "path", "image_path", "case_id"),
            *("patient_id", "subject_id", "sample_id", "study_id", "name"),
        ),
    }
)

# Families of numbered score columns: prob_0, prob_1, ...
SCORE_FAMILY = re.compile(
    r"(prob|probs|probability|proba|score|scores|logit|logits|p|y_prob|y_score|pred|output)_?(\d+)"
)

LIST_OF_TEXT = pl.List(pl.String())

# Columns of the result frames that follow the by-keys.
GROUPS: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "attribute": pl.String(),
        "group": pl.String(),
        "attribute_parts": LIST_OF_TEXT,
        "group_parts": LIST_OF_TEXT,
        "metric": pl.String(),
        "threshold": pl.Float64(),
        "threshold_rule": pl.String(),
        "value": pl.Float64(),
        "n": pl.Int64(),
        "n_pos": pl.Int64(),
        "weight_sum": pl.Float64(),
        "denominator": pl.Int64(),
        "in_gaps": pl.Boolean(),
        "note": pl.String(),
    }
)

GAPS: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "attribute": pl.String(),
        "attribute_parts": LIST_OF_TEXT,
        "metric": pl.String(),
        "threshold": pl.Float64(),
        "threshold_rule": pl.String(),
        "statistic": pl.String(),
        "value": pl.Float64(),
        "worst_group": pl.String(),
        "best_group": pl.String(),
        "n_groups": pl.Int64(),
        "note": pl.String(),
    }
)

OVERALL: Mapping[str, pl.DataType] = MappingProxyType(
    {
        name: dtype
        for name, dtype in GROUPS.items()
        if name not in ("attribute", "group", "attribute_parts", "group_parts", "in_gaps")
    }
)

# Beside `value` where intervals were asked for: between which limits the true value is likely to lie, by which method,
# why there are none or what makes them doubtful, and how imprecise a value is that few samples carry. Of the ECE also
# the value that a perfectly calibrated model would show on average, the value without that bias, and the p value of
# perfect calibration.
INTERVALS: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "ci_low": pl.Float64(),
        "ci_high": pl.Float64(),
        "ci_method": pl.String(),
        "ci_note": pl.String(),
        "mark": pl.String(),
        "expected": pl.Float64(),
        "debiased": pl.Float64(),
        "p_value": pl.Float64(),
    }
)

# Beside the value of a gap where intervals were asked for: its interval, a test that any group differs, the gap that
# equal groups of these sizes would show in every second sample and in one of twenty, and the smallest true gap that
# samples like these would show in four of five; and what the interval says of the margin that the user named.
CERTAINTY: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "ci_low": pl.Float64(),
        "ci_high": pl.Float64(),
        "ci_method": pl.String(),
        "ci_note": pl.String(),
        "p_value": pl.Float64(),
        "p_method": pl.String(),
        "chance_gap": pl.Float64(),
        "chance_gap_95": pl.Float64(),
        "detectable_gap": pl.Float64(),
        "verdict": pl.String(),
    }
)

# Beside the value of a group of an intersection, where they were asked for: the value drawn toward what the attributes
# alone lead to expect, with its interval.
MODEL_BASED: Mapping[str, pl.DataType] = MappingProxyType(
    {"model_based": pl.Float64(), "model_based_low": pl.Float64(), "model_based_high": pl.Float64()}
)

# Pairs of groups of single attributes, where intervals were asked for.
PAIRS: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "attribute": pl.String(),
        "metric": pl.String(),
        "threshold": pl.Float64(),
        "threshold_rule": pl.String(),
        "group": pl.String(),
        "other_group": pl.String(),
        "value": pl.Float64(),
        "other_value": pl.Float64(),
        "difference": pl.Float64(),
        "ci_low": pl.Float64(),
        "ci_high": pl.Float64(),
        "ci_method": pl.String(),
        "p_value": pl.Float64(),
        "p_method": pl.String(),
        "p_holm": pl.Float64(),
        "ratio": pl.Float64(),
        "ratio_low": pl.Float64(),
        "ratio_high": pl.Float64(),
        "verdict": pl.String(),
        "note": pl.String(),
    }
)

# The scores of all rows (an empty `attribute`) and of the groups of single attributes in bins from `low` up to `high`,
# which is in the next one but for 1.0.
CURVES: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "attribute": pl.String(),
        "group": pl.String(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "n": pl.Int64(),
        "n_pos": pl.Int64(),
        "sum_score": pl.Float64(),
    }
)

# Beside `value` in reports from counts: what the value from the rows themselves is guaranteed to lie between.
BOUNDS: Mapping[str, pl.DataType] = MappingProxyType({"bound_low": pl.Float64(), "bound_high": pl.Float64()})

# The table of counts, after the by-keys. The rows of a group are its score bins: `bin` up to, without, `bin_end`, in
# units of 1 / grid. All evaluated rows have an empty `attribute_parts`; in `group_parts` a NULL is the missing group.
COUNTS: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "attribute": pl.String(),
        "group": pl.String(),
        "attribute_parts": LIST_OF_TEXT,
        "group_parts": LIST_OF_TEXT,
        "bin": pl.Int32(),
        "bin_end": pl.Int32(),
        "n": pl.Int64(),
        "n_pos": pl.Int64(),
        # Whole numbers, so that they add exactly: sums of round(r * 2^scale), where r = score - bin / grid; over all
        # rows, over the positives, and of round(r * r * 2^scale_squares).
        "sum_r": pl.Int64(),
        "sum_r_pos": pl.Int64(),
        "sum_rr": pl.Int64(),
        "sum_bce": pl.Float64(),
        # In how many tables the group was left out since too few rows are in it, or may have been.
        "left_out": pl.Int32(),
        # The order of an attribute's groups: a JSON list of declared levels, "number", or NULL for text.
        "levels": pl.String(),
        # What two tables must have in common before they may be added, as JSON; the same in every row.
        "facts": pl.String(),
    }
)


def normalise(name: str) -> str:
    """The form in which column names are compared with the usual names.

    Examples:
        >>> normalise(" Skin-Type ")
        'skin_type'
    """
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def holds_counts(names: Collection[str]) -> bool:
    """Whether a table with these columns is one of counts, not of predictions."""
    return {"facts", "bin", "n", "n_pos", "sum_r", "sum_rr"}.issubset(names)
