"""Outcomes: per row what is true, what was scored and what was decided, from the columns that hold it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from fmfair import labels, scores
from fmfair.errors import FmfairError, Problems, listing, plural, rows_at
from fmfair.metrics.bins import bce_logit_rows, bce_rows
from fmfair.notes import Notes
from fmfair.options import Options
from fmfair.roles import Columns
from fmfair.scores import ScoreScale
from fmfair.tally import EACH, Tally


@dataclass(frozen=True)
class Outcomes:
    """Rows that can be evaluated.

    Attributes:
        rows: Columns `y`, and where at hand `score`, `prob`, `bce`, `logit`, `pred`, `weight`.
        kept: Which input rows these are; as long as the input, times the number of pairs.
        pairs: The names of the pairs of `labels=`; their rows follow one another, pair by pair.
        scale: How the scores were read; None when there are only decisions.
    """

    rows: pl.DataFrame
    kept: pl.Series
    pairs: tuple[str, ...]
    scale: ScoreScale | None


def read_outcomes(
    table: pl.DataFrame, weight: pl.Series | None, columns: Columns, options: Options, notes: Notes
) -> Outcomes:
    """Labels, scores, decisions and weights (as from `weights`) of every row that has what it needs.

    Raises:
        FmfairError: A column cannot be used as what it was named for; all problems of the columns are reported.
    """
    if columns.pairs:
        raw, names = _paired(table, columns.pairs, options, notes), [scores.LABELS]
        weight = None if weight is None else pl.concat([weight] * len(columns.pairs))
        position = 0
    else:
        raw, names, position = _single(table, columns, options, notes)
    usable = raw["y"].is_not_null()
    if weight is not None:
        raw = raw.with_columns(weight)
        usable = usable & (weight > 0)
    score_names = [c for c in raw.columns if c.startswith("s")]
    by_name = dict(zip(names, (raw[c] for c in score_names), strict=True))
    if "logit" in raw.columns and columns.y_logit is not None:
        by_name[columns.y_logit] = raw["logit"]
    if columns.pairs:
        kept = _usable_pairs(raw["s0"], usable, columns.pairs, options, notes)
    else:
        kept = scores.usable(by_name, usable, options, notes) if by_name else usable
    rows = raw.filter(kept)
    if rows.is_empty():
        raise FmfairError("no row is left to evaluate" + (f" ({'; '.join(notes)})" if notes else ""))
    scale = None
    if by_name:
        scale = _scale(rows, score_names, names, options, notes, lambda: kept.arg_true() % table.height)
        rows = rows.with_columns(_scored(score_names, position, scale, options)).drop(score_names)
        note_two_valued(_few_distinct(rows["score"]), notes)
        if scale.is_probability:
            exact = scale.has_logit and not options.conventions.rank_on_probability
            loss = bce_logit_rows(pl.col("y"), pl.col("score")) if exact else bce_rows(pl.col("y"), pl.col("prob"))
            rows = rows.with_columns(loss.alias("bce"), *([pl.col("score").alias("logit")] if exact else []))
    return Outcomes(rows, kept, tuple(columns.pairs), scale)


def weights(table: pl.DataFrame, column: str | None, options: Options) -> pl.Series | None:
    """The sample weights; zero weights are left out by the caller.

    Raises:
        FmfairError: A weight is negative, missing or not a number.
    """
    if column is None:
        return None
    check_weights_taken(options)
    values = scores.as_float(table[column], column, "weight").alias("weight")
    bad = ~(values.is_finite() & (values >= 0)).fill_null(False)
    refuse_weights(column, int(bad.sum()), lambda: rows_at(bad.arg_true().to_list()), float(values.sum()), options)
    return values


# The square of more is no number any more.
LARGEST_TOTAL = 1e150


def check_weights_taken(options: Options) -> None:
    """Raises where the conventions know no weights."""
    if options.conventions.strict_input:
        raise FmfairError("weights are not part of the FairMedFM conventions; leave out weight= or use 'standard'")


def refuse_weights(column: str, bad: int, where: Callable[[], str], total: float, options: Options) -> None:
    """Raises where weights are negative, missing or infinite, or too large to be added up, for intervals squared."""
    if bad:
        raise FmfairError(
            f"weight: column {column!r} has {plural(bad, 'weight')} that are negative, missing or infinite "
            f"({where()}); weights are 0 (row left out) or more"
        )
    if not math.isfinite(total):
        raise FmfairError(f"weight: the weights in column {column!r} are too large to be added up; divide them all")
    if options.ci is not None and total > LARGEST_TOTAL:
        raise FmfairError(
            f"weight: the weights in column {column!r} are too large to be squared, as intervals need it; divide them "
            "all, or leave intervals out (ci=None)"
        )


def _single(
    table: pl.DataFrame, columns: Columns, options: Options, notes: Notes
) -> tuple[pl.DataFrame, list[str], int]:
    """The rows of one outcome; the names of its score columns, and which of them is the positive class's."""
    problems = Problems()
    found: dict[str, pl.Series] = {}

    label, seen, positive = label_column(table, columns, options)
    asked = _with_positive(options, positive)
    with problems.collecting():
        found["y"] = labels.binary(label, columns.y_true[0], asked, notes)
    for i, name in enumerate(columns.y_score):
        with problems.collecting():
            found[f"s{i}"] = scores.as_float(table[name], name, "y_score", options.missing_values)
    if columns.y_logit is not None:
        name = columns.y_logit
        with problems.collecting():
            found["logit"] = scores.as_float(table[name], name, "y_logit", options.missing_values)
    if columns.y_pred is not None:
        with problems.collecting():
            found["pred"] = decisions(table[columns.y_pred], columns.y_pred, asked)
    position = 0
    if len(columns.y_score) > 1:
        with problems.collecting():
            position = scores.class_position(columns.score_names or columns.y_score, seen, positive, options.classes)
    elif options.classes is not None:
        problems.add(f"classes={list(options.classes)!r} names the columns of y_score, but there is only one")
    problems.raise_if_any()
    return pl.DataFrame([values.alias(name) for name, values in found.items()]), list(columns.y_score), position


