"""What of a report's frames is shown: the main metrics at the thresholds of the summary, and how a cell is printed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from fmfair.columns import BOUNDS, INTERVALS
from fmfair.export import Frames, by_keys, texts
from fmfair.marks import MARKS, of_both_classes
from fmfair.metrics.metric import NOT_A_PROBABILITY, Metric
from fmfair.metrics.registry import REGISTRY
from fmfair.render import visible

MAX_ROWS = 30
# Fewer samples than this say too little for a decimal number.
FEW = 10
UNDEFINED = "-"
ABOUT = "~"
# The decimals of a number, unless there is reason for others.
DIGITS = 4
HEADLINE = ("auc", "tpr", "tnr", "dice")
THRESHOLD = ["threshold", "threshold_rule"]

# The columns of a shown table: a heading and its cells.
Columns = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class Shown:
    """The frames of a report as they are shown.

    Attributes:
        by: The names of the by-keys, by the names of their columns here: Polars reads names such as `*` as patterns,
            and a by-key may be called `carried`.
        varying: The by-keys with more than one value.
        metrics: The main metrics, the headline ones first.
        summary: The summary.
        overall: The values on all rows.
        groups: The group values of the main metrics at the thresholds of the summary, with `carried`, the count that
            carries a value, `unit`, its name, and `few`, whether that is too little for a decimal number.
        gaps: Their comparisons.
        pairs: Their comparisons two by two; empty without intervals.
        margins: By the name of a metric, the difference that matters.
        others: The thresholds that are not shown.
        open: The metrics of which some value is only known between bounds.
        tested: How many gaps and pairs of groups the report tests, also those that are not shown.
    """

    by: Mapping[str, str]
    varying: tuple[str, ...]
    metrics: tuple[str, ...]
    summary: pl.DataFrame
    overall: pl.DataFrame
    groups: pl.DataFrame
    gaps: pl.DataFrame
    pairs: pl.DataFrame
    margins: Mapping[str, float]
    others: tuple[str, ...]
    open: frozenset[str]
    tested: Mapping[str, int]

    @property
    def keys(self) -> list[str]:
        """The columns that say which comparison a row belongs to."""
        return [*self.by, "attribute"]

    @property
    def rates(self) -> list[str]:
        """The main metrics that have a value per threshold."""
        at_threshold = set(self.groups.filter(pl.col("threshold_rule").is_not_null())["metric"])
        return [metric for metric in self.metrics if metric in at_threshold]

    @property
    def threshold(self) -> str:
        """The threshold of the summary, or the rule where it differs between by-keys."""
        if "threshold" not in self.summary.columns:
            return UNDEFINED
        pairs = self.summary.select(THRESHOLD).drop_nulls("threshold_rule").unique(maintain_order=True).rows()
        full = list(dict.fromkeys(threshold_text(*pair) for pair in pairs))
        rules = list(dict.fromkeys(threshold_name(*pair) for pair in pairs))
        return full[0] if len(full) == 1 else " or ".join(rules[:3]) + (" or others" if len(rules) > 3 else "")


def shown_of(frames: Frames, metadata: Mapping[str, Any], most: int | None = None) -> Shown:
    """The shown part of the frames; `most`: so many metrics rather than the main ones."""
    by = {f"\0{i}": name for i, name in enumerate(by_keys(frames))}
    own = {name: plain for plain, name in by.items()}
    renamed = {name: frame.rename(own) for name, frame in frames.items()}
    overall = renamed["overall"]
    margins = metadata.get("margins") or {}
    metrics = _main_metrics(renamed["groups"], margins, most or (1 if metadata.get("task") == "segmentation" else 3))
    summary = _without_undefined_threshold(renamed["summary"], overall)
    at = [*by, "attribute", *THRESHOLD]
    compared = [name for name in ("groups", "gaps", "pairs") if name in renamed]
    main = {name: renamed[name].filter(pl.col("metric").is_in(metrics)) for name in compared}
    if "threshold" in summary.columns:
        main = {name: _at_threshold(frame, renamed["summary"], at) for name, frame in main.items()}
    return Shown(
        by=by,
        varying=tuple(name for name in by if overall[name].n_unique() > 1),
        metrics=tuple(metrics),
        summary=summary,
        overall=overall,
        groups=_with_carriers(main["groups"].drop("attribute_parts", "group_parts"), metrics),
        gaps=main["gaps"],
        pairs=main.get("pairs", pl.DataFrame()),
        margins=margins,
        tested=metadata.get("tested") or {},
        others=_other_thresholds(renamed["groups"], renamed["summary"], at),
        open=frozenset().union(*(_open_metrics(frames[name]) for name in ("groups", "gaps", "overall"))),
    )


def _open_metrics(frame: pl.DataFrame) -> set[str]:
    """The metrics with a value whose bounds are wider than its last digit shows, or that has none."""
    if not set(BOUNDS) <= set(frame.columns):
        return set()
    low, high = (pl.col(name) for name in BOUNDS)
    wide = (high - low > 10.0**-DIGITS).fill_null(value=True)
    return set(frame.filter(pl.col("value").is_not_null() & wide)["metric"])


def compared_metrics(shown: Shown) -> list[str]:
    """The shown metrics whose groups are better or worse: those with a margin and the headline ones, or all."""
    directed = set(shown.gaps.filter(pl.col("statistic") == "worst")["metric"])
    metrics = [m for m in shown.metrics if m in directed or m in shown.margins]
    return [m for m in metrics if m in HEADLINE or m in shown.margins] or metrics


def beside_groups(shown: Shown, rows: pl.DataFrame, sides: Mapping[str, str]) -> pl.DataFrame:
    """The rows with the values and counts of two groups; `few` where hardly any sample carries one of them.

    Args:
        shown: Holds the values.
        rows: Comparisons, with the names of groups.
        sides: What stands before the names of the new columns, and the column with the name of the group.
    """
    place = [*shown.keys, "metric"]
    facts = (*("value", *BOUNDS, *INTERVALS), *("n", "n_pos", "weight_sum", "carried", "unit", "few"))
    there = [c for c in facts if c in shown.groups.columns]
    for side, group in sides.items():
        values = shown.groups.select(
            *place, pl.col("group").alias(group), *(pl.col(c).alias(f"{side}{c}") for c in there)
        ).unique([*place, group], keep="first", maintain_order=True)
        rows = rows.drop([f"{side}{c}" for c in there], strict=False)
        rows = rows.join(values, on=[*place, group], how="left", nulls_equal=True, maintain_order="left")
        rows = rows.with_columns(pl.col(f"{side}few").fill_null(value=False))
    return rows.with_columns(few=pl.any_horizontal(f"{side}few" for side in sides))


def key_columns(shown: Shown, frame: pl.DataFrame, *others: str) -> Columns:
    """The columns that say what a row is."""
    by = [(visible(shown.by[name]), names(frame[name])) for name in shown.varying]
    return [*by, *((name, names(frame[name])) for name in ("attribute", *others))]


def header_and_rows(columns: Columns) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The columns as a table takes them."""
    return tuple(name for name, _ in columns), tuple(zip(*(cells for _, cells in columns), strict=True))


