"""Scores: from columns of probabilities, logits or ranks to what the metrics use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from fmfair.columns import normalise
from fmfair.errors import FmfairError, listing, plural, rows_at
from fmfair.notes import Notes
from fmfair.options import Options

# Scores outside [0, 1] are taken for codes when they are no more than this share of all.
SENTINEL_SHARE = 0.01
# What the scores of all pairs of labels= together are called.
LABELS = "labels="
# Class columns count as summing to 1 up to this (NumPy's isclose with atol=1e-3).
SUM_TOLERANCE = 1e-3 + 1e-5


@dataclass(frozen=True)
class ScoreScale:
    """How the scores were read.

    Attributes:
        kind: `probability`, `logit` or `rank`.
        has_logit: Whether a logit is at hand, from which BCE is computed.
    """

    kind: str
    has_logit: bool = False

    @property
    def is_probability(self) -> bool:
        """Whether the scores are probabilities, or logits that become some."""
        return self.kind != "rank"


def as_float(values: pl.Series, name: str, argument: str, missing: Sequence[str] = ()) -> pl.Series:
    """The numbers of a column in Float64; the texts that mean `missing` are NULL, other text and types are refused.

    Raises:
        FmfairError: The column is not numeric.
    """
    if values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null):
        return values.cast(pl.Float64)
    if values.null_count() == len(values):
        return pl.repeat(None, len(values), dtype=pl.Float64, eager=True)  # an empty CSV column is text
    detail = ""
    if values.dtype == pl.String:
        kept = values.set(values.is_in(list(missing)), None)
        numbers = kept.cast(pl.Float64, strict=False)
        if missing and numbers.null_count() == kept.null_count():
            return numbers
        bad = values.filter(values.is_not_null() & values.cast(pl.Float64, strict=False).is_null())
        detail = f"; not a number: {listing(bad.unique(maintain_order=True).to_list())}" if len(bad) else ""
        if any("," in v for v in bad.head(3)):
            detail += " (decimal commas must be points)"
        detail += "; cast the column, or name the texts that mean missing with missing_values="
    raise FmfairError(f"{argument}: column {name!r} has the type {values.dtype}, expected numbers{detail}")


def usable(
    scores: dict[str, pl.Series], among: pl.Series, options: Options, notes: Notes, argument: str = "y_score"
) -> pl.Series:
    """Which rows have finite scores, of the rows `among`.

    Raises:
        FmfairError: A score is missing or not finite and `missing_scores` does not say to leave such rows out.
    """
    keep = among
    for name, values in scores.items():
        bad = among & ~(values.is_finite().fill_null(False))
        if bad.any():
            infinite = int(values.filter(bad).is_infinite().fill_null(False).sum())
            missing = int(bad.sum()) - infinite
            leave_out(name, missing, infinite, partial(_at, bad), options, notes, argument)
            keep = keep & ~bad
    return keep


def _at(rows: pl.Series) -> str:
    return rows_at(rows.arg_true().to_list())


def leave_out(
    name: str,
    missing: int,
    infinite: int,
    where: Callable[[], str],
    options: Options,
    notes: Notes,
    argument: str = "y_score",
) -> None:
    """Notes that rows with missing or infinite scores are left out.

    Raises:
        FmfairError: `missing_scores` does not say to leave them out.
    """
    parts = [f"{missing} missing (NULL or NaN)"] * (missing > 0) + [f"{infinite} infinite"] * (infinite > 0)
    kinds, count = " and ".join(parts), missing + infinite
    if options.missing_scores == "raise" or options.conventions.strict_input:
        hint = "" if options.conventions.strict_input else ", or leave these rows out with missing_scores='drop'"
        raise FmfairError(
            f"{argument}: column {name!r} has {plural(count, 'score')} that cannot be used: {kinds} ({where()}); "
            f"fix them{hint}"
        )
    if any(notes.hides(number) for number in (missing, infinite)):
        kinds = "a missing or infinite score"
    notes.warn(f"{argument}: {notes.counted(count, 'row')} with {kinds} in {name!r} left out (missing_scores='drop')")


@dataclass(frozen=True)
class ScoreFacts:
    """What a column of scores holds on the rows that are evaluated.

    Attributes:
        name: The column's name.
        rows: How many there are.
        low: The smallest; 0 where there are none.
        high: The largest.
        outside: How many lie outside [0, 1].
        examples: Looks up the distinct ones outside, a few of them in rising order.
        where: Looks up the rows of those, for a message.
    """

    name: str
    rows: int
    low: float
    high: float
    outside: int
    examples: Callable[[], list[float]]
    where: Callable[[], str]


def facts_of(values: pl.Series, name: str, row: Callable[[], pl.Series]) -> ScoreFacts:
    """The facts of a column of finite scores; `row` looks up the number of each one's row in the table."""
    low, high = (float(v) if isinstance(v, float) else 0.0 for v in (values.min(), values.max()))
    outside = (values < 0.0) | (values > 1.0)
    return ScoreFacts(
        name,
        rows=len(values),
        low=low,
        high=high,
        outside=int(outside.sum()),
        examples=lambda: values.filter(outside).unique().sort().to_list(),
        where=lambda: rows_at(row().filter(outside).to_list()),
    )


