"""Overlap of any masks: as the published package has it, and as a plain loop over the pixels has it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from fairmedfm._inputs import dice_scores
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from property_tests import examples

from fmfair.errors import FmfairError
from fmfair.masks import apply_empty, overlap

# Multiples of 1/8 are exact in every float type, and 0.5 is among them.
MASKS = st.one_of(
    hnp.arrays(bool, (2, 3)),
    hnp.arrays(st.sampled_from([np.uint8, np.int16, np.uint64]), (2, 3), elements=st.integers(0, 3)),
    hnp.arrays(
        st.sampled_from([np.float16, np.float32, np.float64]), (2, 3), elements=st.integers(0, 8).map(lambda k: k / 8)
    ),
    hnp.arrays(np.float32, (2, 3), elements=st.integers(-4, 10).map(lambda k: k / 8)),
)
PAIRS = st.lists(st.tuples(MASKS, MASKS), min_size=1, max_size=6)
LABELS = st.sampled_from([None, None, 0, 1, 2, 0.5])
# Logits below 1 are no probabilities, and neither are integers.
BELOW_ONE = np.array([[-0.5, 0.25, 1.0], [0.125, 0.5, 0.75]])


@given(pairs=PAIRS, label=LABELS, threshold=st.sampled_from([None, 0.25, 0.5, 0.8]), axes=st.integers(0, 3))
@example(pairs=[(BELOW_ONE, BELOW_ONE > -1), (np.abs(BELOW_ONE), BELOW_ONE)], label=None, threshold=None, axes=0)
@example(pairs=[(BELOW_ONE > 0, BELOW_ONE > -1)], label=None, threshold=0.8, axes=1)
@examples(200)
def test_fairmedfm_convention_equals_the_package(pairs: Any, label: Any, threshold: Any, axes: int) -> None:
    predicted = [pred.reshape((1,) * axes + (2, 1, 3)) for pred, _ in pairs]
    true = [true for _, true in pairs]

    expected = dice_scores(predicted, true, label=label, mask_threshold=threshold or 0.5, empty_score=1.0)
    values = overlap(predicted, true, label=label, threshold=threshold, conventions="fairmedfm").frame["dice"]

    assert apply_empty(values, values.is_null(), "one").to_list() == expected.tolist()


def kind_of(pairs: Any) -> str:
    """What the predicted values are, from loops over Python values."""
    values = [float(v) for pred, _ in pairs for v in pred.ravel()]
    decimals = [float(v) for pred, _ in pairs for v in pred.ravel() if pred.dtype.kind == "f"]
    if decimals and min(decimals) < 0:
        return "logit"
    if decimals and max(values) <= 1:
        return "probability"
    if decimals and any(v != int(v) for v in decimals):
        return "pass mask_type"
    return "label" if min(values) >= 0 and max(values) <= 1 else "grey"


def oracle(pairs: Any, label: Any, threshold: float | None) -> list[tuple[Any, ...]] | str:
    """The same numbers from loops over Python values, or what the error says."""
    kind, level = kind_of(pairs), threshold or 0
    on_grey = level > 1 and max(float(true.max()) for _, true in pairs) >= level
    if label is None:
        if kind == "pass mask_type" and level <= 1:
            return kind
        if kind in ("probability", "logit") and level > 1:
            return "is a grey level, but the predicted masks hold"
        if kind == "grey" and 0 < level < 1:
            return "does not fit the predicted masks"
    rows = []
    for pred, true in pairs:
        p, t = [float(v) for v in pred.ravel()], [float(v) for v in true.ravel()]
        if label is not None:
            marks = [v == label for v in p], [v == label for v in t]
        else:
            cut, at_cut = (level, True) if level > 1 else (0.0, False)
            if kind == "logit" and threshold is not None:
                cut = math.log(threshold / (1 - threshold))
            if kind == "probability":
                cut, at_cut = threshold or 0.5, True
            marks = [v >= cut if at_cut else v > cut for v in p], [v >= level if on_grey else v > 0 for v in t]
        sums = sum(marks[0]), sum(marks[1])
        both = sum(a and b for a, b in zip(*marks, strict=True))
        union = sum(sums) - both
        score = float(Fraction(2 * both, sum(sums))) if union else None
        rows.append((score, float(Fraction(both, union)) if union else None, *sums, both))
    if label is not None and not any(row[2] or row[3] for row in rows):
        return f"label={label:g} occurs in no mask"
    return rows


@given(pairs=PAIRS, label=LABELS, threshold=st.sampled_from([None, 0.25, 0.5, 0.8, 2, 2.5]))
@example(pairs=[(BELOW_ONE, BELOW_ONE > -1), (np.abs(BELOW_ONE), BELOW_ONE)], label=None, threshold=0.8)
@example(pairs=[(BELOW_ONE + 2, BELOW_ONE > -1), (BELOW_ONE + 1, BELOW_ONE * 4)], label=None, threshold=2)
@examples(300)
def test_standard_convention_equals_a_plain_loop(pairs: Any, label: Any, threshold: Any) -> None:
    predicted, true = [pred for pred, _ in pairs], [true for _, true in pairs]
    expected = oracle(pairs, label, threshold)

    if isinstance(expected, str):
        with pytest.raises(FmfairError, match=expected):
            overlap(predicted, true, label=label, threshold=threshold)
    else:
        assert overlap(predicted, true, label=label, threshold=threshold).frame.rows() == expected