def names(values: pl.Series) -> list[str]:
    """The values of a by-key or the names of groups; a missing by-key is `(missing)`."""
    return [visible(name) if name is not None else "(missing)" for name in texts(values)]


def number(value: float | None, digits: int = DIGITS) -> str:
    """A number with so many decimals, a whole one without, `-` where it is undefined.

    Examples:
        >>> number(0.25), number(0.0004, digits=3), number(3), number(None)
        ('0.2500', '<0.001', '3', '-')
    """
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if isinstance(value, int):
        return str(value)
    if abs(value) >= 1e6:
        return f"{value:.{digits}e}"
    if digits < 4 and 0 < value < 0.5 * 10.0**-digits:
        return f"<{10.0**-digits:.{digits}f}"
    return f"{round(value, digits) + 0.0:.{digits}f}"


def bounded(row: Mapping[str, Any], digits: int = DIGITS, of: str = "") -> str:
    """A value, with its bounds where they are wider than its last digit shows; `~` where it should have some.

    Args:
        row: Holds `value` and, of a report from counts, `bound_low` and `bound_high`.
        digits: The decimals.
        of: What stands before these names.

    Examples:
        >>> bounded({"value": 0.114, "bound_low": 0.066, "bound_high": 0.165})
        '0.114 [0.066, 0.165]'
        >>> bounded({"value": 0.25, "bound_low": 0.25, "bound_high": 0.25}), bounded({"value": 0.25})
        ('0.2500', '0.2500')
        >>> bounded({"value": 0.25, "bound_low": None, "bound_high": None})
        '~0.2500'
    """
    value, low, high = (row.get(f"{of}{name}") for name in ("value", *BOUNDS))
    if value is not None and f"{of}{next(iter(BOUNDS))}" in row and (low is None or high is None):
        return f"{ABOUT}{number(value, digits)}"
    if value is None or low is None or high is None or high - low <= 10.0**-digits:
        return number(value, digits)
    few = min(digits, 3)
    return f"{number(value, few)} [{number(low, few)}, {number(high, few)}]"


def bounds_legend(cells: Iterable[str]) -> list[str]:
    """What the brackets and the mark stand for, where there are any."""
    shown, legend = list(cells), []
    if any(cell.endswith("]") for cell in shown):
        legend.append("[low, high]: the value from the rows lies between these; the number before is only their middle")
    if any(cell.startswith(ABOUT) for cell in shown):
        legend.append(f"{ABOUT} without known bounds; report.groups and report.gaps say why in note")
    return legend


