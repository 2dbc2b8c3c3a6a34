"""Which reading of the masks holds for the whole run, said in notes, and what about it looks wrong."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fmfair.errors import FmfairError, plural
from fmfair.mask_values import MANY, MaskOptions, MaskValues
from fmfair.notes import Notes

# So many of the values that do occur are shown where a label does not.
SHOWN = 10


def decide(options: MaskOptions, pred: MaskValues, true: MaskValues, notes: Notes) -> str:
    """The name of the reading, one of `options.readings()`.

    Raises:
        FmfairError: The threshold does not fit the predicted values, or these could be anything.
    """
    if options.label is not None:
        return _of_label(options, pred, notes)
    if options.per_mask:
        return _of_each_mask(options, pred, true, notes)
    kind = _guess(options, pred) if options.mask_type == "auto" else options.mask_type
    why = f"found on all predicted masks, values {pred.span}" if options.mask_type == "auto" else "as given"
    reading, rule = {"label": _of_labels, "probability": _of_probabilities, "logit": _of_logits}[kind](
        options, pred, true
    )
    true_rule = rule if reading == "grey" else "foreground > 0"
    notes.say(f"predicted masks: mask type {kind} ({why}), {rule}; true masks: {true_rule}")
    if kind == "label" and len(pred.different) > MANY:
        level = 128 if pred.high <= 255 else 32768
        notes.warn(
            f"the predicted masks hold more than {MANY} different values, {pred.span}, and count as foreground above "
            '0; if they are probabilities stored as grey levels, pass mask_type="probability", or the grey level '
            f"from which a pixel counts, e.g. mask_threshold={level}"
        )
    return reading


def look_at(frame: pl.DataFrame, options: MaskOptions, pred: MaskValues, notes: Notes) -> None:
    """Warns where hardly anything is foreground, which is rarely meant.

    Args:
        frame: The counts of every sample, as `fmfair.masks.overlap` returns them.
        options: How the masks were read.
        pred: What the predicted masks hold.
        notes: Is warned.
    """
    found = [int((frame[side] > 0).sum()) for side in ("pred_pixels", "true_pixels")]
    if all(found):
        return
    if options.label is not None:
        count = plural(frame.height, "mask")
        sides = [f"in {n:,} of {count} in {name}" for n, name in zip(found, options.names, strict=True)]
        notes.warn(f"label={options.label:g} occurs {sides[0]} and {sides[1]}")
    elif not any(found):
        notes.warn("no pixel of any mask is foreground")
    elif not found[0] and not (pred.low == pred.high == 0):
        notes.warn(f"no pixel of any predicted mask is foreground (values {pred.span})")


def label_not_found(options: MaskOptions, known: Sequence[float]) -> FmfairError:
    """The error where the label to measure is in no mask, with the values that are."""
    shown = ", ".join(f"{v:.15g}" for v in known[:SHOWN]) + (", ..." if len(known) > SHOWN else "")
    return FmfairError(
        f"label={options.label:g} occurs in no mask, neither in {options.names[0]} nor in {options.names[1]}; the "
        f"values that occur are {shown}"
    )


def _of_label(options: MaskOptions, pred: MaskValues, notes: Notes) -> str:
    rule = f"foreground is where the value equals label {options.label:g}, on both sides"
    notes.say(f"masks: {rule} (predicted values {pred.span})")
    if not pred.whole:
        notes.warn(f"label={options.label:g}: the predicted masks hold values that are not whole numbers")
    if options.threshold is not None:
        notes.warn(f"mask_threshold={options.threshold:g} is not used, since label= is compared for equality")
    return "class"


def _of_each_mask(options: MaskOptions, pred: MaskValues, true: MaskValues, notes: Notes) -> str:
    notes.say(
        "masks: as FairMedFM, each predicted mask with decimal values within [0, 1] is foreground >= "
        f"{options.cut:g}, any other > 0; true masks are foreground > 0"
    )
    lossy = pred.lossy + true.lossy
    if lossy:
        notes.warn(
            f"{notes.counted(lossy, 'JPEG mask')} read as FairMedFM does: compression noise above 0 is foreground"
        )
    return "per mask"


def _of_labels(options: MaskOptions, pred: MaskValues, true: MaskValues) -> tuple[str, str]:
    if options.threshold is None:
        return "label", "foreground > 0"
    if options.threshold < 1:
        if pred.binary and options.threshold > 0:
            return "label", "foreground > 0"
        raise FmfairError(
            f"mask_threshold={options.threshold:g} does not fit the predicted masks, which hold labels or grey levels "
            f"{pred.span}. From 1 on it is the grey level from which a pixel counts, e.g. mask_threshold=128; between "
            '0 and 1 it is a probability, which needs decimal values or mask_type="probability" (8-bit and 16-bit '
            "grey levels are then divided by 255 or 65535). Left out, every value above 0 is foreground"
        )
    # One rule for both sides, unless the true masks are on another scale, such as 0 and 1.
    both = options.grey and (true.lossy or true.high >= options.threshold)
    return "grey" if both else "label", f"foreground >= {options.threshold:g}"


def _of_probabilities(options: MaskOptions, pred: MaskValues, true: MaskValues) -> tuple[str, str]:
    _refuse_grey(options, pred, true, "probabilities")
    if options.mask_type != "probability" or not pred.scaled:
        return "probability", f"foreground >= {options.cut:g}"
    divided = " and ".join(f"{name} by {full}" for name, full in sorted(pred.full.items()))
    return "scaled", f"grey levels divided by their full range ({divided}), foreground >= {options.cut:g}"


def _of_logits(options: MaskOptions, pred: MaskValues, true: MaskValues) -> tuple[str, str]:
    _refuse_grey(options, pred, true, "logits")
    scale = "" if options.threshold is None else f" (mask_threshold={options.threshold:g} on the scale of logits)"
    return "logit", f"foreground > {options.logit_cut:g}{scale}"


def _refuse_grey(options: MaskOptions, pred: MaskValues, true: MaskValues, found: str) -> None:
    if options.grey:
        jpeg = ", and save the true masks as PNG instead of JPEG" if true.lossy else ""
        raise FmfairError(
            f"mask_threshold={options.threshold:g} is a grey level, but the predicted masks hold {found} (decimal "
            f"values {pred.span}); give a probability in [0, 1]{jpeg}"
        )


def _guess(options: MaskOptions, pred: MaskValues) -> str:
    if not pred.any_float:
        return "label"
    if pred.float_low < 0:
        return "logit"
    if pred.low >= 0 and pred.high <= 1:
        return "probability"
    if pred.whole or options.grey:
        return "label"
    raise FmfairError(
        f"the predicted masks hold decimal values, {pred.span} over all masks, which are neither probabilities nor "
        'plainly logits; pass mask_type="label" (foreground > 0), "logit", or "probability" with values in [0, 1]'
    )