def read_scale(
    columns: Sequence[ScoreFacts], sum_to_one: Callable[[], bool], options: Options, notes: Notes
) -> ScoreScale:
    """What the scores are, decided once for the whole table.

    Args:
        columns: One column, or one per class.
        sum_to_one: Whether the class columns sum to 1 in every row; asked only where there are several.
        options: `score_type` and `conventions` are used.
        notes: Says what was decided.

    Raises:
        FmfairError: Probabilities were promised, but values lie outside [0, 1]; or several class columns are
            neither probabilities nor logits.
    """
    low, high = min(c.low for c in columns), max(c.high for c in columns)
    inside = low >= 0.0 and high <= 1.0
    if inside and len(columns) > 1 and options.score_type in ("auto", "probability"):
        inside = sum_to_one() or _each_its_own(options, notes)
    kind = options.score_type
    if kind == "auto" and not inside and not options.conventions.strict_input:
        _refuse_sentinels(columns)
    if kind == "auto":
        outside = "logit" if low < 0.0 or options.conventions.strict_input else "rank"
        kind = "probability" if inside else outside
        tell = notes.say if kind == "probability" else notes.warn
        tell(f"score_type: read as {kind} (scores from {low:.6g} to {high:.6g}); say score_type= to choose")
        if kind == "rank" and len(columns) > 1:
            raise FmfairError(
                f"y_score={[c.name for c in columns]!r}: class columns from {low:.6g} to {high:.6g} are neither "
                "probabilities nor clearly logits; say score_type='logit', or give the one column to rank by"
            )
    if kind == "probability" and not inside:
        _refuse_outside(columns)
    if kind == "rank":
        notes.say(
            "scores are used for ranking and for thresholds on their own scale; they are not probabilities, so "
            "that calibration, BCE, Brier and a cut at 0.5 are not given"
        )
    return ScoreScale(kind, has_logit=kind == "logit")


def sums_to_one(columns: Sequence[pl.Series]) -> bool:
    """Whether class columns sum to 1 in every row, but for rounding."""
    totals = sum(columns[1:], columns[0])
    return bool(((totals - 1.0).abs() <= SUM_TOLERANCE).all())


def _each_its_own(options: Options, notes: Notes) -> bool:
    """Whether class columns inside [0, 1] that do not sum to 1 are probabilities all the same.

    The published package says no, unless it was told that they are.
    """
    if not options.conventions.strict_input:
        notes.warn("y_score: the class columns do not sum to 1 in every row; each was taken as its own probability")
    return not (options.conventions.strict_input and options.score_type == "auto")


def _refuse_sentinels(columns: Sequence[ScoreFacts]) -> None:
    """A few values outside [0, 1] among many inside are codes or slips, and must not make the others logits."""
    for column in columns:
        if 0 < column.outside <= column.rows * SENTINEL_SHARE:
            raise FmfairError(
                f"y_score: all but {column.outside:,} of the {column.rows:,} scores in column {column.name!r} lie in "
                f"[0, 1]; the rest are {listing(column.examples(), limit=3)} ({column.where()}). If they are codes for "
                "missing, remove them; otherwise say score_type='logit' or 'rank'"
            )


def _refuse_outside(columns: Sequence[ScoreFacts]) -> None:
    for column in columns:
        if column.outside:
            raise FmfairError(
                f"y_score: column {column.name!r} has {plural(column.outside, 'value')} outside [0, 1] "
                f"({column.where()}), which cannot be probabilities; give score_type='logit' or 'rank'"
            )


def sigmoid(logit: pl.Expr) -> pl.Expr:
    """1 / (1 + exp(-x)) without overflow."""
    decay = (-logit.abs()).exp()
    return pl.when(logit >= 0).then(1.0 / (1.0 + decay)).otherwise(decay / (1.0 + decay))


# The published package computes with NumPy, whose exp and row sums differ from Polars' in the last digit. A tie, a cut
# at 0.5 or an edge of its score bins may hang on that digit, so that its numbers need its arithmetic.


