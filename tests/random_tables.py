"""Random prediction tables: each as frame and arguments for fmfair, and as rows and a question for the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl
from hypothesis import strategies as st
from reference import Row, sigmoid
from reference_report import Attribute, Question

# How scores look: a grid full of ties and bin edges, free numbers, single precision, logits of all sizes, ranks.
GRID = [k / 20 for k in range(21)]
FLOAT32 = pl.Series([0.7, 0.1, 0.3, 0.25, 0.9, 0.6], dtype=pl.Float32).to_list()
LOGITS = [0.0, 0.5, -0.5, 1.25, -3.0, 8.0, -8.0, 20.0, 45.0, 60.0, -45.0, 300.0, -300.0]
RANKS = [-3.0, 0.0, 1.0, 1.5, 2.0, 4.0, 4.1, 1e6]
WEIGHTS: dict[str, Sequence[float]] = {"whole": [0, 1, 1, 2, 3], "decimal": [0.0, 0.1, 0.2, 0.3, 0.7, 1.5, 2.25]}
CUTS = [40.0, 60.0]
BIN_LABELS = ["<40", "40-60", ">=60"]
RULES = ["best_f1", "youden", "tpr=0.9", "tpr=1", "tpr=0.5", "tnr=0.9", "tnr=1", "tnr=0.75"]


@dataclass(frozen=True)
class Table:
    """`frame` and `arguments` go to fmfair, `rows` and `question` to the oracle."""

    frame: pl.DataFrame
    arguments: dict[str, Any]
    rows: list[Row]
    question: Question

    def __repr__(self) -> str:
        return f"{self.frame.to_dict(as_series=False)}\n{self.arguments}"


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    scale: str | None = "probability",
    max_rows: int = 40,
    max_attributes: int = 2,
    max_levels: int = 4,
    by: Sequence[int] = (),
    weights: str | None = None,
    decisions: bool = False,
    beside: bool = False,
) -> Table:
    """A table of one kind; `by` are the numbers of by-keys per column, `beside` puts logits beside the scores."""
    n = draw(st.integers(1, max_rows))

    def column(values: Sequence[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    y = column(draw(st.sampled_from([[0, 1], [0, 0, 0, 1], [0, 1, 1, None], [1]])))
    if all(v is None for v in y):
        y[0] = 1
    scores, dtype = draw(_scores(scale, n))
    data: dict[str, Any] = {"truth": pl.Series(y, dtype=pl.Int64)}
    arguments: dict[str, Any] = {"y_true": "truth", "metrics": "all"}
    if scores is not None:
        data["s"] = pl.Series(scores, dtype=dtype)
        arguments |= {"y_score": "s", "score_type": scale}
    logits = column([x for x in LOGITS if abs(x) < 100]) if beside else [None] * n
    if beside:
        data["z"] = pl.Series(logits, dtype=pl.Float64)
        arguments["y_logit"] = "z"
    decided = column([0, 1]) if decisions or scale is None else None
    if decided is not None:
        data["d"] = pl.Series(decided, dtype=pl.Int8)
        arguments["y_pred"] = "d"
    keys = [column([f"key{i}" for i in range(k)]) for k in by]
    for i, values in enumerate(keys):
        data[f"by{i}"] = values
    arguments["by"] = [f"by{i}" for i in range(len(by))]
    attributes, groups = [], []
    for i in range(draw(st.integers(1, max_attributes))):
        kind = draw(st.sampled_from(["text", "enum", "bins", "flag", "code"]))
        attribute, series, names = _attribute(f"a{i}", kind, column(range(draw(st.integers(1, max_levels)))), column)
        data[f"a{i}"] = series
        attributes.append(attribute)
        groups.append(names)
        if kind == "bins":
            arguments.setdefault("bins", {})[f"a{i}"] = CUTS
    amounts = column(WEIGHTS[weights]) if weights else [1] * n
    if weights:
        _keep_every_group(amounts, y, groups)
        data["w"] = pl.Series(amounts, dtype=pl.Int64 if weights == "whole" else pl.Float64)
        data["truth"] = pl.Series(y, dtype=pl.Int64)
        arguments["weight"] = "w"
    arguments["attributes"] = [a.name for a in attributes]
    arguments["intersections"] = draw(st.integers(1, len(attributes)))
    arguments["min_group_size"] = draw(st.sampled_from([0, 0, 0, 3]))
    arguments["thresholds"] = None if scores is None else draw(_thresholds(scores, keys))
    rows = [
        Row(
            y=y[i],
            rank=logits[i] if beside else None if scores is None else scores[i],
            prob=None if scores is None else sigmoid(scores[i]) if scale == "logit" else scores[i],
            logit=scores[i] if scores is not None and scale == "logit" else logits[i],
            pred=None if decided is None else decided[i],
            weight=Fraction(str(amounts[i])),
            by=tuple(values[i] for values in keys),
            groups={a.name: names[i] for a, names in zip(attributes, groups, strict=True)},
        )
        for i in range(n)
    ]
    question = Question(
        attributes,
        thresholds=arguments["thresholds"] or (),
        intersections=arguments["intersections"],
        scale=scale,
        decided=decided is not None,
        min_group_size=arguments["min_group_size"],
    )
    return Table(pl.DataFrame(data), arguments, rows, question)


@st.composite
def _scores(draw: st.DrawFn, scale: str | None, n: int) -> tuple[list[float] | None, type[pl.DataType]]:
    if scale is None:
        return None, pl.Float64
    if scale == "probability":
        kind = draw(st.sampled_from(["grid", "free", "single"]))
        free = st.floats(1e-9, 1 - 1e-9) | st.sampled_from([0.0, 1.0, 0.1, 0.7])
        values = {"grid": st.sampled_from(GRID), "single": st.sampled_from(FLOAT32), "free": free}[kind]
        drawn = draw(st.lists(values, min_size=n, max_size=n))
        return drawn, pl.Float32 if kind == "single" else pl.Float64
    values = st.sampled_from(LOGITS if scale == "logit" else RANKS)
    return draw(st.lists(values, min_size=n, max_size=n)), pl.Float64


@st.composite
def _thresholds(draw: st.DrawFn, scores: list[float], keys: list[list[Any]]) -> list[Any] | None:
    numbers = [0.5, 0.7, 0.25, 0.0, 1.0, *scores[:3]]
    wanted: list[Any] = draw(st.lists(st.sampled_from([*numbers, *RULES]), max_size=3))
    mapped: bool = draw(st.booleans())
    if keys and mapped:
        seen = sorted(set(zip(*keys, strict=True)))
        wanted.append({k if len(k) > 1 else k[0]: draw(st.sampled_from(numbers)) for k in seen})
    return wanted or None


def _attribute(name: str, kind: str, codes: list[int], column: Any) -> tuple[Attribute, pl.Series, list[str | None]]:
    """An attribute of one kind, its column, and the group of each row, None where missing."""
    gone = column([False, False, False, False, True])
    if kind == "bins":
        numbers = [None if g else [39.5, 40.0, 59.0, 60.0, 81.5][c % 5] for c, g in zip(codes, gone, strict=True)]
        names = [None if v is None else BIN_LABELS[sum(v >= cut for cut in CUTS)] for v in numbers]
        return Attribute(name, BIN_LABELS, declared=True), pl.Series(numbers, dtype=pl.Float64), names
    if kind == "flag":
        flags = [None if g else bool(c % 2) for c, g in zip(codes, gone, strict=True)]
        return Attribute(name, ["False", "True"]), pl.Series(flags, dtype=pl.Boolean), _text(flags)
    # More than ten groups that mostly hold one row are refused.
    codes = [c % 10 if len(set(codes)) > 10 and len(codes) < 40 else c for c in codes]
    if kind == "code":
        numbers = [None if g else c for c, g in zip(codes, gone, strict=True)]
        return Attribute(name, [str(c) for c in range(12)]), pl.Series(numbers, dtype=pl.Int64), _text(numbers)
    texts = [None if g else f"g{c}" for c, g in zip(codes, gone, strict=True)]
    levels = [f"g{c}" for c in range(12)]
    if kind == "enum":
        return Attribute(name, levels[::-1], declared=True), pl.Series(texts, dtype=pl.Enum(levels[::-1])), texts
    return Attribute(name, sorted(levels)), pl.Series(texts, dtype=pl.String), texts


def _text(values: Sequence[Any]) -> list[str | None]:
    return [None if v is None else str(v) for v in values]


def _keep_every_group(amounts: list[Any], y: list[int | None], groups: list[list[str | None]]) -> None:
    """A group that only has rows of weight zero is refused, so give it one that counts."""
    everyone: list[str | None] = ["all"] * len(y)
    for names in [everyone, *groups]:
        for name in dict.fromkeys(n for n in names if n is not None):
            rows = [i for i, n in enumerate(names) if n == name]
            if not any(amounts[i] > 0 and y[i] is not None for i in rows):
                amounts[rows[0]], y[rows[0]] = 1, 0
