"""Random arrays that both the published package and fmfair take as valid input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

# How scores look: full of ties, on bin edges and thresholds, decisions instead of scores, one number for everybody.
TENTHS = [k / 10 for k in range(11)]
HUNDREDTHS = [k / 100 for k in range(101)]
HARD = [0, 1]
SKEWED = [0.001, 0.002, 0.01, 0.02, 0.9]
# Ordinary logits, and those at which the sigmoid rounds to 0 or 1 or exp() overflows.
LOGITS = [-1000.0, -746.0, -50.0, -36.8, -8.5, -2.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 8.5, 36.8, 50.0, 1000.0]
AGES = [0.5, 17.0, 39.9, 40.0, 40.1, 59.5, 60.0, 61.0, 99.0]


@dataclass(frozen=True)
class Arrays:
    """The arguments of one evaluation."""

    y_true: list[int]
    y_score: Any
    attributes: dict[str, Any]
    bins: dict[str, Any] = field(default_factory=dict)


def column(draw: st.DrawFn, values: Sequence[Any], n: int) -> list[Any]:
    """`n` draws from a few values."""
    return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))


def labels(draw: st.DrawFn, n: int) -> list[int]:
    """Labels; the first four are those of two groups with both classes."""
    return [0, 1, 0, 1, *column(draw, [0, 1], n - 4)]


def probabilities(draw: st.DrawFn, n: int) -> Any:
    """Probabilities of one of several kinds."""
    kind = draw(st.sampled_from(["tenths", "hundredths", "free", "hard", "constant", "float32", "skewed"]))
    if kind == "free":
        return [draw(st.integers(0, 10**6)) / 10**6 for _ in range(n)]
    if kind == "constant":
        return [draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))] * n
    if kind == "float32":
        return np.array(column(draw, HUNDREDTHS, n), dtype=np.float32)
    values: dict[str, Sequence[float]] = {"tenths": TENTHS, "hundredths": HUNDREDTHS, "hard": HARD, "skewed": SKEWED}
    return column(draw, values[kind], n)


def groups(draw: st.DrawFn, n: int, n_groups: int) -> Any:
    """An attribute of up to `n_groups` groups: text, numbers or booleans, some with missing values."""
    codes = column(draw, range(n_groups), n)
    if n_groups > 1 and draw(st.sampled_from([True, True, True, False])):
        codes[:4] = 0, 0, 1, 1
    kind = draw(st.sampled_from(["text", "digits", "integers", "floats", "booleans", "with None", "with NaN"]))
    gap = draw(st.integers(5, 8))  # every gap-th value is missing where some are
    if kind == "integers":
        return np.array(codes) * 7 - 3
    if kind == "floats":
        return np.array(codes) / 2
    if kind == "booleans":
        return [code % 2 == 0 for code in codes]
    if kind == "with NaN":
        return np.array([np.nan if i % gap == gap - 1 else code for i, code in enumerate(codes)], dtype=float)
    texts = [str(11 - code) if kind == "digits" else f"g{code}" for code in codes]
    return [None if kind == "with None" and i % gap == gap - 1 else text for i, text in enumerate(texts)]


def ages(draw: st.DrawFn, n: int) -> tuple[Any, Any]:
    """A number to be binned, and its bins: cut points that occur among the values, or quantiles of many ties."""
    extremes = draw(st.sampled_from([[], [np.nan], [np.inf, -np.inf]]))
    values = np.array([17.0, 17.0, 61.0, 61.0, *column(draw, [*AGES, *extremes], n - 4)])
    cuts = st.lists(st.sampled_from([17.0, 40.0, 50.0, 60.0, 61.0, 120.0]), min_size=1, max_size=4, unique=True)
    # Infinite values have no quantiles.
    bins = draw(cuts if np.inf in extremes else st.one_of(cuts, st.integers(2, 6)))
    return values, bins


@st.composite
def arrays(draw: st.DrawFn, *, max_rows: int = 40, max_groups: int = 4, max_attributes: int = 2) -> Arrays:
    """Labels, scores and attributes of every kind."""
    n = draw(st.integers(4, max_rows))
    y_true, y_score = labels(draw, n), probabilities(draw, n)
    attributes: dict[str, Any] = {}
    bins: dict[str, Any] = {}
    for name in ("first", "second", "third")[: draw(st.integers(1, max_attributes))]:
        if draw(st.booleans()):
            attributes[name] = groups(draw, n, draw(st.integers(1, max_groups)))
        else:
            attributes[name], bins[name] = ages(draw, n)
    return Arrays(y_true, y_score, attributes, bins)


CLASS_NAMES: list[Sequence[Any]] = [["akiec", "bcc", "mel", "nv", "vasc"], [0, 1, 2, 3, 4], [2, 3, 5, 7, 11]]
CLASS_LOGITS = [-1000.0, -7.25, -1.0, 0.0, 0.5, 1.0, 3.5, 800.0]


@dataclass(frozen=True)
class Classes:
    """Labels of several classes, a score column per class, and which class is the positive one."""

    y_true: Any
    y_score: Any
    positive: Any
    score_type: str
    group: list[str]


@st.composite
def classes(draw: st.DrawFn) -> Classes:
    """Two to five classes named by text or numbers, with a column each in sorted order."""
    n_classes = draw(st.integers(2, 5))
    names = draw(st.sampled_from(CLASS_NAMES))[:n_classes]
    n = draw(st.integers(2 * n_classes, 24))
    y_true = np.array([*names, *names, *column(draw, names, n - 2 * n_classes)])
    if draw(st.booleans()):
        y_score = np.array([column(draw, CLASS_LOGITS, n_classes) for _ in range(n)])
        score_type = draw(st.sampled_from(["auto", "logit"])) if y_score.min() < 0 or y_score.max() > 1 else "logit"
    else:
        y_score = np.array([column(draw, range(1, 8), n_classes) for _ in range(n)], dtype=float)
        y_score /= y_score.sum(axis=1, keepdims=True) if draw(st.booleans()) else 8  # or each column by itself
        score_type = draw(st.sampled_from(["auto", "probability", "logit"]))
    group = ["x"] * n_classes + ["y"] * n_classes + column(draw, ["x", "y", "z"], n - 2 * n_classes)
    return Classes(y_true, y_score, draw(st.sampled_from(names)), score_type, group)


@dataclass(frozen=True)
class Values:
    """Dice values, attributes and bins."""

    dice: list[float]
    attributes: dict[str, Any]
    bins: dict[str, Any]


@st.composite
def dice_values(draw: st.DrawFn) -> Values:
    """Dice values, some missing, in groups that may be perfect or empty."""
    n = draw(st.integers(4, 30))
    pools = [[0.0, 0.25, 0.5, 1.0], HUNDREDTHS, [0.9, 1.0, float("nan")], [0.7, float("nan")]]
    dice = [0.5, *column(draw, draw(st.sampled_from(pools)), n - 1)]
    attributes: dict[str, Any] = {"first": groups(draw, n, draw(st.integers(1, 12)))}
    bins: dict[str, Any] = {}
    if draw(st.booleans()):
        attributes["age"], bins["age"] = ages(draw, n)
    return Values(dice, attributes, bins)


# What a predicted mask may hold: what its numbers mean is read from each mask by itself.
MASK_VALUES: dict[str, tuple[Sequence[Any], Any]] = {
    "booleans": ([False, True], bool),
    "labels": ([0, 1, 2, 255], np.uint8),
    "signed labels": ([-1, 0, 1, 2], np.int16),
    "probabilities": ([0.0, 0.3, 0.5, 0.7, 1.0], np.float64),
    "single precision": ([0.0, 0.3, 0.5, 0.7, 1.0], np.float32),
    "logits": ([-3.0, -0.2, 0.0, 0.4, 2.5], np.float32),
    "logits below 1": ([-3.0, -0.2, 0.4, 0.9], np.float64),
    "nothing": ([0], np.uint8),
}


@dataclass(frozen=True)
class MaskPairs:
    """Masks of several kinds, their groups and how they are read."""

    pred: list[Any]
    true: list[Any]
    group: list[str]
    label: int | None
    threshold: float


@st.composite
def mask_pairs(draw: st.DrawFn) -> MaskPairs:
    """Pairs of masks of one shape, of which some are empty."""
    n = draw(st.integers(3, 8))
    shape = draw(st.sampled_from([(2, 3), (1, 4), (2, 2, 2)]))

    def mask(kinds: Sequence[str]) -> Any:
        values, dtype = MASK_VALUES[draw(st.sampled_from(kinds))]
        return np.array(column(draw, values, int(np.prod(shape)))).reshape(shape).astype(dtype)

    pred = [mask(list(MASK_VALUES)) for _ in range(n)]
    true = [mask(["booleans", "labels", "probabilities", "nothing"]) for _ in range(n)]
    group = ["a", "b", *column(draw, ["a", "b", "c"], n - 2)]
    return MaskPairs(
        pred, true, group, draw(st.sampled_from([None, None, 1, 2])), draw(st.sampled_from([0.5, 0.3, 0.7]))
    )