def _numpy_sigmoid(logit: pl.Series) -> pl.Series:
    with np.errstate(over="ignore"):  # exp of a large number is inf, and the sigmoid then 0
        return pl.Series(1.0 / (1.0 + np.exp(-logit.to_numpy())))


def _numpy_softmax(logits: pl.Series, position: int) -> pl.Series:
    rows = logits.struct.unnest().to_numpy(order="c")
    raised = np.exp(rows - rows.max(axis=1, keepdims=True))
    return pl.Series(raised[:, position] / raised.sum(axis=1))


def one_column(name: str | None, scale: ScoreScale, by_probability: bool) -> list[pl.Expr]:
    """`score` (what is ranked) and `prob` (what is cut) from one column of scores, or from the logits alone."""
    if scale.kind != "logit":
        given = pl.col(str(name))
        ranked = pl.col("logit") if scale.has_logit and not by_probability else given
        return [ranked.alias("score"), given.alias("prob")]
    logit = pl.col("logit") if name is None else pl.col(name)
    if by_probability:
        prob = logit.map_batches(_numpy_sigmoid, return_dtype=pl.Float64)
        return [prob.alias("score"), prob.alias("prob")]
    return [logit.alias("score"), sigmoid(logit).alias("prob")]


def class_columns(columns: Sequence[str], position: int, scale: ScoreScale, by_probability: bool) -> list[pl.Expr]:
    """`score` and `prob` of one class from a column per class.

    From logits the score is the log-odds `z_k - logsumexp(other z)`, which ranks as the softmax does but does not
    saturate; one logit column alone would rank otherwise.
    """
    chosen = pl.col(columns[position])
    if scale.kind == "probability":
        ranked = pl.col("logit") if scale.has_logit and not by_probability else chosen
        return [ranked.alias("score"), chosen.alias("prob")]
    others = [pl.col(c) for i, c in enumerate(columns) if i != position]
    if by_probability:
        prob = pl.struct(columns).map_batches(partial(_numpy_softmax, position=position), return_dtype=pl.Float64)
        return [prob.alias("score"), prob.alias("prob")]
    largest = pl.max_horizontal(others)
    log_odds = chosen - largest - pl.sum_horizontal([(c - largest).exp() for c in others]).log()
    return [log_odds.alias("score"), sigmoid(log_odds).alias("prob")]


def class_position(columns: Sequence[str], seen: Sequence[Any], positive: Any, given: Sequence[Any] | None) -> int:
    """Which of the class columns belongs to the positive class.

    By `classes=` where given; else by the column whose name is the positive class or holds it as a word; else, when
    there are as many columns as labels, by the sorted order of the labels, the second of two for 0/1 labels.

    Raises:
        FmfairError: The labels and the columns do not tell.
    """
    if given is not None:
        texts = [_number_text(c) for c in given]
        double = sorted({text for text in texts if texts.count(text) > 1})
        if double:
            raise FmfairError(f"classes= names {listing(double)} twice; name each class once, in the columns' order")
        if len(given) != len(columns):
            raise FmfairError(f"classes= names {len(given)} classes, but y_score has {len(columns)} columns")
        return _index(given, positive if positive is not None else 1, "classes=")
    if isinstance(positive, str):
        exact = [i for i, c in enumerate(columns) if c == positive]
        wanted = normalise(positive)
        words = (
            [i for i, c in enumerate(columns) if f"_{wanted}_" in f"_{normalise(c)}_"] if not wanted.isdigit() else []
        )
        for named in (exact, words):
            if len(named) == 1:
                return named[0]
    numbered = [normalise(c).rpartition("_")[2] for c in columns]
    labels = [_number_text(s) for s in seen]
    target = _number_text(positive if positive is not None else 1)
    if sorted(numbered) == sorted(labels) and target in numbered:
        return numbered.index(target)
    if len(seen) == len(columns):
        return _index(seen, positive if positive is not None else 1, "the labels")
    if len(columns) == 2 and positive is None:
        return 1
    raise FmfairError(
        f"y_score has {len(columns)} columns but y_true has {plural(len(seen), 'distinct label')} "
        f"({listing(seen)}); name the classes of the columns in order with classes=[...]"
    )


def _number_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return normalise(str(int(value) if isinstance(value, bool) else value))


def _index(names: Sequence[Any], positive: Any, where: str) -> int:
    for i, name in enumerate(names):
        if name == positive or _number_text(name) == _number_text(positive):
            return i
    raise FmfairError(f"positive={positive!r} is not among {where}: {listing(names)}; say positive=")