def threshold_text(value: float | None, rule: str | None) -> str:
    """A threshold and the rule that chose it.

    Examples:
        >>> threshold_text(0.5, "fixed"), threshold_text(0.35241, "best_f1"), threshold_text(None, "tpr=0.9")
        ('0.5', '0.3524 (best_f1)', '- (tpr=0.9)')
        >>> threshold_text(None, "y_pred"), threshold_text(None, None)
        ('y_pred', '-')
    """
    shown = UNDEFINED if value is None else f"{value:.4g}"
    if rule in (None, "fixed"):
        return shown
    # Decisions that were already made have no number.
    return visible(str(rule)) if value is None and rule == "y_pred" else f"{shown} ({visible(str(rule))})"


def threshold_name(value: float | None, rule: str | None) -> str:
    """A threshold as it is asked for: the number, or the rule.

    Examples:
        >>> threshold_name(0.5, "fixed"), threshold_name(0.35241, "best_f1")
        ('0.5', 'best_f1')
    """
    return threshold_text(value, rule) if rule in (None, "fixed") else visible(str(rule))


def metric_of(name: str) -> Metric | None:
    """The entry of the registry, also for a name with parameters such as `tpr_at_fpr(0.2)`."""
    return REGISTRY.get(name.partition("(")[0])


def _main_metrics(groups: pl.DataFrame, margins: Collection[str], most: int) -> list[str]:
    """The metrics to show of every group: those with a margin, then the headline ones."""
    named = groups["metric"].unique(maintain_order=True).to_list()
    rates = [name for name in named if (known := metric_of(name)) is None or known.family != "count"]
    usual = [*margins, *(name for name in HEADLINE if name not in margins)]
    ranked = sorted(rates or named, key=lambda name: usual.index(name) if name in usual else len(usual))
    return ranked[: max(most, len(margins))]


def _at_threshold(frame: pl.DataFrame, summary: pl.DataFrame, at: Sequence[str]) -> pl.DataFrame:
    """The rows at the thresholds of the summary, and those of metrics that have none."""
    everywhere = frame.filter(pl.col("threshold_rule").is_null())
    there = frame.filter(pl.col("threshold_rule").is_not_null()).join(
        summary.select(at), on=at, how="semi", nulls_equal=True, maintain_order="left"
    )
    return pl.concat([everywhere, there])


def _other_thresholds(groups: pl.DataFrame, summary: pl.DataFrame, at: Sequence[str]) -> tuple[str, ...]:
    if "threshold" not in summary.columns:
        return ()
    asked = groups.select(at).drop_nulls("threshold_rule").unique(maintain_order=True)
    others = asked.join(summary.select(at), on=at, how="anti", nulls_equal=True, maintain_order="left")
    return tuple(dict.fromkeys(threshold_name(*pair) for pair in others.select(THRESHOLD).iter_rows()))


def _without_undefined_threshold(summary: pl.DataFrame, overall: pl.DataFrame) -> pl.DataFrame:
    """The default 0.5 is no threshold of scores that are not probabilities, and nothing is decided there."""
    if "threshold" not in summary.columns:
        return summary
    cut = overall.filter(
        (pl.col("threshold_rule") == "fixed")
        & ~pl.col("metric").is_in([m.name for m in REGISTRY.values() if m.needs_probability])
    )
    if cut.height and (cut["note"] == NOT_A_PROBABILITY).fill_null(False).all():
        fixed = pl.col("threshold_rule") == "fixed"
        return summary.with_columns(threshold=pl.when(~fixed).then("threshold"))
    return summary


def _with_carriers(groups: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """With the count that carries each value, its name, and whether it is too small.

    A metric of both classes is as uncertain as the rarer one is rare.
    """
    known = {name: metric for name in metrics if (metric := metric_of(name)) is not None}
    n_pos, n_neg = pl.col("n_pos"), pl.col("n") - pl.col("n_pos")
    marked = "mark" in groups.columns
    few = pl.col("mark").eq_missing(pl.lit(MARKS[FEW])) if marked else (pl.col("carried") < FEW).fill_null(value=False)
    both = [name for name, metric in known.items() if of_both_classes(metric)]
    rarer = pl.col("metric").is_in(both) & n_pos.is_not_null()
    denominators = {name: metric.denominator for name, metric in known.items()}
    plain = pl.col("metric").replace_strict(denominators, default="n", return_dtype=pl.String)
    rarer_unit = pl.when(n_pos <= n_neg).then(pl.lit("n_pos")).otherwise(pl.lit("n_neg"))
    return groups.with_columns(
        pl.when(rarer).then(pl.min_horizontal(n_pos, n_neg)).otherwise("denominator").alias("carried"),
        pl.when(rarer).then(rarer_unit).otherwise(plain).alias("unit"),
    ).with_columns(few.alias("few"))