def label_column(
    table: pl.DataFrame, columns: Columns, options: Options, tally: Tally = EACH
) -> tuple[pl.Series, list[Any], Any]:
    """The label of each row, the classes seen, and the positive class."""
    if len(columns.y_true) == 1:
        label = table[columns.y_true[0]]
        labels.check_type(label, columns.y_true[0])
        return label, labels.classes(label, options), options.positive
    label = labels.one_hot(table, columns.y_true, tally)
    positive = options.positive
    if positive is None and len(columns.y_true) == 2:
        positive = columns.y_true[1]
    elif isinstance(positive, int) and options.classes is None and str(positive) not in columns.y_true:
        positive = columns.y_true[positive] if 0 <= positive < len(columns.y_true) else positive
    return label, list(columns.y_true), positive


def _with_positive(options: Options, positive: Any) -> Options:
    return options if positive is options.positive else replace(options, positive=positive)


def decisions(values: pl.Series, name: str, options: Options, tally: Tally = EACH) -> pl.Series:
    """Decisions already made, as 0 and 1; they use the names of the labels."""
    labels.check_type(values, name, "y_pred")
    if values.dtype.is_float() and not values.drop_nulls().is_in([0.0, 1.0]).all():
        raise FmfairError(
            f"y_pred: column {name!r} holds decisions and must be 0/1, booleans or class names, but it has other "
            f"numbers such as {listing(values.drop_nulls().unique().head(3).to_list())}; give scores as y_score="
        )
    missing = values.is_null()
    if missing.any():
        raise FmfairError(
            f"y_pred: column {name!r} has {plural(tally.count(missing), 'missing value')} "
            f"({tally.at(missing)}); remove these rows"
        )
    if options.positive is not None and not labels.is_any(values, (options.positive,)).any():
        return pl.Series(name, [0], dtype=pl.Int64).new_from_index(0, len(values))  # nobody was called positive
    return labels.binary(values, name, options, Notes(), argument="y_pred")


def _paired(table: pl.DataFrame, pairs: Mapping[str, tuple[str, str]], options: Options, notes: Notes) -> pl.DataFrame:
    problems = Problems()
    parts = []
    for name, (true, score) in pairs.items():
        argument = f"labels[{name!r}]"
        with problems.collecting():
            y = labels.binary(table[true], true, options, notes, argument=argument)
            s = scores.as_float(table[score], score, argument, options.missing_values)
            parts.append(pl.DataFrame([y.alias("y"), s.alias("s0")]))
    problems.raise_if_any()
    return pl.concat(parts)


def _usable_pairs(
    score: pl.Series, usable: pl.Series, pairs: Mapping[str, tuple[str, str]], options: Options, notes: Notes
) -> pl.Series:
    """Which rows have a finite score, pair by pair."""
    height = len(score) // len(pairs)
    return pl.concat(
        scores.usable({column: score[at : at + height]}, usable[at : at + height], options, notes, f"labels[{name!r}]")
        for at, (name, (_, column)) in zip(range(0, len(score), height), pairs.items(), strict=True)
    )


def _scale(
    rows: pl.DataFrame,
    score_names: list[str],
    names: list[str],
    options: Options,
    notes: Notes,
    row: Callable[[], pl.Series],
) -> ScoreScale:
    """How the scores are read; a column of logits beside the probabilities is ranked by."""
    if not score_names:
        return ScoreScale("logit", has_logit=True)
    columns = [rows[c] for c in score_names]
    facts = [scores.facts_of(values, name, row) for values, name in zip(columns, names, strict=True)]
    scale = scores.read_scale(facts, lambda: scores.sums_to_one(columns), options, notes)
    if "logit" in rows.columns:
        notes.say("y_logit is used for ranking and BCE, y_score for the rest")
        return ScoreScale(scale.kind, has_logit=True)
    return scale


def _scored(score_names: list[str], position: int, scale: ScoreScale, options: Options) -> list[pl.Expr]:
    by_probability = options.conventions.rank_on_probability
    if len(score_names) > 1:
        return scores.class_columns(score_names, position, scale, by_probability)
    return scores.one_column(score_names[0] if score_names else None, scale, by_probability)


def _few_distinct(score: pl.Series) -> int:
    """How many distinct scores there are; exact where they are few."""
    distinct = score.head(1000).n_unique()
    return distinct if distinct > 2 else score.n_unique()


def note_two_valued(distinct: int, notes: Notes) -> None:
    """Says that scores with two distinct values look like decisions."""
    if distinct == 2:
        notes.say("y_score takes only two values: these look like decisions, and AUC is that of one operating point")
