"""Five fairness numbers of a segmenter, one float per call, in the manner of scikit-learn's metrics.

Each is a value of `fmfair.evaluate_segmentation`, from Dice values or from masks. Several sensitive features are
compared by their combinations. Where the number is undefined it is NaN and a UserWarning says why.
"""

from __future__ import annotations

from typing import Any

from fmfair.options import Bins
from fmfair.scalar_values import segmentation_value
from fmfair.segmentation import Masks


def dice_gap(  # noqa: PLR0913 - Dice or masks, and how masks are read
    dice: Any = None,
    *,
    sensitive_features: Any,
    pred_masks: Any = None,
    true_masks: Any = None,
    label: float | None = None,
    mask_threshold: float | None = None,
    mask_type: str = "auto",
    empty: str = "one",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """Largest minus smallest group mean Dice.

    FairMedFM's `delta_dice`.

    Args:
        dice: Dice of each sample in [0, 1], shape (n,); NaN is left out. Or give masks:
        pred_masks: Predicted masks: arrays, tensors or file paths, one per sample.
        true_masks: Reference masks in the same forms.
        sensitive_features: Group of each sample; the combinations of several are compared.
        label: The class to evaluate in masks with several.
        mask_threshold: Cut of probabilities or logits, in [0, 1]; of whole numbers the grey level from which a pixel
            counts, e.g. 128, which JPEG masks need.
        mask_type: `"auto"`, `"label"`, `"probability"` (also as 8-bit or 16-bit grey levels) or `"logit"`, for all
            masks alike.
        empty: What a sample counts whose masks are both empty: `"one"`, `"zero"` or `"drop"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        A gap in [0, 1], 0 is fair. NaN when fewer than two groups have a usable sample.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> round(fmfair.dice_gap([0.9, 0.7, 0.6, 0.5], sensitive_features=["x", "x", "z", "z"]), 12)
        0.25
    """
    masks = Masks(label, mask_threshold, mask_type, empty, pred_masks, true_masks)
    return segmentation_value(
        "difference",
        {"values": dice, "sample_weight": sample_weight},
        masks,
        sensitive_features,
        bins=bins,
        conventions=conventions,
    )


def worst_group_dice(  # noqa: PLR0913 - Dice or masks, and how masks are read
    dice: Any = None,
    *,
    sensitive_features: Any,
    pred_masks: Any = None,
    true_masks: Any = None,
    label: float | None = None,
    mask_threshold: float | None = None,
    mask_type: str = "auto",
    empty: str = "one",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """Lowest group mean Dice.

    FairMedFM's `min_dice`.

    Args:
        dice: Dice of each sample in [0, 1], shape (n,); NaN is left out. Or give masks:
        pred_masks: Predicted masks: arrays, tensors or file paths, one per sample.
        true_masks: Reference masks in the same forms.
        sensitive_features: Group of each sample; the combinations of several are compared.
        label: The class to evaluate in masks with several.
        mask_threshold: Cut of probabilities or logits, in [0, 1]; of whole numbers the grey level from which a pixel
            counts, e.g. 128, which JPEG masks need.
        mask_type: `"auto"`, `"label"`, `"probability"` (also as 8-bit or 16-bit grey levels) or `"logit"`, for all
            masks alike.
        empty: What a sample counts whose masks are both empty: `"one"`, `"zero"` or `"drop"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        A Dice in [0, 1], higher is better. NaN when no group has a usable sample.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> fmfair.worst_group_dice([0.9, 0.7, 0.6, 0.5], sensitive_features=["x", "x", "z", "z"])
        0.55
    """
    masks = Masks(label, mask_threshold, mask_type, empty, pred_masks, true_masks)
    return segmentation_value(
        "worst",
        {"values": dice, "sample_weight": sample_weight},
        masks,
        sensitive_features,
        bins=bins,
        conventions=conventions,
    )


def dice_std(  # noqa: PLR0913 - Dice or masks, and how masks are read
    dice: Any = None,
    *,
    sensitive_features: Any,
    pred_masks: Any = None,
    true_masks: Any = None,
    label: float | None = None,
    mask_threshold: float | None = None,
    mask_type: str = "auto",
    empty: str = "one",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """Population standard deviation (ddof 0) of the group mean Dice.

    FairMedFM's `std_dice`; groups count alike, whatever their size.

    Args:
        dice: Dice of each sample in [0, 1], shape (n,); NaN is left out. Or give masks:
        pred_masks: Predicted masks: arrays, tensors or file paths, one per sample.
        true_masks: Reference masks in the same forms.
        sensitive_features: Group of each sample; the combinations of several are compared.
        label: The class to evaluate in masks with several.
        mask_threshold: Cut of probabilities or logits, in [0, 1]; of whole numbers the grey level from which a pixel
            counts, e.g. 128, which JPEG masks need.
        mask_type: `"auto"`, `"label"`, `"probability"` (also as 8-bit or 16-bit grey levels) or `"logit"`, for all
            masks alike.
        empty: What a sample counts whose masks are both empty: `"one"`, `"zero"` or `"drop"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        A deviation in [0, 0.5], 0 is fair. NaN when fewer than two groups have a usable sample.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> round(fmfair.dice_std([0.9, 0.7, 0.6, 0.5], sensitive_features=["x", "x", "z", "z"]), 12)
        0.125
    """
    masks = Masks(label, mask_threshold, mask_type, empty, pred_masks, true_masks)
    return segmentation_value(
        "std",
        {"values": dice, "sample_weight": sample_weight},
        masks,
        sensitive_features,
        bins=bins,
        conventions=conventions,
    )


def dice_skewness(  # noqa: PLR0913 - Dice or masks, and how masks are read
    dice: Any = None,
    *,
    sensitive_features: Any,
    pred_masks: Any = None,
    true_masks: Any = None,
    label: float | None = None,
    mask_threshold: float | None = None,
    mask_type: str = "auto",
    empty: str = "one",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """(1 - lowest group mean Dice) / (1 - highest group mean Dice).

    FairMedFM's `skewness_dice`: how many times larger the error of the worst group is.

    Args:
        dice: Dice of each sample in [0, 1], shape (n,); NaN is left out. Or give masks:
        pred_masks: Predicted masks: arrays, tensors or file paths, one per sample.
        true_masks: Reference masks in the same forms.
        sensitive_features: Group of each sample; the combinations of several are compared.
        label: The class to evaluate in masks with several.
        mask_threshold: Cut of probabilities or logits, in [0, 1]; of whole numbers the grey level from which a pixel
            counts, e.g. 128, which JPEG masks need.
        mask_type: `"auto"`, `"label"`, `"probability"` (also as 8-bit or 16-bit grey levels) or `"logit"`, for all
            masks alike.
        empty: What a sample counts whose masks are both empty: `"one"`, `"zero"` or `"drop"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        A ratio of 1 or more, 1 is fair. NaN when the best group is perfect or fewer than two groups are usable.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> round(fmfair.dice_skewness([0.9, 0.7, 0.6, 0.5], sensitive_features=["x", "x", "z", "z"]), 12)
        2.25
    """
    masks = Masks(label, mask_threshold, mask_type, empty, pred_masks, true_masks)
    return segmentation_value(
        "skewness",
        {"values": dice, "sample_weight": sample_weight},
        masks,
        sensitive_features,
        bins=bins,
        conventions=conventions,
    )


def equity_scaled_dice(  # noqa: PLR0913 - Dice or masks, and how masks are read
    dice: Any = None,
    *,
    sensitive_features: Any,
    pred_masks: Any = None,
    true_masks: Any = None,
    label: float | None = None,
    mask_threshold: float | None = None,
    mask_type: str = "auto",
    empty: str = "one",
    bins: Bins | None = None,
    sample_weight: Any = None,
    conventions: str = "standard",
) -> float:
    """Mean Dice over samples / (1 + population standard deviation of the group means).

    FairMedFM's `es_dice`, the form of the first FairSeg preprint. The published FairSeg sums absolute differences
    instead; that is the statistic `equity_scaled` of the report's gaps.

    Args:
        dice: Dice of each sample in [0, 1], shape (n,); NaN is left out. Or give masks:
        pred_masks: Predicted masks: arrays, tensors or file paths, one per sample.
        true_masks: Reference masks in the same forms.
        sensitive_features: Group of each sample; the combinations of several are compared.
        label: The class to evaluate in masks with several.
        mask_threshold: Cut of probabilities or logits, in [0, 1]; of whole numbers the grey level from which a pixel
            counts, e.g. 128, which JPEG masks need.
        mask_type: `"auto"`, `"label"`, `"probability"` (also as 8-bit or 16-bit grey levels) or `"logit"`, for all
            masks alike.
        empty: What a sample counts whose masks are both empty: `"one"`, `"zero"` or `"drop"`.
        bins: Cut points or a number of quantiles per numeric attribute.
        sample_weight: Weights; 0 leaves a sample out.
        conventions: `"standard"` or `"fairmedfm"`.

    Returns:
        A value in [0, 1], higher is better. NaN when fewer than two groups have a usable sample.

    Raises:
        FmfairError: The input cannot be used; the message says where and what to do.

    Examples:
        >>> round(fmfair.equity_scaled_dice([0.9, 0.7, 0.6, 0.5], sensitive_features=["x", "x", "z", "z"]), 12)
        0.6
    """
    masks = Masks(label, mask_threshold, mask_type, empty, pred_masks, true_masks)
    return segmentation_value(
        "equity_scaled_std",
        {"values": dice, "sample_weight": sample_weight},
        masks,
        sensitive_features,
        bins=bins,
        conventions=conventions,
    )
